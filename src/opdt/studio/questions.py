"""What a work asks, and whether the data can answer it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opdt.errors import InputError
from opdt.studio.tables import Loaded
from opdt.studio.work import DataSource, Work
from opdt.table import Role

# Settings that change no rule, only what is shown beside it or how long it may take.
_NO_QUESTION: dict[str, Any] = {"time_limit": 60.0, "pinned": ()}


def first_work(loaded: Loaded, target: str | None) -> Work:
    """The work on new data, before anything is said; with the column of the classes, if known."""
    target = target or loaded.target
    unused = [c for c in loaded.plan.not_used if c.role is not Role.CONSTANT]
    roles = {column.name: str(column.role) for column in unused if column.name != target}
    work = Work(source=loaded.source, target=target, roles=roles)
    if work.target is not None:
        check_label(loaded, work)
    return work


def check_label(loaded: Loaded, work: Work) -> None:
    """Refuse a column that holds no classes, and a class that is none of its classes."""
    if work.target is None:
        return
    classes = loaded.classes(work.target)
    if work.label is not None and work.label not in classes:
        shown = ", ".join(map(repr, classes[:10]))
        raise InputError(
            f"the class {work.label!r} is none of column {work.target!r}, which has {shown}."
        )


def check_reading(loaded: Loaded, work: Work) -> None:
    """Refuse roles that columns cannot have."""
    loaded.plan_for({n: r for n, r in work.roles.items() if n != work.target}, work.missing)


def check_columns(loaded: Loaded, work: Work) -> None:
    """Refuse a work on other columns than those of the table, or on columns it cannot read so."""
    check_label(loaded, work)
    named = {*work.roles, *work.directions, *work.required, *work.forbidden}
    named |= {feature for group in work.groups.values() for feature in group}
    named |= {feature for pinned in work.pinned for feature in pinned.rule.features}
    for name in sorted(named - set(loaded.names)):
        raise InputError(f"the project names the column {name!r}, which the data do not have.")
    check_reading(loaded, work)


def is_same(one: DataSource, other: DataSource) -> bool:
    """Whether two sources are of the same data, whatever a file is called."""
    return (one.kind, one.sha256) == (other.kind, other.sha256) and (
        one.kind == "file" or one.name == other.name
    )


def question(work: Work) -> Work:
    """The work without what changes no answer."""
    return replace(work, **_NO_QUESTION)


def trade_off_question(work: Work) -> Work:
    """The work without what the trade-off answers."""
    return replace(question(work), w=10.0, max_errors=None)


def comparison_question(work: Work) -> tuple[Any, ...]:
    """What the numbers of a pinned rule depend on."""
    return work.target, work.w, work.held_out, work.seed, work.ignored, work.pinned
