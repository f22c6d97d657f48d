"""Rules with the rows they cover, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from opdt.counts import Shares
from opdt.errors import InputError
from opdt.rules import Rule, RuleList, RuleSet
from opdt.rules.counting import count_rules_on
from opdt.verdict import Evidence, Verdict, judge


class CountedRule(Shares):
    """A rule with its counts, and words for a table."""

    TITLES: ClassVar[tuple[str, ...]] = ("covered", "errors", "precision", "coverage", "rule")

    rule: Rule | None

    def words(self) -> tuple[str, ...]:
        """The texts under `TITLES`."""
        precision = f"{100 * self.precision:.1f} %" if self.covered else "–"
        coverage = f"{100 * self.coverage:.1f} %"
        rule = "no rule" if self.rule is None else str(self.rule)
        return f"{self.covered:g}", f"{self.errors:g}", precision, coverage, rule


class Judged(CountedRule):
    """Counts with a verdict: whether the rows that the rule was found on speak for it."""

    TITLES: ClassVar[tuple[str, ...]] = (*CountedRule.TITLES[:-1], "verdict", "rule")

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


def counts_on(
    rules: Iterable[Rule | None], X: Any, y: Any, sample_weight: Any = None
) -> Iterator[tuple[float, float, float]]:
    """For each rule: covered rows, errors among them, and all rows (weighted)."""
    for counts in count_rules_on(rules, X, y, sample_weight):
        yield float(counts.covered), float(counts.errors), float(counts.n_rows)


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
