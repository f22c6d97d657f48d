"""A good rule at once: a beam that adds the best single condition again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opdt.engines.search import kernels
from opdt.engines.search.field import Field, Whole

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

WIDTH = 6  # partial rules kept at each length


def beam(run: Run, root: Field, flags: Whole) -> None:
    """Offer greedy rules of up to the problem's depth for one class."""
    states: list[tuple[Field, tuple[int, ...]]] = [(root, ())]
    clash = run.prepared.clash
    for size in range(1, run.problem.structure.depth + 1):
        steps: list[tuple[int, int, int, int]] = []  # value, state, ray, position
        for at, (field, chosen) in enumerate(states):
            if not len(field.rays):
                continue
            values, positions = field.singles(flags, run.limits)
            for ray in chosen:
                values[clash[ray, field.rays]] = kernels.NEG
            for ray in np.argsort(-values, kind="stable")[:WIDTH].tolist():
                if values[ray] > kernels.NEG:
                    steps.append((int(values[ray]), at, ray, int(positions[ray])))
        steps.sort(reverse=True)
        following: dict[tuple[int, ...], tuple[Field, tuple[int, ...]]] = {}
        for gain, at, ray, position in steps:
            field, chosen = states[at]
            names = tuple(sorted((*chosen, int(field.rays[ray]))))
            value = gain + run.scores.offset(size)
            if value >= run.best and _fits(run, names):
                run.offer(value, root.label, names)
            if size < run.problem.structure.depth and names not in following:
                node = field.reduced(field.rows_at(ray, position), kernels.NEG, flags, sort=False)
                following[names] = (node, names)
            if len(following) == WIDTH:
                break
        states = list(following.values())


def _fits(run: Run, rays: tuple[int, ...]) -> bool:
    return any(
        plan.fits(tuple(int(plan.types[ray]) for ray in rays)) for plan in run.prepared.plans
    )
