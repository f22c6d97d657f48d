"""The arguments of `discover` that say what is searched, for functions that search many times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from opdt.arguments import (
    Groups,
    StructureLike,
    resolve_demands,
    resolve_structure,
    resolve_table,
)
from opdt.errors import InputError
from opdt.problem import Constraints, Problem
from opdt.problem.groups import check_groups


class Settings(TypedDict, total=False):
    """What is searched; each as in `opdt.discover`."""

    max_depth: int | None
    w: float
    structure: StructureLike
    groups: Groups | None
    target: Any
    min_coverage: float | None
    min_precision: float | None
    constraints: Constraints | Mapping[str, Any] | None
    sample_weight: Any
    roles: Mapping[str, str] | None


def build_problem(
    X: Any, y: Any, objective: str | None = None, **settings: Unpack[Settings]
) -> Problem:
    """The problem that `discover` would solve with these arguments, by default for the VI.

    With another objective the price is 1, at which the VI is the number of correct rows.
    """
    for name in settings:
        if name not in Settings.__annotations__:
            known = ", ".join(Settings.__annotations__)
            raise InputError(f"{name!r} is no argument of discover; what is searched: {known}.")
    table = resolve_table(X, y, settings.get("sample_weight"), settings.get("roles"))
    shape, file_groups = resolve_structure(settings.get("structure"), settings.get("max_depth"))
    return Problem.build(
        table,
        structure=shape,
        groups={**file_groups, **check_groups(settings.get("groups"))},
        w=settings.get("w", 10.0) if objective in (None, "vi") else 1,
        target=settings.get("target"),
        constraints=resolve_demands(
            "vi" if objective is None else objective,
            settings.get("constraints"),
            settings.get("min_coverage"),
            settings.get("min_precision"),
        ),
    )
