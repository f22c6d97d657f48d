"""Conditions on a cleaned column, said about its cells: for languages that clean nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from opdt.errors import InputError
from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule
from opdt.table import Cleaning

# Types of columns in which nothing is left to be cleaned.
_NUMBERS = ("integer", "float")
_CLEAN = {"number": _NUMBERS, "whole": _NUMBERS, "date": ("date",), "seconds": _NUMBERS}


def on_cells(rule: Rule, types: Mapping[str, str] | None = None) -> Rule:
    """The rule that covers the same rows by conditions on cells as they stand.

    Parameters
    ----------
    types : mapping of feature to type, optional
        Where it says that a column holds numbers or dates in the table to come, the column needs
        no cleaning there.

    Raises
    ------
    InputError
        Where values were read out of text, durations or parts of dates: no other language reads
        them exactly so.
    """
    if all(condition.cleaning is None for condition in rule.conditions):
        return rule
    known = types or {}
    cells = (cell for c in rule.conditions for cell in _cells(c, known.get(c.feature, "")))
    return Rule(cells, rule.label)


def _cells(condition: Condition, held: str) -> Iterator[Condition]:
    cleaning = condition.cleaning
    if cleaning is None:
        yield condition
        return
    if held in _CLEAN.get(cleaning.form, ()) and not cleaning.part:
        yield replace(condition, cleaning=_zone_of(cleaning))
        return
    if not cleaning.is_plain:
        what = {"seconds": "durations, taken in seconds", "date": "dates that were read or parted"}
        raise InputError(
            f"column {condition.feature!r} holds {what.get(cleaning.form, 'numbers in text')}, "
            "which cannot be exported exactly; use 'opdt apply' or rule.covers, or give the type "
            "that the column has where it is clean already."
        )
    if cleaning.is_idle:
        yield condition
        return
    plain = replace(condition, cleaning=_zone_of(cleaning))
    if condition.op is Op.MISSING:
        if cleaning.missing or cleaning.order:
            raise InputError(
                f"'{condition}' cannot be exported: some cells of column {condition.feature!r} "
                "mean a missing value; use 'opdt apply' or rule.covers."
            )
        yield plain
    elif condition.op is Op.PRESENT:
        yield from _present(condition, cleaning)
    elif condition.op.is_threshold and cleaning.order:
        yield from _any_of(condition, _passing(condition, cleaning))
    elif condition.op.is_threshold:
        yield plain
        yield from _none_of(condition, cleaning.missing)
    else:
        yield from _levels(condition, cleaning)


def _zone_of(cleaning: Cleaning) -> Cleaning | None:
    """What is left of a cleaning where the cells are values: the zone of instants."""
    return Cleaning(zone=cleaning.zone) if cleaning.zone else None


def _present(condition: Condition, cleaning: Cleaning) -> Iterator[Condition]:
    if cleaning.order:
        yield from _any_of(condition, cleaning.order)
        return
    yield replace(condition, cleaning=None)
    yield from _none_of(condition, cleaning.missing)


def _passing(condition: Condition, cleaning: Cleaning) -> list[Any]:
    above = condition.op is Op.GE
    return [
        level for place, level in enumerate(cleaning.order) if (place >= condition.value) is above
    ]


def _levels(condition: Condition, cleaning: Cleaning) -> Iterator[Condition]:
    """A condition on levels as one on all their spellings; merged levels are all but the kept."""
    levels = condition.value if condition.op is Op.IN else {condition.value}
    inside = condition.op is not Op.NE
    if cleaning.kept and (cleaning.other in levels):
        # All that are merged are in the set, so it is said by those that are not.
        levels = [level for level in cleaning.kept if level not in levels]
        inside = not inside
    spelt = [cell for level in levels for cell in cleaning.spellings(level)]
    if inside:
        yield from _any_of(condition, spelt)
        return
    yield Condition(condition.feature, Op.PRESENT)
    yield from _none_of(condition, (*spelt, *cleaning.missing))


def _any_of(condition: Condition, cells: Iterable[Any]) -> Iterator[Condition]:
    found = list(dict.fromkeys(cells))
    if len(found) == 1:
        yield Condition(condition.feature, Op.EQ, found[0])
    else:
        yield Condition(condition.feature, Op.IN, found)


def _none_of(condition: Condition, cells: Iterable[Any]) -> Iterator[Condition]:
    for cell in dict.fromkeys(cells):
        yield Condition(condition.feature, Op.NE, cell)
