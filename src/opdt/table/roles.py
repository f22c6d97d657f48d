"""What each column is taken for, why, and what was changed: the plan of a table."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from numbers import Real
from typing import Any

from opdt.errors import InputError
from opdt.table.cleaning import DATE_FORMS, PARTS, Cleaning
from opdt.table.kinds import Kind, unknown_column

MARKS = {"comma": ",", "point": "."}


class Role(StrEnum):
    """What a column is taken for; the first five make a feature of it."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    DATE = "date"
    YES_NO = "yes/no"
    ID = "id"
    TEXT = "text"
    CONSTANT = "constant"
    IGNORED = "ignored"

    @property
    def is_used(self) -> bool:
        """Whether rules may use the column."""
        return self in USED


USED = (Role.NUMERIC, Role.CATEGORICAL, Role.ORDERED, Role.DATE, Role.YES_NO)
ASKED = "asked for"  # why a column has the role that the user gave it
SETTABLE = tuple(role for role in Role if role is not Role.CONSTANT)
_SPELLINGS = (
    "'numeric' (or 'numeric:comma', 'numeric:point'), 'categorical' (or 'categorical:20' for the "
    "20 most frequent levels), 'ordered:low<middle<high', 'date' (or "
    + ", ".join(f"'date:{part}'" for part in (*PARTS, "d/m/y"))
    + "), 'yes/no', 'id', 'text' or 'ignored'"
)


@dataclass(frozen=True)
class Wish:
    """A role that the user asks for, with what stands behind its colon.

    Attributes
    ----------
    role : Role
    decimal : str
        The mark before the fraction, "" where the cells decide.
    part, dates : str
        What is taken of a date, and how dates in text are written.
    most : int
        The number of levels that are kept; 0 for all.
    order : tuple of str
        Levels from the lowest to the highest.
    known : ColumnPlan or None
        The plan of the same column of other rows, which is to be kept.
    """

    role: Role
    decimal: str = ""
    part: str = ""
    dates: str = ""
    most: int = 0
    order: tuple[str, ...] = ()
    known: ColumnPlan | None = None


def kind_of(role: Role, natural: Kind) -> Kind:
    """How a column of a role is tested; truth values that are no text stay numbers."""
    if role in (Role.NUMERIC, Role.DATE, Role.ORDERED):
        return Kind.NUMERIC
    return Kind.CATEGORICAL if role is Role.CATEGORICAL else natural


def check_roles(roles: Mapping[str, str] | Plan | None, names: Sequence[str]) -> dict[str, Wish]:
    """Return the roles that the user asks for, refusing unknown names and roles.

    Of a plan, those of its columns that are there and that are more than plain numbers.
    """
    if isinstance(roles, Plan):
        return {c.name: Wish(c.role, known=c) for c in roles if c.name in names and c.is_special}
    if roles is not None and not isinstance(roles, Mapping):
        raise InputError(
            f"'roles' must map columns to roles, got {type(roles).__name__}; "
            "write {'age': 'numeric'}."
        )
    wishes = {}
    for name, role in (roles or {}).items():
        if name not in names:
            raise unknown_column(name, names)
        wishes[name] = _wish(name, role)
    return wishes


def unread_columns(roles: Any) -> tuple[str, ...]:
    """The columns that are no features by the words of the user, who need not be right."""
    if isinstance(roles, Plan):
        return tuple(column.name for column in roles.not_used if column.role is not Role.CONSTANT)
    if not isinstance(roles, Mapping):
        return ()
    unused = [str(role) for role in Role if not role.is_used]
    return tuple(name for name, role in roles.items() if isinstance(role, str) and role in unused)


def _wish(name: str, spelt: Any) -> Wish:
    head, colon, rest = spelt.partition(":") if isinstance(spelt, str) else ("", "", "")
    if head in SETTABLE and not (colon and not rest):
        role = Role(head)
        if not colon:
            return Wish(role)
        if role is Role.NUMERIC and rest in MARKS:
            return Wish(role, decimal=MARKS[rest])
        if role is Role.DATE and rest in PARTS:
            return Wish(role, part=rest)
        if role is Role.DATE and rest in DATE_FORMS:
            return Wish(role, dates=rest)
        if role is Role.CATEGORICAL and rest.isdecimal() and int(rest) > 0:
            return Wish(role, most=int(rest))
        order = tuple(level.strip() for level in rest.split("<"))
        if role is Role.ORDERED and len(order) > 1 and len(set(order)) == len(order):
            return Wish(role, order=order)
    raise InputError(f"roles[{name!r}] must be {_SPELLINGS}; got {spelt!r}.")


def check_missing(missing: Any, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return the cells that the user says are missing values, for each column.

    `missing` is a value, a list of values for all columns, or a mapping of columns to them.
    """
    if missing is None:
        return {}
    if isinstance(missing, Mapping):
        for name in missing:
            if name not in names:
                raise unknown_column(name, names)
        return {name: _cells(cells, f"missing[{name!r}]") for name, cells in missing.items()}
    cells = _cells(missing, "'missing'")
    return dict.fromkeys(names, cells)


def _cells(cells: Any, what: str) -> tuple[Any, ...]:
    given = [cells] if isinstance(cells, str | Real) else cells
    if not isinstance(given, Sequence | set | frozenset) or not all(
        isinstance(cell, str | Real) and not isinstance(cell, bool) and cell == cell
        for cell in given
    ):
        raise InputError(f"{what} must be a list of texts and numbers, got {cells!r}.")
    out: list[Any] = []
    for cell in given:
        out.append(cell)
        if isinstance(cell, str):
            try:
                out.append(float(cell))  # `--missing 9999` is meant for columns of numbers, too
            except ValueError:
                continue
        else:
            out += [float(cell), f"{cell:g}", str(cell)]
    return tuple(dict.fromkeys(out))


@dataclass(frozen=True)
class Unread:
    """Cells that hold nothing that fits their column, and are read as missing.

    Attributes
    ----------
    count : int
        Rows with such cells.
    what : str
        What was expected: "number", "date" or "level".
    cell : str
        One of them.
    row : int or None
        The first row with one, counted from 0; None where rows have no order, and where the line
        of a file that is read in pieces is known.
    line : int or None
        The line of that row in the text file that the table came from; the names are on line 1.
    file : str
        The file, where there are several.
    """

    count: int
    what: str
    cell: str
    row: int | None = None
    line: int | None = None
    file: str = ""

    def __str__(self) -> str:
        cell = repr(self.cell if len(self.cell) <= 30 else self.cell[:29] + "…")
        if self.line is not None:
            cell += f" in line {self.line:,}"
        elif self.row is not None:
            cell += f" in row {self.row:,}"
        cell += f" of {self.file}" if self.file else ""
        if self.count == 1:
            return f"1 cell is no {self.what} and read as missing: {cell}"
        return f"{self.count:,} cells are no {self.what}s and read as missing, such as {cell}"


@dataclass(frozen=True)
class ColumnPlan:
    """What one column is taken for.

    Attributes
    ----------
    name : str
    role : Role
    why : str
        What speaks for the role.
    changes : tuple of str
        What was done to cells, one sentence each, with the number of rows.
    warnings : tuple of str
        What a person should look at.
    unread : Unread or None
        Cells that hold nothing that fits.
    cleaning : Cleaning or None
        How cells become values; None where they are taken as they are.
    unproven : str
        The conditions on the column that the proof of a rule says nothing about.
    """

    name: str
    role: Role
    why: str
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: Unread | None = None
    cleaning: Cleaning | None = None
    unproven: str = ""

    @property
    def is_used(self) -> bool:
        """Whether rules may use the column."""
        return self.role.is_used

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to say about the column but its role."""
        return self.is_used and not (self.changes or self.warnings or self.unread or self.unproven)

    @property
    def is_special(self) -> bool:
        """Whether the column is more than plain numbers or dates of a type of their own."""
        plain = self.role in (Role.NUMERIC, Role.DATE, Role.CONSTANT) and self.cleaning is None
        return not plain

    def remarks(self) -> list[str]:
        """What there is to say, one sentence each, the most important first."""
        first = [] if self.is_used else [f"not used: {self.why}"]
        unread = [] if self.unread is None else [str(self.unread)]
        last = [self.unproven] if self.unproven else []
        told = [f"warning: {each}" for each in (*self.warnings, *unread)]
        return [*first, *told, *self.changes, *last]

    def to_dict(self) -> dict[str, Any]:
        """The plan of the column as plain data."""
        data: dict[str, Any] = {"column": self.name, "role": str(self.role), "why": self.why}
        if self.changes:
            data["changes"] = list(self.changes)
        if self.warnings:
            data["warnings"] = list(self.warnings)
        if self.unread is not None:
            data["unread"] = asdict(self.unread)
        if self.cleaning is not None:
            data["cleaning"] = self.cleaning.to_dict()
        if self.unproven:
            data["unproven"] = self.unproven
        return data


class NotUsed(InputError):
    """A column that is no feature, where one is needed.

    Attributes
    ----------
    for_terminal : str
        The same sentence for the command line, with its option.
    """

    def __init__(self, column: ColumnPlan, before: str = "") -> None:
        said = (
            f"{before}column {column.name!r} is not used: its role is {str(column.role)!r} "
            f"({column.why}); give it another one, as in "
        )
        self.for_terminal = f"{said}--role {shlex.quote(f'{column.name}=categorical')}."
        super().__init__(f"{said}roles={{{column.name!r}: 'categorical'}}.")


@dataclass(frozen=True)
class Plan:
    """The plans of all columns but the target, in the order of the table.

    Examples
    --------
    >>> from opdt.table import Table
    >>> prices = [f"{n} €" for n in range(20, 50)]
    >>> table = Table.build({"order_id": range(30), "price": prices}, [0, 1] * 15, warn=False)
    >>> print(table.plan)
    1 used: 1 numeric; 1 not used: 1 id
    order_id  id       not used: its name says so, and all 30 values differ
    price     numeric  numbers read out of text such as '20 €'
    """

    columns: tuple[ColumnPlan, ...] = field(default=())

    def __iter__(self) -> Iterator[ColumnPlan]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnPlan:
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_column(name, [column.name for column in self.columns])

    @property
    def not_used(self) -> tuple[ColumnPlan, ...]:
        """The columns that no rule may use."""
        return tuple(column for column in self.columns if not column.is_used)

    @property
    def remarkable(self) -> tuple[ColumnPlan, ...]:
        """The columns that are not used, were changed, or should be looked at."""
        return tuple(column for column in self.columns if not column.is_plain)

    @property
    def unproven(self) -> tuple[str, ...]:
        """What the proof of a rule says nothing about, a sentence for each such column."""
        return tuple(f"{c.name}: {c.unproven}." for c in self.columns if c.unproven)

    def summary(self) -> str:
        """How many columns have which role, in one line."""
        parts = []
        for words, is_used in (("used", True), ("not used", False)):
            some = Counter(str(c.role) for c in self.columns if c.is_used is is_used)
            if some:
                roles = ", ".join(f"{count} {role}" for role, count in some.items())
                parts.append(f"{sum(some.values())} {words}: {roles}")
        return "; ".join(parts)

    def rows(self, *, whole: bool = False) -> list[tuple[str, str, str]]:
        """Name, role and remark, one row for each remark; plain columns only if `whole`."""
        out = []
        for column in self.columns if whole else self.remarkable:
            remarks = column.remarks() or [column.why]
            out.append((column.name, str(column.role), remarks[0]))
            out += [("", "", remark) for remark in remarks[1:]]
        return out

    def to_list(self) -> list[dict[str, Any]]:
        """The plan as plain data."""
        return [column.to_dict() for column in self.columns]

    def __str__(self) -> str:
        rows = self.rows(whole=True)
        name, role = (max((len(row[at]) for row in rows), default=0) for at in (0, 1))
        lines = [f"{row[0]:{name}}  {row[1]:{role}}  {row[2]}" for row in rows]
        return "\n".join([self.summary(), *lines])
