"""Numbers of ours beside the paper's: entries, laid out in rows and columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, Literal, Self

Value = float | str | None
# Splits behind each mean of the paper that it prints with a standard deviation.
PAPER_SPLITS = 10


@dataclass(frozen=True)
class Entry:
    """One quantity: what we measured, and what the paper prints.

    Attributes
    ----------
    dataset, method, quantity : str
        What it is; the first columns of the long form. Empty where one does not apply.
    ours, paper : float, str or None
        Means where there are several values; None shows as a dash.
    ours_sd, paper_sd : float or None
        Standard deviations with n - 1 in the denominator.
    n : int
        Values that our mean is made of.
    is_time : bool
        Whether it is a measured time, which differs from run to run.
    note : str
        A reason or remark that becomes a footnote.
    """

    dataset: str
    method: str
    quantity: str
    ours: Value = None
    ours_sd: float | None = None
    n: int = 0
    paper: Value = None
    paper_sd: float | None = None
    is_time: bool = False
    note: str = ""

    @classmethod
    def of(
        cls,
        dataset: str,
        method: str,
        quantity: str,
        values: Iterable[float | None],
        paper: tuple[float | None, float | None] = (None, None),
        **more: Any,
    ) -> Self:
        """The mean and standard deviation of these values; None among them is left out."""
        known = [float(value) for value in values if value is not None and not math.isnan(value)]
        return cls(
            dataset,
            method,
            quantity,
            ours=fmean(known) if known else None,
            ours_sd=stdev(known) if len(known) > 1 else None,
            n=len(known),
            paper=paper[0],
            paper_sd=paper[1],
            **more,
        )

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's; None unless both are numbers."""
        if isinstance(self.ours, str | None) or isinstance(self.paper, str | None):
            return None
        return self.ours - self.paper

    @property
    def within(self) -> bool | None:
        """Whether ours lies within one standard deviation of the paper's; None if unknown.

        Times depend on the machine, so they are not judged.
        """
        if self.difference is None or self.paper_sd is None or self.is_time:
            return None
        return abs(self.difference) <= self.paper_sd

    @property
    def standard_error(self) -> float | None:
        """Standard error of the difference of the two means; None if it is unknown.

        Splits of the same rows are drawn independently by us and by the paper, so the variances
        of the two means add up.
        """
        if self.difference is None or self.is_time or self.n < 2:
            return None
        if self.ours_sd is None or self.paper_sd is None:
            return None
        return math.sqrt(self.ours_sd**2 / self.n + self.paper_sd**2 / PAPER_SPLITS)

    @property
    def within_errors(self) -> bool | None:
        """Whether the difference is at most two standard errors; None if that is unknown."""
        if self.standard_error is None or self.difference is None:
            return None
        return abs(self.difference) <= 2 * self.standard_error


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: its name, decimals to show, and whether the paper has none like it."""

    name: str
    digits: int = 2
    ours_only: bool = False


@dataclass(frozen=True)
class PaperComparison:
    """A table with ours, the paper's and the difference in each place.

    Attributes
    ----------
    title : str
    columns : tuple of TableColumn
    rows : mapping of row name to entries, one per column
        An entry may be None: nothing to show there.
    corner : str
        What the row names are, for the first column's heading.
    highlight : "high", "low" or None
        Mark the best and the four best of each row, as the paper does, among the columns that
        the paper has too.
    caption : str
        A sentence or two under the title.
    """

    title: str
    columns: tuple[TableColumn, ...]
    rows: Mapping[str, Sequence[Entry | None]] = field(default_factory=dict)
    corner: str = "dataset"
    highlight: Literal["high", "low"] | None = None
    caption: str = ""

    def entries(self) -> Iterator[Entry]:
        """All entries, row by row: the long form."""
        for row in self.rows.values():
            yield from (entry for entry in row if entry is not None)

    def ranks(self, row: str, whose: Literal["ours", "paper"] = "ours") -> dict[int, int]:
        """Rank (1 is best, equals share one) of each column that can be compared in a row."""
        if self.highlight is None:
            return {}
        sign = -1 if self.highlight == "high" else 1
        values: dict[int, float] = {}
        for at, (column, entry) in enumerate(zip(self.columns, self.rows[row], strict=True)):
            value = None if entry is None or column.ours_only else getattr(entry, whose)
            if isinstance(value, int | float):
                values[at] = sign * value
        return {at: 1 + sum(other < v for other in values.values()) for at, v in values.items()}
