from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.experiments.cell import Cell
from opdt.experiments.store import CellOutcome, ResultStore

CELLS = [Cell.of("toy", x=x, name="ä") for x in range(4)]
RECORDS = [CellOutcome({"double": 2 * x, "note": "zwölf\n"}, "", 0.5) for x in range(4)]


def fill(folder, n=4):
    with ResultStore(folder) as store:
        for cell, outcome in zip(CELLS[:n], RECORDS[:n], strict=True):
            store.append(cell, outcome)
    return store


def expected(n):
    return {cell.key: outcome for cell, outcome in zip(CELLS[:n], RECORDS[:n], strict=True)}


def test_what_is_appended_is_read_back(tmp_path):
    assert fill(tmp_path / "new" / "folder").read() == expected(4)


def test_a_folder_without_a_file_holds_nothing(tmp_path):
    assert ResultStore(tmp_path).read() == {}


def test_a_second_run_appends_to_the_first(tmp_path):
    fill(tmp_path, 2)
    with ResultStore(tmp_path) as store:
        store.append(CELLS[2], RECORDS[2])
    assert store.read() == expected(3)


@given(st.data())
def test_a_file_that_is_cut_anywhere_keeps_its_whole_lines_and_can_be_continued(
    tmp_path_factory, data
):
    folder = tmp_path_factory.mktemp("cut")
    store = fill(folder)
    content = store.path.read_bytes()
    cut = content[: data.draw(st.integers(0, len(content)))]
    store.path.write_bytes(cut)
    whole = max(0, cut.count(b"\n") - 1)
    assert store.read() == expected(whole)
    with ResultStore(folder) as again:
        for at in range(whole, 4):
            again.append(CELLS[at], RECORDS[at])
    assert again.path.read_bytes() == content


def test_a_record_wins_over_a_failure_and_a_later_line_over_an_earlier_one(tmp_path):
    failed = CellOutcome(None, "no.", 0.1)
    later = CellOutcome(None, "still no.", 0.1)
    with ResultStore(tmp_path) as store:
        for outcome in (failed, later):
            store.append(CELLS[0], outcome)
        for outcome in (failed, RECORDS[1], later, RECORDS[2]):
            store.append(CELLS[1], outcome)
    assert store.read() == {CELLS[0].key: later, CELLS[1].key: RECORDS[2]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n", "is not a file of measured cells"),
        ('{"opdt_cells":99}\n', "has version 99"),
        ("[1]\n", "is not a file of measured cells"),
    ],
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path, content, words):
    store = ResultStore(tmp_path)
    store.path.write_text(content)
    with pytest.raises(InputError, match=words):
        store.read()
    with pytest.raises(InputError, match=words), store:
        pass
    assert store.path.read_text() == content


def test_a_foreign_file_of_half_a_line_is_refused_and_left_alone(tmp_path):
    store = ResultStore(tmp_path)
    store.path.write_text("mine")
    with pytest.raises(InputError, match="is not a file of measured cells"), store:
        pass
    assert store.path.read_text() == "mine"


@pytest.mark.parametrize("line", ["nothing", '{"kind":"toy"}', "[]"])
def test_a_damaged_line_in_the_middle_is_named(tmp_path, line):
    store = fill(tmp_path)
    lines = store.path.read_text().splitlines()
    lines[2] = line
    store.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"line 3 of .* is damaged"):
        store.read()


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_two_runs_cannot_write_to_one_folder(tmp_path):
    with (
        ResultStore(tmp_path),
        pytest.raises(InputError, match="another run"),
        ResultStore(tmp_path),
    ):
        pass
    with ResultStore(tmp_path):
        pass
