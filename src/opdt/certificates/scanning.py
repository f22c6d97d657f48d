"""From the checker's argument to the arrays of the kernels, and back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import product
from typing import Any

import numpy as np

from opdt.certificates.kernels import (
    EXCEPT,
    PICK,
    SUFFIX,
    AxesToScan,
    SetsAllowed,
    open_sets,
)
from opdt.machine import cores
from opdt.verify import MOST_CELLS

_FOLDS = {
    ">=": SUFFIX,
    "<": SUFFIX,
    "!=": EXCEPT,
    "==": PICK,
    "is missing": PICK,
    "is present": PICK,
}
_MOST_TYPES = 1 << 20  # combinations of types that are decided beforehand
_ROOM = 1 << 12  # sets that are expected to have an open cell


def find_open_sets(argument: Any) -> list[tuple[int, ...]] | None:
    """The sets of axes of which some cell is not settled by what rules are worth.

    None where the kernels do not know an axis, or there are too many levels, cells or kinds of
    nodes for them.
    """
    rules = argument.rules
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(rules.types))}
    too_many = len(kinds) ** rules.depth > _MOST_TYPES
    if not rules.axes or too_many or any(axis.op not in _FOLDS for axis in rules.axes):
        return None
    if argument.codes[0].dtype.itemsize > 2:  # of a column of very many levels
        return None
    bits = {feature: 1 << at for at, feature in enumerate(sorted(rules.required))}
    axes = AxesToScan(
        codes=argument.codes[0].astype(np.uint16, copy=False),
        widths=np.array([
            len(starts) if axis.is_threshold else axis.width
            for axis, starts in zip(rules.axes, argument.cuts, strict=True)
        ]),
        folds=np.array([_FOLDS[axis.op] for axis in rules.axes]),
        features=np.array([axis.feature for axis in rules.axes]),
        types=np.array([kinds[kind] for kind in rules.types]),
        required=np.array([bits.get(axis.feature, 0) for axis in rules.axes]),
    )  # fmt: skip
    allowed = SetsAllowed(
        _fits(rules, list(kinds)), len(kinds), sum(bits.values()), bool(rules.once)
    )
    gains, most = argument.sums[0]
    step = min(cores(), len(rules.axes))

    def scan(first: int) -> list[tuple[int, ...]] | None:
        room = _ROOM
        while True:
            found = np.full((room, rules.depth), -1, np.int64)
            n_found = open_sets(
                axes, allowed, gains, most, MOST_CELLS, rules.depth, first, step, found
            )
            if n_found < 0:
                return None
            if n_found <= room:
                return [tuple(a for a in some if a >= 0) for some in found[:n_found].tolist()]
            room = n_found

    with ThreadPoolExecutor(step) as pool:
        parts = list(pool.map(scan, range(step)))
    sets: list[tuple[int, ...]] = []
    for part in parts:
        if part is None:
            return None
        sets += part
    return sets


def _fits(rules: Any, kinds: list[Any]) -> Any:
    """Which combinations of types fit the structure, by their number."""
    fits = np.zeros((rules.depth + 1, len(kinds) ** rules.depth), bool)
    one = [rules.types.index(kind) for kind in kinds]  # an axis of each type
    anything = copy(rules)
    anything.required = set()  # the kernels ask for these
    for size in range(1, rules.depth + 1):
        for key, axes in enumerate(product(one, repeat=size)):
            fits[size, key] = anything.complete(axes)
    return fits
