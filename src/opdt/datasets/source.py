"""How a raw file is described: its columns, its classes, where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

ARCHIVE = "https://archive.ics.uci.edu"
CC_BY = "CC BY 4.0"
_NO_LEVELS: Mapping[str, str] = MappingProxyType({})


class FieldRole(StrEnum):
    """What a column of a raw file is used for."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    IDENTIFIER = "identifier"
    TARGET = "target"
    IGNORED = "ignored"


class FileLayout(StrEnum):
    """How the cells of a raw file are written."""

    CSV = "csv"
    SPACES = "spaces"
    ARFF = "arff"


@dataclass(frozen=True)
class DatasetField:
    """One column of a raw file; `levels` turns its codes into words."""

    name: str
    role: FieldRole
    levels: Mapping[str, str] = field(default_factory=dict)


def numeric(*names: str) -> tuple[DatasetField, ...]:
    """Return numeric columns with these names."""
    return tuple(DatasetField(name, FieldRole.NUMERIC) for name in names)


def categorical(*names: str, levels: Mapping[str, str] = _NO_LEVELS) -> tuple[DatasetField, ...]:
    """Return categorical columns with these names, all with the same words for their codes."""
    return tuple(DatasetField(name, FieldRole.CATEGORICAL, levels) for name in names)


def ignored(*names: str) -> tuple[DatasetField, ...]:
    """Return columns that the paper does not use."""
    return tuple(DatasetField(name, FieldRole.IGNORED) for name in names)


def identifier(name: str) -> tuple[DatasetField, ...]:
    """Return the column that names each row; a feature only when asked for."""
    return (DatasetField(name, FieldRole.IDENTIFIER),)


def target(name: str, classes: Mapping[str, str]) -> tuple[DatasetField, ...]:
    """Return the class column; the order of `classes` is the order the paper prints."""
    return (DatasetField(name, FieldRole.TARGET, classes),)


@dataclass(frozen=True)
class DatasetSource:
    """One dataset of the paper: raw file, columns, origin.

    Attributes
    ----------
    name, title : str
        The name used in code, and the name in the paper's dataset table.
    file : str
        File name as the archive spells it.
    sha256 : str
        Checksum of the raw file.
    fields : tuple of DatasetField
        Columns in file order.
    about, citation, licence : str
        What a row is and what the classes mean, whom to cite, under which terms.
    urls : tuple of str
        Where the file is downloaded from, tried in order; a ``.zip`` must contain `file`.
        Empty when it has to be supplied by hand.
    by_hand : str
        How to get the file where there is no URL.
    layout : FileLayout
        How the cells are written.
    header : bool
        Whether the first line holds column names.
    skip_lines : frozenset of int
        Lines (1-based) that are malformed beyond repair.
    missing_is_level : bool
        Keep the missing mark ``?`` of categorical columns as one more level, so that only
        missing numbers drop a row.
    paper_categorical : tuple of str
        Columns numeric by nature that must be categorical to match the paper's counts.
    """

    name: str
    title: str
    file: str
    sha256: str
    fields: tuple[DatasetField, ...]
    about: str
    citation: str
    licence: str = CC_BY
    urls: tuple[str, ...] = ()
    by_hand: str = ""
    layout: FileLayout = FileLayout.CSV
    header: bool = False
    skip_lines: frozenset[int] = frozenset()
    missing_is_level: bool = False
    paper_categorical: tuple[str, ...] = ()

    @property
    def target(self) -> DatasetField:
        """The class column."""
        return next(f for f in self.fields if f.role is FieldRole.TARGET)

    @property
    def class_order(self) -> tuple[str, ...]:
        """Class labels in the order in which the paper prints their counts."""
        return tuple(dict.fromkeys(self.target.levels.values()))


def archive_urls(path: str, zipped: str) -> tuple[str, str]:
    """Return the two addresses of a file in the UCI archive: the file itself, its zip."""
    return (
        f"{ARCHIVE}/ml/machine-learning-databases/{path}",
        f"{ARCHIVE}/static/public/{zipped}.zip",
    )
