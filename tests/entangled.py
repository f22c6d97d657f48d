"""Problems in which bounds matter: gain that no rule can separate from loss.

On most small tables the best rule of few conditions is so good that hardly any position is left
to the longer ones, and a wrong bound does no harm. Here rows of great gain lie on the same spots
as rows of great loss, so that every position stays worth a look while the best rule gains little.
"""

from __future__ import annotations

import numpy as np

from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table

TOP = 3  # values are 0 … TOP


def entangled(rng: np.random.Generator, depth: int, *, vi: bool, one_way: bool = True) -> Problem:
    """A problem whose best rule is likely to have `depth` conditions and a small gain.

    With `vi` the gains are VI with row weights and w = 2, otherwise gains of the rows; with
    `one_way` only `>=` is allowed.
    """
    spots: list[tuple[list[int], int]] = []

    def inside(**fixed: int) -> list[int]:
        cells = rng.integers(1, TOP + 1, size=depth).tolist()
        for name, value in fixed.items():
            cells[int(name[1:])] = value
        return cells

    for _ in range(int(rng.integers(2, 5))):  # only the loosest position of x0 has them all
        spots.append((inside(x0=1), 1))
    if rng.random() < 0.5:
        spots += [(inside(x0=x0, x1=1), 2) for x0 in range(2, TOP + 1)]
    for feature in range(depth):  # what each condition has to keep out
        spots.append((inside(**({"x0": 1} | {f"x{feature}": 0})), -int(rng.integers(1, 4))))
    for value in range(1, TOP + 1):
        spots.append(([0] + [value] * (depth - 1), -int(rng.integers(1, 3))))
        if rng.random() < 0.5:
            spots.append((inside(x0=value, **{f"x{rng.integers(1, depth)}": 0}), -1))
    for cells in ([0] + [TOP] * (depth - 1), [TOP] + [0] * (depth - 1), [2, 0, *inside()[2:]]):
        gain = int(rng.integers(3, 30))
        spots += [(cells, gain), (cells, -gain - int(rng.integers(0, 5)))]
    cells, gains = np.array([c for c, _ in spots], float), np.array([g for _, g in spots], float)
    table = Table.build(
        cells, (gains > 0).astype(int), sample_weight=np.abs(gains) if vi else None, warn=False
    )
    problem = Problem.build(
        table,
        structure=Structure.free(depth),
        w=2,
        label=1,
        constraints=Constraints(directions=dict.fromkeys(table.names, ">=") if one_way else {}),
    )
    return problem if vi else problem.with_gains(gains, 1)
