"""The data on the workbench: read, looked at, and divided into rows to learn and to judge by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.ranking import has_classes
from opdt.datasets import available
from opdt.datasets import load as load_raw
from opdt.datasets.registry import find
from opdt.errors import InputError
from opdt.optional import require
from opdt.report.formats import format_cell
from opdt.studio.best_in import CHOICES, BestIn, columns_of, strata_of
from opdt.studio.builtin import BUILT_IN, load_built_in
from opdt.studio.profiles import Profile, profile
from opdt.studio.readings import Readings
from opdt.studio.work import DataSource
from opdt.table import Kind, Plan, Role, open_source, read_frame
from opdt.table.frames import PandasSource, check_names
from opdt.table.planning import plan_raw
from opdt.table.raw import Raw
from opdt.table.roles import check_roles
from opdt.table.table import with_lines
from opdt.table.textfile import UTF8, examine, text_ending

PREVIEW_ROWS = 20
MAX_CLASSES = 50
_MOST_REMARKS = 8  # lines about columns, after which the plan is the place to look
_PLAIN_LEVELS = ("string", "integer", "floating", "boolean")


class Columns(PandasSource):
    """A data frame whose columns are read once, as many rules are put to the same rows."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self._read: dict[int, Raw] = {}

    def column(self, index: int) -> Raw:
        """Return one column's values, not coded."""
        if index not in self._read:
            self._read[index] = super().column(index)
        return self._read[index]


@dataclass(frozen=True, eq=False)
class RowPart:
    """Some rows of the data.

    Attributes
    ----------
    X : pandas.DataFrame of shape (n_rows, n_features)
        With the columns that an objective or a limit reads.
    y : pandas.Series of shape (n_rows,), or None
        The target; None where an objective names all columns that it reads.
    rows : ndarray of shape (n_rows,)
        Their positions in the whole.
    """

    X: Any
    y: Any
    rows: NDArray[np.intp]

    @cached_property
    def source(self) -> Columns:
        """The features, for whatever reads a rule's columns."""
        return Columns(self.X)

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The target as Python's own values, shape (n_rows,); all None where there is none."""
        found = np.full(len(self.rows), None, dtype=object)
        if self.y is not None:
            found[:] = self.y.tolist()
        return found


class RowSplit(NamedTuple):
    """The rows a rule is found on, and those that it is judged by, if any are held out."""

    train: RowPart
    held_out: RowPart | None


class Preview(NamedTuple):
    """The first rows as text; None is a missing cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


class DatasetChoice(NamedTuple):
    """A dataset that can be opened without a network."""

    name: str
    title: str
    about: str


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table that has been read, and what there is to see of it.

    Attributes
    ----------
    frame : pandas.DataFrame of shape (n_rows, n_columns)
        The features and the column of the classes.
    source : DataSource
    profiles : tuple of Profile
        One for each column, in order.
    plan : Plan
        What the content of each column suggests, the column of the classes included.
    target : str or None
        The column of the classes, where the data say which it is.
    notes : tuple of str
        What is worth knowing about the reading, such as a guessed encoding.
    levels : frozenset of str
        Columns whose type itself says that they hold levels.
    """

    frame: Any
    source: DataSource
    profiles: tuple[Profile, ...]
    plan: Plan
    target: str | None = None
    notes: tuple[str, ...] = ()
    levels: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(each.name for each in self.profiles)

    @cached_property
    def _by_name(self) -> dict[str, Profile]:
        return {each.name: each for each in self.profiles}

    @cached_property
    def readings(self) -> Readings:
        """How each column is read, or could be."""
        return Readings(self.plan, self._raw)

    def _raw(self, name: str) -> Raw:
        raw = self._columns.column(self.names.index(name))
        return replace(raw, is_declared=name in self.levels)

    def plan_for(self, roles: Mapping[str, str], missing: Sequence[str] = ()) -> Plan:
        """The plan where the expert overrides some of it, and says which cells are missing."""
        check_roles(roles, self.names)
        declared = tuple(missing)
        return Plan(
            tuple(self.readings.plan(name, roles.get(name), declared) for name in self.names)
        )

    def profile(self, name: str) -> Profile:
        """The profile of one column."""
        if name not in self._by_name:
            raise InputError(f"{self.source.name!r} has no column {name!r}.")
        return self._by_name[name]

    def preview(self, n_rows: int = PREVIEW_ROWS) -> Preview:
        """The first rows as text."""
        return Preview(self.names, self.cells(range(min(n_rows, len(self.frame)))))

    def cells(
        self, rows: Sequence[int] | NDArray[np.intp], columns: Sequence[str] | None = None
    ) -> tuple[tuple[str | None, ...], ...]:
        """The cells of some rows as text, row by row; None where they are missing."""
        at = np.asarray(rows, dtype=np.intp)
        wanted = self.names if columns is None else columns
        found = [_texts(self._columns.column(self.names.index(name)), at) for name in wanted]
        return tuple(zip(*found, strict=True)) if found else ()

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.frame)

    def classes(self, target: str) -> list[Any]:
        """The classes of a column in their order; one sentence if it cannot be the target."""
        return [each for each, _ in self.balance(target)]

    def balance(self, target: str) -> tuple[tuple[Any, int], ...]:
        """The classes of a column with their rows; rows without a class are left out."""
        if target not in self._balances:
            self._balances[target] = self._count(target)
        return self._balances[target]

    @cached_property
    def _balances(self) -> dict[str, tuple[tuple[Any, int], ...]]:
        return {}

    def _count(self, target: str) -> tuple[tuple[Any, int], ...]:
        self.profile(target)
        present = self.frame[target].dropna()
        counts = present.value_counts(sort=False)
        found = {_plain(each): int(n) for each, n in counts.items() if n}
        if len(found) < 2:
            only = f"only one class, {next(iter(found))!r}" if found else "no value"
            raise InputError(
                f"column {target!r} has {only}; choose a column with at least two classes."
            )
        if len(found) > MAX_CLASSES:
            other = "; choose another column."
            if self.is_number(target):
                other = f"; choose another column, or ask for {CHOICES['mean'].lower()}."
            raise InputError(
                f"column {target!r} has {len(found):,} different values, and a column of classes "
                f"has at most {MAX_CLASSES}{other}"
            )
        return tuple(sorted(found.items(), key=lambda pair: (str(type(pair[0])), pair[0])))

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers, as it is read."""
        plan = self.readings.suggested(name)
        is_date = plan.role is Role.DATE or self.frame[name].dtype.kind == "M"
        return self.readings.kind(name) is Kind.NUMERIC and not is_date

    def values(self, name: str) -> Any:
        """A column as it is, or its numbers where they are written as text; a pandas.Series."""
        self.profile(name)
        cleaning = self.readings.suggested(name).cleaning
        if cleaning is None or not self.is_number(name):
            return self.frame[name]
        pandas = require("pandas", "studio", "opdt studio")
        return pandas.Series(_series(pandas, cleaning.apply(self._raw(name))[0]), name=name)

    def levels_of(self, name: str, most: int) -> list[Any] | None:
        """The different values of a column in their order; None where there are more than these."""
        found = {_plain(each) for each in self.frame[name].dropna().unique()[: most + 1]}
        if len(found) > most:
            return None
        return sorted(found, key=lambda each: (str(type(each)), each))

    def split(
        self,
        target: str | None,
        *,
        held_out: float = 0.3,
        seed: int = 0,
        ignored: Iterable[str] = (),
        objective: BestIn = "vi",
        kept: Iterable[str] = (),
    ) -> RowSplit:
        """The rows with a target, divided at random and alike in every class.

        Rows that lack a value of the target, or of a column that the objective reads, are left out.

        Parameters
        ----------
        target : str or None
            The column of the classes, or of the numbers; None where the objective needs none.
        held_out : float
            Share of the rows that are held out; 0 for none.
        seed : int
        ignored : iterable of str
            Columns that are no features.
        objective : str or Objective
            What the rule is to be best in.
        kept : iterable of str
            Columns that are to be there even if they are ignored.
        """
        if has_classes(objective) and target is not None:
            self.balance(target)
        read = columns_of(objective)
        gone = {*ignored, target}
        features = [name for name in self.names if name not in gone]
        if not set(features) - set(read):
            raise InputError("no column is left to make rules of; use one of those ignored.")
        shown = [n for n in self.names if n != target and n in {*features, *read, *kept}]
        frame = self.frame[shown].assign(**{name: self.values(name) for name in read})
        y = None if target is None else self.values(target)
        if has_classes(objective) and target is not None:
            y = self.frame[target]
        there = np.ones(len(frame), dtype=bool)
        for column in ([] if y is None else [y]) + [frame[name] for name in read]:
            there &= column.notna().to_numpy()
        known = np.flatnonzero(there)
        if not len(known):
            named = ", ".join(map(repr, (*((target,) if target else ()), *read)))
            raise InputError(f"no row has a value in {named}; choose another column.")
        by = strata_of(objective, target)
        strata = [""] * len(known) if by is None else self.frame[by].iloc[known].tolist()
        held = hold_out(strata, held_out, seed)
        parts = [
            RowPart(frame.iloc[rows], None if y is None else y.iloc[rows], rows)
            for rows in (known[~held], known[held])
        ]
        return RowSplit(parts[0], parts[1] if held.any() else None)


def hold_out(labels: Sequence[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Which rows are held out: this share of each class, and of all; shape (n_rows,).

    Shares of rows are given to the classes with the largest remainders, and every class keeps
    a row to learn from.
    """
    codes = np.unique([str(each) for each in labels], return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(codes))
    counts = np.bincount(codes)
    wanted = share * counts
    taken = np.floor(wanted).astype(int)
    left = round(share * len(codes)) - int(taken.sum())
    taken[np.argsort(taken - wanted, kind="stable")[: max(0, left)]] += 1
    taken = np.minimum(taken, counts - 1)
    held = np.zeros(len(codes), dtype=bool)
    for code, n_taken in enumerate(taken.tolist()):
        held[order[codes[order] == code][:n_taken]] = True
    return held


def load_file(path: str | Path, name: str | None = None, sha256: str | None = None) -> Loaded:
    """The table of a CSV or Parquet file.

    Parameters
    ----------
    path : str or path
        The ending says what the file holds; how a text is written is guessed.
    name : str, optional
        What the user calls the file; messages and projects know it by this name.
    sha256 : str, optional
        The checksum that the file must have.
    """
    path = Path(path)
    name = path.name if name is None else name
    if not path.is_file():
        raise InputError(f"there is no file {name!r}.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 is not None and found != sha256:
        raise InputError(f"{name!r} is not the file that is wanted: its content differs.")
    try:
        encoding = _unusual_encoding(path)
        frame = read_frame(path, encoding=encoding)
    except InputError as error:
        # The user knows the file by its name, and the path is nobody's business.
        reason = str(error).replace(repr(str(path)), repr(name)).replace(str(path), name)
        raise InputError(reason) from None
    note = f"{name!r} is not in UTF-8 and was read as {encoding}; check letters with accents."
    return loaded_frame(frame, name, sha256=found, notes=() if encoding is None else (note,))


def load_dataset(name: str) -> Loaded:
    """One of the datasets of `datasets()`, which takes no network."""
    if name in BUILT_IN:
        return loaded_frame(load_built_in(name), name, target=BUILT_IN[name].target)
    source = find(name)
    if name not in [choice.name for choice in datasets()]:
        raise InputError(
            f"the data of {source.title!r} are not on this computer; "
            f"run: opdt datasets fetch {name}"
        )
    data = load_raw(name)
    frame = data.X.assign(**{str(data.y.name): data.y})
    return loaded_frame(frame, name, target=str(data.y.name))


def datasets() -> list[DatasetChoice]:
    """The datasets that are on this computer, those of scikit-learn first."""
    always = [DatasetChoice(name, each.title, each.about) for name, each in BUILT_IN.items()]
    fetched = [
        DatasetChoice(each.name, each.title, each.about)
        for each in available()
        if each.path is not None
    ]
    return always + fetched


def loaded_frame(
    data: Any,
    name: str,
    *,
    sha256: str | None = None,
    target: str | None = None,
    notes: tuple[str, ...] = (),
) -> Loaded:
    """The table of any data frame; those that have no checksum count as datasets."""
    source = open_source(data)
    check_names(source.names)
    if len(source.names) < 2:
        only = f", {_short(source.names[0])}" if source.names else ""
        raise InputError(
            f"{name!r} has {len(source.names)} column{only}, and a table needs one of classes and "
            "at least one more; check how its columns are separated."
        )
    if source.n_rows == 0:
        raise InputError(f"{name!r} has no rows.")
    pandas = require("pandas", "studio", "opdt studio")
    columns: dict[str, Any] = {}
    profiles, plans, levels = [], [], set()
    for index, column in enumerate(source.names):
        raw = source.column(index)
        if raw.is_declared:
            levels.add(column)
        plans.append(plan_raw(column, raw)[0])
        cleaning = plans[-1].cleaning
        profiles.append(profile(column, raw if cleaning is None else cleaning.apply(raw)[0]))
        # Cells that are to be cleaned stay as they are, for a script that reads them again.
        columns[column] = _series(pandas, raw) if cleaning is None else pandas.Series(raw.values)
    frame = pandas.DataFrame(columns)
    known = DataSource(
        "dataset" if sha256 is None else "file", name, sha256, source.n_rows, len(source.names)
    )
    plan = Plan(tuple(with_lines(plans, source)))
    said = (*notes, *_remarks(plan, target))
    return Loaded(frame, known, tuple(profiles), plan, target, said, frozenset(levels))


def _remarks(plan: Plan, target: str | None) -> list[str]:
    """What a person should know about columns; what is only cleaned is not worth a line."""
    found = [
        f"{_short(column.name)}: {remark}."
        for column in plan.remarkable
        if column.name != target and column.role is not Role.CONSTANT
        for remark in column.remarks()
        if not column.is_used or column.unread is not None
    ]
    return found[:_MOST_REMARKS]


def _series(pandas: Any, raw: Raw) -> Any:
    """A column of the same kind and values whatever library has read it."""
    if raw.kind is Kind.CATEGORICAL:
        cells = pandas.Categorical(raw.values)
        if cells.categories.inferred_type not in _PLAIN_LEVELS:
            return pandas.Series(raw.values, dtype=object)
        if cells.categories.inferred_type == "string":
            # Out of a level that Arrow holds, pandas would make a text of its own for every cell.
            return cells.rename_categories(cells.categories.astype(object))
        return cells
    if raw.missing is None or raw.values.dtype.kind in "fM":
        return raw.values
    if raw.values.dtype.kind == "b":
        return pandas.arrays.BooleanArray(raw.values, raw.missing)
    return pandas.arrays.IntegerArray(raw.values, raw.missing)


def _texts(raw: Raw, rows: NDArray[np.intp]) -> list[str | None]:
    gone = raw.mask[rows]
    return [
        None if none else format_cell(each)
        for each, none in zip(raw.values[rows], gone, strict=True)
    ]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _unusual_encoding(path: Path) -> str | None:
    """The encoding of a text in eight bits, which is a guess that the user should know of."""
    if text_ending(path) is None:
        return None
    guessed = examine(path).encoding
    return None if guessed in (UTF8, "utf-16") else guessed


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
