"""One run of the search: seeds, then rules of one condition, two, three, … until all is settled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opdt.engines.base import Recorder
from opdt.engines.search import kernels
from opdt.engines.search.deepen import Deepener
from opdt.engines.search.field import Field, Whole
from opdt.engines.search.jit import announce_compilation
from opdt.engines.search.large import Scan
from opdt.engines.search.polish import Candidate, Expired, first_rule
from opdt.engines.search.rays import Plan, Rays
from opdt.engines.search.scores import Scores
from opdt.engines.search.seeding import beam, sample_rules
from opdt.engines.search.threads import Task, run_tasks
from opdt.engines.search.workspace import Workspace
from opdt.problem import CodedRule, Problem
from opdt.solution import Clock, Statistics, StopReason

# Pairs × rows below which starting threads costs more than it saves.
WORTH_THREADS = 1_000_000
# Pairs of rays × rows below which a beam costs more than it saves.
WORTH_SEEDING = 300_000
# Seconds after which an improvement is put into the trace at once, not at the end.
WORTH_NOTING = 0.02
# Seconds that working out a rule may take after a limit is reached.
GRACE = 0.05
# Positions that fit into the 16 bits of a level.
MAX_POSITIONS = 65_000


@dataclass(frozen=True)
class Switches:
    """The accelerators; each can be turned off, and none changes the answer.

    Attributes
    ----------
    seeding : bool
        Start from the rules of a greedy beam.
    reduction : bool
        Keep only positions between a loss and a gain (and above the mass that is needed).
    intervals : bool
        Bound the positions between two settled ones, instead of settling all.
    canonical : bool
        Visit a set of rays in one order only.
    bits : bool
        Count rows of two-valued rays by bits.
    large_rows : int
        Tables with more rows are searched by counting cells of binned features first.
    """

    seeding: bool = True
    reduction: bool = True
    intervals: bool = True
    canonical: bool = True
    bits: bool = True
    large_rows: int = 20_000


class Prepared:
    """What depends on the table, structure and constraints but not on the gains."""

    def __init__(self, problem: Problem) -> None:
        self.rays = Rays.of(problem)
        self.plans = tuple(Plan(problem, chain, self.rays) for chain in problem.chains)
        self.clash = self.rays.clashes(once=problem.constraints.once)
        self.is_free = all(plan.is_free for plan in self.plans)


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
    ) -> None:
        self.problem, self.prepared, self.clock, self.switches = problem, prepared, clock, switches
        self.scores = Scores.of(problem)
        self.decide = at_least is not None
        lowest = 1 if problem.may_be_empty else kernels.NEG // 2
        if at_least is not None:
            lowest = max(lowest, self.scores.least_value(at_least))
        self.control = np.array([lowest, 0], np.int64)
        self.recorder = Recorder(problem, clock)
        self.stopped_by: StopReason | None = None
        self.winners: set[tuple[int, tuple[int, ...]]] = set()
        self.reached = kernels.NEG  # the value of the winners
        self._noted = kernels.NEG  # the value of the incumbent
        self.incumbent: CodedRule | None = None
        self._lock = threading.Lock()
        self._counts = np.zeros(4, np.int64)
        self._flags: dict[int, Whole] = {}
        self._orders: dict[int, NDArray[np.int32]] = {}
        self._spaces: list[Workspace] = []
        self._open: dict[int, int] = {}  # bounds of the tasks under way or to come
        self._later = True  # whether passes are still to come
        self._settled, self._planned = 0, 1
        if start is not None:
            self.take_start(start)

    @cached_property
    def is_large(self) -> bool:
        """Whether the rows are so many that cells are counted instead of rows."""
        table = self.problem.table
        large = table.n_rows > self.switches.large_rows
        return large or max((c.n_values for c in table.columns), default=0) > MAX_POSITIONS

    @cached_property
    def scan(self) -> Scan:
        """The large-table search."""
        return Scan(self)

    # -- what is known -----------------------------------------------------------------------

    @property
    def best(self) -> int:
        """The value that a rule must reach to be of interest."""
        return int(self.control[kernels.BEST])

    @cached_property
    def ceiling(self) -> int:
        """A value that no rule exceeds, known before any search."""
        return max((field.mass for field in self.bases), default=0)

    def bound(self) -> int | None:
        """A gain that no rule exceeds; None when the best is proven."""
        with self._lock:
            open_bounds = list(self._open.values())
            if self._later:
                open_bounds.append(self.ceiling)
        if not open_bounds and self._noted >= self.reached:
            return None
        return self.scores.gain_of(max([*open_bounds, self.best, self.reached]))

    @cached_property
    def limits(self) -> Whole:
        """The row constraints as the kernels take them."""
        limits = self.problem.limits
        precision = limits.precision
        return np.array(
            [limits.min_covered, limits.max_errors, precision.numerator, precision.denominator],
            np.int64,
        )

    def flags(self, base: Field) -> Whole:
        """The switches of the kernels for one class."""
        if base.label not in self._flags:
            self._flags[base.label] = self._make_flags(base.gains)
        return self._flags[base.label]

    def _make_flags(self, gains: Whole) -> Whole:
        positive, other = gains[gains > 0], gains[gains <= 0]
        uniform = all(len(part) == 0 or part.min() == part.max() for part in (positive, other))
        return np.array(
            [
                not self.prepared.is_free,
                # rows of gain 0 count for coverage, and with row gains for precision
                self.problem.constraints.min_coverage == 0
                and (self.problem.is_vi or self.problem.constraints.min_precision == 0),
                self.switches.reduction,
                uniform and self.switches.bits,
                self.problem.constraints.bounds_rows,
                self.decide,
                self.switches.intervals,
            ],
            np.int64,
        )

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

    def root(self, base: Field, size: int) -> Field:
        """The field of one class, reduced to what rules of `size` conditions can still use."""
        order = self._orders.get(base.label)
        if order is None:
            order = np.argsort(base.gains <= 0, kind="stable").astype(np.int32)
            self._orders[base.label] = order
        floor = self.best - self.scores.offset(size) if self.switches.reduction else kernels.NEG
        return base.reduced(order, floor, self.flags(base), sort=True)

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

    def offer(self, value: int, label: int, rays: tuple[int, ...]) -> None:
        """Take a set of rays that reaches a value; among equals all are kept."""
        with self._lock:
            if value > self.reached:
                self.winners.clear()
                self.reached = value
                # a kernel may have written a lower best over a higher one: put it right
                self.control[kernels.BEST] = max(value, self.best)
            if value == self.reached:
                self.winners.add((label, tuple(sorted(rays))))
            if self.decide:
                self.control[kernels.STOP] = 1

    def take_records(self, slot: int, field: Field, prefix: tuple[int, ...]) -> None:
        """Offer what a kernel has recorded, and empty its record."""
        space = self._spaces[slot]
        number = int(space.counters[kernels.RECORDS])
        for value, outer, p, q in space.records[:number].tolist():
            if value >= self.best:
                inner = (p, q) if outer < 0 else (outer, p, q)
                self.offer(value, field.label, prefix + tuple(int(field.rays[r]) for r in inner))
        space.counters[kernels.RECORDS] = 0

    def note(self, *, hurry: bool) -> None:
        """Work out the rule of the best value, and put it into the trace.

        In a hurry any rule of the value will do. If time runs out meanwhile, the incumbent stays.
        """
        with self._lock:
            winners, value = set(self.winners), self.reached
        if not winners or (hurry and value <= self._noted):
            return
        try:
            rule, (label, rays) = first_rule(self, winners, value, hurry=hurry)
        except Expired:
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

    def locate(
        self, label: int, rays: tuple[int, ...], goal: int, *, hurry: bool
    ) -> tuple[int, ...] | None:
        """The loosest positions of some rays, in their order, that gain the goal."""
        if self.is_large:
            return self.scan.locate(label, rays, goal, hurry=hurry)
        objective, chosen = self.problem.objective, list(rays)
        return Candidate(
            self.prepared.rays.levels[chosen],
            self.prepared.rays.tops[chosen],
            self.scores.gains(self.problem, label),
            objective.weights,
            objective.weights * objective.wrong(label),
            self.limits,
            self.problem.constraints.bounds_rows,
            self.scores.with_errors,
            self.expired,
        ).positions(goal, hurry=hurry)

    def _vi_bound(self) -> float:
        bound = self.bound()
        return self._vi_value() if bound is None else self.problem.vi(bound)

    def _vi_value(self) -> float:
        """What the incumbent is worth; without one, what the empty rule is."""
        if self.incumbent is not None:
            return self.problem.vi(self.scores.gain_of(self._noted))
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
        nodes = int(self._counts[kernels.NODES]) + sum(
            int(space.counters[kernels.NODES]) for space in self._spaces
        )
        reason = self.clock.stop(nodes)
        if reason is not None and self.stopped_by is None:
            self.stopped_by = reason
            self.halt()
        if self.clock.elapsed() > WORTH_NOTING and not self.halted():
            self.note(hurry=True)
        if self.clock.budget.progress is not None:
            done = self._settled / max(1, self._planned)
            self.recorder.report(self._vi_value(), self._vi_bound(), done)

    # -- the passes --------------------------------------------------------------------------

    def search(self) -> None:
        """Settle all rules, smallest first."""
        self._later = True
        announce_compilation(kernels.evaluate)
        depth = self.problem.structure.depth
        passes: list[Callable[[int], None]] = [self._empty, self._singles]
        if self.is_large:
            passes = [self._empty, *(self._scan for _ in range(depth))]
        else:
            passes += [self._pass for _ in range(depth - 1)]
        try:
            self.watch()
            for size, settle in enumerate(passes):
                if self.halted():
                    break
                if size == 2 and self.switches.seeding and not self.is_large:
                    self._seed()
                settle(size)
                if self.clock.elapsed() > WORTH_NOTING:
                    self.note(hurry=True)
            if not self.halted():
                self._later = False
                self.note(hurry=False)
        except KeyboardInterrupt:
            self.stopped_by = StopReason.INTERRUPTED
            self.halt()
        self.note(hurry=True)
        self.recorder.improved(self.incumbent, self._vi_value(), self._vi_bound())

    def _scan(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions of a large table."""
        if size == 1 and self.switches.seeding:
            sample_rules(self)
        self.scan.search(size)

    def _empty(self, _: int) -> None:
        """The rule without a condition, which covers every row."""
        if not any(plan.fits(()) for plan in self.prepared.plans):
            return
        for base in self.bases:
            counts = (int(base.weights.sum()), int(base.wrong.sum()))
            value = int(base.gains.sum())
            if value >= self.best and kernels.within(*counts, self.limits):
                self.offer(value, base.label, ())

    def _singles(self, _: int) -> None:
        """Rules of one condition."""
        for base in self.bases:
            flags = self.flags(base)
            root = self.root(base, 1)
            values = root.singles(flags, self.limits)[0]
            values += np.where(values > kernels.NEG, self.scores.offset(1), 0)
            for index in np.flatnonzero(values >= self.best):
                ray, value = int(root.rays[index]), int(values[index])
                if value >= self.best and self._fits_alone(ray):
                    self.offer(value, base.label, (ray,))

    def _fits_alone(self, ray: int) -> bool:
        return any(plan.fits((int(plan.types[ray]),)) for plan in self.prepared.plans)

    def _seed(self) -> None:
        """A beam of greedy rules for each class, where more than a blink of work follows."""
        n_rays = len(self.prepared.rays.rays)
        if n_rays * n_rays * self.problem.table.n_rows < WORTH_SEEDING:
            return
        for base in self.bases:
            beam(self, self.root(base, 2), self.flags(base))

    def pairs(
        self, field: Field, plan: Plan, prefix: tuple[int, ...], after: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Pairs of the field's rays behind index `after` that fit beside the prefix's rays."""
        index = np.arange(after + 1, len(field.rays))
        for ray in prefix:
            index = index[~self.prepared.clash[ray, field.rays[index]]]
        upper = np.triu_indices(len(index), 1)
        first, second = index[upper[0]], index[upper[1]]
        fits = plan.fitting(tuple(int(plan.types[ray]) for ray in prefix))
        one, two = field.rays[first], field.rays[second]
        good = ~self.prepared.clash[one, two] & fits[plan.types[one], plan.types[two]]
        return first[good].astype(np.int32), second[good].astype(np.int32)

    def _pass(self, size: int) -> None:
        """Settle all rules of exactly `size` conditions."""
        tasks: list[tuple[int, Task]] = []  # bound, task
        work = n_rays = n_rows = top = n_pairs = 0
        for base in self.bases:
            field, flags = self.root(base, size), self.flags(base)
            if len(field.rays) < 2 or field.mass + self.scores.offset(size) < self.best:
                continue
            n_rays, n_rows = max(n_rays, len(field.rays)), max(n_rows, field.n_rows)
            top = max(top, int(field.tops.max()))
            for plan in self.prepared.plans:
                if plan.depth < size:
                    continue
                made = list(
                    self._pair_tasks(field, flags, plan)
                    if size == 2
                    else self._ray_tasks(field, flags, plan, size)
                )
                tasks += [(bound, task) for bound, task, _ in made]
                n_pairs = max([n_pairs, *(count for _, _, count in made)])
                work += sum(count for _, _, count in made) * field.n_rows
        quick = work < WORTH_THREADS and size == 2
        n_threads = 1 if quick else min(self.clock.budget.n_threads, max(1, len(tasks)))
        shape = (n_rays, n_rows, top, n_pairs, kernels.TABLE_CELLS)
        n_threads = self.affordable(Workspace.size(*shape), n_threads)
        self._spaces = [Workspace(*shape) for _ in range(n_threads)]
        self.run_open(tasks, n_threads, last=size == self.problem.structure.depth, inline=quick)
        for space in self._spaces:
            self._counts += space.counters
        self._spaces = []

    def affordable(self, each: int, wanted: int, shared: int = 0) -> int:
        """How many of so many threads the memory limit allows, if each takes so many bytes.

        Stops the run where it does not allow one.
        """
        limit = self.clock.budget.memory
        if limit is None:
            return wanted
        if shared + each > limit:
            self.stopped_by = StopReason.MEMORY
            self.halt()
            return 0
        return min(wanted, int(limit - shared) // max(1, each))

    def run_open(
        self, tasks: list[tuple[int, Task]], n_threads: int, *, last: bool, inline: bool = False
    ) -> None:
        """Run tasks, largest bound first; the bounds of those not yet done stand meanwhile.

        The `last` tasks of a run leave nothing else open.
        """
        tasks = sorted(tasks, key=lambda item: -item[0])
        with self._lock:
            self._open = {index: bound for index, (bound, _) in enumerate(tasks)}
            self._later = not last
        self._settled, self._planned = 0, len(tasks)
        if self.halted():
            return
        jobs = [self._closing(index, task) for index, (_, task) in enumerate(tasks)]
        if inline:
            for job in jobs:
                self.watch()
                if self.halted():
                    break
                job(0)
        else:
            run_tasks(jobs, n_threads, self.watch, self.halt, self.halted)

    def count_nodes(self, number: int) -> None:
        """Add to the number of nodes."""
        with self._lock:
            self._counts[kernels.NODES] += number

    def count_evaluations(self, number: int) -> None:
        """Add to the number of evaluations."""
        with self._lock:
            self._counts[kernels.EVALUATIONS] += number

    def _closing(self, index: int, task: Task) -> Task:
        """The task, which takes its bound away when it has run to its end."""

        def run(slot: int) -> None:
            task(slot)
            if not self.halted():
                with self._lock:
                    del self._open[index]
                    self._settled += 1

        return run

    def _pair_tasks(
        self, field: Field, flags: Whole, plan: Plan
    ) -> Iterator[tuple[int, Task, int]]:
        first, second = self.pairs(field, plan, (), -1)
        if not len(first):
            return
        n_threads = self.clock.budget.n_threads
        chunks = 1 if len(first) * field.n_rows < WORTH_THREADS else 4 * n_threads
        offset = self.scores.offset(2)
        rows = np.arange(field.n_rows, dtype=np.int32)
        for wanted in np.array_split(np.arange(len(first), dtype=np.int32), chunks):

            def task(slot: int, wanted: NDArray[np.int32] = wanted) -> None:
                space = self._spaces[slot]
                bounds = np.empty(len(first), np.int64)
                while True:
                    floor = self.best - offset if self.switches.reduction else kernels.NEG
                    ended = kernels.evaluate(
                        field.levels, rows, field.gains, field.weights, field.wrong, field.tops,
                        first, second, bounds, wanted, offset, floor, flags, self.limits,
                        self.control, space.counters, -1, space.records, *space.node,
                    )  # fmt: skip
                    self.take_records(slot, field, ())
                    if ended != kernels.FULL:
                        return
                    space.grow_records()

            yield field.mass + offset, task, len(wanted)

    def _ray_tasks(
        self, field: Field, flags: Whole, plan: Plan, size: int
    ) -> Iterator[tuple[int, Task, int]]:
        deepener = Deepener(self, field, flags, plan, size)
        for ray in range(len(field.rays)):
            count = deepener.n_pairs(ray)
            if count:
                gains = field.gains[field.levels[ray] > 0]
                bound = int(gains[gains > 0].sum()) + self.scores.offset(size)
                yield bound, deepener.task(ray), count

    # -- the result --------------------------------------------------------------------------

    @property
    def statistics(self) -> Statistics:
        """Counts of the work done."""
        nodes, evaluations, pruned, _ = self._counts.tolist()
        return Statistics(nodes, evaluations, pruned)
