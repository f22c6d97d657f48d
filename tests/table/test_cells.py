"""What cells mean: against an independent reading of one cell after the other."""

from __future__ import annotations

import datetime as dt
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opdt.errors import InputError, OpdtWarning
from opdt.scale.local import LocalScanner
from opdt.table import cells as cells_module
from opdt.table import read_frame
from opdt.table.cells import (
    ANY,
    Reading,
    cell_readings,
    column_of,
    convert,
    readings,
    settled,
    type_of,
)

CELLS = [
    "", " ", "NA", " null", "5", " 5", "5 ", "\t7", "+5", "-5", "--5", "007", "0x10", "1_000",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616",
    "1" * 400, "1.5", ".5", "5.", "+.5", ".", "1e5", "1E-3", "1e", "1e400", "1,5", "Infinity",
    "-inf", "NAN", "-nan", "nan(1)", "infin", "true", "FALSE", "True ", "yes", "x", " x", "５",
    "2024-02-29", "2023-02-29", "0000-01-01", "2024-2-9", "2024-01-01 10:00", "2024-01-01T10:00:00",
    "2024-01-01 10", "2024-01-01 10:00:00.123456", "2024-01-01 10:00:00.1234567",
    "2024-01-01 24:00", "2024-01-01 10:60", "2024-01-01T10:00Z", "2024-01-01T10:00:00+01:30",
    "2024-01-01 10:00+15:00", "2024-01-01Z", "10:00:00", "20240101", "03/04/2024", "31/12/2024",
    "12/31/2024", "30/02/2024", "3/4/2024 9:05", "3.4.2024", "03-04-2024", "03/04.2024",
    "03/04/24", "31/12/2024 23:59:59.5", "a,b", 'say "no"', "line\nend", "é", "null ", "^a.*$",
]  # fmt: skip
NASTY = st.one_of(
    st.sampled_from(CELLS),
    st.text(st.sampled_from(" \t\"',;+-.0123456789/:eEinfTZxXaN\n\r"), max_size=6),
)


def naive_number(text: str) -> float | None:
    """What Python makes of a number, less what only Python knows."""
    if not text.isascii() or "_" in text or any(letter in text for letter in "\n\r\v\f\x1c"):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def naive_column(cells: list[str | None]) -> tuple[str, list[Any]]:
    """The type of a column and its values, by Python's own parsers."""
    present = [c.strip(" \t") if c is not None else "" for c in cells]
    gone = [c in ("", "NA", "N/A", "NaN", "nan", "null", "NULL") for c in present]
    kept = [c for c, none in zip(present, gone, strict=True) if not none]

    def spread(values: list[Any]) -> list[Any]:
        rest = iter(values)
        return [None if none else next(rest) for none in gone]

    if not kept:
        return "null", spread([])
    if any(re.fullmatch("[+-]?0[0-9]+", c) for c in kept):  # a code, such as 007
        return "other", []
    if all(
        c.lstrip("+-").isdecimal() and c.isascii() and len(c.lstrip("+-")) > len(c) - 2
        for c in kept
    ):
        values = [int(c) if len(c) < 300 else 10**300 for c in kept]
        if all(-(2**63) <= v < 2**63 for v in values):
            return "int64", spread(values)
        return "string", [None if none else c for c, none in zip(cells, gone, strict=True)]
    numbers = [naive_number(c) for c in kept]
    if None not in numbers:
        return "double", spread(numbers)
    if all(c.lower() in ("true", "false") for c in kept):
        return "bool", spread([c.lower() == "true" for c in kept])
    return "other", []


@given(st.lists(st.one_of(NASTY, st.none()), max_size=6))
@example(["5", " 5", "+5"])
@example(["0x10", "1"])
@example(["9223372036854775808", "1"])
def test_numbers_and_truth_values_are_those_of_python(cells: list[str | None]) -> None:
    column = column_of(cells)
    form = settled(readings(column))
    name, values = naive_column(cells)
    if name == "other":
        assert str(type_of(form)) not in ("int64", "double", "bool", "null")
        return
    assert str(type_of(form)) == name
    got = convert(column, form).to_pylist()
    assert [repr(v) for v in got] == [repr(v) for v in values]


@given(st.lists(st.one_of(NASTY, st.none()), max_size=8))
def test_a_column_has_the_readings_that_its_cells_share(cells: list[str | None]) -> None:
    column = column_of(cells)
    shared = ANY
    for cell in cells:
        shared &= ANY if cell is None else cell_readings(cell)
    assert readings(column) == shared
    halves = [column_of(part) for part in (cells[:3], cells[3:])]
    assert readings(halves[0]) & readings(halves[1]) == shared
    assert convert(column, settled(shared)).type == type_of(settled(shared))


# Cells of one family, among which one of another stands now and then.
FAMILIES = [
    ["5", "-5", "0", "-0", "12", "+7", "00", "-00", "007", "-07", "0x1", "-0x1", "9" * 20, " 5"],
    ["0.5", "-0.5", "0", "00.5", "-00.5", "1e3", "5.", "3", "nan(1)", "NAN", "007", "-inf", "1,5"],
    ["2024-02-29", "2024-02-29 10:00", "2024-02-29 10", "2023-02-29", " 2024-02-28", "NA"],
    ["31/12/2024", "01/02/2024", "1/2/2024", "12/31/2024", "3/4/2024 9:05", "30/2/2024", "1.2.24"],
    ["2024-01-01T10:00Z", "2024-01-01T10:00+01:30", "2024-01-01T10:00", "2024-01-01T10:00+15:00"],
    ["true", "False", "TRUE ", "0", "yes"],
]  # fmt: skip


@given(st.data(), st.sampled_from(FAMILIES), st.sampled_from([None, "dmy", "mdy"]))
@example(None, ["5", "-5", "007"], None)
@example(None, ["5", "-07"], None)
@example(None, ["5", "0x1"], None)
@example(None, ["0.5", "nan(1)"], None)
def test_columns_read_whole_are_read_as_cell_after_cell(
    data: st.DataObject | None, family: list[str], order: str | None
) -> None:
    cells: list[str | None] = list(family)
    if data is not None:
        some = st.lists(st.sampled_from([*family, None, "x"]), min_size=2, max_size=8)
        cells = [family[0], *data.draw(some)]
    shared = ANY
    for cell in cells:
        shared &= ANY if cell is None else cell_readings(cell)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "_FEW", 1)  # all others are not looked at one by one
        column = pa.chunked_array([*column_of(cells[:3]).chunks, *column_of(cells[3:]).chunks])
        found, values = cells_module.read(column, order=order)
        assert readings(column) == found
    assert _told(found) == _told(shared)
    form = settled(found, order)
    assert values.type == type_of(form)
    assert repr(values.to_pylist()) == repr(convert(column, form).to_pylist())


def _told(found: Reading) -> Reading:
    """What readings decide: how the column is settled, whatever the order."""
    return found if not found.is_text else Reading(0)


@pytest.mark.parametrize(
    ("cells", "order", "expected"),
    [
        (["31/12/2024", "01/02/2024"], None, [dt.date(2024, 12, 31), dt.date(2024, 2, 1)]),
        (["12/31/2024", "1.2.2024"], None, [dt.date(2024, 12, 31), dt.date(2024, 1, 2)]),
        (["03/04/2024", None], "dmy", [dt.date(2024, 4, 3), None]),
        (["03/04/2024", " NA"], "mdy", [dt.date(2024, 3, 4), None]),
        (["3/4/2024 9:05", "13/4/2024"], None,
         [dt.datetime(2024, 4, 3, 9, 5), dt.datetime(2024, 4, 13)]),
        (["03/04/2024"], None, ["03/04/2024"]),
        (["03.04.2024"], None, [dt.date(2024, 4, 3)]),
        (["03.04.2024"], "mdy", [dt.date(2024, 3, 4)]),
        (["03.04.2024", "12.31.2024"], None, [dt.date(2024, 3, 4), dt.date(2024, 12, 31)]),
        (["03.04.2024", "03/04/2024"], None, ["03.04.2024", "03/04/2024"]),
        (["31/12/2024", "12/31/2024"], None, ["31/12/2024", "12/31/2024"]),
        (["31/12/2024"], "mdy", ["31/12/2024"]),
        (["30/02/2024"], "dmy", ["30/02/2024"]),
        (["2024-01-31", "31/01/2024"], None, ["2024-01-31", "31/01/2024"]),
        (["2024-02-29", "2024-02-29 10:30"], None,
         [dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 10, 30)]),
        (["2024-01-01T10:00+01:00"], None, [dt.datetime(2024, 1, 1, 9, tzinfo=dt.UTC)]),
    ],
)  # fmt: skip
def test_dates_are_read_where_their_order_is_known(
    cells: list[str | None], order: str | None, expected: list[Any]
) -> None:
    column = column_of(cells)
    assert convert(column, settled(readings(column), order)).to_pylist() == expected


@given(
    st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    st.sampled_from(["{d}/{m:02}/{y:04}", "{m}-{d:02}-{y:04}", "{d:02}.{m}.{y:04}"]),
)
def test_any_date_with_a_late_day_is_read_as_python_writes_it(day: dt.date, form: str) -> None:
    late = dt.date(2024, 5, 31)
    cells = [form.format(d=each.day, m=each.month, y=each.year) for each in (day, late)]
    column = column_of(cells)
    assert convert(column, settled(readings(column))).to_pylist() == [day, late]


# -- in memory and in pieces ---------------------------------------------------------------------


def written(rows: list[list[str]], quoted: list[bool]) -> str:
    def cell(text: str, marks: bool) -> str:
        if marks or any(letter in text for letter in '",\n\r') or text == "":
            return '"' + text.replace('"', '""') + '"'
        return text

    return "".join(
        ",".join(cell(text, marks) for text in row) + "\n"
        for row, marks in zip(rows, quoted, strict=True)
    )


@given(st.data())
def test_a_file_is_the_same_table_in_memory_and_in_pieces(data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.lists(NASTY, min_size=3, max_size=3), min_size=1, max_size=8), label="rows"
    )
    quoted = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=2).map(sorted), label="cuts")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)
        whole = Path(folder) / "whole.csv"
        whole.write_text("a,b,c\n" + written(rows, quoted), encoding="utf-8", newline="")
        table = read_frame(whole, separator=",", decimal=".")
        parts = Path(folder) / "parts"
        parts.mkdir()
        for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
            text = "a,b,c\n" + written(rows[start:stop], quoted[start:stop])
            (parts / f"{i}.csv").write_text(text, encoding="utf-8", newline="")
        for source in (whole, parts):
            scanner = LocalScanner(source, 2, separator=",", decimal=".")
            assert {s.schema for s in scanner.sources()} == {table.schema}
            pieces = [
                batch
                for part in scanner.parts(["a", "b", "c"])
                for batch in part.fragment.batches(["a", "b", "c"], 2)
            ]
            together = pa.Table.from_batches(pieces, table.schema)
            assert repr(together.to_pylist()) == repr(table.to_pylist())


def test_a_late_cell_decides_as_an_early_one(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("a,b,c\n" + "1,2,2024-01-01\n" * 300_000 + "x,2.5,2024-01-01 10:00\n")
    expected = ["string", "double", "timestamp[us]"]
    assert [str(t) for t in read_frame(path).schema.types] == expected
    assert [str(t) for t in LocalScanner(path).sources()[0].schema.types] == expected


@pytest.mark.parametrize("cells", ["03/04/2024", "31/12/2024\n12/31/2024"])
def test_dates_of_unknown_order_stay_text_with_a_warning(tmp_path: Path, cells: str) -> None:
    path = tmp_path / "dates.csv"
    path.write_text(f"day\n{cells}\n")
    for read in (read_frame, lambda path: LocalScanner(path).sources()):
        with pytest.warns(
            OpdtWarning,
            match=r"column 'day' of '.*dates\.csv' holds dates .*; it stays text\. Name",
        ):
            read(path)
    with pytest.raises(InputError, match=r"'date_order' must be 'dmy' or 'mdy', got 'ymd'"):
        read_frame(path, date_order="ymd")
    with pytest.raises(InputError, match=r"'date_order' must be 'dmy' or 'mdy'"):
        LocalScanner(path, date_order="x").sources()


def test_the_order_of_dates_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "dates.csv"
    path.write_text("day\n03/04/2024\n")
    assert read_frame(path, date_order="dmy")["day"].to_pylist() == [dt.date(2024, 4, 3)]
    scanner = LocalScanner(path, date_order="mdy")
    (part,) = scanner.parts(["day"])
    (batch,) = part.fragment.batches(["day"], 9)
    assert batch["day"].to_pylist() == [dt.date(2024, 3, 4)]
