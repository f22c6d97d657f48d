"""What the columns of partitions are taken for, from the counts that decide it in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.scale.driver import Driver
from opdt.scale.scanner import Parts, Scanner, ScanTask
from opdt.scale.schema import Layout, Schema
from opdt.table import Column, ColumnPlan, Kind, Plan, Role
from opdt.table.columns import code_values
from opdt.table.decide import check_constant, decide_text, id_reason, is_nameless, says_id
from opdt.table.frames import from_values
from opdt.table.labels import code_labels
from opdt.table.leaks import MOST_COLUMNS, leak_of
from opdt.table.roles import NotUsed, Unread, Wish
from opdt.table.survey import MAX_LEVELS, Survey
from opdt.table.typed import decide_typed, needs_cells


def survey_pieces(
    schema: Schema,
    wishes: Mapping[str, Wish],
    declared: Mapping[str, tuple[Any, ...]],
    driver: Driver,
) -> Plan:
    """The plan of all columns, after one look at those of text and of whole numbers."""
    features = schema.features
    open_ones = [f for f in features if f.name not in wishes or wishes[f.name].role.is_used]
    by_cells = [f for f in open_ones if needs_cells(f.held.sort, wishes.get(f.name))]
    text = tuple(f.name for f in by_cells if f.family == "text")
    typed = [f for f in open_ones if f.name not in text and f.family in ("int", "float")]
    whole = [f for f in typed if f.held.sort == "number" and f.name not in wishes]
    look = _Look(
        text,
        tuple(f.name for f in whole if f.family == "int"),
        {name: declared.get(name, ()) for name in text},
        {f.name: _numbers(declared.get(f.name, ())) for f in typed if declared.get(f.name)},
    )
    found = driver.scanner.scan(look, driver.watch) if look.columns else {}
    plans = [_planned(f, wishes.get(f.name), look, found) for f in features]
    if not any(plan.is_used or plan.role is Role.CONSTANT for plan in plans):
        raise NotUsed(plans[0], "no column is left to make rules of: ")
    return Plan(tuple(plans))


def settle(plan: Plan, schema: Schema, summary: Parts, scanner: Scanner) -> Plan:
    """The plan with what the first pass tells.

    Columns of one value, those that tell the class alone, and cells that cannot be read.
    """
    known = {column.name: column for column in plan}
    for f, layout in enumerate(schema.features):
        if f in schema.idle:
            continue
        column, absent = known[layout.name], bool(summary["absent"][f])
        is_text = layout.kind is Kind.CATEGORICAL
        values = summary[f"levels{f}" if is_text else f"values{f}"]
        column = check_constant(column, len(values), has_missing=absent)
        bad = summary.get(f"unread{f}")
        if bad is not None and len(bad):
            column = replace(column, unread=_unread(column, bad.to_pylist()[0], scanner))
        known[layout.name] = column
    # classes that are known before a row is read are made of numbers, which a column may follow
    for name, leak in () if scanner.classes else _leaks(schema, summary):
        known[name] = replace(known[name], warnings=(*known[name].warnings, leak))
    return Plan(tuple(known.values()))


def _unread(plan: ColumnPlan, bad: Mapping[str, Any], scanner: Scanner) -> Unread:
    """Cells that cannot be read, with the line of the first where the rows lie in text files."""
    what = "number" if plan.unread is None else plan.unread.what
    cell, row = bad["cell"], bad["row"]
    found = scanner.line_of(bad["place"], row, plan.name, cell)
    if found is None:
        return Unread(bad["count"], what, cell)
    line, file = found
    return Unread(bad["count"], what, cell, row if line is None else None, line, file)


def _leaks(schema: Schema, summary: Parts) -> Iterator[tuple[str, str]]:
    """The columns that alone tell the class of the sampled rows, and what is to be said."""
    sample, total = summary.get("sample"), int(summary["rows"][0])
    if sample is None or len(schema.features) > MOST_COLUMNS:
        return
    try:
        raw = from_values(sample.column(schema.target.name), "y")
        labels, classes = code_labels(raw)
    except InputError:  # of one class only, or no labels: the search will tell
        return
    for layout in schema.features:
        cells = from_values(sample.column(layout.name), f"column {layout.name!r}")
        column = Column(layout.name, layout.kind, *code_values(cells, layout.kind, layout.name))
        leak = leak_of(column, labels, len(classes), total)
        if leak is not None:
            yield layout.name, leak


def _planned(layout: Layout, wish: Wish | None, look: _Look, found: Parts) -> ColumnPlan:
    name = layout.name
    if wish is not None and wish.known is not None:
        return wish.known
    if name in look.text:
        survey = Survey.from_bytes(found[f"text {name}"].tobytes())
        return decide_text(name, survey, wish, numbered=_numbered(name, found))
    if name in look.whole:
        reason = _keys(name, found)
        if reason is not None:
            return ColumnPlan(name, Role.ID, reason)
    counts = found[f"gone {name}"].tolist() if name in look.numbers else ()
    gone = {c: n for c, n in zip(look.numbers.get(name, ()), counts, strict=True) if n}
    return decide_typed(name, layout.held, wish, gone)


def _numbers(cells: Iterable[Any]) -> tuple[float, ...]:
    return tuple(c for c in cells if isinstance(c, int | float))


def _keys(name: str, found: Parts) -> str | None:
    """Why a column of whole numbers names its rows; None if it does not."""
    present, n_values = int(found[f"present {name}"][0]), len(found[f"values {name}"])
    return id_reason(name, present, n_values, numbered=_numbered(name, found))


def _numbered(name: str, found: Parts) -> bool:
    """Whether the rows of each partition are numbered, and the partitions go on from each other.

    Their own order does not count: Spark numbers those of files by size.
    """
    runs = found[f"runs {name}"]
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    return (
        bool((found[f"present {name}"] == found[f"rows {name}"]).all())
        and len(runs) > 0
        and bool(runs[:, 2].all())
        and int(runs[0, 0]) in (0, 1)
        and bool((runs[1:, 0] == runs[:-1, 1] + 1).all())
    )


@dataclass(frozen=True)
class _Look(ScanTask):
    """Counts of the cells of text, whether whole numbers number the rows, and declared cells.

    `declared` are cells of text that mean no value, `numbers` those of columns of numbers.
    """

    text: tuple[str, ...]
    whole: tuple[str, ...]
    declared: Mapping[str, tuple[Any, ...]]
    numbers: Mapping[str, tuple[float, ...]]

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that are looked at."""
        return tuple(dict.fromkeys((*self.text, *self.whole, *self.numbers)))

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """The counts of one partition."""
        surveys = {name: Survey() for name in self.text}
        keys = {name: _Keys(says_id(name) or is_nameless(name)) for name in self.whole}
        keys |= {name: _Keys(named=False) for name in self.text}  # their levels are counted
        gone = {name: np.zeros(len(cells), np.int64) for name, cells in self.numbers.items()}
        for table in batches:
            for name in self.text:
                surveys[name] += _counted(table.column(name), self.declared[name])
            for name, each in keys.items():
                each.add(table.column(name))
            for name, cells in self.numbers.items():
                gone[name] += _rows_of(table.column(name), cells)
            if not (self.text or gone or any(each.is_open for each in keys.values())):
                break  # nothing can number rows any more
        parts: Parts = {
            f"text {name}": np.frombuffer(survey.to_bytes(), np.uint8)
            for name, survey in surveys.items()
        }
        for name, each in keys.items():
            parts |= each.parts(name)
        return parts | {f"gone {name}": counts for name, counts in gone.items()}

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Counts add up, runs stand side by side, different values are united."""
        out: Parts = {}
        for name in self.text:
            first, second = (
                Survey.from_bytes(each[f"text {name}"].tobytes()) for each in (one, two)
            )
            out[f"text {name}"] = np.frombuffer((first + second).to_bytes(), np.uint8)
        for name in self.numbers:
            out[f"gone {name}"] = one[f"gone {name}"] + two[f"gone {name}"]
        for name in (*self.whole, *self.text):
            for what in ("rows", "present"):
                out[f"{what} {name}"] = one[f"{what} {name}"] + two[f"{what} {name}"]
            key = f"values {name}"
            out[key] = np.union1d(one[key], two[key])[: MAX_LEVELS + 1]
            key = f"runs {name}"
            out[key] = np.concatenate([one[key], two[key]])
        return out


class _Keys:
    """Whether the whole numbers of a partition go up by one from row to row."""

    def __init__(self, named: bool) -> None:
        self._named = named
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
        start = self._rows == 0
        self._rows += len(column)
        self._present += len(column) - column.null_count
        if not self.is_open or not len(column):
            return
        if pa.types.is_dictionary(column.type):
            if not self._named and any(len(c.dictionary) < len(c) for c in column.chunks):
                self._runs = False  # some cells are the same
                return
            column = column.cast(column.type.value_type)
        try:
            values = pc.drop_null(column).cast(pa.int64(), safe=False).to_numpy()
        except pa.ArrowInvalid:  # text that is no whole number
            self._runs = False
            return
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
        run = [[self._first, self._last, int(self._runs)]] if self._rows else []
        return {
            f"rows {name}": np.array([self._rows]),
            f"present {name}": np.array([self._present]),
            f"runs {name}": np.array(run, np.int64).reshape(-1, 3),
            f"values {name}": self._values,
        }


def _rows_of(column: pa.ChunkedArray, cells: tuple[float, ...]) -> NDArray[np.int64]:
    """The rows of each of some numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values = pc.drop_null(column).to_numpy()
    return np.array([int((values == cell).sum()) for cell in cells], np.int64)


def _counted(column: pa.ChunkedArray, declared: tuple[Any, ...]) -> Survey:
    found = pc.value_counts(column)  # coded columns are not written out
    counts: Counter[Any] = Counter()
    for cell, count in zip(
        found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True
    ):
        counts[cell] += count  # a coded cell may come more than once
    absent = counts.pop(None, 0)
    return Survey.of_counts(counts, absent, declared)
