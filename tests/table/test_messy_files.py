"""The messy files of `messy.py`, in memory and in pieces: the same roles, values, missing cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from messy import FILES, Messy, memory_values, plan_in_pieces, table_of, values_of, write
from opdt.rules import Condition, Rule, rule_to_dict
from opdt.rules.rule_json import rule_from_dict
from opdt.table import Role, Table, open_source, read_frame


@pytest.mark.parametrize("messy", FILES, ids=lambda messy: messy.about)
def test_a_file_is_read_as_a_person_would(tmp_path: Path, messy: Messy) -> None:
    table = table_of(write(tmp_path, messy), messy)
    assert table.plan[messy.name].role is messy.role, table.plan
    used = messy.role.is_used or messy.role is Role.CONSTANT
    assert (messy.name in table.names) is used
    if messy.values is None:
        return
    found = memory_values(table, messy.name)
    wanted = [messy.values[row % len(messy.values)] for row in range(messy.rows)]
    assert found == wanted


@pytest.mark.parametrize("messy", FILES, ids=lambda messy: messy.about)
def test_pieces_come_to_the_same_roles(tmp_path: Path, messy: Messy) -> None:
    path = write(tmp_path, messy)
    table = table_of(path, messy)
    plan, schema = plan_in_pieces([str(path)], messy.roles, messy.missing)
    for one, other in zip(table.plan, plan, strict=True):
        assert replace(one, unread=None) == replace(other, unread=None)
    if table.plan[messy.name].is_used:
        found = values_of(read_frame(path), schema, messy.name)
        assert found == memory_values(table, messy.name)


@pytest.mark.parametrize(
    "messy", [m for m in FILES if m.values is not None], ids=lambda messy: messy.about
)
def test_conditions_clean_new_rows_as_the_plan_says(tmp_path: Path, messy: Messy) -> None:
    path = write(tmp_path, messy)
    table = table_of(path, messy)
    column = table.columns[table.index(messy.name)]
    numeric = column.kind == "numeric"
    op = ">=" if numeric else "=="
    condition = Condition(messy.name, op, column.values[-1], column.cleaning)
    rule = Rule([condition], "ill")
    expected = (column.codes == column.n_values - 1).tolist()
    assert rule.covers(path).tolist() == expected
    assert rule_from_dict(rule_to_dict(rule)) == rule
    assert rule.covers(open_source(path)).tolist() == expected


def test_a_bad_cell_is_told_with_its_line(tmp_path: Path) -> None:
    messy = next(m for m in FILES if m.about == "one bad cell")
    path = write(tmp_path, messy)
    unread = table_of(path, messy).plan["x"].unread
    assert unread is not None
    assert (unread.count, unread.cell, unread.row, unread.line) == (1, "abc", 17, 19)
    assert str(unread) == "1 cell is no number and read as missing: 'abc' in line 19"
    plan, _ = plan_in_pieces([str(path)], {}, None)
    assert str(plan["x"].unread) == f"{unread!s} of {str(path)!r}"
    # not the table that was read from the file: rows, no lines
    part = Table.build(read_frame(path).slice(5), "target", warn=False)
    assert str(part.plan["x"].unread).endswith("'abc' in row 12")


def test_there_are_enough_files() -> None:
    assert len(FILES) >= 40
    assert len({messy.about for messy in FILES}) == len(FILES)
