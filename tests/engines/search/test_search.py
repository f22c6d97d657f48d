"""The search against the oracle: status, value and rule, whatever is asked and however it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.entangled import entangled
from engines.search.support import LARGE_ROWS, agree, examples, make_eager, switches
from opdt.engines.search import Switches, polish
from opdt.problem import Constraints, Problem, Structure
from opdt.table import Table
from strategies import (
    EMPHASES,
    OPTIONS,
    WEIGHTS,
    group_names,
    random_constraints,
    random_groups,
    random_structure,
    random_table,
    random_weights,
    small_problems,
)

SEEDS = st.integers(0, 2**32 - 1)
THREADS = st.sampled_from([1, 2])
STEPS = st.sampled_from([2_000_000, -1])  # ties by trying all positions, or by bisecting them
PATHS = {"few rows": LARGE_ROWS, "many rows": 0}


@pytest.fixture(scope="module", params=PATHS)
def path(request: pytest.FixtureRequest) -> Any:
    """The number of rows from which cells are counted, with all that is lazy made eager."""
    with pytest.MonkeyPatch.context() as patch:
        make_eager(patch)
        yield PATHS[request.param]


def check(problem: Problem, data: st.DataObject, path: int) -> None:
    """Assert agreement with switches, threads and a way to settle ties that are drawn."""
    chosen = data.draw(switches(path), label="switches")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polish, "FEW_STEPS", data.draw(STEPS, label="steps"))
        agree(problem, chosen, data.draw(THREADS, label="threads"))


@pytest.mark.parametrize("emphasis", EMPHASES)
def test_small_problems(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), data=st.data())
    @examples(110)
    def agrees(problem: Problem, data: st.DataObject) -> None:
        check(problem, data, path)

    agrees()


@pytest.mark.slow
@pytest.mark.parametrize("emphasis", EMPHASES)
def test_very_many_small_problems(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), data=st.data())
    @examples(2000)
    def agrees(problem: Problem, data: st.DataObject) -> None:
        check(problem, data, path)

    agrees()


# -- problems of one sort ------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_fewer_errors_win_where_weights_are_too_fine_for_values_to_tell(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At this price an error costs nothing but its own row, so that many rules tie."""
    monkeypatch.setattr(polish, "FEW_STEPS", -1)
    for seed in range(100):
        rng = np.random.default_rng([depth, seed])
        table = random_table(rng, int(rng.integers(8, 16)), "thirds", n_conditions=8)
        asked = random_constraints(rng, table, ["required", "min_coverage"], depth)
        problem = Problem.build(
            table,
            structure=Structure.levels(*["all"] * depth),
            w=1,
            target=table.classes.tolist()[0],
            constraints=asked,
        )
        agree(problem, Switches())


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


SORTS = {
    make.__name__: make
    for make in (deep, weighted, many_classes, subsets, gaps, limited, with_gains, knotted)
}


@pytest.mark.parametrize("sort", SORTS)
def test_problems_of_one_sort(sort: str, path: int) -> None:
    @given(seed=SEEDS, data=st.data())
    @examples(50)
    def agrees(seed: int, data: st.DataObject) -> None:
        check(SORTS[sort](np.random.default_rng(seed)), data, path)

    agrees()


@pytest.mark.slow
@pytest.mark.parametrize("sort", SORTS)
def test_very_many_problems_of_one_sort(sort: str, path: int) -> None:
    @given(seed=SEEDS, data=st.data())
    @examples(1500)
    def agrees(seed: int, data: st.DataObject) -> None:
        check(SORTS[sort](np.random.default_rng(seed)), data, path)

    agrees()


@pytest.mark.parametrize("sort", GAINS)
def test_gains_of_one_sort(sort: str, path: int) -> None:
    rng = np.random.default_rng(5)
    table = Table.build(grid(rng, 12, 3, 4), two_classes(rng, 12), warn=False)
    for asked in (Constraints(), Constraints(min_coverage=4), Constraints(required=["x1"])):
        problem = Problem.build(table, constraints=asked).with_gains(GAINS[sort](rng, 12))
        agree(problem, Switches(large_rows=path))


# -- more rows -----------------------------------------------------------------------------------


def medium(rng: np.random.Generator) -> Problem:
    """30 to 120 rows with numbers, levels and missing values, and a rule to be found."""
    n, depth = int(rng.integers(30, 121)), int(rng.integers(1, 4))
    n_values = {1: 60, 2: 12, 3: 4}[depth]
    columns: dict[str, Any] = {}
    for name in ("delta", "alpha", "gamma", "beta")[: 4 if depth < 3 else 3]:
        cells = rng.integers(0, n_values, size=n).astype(float)
        columns[name] = np.where(rng.random(n) < 0.1, np.nan, cells).tolist()
    columns["kind"] = rng.choice(list("abc"), size=n).tolist()
    fires = np.all([np.array(columns[name]) >= 0.3 * n_values for name in ("delta", "gamma")], 0)
    labels = fires ^ (rng.random(n) < 0.2)
    labels[:2] = False, True
    weights = rng.choice([0.5, 1, 2], size=n) if rng.random() < 0.5 else None
    table = Table.build(columns, labels, sample_weight=weights, warn=False)
    options = [name for name in OPTIONS if rng.random() < 0.12]
    asked = random_constraints(rng, table, options, depth)
    w = float(rng.choice([2, 5, 10, 2.5]))
    return Problem.build(table, structure=Structure.free(depth), w=w, constraints=asked)


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_many_values(seed: int, path: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(3):
        flags = [bool(flag) for flag in rng.integers(0, 2, size=5)]
        chosen = Switches(*flags, large_rows=path) if seed % 2 else Switches(large_rows=path)
        agree(medium(rng), chosen, threads=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_very_many_tables_of_many_values(seed: int, path: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        flags = [bool(flag) for flag in rng.integers(0, 2, size=5)]
        agree(medium(rng), Switches(*flags, large_rows=path), threads=1 + seed % 2)
