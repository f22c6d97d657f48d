"""The best rule that meets further limits on its rows, exactly.

These limits are linear: sums over the covered rows that may not exceed a number. So they can be
priced. With prices on what a rule uses of each limit a row is worth its gain less the prices, and
the best rule for these gains bounds all rules that meet the limits:

    gain <= gain + sum of price × (most - used) = priced value + sum of price × most,

since such a rule uses no more than it may. Good prices come from the cutting planes of the dual
problem; they are whole numbers of a fine unit, so that no bound is rounded. Then all rules are
listed whose priced value reaches that of the best rule known to meet the limits. The best rule
that meets them is one of these; and so are all that meet them and gain as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.blocks import Store
from opdt.engines.search.collect import Collector, RuleListing
from opdt.engines.search.run import Run
from opdt.engines.search.scores import Scores
from opdt.problem import CodedRule, Gains, Measure, Problem, RowGains, RowLimit
from opdt.solution import StopReason

Whole = NDArray[np.int64]
Ranked = tuple[CodedRule, Measure]

HIGHEST = 8.0  # a price per row at most, where 1 takes all that the best row gains
FINEST = 2**16  # units of a price that make one unit of gain
# The part by which prices are lowered for the listing. At the very prices of the lowest bound whole
# families of rules tie, as all small rules without errors under a limit on coverage.
SHADE = 256
MAX_TOTAL = 2**56  # what priced gains may add up to


@dataclass(frozen=True, eq=False)
class Priced(RowGains):
    """The gains of another objective in finer units, less the prices of limits."""

    base: Gains | None = None
    by_label: Mapping[int, Whole] | None = None

    def gains(self, label: int) -> Whole:
        """What covering each row is worth to a rule of this class."""
        assert self.by_label is not None
        return self.by_label[label]

    def wrong(self, label: int) -> NDArray[np.bool_]:
        """The errors of the other objective."""
        assert self.base is not None
        return self.base.wrong(label)


class WithinLimits:
    """The search for prices, and for the rule.

    Parameters
    ----------
    collector : Collector
    limits : sequence of RowLimit
        Beyond those of the problem.
    """

    def __init__(self, collector: Collector, limits: Sequence[RowLimit]) -> None:
        self._collector, self._problem = collector, collector.problem
        self._row_limits = tuple(limits)
        self._free = self._problem.with_limits(
            min_coverage=0, min_precision=0.0, max_errors=None, max_coverage=None, segments=(),
            parities=(),
        )  # fmt: skip
        objective = self._problem.objective
        # The problem's own limits are priced as well: the priced search knows no other.
        self._all = {
            label: (*self._row_limits, *_own_limits(self._problem, label))
            for label in objective.labels
        }
        first = self._all[objective.labels[0]]
        self._most = [limit.most for limit in first]
        gains = np.concatenate([objective.gains(label) for label in objective.labels])
        self._scale = float(max(1, np.abs(gains).max()))
        self._scales = [float(max(1, np.abs(limit.column).max(initial=0))) for limit in first]
        self._total = int(np.abs(gains).sum())
        self._known: Ranked | None = None
        self._found: tuple[int, tuple[int, ...], int, StopReason | None] | None = None
        self.bound: int = self._problem.ceiling  # a gain that no rule within the limits exceeds
        self.nodes = 0

    def solve(self) -> tuple[Ranked | None, StopReason]:
        """The first rule, in the documented order, that meets the limits, and why it ended.

        None if no rule does; where time ran out, the best such rule that is known.
        """
        _, _, bound, stopped = self._prices
        lowest = self._collector.lowest
        if stopped is None and bound >= lowest:
            known = lowest if self._known is None else self._known[1].gain
            found = self._list(known, 1, by_rows=True)
            for ranked in found.representatives():
                self.offer(ranked)
            stopped = found.stopped_by
        return self._known, stopped or StopReason.FINISHED

    def at_least(
        self, gain: int, limit: int, *, by_rows: bool, known: CodedRule | None = None
    ) -> RuleListing:
        """The first rules within the limits of at least this gain, no more than `limit` of them.

        A `known` rule is among them even if a limit on time is met before it is found.
        """
        gain = max(gain, self._collector.lowest)
        _, _, bound, stopped = self._prices
        if stopped is None and bound < gain:
            return self._collector.nothing(None)
        return self._list(gain, limit, by_rows=by_rows, known=known)

    # -- prices ------------------------------------------------------------------------------

    @property
    def _prices(self) -> tuple[int, tuple[int, ...], int, StopReason | None]:
        """What `_find_prices` gives; found once."""
        if self._found is None:
            self._found = self._find_prices()
        return self._found

    def _find_prices(self) -> tuple[int, tuple[int, ...], int, StopReason | None]:
        """The fine unit, the prices of the lowest bound, the bound, and the limit met."""
        cuts = [(0.0, np.array([-most for most in self._most]) / self._scales)]  # covering nothing
        wanted = np.zeros(len(self._most))
        best: tuple[int, tuple[int, ...], int] | None = None
        seen = set()
        start: CodedRule | None = None
        for _ in range(self._collector.switches.tuning.price_searches):
            fine, prices = self._rounded(wanted)
            if (fine, prices) in seen:
                break
            seen.add((fine, prices))
            run = self._search(fine, prices, start)
            self.nodes += run.statistics.nodes
            if run.stopped_by is not None:
                most = run.bound()
                if most is not None:
                    self.bound = min(self.bound, (most + self._allowance(prices)) // fine)
                return fine, prices, 0, run.stopped_by
            start = run.incumbent
            value = 0 if start is None else run.problem.measure(start).gain
            bound = (value + self._allowance(prices)) // fine
            self.bound = min(self.bound, bound)
            if best is None or bound < best[2]:
                best = fine, prices, bound
            if start is not None:
                cuts.append(self._cut(start))
            known = self._collector.lowest if self._known is None else self._known[1].gain
            if best[2] <= known:
                break
            wanted = _cheapest(cuts)
        assert best is not None
        return *best, None

    def _rounded(self, wanted: NDArray[np.float64]) -> tuple[int, tuple[int, ...]]:
        """Prices in whole numbers of a unit that is as fine as the sums allow."""
        fine = FINEST
        per_row = self._scale / np.array(self._scales)
        while fine > 1 and self._total * fine * (1 + HIGHEST * len(wanted)) > MAX_TOTAL:
            fine //= 2
        prices = tuple(np.rint(wanted * per_row * fine).astype(np.int64).tolist())
        used = sum(
            price * int(np.abs(limit.column).sum())
            for price, limit in zip(prices, self._all[next(iter(self._all))], strict=True)
        )
        return (fine, prices) if used < 4 * MAX_TOTAL else (1, (0,) * len(prices))

    def _priced(self, fine: int, prices: tuple[int, ...]) -> Problem:
        """The problem without limits on rows, with priced gains."""
        base = self._problem.objective
        by_label = {}
        for label, limits in self._all.items():
            by_label[label] = base.gains(label) * fine
            for price, limit in zip(prices, limits, strict=True):
                by_label[label] -= price * limit.column
        objective = Priced(
            by_label[base.labels[0]], base.unit / fine, base.labels, base.weights,
            base.weight_scale, base=base, by_label=by_label,
        )  # fmt: skip
        return self._free.with_objective(objective)

    def _search(self, fine: int, prices: tuple[int, ...], start: CodedRule | None) -> Run:
        collector = self._collector
        switches = replace(collector.switches, seeding=False)
        run = Run(
            self._priced(fine, prices), collector.prepared, collector.silent, switches, start=start
        )
        run.search()
        return run

    def _allowance(self, prices: tuple[int, ...]) -> int:
        return sum(price * most for price, most in zip(prices, self._most, strict=True))

    def _cut(self, rule: CodedRule) -> tuple[float, NDArray[np.float64]]:
        """Gain of a rule and what it uses beyond its limits, scaled; the rule may be the best."""
        fires = self._problem.cover(rule.conditions)
        used = [int(limit.column[fires].sum()) for limit in self._all[rule.label]]
        measure = self._problem.measure(rule)
        over = [use - most for use, most in zip(used, self._most, strict=True)]
        if max(over, default=0) <= 0 and self._problem.objection(rule) is None:
            self.offer((rule, measure))
        return measure.gain / self._scale, np.array(over) / self._scales

    def offer(self, ranked: Ranked) -> None:
        """Take a rule that meets the limits, if it comes before the best one known."""
        if ranked[1].gain < self._collector.lowest:
            return
        if self._known is None or self._problem.key(*ranked) < self._problem.key(*self._known):
            self._known = ranked

    # -- rules -------------------------------------------------------------------------------

    def _list(
        self, gain: int, limit: int, *, by_rows: bool, known: CodedRule | None = None
    ) -> RuleListing:
        """List what the prices leave, with a value that rises with the rules known."""
        fine, found, *_ = self._prices
        prices = tuple(price - price // SHADE for price in found)
        collector, priced = self._collector, self._priced(fine, prices)
        scores = Scores.of(priced)
        allowance = self._allowance(prices)
        values = {label: scores.gains(priced, label) for label in priced.objective.labels}
        # No rule is worth more, or less, than this; beyond it numbers might not fit.
        ends = max(int(np.abs(priced.objective.gains(label)).sum()) for label in values) + 1

        def value(gain: int, size: int, errors: int) -> int:
            return scores.least_value(min(max(gain * fine - allowance, -ends), ends))

        store = Store(
            collector.order, limit, by_rows=by_rows, least=value(gain, 0, 0), least_gain=gain,
            value=value, room=collector.switches.tuning.kept_blocks,
        )  # fmt: skip
        lister = collector.lister(values, scores.offset, store, self._row_limits)
        return collector.fill(priced, store, lister, known)


def _own_limits(problem: Problem, label: int) -> list[RowLimit]:
    """The limits on coverage, errors and precision of a rule of this class, where there are any."""
    if not problem.constraints.bounds_rows:
        return []
    limits, weights = problem.limits, problem.objective.weights
    wrong = problem.objective.wrong(label)
    precision = limits.precision
    return [
        RowLimit(-weights, -limits.min_covered),
        RowLimit(weights * wrong, limits.max_errors),
        RowLimit(weights * (precision.numerator - precision.denominator * ~wrong), 0),
    ]


def _cheapest(cuts: list[tuple[float, NDArray[np.float64]]]) -> NDArray[np.float64]:
    """The prices at which the best of some rules is worth least: a linear program."""
    from scipy.optimize import linprog

    gains = np.array([gain for gain, _ in cuts])
    over = np.array([used for _, used in cuts])
    n = over.shape[1]
    solved = linprog(
        np.append(1.0, np.zeros(n)),
        A_ub=np.column_stack([-np.ones(len(gains)), -over]),
        b_ub=-gains,
        bounds=[(None, None), *[(0.0, HIGHEST)] * n],
    )
    out: NDArray[np.float64] = solved.x[1:] if solved.x is not None else np.zeros(n)
    return out
