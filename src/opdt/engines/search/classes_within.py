"""Rules of several classes within limits on sums of their rows: each class has its own prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opdt.engines.base import Outcome
from opdt.engines.search.blocks import Blocks
from opdt.engines.search.collect import Collector, RuleListing, list_downwards
from opdt.engines.search.position_kernels import LIMITED
from opdt.engines.search.within_limits import Ranked, WithinLimits
from opdt.problem import CodedRule, RowLimit
from opdt.solution import Statistics, StopReason


class ClassesWithin:
    """The rules of a problem that meet its limits on sums of rows, and perhaps others.

    Parameters
    ----------
    collector : Collector
    limits : sequence of RowLimit
        Beyond those of the problem, whatever the class.
    """

    def __init__(self, collector: Collector, limits: Sequence[RowLimit] = ()) -> None:
        self._collector, self._problem = collector, collector.problem
        objective = self._problem.objective
        self._parts = {}
        for label in objective.labels:
            own = self._problem.with_objective(replace(objective, labels=(label,)))  # type: ignore[type-var]
            self._parts[label] = WithinLimits(collector.of(own), (*own.row_limits(label), *limits))

    def best(self, start: CodedRule | None = None) -> tuple[Ranked | None, StopReason, int]:
        """The first rule of the order, why the search ended, and a gain that none exceeds.

        A rule to start from counts if it is one of the problem's.
        """
        best: Ranked | None = None
        open_bounds, stopped = [], StopReason.FINISHED
        if start is not None and self._problem.objection(start) is None:
            self._parts[start.label].offer((start, self._problem.measure(start)))
        for part in self._parts.values():
            found = None
            if stopped is StopReason.FINISHED:
                found, stopped = part.solve()
            if found is not None and (best is None or self._key(found) < self._key(best)):
                best = found
            if stopped is not StopReason.FINISHED:
                open_bounds.append(part.bound)
        least = self._collector.lowest - 1 if best is None else best[1].gain
        return best, stopped, max([least, *open_bounds])

    def _key(self, ranked: Ranked) -> tuple[object, ...]:
        return self._problem.key(*ranked)

    def solve(self, start: CodedRule | None) -> Outcome:
        """The best rule as an engine hands it over."""
        best, stopped, bound = self.best(start)
        if best is None and self._problem.may_be_empty:
            bound = max(bound, 0)
        return Outcome(
            rule=None if best is None else best[0],
            bound=None if stopped is StopReason.FINISHED else bound,
            stopped_by=stopped,
            statistics=Statistics(nodes=sum(part.nodes for part in self._parts.values())),
        )

    def at_least(
        self, gain: int, limit: int, *, by_rows: bool, known: CodedRule | None = None
    ) -> RuleListing:
        """As `Collector.at_least`, of the rules within the limits."""
        found = []
        for label, part in self._parts.items():
            own = known if known is not None and known.label == label else None
            found.append(part.at_least(gain, limit, by_rows=by_rows, known=own))
        return _joined(found, max(gain, self._collector.lowest), limit)

    def first(self, limit: int, *, by_rows: bool) -> RuleListing:
        """As `Collector.first`, of the rules within the limits."""
        best, stopped, _ = self.best()
        if best is None:
            return self._collector.nothing(stopped)
        return list_downwards(self.at_least, best, self._collector.lowest, limit, by_rows=by_rows)


def _joined(found: Sequence[RuleListing], gain: int, limit: int) -> RuleListing:
    """The first rules of several classes; rules of different classes are never the same."""
    order = found[0].order
    # Of sums over rows those beyond these are of the limits, which differ between classes.
    parts = [replace(each.blocks, sums=each.blocks.sums[:, :LIMITED]) for each in found]
    blocks = Blocks.joined(parts)
    blocks = blocks.take(order.sort(blocks)[: min(len(blocks), limit)])
    ended = [each.stopped_by for each in found if not each.is_complete]
    return RuleListing(blocks, order, limit, gain, ended[0] if ended else StopReason.FINISHED)
