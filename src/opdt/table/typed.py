"""The role of a column whose type says what it holds: one place for memory and pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from opdt.errors import InputError
from opdt.table.cleaning import Cleaning
from opdt.table.decide import no_order, ordered_plan, read_as_missing
from opdt.table.roles import ASKED, ColumnPlan, Role, Wish

_NATURAL = {
    "number": (Role.NUMERIC, "its type is a number"),
    "date": (Role.DATE, "its type is a date"),
    "truth": (Role.YES_NO, "its type is true or false"),
    "text": (Role.CATEGORICAL, "its type is text"),
    "category": (Role.CATEGORICAL, "its type is a category"),
    "nothing": (Role.CONSTANT, "no row has a value"),
}
_OF_NUMPY = {"M": "date", "b": "truth", "O": "text"}


class Held(NamedTuple):
    """What the type of a column says.

    Attributes
    ----------
    sort : {"number", "date", "truth", "text", "category", "nothing"}
    order : tuple of levels
        From the lowest to the highest, where the type has an order.
    is_duration : bool
        Whether the numbers are durations, in seconds.
    zone : str
        "UTC" where dates are instants.
    """

    sort: str
    order: tuple[Any, ...] = ()
    is_duration: bool = False
    zone: str = ""


def sort_of(kind: str) -> str:
    """What the values of a NumPy type of this kind are."""
    return _OF_NUMPY.get(kind, "number")


def needs_cells(sort: str, wish: Wish | None, *, named: bool = True) -> bool:
    """Whether the cells of a column of text decide, rather than its type.

    Parameters
    ----------
    named : bool
        Whether somebody has given the names; text in plain arrays is taken as levels.
    """
    if wish is None:
        return sort == "text" and named
    by_type = wish.role is Role.ORDERED and not wish.order  # the type may have an order
    return sort == "text" or (sort == "category" and not by_type)


def decide_typed(
    name: str, held: Held, wish: Wish | None = None, gone: Mapping[Any, int] | None = None
) -> ColumnPlan:
    """The plan of a column whose type says what it holds, or whose role is asked for.

    Parameters
    ----------
    gone : mapping of cell to rows
        The cells that occur and that the user says are missing.
    """
    cells = {_whole(cell): rows for cell, rows in (gone or {}).items()}
    role, why = _NATURAL[held.sort]
    if wish is not None:
        _check(name, held, wish)
        role, why = wish.role, ASKED
    order = held.order if wish is None else wish.order or held.order
    if order and (wish is None or role is Role.ORDERED):
        return ordered_plan(name, order, why if wish else "its type has an order", tuple(cells))
    cleaning, changes = Cleaning(missing=tuple(cells), zone=held.zone), read_as_missing(cells)
    if held.is_duration:
        cleaning = replace(cleaning, form="seconds")
        changes.append("durations are taken in seconds")
    if held.sort == "date" and wish is not None and wish.part:
        cleaning = replace(cleaning, form="date", part=wish.part)
        changes.append(f"the {wish.part} of the date is taken")
    plain = cleaning == Cleaning()
    return ColumnPlan(name, role, why, tuple(changes), cleaning=None if plain else cleaning)


def _check(name: str, held: Held, wish: Wish) -> None:
    """Refuse a role that a column of this type cannot have."""
    is_value = held.sort in ("number", "date", "truth")
    if wish.role is Role.ORDERED and not (wish.order or held.order):
        raise no_order(name)
    if wish.role is Role.DATE and is_value and held.sort != "date":
        raise InputError(f"column {name!r} cannot be 'date': it holds no dates but numbers.")
    if is_value and wish.most:
        raise InputError(
            f"roles[{name!r}] keeps the most frequent levels of text only; take the column as "
            "'categorical'."
        )
    if is_value and wish.order:
        raise InputError(
            f"roles[{name!r}] orders levels of text, and the column holds none; take it as "
            "'numeric' or 'categorical'."
        )


def _whole(cell: Any) -> Any:
    """A number without a fraction as a whole one, so that it reads the same everywhere."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
