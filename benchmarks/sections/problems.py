"""The tables that are measured."""

from __future__ import annotations

from typing import Any

from common import Settings

from opdt.datasets import Planted, planted_rule
from opdt.engines.search import SearchEngine
from opdt.problem import Problem, Structure
from opdt.solution import Budget, Solution
from opdt.table import Table

# With w = 10 a rule pays above a precision of 90 %. The first pattern does (96 % of its rows are
# of the class), so it bounds the search; the second does not, so that only chance corners pay.
PATTERNS: dict[str, dict[str, float]] = {
    "planted": {"strength": 0.97, "noise": 0.01},
    "weak": {"strength": 0.8, "noise": 0.0},
}


def pattern(kind: str, n_rows: int, n_features: int, *, balance: float = 0.5, seed: int) -> Planted:
    """A numeric table with a pattern of two conditions in two fifths of the class's rows."""
    return planted_rule(
        n_rows,
        n_features,
        balance=balance,
        coverage=0.4 * balance,
        seed=seed,
        as_numpy=True,
        **PATTERNS[kind],
    )


def solve(
    table: Table,
    depth: int,
    settings: Settings,
    *,
    label: Any = None,
    limit: float | None = None,
    threads: int | None = None,
    w: float | None = None,
) -> Solution:
    """From the coded table to the audited solution."""
    problem = Problem.build(
        table, structure=Structure.free(depth), w=settings.w if w is None else w, label=label
    )
    return SearchEngine().solve(
        problem, Budget(time_limit=limit, n_jobs=threads or settings.threads)
    )
