"""Hundreds of random tables in random partitions: the in-memory engine's rule, value and bound."""

from __future__ import annotations

import pytest

from scale.partitions import TableScanner, check_case

CHUNK = 20  # cases to a test


@pytest.mark.parametrize("first", range(1, 201, CHUNK))
def test_any_table_in_any_partitions_is_solved_as_in_memory(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check_case(seed, TableScanner)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(201, 4201, 10 * CHUNK))
def test_thousands_of_tables_are_solved_as_in_memory(first: int) -> None:
    for seed in range(first, first + 10 * CHUNK):
        check_case(seed, TableScanner)
