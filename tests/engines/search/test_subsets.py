"""Sets of the frequent levels of a feature of many: each engine finds the same, in pieces too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opdt
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.search import SearchEngine, Switches
from opdt.problem import Constraints, Problem, Structure, problem
from opdt.scale import discover_partitioned
from opdt.table import Table

LEFT = Structure.tree(split=[1, 1, 0], group=["cat", "cat", None], target=[1, 0, 0, 0])
SHAPES = [Structure.free(1), Structure.free(2), LEFT]


def rows_of(rng: np.random.Generator, n_rows: int, n_levels: int) -> tuple[dict[str, Any], Any]:
    """Two categories, some of their levels rare, and a number; labels that depend on them."""
    shares = rng.dirichlet(np.ones(n_levels))
    levels = np.array([f"l{n}" for n in range(n_levels)])
    columns: dict[str, Any] = {
        name: rng.choice(levels, n_rows, p=shares) for name in ("kind", "place")
    }
    columns["size"] = rng.integers(0, 4, n_rows)
    fires = np.isin(columns["kind"], levels[:3]) & (columns["size"] > 0)
    return columns, fires ^ (rng.random(n_rows) < 0.1)


@pytest.mark.parametrize("seed", range(12))
def test_engines_agree_on_frequent_levels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "MAX_SUBSET_LEVELS", 5)
    rng = np.random.default_rng(seed)
    table = Table.build(*rows_of(rng, 60, 7), warn=False)
    asked = Constraints(subsets=True, once=bool(seed % 2))
    one = Problem.build(table, structure=SHAPES[seed % 3], w=2, constraints=asked)
    wanted = ExhaustiveEngine().solve(one)
    found = [SearchEngine().solve(one), SearchEngine(switches=Switches(large_rows=0)).solve(one)]
    for solution in found:
        assert (solution.value, solution.rule) == (wanted.value, wanted.rule)


@pytest.mark.parametrize("n_levels", [40, 400])
def test_many_levels_in_memory_and_in_pieces(tmp_path: Path, n_levels: int) -> None:
    columns, labels = rows_of(np.random.default_rng(n_levels), 3000, n_levels)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({**columns, "y": labels}), path, row_group_size=700)
    asked: dict[str, Any] = {
        "constraints": {"subsets": ["kind"]}, "max_depth": 2, "w": 3, "label": True
    }  # fmt: skip
    here = opdt.discover(columns, labels, **asked)
    there = discover_partitioned([str(path)], "y", **asked)
    assert (here.value, here.rule) == (there.value, there.rule)
    for solution in (here, there):
        assert solution.plan is not None
        note = solution.plan["kind"].unproven
        assert f"most frequent of its {len(set(columns['kind'])):,} levels" in note
