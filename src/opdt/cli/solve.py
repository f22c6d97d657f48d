"""A search as the commands run it: with notes, a progress bar, and an exit code."""

from __future__ import annotations

from typing import Any

from opdt.cli.console import SearchProgress
from opdt.cli.group import INTERRUPTED, NO_RULE
from opdt.discovery import discover
from opdt.problem import Problem
from opdt.problem.arguments import resolve_objective
from opdt.solution import Budget, Solution, StopReason


def solve(
    data: Any,
    y: Any = None,
    *,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    bar: bool = True,
    **settings: Any,
) -> Solution:
    """The solution of a table or of partitions, with a progress bar where that makes sense."""
    asked = data.best_in if isinstance(data, Problem) else settings.get("objective", "vi")
    objective, _ = resolve_objective(asked)
    with SearchProgress(objective) as progress:
        budget = Budget(time_limit=time_limit, n_jobs=n_jobs, progress=progress if bar else None)
        return discover(data, y, budget=budget, **settings)


def exit_code(solution: Solution) -> int:
    """What the command exits with after it has shown the solution."""
    if solution.stopped_by is StopReason.INTERRUPTED:
        return INTERRUPTED
    return NO_RULE if solution.rule is None else 0
