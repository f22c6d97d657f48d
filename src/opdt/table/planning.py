"""From a column as it came to its plan and its codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.cleaning import Cleaning
from opdt.table.columns import Column, code_values, unhashable
from opdt.table.decide import decide_text, id_reason, is_nameless, ordered_plan, says_id
from opdt.table.kinds import Kind
from opdt.table.raw import Raw
from opdt.table.roles import ColumnPlan, Role, Unread, Wish
from opdt.table.survey import MAX_LEVELS, Survey

Planned = tuple[ColumnPlan, Column | None]

_TYPES = {"M": (Role.DATE, "its type is a date"), "b": (Role.YES_NO, "its type is true or false")}
_NUMERIC = (Role.NUMERIC, "its type is a number")


def plan_raw(
    name: str,
    raw: Raw,
    wish: Wish | None = None,
    declared: tuple[Any, ...] = (),
    *,
    named: bool = True,
) -> Planned:
    """The plan of a column that is not coded, and the column, None where it is no feature.

    Parameters
    ----------
    wish : Wish, optional
        The role that the user asks for.
    declared : tuple
        Cells that the user says are missing values.
    named : bool
        Whether the user has given the names; columns of plain arrays are all features, and text
        in them is taken as levels.
    """
    if wish is not None and wish.known is not None:
        known = replace(wish.known, unread=None)
        keep = known.is_used or known.role is Role.CONSTANT
        return _coded(known, raw) if keep else (known, None)
    if wish is not None and not wish.role.is_used:
        return ColumnPlan(name, wish.role, "asked for"), None
    is_text = raw.values.dtype == object and raw.kind is Kind.CATEGORICAL
    by_text = is_text and (named or wish is not None) and not raw.is_declared
    if by_text or (is_text and wish is not None and wish.role in (Role.NUMERIC, Role.DATE)):
        plan = decide_text(name, _survey(name, raw, declared), wish)
    else:
        plan = _typed(name, raw, wish, declared)
    if not plan.is_used and plan.role is not Role.CONSTANT:
        return plan, None
    plan, column = _coded(plan, raw)
    if wish is None and not is_text:
        return plan_coded(plan, column, named=named)
    return plan, column


def plan_block(
    columns: Iterable[Column],
    dtype: np.dtype[Any],
    declared: Sequence[tuple[Any, ...]],
    named: bool,
) -> list[Planned]:
    """The plans of columns of plain numbers that were coded together."""
    role, why = _TYPES.get(dtype.kind, _NUMERIC)
    out = []
    for column, cells in zip(columns, declared, strict=True):
        plan = ColumnPlan(column.name, role, why)
        numbers = [c for c in cells if isinstance(c, int | float)]
        gone = np.flatnonzero(np.isin(column.values, numbers)) if numbers else ()
        if len(gone):
            plan, column = _without(plan, column, np.asarray(gone))
        out.append(plan_coded(plan, column, named=named))
    return out


def plan_coded(plan: ColumnPlan, column: Column, *, named: bool) -> Planned:
    """The plan of a coded column of numbers, which may turn out to be keys or one value."""
    if column.n_values < 2 and not (column.n_values and column.has_missing):
        why = "all rows hold the same value" if column.n_values else "no row has a value"
        return replace(plan, role=Role.CONSTANT, why=why), column
    if named and plan.role is Role.NUMERIC and not column.is_sparse:
        reason = _keys(column)
        if reason is not None:
            return ColumnPlan(plan.name, Role.ID, reason), None
    return plan, column


def _keys(column: Column) -> str | None:
    """Why whole numbers are keys; measurements with fractions never are."""
    values, n_rows, name = column.values, column.n_rows, column.name
    numbered = (
        values.dtype.kind in "iu"
        and len(values) == n_rows
        and int(values[0]) in (0, 1)
        and int(values[-1]) - int(values[0]) == n_rows - 1
        and bool((np.diff(column.codes) == 1).all())
    )
    if values.dtype.kind not in "iu" or not (numbered or says_id(name) or is_nameless(name)):
        return None
    present = int((column.codes >= 0).sum())
    return id_reason(name, present, min(len(values), MAX_LEVELS + 1), numbered=numbered)


def _survey(name: str, raw: Raw, declared: tuple[Any, ...]) -> Survey:
    cells = raw.values.tolist()
    try:
        return Survey.of(cells, declared)
    except TypeError:
        raise unhashable(cells, f"column {name!r}") from None


def _typed(name: str, raw: Raw, wish: Wish | None, declared: tuple[Any, ...]) -> ColumnPlan:
    """The plan of a column whose type says what it holds, or whose role is asked for."""
    missing = _present_cells(raw, declared)
    role = None if wish is None else wish.role
    why = "asked for" if wish is not None else "its type has an order"
    order = raw.order if wish is None or not wish.order else wish.order
    if role is Role.ORDERED and not order:
        raise InputError(
            f"column {name!r} does not say how its levels are ordered; write them down: "
            "'ordered:low<middle<high'."
        )
    if order and role in (None, Role.ORDERED):
        return ordered_plan(name, order, why, missing)
    cleaning, changes = Cleaning(missing=missing), []
    if missing:
        changes.append(f"{', '.join(map(repr, missing[:5]))} read as missing")
    if raw.is_duration:
        cleaning = replace(cleaning, form="seconds")
        changes.append("durations are taken in seconds")
    kind = raw.values.dtype.kind
    if kind == "M" and wish is not None and wish.part:
        cleaning = replace(cleaning, form="date", part=wish.part)
        changes.append(f"the {wish.part} of the date is taken")
    if role is Role.DATE and kind != "M":
        raise InputError(f"column {name!r} cannot be 'date': it holds no dates but numbers.")
    if wish is not None and wish.most:
        raise InputError(
            f"roles[{name!r}] keeps the most frequent levels of text only; take the column as "
            "'categorical'."
        )
    natural, reason = _TYPES.get(kind, _NUMERIC)
    if raw.kind is Kind.CATEGORICAL:
        natural, reason = Role.CATEGORICAL, "its type is text"
    return ColumnPlan(
        name,
        role or natural,
        "asked for" if role else reason,
        tuple(changes),
        cleaning=None if cleaning == Cleaning() else cleaning,
    )


def _present_cells(raw: Raw, declared: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those of the cells declared to be missing that occur."""
    if not declared or raw.values.dtype.kind not in "iufO":
        return ()
    if raw.values.dtype == object:
        found = set(declared) & set(raw.values.tolist())
    else:
        numbers = [c for c in declared if isinstance(c, int | float)]
        found = {c for c in numbers if (raw.values == c).any()}
    return tuple(dict.fromkeys(c for c in declared if c in found))


def _coded(plan: ColumnPlan, raw: Raw) -> tuple[ColumnPlan, Column]:
    """The column cleaned and coded, and where the cells are that could not be read."""
    name, cleaning = plan.name, plan.cleaning
    kind = kind_of(plan.role, raw.kind)
    if cleaning is not None:
        cells = raw.values
        raw, unread = cleaning.apply(raw)
        if unread is not None and unread.any():
            row = int(unread.argmax())
            what = "level" if cleaning.order else cleaning.form
            found = Unread(int(unread.sum()), what, str(cells[row]), row)
            plan = replace(plan, unread=found)
    codes, values = code_values(raw, kind, f"column {name!r}")
    return plan, Column(name, kind, codes, values, cleaning)


def kind_of(role: Role, natural: Kind) -> Kind:
    """How a column of a role is tested; truth values that are no text stay numbers."""
    if role in (Role.NUMERIC, Role.DATE, Role.ORDERED):
        return Kind.NUMERIC
    return Kind.CATEGORICAL if role is Role.CATEGORICAL else natural


def _without(plan: ColumnPlan, column: Column, gone: NDArray[np.intp]) -> tuple[ColumnPlan, Column]:
    """A coded column of which some values are missing values."""
    cells = tuple(column.values[gone].tolist())
    places = np.full(column.n_values + 1, -1, np.int32)  # the last is for what is missing already
    stay = np.delete(np.arange(column.n_values), gone)
    places[stay] = np.arange(len(stay), dtype=np.int32)
    codes = places[column.codes]
    rows = int((codes < 0).sum() - (column.codes < 0).sum())
    changes = (f"{', '.join(map(repr, cells))} read as missing in {rows:,} rows",)
    cleaning = Cleaning(missing=cells)
    values = column.values[stay]
    return (
        replace(plan, changes=changes, cleaning=cleaning),
        Column(column.name, column.kind, codes, values, cleaning),
    )
