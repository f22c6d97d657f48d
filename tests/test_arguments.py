"""Sizes, places and limits, in all their spellings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opdt
from opdt.arguments import resolve_budget, resolve_size
from opdt.errors import InputError
from opdt.problem.arguments import is_partitioned, resolve_table
from opdt.solution import Budget


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        (5, 5),
        (np.int64(7), 7),
        ("12", 12),
        ("12B", 12),
        ("3kB", 3000),
        ("500MB", 500_000_000),
        ("2GB", 2_000_000_000),
        (" 1.5 GiB ", 3 << 29),
        ("2gib", 2 << 30),
        (".5TiB", 1 << 39),
    ],
)
def test_sizes_are_read_with_their_units(size: Any, n_bytes: int) -> None:
    assert resolve_size(size) == n_bytes


@pytest.mark.parametrize(
    "size",
    [0, -1, 1.5, True, None, "", "GB", "2 G", "2XB", "-2GB", "1e9B", "0GB", "0.1B", "2iB", []],
)
def test_anything_else_is_no_size(size: Any) -> None:
    with pytest.raises(InputError, match="must be a number of bytes above 0 such as '2GB', got"):
        resolve_size(size)


def test_a_limit_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'memory_limit' is given twice"):
        resolve_budget(Budget(memory_limit=5), None, None, "1GB")


def test_a_file_that_is_spelt_like_a_pattern_is_one_file(tmp_path: Path) -> None:
    odd = tmp_path / "a[1].csv"
    odd.write_text("x,y\n1,0\n2,1\n")
    assert not is_partitioned(odd)
    assert is_partitioned(tmp_path)
    assert is_partitioned(tmp_path / "*.csv")
    assert is_partitioned([odd])
    assert not is_partitioned(tmp_path / "gone.csv")
    assert not is_partitioned([])
    assert not is_partitioned([["a"]])
    assert opdt.discover(odd, "y", w=1).value == 1


def test_a_memory_limit_joins_the_budget() -> None:
    assert resolve_budget(None, 5, 2, "1kB") == Budget(time_limit=5, n_jobs=2, memory_limit=1000)
    assert resolve_budget(Budget(time_limit=5), None, None, 77) == Budget(
        time_limit=5, memory_limit=77
    )


def test_partitions_are_no_table_in_memory(tmp_path: Path) -> None:
    for X in (tmp_path, "claims/*.parquet", ["a.csv", "b.csv"]):
        with pytest.raises(InputError, match="only discover and OPDTClassifier take partitions"):
            resolve_table(X, "y", None, None)
