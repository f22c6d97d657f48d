"""Text tables as programs really write them: separators, encodings, decimal marks, gzip."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError, OpdtWarning
from opdt.table import Table, read_frame
from opdt.table.textfile import examine

ROWS = [["name", "size", "class"], ["Zoë", "1.5", "a"], ["Ann", "2.25", "b"], ["Bo", "3", "a"]]


def written(rows: list[list[str]], separator: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom"])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_table_reads_the_same_however_it_is_written(
    tmp_path: Path, separator: str, encoding: str, zipped: bool
) -> None:
    text = written(ROWS, separator)
    if encoding == "utf-16-le-bom":
        content = b"\xff\xfe" + text.encode("utf-16-le")
    else:
        content = text.encode(encoding)
    path = tmp_path / ("data.csv.gz" if zipped else "data.csv")
    path.write_bytes(gzip.compress(content) if zipped else content)
    table = Table.build(path, "class", warn=False)
    assert table.names == ("name", "size")
    assert table.columns[0].values.tolist() == ["Ann", "Bo", "Zoë"]
    assert table.columns[1].values.tolist() == [1.5, 2.25, 3.0]


def test_a_decimal_comma_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a;b;c\n1,5;7;1.234\n-2,25;8;x\n", encoding="utf-8")
    assert examine(path).decimal == "."  # a point occurs, so commas say nothing
    path.write_text("a;b;c\n1,5;7;u\n-2,25;8;x\n", encoding="utf-8")
    assert examine(path).decimal == ","
    table = Table.build(path, [0, 1])
    assert table.columns[0].values.tolist() == [-2.25, 1.5]
    assert table.columns[1].values.tolist() == [7, 8]


def test_commas_that_group_thousands_are_no_decimal_marks(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a;b\n1,500;7\n12,345,678;8\n", encoding="utf-8")
    assert examine(path).decimal == "."


def test_what_is_given_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes("a;b,c\n1;2,é\n".encode("latin-1"))
    file = examine(path, separator=",", encoding="latin-1", decimal=".")
    assert (file.separator, file.encoding, file.decimal) == (",", "iso8859-1", ".")
    assert list(file.rows()) == [["a;b", "c"], ["1;2", "é"]]


@pytest.mark.parametrize("at", [0, 300_000])
def test_a_file_of_another_encoding_is_read_with_a_warning(tmp_path: Path, at: int) -> None:
    # The strange letter may come after the part from which the encoding is guessed.
    path = tmp_path / "data.csv"
    rows = ["Ann,1"] * (at // 6) + ["Zoë €,2"]
    path.write_bytes("\n".join(["name,x", *rows]).encode("cp1252"))
    with pytest.warns(OpdtWarning, match=r"not in UTF-8 and was read as cp1252"):
        frame = read_frame(path)
    assert frame["name"].to_pylist()[-1] == "Zoë €"


def test_any_eight_bit_file_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"name,x\n\x81\xe9,1\n")
    with pytest.warns(OpdtWarning, match=r"read as latin-1"):
        assert read_frame(path)["name"].to_pylist() == ["\x81é"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, r"is empty"),
        (b"\n \n", {}, r"is empty"),
        (b"a,b\x00\n1,2\n", {}, r"is no text table: it holds zero bytes"),
        (gzip.compress(b"a,b\n" * 999, mtime=0)[:30], {}, r"cannot unpack"),
        (b"a,b\n1,2\n", {"separator": "::"}, r"'separator' must be one character"),
        (b"a,b\n1,2\n", {"separator": '"'}, r"'separator' must be one character"),
        (b"a,b\n1,2\n", {"encoding": "klingon"}, r"'encoding' 'klingon' is not known"),
        (b"a,b\n1,2\n", {"encoding": "hex"}, r"'encoding' 'hex' is not known"),
        (b"a,b\n1,2\n", {"decimal": "x"}, r"'decimal' must be '.' or ','"),
        (b"a,b\n1,2\n", {"decimal": ",", "separator": ","}, r"must differ"),
        (b"a,b\n1,\xe9\n", {"encoding": "utf-8"}, r"cannot read"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes, options: dict[str, str], message: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as refusal:
        read_frame(path, **options)
    assert "\n" not in str(refusal.value)


@given(
    st.sampled_from(",;\t|"),
    st.integers(2, 5).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(-999, 999).map(str), min_size=width, max_size=width),
            min_size=3,
            max_size=8,
        )
    ),
)
def test_the_separator_of_a_table_of_numbers_is_found(separator, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_text(written(rows, separator), encoding="utf-8")
        assert examine(path).separator == separator


@given(st.binary(max_size=400))
def test_any_bytes_give_a_table_or_one_sentence(content):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)
        path = Path(folder) / "data.csv"
        path.write_bytes(content)
        refusal = ""
        try:
            read_frame(path)
        except InputError as error:
            refusal = str(error)
        assert "\n" not in refusal
