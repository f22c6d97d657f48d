"""From the sets of rays that reach the best value to the first rule in the documented order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from opdt.errors import EngineFailure
from opdt.problem import CodedRule

if TYPE_CHECKING:
    from opdt.engines.search.run import Run


Winner = tuple[int, tuple[int, ...]]  # class, rays


def first_rule(
    run: Run, winners: Iterable[Winner], value: int, *, quick: bool
) -> tuple[CodedRule, Winner]:
    """The first rule, in the documented order, of all those that reach the value, and its set.

    The value fixes gain, number of conditions and errors (where scores carry them), so the order
    of features decides next: only the sets with the first features are worked out. If `quick`,
    (a limit is reached, so nothing is promised about ties) any rule of the value will do.
    """
    candidates = sorted(winners)
    if run.scores.with_errors:
        features = run.prepared.rays.features
        used = [tuple(sorted(features[list(rays)].tolist())) for _, rays in candidates]
        first = min(used)
        candidates = [c for c, names in zip(candidates, used, strict=True) if names == first]
    if quick:
        candidates = candidates[:1]
    rules = [
        (_rule(run, label, rays, value, quick=quick), (label, rays)) for label, rays in candidates
    ]
    return min(rules, key=lambda pair: run.problem.key(pair[0], run.problem.measure(pair[0])))


def _rule(run: Run, label: int, rays: tuple[int, ...], value: int, *, quick: bool) -> CodedRule:
    """The rule of a set of rays that reaches a value with the loosest conditions, in order.

    Raises
    ------
    EngineFailure
        If no positions of the rays reach it: the search would have been wrong.
    """
    rays = tuple(sorted(rays))  # the rays are built in the order of features and operators
    if not rays:
        return CodedRule((), label)
    goal = value - run.scores.offset(len(rays))
    positions = run.method.locate(label, rays, goal, quick=quick)
    if positions is None:
        raise EngineFailure(f"no conditions on rays {rays} reach the value {value} of the search.")
    prepared = run.prepared.rays
    conditions = tuple(prepared.condition(ray, at) for ray, at in zip(rays, positions, strict=True))
    return CodedRule(conditions, label)
