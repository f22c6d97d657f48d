"""Scan, prune, refine: the search over partitions, written once against `Scanner`.

Gains are sums over rows, so the counts of partitions add up. The first counting pass bounds all
rules from the cells of coarsely cut features; the boxes of cells that may hold the optimum are cut
finer in further passes, and once few of their rows are undecided, these are brought back and
settled by the exact kernels of the in-memory engine. A box is dropped only if its bound is below
the best value known: whatever ties is kept, and decided in the end by the documented order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import SearchEngine, cells, kernels
from opdt.engines.search.boxes import groups_of
from opdt.errors import UnsupportedProblem
from opdt.problem import Measure
from opdt.rules import Op, Rule
from opdt.scale.coarse import Grid, View
from opdt.scale.keys import MISSING, key_of
from opdt.scale.leaves import Leaf, make_leaf
from opdt.scale.question import Question
from opdt.scale.scanner import Parts, Scanner
from opdt.scale.works import Box, Count, Fetch, Pass, Sift, Work, levels_of
from opdt.solution import Budget, Clock, Progress, StopReason, TracePoint

Whole = NDArray[np.int64]

LEAF_ROWS = 60_000  # undecided rows that are brought back and settled exactly
INNER_BINS = {1: 512, 2: 160, 3: 28}  # places of a dimension when a box is cut
MAX_DEPTH = 3
SAMPLE_ROWS = 20_000  # rows of the sample that are solved in memory
DEFAULT_MEMORY = 1 << 30
CELL_BYTES = 24  # mass, loss and rows of a cell


class Found(NamedTuple):
    """A rule: rays with positions, and what it is worth."""

    value: int
    label: int
    rays: tuple[int, ...]
    spots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PassProgress(Progress):
    """Progress of a search over partitions: also the pass, and the partitions it has done."""

    passes: int = 0
    parts_done: int = 0
    parts: int = 0


class Stopped(Exception):
    """A limit was reached in the middle of a pass."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Driver:
    """Runs passes: counts them, watches the limits, tells the progress callback."""

    def __init__(self, scanner: Scanner, clock: Clock, max_passes: int | None) -> None:
        self.scanner, self.clock, self.max_passes = scanner, clock, max_passes
        self.passes = 0
        self.value, self.bound = float("-inf"), float("inf")

    def run(self, task: Pass) -> Parts:
        """One pass."""
        if self.max_passes is not None and self.passes >= self.max_passes:
            raise Stopped(StopReason.NODES)
        self.passes += 1
        return self.scanner.scan(task, self.watch)

    def watch(self, done: int, parts: int) -> None:
        """Stop where a limit is reached; tell how far the pass is."""
        reason = self.clock.stop()
        if reason is not None:
            raise Stopped(reason)
        progress = self.clock.budget.progress
        if progress is not None:
            share = done / max(1, parts)
            progress(
                PassProgress(
                    self.clock.elapsed(), self.value, self.bound, share, self.passes, done, parts
                )
            )


class PartitionedSearch:
    """One search, from its incumbent to its proof."""

    def __init__(self, question: Question, driver: Driver) -> None:
        if question.problem.structure.depth > MAX_DEPTH:
            raise UnsupportedProblem(
                f"rules of {question.problem.structure.depth} conditions are not searched over "
                f"partitions; the depth is at most {MAX_DEPTH}."
            )
        self.question, self.driver = question, driver
        self.problem, self.scores = question.problem, question.scores
        self.rays = question.prepared.rays.rays
        self.factors = {label: question.factors(label) for label in self.problem.objective.labels}
        self.best = 1 if self.problem.may_be_empty else kernels.NEG // 2
        self.ceiling = max(
            int((np.maximum(f, 0) * question.totals).sum()) for f in self.factors.values()
        )
        self.incumbent: Found | None = None
        self.rules: list[Found] = []  # complete rules that reach the best value
        self.leaves: list[tuple[int, Leaf]] = []  # settled boxes that reach it
        self.waiting: list[Box] = []
        self.later = True  # sets of rays are still to be counted
        self.stopped_by: StopReason | None = None
        self.trace: list[TracePoint] = []
        self.sample = question.sample_keys()
        self.n_boxes = self.n_views = 0
        memory = driver.clock.budget.memory
        self.memory = DEFAULT_MEMORY if memory is None else int(memory)

    # -- what is known -----------------------------------------------------------------------

    def bound(self) -> int:
        """A value that no rule exceeds."""
        open_bounds = [box.bound + self.scores.offset(len(box.rays)) for box in self.waiting]
        if self.later:
            open_bounds.append(self.ceiling)
        return max([*open_bounds, self.best if self.incumbent else 0])

    def note(self) -> None:
        """Tell the driver where value and bound stand."""
        problem, scores = self.problem, self.scores
        value = 0.0 if problem.may_be_empty else float("-inf")
        if self.incumbent is not None:
            value = problem.vi(scores.gain_of(self.incumbent.value))
        bound = max(value, problem.vi(scores.gain_of(self.bound())))
        self.driver.value, self.driver.bound = value, bound
        self.trace.append(TracePoint(self.driver.clock.elapsed(), value, bound))

    def offer(self, found: Found, *, final: bool) -> None:
        """Take a rule that reaches the best value; a `final` one may be the answer as it is."""
        if found.value < self.best:
            return
        self._raise(found.value)
        if self.incumbent is None or found.value > self.incumbent.value:
            self.incumbent = found
        if final:
            self.rules.append(found)

    def _raise(self, value: int) -> None:
        if value > self.best:
            self.best = value
            self.rules = [r for r in self.rules if r.value >= value]
            self.leaves = [(v, leaf) for v, leaf in self.leaves if v >= value]

    def _fine(self, cover: Whole, label: int) -> bool:
        """Whether the class weights of a rule are within the limits."""
        covered = int(cover.sum())
        return self.problem.within_limits(Measure(0, covered, covered - int(cover[label])))

    # -- the search --------------------------------------------------------------------------

    def run(self) -> None:
        """Search until all is settled or a limit is reached."""
        try:
            self._empty()
            seeds = self._seeds()
            depth = self.problem.structure.depth
            mass = self._count([1, 2] if depth > 1 else [1], seeds, None)
            self.note()
            if depth > 2:
                self._count([3], (), mass)
                self.note()
            self.later = False
            while self._prune():
                self._refine()
                self.note()
        except Stopped as stop:
            self.stopped_by = stop.reason
        except KeyboardInterrupt:
            self.stopped_by = StopReason.INTERRUPTED
        self.note()

    def _empty(self) -> None:
        if self.question.prepared.fits(()):
            for label, factors in self.factors.items():
                totals = self.question.totals
                if self._fine(totals, label):
                    self.offer(Found(int((factors * totals).sum()), label, (), ()), final=True)

    # -- seeds -------------------------------------------------------------------------------

    def _seeds(self) -> tuple[Box, ...]:
        """Rules of the sample, as boxes of one position, to be measured on all rows."""
        problem = self.question.sample_problem(SAMPLE_ROWS)
        if problem is None:
            return ()
        left = self.driver.clock.remaining()
        budget = Budget(
            seconds=min(30.0, max(0.0, left / 10)), threads=self.driver.clock.budget.threads
        )
        solution = SearchEngine().solve(problem, budget)
        rules = [solution.rule, *(point.rule for point in reversed(solution.trace))]
        boxes = [self._box_of(rule) for rule in dict.fromkeys(rules[:9]) if rule is not None]
        return tuple(box for box in boxes if box is not None)

    def _box_of(self, rule: Rule) -> Box | None:
        """The box that holds just this rule; None where the rule is not one of the problem's."""
        names = [layout.name for layout in self.question.schema.features]
        spots: dict[int, int] = {}
        for condition in rule.conditions:
            feature = names.index(condition.feature)
            layout = self.question.schema.features[feature]
            levels = self.problem.table.columns[feature].values.tolist()
            for index, ray in enumerate(self.rays):
                if (ray.feature, ray.op) != (feature, condition.op):
                    continue
                if ray.op.is_threshold:
                    key = key_of(condition.value, layout)
                    spots[index] = key if ray.op is Op.GE else 1 - key
                elif ray.op in (Op.EQ, Op.NE):
                    if levels[ray.code] == condition.value:
                        spots[index] = 1
                elif ray.op is Op.IN:
                    if {levels[c] for c in ray.levels} == condition.value:
                        spots[index] = 1
                else:
                    spots[index] = 1
        rays = tuple(sorted(spots))
        if not rays or len(rays) < len(rule.conditions) or not self.question.prepared.fits(rays):
            return None
        classes = self.problem.table.classes.tolist()
        high = tuple(spots[ray] for ray in rays)
        low = tuple(at - 1 for at in high)
        return Box(0, classes.index(rule.label), rays, low, high, 0)

    def _measured(self, boxes: tuple[Box, ...], always: Whole) -> None:
        for box, cover in zip(boxes, always, strict=True):
            if self._fine(cover, box.label) and cover.any():
                value = int((self.factors[box.label] * cover).sum())
                value += self.scores.offset(len(box.rays))
                self.offer(Found(value, box.label, box.rays, box.high), final=False)

    # -- coarse cells ------------------------------------------------------------------------

    def _count(self, sizes: list[int], seeds: tuple[Box, ...], mass: Whole | None) -> Whole | None:
        """Count the cells of all sets of axes of these sizes, in blocks that fit into memory."""
        grids = [Grid.of(self.question, self.sample, size) for size in sizes]
        pairs = np.full((len(self.rays), len(self.rays)), np.iinfo(np.int64).max)
        first = True
        for block in self._blocks(grids, mass):
            works: list[Work] = [
                Count(grids[g].binnings, tuple(sets), self.question.n_classes)
                for g, sets in block.items()
            ]
            if first and seeds:
                works.append(Fetch(seeds, self.question.n_classes))
            task = Pass(self.question.coder, self.rays, tuple(works))
            parts = self.driver.run(task)
            if first and seeds:
                self._measured(seeds, task.part(parts, len(works) - 1)["always"])
            for at, (g, sets) in enumerate(block.items()):
                cells_of = task.part(parts, at)["cells"]
                self._bound_all(grids[g], sets, cells_of, pairs if mass is None else mass)
            first = False
        return pairs

    def _blocks(
        self, grids: list[Grid], mass: Whole | None
    ) -> Iterator[dict[int, list[tuple[int, ...]]]]:
        """Sets of axes by grid, as many as may be counted in one pass."""
        copies = self.driver.clock.budget.n_threads + 2
        room = self.memory // (3 * copies * 8 * self.question.n_classes)
        block: dict[int, list[tuple[int, ...]]] = {}
        used = 0
        for g, grid in enumerate(grids):
            for chosen in grid.sets(self.question):
                if mass is not None and not self._may_win(grid, chosen, mass):
                    continue
                size = int(np.prod([grid.axes[a].n_bins for a in chosen]))
                if used and used + size > room:
                    yield block
                    block, used = {}, 0
                block.setdefault(g, []).append(chosen)
                used += size
        if block:
            yield block

    def _may_win(self, grid: Grid, chosen: tuple[int, ...], mass: Whole) -> bool:
        return any(
            self._reach(rays, mass) >= self.best for rays in grid.ray_sets(self.question, chosen)
        )

    def _reach(self, rays: tuple[int, ...], mass: Whole) -> int:
        """A value that no rule on these rays exceeds: the least mass of two of them."""
        least = min(int(mass[p, q]) for p in rays for q in rays)
        return least + self.scores.offset(len(rays))

    def _bound_all(
        self, grid: Grid, sets: list[tuple[int, ...]], counted: Whole, mass: Whole
    ) -> None:
        at = 0
        for chosen in sets:
            axes = [grid.axes[a] for a in chosen]
            size = int(np.prod([axis.n_bins for axis in axes]))
            counts = np.ascontiguousarray(counted[at : at + size])
            at += size
            if grid.size == 2:
                self._note_mass(axes, counts, mass)
            for rays in grid.ray_sets(self.question, chosen):
                if grid.size > 2 and self._reach(rays, mass) < self.best:
                    continue
                self._bound(View(axes, rays, counts))

    def _note_mass(self, axes: list, counts: Whole, mass: Whole) -> None:  # type: ignore[type-arg]
        """The mass of each pair of rays at their loosest, the largest over the classes."""
        one, two = axes
        shape = (one.n_bins, two.n_bins, counts.shape[1])
        covers = [
            np.array([
                (turn >= 0) if axis.edges[ray] is not None else (turn == 1)
                for ray, turn in axis.turns.items()
            ]).astype(np.int64)
            for axis in axes
        ]  # fmt: skip
        for factors in self.factors.values():
            gains = counts.reshape(shape) @ np.maximum(factors, 0)
            table = covers[0] @ gains @ covers[1].T
            index = np.ix_(list(one.turns), list(two.turns))
            fresh = mass[index] == np.iinfo(np.int64).max
            mass[index] = np.where(fresh, table, np.maximum(mass[index], table))
            mass[np.ix_(list(two.turns), list(one.turns))] = mass[index].T

    def _bound(self, view: View) -> None:
        """Offer the best rule at bin borders; keep the boxes that may hold a better one."""
        offset = self.scores.offset(len(view.rays))
        self.n_views += 1
        for label, factors in self.factors.items():
            best, alive = view.bound(factors, self.best - offset)
            if best + offset >= self.best and (view.is_single or best + offset > self.best):
                self._offer_corner(view, label, factors)
            if not view.is_single:
                self.waiting.extend(view.boxes(label, alive, self.question.n_rows))

    def _offer_corner(self, view: View, label: int, factors: Whole) -> None:
        covers, valid = view.corners()
        values = covers @ factors
        if self.problem.constraints.bounds_rows:
            limits, covered = self.problem.limits, covers.sum(axis=1)
            right, share = covers[:, label], limits.precision
            valid = valid & (covered >= limits.min_covered)
            valid &= covered - right <= limits.max_errors
            valid &= right * share.denominator >= covered * share.numerator
        if not valid.any():
            return
        corner = int(np.flatnonzero(valid)[np.argmax(values[valid])])
        if not covers[corner].any():
            return
        value = int(values[corner]) + self.scores.offset(len(view.rays))
        found = Found(value, label, view.rays, view.spots(corner))
        self.offer(found, final=view.is_single)

    # -- refining ----------------------------------------------------------------------------

    def _prune(self) -> bool:
        """Drop the boxes below the best; whether any are left."""
        offsets = self.scores.offset
        self.waiting = sorted(
            (box for box in self.waiting if box.bound + offsets(len(box.rays)) >= self.best),
            key=lambda box: (-box.bound, box.rays, box.low, box.label),
        )
        return bool(self.waiting)

    def _refine(self) -> None:
        """One pass: cut the largest boxes finer, bring back the rows of the small ones."""
        fetched, sifted, kept = self._choose()
        edges = tuple(self._edges(box, len(sifted)) for box in sifted)
        works: list[Work] = []
        if fetched:
            works.append(Fetch(tuple(fetched), self.question.n_classes))
        sift = Sift(tuple(sifted), edges, self.factors)
        if sifted:
            works.append(sift)
        task = Pass(self.question.coder, self.rays, tuple(works))
        parts = self.driver.run(task)
        self.n_boxes += len(fetched) + len(sifted)
        following: list[Box] = []
        if sifted:
            following = self._cut(task.part(parts, len(works) - 1), sift)
        if fetched:
            self._settle(fetched, task.part(parts, 0))
        self.waiting = kept + following

    def _choose(self) -> tuple[list[Box], list[Box], list[Box]]:
        """Boxes whose rows come back, boxes to be cut, and boxes that wait for another pass."""
        copies = self.driver.clock.budget.n_threads + 2
        rows_left = max(LEAF_ROWS, self.memory // (4 * 64))
        most = max(1, self.memory // (3 * copies * CELL_BYTES * 1000))
        fetched: list[Box] = []
        sifted: list[Box] = []
        kept: list[Box] = []
        for box in self.waiting:
            if box.rows <= LEAF_ROWS and box.rows <= rows_left:
                rows_left -= box.rows
                fetched.append(box)
            elif box.rows > LEAF_ROWS and len(sifted) < most:
                sifted.append(box)
            else:
                kept.append(box)
        return fetched, sifted, kept

    def _edges(self, box: Box, n_boxes: int) -> tuple[Whole, ...]:
        """Levels between which the dimensions of a box are cut, by the sample's rows inside."""
        copies = self.driver.clock.budget.n_threads + 2
        k = len(box.rays)
        room = self.memory // (3 * copies * CELL_BYTES * n_boxes)
        free = sum(self.rays[ray].op.is_threshold for ray in box.rays)
        bins = int(np.clip(room ** (1 / max(1, free)), 8, INNER_BINS[k]))
        levels = [levels_of(self.rays[r], self.sample[self.rays[r].feature]) for r in box.rays]
        inside = np.ones(len(levels[0]), bool)
        for own, low in zip(levels, box.low, strict=True):
            inside &= own > low
        return tuple(
            _cuts(own[inside], low, high, bins)
            for own, low, high in zip(levels, box.low, box.high, strict=True)
        )

    def _cut(self, parts: Parts, sift: Sift) -> list[Box]:
        """The parts of the sifted boxes that may reach the best."""
        out: list[Box] = []
        at = 0
        for b, box in enumerate(sift.boxes):
            sizes = sift.sizes(b)
            strides = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
            end = at + int(sizes.prod())
            mass, loss, rows = (parts[n][at:end].copy() for n in ("mass", "loss", "rows"))
            at = end
            for values in (mass, loss, rows):
                cells.accumulate(values, sizes, strides)
            out.extend(self._parts_of(box, sift.edges[b], sizes, strides, mass, loss, rows))
        return out

    def _parts_of(
        self, box: Box, edges: tuple[Whole, ...], sizes: Whole, strides: Whole, mass: Whole,
        loss: Whole, rows: Whole,
    ) -> Iterator[Box]:  # fmt: skip
        k, offset = len(box.rays), self.scores.offset(len(box.rays))
        upper = np.empty(sizes[0], np.int64)
        low, high = np.empty((2, int(sizes[0]), k), np.int64)
        goal = self.best - offset
        best = int(cells.bound_inside(mass, loss, sizes, strides, goal, upper, low, high))
        if not self.problem.constraints.bounds_rows and best + offset > self.best:
            corner = int(np.argmax(mass - loss))
            places = np.unravel_index(corner, tuple(sizes))
            spots = tuple(int(e[p]) + 1 for e, p in zip(edges, places, strict=True))
            self.offer(Found(best + offset, box.label, box.rays, spots), final=False)
        for bound, first, last in _halved(groups_of(upper, low, high), sizes, strides, rows):
            tight = [min(b + 1, int(s) - 1) for b, s in zip(last, sizes, strict=True)]
            inside, always = (int(np.dot(place, strides)) for place in (first, tight))
            yield Box(
                bound, box.label, box.rays,
                tuple(int(e[a]) for e, a in zip(edges, first, strict=True)),
                tuple(int(e[b + 1]) for e, b in zip(edges, last, strict=True)),
                int(rows[inside] - rows[always]),
            )  # fmt: skip

    def _settle(self, boxes: list[Box], parts: Parts) -> None:
        """Settle boxes exactly on the rows brought back, the most promising first."""
        order = np.argsort(parts["box"], kind="stable")
        ends = np.searchsorted(parts["box"][order], np.arange(len(boxes) + 1))
        control = np.array([self.best, 0], np.int64)
        for b, box in enumerate(boxes):
            self.driver.watch(b, len(boxes))
            offset = self.scores.offset(len(box.rays))
            if box.bound + offset < self.best:
                continue
            rows = order[ends[b] : ends[b + 1]]
            leaf = make_leaf(
                self.question, box, parts["levels"][rows], parts["groups"][rows],
                parts["weights"][rows], parts["always"][b],
            )  # fmt: skip
            best = leaf.piece.best(self.best - offset, control)
            if best is None or best + offset < self.best:
                continue
            self._raise(best + offset)
            self.leaves.append((best + offset, leaf))
            if self.incumbent is None or best + offset > self.incumbent.value:
                _, spots = leaf.spots(best, hurry=True)
                self.incumbent = Found(best + offset, box.label, box.rays, spots)

    # -- the answer --------------------------------------------------------------------------

    def candidates(self) -> list[Found]:
        """Every rule that may be the first of the best in the documented order."""
        sets = [(f.label, f.rays) for f in self.rules] + [
            (leaf.box.label, leaf.box.rays) for _, leaf in self.leaves
        ]
        if not sets:
            return []
        features = self.question.prepared.rays.features

        def used(rays: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(features[list(rays)].tolist()))

        first = min(used(rays) for _, rays in sets) if self.scores.with_errors else None
        out = [f for f in self.rules if first in (None, used(f.rays))]
        for value, leaf in self.leaves:
            if first in (None, used(leaf.box.rays)):
                gain = value - self.scores.offset(len(leaf.box.rays))
                _, spots = leaf.spots(gain, hurry=False)
                out.append(Found(value, leaf.box.label, leaf.box.rays, spots))
        return out


Places = tuple[int, list[int], list[int]]  # bound, first and last place of each dimension


def _halved(
    groups: Iterator[Places], sizes: Whole, strides: Whole, rows: Whole
) -> Iterator[Places]:
    """Groups of places; one that is most of its box is cut in two, so that boxes do shrink.

    It is cut across the dimension that leaves most rows undecided, where half of them lie on
    either side; `rows` holds the rows of all cells at least as tight.
    """
    for bound, first, last in groups:
        spans = [b - a + 1 for a, b in zip(first, last, strict=True)]
        if any(2 * s <= n for s, n in zip(spans, sizes, strict=True) if n > 1):
            yield bound, first, last
            continue
        at = int(np.dot(first, strides))
        # rows that are left when the position moves through the places of one dimension
        left = [
            rows[at + np.arange(span) * stride] for span, stride in zip(spans, strides, strict=True)
        ]
        d = int(np.argmax([own[0] - own[-1] for own in left]))
        if left[d][0] == left[d][-1]:
            yield bound, first, last
            continue
        half = (int(left[d][0]) + int(left[d][-1])) / 2
        middle = first[d] + max(1, int(np.argmin(np.abs(left[d] - half))))
        yield bound, first, [middle - 1 if i == d else b for i, b in enumerate(last)]
        yield bound, [middle if i == d else a for i, a in enumerate(first)], last


def _cuts(levels: Whole, low: int, high: int, bins: int) -> Whole:
    """Levels between which a dimension is cut: `low` first; the highest has a place of its own."""
    if high - low <= bins:
        return np.arange(low, high + 1, dtype=np.int64)
    inner = np.unique(levels[(levels > low) & (levels < high - 1) & (levels != MISSING)])
    if len(inner) > bins - 2:
        inner = inner[np.linspace(0, len(inner) - 1, bins - 2).astype(int)]
    if len(inner) < 6:  # the sample tells nothing: cut evenly
        steps = [low + (high - low) * i // 8 for i in range(1, 8)]
        inner = np.union1d(inner, np.array(steps, np.int64))
    return np.unique(np.concatenate([[low], inner, [high - 1, high]])).astype(np.int64)
