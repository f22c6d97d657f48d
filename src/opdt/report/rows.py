"""The rows that a report is about."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

import opdt
from opdt.errors import InputError
from opdt.report.content import class_counts, summarise
from opdt.rules.counting import of_class
from opdt.table import Plan, Source, Table, open_source, raw_column

TRAIN, TEST = "rows it was found on", "rows it has not seen"


@dataclass(frozen=True)
class ReportRows:
    """Rows that the rule is measured on."""

    source: Source
    labels: Sequence[Any]
    on: str
    target: str | None  # the column of the source that holds the labels
    y: Any = None  # as it was given

    @classmethod
    def of(cls, source: Source, y: Any, on: str) -> ReportRows:
        """The rows of a source and their labels."""
        if isinstance(y, str):
            return cls(source, raw_column(source, y)[0].tolist(), on, y, y)
        return cls(source, [] if y is None else np.asarray(y).tolist(), on, None, y)

    def of_class(self, label: Any) -> NDArray[np.bool_]:
        """Which rows are of the class, shape (n_rows,)."""
        return of_class(np.asarray(self.labels, dtype=object), label)


def parts_of(source: Source, y: Any, X_test: Any, y_test: Any) -> list[ReportRows]:
    """The rows that a rule was found on, and those it has not seen if there are any."""
    if y is not None and (X_test is None) != (y_test is None):
        raise InputError("'X_test' and 'y_test' belong together; give both or neither.")
    parts = [ReportRows.of(source, y, TRAIN)]
    if X_test is not None:
        parts.append(ReportRows.of(open_source(X_test), y_test, TEST))
    return parts


def data_of(table: Table, plan: Plan | None = None) -> dict[str, Any]:
    """What a page says of the data; `plan` is that of columns that the table may lack."""
    plan = plan or table.plan
    counts = class_counts(table)
    classes = ", ".join(f"{name}: {n:,}" for name, n in counts)
    of_classes = f" Rows of each class: {classes}." if len(counts) > 1 else ""
    missing = sum(column.has_missing for column in table.columns)
    cells = f"{missing} of the columns have missing values" if missing else "no missing values"
    return {
        "data_line": f"{table.n_rows:,} rows, {table.n_features:,} columns; {cells}.{of_classes}",
        "columns": summarise(table),
        "plan": plan.rows(),
        "plan_line": plan.summary(),
    }


def made_by() -> dict[str, str]:
    """What a page says of its making."""
    return {
        "version": opdt.__version__,
        "date": date.today().isoformat(),
        "versions": f"Python {platform.python_version()}, NumPy {np.__version__}",
    }


def sentence(words: str) -> str:
    """Words with a capital and a full stop."""
    return words[:1].upper() + words[1:] + "."
