"""Problems of one sort each: what the random tests of every engine and of every kind of rows share.

Each takes a generator and makes a problem that the oracle solves in a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from entangled import entangled
from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table
from strategies import (
    OPTIONS,
    WEIGHTS,
    group_names,
    random_constraints,
    random_groups,
    random_structure,
    random_table,
    random_weights,
)


def deep(rng: np.random.Generator) -> Problem:
    """Depth 4, with any structure and constraints."""
    table = random_table(rng, int(rng.integers(4, 14)), str(rng.choice(WEIGHTS)), n_conditions=8)
    groups = random_groups(rng, table)
    shape = str(rng.choice(["free", "levels", "tree"]))
    structure = random_structure(rng, shape, 4, group_names(table, groups))
    options = [name for name in OPTIONS if rng.random() < 0.15]
    asked = random_constraints(rng, table, options, structure.depth)
    w = float(rng.choice([1.1, 2, 2.5, 10]))
    return Problem.build(table, structure=structure, groups=groups, w=w, constraints=asked)


def grid(rng: np.random.Generator, n_rows: int, n_features: int, n_values: int) -> Any:
    """Whole numbers in cells."""
    return rng.integers(0, n_values, size=(n_rows, n_features)).astype(float)


def weighted(rng: np.random.Generator) -> Problem:
    """Row weights of every sort, and prices that are no whole numbers."""
    n = int(rng.integers(3, 16))
    weights = random_weights(rng, n, str(rng.choice(WEIGHTS)))
    table = Table.build(grid(rng, n, 3, 4), two_classes(rng, n), sample_weight=weights, warn=False)
    w = float(rng.choice([1, 1.1, 4 / 3, 2.5, np.pi, 20]))
    return Problem.build(table, structure=Structure.free(int(rng.integers(1, 4))), w=w)


def two_classes(rng: np.random.Generator, n_rows: int) -> list[int]:
    labels = rng.integers(0, 2, size=n_rows)
    labels[:2] = 0, 1
    return [int(label) for label in labels]


def many_classes(rng: np.random.Generator) -> Problem:
    """Up to seven classes, more than are counted in one pass."""
    n_classes, n = int(rng.integers(3, 8)), int(rng.integers(8, 20))
    labels = np.append(np.arange(n_classes), rng.integers(0, n_classes, size=n - n_classes))
    table = Table.build(grid(rng, n, 3, 4), rng.permutation(labels), warn=False)
    limits: list[dict[str, Any]] = [{}, {}, {"max_errors": 1}, {"min_coverage": 3}]
    asked = Constraints(**limits[int(rng.integers(4))])
    return Problem.build(table, structure=Structure.free(2), w=2, constraints=asked)


def subsets(rng: np.random.Generator) -> Problem:
    """Features of four to six levels, any of which may stand together."""
    n = int(rng.integers(6, 20))
    columns: dict[str, Any] = {
        name: rng.choice(list("abcdef"[: int(rng.integers(4, 7))]), size=n).tolist()
        for name in ("kind", "place")
    }
    columns["size"] = rng.integers(0, 3, size=n)
    table = Table.build(columns, two_classes(rng, n), warn=False)
    asked = Constraints(subsets=True, once=bool(rng.integers(2)))
    return Problem.build(table, w=float(rng.choice([2, 2.5, 10])), constraints=asked)


def gaps(rng: np.random.Generator) -> Problem:
    """Many missing values, and conditions that ask for them."""
    n = int(rng.integers(4, 16))
    columns: dict[str, Any] = {}
    for name in ("red", "blue", "green"):
        cells = rng.choice(list("ab"), n) if name == "red" else rng.integers(0, 3, size=n)
        gone = rng.random(n) < 0.4
        columns[name] = [None if out else c for c, out in zip(cells.tolist(), gone, strict=True)]
    table = Table.build(columns, two_classes(rng, n), warn=False)
    options = ["missing_conditions", *(name for name in OPTIONS if rng.random() < 0.15)]
    depth = int(rng.integers(1, 4))
    asked = random_constraints(rng, table, options, depth)
    return Problem.build(table, structure=Structure.free(depth), w=2, constraints=asked)


def limited(rng: np.random.Generator) -> Problem:
    """Limits on coverage, precision and errors that bind."""
    n = int(rng.integers(6, 18))
    table = Table.build(grid(rng, n, 3, 4), two_classes(rng, n), warn=False)
    asked = Constraints(
        min_coverage=int(rng.integers(0, n)) if rng.random() < 0.6 else 0,
        min_precision=float(rng.choice([0, 0.5, 2 / 3, 0.9])),
        max_errors=float(rng.integers(0, 4)) if rng.random() < 0.6 else None,
    )
    depth = int(rng.integers(1, 4))
    return Problem.build(table, structure=Structure.free(depth), w=2.5, constraints=asked)


GAINS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "whole": lambda rng, n: rng.integers(-4, 5, size=n),
    "negative": lambda rng, n: -rng.integers(1, 5, size=n),
    "zero": lambda rng, n: np.zeros(n),
    "zero or loss": lambda rng, n: -rng.integers(0, 2, size=n),
    "zero or gain": lambda rng, n: rng.integers(0, 2, size=n),
    "huge": lambda rng, n: rng.integers(-9, 10, size=n) * 1e290,
    "tiny": lambda rng, n: rng.integers(-9, 10, size=n) * 1e-290,
    "fractions": lambda rng, n: rng.integers(-9, 10, size=n) / 7e6,
    "huge beside tiny": lambda rng, n: rng.choice([-1e13, -1, -1e-6, 1e-6, 1, 1e13], size=n),
    "real": lambda rng, n: rng.normal(size=n),
}


def with_gains(rng: np.random.Generator) -> Problem:
    """Gains of the rows, of every size."""
    n = int(rng.integers(2, 16))
    table = Table.build(grid(rng, n, 3, 4), two_classes(rng, n), warn=False)
    depth = int(rng.integers(1, 4))
    options = [name for name in OPTIONS if rng.random() < 0.1]
    asked = random_constraints(rng, table, options, depth)
    problem = Problem.build(table, structure=Structure.free(depth), constraints=asked)
    sort = str(rng.choice(list(GAINS)))
    return problem.with_gains(GAINS[sort](rng, n), int(rng.integers(2)))


def knotted(rng: np.random.Generator) -> Problem:
    """Gain that no rule can separate from loss."""
    depth = int(rng.choice([2, 3, 3, 4]))
    one_way = bool(rng.integers(2)) or depth == 4
    return entangled(rng, depth, vi=bool(rng.integers(2)), one_way=one_way)


def wide(rng: np.random.Generator) -> Problem:
    """More columns than rows: flags, numbers of few values, and of many."""
    n, n_columns = int(rng.integers(6, 30)), int(rng.integers(30, 60))
    most = rng.choice([2, 2, 2, 3, 5, 40], size=n_columns, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05])
    cells = np.column_stack([rng.integers(0, top, size=n) for top in most])
    table = Table.build(cells.astype(float), two_classes(rng, n), warn=False)
    options = [name for name in OPTIONS if rng.random() < 0.08]
    asked = random_constraints(rng, table, options, 2)
    w = float(rng.choice([1, 2, 2.5, 10]))
    return Problem.build(table, structure=Structure.free(2), w=w, constraints=asked)


def thin(rng: np.random.Generator) -> Problem:
    """Sparse columns, most of whose cells are zero and are nowhere stored."""
    n, n_columns = int(rng.integers(8, 30)), int(rng.integers(3, 20))
    values = rng.choice([1, 1, 1, 2, -3], size=(n, n_columns))
    kept = rng.random((n, n_columns)) < rng.uniform(0.02, 0.4)
    cells = sparse.csr_array(np.where(kept, values, 0))
    weights = random_weights(rng, n, str(rng.choice(["none", "none", "integers"])))
    table = Table.build(cells, two_classes(rng, n), sample_weight=weights, warn=False)
    depth = int(rng.integers(1, 4 if n_columns < 6 else 3))
    options = [name for name in OPTIONS if rng.random() < 0.08]
    asked = random_constraints(rng, table, options, depth)
    return Problem.build(table, structure=Structure.free(depth), w=2.5, constraints=asked)


def many_levels(rng: np.random.Generator) -> Problem:
    """Text of up to thirty levels beside numbers."""
    n = int(rng.integers(20, 60))
    codes = {name: rng.integers(0, int(rng.integers(8, 30)), size=n) for name in ("shop", "town")}
    columns: dict[str, Any] = {name: [f"{name}{c}" for c in own] for name, own in codes.items()}
    columns["size"] = rng.integers(0, 6, size=n)
    fires = (codes["shop"] % 3 == 0) & (codes["town"] % 2 == 0)
    labels = (fires ^ (rng.random(n) < 0.2)).astype(int)
    labels[:2] = 0, 1
    table = Table.build(columns, labels.tolist(), warn=False)
    options = [name for name in OPTIONS if rng.random() < 0.08 and name != "subsets"]
    asked = random_constraints(rng, table, options, 2)
    w = float(rng.choice([1, 2, 2.5]))
    return Problem.build(table, structure=Structure.free(2), w=w, constraints=asked)


def very_many_classes(rng: np.random.Generator) -> Problem:
    """Ten to thirty classes."""
    n_classes = int(rng.integers(10, 31))
    n = n_classes + int(rng.integers(10, 40))
    labels = np.append(np.arange(n_classes), rng.integers(0, 4, size=n - n_classes))
    cells = grid(rng, n, 3, 6)
    cells[:, 0] = np.where(rng.random(n) < 0.7, labels, cells[:, 0])
    table = Table.build(cells, labels.tolist(), warn=False)
    return Problem.build(table, structure=Structure.free(2), w=float(rng.choice([1, 2, 10])))


SORTS = {
    make.__name__: make
    for make in (
        deep,
        weighted,
        many_classes,
        subsets,
        gaps,
        limited,
        with_gains,
        knotted,
        wide,
        thin,
        many_levels,
        very_many_classes,
    )
}
