"""The data of a command, and what its options ask for, in the words of the library."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opdt.errors import InputError

if TYPE_CHECKING:
    from opdt.objectives import Objective
    from opdt.table import Plan, Source, Table

STDIN = "-"


@contextmanager
def on_disk(data: str) -> Iterator[str]:
    """The file of the data; the standard input is first copied into one, which is then removed."""
    if data != STDIN:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="opdt-") as folder:
        copy = Path(folder) / "stdin.csv"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with copy.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        yield str(copy.rename(copy.with_suffix(".parquet")) if is_parquet else copy)


def read_data(data: str, written: Mapping[str, str | None]) -> Any:
    """The data frame of a file or of the standard input."""
    from opdt.table import read_frame

    with on_disk(data) as path:
        return read_frame(path, **dict[str, Any](written))


def open_data(data: str, written: Mapping[str, str | None]) -> Source:
    """The columns of a file or of the standard input."""
    from opdt.table import open_source

    return open_source(read_data(data, written))


def part_rows(frame: Any, share: float | None, seed: int) -> tuple[Any, Any]:
    """The rows of a frame without a random share of them, and that share; None for no share."""
    import narwhals as nw
    import numpy as np

    if share is None:
        return frame, None
    if not 0 < share < 1:
        raise InputError(f"'--hold-out' must be a share between 0 and 1, got {share:g}.")
    rows = nw.from_native(frame, eager_only=True)
    if not len(rows):
        raise InputError("the data have no rows, of which '--hold-out' could take some.")
    held = np.zeros(len(rows), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(rows))
    held[order[: round(share * len(rows))]] = True
    return rows.filter((~held).tolist()).to_native(), rows.filter(held.tolist()).to_native()


def roles_of(names: Sequence[str], given: Sequence[str] | None) -> dict[str, str]:
    """The roles of columns that the options ask for: 'age=numeric', 'a,b=ignored'."""
    roles = {}
    for text in given or ():
        some, equals, role = text.rpartition("=")
        if ":" in some and "<" in text:  # ordered:low<=… has no equals sign of its own
            some, equals, role = text.partition("=")
        if not equals or not some or not role:
            raise InputError(f"'--role' must look like 'age=numeric', got {text!r}.")
        roles.update(dict.fromkeys(columns([some], names), role.strip()))
    return roles


def missing_of(names: Sequence[str], given: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Cells that the options declare to be missing values, for each column."""
    cells: dict[str, list[str]] = {}
    for text in given or ():
        column, equals, cell = text.rpartition("=")
        for name in [column] if equals and column in names else names:
            cells.setdefault(name, []).append(cell if name == column else text)
    return cells or None


def build_table(
    source: Source,
    target: str | None,
    role: Sequence[str] | None = None,
    missing: Sequence[str] | None = None,
    plan: Plan | None = None,
    objective: Objective | None = None,
    keep: Sequence[str] = (),
) -> Table:
    """The table of a file's columns; those of a plan are read as it says.

    Columns that an objective names are no features.
    """
    from opdt.problem.arguments import resolve_table

    apart = set() if objective is None else set(objective.columns.values())
    names = [name for name in source.names if name != target and name not in apart]
    roles: Any = roles_of(names, role) if plan is None else plan
    cells = missing_of(names, missing) if plan is None else None
    table = resolve_table(
        source, target, None, roles, missing=cells, objective=objective, keep=keep
    )
    if all(column.n_values < 2 and not column.has_missing for column in table.columns):
        raise InputError("no column can tell rows apart: each holds one value in all rows.")
    if all(column.n_values == 0 for column in table.columns):
        raise InputError("no column beside the target holds a value; check the file.")
    return table


def class_of(table: Table, text: str) -> Any:
    """The class that is written like `text`, whatever type the classes have."""
    classes = table.classes.tolist()
    for read in (str, _loose):
        found = [known for known in classes if read(known) == read(text)]
        if len(found) == 1:
            return found[0]
    shown = ", ".join(map(str, classes[:10])) + (", …" if len(classes) > 10 else "")
    raise InputError(f"'--label' {text!r} is none of the classes, which are {shown}.")


def columns(given: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Column names of an option that may be repeated and may hold several, apart by commas."""
    found = []
    for text in given or ():
        found += [text] if text in names else [part.strip() for part in text.split(",")]
    return found


def direction_of(text: str) -> tuple[str, str]:
    """A feature and its operator: 'age >='."""
    for op in (">=", "<", "==", "!="):
        if text.rstrip().endswith(op):
            return text.rstrip().removesuffix(op).rstrip(), op
    raise InputError(f"'--direction' must end in '>=', '<', '==' or '!=', got {text!r}.")


def _loose(value: object) -> str:
    return str(value).casefold().removesuffix(".0")
