"""The lines of rows: against the rows of the file, one after the other."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.table import lines
from opdt.table.lines import line_of
from opdt.table.textfile import TextFile


def text_file(path: Path) -> TextFile:
    return TextFile(str(path), ",", "utf-8-sig", ".", zipped=False, guessed=False)


@given(
    st.lists(
        st.sampled_from(["1,2\n", "3,4\r\n", "\n", "\r\n", '"a\n\nb",5\n', '"x""",6\r\n', "7\r"]),
        max_size=30,
    ),
    st.integers(1, 12),
)  # fmt: skip
def test_a_row_has_the_line_on_which_it_ends(rows: list[str], part: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_PART", part)
        path = Path(folder) / "rows.csv"
        path.write_text("a,b\n" + "".join(rows) + "9,10", encoding="utf-8", newline="")
        file = text_file(path)
        _, *known = file.numbered_rows()
        assert [line_of(file, row) for row in range(len(known))] == [line for line, _ in known]
        assert line_of(file, len(known)) is None
        last, (cell, _) = len(known) - 1, known[-1][1]
        assert line_of(file, last, "a", cell) == known[-1][0]
        assert line_of(file, last, "a", cell + "0") is None


def test_a_row_far_behind_is_found_and_one_behind_many_quotes_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far, quoted = tmp_path / "far.csv", tmp_path / "quoted.csv"
    far.write_text("a,b\n" + "1,2\n" * 1_200_000 + "x,2\n")
    assert line_of(text_file(far), 1_200_000, "a", "x") == 1_200_002
    monkeypatch.setattr(lines, "MOST_CUT", 5)
    quoted.write_text("a,b\n" + '"1",2\n' * 10)
    assert line_of(text_file(quoted), 3) == 5
    assert line_of(text_file(quoted), 9) is None
