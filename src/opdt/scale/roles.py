"""What the columns of partitions are taken for, from the counts that decide it in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.scale.driver import Driver
from opdt.scale.scanner import Parts, Task
from opdt.scale.schema import Layout, Schema
from opdt.table import Cleaning, ColumnPlan, Plan, Role
from opdt.table.decide import decide_text, id_reason, is_nameless, says_id
from opdt.table.roles import Wish
from opdt.table.survey import MAX_LEVELS, Survey

_WHY = {
    "date": (Role.DATE, "its type is a date"),
    "text": (Role.CATEGORICAL, "its type is text"),
    "null": (Role.CONSTANT, "no row has a value"),
}


def survey_pieces(
    schema: Schema,
    wishes: Mapping[str, Wish],
    declared: Mapping[str, tuple[Any, ...]],
    driver: Driver,
) -> Plan:
    """The plan of all columns, after one look at those of text and of whole numbers."""
    features = schema.features
    left = [f for f in features if f.name not in wishes or wishes[f.name].role.is_used]
    open_ones = [f for f in left if not f.labelled or f.name in wishes]  # the type of others tells
    text = tuple(f.name for f in open_ones if f.family == "text")
    whole = tuple(
        f.name for f in open_ones if f.family == "int" and not f.truth and f.name not in wishes
    )
    found: Parts = {}
    if text or whole:
        cells = {name: declared.get(name, ()) for name in text}
        found = driver.scanner.scan(_Look(text, whole, cells), driver.watch)
    plans = []
    for layout in features:
        name = layout.name
        if name in text:
            survey = Survey.from_bytes(found[f"text {name}"].tobytes())
            plans.append(decide_text(name, survey, wishes.get(name)))
        else:
            plans.append(_typed(layout, wishes.get(name), declared.get(name, ()), found))
    if not any(plan.is_used or plan.role is Role.CONSTANT for plan in plans):
        first = plans[0]
        raise InputError(
            f"no column is left to make rules of: {first.name!r} is not used, as its role is "
            f"{str(first.role)!r} ({first.why}); give it another one in 'roles'."
        )
    return Plan(tuple(plans))


def _typed(
    layout: Layout, wish: Wish | None, declared: tuple[Any, ...], found: Parts
) -> ColumnPlan:
    """The plan of a column whose type says what it holds, or whose role is asked for."""
    name = layout.name
    role, why = _WHY.get(layout.family, (Role.NUMERIC, "its type is a number"))
    role, why = (Role.YES_NO, "its type is true or false") if layout.truth else (role, why)
    if layout.labelled:
        role, why = Role.CATEGORICAL, "its type is a category"
    reason = _keys(name, found) if wish is None and f"runs {name}" in found else None
    if reason is not None:
        return ColumnPlan(name, Role.ID, reason)
    numbers = tuple(c for c in declared if isinstance(c, int | float))
    clean = Cleaning(missing=numbers if layout.family in ("int", "float") else ())
    changes = [f"{', '.join(map(repr, clean.missing))} read as missing"] if clean.missing else []
    if wish is not None:
        role, why = wish.role, "asked for"
        if wish.part and layout.family == "date":
            clean = replace(clean, form="date", part=wish.part)
            changes.append(f"the {wish.part} of the date is taken")
        elif role is Role.DATE and layout.family != "date":
            raise InputError(f"column {name!r} cannot be 'date': it holds no dates but numbers.")
        elif wish.most or wish.order:
            raise InputError(f"roles[{name!r}] is for columns of text; take it as 'categorical'.")
    plain = clean == Cleaning()
    return ColumnPlan(name, role, why, tuple(changes), cleaning=None if plain else clean)


def _keys(name: str, found: Parts) -> str | None:
    """Why a column of whole numbers names its rows; None if it does not."""
    runs = found[f"runs {name}"]
    present = int(found[f"present {name}"][0])
    rows = int(found[f"rows {name}"][0])
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    numbered = (
        present == rows
        and len(runs) > 0
        and bool(runs[:, 3].all())
        and int(runs[0, 1]) in (0, 1)
        and bool((runs[1:, 1] == runs[:-1, 2] + 1).all())
    )
    return id_reason(name, present, len(found[f"values {name}"]), numbered=numbered)


@dataclass(frozen=True)
class _Look(Task):
    """Counts of the cells of text, and whether whole numbers number the rows."""

    text: tuple[str, ...]
    whole: tuple[str, ...]
    declared: Mapping[str, tuple[Any, ...]]

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are looked at."""
        return (*self.text, *self.whole)

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """The counts of one partition."""
        surveys = {name: Survey() for name in self.text}
        keys = {name: _Keys(place, says_id(name) or is_nameless(name)) for name in self.whole}
        for table in batches:
            for name in self.text:
                surveys[name] += _counted(table.column(name), self.declared[name])
            for name in self.whole:
                keys[name].add(table.column(name))
            if not self.text and not any(each.is_open for each in keys.values()):
                break  # nothing can number rows any more
        parts: Parts = {
            f"text {name}": np.frombuffer(survey.to_bytes(), np.uint8)
            for name, survey in surveys.items()
        }
        for name, each in keys.items():
            parts |= each.parts(name)
        return parts

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Counts add up, runs stand side by side, different values are united."""
        out: Parts = {}
        for name in self.text:
            first, second = (
                Survey.from_bytes(each[f"text {name}"].tobytes()) for each in (one, two)
            )
            out[f"text {name}"] = np.frombuffer((first + second).to_bytes(), np.uint8)
        for name in self.whole:
            for what in ("rows", "present"):
                out[f"{what} {name}"] = one[f"{what} {name}"] + two[f"{what} {name}"]
            key = f"values {name}"
            out[key] = np.union1d(one[key], two[key])[: MAX_LEVELS + 1]
            key = f"runs {name}"
            out[key] = np.concatenate([one[key], two[key]])
        return out


class _Keys:
    """Whether the whole numbers of a partition go up by one from row to row."""

    def __init__(self, place: int, named: bool) -> None:
        self._place, self._named = place, named
        self._first = self._last = 0
        self._rows = self._present = 0
        self._runs = True
        self._values: NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def is_open(self) -> bool:
        """Whether further rows may matter."""
        return self._runs or (self._named and len(self._values) <= MAX_LEVELS)

    def add(self, column: pa.ChunkedArray) -> None:
        """Look at further rows."""
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        start = self._rows == 0
        self._rows += len(column)
        self._present += len(column) - column.null_count
        if not self.is_open or not len(column):
            return
        values = pc.drop_null(column).cast(pa.int64(), safe=False).to_numpy()
        if column.null_count:
            self._runs = False
        elif self._runs:
            follows = start or int(values[0]) == self._last + 1
            self._runs = follows and bool((np.diff(values) == 1).all())
            self._first = int(values[0]) if start else self._first
            self._last = int(values[-1])
        if self._named and len(self._values) <= MAX_LEVELS:
            self._values = np.union1d(self._values, values)[: MAX_LEVELS + 1]

    def parts(self, name: str) -> Parts:
        """What is known of the column, to be added up."""
        run = [[self._place, self._first, self._last, int(self._runs)]] if self._rows else []
        return {
            f"rows {name}": np.array([self._rows]),
            f"present {name}": np.array([self._present]),
            f"runs {name}": np.array(run, np.int64).reshape(-1, 4),
            f"values {name}": self._values,
        }


def _counted(column: pa.ChunkedArray, declared: tuple[Any, ...]) -> Survey:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found = pc.value_counts(column.combine_chunks())
    counts = dict(
        zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)
    )
    absent = counts.pop(None, 0)
    return Survey.of_counts(counts, absent, declared)
