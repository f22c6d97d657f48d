"""RSCRULES: the RULES learner with one group of features per level of the rule.

The paper's second structure-constrained heuristic. Features are discretised, numeric ones into
bins of equal width; rules grow from general to specific, one bin of one feature at a time, and
the rule of greatest VI is returned.

The paper says no more than that, so the rest is our reading. RULES keeps rules without error and
looks no further at the rows they explain; here, since errors have a price, a rule is kept if its
VI is positive, and as in RRULES its rows are explained at once. Of several readings that were
tried this one was chosen because it comes closest to the VI in the paper's tables, so agreement
with them is no evidence for it. The best combination of bins would often exceed them by far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.engines.base import Engine, Outcome, Recorder
from opdt.engines.bins import DEFAULT_BINS, Bin, BinnedTable, check_bins
from opdt.problem import CodedRule, Measure, Problem, simplify
from opdt.solution import Clock, LimitReached, Statistics, StopReason

Units = NDArray[np.int64]
BLOCK_CELLS = 1 << 20  # of a table that are looked at in one go
HALF = 30  # bits; a block of them adds up to less than 2**53
LEAST = -(1 << 62)  # below every gain

Places = tuple[int, ...]  # positions of bins in a binned table, ascending
# Whether a rule may be made of these bins, for a class and with what it measures.
Accepts = Callable[[Places, int, Measure], bool]


@dataclass(frozen=True)
class RSCRULESEngine(Engine):
    """Keeps the rules made of bins that gain, from general to specific; proves nothing.

    Every rule is a conjunction of bins of different features. In a `Problem` a bin counts as
    what it takes to say it: one condition for a level or for the first or last bin of a numeric
    feature, two (``x >= a`` and ``x < b``) for a bin between, which therefore needs two levels of
    the structure. The paper counts every bin as one condition;
    `opdt.baselines.rscrules` does the same, and is what to compare with the paper's numbers.

    A longer rule is only tried for rows that no shorter one explains. Missing values lie in no
    bin.

    Parameters
    ----------
    bins : int
        Bins of equal width per numeric feature.

    Examples
    --------
    >>> from opdt.problem import Problem
    >>> from opdt.table import Table
    >>> problem = Problem.build(Table.build({"x": list(range(10))}, list("aaabbbbbbb")))
    >>> solution = RSCRULESEngine(bins=3).solve(problem)
    >>> print(solution.rule, "| VI", solution.value)
    IF x >= 5.5 THEN b | VI 4.0
    """

    name: ClassVar[str] = "rscrules"
    proves_optimality: ClassVar[bool] = False

    bins: int = DEFAULT_BINS

    def __post_init__(self) -> None:
        check_bins(self.bins)

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        recorder, bound = Recorder(problem, clock), problem.ceiling
        try:
            binned = BinnedTable.of(problem.table, self.bins, clock)
        except LimitReached as stop:
            return Outcome(None, bound=bound, stopped_by=stop.reason)
        room = max(map(len, problem.chains))
        sizes = [len(each.coded) for each in binned.bins]
        search = BinSearch(problem, binned, sizes, room, _Fit(problem, binned.bins), clock)
        rule: CodedRule | None = None
        stopped = StopReason.FINISHED
        try:
            for places, label, gain in search:
                rule = coded_rule(binned.bins, places, label)
                recorder.improved(rule, problem.value(gain), problem.value(bound))
        except KeyboardInterrupt:
            stopped = StopReason.INTERRUPTED
        return Outcome(
            rule,
            bound=bound,
            stopped_by=search.stopped or stopped,
            trace=tuple(recorder.points),
            statistics=Statistics(nodes=search.nodes, evaluations=search.evaluations),
        )


def coded_rule(bins: tuple[Bin, ...], places: Places, label: int) -> CodedRule:
    """The rule that says these bins in rank codes."""
    return CodedRule(simplify(sum((bins[at].coded for at in places), ())), label)


class _Fit:
    """Whether a rule made of bins is one of the problem's, remembered by features and operators.

    Which levels can apply a condition does not depend on its threshold or level.
    """

    def __init__(self, problem: Problem, bins: tuple[Bin, ...]) -> None:
        self._problem, self._bins = problem, bins
        self._known: dict[tuple[tuple[int, str], ...], bool] = {}

    def __call__(self, places: Places, label: int, measure: Measure) -> bool:
        problem = self._problem
        if not problem.within_limits(measure):
            return False
        conditions = coded_rule(self._bins, places, label).conditions
        used = [condition.feature for condition in conditions]
        if not problem.required <= set(used):
            return False
        if problem.constraints.once and len(set(used)) < len(used):
            return False
        shape = tuple((condition.feature, condition.op) for condition in conditions)
        if shape not in self._known:
            self._known[shape] = any(problem.fits(chain, conditions) for chain in problem.chains)
        return self._known[shape]


class BinSearch:
    """Every improvement found among the rules made of bins: iterate over (bins, class, gain).

    Rules of one bin come first, then those of two, and so on, in the order of the table. A rule
    is kept if it gains and covers a row that no kept rule covers yet; such rows are all that
    longer rules are tried for. Where a minimum coverage rules out the empty rule, the best rule
    counts even if it loses.

    Parameters
    ----------
    problem : Problem
        For its objective; the structure matters to `accepts` alone.
    binned : BinnedTable
    sizes : list of int
        What each bin counts towards `room`.
    room : int
        The largest sum of sizes.
    accepts : callable
        Whether a rule that improves on the best may be taken.
    clock : Clock
    """

    def __init__(
        self,
        problem: Problem,
        binned: BinnedTable,
        sizes: list[int],
        room: int,
        accepts: Accepts,
        clock: Clock,
    ) -> None:
        objective = problem.objective
        self._binned, self._room, self._accepts, self._clock = binned, room, accepts, clock
        self._sizes = np.array(sizes, dtype=np.int64)
        self._owner = np.array([each.feature for each in binned.bins], dtype=np.int64)
        self._weights = objective.weights
        self._gains = {k: objective.gains(k) for k in objective.labels}
        self._wrong = {k: self._weights * objective.wrong(k) for k in objective.labels}
        self._best = 0 if problem.may_be_empty else LEAST
        self._open = np.ones(len(binned.cells), dtype=bool)  # rows that no rule explains yet
        self.nodes = self.evaluations = 0
        self.stopped: StopReason | None = None

    def __iter__(self) -> Iterator[tuple[Places, int, int]]:
        # Rules that may become longer, by the bins they have in common and their last ones: the
        # rows of all of them at once would not fit into memory.
        frontier: list[tuple[Places, list[Places]]] = [((), [()])]
        try:
            while frontier:
                longer: list[tuple[Places, list[Places]]] = []
                for places, last in frontier:
                    rows = self._rows(places)
                    for more in last:
                        self.stopped = self._clock.stop(self.nodes)
                        if self.stopped:
                            return
                        self.nodes += 1
                        here = self._rows(more, rows)
                        if self._open[here].any():
                            yield from self._extend((*places, *more), here, longer)
                frontier = longer
        except LimitReached as stop:
            self.stopped = stop.reason

    def _rows(self, places: Places, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """Those of the rows, or of all rows, that lie in all of these bins."""
        self._clock.check()
        if rows is None:
            rows = np.arange(len(self._binned.cells))
        for place in places:
            rows = rows[self._binned.cells[rows, self._owner[place]] == place]
        return rows

    def _extend(
        self,
        places: Places,
        rows: NDArray[np.intp],
        longer: list[tuple[Places, list[Places]]],
    ) -> Iterator[tuple[Places, int, int]]:
        """Try a rule with each further bin; put those that can be longer into `longer`."""
        room = self._room - int(self._sizes[list(places)].sum())
        after = int(self._owner[places[-1]]) + 1 if places else 0
        may = np.flatnonzero((self._owner >= after) & (self._sizes <= room))
        if not len(may):
            return
        covered, gains, labels, errors = (each[may] for each in self._measure(rows, after))
        self.evaluations += len(may)
        for at in np.flatnonzero((covered > 0) & (gains > min(self._best, 0))):
            rule, inside = (*places, int(may[at])), self._rows((int(may[at]),), rows)
            gain, label = int(gains[at]), int(labels[at])
            if gain > 0 and not self._open[inside].any():
                continue
            if not self._accepts(rule, label, Measure(gain, int(covered[at]), int(errors[at]))):
                continue
            if gain > 0:
                self._open[inside] = False
            if gain > self._best:
                self._best = gain
                yield rule, label, gain
        further = may[(covered > 0) & (self._sizes[may] < room)]
        last: list[Places] = [(int(place),) for place in further]
        if last:
            longer.append((places, last))

    def _measure(
        self, rows: NDArray[np.intp], after: int
    ) -> tuple[Units, Units, NDArray[np.int64], Units]:
        """Weight in each bin, the greatest gain over the classes, that class and its errors."""
        covered = self._sums(rows, after, self._weights)
        best = np.full(len(covered), LEAST)
        labels = np.zeros(len(covered), dtype=np.int64)
        errors = np.zeros(len(covered), dtype=np.int64)
        for label, gains in self._gains.items():
            gain = self._sums(rows, after, gains)
            better = gain > best
            labels[better], best[better] = label, gain[better]
            errors[better] = self._sums(rows, after, self._wrong[label])[better]
        return covered, best, labels, errors

    def _sums(self, rows: NDArray[np.intp], after: int, values: Units) -> Units:
        """Sum of the rows' values in each bin of the features from `after` on.

        NumPy adds doubles here, which are exact below 2**53: larger numbers are added in halves.
        """
        sums = np.zeros(len(self._binned.bins) + 1, dtype=np.int64)
        n_features = self._binned.cells.shape[1] - after
        step = max(1, BLOCK_CELLS // max(1, n_features))
        for first in range(0, len(rows), step):
            self._clock.check()
            here = rows[first : first + step]
            cells, part = self._binned.cells[here, after:].ravel(), values[here]
            large = int(np.abs(part).max()) >= 1 << HALF
            for shift, half in (
                ((0, part % (1 << HALF)), (HALF, part >> HALF)) if large else ((0, part),)
            ):
                each = np.bincount(cells, np.repeat(half, n_features), len(sums))
                sums += each.astype(np.int64) << shift
        return sums
