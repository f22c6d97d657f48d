from __future__ import annotations

import pytest

from opdt.datasets.parse import parse
from opdt.datasets.source import DatasetSource, FileLayout, categorical, ignored, numeric, target


def source(**options) -> DatasetSource:
    fields = (
        *numeric("size"),
        *categorical("colour", levels={"r": "red"}),
        *ignored("note"),
        *target("label", {"0": "no", "1": "yes"}),
    )
    return DatasetSource("toy", "Toy", "toy.data", "", fields, "about", "citation", **options)


def test_codes_become_words_and_other_cells_stay():
    cells = parse(source(), b"1,r,x,0\n2,blue,y,1\n")
    assert cells.rows == (("1", "red", "x", "no"), ("2", "blue", "y", "yes"))
    assert cells.n_dropped == 0


@pytest.mark.parametrize("line", ["?,r,x,0", ",r,x,0", "1,?,x,0", "1,,x,0", "1,r,x,?"])
def test_a_row_with_a_missing_value_is_dropped(line):
    cells = parse(source(), f"1,r,x,0\n2,r,x,1\n{line}\n".encode())
    assert (len(cells.rows), cells.n_dropped) == (2, 1)


def test_a_missing_value_in_a_column_that_is_not_used_drops_nothing():
    assert parse(source(), b"1,r,?,0\n2,r,,1\n").n_dropped == 0


def test_a_missing_category_is_a_level_where_the_source_says_so():
    cells = parse(source(missing_is_level=True), b"1,?,x,0\n2,r,x,1\n?,r,x,1\n")
    assert [row[1] for row in cells.rows] == ["?", "red"]
    assert cells.n_dropped == 1


@pytest.mark.parametrize("line", ["1,r,x,1,", "1,,r,x,1", " 1,\tr,x ,1\t", "1,r,x,1"])
def test_surplus_commas_and_white_space_of_an_arff_line_are_repaired(line):
    text = f"@relation toy\n@attribute size numeric\n\n@DATA\n% note\n{line}\n2,r,x,0\n\n"
    cells = parse(source(layout=FileLayout.ARFF), text.encode())
    assert cells.rows[0] == ("1", "red", "x", "yes")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_make_no_difference(end, mark):
    text = mark + end.join(["size,colour,note,label", "1,r,x,0", "2,r,x,1", ""])
    assert len(parse(source(header=True), text.encode()).rows) == 2


def test_cells_may_be_separated_by_runs_of_spaces():
    cells = parse(source(layout=FileLayout.SPACES), b"1  r x 0 \n2 r x  1\n")
    assert [row[0] for row in cells.rows] == ["1", "2"]


def test_a_line_beyond_repair_is_neither_kept_nor_counted_as_dropped():
    cells = parse(source(skip_lines=frozenset({2})), b"1,r,x,0\n,1,2,3,4,5\n2,r,x,1\n")
    assert (len(cells.rows), cells.n_dropped) == (2, 0)
