"""RSCRULES: the RULES learner with one group of features per level of the rule.

The paper's second structure-constrained heuristic. Features are discretised, numeric ones into
bins of equal width; rules grow from general to specific, one bin of one feature at a time, and
the rule of greatest VI is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.engines.base import Engine, Outcome, Recorder
from opdt.engines.bins import DEFAULT_BINS, Bin, BinnedTable, check_bins
from opdt.engines.bsccart import ceiling
from opdt.problem import CodedRule, Measure, Problem, simplify
from opdt.solution import Clock, Statistics, StopReason

Places = tuple[int, ...]  # positions of bins in a binned table, ascending
# Whether a rule may be made of these bins, for a class and with what it measures.
Accepts = Callable[[Places, int, Measure], bool]


@dataclass(frozen=True)
class RSCRULESEngine(Engine):
    """Tries the rules made of bins, from general to specific: fast, and proves nothing.

    Every rule is a conjunction of bins of different features. In a `Problem` a bin counts as
    what it takes to say it: one condition for a level or for the first or last bin of a numeric
    feature, two (``x >= a`` and ``x < b``) for a bin between, which therefore needs two levels of
    the structure. The paper counts every bin as one condition;
    `opdt.baselines.rscrules` does the same, and is what to compare with the paper's numbers.

    A rule is not extended once no more specific one could be better: in particular when it is
    without error, as in RULES. Missing values lie in no bin.

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
        binned = BinnedTable.of(problem.table, self.bins)
        room = max(map(len, problem.chains))
        sizes = [len(each.coded) for each in binned.bins]
        recorder, bound = Recorder(problem, clock), ceiling(problem)
        search = BinSearch(problem, binned, sizes, room, _Fit(problem, binned.bins), clock)
        rule: CodedRule | None = None
        stopped = StopReason.FINISHED
        try:
            for places, label, gain in search:
                rule = coded_rule(binned.bins, places, label)
                recorder.improved(rule, problem.vi(gain), problem.vi(bound))
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

    Rules of one bin come first, then those of two, and so on. A rule is extended by bins of
    later features only, so that each set of bins is seen once, and only while its rows of
    positive gain are worth more than the best rule so far.

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
        self._weights = objective.weights.astype(np.float64)
        self._gains = {k: objective.gains(k).astype(np.float64) for k in objective.labels}
        self._wrong = {k: self._weights * objective.wrong(k) for k in objective.labels}
        self._mass = {k: np.maximum(gains, 0) for k, gains in self._gains.items()}
        self._best = 0.0 if problem.may_be_empty else -np.inf
        self.nodes = self.evaluations = 0
        self.stopped: StopReason | None = None

    def __iter__(self) -> Iterator[tuple[Places, int, int]]:
        rows = np.arange(len(self._binned.cells))
        frontier: list[tuple[Places, NDArray[np.intp]]] = [((), rows)]
        while frontier:
            longer: list[tuple[Places, NDArray[np.intp]]] = []
            for places, here in frontier:
                self.stopped = self._clock.stop(self.nodes)
                if self.stopped:
                    return
                self.nodes += 1
                yield from self._extend(places, here, longer)
            frontier = longer

    def _extend(
        self,
        places: Places,
        rows: NDArray[np.intp],
        longer: list[tuple[Places, NDArray[np.intp]]],
    ) -> Iterator[tuple[Places, int, int]]:
        """Try a rule with each further bin; put those worth extending into `longer`."""
        room = self._room - int(self._sizes[list(places)].sum())
        after = int(self._owner[places[-1]]) + 1 if places else 0
        may = np.flatnonzero((self._owner >= after) & (self._sizes <= room))
        if not len(may):
            return
        cells = self._binned.cells[rows, after:]
        covered = self._sums(cells, self._weights[rows])[may]
        mass = np.zeros(len(may))
        self.evaluations += len(may)
        for label, gains in self._gains.items():
            gain = self._sums(cells, gains[rows])[may]
            errors = self._sums(cells, self._wrong[label][rows])[may]
            mass = np.maximum(mass, self._sums(cells, self._mass[label][rows])[may])
            for at in np.argsort(-gain, kind="stable"):
                if gain[at] <= self._best:
                    break
                measure = Measure(int(gain[at]), int(covered[at]), int(errors[at]))
                if self._accepts((*places, int(may[at])), label, measure):
                    self._best = gain[at]
                    yield (*places, int(may[at])), label, measure.gain
                    break
        for at in np.flatnonzero((mass > self._best) & (self._sizes[may] < room)):
            place = may[at]
            inside = cells[:, self._owner[place] - after] == place
            longer.append(((*places, int(place)), rows[inside]))

    def _sums(self, cells: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the rows' values in each bin; exact, since whole numbers below 2**53 are added."""
        n_bins = len(self._binned.bins)
        each = np.repeat(values, cells.shape[1])
        return np.bincount(cells.ravel(), each, n_bins + 1).astype(np.float64, copy=False)
