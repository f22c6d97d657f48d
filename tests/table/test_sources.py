"""Workbooks, databases and addresses: what is read, and that nothing is written."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import http.server
import importlib
import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opdt
from opdt.errors import EngineUnavailable, InputError, MemoryLimit, OpdtWarning
from opdt.scale.lazy import covered_rows
from opdt.table import read_frame

ROWS = [("age", "town", "day", "y"), (25, "Köln", "2024-01-31", "no"), (None, "Ulm", None, "yes"),
        (47, "Köln", "2024-02-29", "yes"), (52, None, "2024-02-01", "yes")]  # fmt: skip
AS_READ = {
    "age": [25, None, 47, 52],
    "town": ["Köln", "Ulm", "Köln", None],
    "day": [dt.date(2024, 1, 31), None, dt.date(2024, 2, 29), dt.date(2024, 2, 1)],
    "y": ["no", "yes", "yes", "yes"],
}


def as_csv() -> str:
    return "".join(",".join("" if c is None else str(c) for c in row) + "\n" for row in ROWS)


def without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an installed package look absent."""

    def absent(name: str) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return importlib.import_module(name)

    monkeypatch.setattr("opdt.optional.import_module", absent)


# -- workbooks -----------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path: Path) -> str:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    path = str(tmp_path / "book.xlsx")
    with xlsxwriter.Workbook(path) as file:
        day = file.add_format({"num_format": "yyyy-mm-dd"})
        sheet = file.add_worksheet("patients")
        for r, row in enumerate(ROWS):
            for c, cell in enumerate(row):
                if r and c == 2 and cell is not None:
                    sheet.write_datetime(r, c, dt.datetime.fromisoformat(cell), day)
                elif cell is not None:
                    sheet.write(r, c, cell)
        other = file.add_worksheet("other")
        cells = [["x", 2024, "when", "ok"], [1.5, "NA", dt.datetime(2024, 1, 1, 10, 30), True]]
        for r, cells_of_row in enumerate(cells):
            for c, cell in enumerate(cells_of_row):
                other.write(r, c, cell, *([day] if isinstance(cell, dt.datetime) else []))
        file.add_worksheet("none")
    return path


def test_a_sheet_is_read_as_the_csv_of_it_would_be(book: str) -> None:
    frame = read_frame(book)
    assert frame.to_pydict() == AS_READ
    assert str(frame.schema.field("age").type) == "int64"


def test_another_sheet_can_be_named(book: str) -> None:
    frame = read_frame(f"{book}::other")
    moment = dt.datetime(2024, 1, 1, 10, 30)
    assert frame.to_pydict() == {"x": [1.5], "2024": [None], "when": [moment], "ok": [True]}


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ("gone", r"there is no sheet 'gone' in '.*book\.xlsx'; it has 'patients', 'other', 'none'"),
        ("none", r"the sheet 'none' of '.*book\.xlsx' is empty"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_named(book: str, sheet: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_frame(f"{book}::{sheet}")


def test_a_workbook_is_bounded_before_it_is_unpacked(
    book: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opdt.table.workbooks.readable", lambda: 1000)
    with pytest.raises(MemoryLimit, match=r"reading '.*book\.xlsx' needs more than"):
        read_frame(book)


def test_a_broken_workbook_is_named(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    (tmp_path / "bad.xlsx").write_bytes(b"no workbook")
    with pytest.raises(InputError, match=r"cannot read '.*bad\.xlsx' as xlsx: ") as caught:
        read_frame(tmp_path / "bad.xlsx")
    assert "\n" not in str(caught.value)


def test_without_calamine_the_extra_is_named(book: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without("python_calamine", monkeypatch)
    with pytest.raises(EngineUnavailable, match=r"book\.xlsx' needs .*'opdt\[excel\]'"):
        read_frame(book)


# -- databases -----------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "duckdb"], scope="module")
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that no test changes, or else others fail."""
    path = str(
        tmp_path_factory.mktemp("base")
        / f"clinic.{'db' if request.param == 'sqlite' else 'duckdb'}"
    )
    names = "age INTEGER, town TEXT, day DATE, y TEXT"
    if request.param == "sqlite":
        connection: Any = sqlite3.connect(path)
    else:
        connection = pytest.importorskip("duckdb").connect(path)
    connection.execute(f'CREATE TABLE "the ""patients""" ({names})')
    connection.executemany('INSERT INTO "the ""patients""" VALUES (?, ?, ?, ?)', ROWS[1:])
    connection.execute('CREATE VIEW old AS SELECT age, y FROM "the ""patients""" WHERE age > 40')
    connection.commit()
    connection.close()
    return path


def test_a_table_and_a_view_are_read_by_name(base: str) -> None:
    assert read_frame(f'{base}::the "patients"').to_pydict() == AS_READ
    assert read_frame(f"{base}::old").to_pydict() == {"age": [47, 52], "y": ["yes", "yes"]}


def test_a_query_is_read_and_searched(base: str) -> None:
    query = f'{base}::SELECT age // 1 AS age, y FROM "the ""patients""" WHERE age IS NOT NULL'
    query = query.replace("//", "/") if base.endswith(".db") else query
    assert read_frame(query).to_pydict() == {"age": [25, 47, 52], "y": ["no", "yes", "yes"]}
    assert str(opdt.discover(query, "y", max_depth=1, w=2).rule) == "IF age >= 40 THEN yes"
    assert read_frame(f"{base}::WITH o AS (SELECT y FROM old) SELECT * FROM o").num_rows == 2


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (None, r"has 2 tables; name one as '.*::TABLE': 'old', 'the \"patients\"'"),
        ("::odl", r"there is no table 'odl' in .*; did you mean 'old'\?"),
        ("::SELECT * FROM gone", r"cannot read '.*' with 'SELECT \* FROM gone': "),
        ("::SELECT age AS y, y FROM old", r"duplicate column names: 'y'"),
        ("::SELECT 1 AS a; DROP VIEW old", r"one (statement|SELECT)"),
        ("::WITH x AS (SELECT 1 AS a) DELETE FROM old", r"the query of|cannot (modify|read)"),
        ("::DROP VIEW old", r"there is no table 'DROP VIEW old'"),
    ],
)
def test_what_is_no_query_is_refused_and_nothing_is_written(
    base: str, inside: str | None, message: str
) -> None:
    before = hashlib.sha256(Path(base).read_bytes()).hexdigest()
    with pytest.raises(InputError, match=message) as caught:
        read_frame(base + (inside or ""))
    assert "\n" not in str(caught.value)
    assert hashlib.sha256(Path(base).read_bytes()).hexdigest() == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM '{folder}/secret.csv'",
    ],
)
def test_a_query_reaches_no_other_file(base: str, tmp_path: Path, query: str) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    if "pragma" in query and base.endswith(".duckdb"):
        return  # lists the database itself
    with pytest.raises(InputError, match="cannot read"):
        read_frame(f"{base}::{query.format(folder=tmp_path)}")


def test_a_database_of_one_table_need_not_be_told_which(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "one.sqlite") as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.execute("INSERT INTO t VALUES (1, 'x'), ('NA', '03/04/2024')")
    connection.close()
    frame = read_frame(tmp_path / "one.sqlite")
    assert frame.to_pydict() == {"a": [1, None], "b": ["x", "03/04/2024"]}
    with sqlite3.connect(tmp_path / "one.sqlite") as connection:
        connection.execute("UPDATE t SET b = '03/04/2024'")
    connection.close()
    with pytest.warns(OpdtWarning, match="column 'b' of .* holds dates which may begin with"):
        read_frame(tmp_path / "one.sqlite")
    days = read_frame(tmp_path / "one.sqlite", date_order="mdy")["b"].to_pylist()
    assert days == [dt.date(2024, 3, 4)] * 2


def test_bytes_in_a_database_are_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (?)", (b"\x00\x01",))
    connection.close()
    with pytest.raises(InputError, match=r"column 'a' of '.*b\.db' holds bytes"):
        read_frame(tmp_path / "b.db")


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"x" * 99)
    with pytest.raises(InputError, match=r"x\.db' is neither a database of SQLite nor one of D"):
        read_frame(tmp_path / "x.db")


def test_a_database_that_does_not_fit_is_refused(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("untyped", "databases"):
        monkeypatch.setattr(f"opdt.table.{module}.readable", lambda: 10)
    with pytest.raises(MemoryLimit, match="needs more than"):
        read_frame(f"{base}::old")
    with pytest.raises(InputError, match="cannot be read in pieces, so no 'memory_limit' can be"):
        opdt.discover(f"{base}::old", "y", memory_limit="1GB")


def test_without_duckdb_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb").connect(tmp_path / "d.duckdb").close()
    without("duckdb", monkeypatch)
    with pytest.raises(
        EngineUnavailable, match=r"d\.duckdb' needs duckdb; run: .*'opdt\[duckdb\]'"
    ):
        read_frame(tmp_path / "d.duckdb")


# -- addresses -----------------------------------------------------------------------------------


@pytest.fixture
def memory() -> Iterator[Any]:
    """A folder of fsspec's file system in memory."""
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.makedirs("/opdt", exist_ok=True)
    yield files
    files.rm("/opdt", recursive=True)


def test_files_at_an_address_are_read_in_memory_and_in_pieces(memory: Any) -> None:
    memory.pipe("/opdt/a.csv", as_csv().encode())
    memory.pipe("/opdt/packed.csv.gz", gzip.compress(as_csv().encode()))
    whole = pa.table(AS_READ)
    with memory.open("/opdt/b.parquet", "wb") as file:
        pq.write_table(whole, file)
    names = ("a.csv", "packed.csv.gz", "b.parquet")
    for name in names:
        assert read_frame(f"memory://opdt/{name}").to_pydict() == AS_READ
    expected = opdt.Rule([opdt.Condition("age", ">=", 40)], "yes")
    fires = expected.covers(whole).tolist()
    for source in (
        "memory://opdt/*",
        "memory://opdt/",
        [f"memory://opdt/{name}" for name in names],
    ):
        assert covered_rows(expected, source).tolist() == fires * 3
    pieces = opdt.discover("memory://opdt/*", "y", w=2, max_depth=1)
    assert pieces.rule == opdt.discover(pa.concat_tables([whole] * 3), "y", w=2, max_depth=1).rule


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://opdt/gone.csv", r"there is no file 'memory://opdt/gone\.csv'"),
        ("nosuch://opdt/gone.csv", r"cannot open 'nosuch://opdt/gone\.csv': .*nosuch"),
        ("memory://opdt/x.db", r"there is no file"),
    ],
)
def test_what_is_not_at_an_address_is_told(memory: Any, address: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_frame(address)
    assert "\n" not in str(caught.value)


def test_nothing_at_a_pattern_is_told(memory: Any) -> None:
    with pytest.raises(InputError, match=r"no Parquet or CSV file at 'memory://opdt/\*\.parquet'"):
        opdt.discover("memory://opdt/*.parquet", "y")


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    without("fsspec", monkeypatch)
    with pytest.raises(EngineUnavailable) as caught:
        read_frame("ftp://ann:secret@host/a.csv")
    assert str(caught.value) == (
        "reading 'ftp://…@host/a.csv' needs fsspec; run: pip install 'opdt[remote]'"
    )


def test_a_page_is_read_over_http(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "a.csv").write_text(as_csv(), encoding="utf-8")
    pq.write_table(pa.table(AS_READ), tmp_path / "b.parquet")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        place = f"http://127.0.0.1:{server.server_port}"
        for name in ("a.csv", "a.csv?version=1", "b.parquet"):
            assert read_frame(f"{place}/{name}").to_pydict() == AS_READ
        with pytest.raises(InputError, match=r"there is no file 'http://.*gone\.csv'"):
            read_frame(f"{place}/gone.csv")
        rule = opdt.Rule([opdt.Condition("age", ">=", 40)], "yes")
        assert covered_rows(rule, [f"{place}/a.csv"]).tolist() == [False, False, True, True]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
