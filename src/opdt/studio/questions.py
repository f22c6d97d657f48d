"""What a work asks, and whether the data can answer it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opdt.analysis.ranking import has_classes
from opdt.errors import InputError
from opdt.objectives import Mean, TargetKind
from opdt.studio.best_in import columns_of, needs_label, target_of, told, wanted_columns
from opdt.studio.tables import Loaded, RowSplit
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


def lacks(work: Work) -> str | None:
    """What is still to be chosen before there can be a rule, in a few words; None if nothing is."""
    target = target_of(work.objective)
    if work.target is None and target is not TargetKind.NOTHING:
        return f"the column of the {target}"
    if needs_label(work.objective) and work.label is None:
        return "the class that brings the benefit"
    for what in wanted_columns(work.objective).values():
        return what
    limited = work.min_precision or work.sums_rows or work.max_errors is not None
    if work.objective == "coverage" and not limited:
        return "a minimum precision or the maximum errors, in step 4"
    return None


def unlisted(work: Work) -> str | None:
    """Why rules nearly as good cannot be listed, in a sentence; None where they can."""
    best_in, name = work.objective, told(work.objective, work.target).name
    if isinstance(best_in, str):
        is_sum = best_in in ("vi", "coverage")
    else:
        is_sum = not best_in.needs_coverage
    if not is_sum:
        cure = " Give a threshold, and they can." if isinstance(best_in, Mean) else ""
        return (
            "All rules nearly as good are listed where the rows of a rule add up to its value; "
            f"the {name} is no such sum.{cure}"
        )
    return None


def divide(loaded: Loaded, work: Work) -> RowSplit:
    """The rows that the rule of a work is found on, and those that are held out."""
    if (missing := lacks(work)) is not None:
        raise InputError(f"choose {missing} first.")
    return loaded.split(
        work.target,
        held_out=work.held_out,
        seed=work.seed,
        ignored=work.ignored,
        objective=work.objective,
        kept=work.kept,
    )


def left_out(loaded: Loaded, work: Work) -> int:
    """Rows that have no part in anything, as they lack the target or what the objective reads."""
    target = () if work.target is None else (work.target,)
    read = [name for name in (*target, *columns_of(work.objective)) if name in loaded.names]
    if all(not loaded.profile(name).missing for name in read):
        return 0
    gone = loaded.frame[read[0]].isna()
    for name in read:
        gone |= loaded.values(name).isna()
    return int(gone.sum())


def check_label(loaded: Loaded, work: Work) -> None:
    """Refuse a target that does not hold what is needed, and a class that it does not have."""
    if work.target is None:
        return
    kind = target_of(work.objective)
    if kind is not TargetKind.CLASSES:
        loaded.profile(work.target)
        if kind is TargetKind.NUMBERS and not loaded.is_number(work.target):
            raise InputError(f"column {work.target!r} holds no numbers; choose another column.")
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
    named |= {*columns_of(work.objective), *work.kept}
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
    if not has_classes(work.objective) or needs_label(work.objective):
        return question(work)
    return replace(question(work), w=10.0, max_errors=None)


def comparison_question(work: Work) -> tuple[Any, ...]:
    """What the numbers of a pinned rule depend on."""
    asked = work.objective, work.label if needs_label(work.objective) else None
    return asked, work.target, work.w, work.held_out, work.seed, work.ignored, work.pinned
