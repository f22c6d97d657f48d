"""One run of the search: seeds, then rules of one condition, two, three, … until all is settled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from opdt.engines.base import Recorder
from opdt.engines.search import kernels
from opdt.engines.search.agenda import Agenda, Halted
from opdt.engines.search.boxes import Box
from opdt.engines.search.candidate import first_rule
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.positions import Expired
from opdt.engines.search.pricing import limits_of
from opdt.engines.search.rays import RayPlan, Rays
from opdt.engines.search.scan import Scan
from opdt.engines.search.scores import Scores
from opdt.engines.search.sweep import Sweep
from opdt.engines.search.table_rows import TableRows
from opdt.engines.search.tuning import Switches
from opdt.problem import CodedRule, Problem
from opdt.solution import Clock, Statistics, StopReason

# Seconds after which an improvement is put into the trace at once, not at the end.
# Seconds that working out a rule may take after a limit is reached.
GRACE = 0.05
# Rows of a column from which it is worth handing it to another thread.
WORTH_POOLING = 20_000
# Positions that fit into the 16 bits of a level.
MAX_POSITIONS = 65_000


class Prepared:
    """What depends on the table, structure and constraints but not on the gains."""

    def __init__(self, problem: Problem) -> None:
        self.rays = Rays.of(problem)
        self.plans = tuple(RayPlan(problem, chain, self.rays) for chain in problem.chains)
        self.clash = self.rays.clashes(once=problem.constraints.once)
        self.is_free = all(plan.is_free for plan in self.plans)

    def fits(self, rays: tuple[int, ...]) -> bool:
        """Whether some chain can hold this set of rays."""
        return any(plan.fits(tuple(int(plan.types[ray]) for ray in rays)) for plan in self.plans)


class Run:
    """One search, from its incumbent to its proof."""

    def __init__(
        self,
        problem: Problem,
        prepared: Prepared,
        clock: Clock,
        switches: Switches,
        *,
        start: CodedRule | None = None,
        at_least: int | None = None,
        ties: bool = True,
        scores: Scores | None = None,
    ) -> None:
        self.problem, self.prepared, self.clock, self.switches = problem, prepared, clock, switches
        self.scores = Scores.of(problem) if scores is None else scores
        self.decide = at_least is not None
        lowest = 1 if problem.may_be_empty else kernels.NEG // 2
        if at_least is not None:
            lowest = max(lowest, self.scores.least_value(at_least))
        self.control = np.array([lowest, 0], np.int64)
        self.recorder = Recorder(problem, clock)
        self.stopped_by: StopReason | None = None
        self.hint: Box | None = None  # where the first of the winners lies
        self.winners: set[tuple[int, tuple[int, ...]]] = set()
        self.reached = kernels.NEG  # the value of the winners
        self._noted = kernels.NEG  # the value of the incumbent
        self.incumbent: CodedRule | None = None
        self._lock = threading.Lock()
        self._counts = np.zeros(4, np.int64)
        self._agenda: Agenda | None = None  # of the pass under way
        self._later = True  # whether passes are still to come
        self._most = 1 << 62  # the smallest bound so far
        self._ties = ties  # whether the rules of the best value are told apart
        if start is not None:
            self.take_start(start)
        if self.incumbent is not None and not ties:
            more = self.problem.measure(self.incumbent).gain + 1
            self.control[kernels.BEST] = max(self.best, self.scores.least_value(more))

    @cached_property
    def is_large(self) -> bool:
        """Whether the rows are so many that cells are counted instead of rows."""
        table = self.problem.table
        return (
            table.n_rows > self.switches.large_rows
            or len(self.prepared.rays.rays) > self.switches.large_rays
            or int((self.prepared.rays.tops == 1).sum()) > self.switches.large_rays // 3
            or max((c.n_values for c in table.columns), default=0) > MAX_POSITIONS
        )

    @cached_property
    def method(self) -> Sweep | Scan:
        """How rules of one condition and more are settled: on rows, or on cells."""
        return TableRows(self).scan if self.is_large else Sweep(self)

    # -- what is known -----------------------------------------------------------------------

    @property
    def best(self) -> int:
        """The value that a rule must reach to be of interest."""
        return int(self.control[kernels.BEST])

    @cached_property
    def ceiling(self) -> int:
        """A value that no rule exceeds, known before any search."""
        scale = self.scores.scale
        return max(0, self.problem.ceiling * scale)

    def bound(self) -> int | None:
        """A gain that no rule exceeds; None when the best is proven."""
        with self._lock:
            open_bounds = []
            if self._later:
                open_bounds.append(self.ceiling)
            if self._agenda is not None and (most := self._agenda.bound()) is not None:
                open_bounds.append(most)
        if not open_bounds and self._noted >= self.reached:
            return None
        most = min(self.ceiling, max(open_bounds, default=kernels.NEG))
        # what was a bound once is one for ever
        self._most = min(self._most, max(most, self.best, self.reached))
        return self.scores.gain_of(self._most)

    @cached_property
    def limits(self) -> kernels.Limits:
        """The row constraints as the kernels take them."""
        return limits_of(self.problem)

    @cached_property
    def bases(self) -> list[Field]:
        """One field per class with all rows and positions, most mass first."""
        rays, objective = self.prepared.rays, self.problem.objective
        # Where nothing asks for the errors of a large table, pages of zeros take no memory.
        idle = (
            self.is_large and self.scores.with_errors and not self.problem.constraints.bounds_rows
        )
        none = np.zeros(self.problem.table.n_rows, np.int64)
        fields = [
            Field(
                label,
                np.arange(len(rays.rays)),
                rays.levels if not self.is_large else np.empty((0, 0), np.uint16),
                rays.tops,
                self.scores.gains(self.problem, label),
                objective.weights,
                none if idle else objective.weights * objective.wrong(label),
            )
            for label in objective.labels
        ]
        return sorted(fields, key=lambda field: -field.mass)

    # -- incumbents --------------------------------------------------------------------------

    def take_start(self, rule: CodedRule) -> None:
        """Take a rule as the incumbent, if it is one of the problem's and good enough."""
        if self.problem.objection(rule) is not None:
            return
        value = self.value(rule)
        if value >= self.best:
            self.control[kernels.BEST] = value
            self.incumbent, self._noted = rule, value
            self.recorder.improved(rule, self._vi_value(), self._vi_bound())

    def offer(self, value: int, label: int, rays: tuple[int, ...], hint: Box | None = None) -> None:
        """Take a set of rays that reaches a value; among equals all are kept.

        A `hint` is a box of positions in which the value is reached.
        """
        with self._lock:
            if value > self.reached:
                self.winners.clear()
                self.hint = hint
                self.reached = value
                # a kernel may have written a lower best over a higher one: put it right
                self.control[kernels.BEST] = max(value, self.best)
            if value == self.reached:
                self.winners.add((label, tuple(sorted(rays))))
            if self.decide:
                self.control[kernels.STOP] = 1

    def note(self, *, quick: bool) -> None:
        """Work out the rule of the best value, and put it into the trace.

        If `quick`, any rule of the value will do. If time runs out meanwhile, the incumbent stays.
        """
        with self._lock:
            winners, value, hint = set(self.winners), self.reached, self.hint
        if not winners or (quick and value <= self._noted):
            return
        try:
            if quick and hint is not None:
                winners = {(hint.label, hint.rays)}
            rule, (label, rays) = first_rule(self, winners, value, quick=quick)
        except Expired:
            if not quick and self.stopped_by is None:
                self.stopped_by = self.clock.stop() or StopReason.TIME  # ties are not decided
            return
        # a set may hold more than was asked of it
        self.incumbent, self._noted = rule, self.value(rule)
        self.offer(self._noted, label, rays)
        self.recorder.improved(rule, self._vi_value(), self._vi_bound())

    def expired(self) -> bool:
        """Whether the time for working out a rule is over: a little after the limit."""
        if self.clock.budget.cancel is not None and self.clock.budget.cancel.is_set():
            return True
        return self.clock.remaining() < -GRACE

    def value(self, rule: CodedRule) -> int:
        """The value of a rule: gain, price of its conditions, errors."""
        measure = self.problem.measure(rule)
        value = measure.gain * self.scores.scale + self.scores.offset(len(rule.conditions))
        return value - (measure.errors if self.scores.with_errors else 0)

    def _vi_bound(self) -> float:
        bound = self.bound()
        return self._vi_value() if bound is None else self.problem.value(bound)

    def _vi_value(self) -> float:
        """What the incumbent is worth; without one, what the empty rule is."""
        if self._noted > kernels.NEG:
            return self.problem.value(self.scores.gain_of(self._noted))
        return 0.0 if self.problem.may_be_empty else float("-inf")

    # -- stopping ----------------------------------------------------------------------------

    def halted(self) -> bool:
        """Whether the kernels are told to stop."""
        return bool(self.control[kernels.STOP])

    def halt(self) -> None:
        """Tell the kernels to stop."""
        self.control[kernels.STOP] = 1

    def watch(self) -> None:
        """Look at the clock; tell the progress callback."""
        reason = self.clock.stop(int(self._counts[kernels.NODES]) + self.method.nodes)
        if reason is not None and self.stopped_by is None:
            self.stopped_by = reason
            self.halt()
        if self.clock.elapsed() > self.switches.tuning.worth_noting and not self.halted():
            self.note(quick=True)
        if self.clock.budget.progress is not None:
            done = 0.0 if self._agenda is None else self._agenda.share
            self.recorder.report(self._vi_value(), self._vi_bound(), done)

    # -- the passes --------------------------------------------------------------------------

    def search(self) -> None:
        """Settle all rules, smallest first."""
        self._later = True
        try:
            self.watch()
            if not self.halted():
                self._empty()
            if isinstance(self.method, Scan):
                self.method.search()
            else:
                for size in range(1, self.problem.structure.depth + 1):
                    if self.halted():
                        break
                    self.method.search(size)
                    if self.clock.elapsed() > self.switches.tuning.worth_noting:
                        self.note(quick=True)
            if not self.halted():
                self._later = False
                self.note(quick=not self._ties)
        except KeyboardInterrupt:
            self.stopped_by = StopReason.INTERRUPTED
            self.halt()
        self.note(quick=True)
        self.recorder.improved(self.incumbent, self._vi_value(), self._vi_bound(), final=True)

    def look(self) -> None:
        """Look for a good rule, without a proof."""
        try:
            self.watch()
            if not self.halted():
                self._empty()
                self.method.look()
        except (KeyboardInterrupt, Halted) as ended:
            if isinstance(ended, KeyboardInterrupt):
                self.stopped_by = StopReason.INTERRUPTED
            self.halt()
        self.note(quick=True)

    def _empty(self) -> None:
        """The rule without a condition, which covers every row."""
        if not self.prepared.fits(()):
            return
        for label in self.problem.objective.labels:
            rule = CodedRule((), label)
            value = self.value(rule)
            if value >= self.best and self.problem.within_limits(self.problem.measure(rule)):
                self.offer(value, label, ())

    def affordable(self, each: int, wanted: int, shared: int = 0) -> int:
        """How many of so many threads the memory limit allows, if each takes so many bytes.

        Stops the run where it does not allow one.
        """
        limit = self.clock.budget.memory_limit
        if limit is None:
            return wanted
        if shared + each > limit:
            self.stopped_by = StopReason.MEMORY
            self.halt()
            return 0
        return min(wanted, int(limit - shared) // max(1, each))

    def on_threads(self, function: Callable[..., Any], *items: Iterable[Any]) -> list[Any]:
        """The results of a function that releases the GIL, worked out on all threads in order.

        Raises
        ------
        Halted
            Where the run was halted meanwhile.
        """

        def call(*args: Any) -> Any:
            return None if self.halted() else function(*args)

        n_threads = self.clock.budget.n_threads
        if n_threads == 1 or self.problem.table.n_rows < WORTH_POOLING:
            out = [call(*args) for args in zip(*items, strict=True)]
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                out = list(pool.map(call, *items))
        if self.halted():
            raise Halted
        return out

    def claim(self, size: int) -> bool:
        """Whether so many bytes are to be had; the run is stopped where they are not."""
        if self.clock.fits(size):
            return True
        self.stopped_by = StopReason.MEMORY
        self.halt()
        return False

    def work(
        self, agenda: Agenda, n_threads: int, *, inline: bool = False, last: bool = True
    ) -> None:
        """Work an agenda off; what is open there is the bound, if it is the `last` of a run."""
        with self._lock:
            self._agenda, self._later = agenda, not last
        if not self.halted():
            agenda.run(n_threads, self.watch, self.halt, self.halted, self._least, inline=inline)
        if not self.halted():
            with self._lock:
                self._agenda = None

    def _least(self) -> int:
        """The least bound of a piece of work that is worth doing."""
        self._stop_on_nodes()
        return self.best

    def add_counts(self, counters: Whole) -> None:
        """Add to the counts of the work done."""
        with self._lock:
            self._counts += counters
        self._stop_on_nodes()

    def _stop_on_nodes(self) -> None:
        """Halt as soon as the node limit is seen to be reached, not at the next heartbeat."""
        most = self.clock.budget.nodes
        if most is None or self.stopped_by is not None or self._agenda is None:
            return
        if int(self._counts[kernels.NODES]) + self.method.nodes >= most:
            self.stopped_by = StopReason.NODES
            self.halt()

    # -- the result --------------------------------------------------------------------------

    @property
    def statistics(self) -> Statistics:
        """Counts of the work done."""
        nodes, evaluations, pruned, _ = self._counts.tolist()
        return Statistics(nodes, evaluations, pruned)
