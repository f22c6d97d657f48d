"""Every rule of a small table on raw values, in plain Python: the oracle of the objectives.

It shares no code with the library: conditions are tests of cells, sums are fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

Columns = dict[str, list[Any]]
Rows = frozenset[int]


def conditions(columns: Columns) -> set[Rows]:
    """The rows that each condition on one column covers; missing cells satisfy none."""
    out = set()
    for cells in columns.values():
        present = sorted({cell for cell in cells if cell is not None})
        rows = [(row, cell) for row, cell in enumerate(cells) if cell is not None]
        if any(isinstance(cell, str) for cell in present):
            for level in present:
                out.add(frozenset(row for row, cell in rows if cell == level))
                out.add(frozenset(row for row, cell in rows if cell != level))
        else:
            for edge in present[1:]:
                out.add(frozenset(row for row, cell in rows if cell >= edge))
                out.add(frozenset(row for row, cell in rows if cell < edge))
    return out


def rules(columns: Columns, depth: int) -> Iterator[Rows]:
    """The rows of each rule of at most so many conditions, without that of no rows."""
    n_rows = len(next(iter(columns.values())))
    everything = frozenset(range(n_rows))
    known = [everything, *conditions(columns)]
    seen = set()
    for some in combinations_with_replacement(known, depth):
        rows = frozenset.intersection(*some)
        if rows and rows not in seen:
            seen.add(rows)
            yield rows


def largest_sum(columns: Columns, gains: list[Fraction], depth: int, least: int = 0) -> Any:
    """The largest sum of gains over the rows of a rule; None where none covers enough rows."""
    sums = [sum(gains[row] for row in rows) for rows in rules(columns, depth) if len(rows) >= least]
    if least == 0:
        sums.append(Fraction(0))
    return max(sums, default=None)


def best_mean(
    columns: Columns, y: list[Fraction], weights: list[Fraction], depth: int, least: int, sign: int
) -> Any:
    """The highest mean (or lowest) over the rows of a rule that weigh enough; None without one."""
    means = [
        sum(y[row] * weights[row] for row in rows) / weight
        for rows in rules(columns, depth)
        if (weight := sum(weights[row] for row in rows)) >= least and weight
    ]
    return (max if sign > 0 else min)(means, default=None)


def small_table(rng: np.random.Generator) -> Columns:
    """A few rows of numbers, levels and missing cells."""
    n_rows = int(rng.integers(2, 14))
    columns: Columns = {}
    for place in range(int(rng.integers(1, 4))):
        if rng.random() < 0.3:
            cells: list[Any] = rng.choice(["a", "b", "c"], n_rows).tolist()
        else:
            cells = rng.integers(0, int(rng.integers(2, 7)), n_rows).tolist()
        if rng.random() < 0.2:
            cells = [None if rng.random() < 0.2 else cell for cell in cells]
        columns[f"f{place}"] = cells
    return columns


def amounts(rng: np.random.Generator, n_rows: int) -> list[float]:
    """Whole numbers, or decimals of up to six places, as floats."""
    places = int(rng.choice([0, 1, 2, 6]))
    return [round(float(each), places) for each in rng.normal(3, 10, n_rows)]


def exact(values: list[float]) -> list[Fraction]:
    """Numbers as they are written."""
    return [Fraction(str(value)) for value in values]
