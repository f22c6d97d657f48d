"""Passes over the rows, and their parts: count cells, sift boxes, bring rows back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from opdt.engines.search.boxes import Box
from opdt.engines.search.rays import Ray
from opdt.engines.search.scan_kernels import Places
from opdt.errors import InputError
from opdt.problem.coded import holds
from opdt.rules import Op
from opdt.scale import kernels
from opdt.scale.box_bundles import BoxBundle, bundle_boxes
from opdt.scale.keys import MISSING, Coded, Coder, slices
from opdt.scale.scanner import Parts, ScanTask

Whole = NDArray[np.int64]


BATCH_BYTES = 1 << 25  # of the keys and levels of the rows that a thread works on
LEAST_ROWS = 1 << 12


def levels_of(ray: Ray, keys: Whole) -> Whole:
    """The level of each row on a ray, by which a position covers it (level >= position).

    The key itself for `>=`, its negative for `<`, and 1 or 0 for a single condition; a missing
    value has a level below all.
    """
    if ray.op is Op.GE:
        return keys
    if ray.op is Op.LT:
        return np.asarray(-keys)  # the key of a missing value is its own negative
    codes = np.where(keys == MISSING, -1, keys if ray.op.needs_value else 0)
    return holds(ray.condition(1, 0), codes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Binning:
    """How the keys of a feature fall into bins; the last bin is that of missing values.

    Either `edges`, the largest key of each bin, or `look_up`, the bin of each level.
    """

    feature: int
    edges: Whole | None = None
    look_up: NDArray[np.uint8] | None = None

    def bins(self, coded: Coded) -> NDArray[np.uint8]:
        """The bin of each row; worked out once, though several parts may ask."""
        if id(self) not in coded.memo:
            coded.memo[id(self)] = self._bins(coded.keys[self.feature])
        return coded.memo[id(self)]

    def _bins(self, keys: Whole) -> NDArray[np.uint8]:
        out = np.empty(len(keys), np.uint8)
        if self.edges is not None:
            # what arrives from elsewhere is read-only, for which Numba would compile once more
            kernels.into_bins(_writable(keys), _writable(self.edges), MISSING, out)
        elif self.look_up is not None:  # missing levels take the entry behind the last
            np.take(self.look_up, np.where(keys < 0, len(self.look_up) - 1, keys), out=out)
        return out


class PassPart(ABC):
    """A part of a pass."""

    features: frozenset[int] = frozenset()  # whose keys it needs
    rays: frozenset[int] = frozenset()  # whose levels it needs

    @abstractmethod
    def start(self) -> Parts:
        """The result of no rows."""

    @abstractmethod
    def add(self, parts: Parts, coded: Coded, levels: Whole, place: dict[int, int]) -> None:
        """Add some rows to a result; `levels[place[ray]]` are the rows' levels on a ray."""

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Two results together: by default their sum."""
        for name, sums in one.items():
            if sums.flags.writeable:
                sums += two[name]
            else:  # as it arrives from elsewhere
                one[name] = sums + two[name]
        return one


@dataclass(frozen=True, eq=False)
class CountCells(PassPart):
    """Weights of the groups of classes in the cells of some sets of axes.

    `axes` are those of a layer, `extents` (n_axes,) their bins with that of missing values, `sets`
    (n_sets, k) the sets; `group_of` (n_classes,) the group of each class.
    """

    axes: tuple[Binning, ...]
    extents: Whole
    sets: Whole
    group_of: Whole

    @property
    def features(self) -> frozenset[int]:  # type: ignore[override]
        """The features of all axes used."""
        return frozenset(self.axes[a].feature for a in self._used)

    @cached_property
    def _used(self) -> list[int]:
        return list(map(int, np.unique(self.sets)))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group_of.max()) + 1

    @cached_property
    def shapes(self) -> Whole:
        """Bins of each axis of each set (n_sets, k)."""
        return np.ascontiguousarray(self.extents[self.sets])

    @cached_property
    def starts(self) -> Whole:
        """Where the cells of each set begin, and where the last ones end (n_sets + 1,)."""
        sizes = self.shapes.prod(axis=1) * self.n_groups
        return np.append(0, np.cumsum(sizes)).astype(np.int64)

    def cells_of(self, place: int, cells: Whole) -> Whole:
        """The cells of one set (n_groups, …), the first axis last."""
        own = cells[self.starts[place] : self.starts[place + 1]]
        return own.reshape(self.n_groups, *self.shapes[place][::-1])

    def start(self) -> Parts:
        """Empty cells, those of all sets one after the other."""
        return {"cells": np.zeros(int(self.starts[-1]), np.int64)}

    def add(self, parts: Parts, coded: Coded, levels: Whole, place: dict[int, int]) -> None:
        """Count the rows in the cells of every set."""
        groups = self.group_of[coded.groups]
        order = np.argsort(groups, kind="stable")
        ends = np.searchsorted(groups[order], np.arange(self.n_groups + 1)).astype(np.int64)
        codes = np.empty((len(self.axes), coded.n_rows), np.uint8)
        for a in self._used:
            np.take(self.axes[a].bins(coded), order, out=codes[a])
            if coded.n_rows and codes[a].max() >= self.extents[a]:
                raise InputError("the rows have changed since the first pass over them.")
        weights = coded.weights[order]
        if (weights == 1).all():
            weights = np.empty(0, np.int64)
        kernels.add_sets(
            codes, _writable(self.sets), _writable(self.shapes), _writable(self.starts), ends,
            weights, Places.room(), parts["cells"],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SiftBoxes(PassPart):
    """Mass, loss and rows of finer cells inside boxes."""

    boxes: tuple[Box, ...]
    edges: tuple[tuple[Whole, ...], ...]  # per box and dimension
    factors: dict[int, Whole]  # class of the rule → value of a unit of weight of each class

    @property
    def rays(self) -> frozenset[int]:  # type: ignore[override]
        """The rays of all boxes."""
        return frozenset(ray for box in self.boxes for ray in box.rays)

    def sizes(self, box: int) -> Whole:
        """Number of places of each dimension of a box."""
        return np.array([len(e) - 1 for e in self.edges[box]], np.int64)

    def start(self) -> Parts:
        """Empty cells, those of all boxes one after the other."""
        size = sum(int(self.sizes(b).prod()) for b in range(len(self.boxes)))
        return {name: np.zeros(size, np.int64) for name in ("mass", "loss", "rows")}

    def add(self, parts: Parts, coded: Coded, levels: Whole, place: dict[int, int]) -> None:
        """Count the rows in the cells of every box."""
        for bundle, *plan in self._plans:
            rows, near = bundle.near(levels, place)
            if len(rows):
                kernels.sift(
                    near, *plan, coded.groups[rows], coded.weights[rows], parts["mass"],
                    parts["loss"], parts["rows"],
                )  # fmt: skip

    @cached_property
    def _plans(self) -> list[tuple[Any, ...]]:
        """The boxes of each bundle as the arrays that the kernel takes."""
        sizes = [self.sizes(b) for b in range(len(self.boxes))]
        ends = np.cumsum([size.prod() for size in sizes])
        return [(bundle, *self._plan(bundle, sizes, ends)) for bundle in bundle_boxes(self.boxes)]

    def _plan(self, bundle: BoxBundle, all_sizes: list[Whole], ends: Whole) -> tuple[Any, ...]:
        n, k = len(bundle.members), max(len(self.boxes[b].rays) for b in bundle.members)
        rays, low, high, strides = (np.zeros((n, k), np.int64) for _ in range(4))
        starts = np.zeros((n, k + 1), np.int64)
        at = 0
        for row, b in enumerate(bundle.members):
            box, sizes = self.boxes[b], all_sizes[b]
            d = len(box.rays)
            rays[row, :d] = [bundle.rays.index(ray) for ray in box.rays]
            low[row, :d], high[row, :d] = box.low, box.high
            strides[row, :d] = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
            starts[row, : d + 1] = at + np.append(0, np.cumsum(sizes + 1))
            at = int(starts[row, d])
        boxes = [self.boxes[b] for b in bundle.members]
        return (
            rays, np.array([len(box.rays) for box in boxes]), low, high,
            np.concatenate([edges for b in bundle.members for edges in self.edges[b]]), starts,
            strides, np.array([ends[b] - all_sizes[b].prod() for b in bundle.members]),
            np.array([self.factors[box.label] for box in boxes]),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FetchRows(PassPart):
    """The rows that boxes cover at some positions only, and the weight of those always covered.

    With boxes of one position nothing is undecided, and the weights are those of a rule.
    """

    boxes: tuple[Box, ...]
    n_classes: int

    @property
    def rays(self) -> frozenset[int]:  # type: ignore[override]
        """The rays of all boxes."""
        return frozenset(ray for box in self.boxes for ray in box.rays)

    @cached_property
    def depth(self) -> int:
        """The largest number of rays of a box."""
        return max((len(box.rays) for box in self.boxes), default=1)

    def start(self) -> Parts:
        """No rows."""
        return {
            "always": np.zeros((len(self.boxes), self.n_classes), np.int64),
            "box": np.empty(0, np.int32),
            "levels": np.empty((0, self.depth), np.int64),
            "groups": np.empty(0, np.uint8),
            "weights": np.empty(0, np.int64),
        }

    def add(self, parts: Parts, coded: Coded, levels: Whole, place: dict[int, int]) -> None:
        """Pick the undecided rows of every box."""
        found: list[Parts] = [parts]
        for bundle in self._bundles:
            rows, near = bundle.near(levels, place)
            if len(rows):
                groups, weights = coded.groups[rows], coded.weights[rows]
                picked = np.empty(len(rows), np.int64)
                for b in bundle.members:
                    found.extend(self._pick(b, bundle, near, groups, weights, picked, parts))
        if len(found) > 1:
            for name in ("box", "levels", "groups", "weights"):
                parts[name] = np.concatenate([one[name] for one in found])

    @cached_property
    def _bundles(self) -> list[BoxBundle]:
        return list(bundle_boxes(self.boxes))

    def _pick(
        self, b: int, bundle: BoxBundle, near: Whole, groups: NDArray[np.uint8], weights: Whole,
        picked: Whole, parts: Parts,
    ) -> Iterator[Parts]:  # fmt: skip
        """The undecided rows of one box, if any."""
        box = self.boxes[b]
        rays = np.array([bundle.rays.index(ray) for ray in box.rays], np.int64)
        count = kernels.pick(
            near, rays, np.array(box.low, np.int64), np.array(box.high, np.int64), groups, weights,
            picked, parts["always"][b],
        )  # fmt: skip
        if count:
            rows = picked[:count]
            wide = np.zeros((count, self.depth), np.int64)
            wide[:, : len(rays)] = near[rays[:, None], rows].T
            yield {
                "box": np.full(count, b, np.int32), "levels": wide, "groups": groups[rows],
                "weights": weights[rows],
            }  # fmt: skip

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Sums add up; rows stand one after the other."""
        return {
            name: one[name] + two[name]
            if name == "always"
            else np.concatenate([one[name], two[name]])
            for name in one
        }


@dataclass(frozen=True, eq=False)
class FindNeighbours(PassPart):
    """The levels next to some positions: the largest below, and the smallest not below."""

    spots: tuple[tuple[int, int], ...]  # ray, position

    @property
    def rays(self) -> frozenset[int]:  # type: ignore[override]
        """The rays asked about."""
        return frozenset(ray for ray, _ in self.spots)

    def start(self) -> Parts:
        """No neighbours."""
        n = len(self.spots)
        return {"below": np.full(n, MISSING), "above": np.full(n, np.iinfo(np.int64).max)}

    def add(self, parts: Parts, coded: Coded, levels: Whole, place: dict[int, int]) -> None:
        """Look at the rows' levels."""
        for at, (ray, position) in enumerate(self.spots):
            own = levels[place[ray]]
            reached = own >= position
            if reached.any():
                parts["above"][at] = min(int(parts["above"][at]), int(own[reached].min()))
            if not reached.all():
                parts["below"][at] = max(int(parts["below"][at]), int(own[~reached].max()))

    def merge(self, one: Parts, two: Parts) -> Parts:
        """The nearer ones."""
        return {
            "below": np.maximum(one["below"], two["below"]),
            "above": np.minimum(one["above"], two["above"]),
        }


@dataclass(frozen=True, eq=False)
class Pass(ScanTask):
    """Some parts done in one pass over the rows."""

    coder: Coder
    all_rays: tuple[Ray, ...]
    parts: tuple[PassPart, ...]

    @property
    def _rays(self) -> list[int]:
        return sorted(frozenset().union(*(part.rays for part in self.parts)))

    @property
    def features(self) -> set[int]:
        """The features whose keys are needed."""
        own = frozenset().union(*(part.features for part in self.parts))
        return {*own, *(self.all_rays[ray].feature for ray in self._rays)}

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns to read."""
        return self.coder.columns(self.features)

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """Every part's result on one partition."""
        results = [part.start() for part in self.parts]
        features, rays = self.features, self._rays
        where = {ray: at for at, ray in enumerate(rays)}
        step = max(LEAST_ROWS, BATCH_BYTES // (8 * (len(features) + len(rays) + 2)))
        for table in slices(batches, step):
            coded = self.coder.code(table, features)
            levels = np.empty((len(rays), coded.n_rows), np.int64)
            for at, ray in enumerate(rays):
                levels[at] = levels_of(self.all_rays[ray], coded.keys[self.all_rays[ray].feature])
            for part, result in zip(self.parts, results, strict=True):
                part.add(result, coded, levels, where)
        return {f"{at}.{name}": r[name] for at, r in enumerate(results) for name in r}

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Every part's results together."""
        out: Parts = {}
        for at, part in enumerate(self.parts):
            merged = part.merge(self.result(one, at), self.result(two, at))
            out.update({f"{at}.{name}": value for name, value in merged.items()})
        return out

    def result(self, parts: Parts, at: int) -> Parts:
        """The result of one part."""
        head = f"{at}."
        return {n.removeprefix(head): v for n, v in parts.items() if n.startswith(head)}


def _writable(values: Whole) -> Whole:
    return np.require(values, requirements="W")
