"""The exact weight path: the best rule of every price of an error, from 1 to infinity.

A rule that covers N rows, L of them errors, has the VI N - w L, a line in w. The optimum is the
largest of all lines, so it is convex and made of few straight segments, and each segment has one
best rule. Take two prices and their best rules. Where their two lines cross, one solve decides:
either no rule is better there, and then nothing is better anywhere between; or a better rule is
found, and both sides are treated alike. This ends with every crossing proven.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from opdt.analysis.counts import Judged, counts_on, frame_of, text_table
from opdt.analysis.tracing import NOTHING, Trace, Tracer, value_at
from opdt.arguments import start_clock
from opdt.engines import Engine
from opdt.engines.prices import Line, Pricer, as_price
from opdt.errors import InputError
from opdt.problem import Constraints, Problem
from opdt.problem.arguments import Groups, StructureLike
from opdt.rules import Rule
from opdt.solution import Budget, Solution, Status, StopReason
from opdt.table import Plan
from opdt.verdict import Evidence


@dataclass(frozen=True)
class Segment(Judged):
    """Prices of an error that have the same best rule.

    Attributes
    ----------
    w_from, w_to : float
        The prices; the last is infinity where the path has no end.
    rule : Rule or None
        The best rule; None where no rule pays for its errors.
    covered, errors, n_rows : float
        Rows that the rule covers, those of another class among them, and all rows (weighted).
    proven : bool
        Whether no rule is better at any price of the segment.
    evidence : Evidence or None
        What the training rows say about the rule; see `verdict`.
    """

    w_from: float
    w_to: float
    rule: Rule | None
    covered: float
    errors: float
    n_rows: float
    proven: bool = True
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def value(self, w: float) -> float:
        """The volume-impurity index covered - w × errors of the rule at any price."""
        return self.covered - w * self.errors if self.errors else self.covered


@dataclass(frozen=True, eq=False)
class WeightPath:
    """The optimum as a function of the price of an error; `weight_path` makes it.

    Attributes
    ----------
    segments : tuple of Segment
        From the price 1 on, each with its rule, precision and coverage; empty where no rule
        meets the constraints.
    breakpoints : tuple of Fraction
        The exact prices at which one segment ends and the next begins.
    w_max : float
        The last price; infinity unless a limit was asked for.
    complete : bool
        Whether every segment is proven. If not, a limit of the budget was reached: the segments
        are then those of the rules found so far, and `bound` says what could still be gained.
    stopped_by : StopReason
    seconds : float
        Time that it took.
    n_solves : int
        Searches that it took.
    engine : str
    """

    segments: tuple[Segment, ...]
    breakpoints: tuple[Fraction, ...]
    w_max: float
    complete: bool
    stopped_by: StopReason
    seconds: float
    n_solves: int
    engine: str
    _trace: Trace = field(repr=False)
    _scale: int = field(repr=False)
    _evidence: Mapping[Line, Evidence | None] = field(repr=False)

    def __len__(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    def at(self, w: float | Fraction) -> Solution:
        """The best rule at a price with its VI: what `discover` finds there.

        At a breakpoint two rules or more have the same VI. The one given is the one that
        `discover` prefers: fewer conditions, then fewer errors, then the order of features.

        Parameters
        ----------
        w : float or Fraction
            A float is taken as it is written: 1.1 is 11/10. Infinity is the limit of all large
            prices: the largest rule without errors.
        """
        price, trace = self._price(w), self._trace
        bound = trace.bound_at(price)
        if not trace.pieces:
            status = Status.of(has_rule=False, may_be_empty=False, proven=trace.infeasible)
            return Solution(None, NOTHING, self._vi(bound), status, self.stopped_by)
        line = trace.line_at(price)
        value = value_at(line, price)
        proven = value == bound
        return Solution(
            rule=line.rule,
            value=self._vi(value),
            bound=self._vi(bound),
            status=Status.of(has_rule=line.rule is not None, may_be_empty=True, proven=proven),
            stopped_by=StopReason.FINISHED if proven else self.stopped_by,
            covered=line.covered / self._scale,
            errors=line.errors / self._scale,
            engine=self.engine,
            evidence=self._evidence.get(line),
        )

    def value(self, w: float | Fraction) -> float:
        """The largest VI at a price; where the path is not complete, the largest one found."""
        return self.at(w).value

    def bound(self, w: float | Fraction) -> float:
        """A VI that no rule exceeds at a price; equal to `value(w)` where that is proven.

        Between two proven prices it is the chord, because the optimum is convex in w.
        """
        return self.at(w).bound

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Segment, ...]:
        """The segments with the counts of their rules on other rows, such as held-out ones.

        Parameters
        ----------
        X : data frame, mapping of columns, 2-D array or path
        y : array-like of shape (n_rows,), or str
            Labels, or the name of the column of `X` that holds them.
        sample_weight : array-like of shape (n_rows,), optional
        """
        counts = counts_on([s.rule for s in self.segments], X, y, sample_weight)
        return tuple(
            Segment(s.w_from, s.w_to, s.rule, *numbers, proven=s.proven, evidence=s.evidence)
            for s, numbers in zip(self.segments, counts, strict=True)
        )

    def columns(self) -> dict[str, list[Any]]:
        """The segments by column: what every library makes a data frame of."""
        names = ("w_from", "w_to", "precision", "coverage", "covered", "errors", "proven")
        table = {name: [getattr(segment, name) for segment in self.segments] for name in names}
        verdicts = [None if s.verdict is None else str(s.verdict.level) for s in self.segments]
        rules = [None if s.rule is None else str(s.rule) for s in self.segments]
        return table | {"verdict": verdicts, "rule": rules}

    def to_frame(self) -> Any:
        """The segments as a data frame of pandas, or else of polars or Arrow."""
        return frame_of(self.columns())

    def __str__(self) -> str:
        if not self.segments:
            return "no rule meets the constraints"
        rows = [(f"{s.w_from:.4g}", f"{s.w_to:.4g}", *s.words()) for s in self.segments]
        return text_table(("w from", "to", *Judged.TITLES), rows)

    def _price(self, w: Any) -> Fraction | None:
        price = as_price("w", w, infinite=True)
        end = self._trace.w_end
        if end is not None and (price is None or price > end):
            raise InputError(
                f"'w' is {w!r}, but the path ends at {self.w_max:g}; ask for a larger 'w_max'."
            )
        return price

    def _vi(self, units: Fraction | float) -> float:
        return float(units / self._scale)


def weight_path(
    X: Any,
    y: Any = None,
    *,
    w_max: float = math.inf,
    max_depth: int | None = None,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    engine: str | Engine = "search",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    budget: Budget | None = None,
) -> WeightPath:
    """The best rule of every price of an error, with the proof.

    Parameters
    ----------
    X, y
        The data, as `discover` takes them; or a `Problem` in the place of X.
    w_max : float
        The last price of interest; all prices from 1 to infinity by default.
    max_depth, structure, groups, label, min_coverage, max_coverage, min_precision, \
constraints, sample_weight, roles, missing
        What rules there are, as in `discover`. Without a `label` the path is the best over all
        classes, and its rules may point to different ones.
    engine : str or Engine
        One that proves its answers.
    time_limit, n_jobs, memory_limit, budget
        Limits on the whole path, as in `discover`. A path that is cut short is true as far as it
        goes: it says what is proven, and bounds the rest.

    Returns
    -------
    WeightPath

    Notes
    -----
    A path of k segments takes about 2 k searches, each started from the rule of a neighbour.
    Breakpoints are ratios of whole numbers of rows; with row weights, of sums of weights in
    units, in which decimals of up to six places are exact as long as the sum of all weights stays
    below 2**29 units, and others are rounded to one part in 2**29 of that sum.

    Examples
    --------
    >>> path = weight_path({"age": [25, 31, 38, 47, 52, 60]},
    ...                    ["well", "ill", "well", "ill", "ill", "ill"], label="ill")
    >>> print(path)
    w from   to  covered  errors  precision  coverage        verdict  rule
         1    2        5       1     80.0 %    83.3 %  not supported  IF age >= 30 THEN ill
         2  inf        3       0    100.0 %    50.0 %  not supported  IF age >= 40 THEN ill
    >>> path.at(1.5).value, path.at(7).rule == path.segments[1].rule
    (3.5, True)
    """
    clock = start_clock(budget, time_limit, n_jobs, memory_limit)
    w_end = as_price("w_max", w_max, infinite=True)
    problem = Problem.of(
        X, y, max_depth=max_depth, structure=structure, groups=groups, label=label,
        min_coverage=min_coverage, max_coverage=max_coverage,
        min_precision=min_precision,
        constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
    )  # fmt: skip
    pricer = Pricer(problem, engine, clock)
    return trace_path(pricer, w_end)


def trace_path(pricer: Pricer, w_end: Fraction | None = None) -> WeightPath:
    """The path of a problem, from its exact trace."""
    trace, scale = Tracer(pricer, w_end).run(), pricer.scale
    ends = [trace.end_of(index) for index in range(len(trace.pieces))]
    lines = {*(piece.line for piece in trace.pieces), *trace.solved.values()}
    evidence = {line: pricer.evidence(line.rule) for line in lines}
    segments = tuple(
        Segment(
            w_from=float(piece.w_from),
            w_to=_float(end),
            rule=piece.line.rule,
            covered=piece.line.covered / scale,
            errors=piece.line.errors / scale,
            n_rows=pricer.total / scale,
            proven=trace.is_proven(index),
            evidence=evidence[piece.line],
        )
        for index, (piece, end) in enumerate(zip(trace.pieces, ends, strict=True))
    )
    return WeightPath(
        segments=segments,
        breakpoints=tuple(piece.w_from for piece in trace.pieces[1:]),
        w_max=_float(w_end),
        complete=all(s.proven for s in segments) and (bool(segments) or trace.infeasible),
        stopped_by=pricer.stopped_by or StopReason.FINISHED,
        seconds=pricer.clock.elapsed(),
        n_solves=pricer.work.solves,
        engine=pricer.engine,
        _trace=trace,
        _scale=scale,
        _evidence=evidence,
    )


def _float(w: Fraction | None) -> float:
    return math.inf if w is None else float(w)
