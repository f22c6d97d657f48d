"""The best rule of a problem in whatever it is to be best in."""

from __future__ import annotations

from dataclasses import replace

from opdt.engines.base import Engine
from opdt.engines.means import best_mean
from opdt.engines.measures import is_measured, solve_measured
from opdt.engines.precision import most_precise
from opdt.engines.prices import Pricer
from opdt.objectives.mean import Mean
from opdt.problem import Problem
from opdt.solution import Budget, Clock, Solution


def solve_problem(problem: Problem, engine: Engine, budget: Budget | Clock) -> Solution:
    """The best rule: one solve where gains add up, several where a ratio is asked for."""
    best_in = problem.best_in
    if is_measured(problem):
        return solve_measured(problem, engine, budget)
    if best_in == "precision":
        return most_precise(Pricer(problem, engine, budget))
    if isinstance(best_in, Mean) and best_in.threshold is None:
        return best_mean(problem, engine, budget)
    return replace(engine.solve(problem, budget), objective=best_in)
