"""From a column as it came to its plan and its codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.table.cleaning import Cleaning
from opdt.table.columns import Column, code_values, unhashable
from opdt.table.decide import (
    check_constant,
    decide_text,
    id_reason,
    is_nameless,
    read_as_missing,
    says_id,
)
from opdt.table.kinds import Kind
from opdt.table.raw import Raw
from opdt.table.roles import ASKED, ColumnPlan, Role, Unread, Wish, kind_of
from opdt.table.survey import MAX_LEVELS, Survey
from opdt.table.typed import Held, decide_typed, needs_cells, sort_of

Planned = tuple[ColumnPlan, Column | None]


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
    unread = plan_unread(name, wish)
    if unread is not None:
        return unread, None
    if wish is not None and wish.known is not None:
        return _coded(replace(wish.known, unread=None), raw)
    held = _held(raw)
    if needs_cells(held.sort, wish, named=named):
        plan = decide_text(name, _survey(name, raw, declared), wish, numbered=_counts_up(raw))
    else:
        plan = decide_typed(name, held, wish, _present_cells(raw, declared))
    if not plan.is_used and plan.role is not Role.CONSTANT:
        return plan, None
    plan, column = _coded(plan, raw)
    if wish is not None:
        return plan, column
    return plan_coded(plan, column, named=named and held.sort == "number")


def plan_unread(name: str, wish: Wish | None) -> ColumnPlan | None:
    """The plan of a column that is no feature whatever it holds; None where that is to be seen."""
    if wish is None:
        return None
    if wish.known is not None:
        keep = wish.known.is_used or wish.known.role is Role.CONSTANT
        return None if keep else replace(wish.known, unread=None)
    return None if wish.role.is_used else ColumnPlan(name, wish.role, ASKED)


def plan_block(
    columns: Iterable[Column],
    dtype: np.dtype[Any],
    declared: Sequence[tuple[Any, ...]],
    named: bool,
) -> list[Planned]:
    """The plans of columns of plain numbers that were coded together."""
    held = Held(sort_of(dtype.kind))
    out = []
    for column, cells in zip(columns, declared, strict=True):
        plan = decide_typed(column.name, held)
        numbers = [c for c in cells if isinstance(c, int | float)]
        gone = np.flatnonzero(np.isin(column.values, numbers)) if numbers else ()
        if len(gone):
            plan, column = _without(plan, column, np.asarray(gone))
        out.append(plan_coded(plan, column, named=named))
    return out


def plan_coded(plan: ColumnPlan, column: Column, *, named: bool) -> Planned:
    """The plan of a coded column of numbers, which may turn out to be keys or one value."""
    plan = check_constant(plan, column.n_values, has_missing=column.has_missing)
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


def _held(raw: Raw) -> Held:
    """What the type of a column says."""
    sort = sort_of(raw.values.dtype.kind)
    if raw.kind is Kind.CATEGORICAL:
        sort = "category" if raw.is_declared else "text"
    return Held(sort, raw.order, raw.is_duration, raw.zone)


def _counts_up(raw: Raw) -> bool:
    """Whether the cells of text are 0, 1, 2, … or 1, 2, 3, …."""
    cells = raw.values.tolist()
    first = cells[0] if cells and isinstance(cells[0], str) else ""
    if first.strip() not in ("0", "1"):
        return False
    whole = enumerate(cells, int(first))
    return all(isinstance(cell, str) and cell.strip() == str(at) for at, cell in whole)


def _present_cells(raw: Raw, declared: tuple[Any, ...]) -> dict[Any, int]:
    """Those of the cells declared to be missing that occur, with the rows of each."""
    if not declared or raw.values.dtype.kind not in "iufO":
        return {}
    if raw.values.dtype == object:
        counts = Counter(cell for cell in raw.values.tolist() if cell is not None)
        return {cell: counts[cell] for cell in declared if counts[cell]}
    numbers = [c for c in declared if isinstance(c, int | float)]
    found = {c: int(((raw.values == c) & ~raw.mask).sum()) for c in numbers}
    return {cell: rows for cell, rows in found.items() if rows}


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


def _without(plan: ColumnPlan, column: Column, gone: NDArray[np.intp]) -> tuple[ColumnPlan, Column]:
    """A coded column of which some values are missing values."""
    cells = {column.values[at].item(): int((column.codes == at).sum()) for at in gone.tolist()}
    places = np.full(column.n_values + 1, -1, np.int32)  # the last is for what is missing already
    stay = np.delete(np.arange(column.n_values), gone)
    places[stay] = np.arange(len(stay), dtype=np.int32)
    codes, values = places[column.codes], column.values[stay]
    cleaning = Cleaning(missing=tuple(cells))
    return (
        replace(plan, changes=tuple(read_as_missing(cells)), cleaning=cleaning),
        Column(column.name, column.kind, codes, values, cleaning),
    )
