"""What the rule is to be best in, as it is chosen on the page: one list of choices, one value.

The value is what `discover(objective=...)` takes: a name, or an `Objective` that names columns of
the data. It is plain data, so that undo, project file and script have it without further ado. An
objective that is chosen and not yet told its columns holds None in their place; `wanted_columns`
says which are to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from opdt.analysis.ranking import has_classes
from opdt.checks import is_finite
from opdt.errors import InputError
from opdt.objectives import (
    VI,
    Mean,
    Money,
    Objective,
    Survival,
    TargetKind,
    Uplift,
    Words,
    read_objective,
    words_of,
)
from opdt.objectives.words import plain
from opdt.problem.arguments import resolve_objective
from opdt.report.formats import format_count, format_share

BestIn = str | Objective

# The choices in their order, and how each is called on the page.
CHOICES = {
    "vi": "Few errors: rows covered − w × errors (VI)",
    "money": "Money: benefit less cost",
    "mean": "A number that is high, or low",
    "uplift": "The effect of a treatment",
    "survival": "An event that comes early, or late",
    "precision": "Precision, on enough rows",
    "coverage": "Coverage, at enough precision",
    "f1": "F1: precision and recall alike",
    "f2": "F2: recall before precision",
    "f0.5": "F0.5: precision before recall",
    "wracc": "WRAcc: coverage × gain in precision",
    "youden": "Youden's J: recall + specificity − 1",
    "mcc": "Matthews' correlation (MCC)",
    "chi2": "χ²: how far rule and class go together",
    "gini": "Gini gain",
    "odds_ratio": "Odds ratio",
    "lift": "Lift, on enough rows",
}
# What each is in one sentence, for those who choose it.
ABOUT = {
    "money": "The best rule brings the most: what its rows of the class bring, less what its other "
    "rows cost.",
    "mean": "The best rule has the highest mean of all that cover enough rows; with a threshold, "
    "the largest sum of what lies beyond it.",
    "uplift": "The best rule says whom to treat: its rows gain most from the treatment, less what "
    "treating them costs.",
    "survival": "The best rule has the most events beyond what the pace of all rows makes expect.",
    "precision": "The share of its rows that are of the class, among rules that cover the minimum "
    "coverage (5 % where none is said).",
    "coverage": "The most rows of the class, among rules of the minimum precision or the maximum "
    "errors.",
    "lift": "How many times as often the class occurs inside as overall, among rules that cover "
    "the minimum coverage (5 % where none is said).",
}
# How values are written on the page, where the library writes for a terminal.
_SHOWN = {"vi": format_count, "coverage": format_count, "precision": format_share}
# Columns that an objective cannot do without, with the words that ask for them.
_NEEDED = {
    "uplift": {
        "treatment": "the column that says who was treated",
        "outcome": "the column of what came of it",
    },
    "survival": {
        "time": "the column of times",
        "event": "the column that says whether the event came",
    },
}


def begin(choice: str) -> BestIn:
    """What a choice means before anything else is said."""
    if choice == "money":
        return Money()
    if choice == "mean":
        return Mean()
    if choice == "uplift":
        return Uplift(treatment=None, outcome=None)
    return Survival(time=None, event=None) if choice == "survival" else choice


def check_best_in(given: Any) -> BestIn:
    """What is meant by any spelling; refused where it is no plain data."""
    if isinstance(given, VI):
        raise InputError("'objective' must be 'vi' where the price of an error stands beside it.")
    found, _ = resolve_objective(given)
    if isinstance(found, Objective):
        for each in fields(found):  # type: ignore[arg-type]
            value = getattr(found, each.name)
            if not (value is None or isinstance(value, str | bool) or is_finite(value)):
                raise InputError(
                    f"'{each.name}' of {found!r} must be a number, a text or the name of a column."
                )
    return found


def choice_of(best_in: BestIn) -> str:
    """The key of `CHOICES`."""
    return best_in if isinstance(best_in, str) else best_in.kind


def target_of(best_in: BestIn) -> TargetKind:
    """What the target column holds."""
    return TargetKind.CLASSES if isinstance(best_in, str) else best_in.target


def needs_label(best_in: BestIn) -> bool:
    """Whether one class must be named."""
    return isinstance(best_in, Money)


def columns_of(best_in: BestIn) -> tuple[str, ...]:
    """The columns that it reads, which are no features."""
    return () if isinstance(best_in, str) else tuple(dict.fromkeys(best_in.columns.values()))


def wanted_columns(best_in: BestIn) -> dict[str, str]:
    """Arguments that are still to be told a column, with what it should be."""
    needed = _NEEDED.get(choice_of(best_in), {})
    return {name: what for name, what in needed.items() if getattr(best_in, name) is None}


def strata_of(best_in: BestIn, target: str | None) -> str | None:
    """The column whose values are held out in the same shares."""
    if has_classes(best_in):
        return target
    if isinstance(best_in, Uplift):
        return best_in.treatment if isinstance(best_in.treatment, str) else None
    if isinstance(best_in, Survival):
        return best_in.event if isinstance(best_in.event, str) else None
    return None


def told(best_in: BestIn, target: str | None = None) -> Words:
    """How its values are spoken of; numbers by the name of their column, where it is given."""
    words = words_of(best_in)
    if best_in in _SHOWN:
        return replace(words, show=_SHOWN[str(best_in)])
    if target is None or not isinstance(best_in, Mean) or best_in.threshold is None:
        return words
    edge = plain(float(best_in.threshold))
    name = f"{target} − {edge}" if best_in.sign > 0 else f"{edge} − {target}"
    name = f"sum of ({name})"
    return Words(name, f"a larger {name}", f"a {name}", words.show, words.show_gap)


def written(best_in: BestIn) -> Any:
    """As it stands in JSON; only what is not usual."""
    if isinstance(best_in, str):
        return best_in
    usual = {each.name: each.default for each in fields(best_in)}  # type: ignore[arg-type]
    return {k: v for k, v in best_in.to_dict().items() if k not in usual or v != usual[k]}


def read(found: Any) -> BestIn:
    """What `written` has written."""
    if isinstance(found, Mapping):
        kind = found.get("objective")
        if not isinstance(kind, str):
            raise InputError(f"'objective' must name what the rule is to be best in, got {kind!r}.")
        blank = dict.fromkeys(_NEEDED.get(str(kind), {}))
        return check_best_in(read_objective({**blank, **found}))
    return check_best_in(found)
