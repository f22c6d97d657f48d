from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from opdt.errors import InputError, MemoryLimit
from opdt.table import Kind, Table, column_names, read_frame

TEXT = """\
whole,part,truth,day,moment,name,label
1,1.5,True,2020-01-01,2020-01-01 10:00:00,x,p
2,,False,2020-01-02,2020-01-02T10:00:00.5,,q
,NaN,True,,2020-01-02 11:00:00,"q, r",p
4,2,True,1969-12-31,2020-01-02 11:00:00,NA,p
"""


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_every_cell_is_what_it_looks_like(csv: Path) -> None:
    table = Table.build(csv, "label")
    assert table.names == ("whole", "part", "truth", "day", "moment", "name")
    assert [c.kind for c in table.columns] == [Kind.NUMERIC] * 5 + [Kind.CATEGORICAL]
    assert [c.codes.tolist() for c in table.columns] == [
        [0, 1, -1, 2],
        [0, -1, -1, 1],
        [1, 0, 1, 1],
        [1, 2, -1, 0],
        [0, 1, 2, 2],
        [1, -1, 0, -1],
    ]
    assert table.columns[0].values.tolist() == [1, 2, 4]
    assert table.columns[3].values[0] == np.datetime64("1969-12-31")
    assert table.columns[4].values[1] == np.datetime64("2020-01-02T10:00:00.5")
    assert table.columns[5].values.tolist() == ["q, r", "x"]
    assert table.classes.tolist() == ["p", "q"]


def test_quotes_in_names_and_cells(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    path.write_text('"say ""no""",b,"""x"""\n1,"a ""b""",p\n2,"c\nd",q\n', encoding="utf-8")
    table = Table.build(path, '"x"')
    assert table.names == ('say "no"', "b")
    assert table.columns[1].values.tolist() == ['a "b"', "c\nd"]


def test_quoted_numbers_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    path.write_text('"a","y"\n"1","p"\n"2","q"\n', encoding="utf-8")
    assert read_frame(path)["a"].to_pylist() == [1, 2]


def test_parquet_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "year=2024"  # a name says nothing about columns
    folder.mkdir()
    pl.DataFrame({"a": [3, None, 1], "b": ["u", "v", None]}).write_parquet(folder / "[d].parquet")
    table = Table.build(folder / "[d].parquet", [0, 1, 0])
    assert table.names == ("a", "b")
    assert [c.codes.tolist() for c in table.columns] == [[1, -1, 0], [0, 1, -1]]


def test_tabs_separate_the_cells_of_a_tsv(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_text("a\tb\n1\tx,y\n", encoding="utf-8")
    assert column_names(path) == ("a", "b")


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8-sig")
    assert column_names(str(path)) == ("a", "b")


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "\n\na,b\r\n\r\n"])
def test_a_header_without_rows_is_a_table_without_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode())
    frame = read_frame(path)
    assert (frame.column_names, len(frame)) == (["a", "b"], 0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, r"there is no file '.*none\.csv'"),
        ("data.xyz", "", r"cannot tell what '.*data\.xyz' holds"),
        ("data.csv", "", r"data\.csv' is empty"),
        ("data.csv", "a,b,a\n1,2,3\n", r"duplicate column names: 'a'; rename them"),
        ("data.parquet", "no parquet", r"cannot read '.*data\.parquet' as parquet"),
        ("data.csv", "a,b\n", r"the table has no rows; a rule needs some"),
        (
            "data.csv",
            "a,b\n1,2\n\n3,4,5\n6,7\n",
            r"line 4 of '.*data\.csv' has 3 cells, but the co",
        ),
        (
            "data.csv",
            'a,b\n"x\ny",2\n3\n',
            r"line 4 of '.*data\.csv' has 1 cell, but the columns are 2",
        ),
        (
            "data.csv",
            'a,b\n1,"' + "x" * 9_000_000,
            r"has a row of more than 4 MB; is a quote not clo",
        ),
    ],
)
def test_files_that_cannot_be_read_are_refused(
    tmp_path: Path, name: str, content: Any, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Table.build(tmp_path / name, "b")


@pytest.mark.parametrize("name", ["cut.csv.gz", "cut.parquet"])
def test_a_broken_file_is_named_by_what_it_should_hold(tmp_path: Path, name: str) -> None:
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n % 7) for n in range(200_000)))
    (tmp_path / name).write_bytes(whole[:-1000])
    with pytest.raises(InputError, match=rf"cannot read .* as {name.removeprefix('cut.')}: "):
        read_frame(tmp_path / name)


def test_an_empty_line_of_one_column_is_a_missing_value(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("a\n1\n\n2\n")
    assert read_frame(path)["a"].to_pylist() == [1, None, 2]
    path.write_text("a,b\n1,2\n\n3,4\n")
    assert read_frame(path)["a"].to_pylist() == [1, 3]


# -- what does not fit into memory ---------------------------------------------------------------


def written(folder: Path, ending: str) -> Path:
    """A table of a thousand rows of zeros, which packs well."""
    path = folder / f"data.{ending}"
    rows = "a,b\n" + "0,0\n" * 1000
    if ending == "csv":
        path.write_text(rows)
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(rows.encode()))
    else:
        pl.DataFrame({"a": np.zeros(1000), "b": np.zeros(1000)}).write_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize(("free", "space"), [(15_000, None), (10**9, 45_000_000)])
def test_a_file_that_does_not_fit_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    free: int,
    space: int | None,
) -> None:
    path = written(tmp_path, ending)
    assert len(read_frame(path)) == 1000
    monkeypatch.setattr("opdt.table.textfile.available", lambda: free)
    monkeypatch.setattr("opdt.table.textfile.mappable", lambda: space)
    monkeypatch.setattr("opdt.table.textfile.MAPPED_BYTES", (44_900_000, 46_000_000))
    with pytest.raises(
        MemoryLimit,
        match=rf"^reading '.*data\.{ending}' needs more than the .* of memory that are free; give "
        "a 'memory_limit', with which files are read in pieces, or fewer rows or columns\\.$",
    ):
        read_frame(path)


def test_memory_that_runs_out_in_a_library_is_told_in_one_sentence(
    csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("opdt.table.delimited.load", fail)
    with pytest.raises(MemoryLimit, match=r"data\.csv' needs more than the "):
        read_frame(csv)
