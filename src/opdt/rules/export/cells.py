"""Conditions on a cleaned column, said about its cells: for languages that clean nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opdt.errors import InputError
from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule
from opdt.table import Reading


def on_cells(rule: Rule) -> Rule:
    """The rule that covers the same rows by conditions on cells as they stand.

    Raises
    ------
    InputError
        Where values were read out of text, durations or parts of dates: no other language reads
        them exactly so.
    """
    if all(condition.reading is None for condition in rule.conditions):
        return rule
    return Rule([cell for c in rule.conditions for cell in _cells(c)], rule.label)


def _cells(condition: Condition) -> Iterator[Condition]:
    reading = condition.reading
    if reading is None:
        yield condition
        return
    if not reading.is_plain:
        held = {"seconds": "durations, taken in seconds", "date": "dates that were read or parted"}
        raise InputError(
            f"column {condition.feature!r} holds {held.get(reading.form, 'numbers in text')}, which "
            "cannot be exported exactly; use 'opdt apply' or rule.covers, or clean the column "
            "before the search."
        )
    plain = replace(condition, reading=None)
    if condition.op is Op.MISSING:
        if reading.missing or reading.order:
            raise InputError(
                f"'{condition}' cannot be exported: some cells of column {condition.feature!r} "
                "mean a missing value; use 'opdt apply' or rule.covers."
            )
        yield plain
    elif condition.op is Op.PRESENT:
        yield from _present(condition, reading)
    elif condition.op.is_threshold and reading.order:
        yield from _any_of(condition, _passing(condition, reading))
    elif condition.op.is_threshold:
        yield plain
        yield from _none_of(condition, reading.missing)
    else:
        yield from _levels(condition, reading)


def _present(condition: Condition, reading: Reading) -> Iterator[Condition]:
    if reading.order:
        yield from _any_of(condition, reading.order)
        return
    yield replace(condition, reading=None)
    yield from _none_of(condition, reading.missing)


def _passing(condition: Condition, reading: Reading) -> list[object]:
    above = condition.op is Op.GE
    return [
        level for place, level in enumerate(reading.order) if (place >= condition.value) is above
    ]


def _levels(condition: Condition, reading: Reading) -> Iterator[Condition]:
    """A condition on levels as one on all their spellings; merged levels are all but the kept."""
    levels = condition.value if condition.op is Op.IN else {condition.value}
    inside = condition.op is not Op.NE
    if reading.kept and (reading.other in levels):
        # All that are merged are in the set, so it is said by those that are not.
        levels = [level for level in reading.kept if level not in levels]
        inside = not inside
    spelt = [cell for level in levels for cell in reading.spellings(level)]
    if inside:
        yield from _any_of(condition, spelt)
        return
    yield Condition(condition.feature, Op.PRESENT)
    yield from _none_of(condition, (*spelt, *reading.missing))


def _any_of(condition: Condition, cells: object) -> Iterator[Condition]:
    found = list(dict.fromkeys(cells))  # type: ignore[call-overload]
    if len(found) == 1:
        yield Condition(condition.feature, Op.EQ, found[0])
    else:
        yield Condition(condition.feature, Op.IN, found)


def _none_of(condition: Condition, cells: object) -> Iterator[Condition]:
    for cell in dict.fromkeys(cells):  # type: ignore[call-overload]
        yield Condition(condition.feature, Op.NE, cell)
