"""What the counts of cells say about rules: values of covers, and boxes of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import scan_kernels as kernels
from opdt.engines.search.boxes import Box
from opdt.engines.search.grid import Axis
from opdt.engines.search.kernels import Limits
from opdt.engines.search.pricing import UnitPrice
from opdt.engines.search.rays import Ray
from opdt.engines.search.scan_kernels import Asked, Groups
from opdt.engines.search.scores import Scores
from opdt.rules import Op

Whole = NDArray[np.int64]
NO_LIMITS = Limits(0, 0, 0, 1)  # where they are not asked for
PARTS = 64  # of a unit of gain, in which prices of limits are counted


class Task(NamedTuple):
    """Rows by group with the passes over them, and how their counts become values.

    With limits on rows that have a price, the gains of the groups are priced ones, in `parts` of a
    unit, and every rule within the limits has `allowance` parts more than its own gain, which is by
    `plus` and `minus`.
    """

    groups: Groups
    plus: Whole  # (n_passes,) true gain of a unit of the right group
    minus: Whole  # (n_passes,) and loss of one of the wrong group
    order: NDArray[np.intp]
    scale: int  # values per unit of gain
    error: int  # value that a unit of the wrong group costs besides
    parts: int = 1
    allowance: int = 0

    def priced(self, price: UnitPrice) -> Task:
        """The task of one label with prices; rounded so that nothing is added too little."""
        plus = PARTS * self.groups.plus - (-PARTS * price.right // self.scale)
        minus = PARTS * self.groups.minus + (-PARTS * price.wrong // self.scale)
        groups = self.groups._replace(plus=plus, minus=minus)
        allowance = PARTS * price.allowance // self.scale
        return self._replace(groups=groups, parts=PARTS, allowance=allowance)

    def value(self, at: int, right: int, wrong: int) -> int:
        """The value of covering these weights by a rule of the pass `at`."""
        plus, minus = int(self.plus[at]), int(self.minus[at])
        return self.scale * (plus * right - minus * wrong) - self.error * wrong

    def need(self, best: int) -> int:
        """The least gain, in units of the kernels, of a cover worth at least so much."""
        return -(-best // self.scale) * self.parts + self.allowance

    def asked(self, best: int, limits: Limits | None) -> Asked:
        """What covers worth at least so much must gain, and the limits that counts can check."""
        return Asked(
            self.need(best), self.plus, self.minus, self.parts, self.allowance,
            limits is not None, *(limits or NO_LIMITS),
        )  # fmt: skip

    def most(self, bound: int) -> int:
        """The value of a cover at most, from a bound on its gain in units of the kernels."""
        return (bound - self.allowance) // self.parts * self.scale


def group_classes(classes: Sequence[int], w: Fraction, n_classes: int) -> tuple[Whole, Groups]:
    """The group of each class, and what a unit of weight of each is worth to rules of `classes`.

    With one class of rules the others are one group; two classes are each other's errors; of more
    classes the errors are all rows but those of one. The groups have no rows yet.
    """
    labels = np.array(classes, np.int64)
    group_of, right = np.arange(n_classes), labels
    wrong = np.full(len(labels), -1, np.int64)
    if len(labels) == 1:
        group_of, right, wrong = (
            (group_of != labels[0]).astype(np.int64),
            0 * labels,
            0 * labels + 1,
        )
    elif n_classes == 2:
        wrong = 1 - labels
    plus, minus = w.denominator, w.numerator - w.denominator
    return group_of, Groups(
        np.zeros(int(group_of.max()) + 2, np.int64), np.empty(0, np.int64), labels, right, wrong,
        np.full(len(labels), plus, np.int64), np.full(len(labels), minus, np.int64),
    )  # fmt: skip


def task_of(groups: Groups, order: NDArray[np.intp], scores: Scores) -> Task:
    """The task of rows that are worth the same in their group."""
    return Task(groups, groups.plus, groups.minus, order, scores.scale, int(scores.with_errors))


def priced_tasks(whole: Task, prices: Mapping[int, UnitPrice]) -> list[Task]:
    """A task in passes: one for all labels, or with prices, which differ, one for each."""
    if not prices:
        return [whole]
    groups, tasks = whole.groups, []
    for at, label in enumerate(groups.labels.tolist()):
        one = {
            name: getattr(groups, name)[at : at + 1]
            for name in ("labels", "right", "wrong", "plus", "minus")
        }
        single = whole._replace(groups=groups._replace(**one), plus=one["plus"], minus=one["minus"])
        price = prices.get(label)
        tasks.append(single if price is None else single.priced(price))
    return tasks


class Positions:
    """From places on axes to positions on their rays.

    Parameters
    ----------
    axes : sequence of Axis
    rays : sequence of Ray
    tops : ndarray of shape (n_rays,)
        The tightest position of each ray.
    floors : ndarray of shape (n_rays,), optional
        The level of each ray that its loosest position leaves out. If left out, values are codes
        and their levels on `<` count from the largest code; else values are keys of any size,
        whose levels on `<` are their negatives.
    """

    def __init__(
        self, axes: Sequence[Axis], rays: Sequence[Ray], tops: Whole, floors: Whole | None = None
    ) -> None:
        self._axes, self._rays, self.tops, self._floors = axes, rays, tops, floors
        self.axis_of = {ray: a for a, axis in enumerate(axes) for ray in axis.rays()}

    def before(self, ray: int, place: int) -> int:
        """The last position before a place of an ordered ray; 1 for a single ray.

        It covers the place and all tighter ones exactly.
        """
        edges, op = self._axes[self.axis_of[ray]].edges, self._rays[ray].op
        if edges is None or place < 0 or not op.is_threshold:
            return 1
        if place == 0:
            return 0 if self._floors is None else int(self._floors[ray])
        if op is Op.LT:
            beyond = int(edges[-1]) if self._floors is None else 1
            return beyond - int(edges[len(edges) - 1 - place])
        return int(edges[place])

    def box(self, record: list[int], size: int, bound: int) -> Box | None:
        """The box of positions that a record's places stand for; None where it holds none."""
        rays = record[kernels.HEAD : kernels.HEAD + size]
        lows, highs = [], []
        for d, ray in enumerate(rays):
            first = record[kernels.HEAD + size + d]
            last = record[kernels.HEAD + 2 * size + d]
            low, high = self.before(ray, first), self.before(ray, last + 1)
            if first < 0:
                low, high = 0, 1
            high = min(high, int(self.tops[ray]))
            if low >= high:
                return None
            lows.append(low)
            highs.append(high)
        return _sorted_box(bound, record[kernels.LABEL], rays, lows, highs)

    def corner(self, record: list[int], size: int, value: int) -> Box:
        """The box of one position that holds a record's best rule exactly between bins."""
        rays = record[kernels.HEAD : kernels.HEAD + size]
        corner = record[kernels.HEAD + 3 * size :]
        spots = [self.before(ray, at) for ray, at in zip(rays, corner, strict=True)]
        return _sorted_box(value, record[kernels.LABEL], rays, [at - 1 for at in spots], spots)


def _sorted_box(
    bound: int, label: int, rays: Sequence[int], lows: list[int], highs: list[int]
) -> Box:
    """A box with its rays in their order."""
    order = sorted(range(len(rays)), key=lambda d: rays[d])
    return Box(
        bound, label, tuple(rays[d] for d in order), tuple(lows[d] for d in order),
        tuple(highs[d] for d in order),
    )  # fmt: skip
