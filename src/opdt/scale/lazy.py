"""A rule put to all rows of partitions, in one pass."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.optional import require
from opdt.rules import Rule, RuleSet
from opdt.scale.front import open_scanner
from opdt.scale.keys import column_of, weight_values
from opdt.scale.local import BATCH_ROWS, LocalScanner, open_fragment
from opdt.scale.scanner import Parts, ScanTask
from opdt.scale.schema import Layout, Schema, agree
from opdt.scale.texts import TextPart
from opdt.table.kinds import unknown_column
from opdt.table.places import is_remote


def covered_rows(rule: Rule | RuleSet, paths: Any, *, threads: int = 1) -> NDArray[np.bool_]:
    """Rows of files on which a rule fires, in the order of the files; one byte for each row.

    Parameters
    ----------
    paths : pattern, folder or list of paths
        Only the rule's own columns are read, a piece at a time.
    """
    scanner = open_scanner(paths, n_jobs=threads)
    for source in scanner.sources():
        for feature in rule.features:
            if feature not in source.schema.names:
                raise unknown_column(feature, tuple(source.schema.names))
    any_column = scanner.sources()[0].schema.names[:1]
    marks = scanner.scan(_Marks(rule, rule.features or tuple(any_column)), _unwatched)
    return np.concatenate([marks[place] for place in sorted(marks, key=int)])


def covered_weights(
    rule: Rule | RuleSet, source: Any, y: str, classes: tuple[Any, ...], weight: str | None = None
) -> NDArray[np.float64]:
    """The weight of the covered rows of each class, shape (n_classes,); without weights, rows.

    Parameters
    ----------
    source, y, weight
        As `source`, `y` and `sample_weight` of `discover_partitioned`.
    classes : tuple
        The classes in order, all that occur.
    """
    scanner = open_scanner(source)
    target = agree(scanner.sources(), y, weight=weight).target
    return np.asarray(scanner.scan(_Tally(rule, target, classes, weight), _unwatched)["weights"])


def _unwatched(done: int, parts: int) -> None:
    """No limit and nobody to tell."""


@dataclass(frozen=True)
class _Marks(ScanTask):
    """The covered rows of each partition, under its number."""

    rule: Rule | RuleSet
    columns: tuple[str, ...]

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        marks = [np.zeros(0, bool), *(self.rule.covers(batch) for batch in batches)]
        return {str(place): np.concatenate(marks)}

    def merge(self, one: Parts, two: Parts) -> Parts:
        return one | two


@dataclass(frozen=True)
class _Tally(ScanTask):
    """The weight of the covered rows of each class."""

    rule: Rule | RuleSet
    target: Layout
    classes: tuple[Any, ...]
    weight: str | None

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        more = () if self.weight is None else (self.weight,)
        return (*self.rule.features, self.target.name, *more)

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        known = pa.array(self.classes).cast(self.target.arrow)
        total = np.zeros(len(self.classes))
        for batch in batches:
            codes = pc.index_in(column_of(batch, self.target), known).to_numpy()
            fires = self.rule.covers(batch)
            weights = (
                np.ones(len(codes)) if self.weight is None else weight_values(batch, self.weight)
            )
            total += np.bincount(codes[fires], weights[fires], len(total))
        return {"weights": total}

    def merge(self, one: Parts, two: Parts) -> Parts:
        return {"weights": one["weights"] + two["weights"]}


def dask_frame(files: Any, schema: Schema) -> Any:
    """A dask DataFrame of files that every worker can see under the same paths.

    Each partition is some row groups of a Parquet file, or a whole CSV file, with the types that
    the files agree on.
    """
    frames, pandas = _dask("dask.dataframe"), _dask("pandas")
    scanner = files if isinstance(files, LocalScanner) else LocalScanner(files)
    types = _common_types(scanner, schema)
    parts = scanner.parts(types.names)
    return frames.from_map(
        _read_part,
        [_anywhere(part.path) for part in parts],
        [part.groups for part in parts],
        [part.fragment if isinstance(part.fragment, TextPart) else None for part in parts],
        types=types,
        meta=types.empty_table().to_pandas(types_mapper=pandas.ArrowDtype),
    )


def _anywhere(path: str) -> str:
    """A path that means the same to a worker that was started elsewhere."""
    return path if is_remote(path) else os.path.abspath(path)


def _common_types(scanner: LocalScanner, schema: Schema) -> pa.Schema:
    """The type that a column has in all files; the one agreed on where files differ."""
    fields = []
    sources = scanner.sources()
    for layout in (*schema.features, schema.target):
        found = {source.schema.field(layout.name).type for source in sources}
        dtype = found.pop() if len(found) == 1 else layout.arrow
        plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        fields.append(pa.field(layout.name, plain))
    return pa.schema(fields)


def _read_part(
    path: str,
    groups: tuple[int, ...],
    text: TextPart | None,
    types: pa.Schema,
    columns: list[str] | None = None,
) -> Any:
    """Some columns of a piece of a file, opened where it is read."""
    names = types.names if columns is None else list(columns)
    wanted = pa.schema([types.field(name) for name in names])
    if text is None:
        table = open_fragment(path, groups).to_table(columns=names).cast(wanted)
    else:
        text = replace(text, file=replace(text.file, path=path))
        schema = pa.schema([text.physical_schema.field(name) for name in names])
        rows = pa.Table.from_batches(text.batches(names, BATCH_ROWS), schema)
        table = rows.cast(wanted)
    return table.to_pandas(types_mapper=_dask("pandas").ArrowDtype)


def _dask(module: str) -> Any:
    return require(module, "dask", "reading files with dask")
