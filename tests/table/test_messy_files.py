"""Small files as people have them, each with its truth: roles, values, missing cells.

Every column is written into a text file beside a target of two classes and read as a person would:
`discover(path, "target")` and `--role` aside, nothing is said about it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opdt.errors import OpdtWarning
from opdt.rules import Condition, Rule, rule_to_dict
from opdt.rules.rule_json import rule_from_dict
from opdt.scale.driver import Driver
from opdt.scale.front import open_scanner
from opdt.scale.roles import survey_pieces
from opdt.scale.schema import agree
from opdt.solution import Budget
from opdt.table import Role, Table, open_source
from opdt.table.roles import check_missing, check_roles

ROWS = 24
MISSING = None


@dataclass(frozen=True)
class Messy:
    """One column of a file, and what a person takes it for.

    `cells` are repeated to fill the file. `values` are those of the cells in order, None where
    one is missing; left out for columns that are not used.
    """

    about: str
    cells: Sequence[str]
    role: Role
    values: Sequence[Any] | None = None
    name: str = "x"
    roles: Mapping[str, str] = field(default_factory=dict)
    missing: Any = None
    more: Mapping[int, str] = field(default_factory=dict)
    rows: int = ROWS
    separator: str = ","

    def column(self) -> list[str]:
        """All cells; `more` replaces some of them by their row."""
        cells = [self.cells[row % len(self.cells)] for row in range(self.rows)]
        for row, cell in self.more.items():
            cells[row] = cell
        return cells


N, C, D = Role.NUMERIC, Role.CATEGORICAL, Role.DATE
WEEK = [f"2024-03-{day:02}" for day in range(1, 8)]
KEYS = [str(7 * row % 101) for row in range(ROWS)]
FREE = [f"the patient came in on day {day} and felt well" for day in range(12)]
FILES = [
    # numbers in clothes
    Messy("euro, decimal comma", ["€ 1.234,56", "€ 2,50", "€ 12,00"], N, [1234.56, 2.5, 12.0]),
    Messy("euro behind", ["1.234,56 €", "2,50 €"], N, [1234.56, 2.5]),
    Messy("dollar", ["$1,234.56", "$12.00", "-$3.50"], N, [1234.56, 12.0, -3.5]),
    Messy("percent", ["12.5%", "3 %", "0.5%"], N, [12.5, 3.0, 0.5]),
    Messy("per mille", ["1.5 ‰", "0 ‰"], N, [1.5, 0.0]),
    Messy("unit", ["12 kg", "7.5 kg", "80kg"], N, [12.0, 7.5, 80.0]),
    Messy("unit with slash", ["100 mg/dL", "85 mg/dL"], N, [100.0, 85.0]),
    Messy("degrees", ["37.5 °C", "38 °C"], N, [37.5, 38.0]),
    Messy("blood pressure", ["120 mmHg", "95 mmHg"], N, [120.0, 95.0]),
    Messy("thousands, comma", ["1,234", "12,345", "1,234,567"], N, [1234.0, 12345.0, 1234567.0]),
    Messy("thousands, point", ["1.234.567", "12.345.678"], N, [1234567.0, 12345678.0]),
    Messy("thousands, apostrophe", ["1'234", "12'345.5"], N, [1234.0, 12345.5]),
    Messy("thousands, space", ["1 234,5", "12 345,0"], N, [1234.5, 12345.0]),
    Messy("decimal comma", ["1,5", "12,25", "-0,5"], N, [1.5, 12.25, -0.5]),
    Messy("decimal comma, semicolons", ["1,5", "2,25"], N, [1.5, 2.25], separator=";"),
    Messy("minus of typesetters", ["−5", "3", "–2"], N, [-5.0, 3.0, -2.0]),
    Messy("accountant's negatives", ["(12)", "30", "(1,250)"], N, [-12.0, 30.0, -1250.0]),
    Messy("exponent and unit", ["1e3 m", "2.5e2 m"], N, [1000.0, 250.0]),
    Messy("asked comma", ["1,234", "5,678"], N, [1.234, 5.678], roles={"x": "numeric:comma"}),
    # limits of detection lie on the side that they speak of
    Messy("below a limit", ["<0.6", "0.7"], N, [np.nextafter(0.6, 0), 0.7]),
    Messy("above a limit", [">90", "85"], N, [np.nextafter(90.0, 91), 85.0]),
    # missing in clothes
    Messy("n/a and dashes", ["5", "n/a", "-", "7"], N, [5.0, MISSING, MISSING, 7.0]),
    Messy("points", ["1.5", ".", "2.5"], N, [1.5, MISSING, 2.5]),
    Messy("keine Angabe", ["5", "k.A.", "7", "k. A."], N, [5.0, MISSING, 7.0, MISSING]),
    Messy("question mark", ["5", "?", "7"], N, [5.0, MISSING, 7.0]),
    Messy("unknown among numbers", ["5", "unknown", "7"], N, [5.0, MISSING, 7.0]),
    Messy("spreadsheet errors", ["5", "#DIV/0!", "#N/A"], N, [5.0, MISSING, MISSING]),
    Messy("question mark among levels", ["a", "?", "b"], C, ["a", MISSING, "b"]),
    Messy("unknown is a level", ["a", "unknown", "b"], C, ["a", "unknown", "b"]),
    Messy("plus and minus are levels", ["+", "-"], C, ["+", "-"]),
    Messy("9999 by declaration", ["5", "9999", "7"], N, [5, MISSING, 7], missing=[9999]),
    Messy("9999 of one column", ["5", "9999"], N, [5, MISSING], missing={"x": "9999"}),
    Messy("9999 unless declared", ["5", "9999"], N, [5, 9999]),
    Messy("declared word", ["a", "nope", "b"], C, ["a", MISSING, "b"], missing=["nope"]),
    # codes, booleans, categories
    Messy("codes with leading zeros", ["01008", "10115", "20095"], C, ["01008", "10115", "20095"]),
    Messy("long account numbers", ["4000123412341234", "4000123412341235"], N),
    Messy("ja and nein", ["ja", "nein"], Role.YES_NO, ["ja", "nein"]),
    Messy("Y and N", ["Y", "N"], Role.YES_NO, ["Y", "N"]),
    Messy("yes in many ways", ["Yes", "y", "NO", "n"], Role.YES_NO, ["yes", "yes", "no", "no"]),
    Messy("true and false", ["true", "false"], Role.YES_NO, [1, 0]),
    Messy("codes on request", ["1", "2", "3"], C, [1, 2, 3], roles={"x": "categorical"}),
    Messy("units that differ", ["12 kg", "500 g"], C, ["12 kg", "500 g"]),
    Messy("ordered", [*"abc"], Role.ORDERED, [0, 2, 1], roles={"x": "ordered:a<c<b"}),
    Messy(
        "rare levels", [*"aaaabbbbcd"], C, [*"aaaabbbb", "other", "other"],
        roles={"x": "categorical:2"}, rows=30,
    ),
    # dates
    Messy("ISO dates", WEEK, D, [np.datetime64(day) for day in WEEK]),
    Messy(
        "German dates", ["24.12.2023", "01.02.2024"], D,
        [np.datetime64("2023-12-24"), np.datetime64("2024-02-01")],
    ),
    Messy("ISO dates with gaps", [*WEEK, "-"], D, [*map(np.datetime64, WEEK), MISSING]),
    Messy("hours", ["2024-03-01 17:05", "2024-03-02 08:00"], D, [17, 8], roles={"x": "date:hour"}),
    Messy("weekdays", WEEK, D, [5, 6, 7, 1, 2, 3, 4], roles={"x": "date:weekday"}),
    # not used
    Messy("keys", [f"T{row:04}" for row in range(ROWS)], Role.ID, name="txn"),
    Messy("keys with a name", KEYS, Role.ID, name="customer_id"),
    Messy("numbered rows", [str(row) for row in range(ROWS)], Role.ID),
    Messy("index of pandas", [str(row) for row in range(ROWS)], Role.ID, name="Unnamed: 0"),
    Messy("passenger", [str(row + 500) for row in range(ROWS)], Role.ID, name="PassengerId"),
    Messy("free text", FREE, Role.TEXT),
    Messy("one text", ["same"], Role.CONSTANT),
    Messy("one number", ["5"], Role.CONSTANT),
    Messy("said to be ignored", ["1", "2"], Role.IGNORED, roles={"x": "ignored"}),
    # what looks like a key and is a measurement
    Messy("different fractions", [str(1 + row / 7) for row in range(ROWS)], N),
    Messy("different whole numbers", KEYS, N),
    Messy("a store", ["1", "2", "3"], N, [1, 2, 3], name="store_id"),
    # one bad cell does not make a category of a number
    Messy("one bad cell", [str(20 + age) for age in range(40)], N, rows=400, more={17: "abc"}),
]  # fmt: skip


def write(folder: Path, messy: Messy) -> Path:
    quote = '"' if messy.separator == "," else ""
    lines = [messy.separator.join([f"{quote}{messy.name}{quote}", "z", "target"])]
    for row, cell in enumerate(messy.column()):
        other, label = str((row * 13) % 7), "ill" if row % 3 else "well"
        lines.append(messy.separator.join([f"{quote}{cell}{quote}", other, label]))
    path = folder / "messy.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table_of(path: Path, messy: Messy) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)
        return Table.build(path, "target", roles=messy.roles, missing=messy.missing)


@pytest.mark.parametrize("messy", FILES, ids=lambda messy: messy.about)
def test_a_file_is_read_as_a_person_would(tmp_path: Path, messy: Messy) -> None:
    table = table_of(write(tmp_path, messy), messy)
    assert table.plan[messy.name].role is messy.role, table.plan
    used = messy.role.is_used or messy.role is Role.CONSTANT
    assert (messy.name in table.names) is used
    if messy.values is None:
        return
    column = table.columns[table.index(messy.name)]
    found = [None if code < 0 else column.values[code] for code in column.codes.tolist()]
    wanted = [messy.values[row % len(messy.values)] for row in range(messy.rows)]
    assert found == wanted


@pytest.mark.parametrize("messy", FILES, ids=lambda messy: messy.about)
def test_pieces_come_to_the_same_roles(tmp_path: Path, messy: Messy) -> None:
    path = write(tmp_path, messy)
    plan = table_of(path, messy).plan
    scanner = open_scanner([str(path)])
    schema = agree(scanner.sources(), "target")
    names = [layout.name for layout in schema.features]
    asked = check_roles(messy.roles, names), check_missing(messy.missing, names)
    pieces = survey_pieces(schema, *asked, Driver(scanner, Budget().start(), None))
    constant = {Role.CONSTANT, Role.NUMERIC}  # of numbers the first pass tells, not the survey
    for one, other in zip(plan, pieces, strict=True):
        assert one.role is other.role or {one.role, other.role} == constant, messy.about
        if one.cleaning != other.cleaning:
            assert messy.missing is not None  # in pieces a declared cell need not occur


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


def test_a_bad_cell_is_told_with_its_row(tmp_path: Path) -> None:
    messy = next(m for m in FILES if m.about == "one bad cell")
    unread = table_of(write(tmp_path, messy), messy).plan["x"].unread
    assert unread is not None
    assert (unread.count, unread.cell, unread.row) == (1, "abc", 17)
    assert str(unread) == "1 cell is no number and read as missing: 'abc' in row 17"


def test_there_are_enough_files() -> None:
    assert len(FILES) >= 40
    assert len({messy.about for messy in FILES}) == len(FILES)
