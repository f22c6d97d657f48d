"""What every column is, agreed over all files before a row is read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from opdt.errors import InputError
from opdt.scale.scanner import PartitionSource
from opdt.table import Cleaning, ColumnPlan, Kind, Plan, Role
from opdt.table.kinds import unknown_column
from opdt.table.roles import kind_of
from opdt.table.typed import Held

UNITS = ("D", "s", "ms", "us", "ns")  # of dates, from coarse to fine
_ORDER = b"opdt.order"


@dataclass(frozen=True)
class Layout:
    """How one column is read: its kind, and the type that all files' types are cast to.

    `family` is "int", "float", "date", "text" or "null" (missing everywhere).
    """

    name: str
    kind: Kind
    family: str
    unit: str = ""  # of dates
    zone: str = ""  # of dates that are instants: "UTC"
    truth: bool = False  # true and false in every file
    labelled: bool = False  # of a type of categories in some file
    order: tuple[str, ...] = ()  # of the categories, where their type has one
    cleaning: Cleaning | None = None  # what makes values of cells
    has_unread: bool = False  # some cells cannot be read so

    @property
    def held(self) -> Held:
        """What the type says that the column holds."""
        sorts = {"date": "date", "text": "text", "null": "nothing"}
        sort = "truth" if self.truth else sorts.get(self.family, "number")
        return Held("category" if self.labelled else sort, self.order, zone=self.zone)

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type that values are cast to."""
        if self.family == "date":
            return pa.date32() if self.unit == "D" else pa.timestamp(self.unit)
        return {
            "int": pa.int64(), "float": pa.float64(), "text": pa.large_string(), "null": pa.null()
        }[self.family]  # fmt: skip

    @property
    def numpy(self) -> np.dtype:
        """The NumPy type of the values of a numeric column."""
        if self.family == "date":
            return np.dtype(f"datetime64[{self.unit}]")
        return np.dtype(np.int64 if self.family == "int" else np.float64)


@dataclass(frozen=True)
class Schema:
    """The features in order, the target and the weights; `idle` features stand in no rule."""

    features: tuple[Layout, ...]
    target: Layout
    weight: str | None = None
    idle: frozenset[int] = frozenset()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that are read."""
        names = (*(layout.name for layout in self.features), self.target.name)
        return names if self.weight is None else (*names, self.weight)


def agree(
    sources: Sequence[PartitionSource],
    target: str,
    *,
    weight: str | None = None,
    plan: Plan | None = None,
    features: Sequence[str] | None = None,
    unread: Collection[str] = (),
) -> Schema:
    """The schema of all sources together; a column that differs in kind is refused.

    Columns that are `unread`, as they are no features, may hold whatever they do.
    """
    if not sources:
        raise InputError("there is no file or partition to read; name at least one.")
    names = tuple(sources[0].schema.names)
    for source in sources:
        _check_names(sources[0], source)
    for name in (target, *([weight] if weight else []), *(features or ())):
        if name not in names:
            raise unknown_column(name, names)
    wanted = [n for n in features or names if n not in (target, weight)]
    if not wanted:
        raise InputError("the files have no columns to make rules of beside the target.")
    if plan is None:
        nothing = {name: Layout(name, Kind.CATEGORICAL, "null") for name in unread}
        layouts = [nothing.get(name) or _layout(sources, name) for name in wanted]
    else:
        kept = {c.name: c for c in plan if c.is_used or c.role is Role.CONSTANT}
        layouts = [_planned(_layout(sources, name), kept[name]) for name in wanted if name in kept]
    return Schema(tuple(layouts), _layout(sources, target), weight)


def _planned(layout: Layout, plan: ColumnPlan) -> Layout:
    """The layout of a column after it is cleaned."""
    cleaning, family, unit = plan.cleaning, layout.family, layout.unit
    if cleaning is not None and layout.family == "text":
        if cleaning.form == "number":
            family = "float"
        elif cleaning.form == "whole":
            family = "int"
        elif cleaning.form == "date":
            family, unit = "date", "us"
        elif cleaning.order:
            family = "int"
    if cleaning is not None and cleaning.part:
        family, unit = "int", ""
    kind = kind_of(plan.role, layout.kind)
    unread = plan.unread is not None
    return replace(
        layout, kind=kind, family=family, unit=unit, cleaning=cleaning, has_unread=unread
    )


def _check_names(first: PartitionSource, other: PartitionSource) -> None:
    names, others = first.schema.names, other.schema.names
    twice = {name for name in others if others.count(name) > 1}
    if twice:
        raise InputError(f"{other.name} has duplicate column names: {min(twice)!r}; rename them.")
    gone = sorted(set(names) ^ set(others))
    if gone:
        holder, lacking = (first, other) if gone[0] in names else (other, first)
        raise InputError(
            f"column {gone[0]!r} is in {holder.name} but not in {lacking.name}; "
            "every file must have the same columns."
        )


def _layout(sources: Sequence[PartitionSource], name: str) -> Layout:
    families: dict[str, PartitionSource] = {}
    units: set[str] = set()
    labelled, truth, zone = False, True, ""
    order: tuple[str, ...] = ()
    for source in sources:
        dtype = source.schema.field(name).type
        order = order or order_of(source.schema.field(name))
        if pa.types.is_dictionary(dtype):
            dtype, labelled = dtype.value_type, True
        family = family_of(dtype, name, source.name)
        truth = truth and pa.types.is_boolean(dtype)
        if family == "date":
            units.add(dtype.unit if pa.types.is_timestamp(dtype) else "D")
            zone = "UTC" if getattr(dtype, "tz", None) is not None else zone
        if family != "null":
            families.setdefault(family, source)
    family = _common(families, name)
    natural = Kind.CATEGORICAL if labelled or family == "text" else Kind.NUMERIC
    unit = max(units, key=UNITS.index) if units else ""
    return Layout(name, natural, family, unit, zone, truth, labelled, order)


def ordered_field(field: pa.Field, levels: Sequence[str]) -> pa.Field:
    """A field of categories that says how they are ordered, from the lowest to the highest."""
    return field.with_metadata({_ORDER: json.dumps(list(levels))})


def order_of(field: pa.Field) -> tuple[str, ...]:
    """The order that `ordered_field` has noted; none elsewhere."""
    return tuple(json.loads((field.metadata or {}).get(_ORDER, b"[]")))


def _common(families: Mapping[str, PartitionSource], name: str) -> str:
    """The family that holds all; text, numbers and dates have none in common."""
    sorts = {"int": "numbers", "float": "numbers", "date": "dates", "text": "text"}
    for one, source in families.items():
        for two, other in families.items():
            if sorts[one] != sorts[two]:
                raise InputError(
                    f"column {name!r} holds {sorts[one]} in {source.name} but {sorts[two]} in "
                    f"{other.name}; make it the same in every file."
                )
    if len(families) == 2:  # whole numbers in some files, fractions in others
        return "float"
    return next(iter(families), "null")


def family_of(dtype: pa.DataType, column: str, source: str) -> str:
    """The family of an Arrow type."""
    kinds = pa.types
    if kinds.is_null(dtype):
        return "null"
    if kinds.is_boolean(dtype) or kinds.is_integer(dtype):
        return "int"
    if kinds.is_floating(dtype) or kinds.is_decimal(dtype):
        return "float"
    if kinds.is_timestamp(dtype) or kinds.is_date(dtype):
        return "date"
    if kinds.is_string(dtype) or kinds.is_large_string(dtype) or kinds.is_string_view(dtype):
        return "text"
    raise InputError(
        f"column {column!r} of {source} has the type {dtype}, which is neither number, date nor "
        "text; convert it or leave it out."
    )
