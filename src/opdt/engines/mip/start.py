"""Where a warm start comes from: BSCCART as in the paper, another engine, or the user's rule."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

from opdt.engines.bsccart import BSCCARTEngine
from opdt.engines.registry import get_engine
from opdt.engines.tree import SplitTree
from opdt.errors import InputError, OpdtWarning, UnsupportedProblem
from opdt.problem import CodedRule, Problem
from opdt.rules import Rule
from opdt.solution import Clock

ENGINES = ("bsccart", "rscrules", "search")


@dataclass(frozen=True)
class Start:
    """A tree to start from, or why there is none.

    Attributes
    ----------
    origin : str
        Who made the tree: an engine's name or "rule"; empty where none was asked for.
    tree : SplitTree or None
    rule : CodedRule or None
        The rule of the tree's best leaf that meets every demand, if there is one.
    reason : str
        Why there is no tree.
    """

    origin: str = ""
    tree: SplitTree | None = None
    rule: CodedRule | None = None
    reason: str = ""


def check_warm_start(value: Any) -> None:
    """Refuse a `warm_start` that is none."""
    if not isinstance(value, bool | Rule) and value not in ENGINES:
        names = ", ".join(map(repr, ENGINES))
        raise InputError(f"'warm_start' must be True, False, {names} or a Rule, got {value!r}.")


def find_start(problem: Problem, wanted: bool | str | Rule, clock: Clock) -> Start:
    """The start that `wanted` asks for; True is BSCCART.

    A start that was named and cannot be used is warned about. With True the reason is only kept
    in the solution's details, since BSCCART does not look for rules that meet further demands.
    """
    if wanted is False:
        return Start()
    start = (
        _from_rule(problem, wanted)
        if isinstance(wanted, Rule)
        else _from_engine(problem, "bsccart" if wanted is True else wanted, clock)
    )
    if start.reason and wanted is not True:
        warn_unusable(start)
    return start


def warn_unusable(start: Start) -> None:
    """Say that the solver starts without the start that was asked for."""
    warnings.warn(
        f"the warm start from {start.origin} cannot be used: {start.reason}; "
        "the solver starts without one.",
        OpdtWarning,
        stacklevel=2,
    )


def _from_rule(problem: Problem, rule: Rule) -> Start:
    coded = problem.lower(rule)
    if why := problem.objection(coded):
        return Start("rule", reason=why)
    return Start("rule", SplitTree.around(problem, coded), coded)


def _from_engine(problem: Problem, name: str, clock: Clock) -> Start:
    engine = BSCCARTEngine() if name == "bsccart" else get_engine(name)
    if clock.remaining() <= 0:
        return Start(name, reason="the time is up")
    seconds = None if clock.budget.time_limit is None else clock.remaining()
    try:
        solution = engine.solve(problem, replace(clock.budget, time_limit=seconds, progress=None))
    except UnsupportedProblem as error:
        return Start(name, reason=str(error).rstrip("."))
    coded = None if solution.rule is None else problem.lower(solution.rule)
    if isinstance(solution.details, SplitTree):
        return Start(name, solution.details, coded)
    if coded is None:
        return Start(name, reason="it found no rule")
    return Start(name, SplitTree.around(problem, coded), coded)
