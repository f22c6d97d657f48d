"""Rules with the rows they cover, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from opdt.errors import InputError
from opdt.rules import Rule, RuleList, RuleSet
from opdt.table import open_source, raw_column
from opdt.table.labels import check_weights
from opdt.verdict import Evidence, Verdict, judge


class Counted:
    """What follows from a rule's counts: precision, coverage, and words for a table."""

    TITLES: ClassVar[tuple[str, ...]] = ("covered", "errors", "precision", "coverage", "rule")

    rule: Rule | None
    covered: float
    errors: float
    n_rows: float

    @property
    def correct(self) -> float:
        """Covered rows of the rule's own class."""
        # As decimals, so that 10.1 - 1.25 is 8.85 and not a little more than any bound on it.
        return float(Decimal(repr(float(self.covered))) - Decimal(repr(float(self.errors))))

    @property
    def precision(self) -> float:
        """Share of the covered rows that are of the rule's class; NaN if none is covered."""
        return self.correct / self.covered if self.covered else float("nan")

    @property
    def coverage(self) -> float:
        """Share of all rows that are covered."""
        return self.covered / self.n_rows if self.n_rows else float("nan")

    def words(self) -> tuple[str, ...]:
        """The texts under `TITLES`."""
        precision = f"{100 * self.precision:.1f} %" if self.covered else "–"
        coverage = f"{100 * self.coverage:.1f} %"
        rule = "no rule" if self.rule is None else str(self.rule)
        return f"{self.covered:g}", f"{self.errors:g}", precision, coverage, rule


class Judged(Counted):
    """Counts with a verdict: whether the rows that the rule was found on speak for it."""

    TITLES: ClassVar[tuple[str, ...]] = (*Counted.TITLES[:-1], "verdict", "rule")

    evidence: Evidence | None

    @property
    def verdict(self) -> Verdict | None:
        """See `opdt.Solution.verdict`; None without a rule."""
        return None if self.rule is None else judge(self.evidence)

    @property
    def lift(self) -> float:
        """Precision over the share of the class in the rows that the rule was found on.

        Rows count without their weights; NaN where these rows are not known.
        """
        return math.nan if self.rule is None or self.evidence is None else self.evidence.lift

    def words(self) -> tuple[str, ...]:
        """The texts under `TITLES`."""
        *numbers, rule = super().words()
        return *numbers, "–" if self.verdict is None else str(self.verdict.level), rule


def count_rows(
    rules: Iterable[Rule | None], X: Any, y: Any, sample_weight: Any = None
) -> Iterator[tuple[float, float, float]]:
    """For each rule: covered rows, errors among them, and all rows (weighted)."""
    source = open_source(X)
    labels = np.asarray(raw_column(source, y)[0] if isinstance(y, str) else y)
    if labels.shape != (source.n_rows,):
        raise InputError(
            f"'y' must have one label for each of the {source.n_rows} rows of X, "
            f"got shape {labels.shape}."
        )
    weights = check_weights(sample_weight, source.n_rows)
    weights = np.ones(source.n_rows) if weights is None else weights
    total = float(weights.sum())
    wrong: dict[Any, Any] = {}
    for rule in rules:
        if rule is None:
            yield 0.0, 0.0, total
            continue
        if rule.label not in wrong:
            each = (label != rule.label for label in labels.tolist())
            wrong[rule.label] = np.fromiter(each, bool, source.n_rows)
        fires = rule.covers(source)
        errors = fires & wrong[rule.label]
        yield float(weights[fires].sum()), float(weights[errors].sum()), total


def with_verdicts(rules: RuleList | RuleSet, verdicts: Sequence[Verdict]) -> str:
    """Several rules as text, each with its verdict below it."""
    lines = str(rules).splitlines()
    for at, verdict in enumerate(verdicts):
        lines[at] += f"\n    {verdict}"
    return "\n".join(lines)


def frame_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A data frame of the first library that is installed."""
    import narwhals as nw

    for package in ("pandas", "polars", "pyarrow"):
        if find_spec(package) is not None:
            return nw.from_dict(dict(columns), backend=package).to_native()
    raise InputError(
        "to_frame() needs pandas, polars or pyarrow; install one, or use columns(), a mapping."
    )


def text_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of words, numbers to the right, the last column to the left."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    lines = []
    for row in (titles, *rows):
        cells = [text.rjust(width) for text, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)
