"""Small files as people have them, each with its truth: roles, values, missing cells.

Every column is written into a text file beside a target of two classes and read as a person would:
`discover(path, "target")` and `--role` aside, nothing is said about it.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from opdt.errors import OpdtWarning
from opdt.scale.driver import Driver
from opdt.scale.front import _first_pass, open_scanner
from opdt.scale.keys import column_of
from opdt.scale.roles import settle, survey_pieces
from opdt.scale.schema import Schema, agree
from opdt.solution import Budget
from opdt.table import Plan, Role, Table
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


def plan_in_pieces(
    source: Any, roles: Mapping[str, str], missing: Any, client: Any = None
) -> tuple[Plan, Schema]:
    """The plan of files in pieces, of a Dask or of a Spark frame, and how columns are read."""
    scanner = open_scanner(source, client=client)
    schema = agree(scanner.sources(), "target")
    names = [layout.name for layout in schema.features]
    driver = Driver(scanner, Budget().start(), None)
    plan = survey_pieces(schema, check_roles(roles, names), check_missing(missing, names), driver)
    schema = agree(scanner.sources(), "target", plan=plan)
    summary = driver.run(_first_pass(schema, driver))
    return settle(plan, schema, summary, scanner), schema


def values_of(table: pa.Table, schema: Schema, name: str) -> list[Any]:
    """The values of a column as partitions read it, None where one is missing."""
    layout = next(each for each in schema.features if each.name == name)
    column = column_of(table, layout)
    if layout.family == "date":
        cells = column.to_numpy().astype("datetime64[us]")
        return [None if np.isnat(cell) else cell for cell in cells]
    return list(column.to_pylist())


def memory_values(table: Table, name: str) -> list[Any]:
    """The values of a column in memory, None where one is missing."""
    column = table.columns[table.index(name)]
    return [None if code < 0 else column.values[code] for code in column.codes.tolist()]


OF_A_TYPE: dict[str, Callable[[Any], str]] = {
    "true and false": lambda value: str(bool(value)).lower(),
    "codes on request": str,
}


@dataclass
class Wide:
    """All messy columns of as many rows side by side, under names of their own."""

    rows: int
    files: dict[str, Messy]

    @classmethod
    def all(cls) -> list[Wide]:
        out: dict[int, Wide] = {}
        for messy in FILES:
            wide = out.setdefault(messy.rows, cls(messy.rows, {}))
            name = messy.name if messy.name != "x" else f"x{len(wide.files)}"
            wide.files[name] = messy
        return list(out.values())

    @property
    def roles(self) -> dict[str, str]:
        return {name: role for name, m in self.files.items() for role in m.roles.values()}

    @property
    def missing(self) -> dict[str, Any]:
        return {
            name: m.missing["x"] if isinstance(m.missing, Mapping) else m.missing
            for name, m in self.files.items()
            if m.missing is not None
        }

    def write(self, folder: Path) -> Path:
        columns = {name: messy.column() for name, messy in self.files.items()}
        columns["z"] = [str((row * 13) % 7) for row in range(self.rows)]
        columns["target"] = ["ill" if row % 3 else "well" for row in range(self.rows)]
        path = folder / f"wide{self.rows}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, quoting=csv.QUOTE_ALL)
            out.writerow(columns)
            out.writerows(zip(*columns.values(), strict=True))
        return path

    def check_text(self, folder: Path, frame: Any, rows: pa.Table, client: Any = None) -> None:
        """Cells of text in a cluster give the roles and values of each file in memory."""
        plan, schema = plan_in_pieces(frame, self.roles, self.missing, client)
        for name, messy in self.files.items():
            table = table_of(write(folder, messy), messy)
            own, there = table.plan[messy.name], plan[name]
            assert there.role is own.role, (messy.about, str(there), str(own))
            if own.role.is_used:
                found, wanted = values_of(rows, schema, name), memory_values(table, messy.name)
                if messy.about in OF_A_TYPE:  # which cells of text have not
                    wanted = [OF_A_TYPE[messy.about](value) for value in wanted]
                assert found == wanted, messy.about

    def check_typed(self, frame: Any, rows: Any, client: Any = None) -> None:
        """A frame with types of its own gives the roles and values of the same rows in memory."""
        roles = {n: r for n, r in self.roles.items() if ":" not in r}
        plan, schema = plan_in_pieces(frame, roles, self.missing, client)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OpdtWarning)
            table = Table.build(rows, "target", roles=roles, missing=self.missing)
        for one, other in zip(table.plan, plan, strict=True):
            same = replace(one, unread=None), replace(other, unread=None)
            assert same[0] == same[1], (str(one), str(other))
            assert (one.unread is None) == (other.unread is None)
            if one.is_used:
                cells = pa.table({one.name: pa.array(rows[one.name])})
                assert values_of(cells, schema, one.name) == memory_values(table, one.name)
