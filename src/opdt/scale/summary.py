"""The first pass: counts, levels, few distinct values, ranges, and a uniform sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.errors import UnsupportedProblem
from opdt.objectives.gains import SCALES
from opdt.scale.keys import (
    MISSING,
    column_of,
    levels_in,
    numeric_keys,
    slices,
    unread_cells,
    weight_values,
)
from opdt.scale.scanner import Parts, ScanTask
from opdt.scale.schema import Layout, Schema
from opdt.table import Kind
from opdt.table.raw import BadRows

FEW_VALUES = 250  # distinct values up to which a numeric column is known exactly
MAX_CLASSES = 200
MAX_LEVELS = 20_000
BATCH_ROWS = 1 << 17
PRIORITY = "__opdt_priority"
# The first cell of a column that cannot be read, and how many there are.
UNREAD = pa.schema(
    [("place", pa.int64()), ("row", pa.int64()), ("cell", pa.string()), ("count", pa.int64())]
)


@dataclass(frozen=True)
class Summary(ScanTask):
    """What is needed before any cell can be counted.

    The sample is uniform and merges exactly: every row draws a priority, a partition sends the
    rows of its smallest ones, and only rows below the smallest cut of any partition are kept.
    Quantiles read from m sampled rows are off by more than e with probability at most
    2 exp(-2 m e²) (Dvoretzky–Kiefer–Wolfowitz): half a percent for 100,000 rows. They only
    decide where cells end, never what is proven.
    """

    schema: Schema
    n_sample: int
    n_send: int  # rows that one partition sends at most
    seed: int = 0

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """All columns."""
        return self.schema.columns

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """The summary of one partition."""
        total = self._nothing()
        rng = np.random.default_rng([self.seed, place + 1])
        for table in slices(batches, BATCH_ROWS):
            start = int(total["rows"][0])
            try:
                found = self._batch(table, rng, total)
            except BadRows as error:
                raise error.behind(start) from None
            for f, layout in enumerate(self.schema.features):
                if layout.has_unread:
                    found[f"unread{f}"] = _first_unread(table, layout, place, start)
            total = self._merged(total, found, self.n_send)
        return total

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Counts add up, levels and values are united, samples are cut at the same priority."""
        return self._merged(one, two, self.n_sample)

    def _nothing(self) -> Parts:
        schema = self.schema
        parts: Parts = {
            "rows": np.zeros(1, np.int64),
            "absent": np.zeros(len(schema.features), np.int64),
            "cut": np.ones(1),
            "weight": np.zeros(1),
            "whole": np.ones(len(SCALES), bool),
            "classes": _counts(pa.chunked_array([], schema.target.arrow), None),
        }
        for f, layout in enumerate(schema.features):
            if layout.has_unread:
                parts[f"unread{f}"] = UNREAD.empty_table()
            if layout.kind is Kind.CATEGORICAL:
                counts = pa.array([], pa.int64())
                parts[f"levels{f}"] = pa.table(
                    {"level": pa.array([], layout.arrow), "count": counts}
                )
            else:
                parts[f"values{f}"] = np.empty(0, np.int64)
                parts[f"range{f}"] = np.empty(0, np.int64)
        return parts

    def _batch(self, table: pa.Table, rng: np.random.Generator, known: Parts) -> Parts:
        schema = self.schema
        labels = column_of(table, schema.target)
        if labels.null_count:
            gone = labels.is_null().to_numpy()
            what = f"the target column {schema.target.name!r} has missing labels"
            raise BadRows(what, gone, "; drop those rows.")
        weights = None if schema.weight is None else weight_values(table, schema.weight)
        parts: Parts = {
            "rows": np.array([table.num_rows]),
            "absent": np.zeros(len(schema.features), np.int64),
            "weight": np.array([0.0 if weights is None else weights.sum()]),
            "whole": np.array(
                [weights is None or bool((np.rint(weights * s) / s == weights).all())
                 for s in SCALES]
            ),
            "classes": _counts(labels, weights),
        }  # fmt: skip
        for f, layout in enumerate(schema.features):
            if layout.kind is Kind.CATEGORICAL and f in schema.idle:
                parts[f"levels{f}"] = known[f"levels{f}"]  # none: nobody asks for them
                continue
            if layout.kind is Kind.CATEGORICAL:
                levels = levels_in(table, layout)
                parts["absent"][f] = levels.column("level").null_count
                parts[f"levels{f}"] = levels.filter(pc.is_valid(levels.column("level")))
                continue
            keys = numeric_keys(table.column(layout.name), layout)
            present = keys != MISSING
            parts["absent"][f] = len(keys) - np.count_nonzero(present)
            keys = keys[present] if parts["absent"][f] else keys
            ends = [keys.min(), keys.max()] if len(keys) else []
            parts[f"range{f}"] = np.array(ends, np.int64)
            many = len(known[f"values{f}"]) > FEW_VALUES  # then no more need be known
            parts[f"values{f}"] = known[f"values{f}"] if many else _few(keys)
        priority = rng.random(table.num_rows)
        cut = min(float(known["cut"][0]), _cut(priority, self.n_send))
        kept = np.flatnonzero(priority <= cut)
        parts["cut"] = np.array([cut])
        parts["sample"] = _plain(table.take(kept), schema).append_column(
            PRIORITY, pa.array(priority[kept])
        )
        return parts

    def _merged(self, one: Parts, two: Parts, limit: int) -> Parts:
        out: Parts = {
            "rows": one["rows"] + two["rows"],
            "absent": one["absent"] + two["absent"],
            "weight": one["weight"] + two["weight"],
            "whole": one["whole"] & two["whole"],
            "classes": _add_counts(one["classes"], two["classes"]),
        }
        if len(out["classes"]) > MAX_CLASSES:
            raise UnsupportedProblem(
                f"the target {self.schema.target.name!r} has more than {MAX_CLASSES} classes, too "
                "many for partitions; group the rare ones."
            )
        for f, layout in enumerate(self.schema.features):
            if layout.has_unread:
                out[f"unread{f}"] = _earlier(one[f"unread{f}"], two[f"unread{f}"])
            if layout.kind is Kind.CATEGORICAL:
                both = pa.concat_tables([one[f"levels{f}"], two[f"levels{f}"]])
                summed = both.group_by("level").aggregate([("count", "sum")])
                out[f"levels{f}"] = summed.rename_columns({"count_sum": "count"})
                if len(out[f"levels{f}"]) > MAX_LEVELS:
                    raise UnsupportedProblem(
                        f"column {layout.name!r} has more than {MAX_LEVELS} levels, too many for "
                        "partitions; forbid it, leave it out, or merge rare levels."
                    )
                continue
            values = np.union1d(one[f"values{f}"], two[f"values{f}"])
            out[f"values{f}"] = values[: FEW_VALUES + 1]
            ends = np.concatenate([one[f"range{f}"], two[f"range{f}"]])
            out[f"range{f}"] = np.array([ends.min(), ends.max()]) if len(ends) else ends
        out["cut"], sample = _join(one, two, limit)
        if sample is not None:
            out["sample"] = sample
        return out


def _first_unread(table: pa.Table, layout: Layout, place: int, start: int) -> pa.Table:
    """The first cell of a batch that cannot be read, where it is, and how many there are."""
    rows, cells = unread_cells(table.column(layout.name), layout)
    if not cells:
        return UNREAD.empty_table()
    first = {"place": place, "row": start + int(rows.argmax()), "cell": str(cells[0])}
    return pa.Table.from_pylist([{**first, "count": len(cells)}], UNREAD)


def _earlier(one: pa.Table, two: pa.Table) -> pa.Table:
    """The earlier of two first cells, and the number of both."""
    both = pa.concat_tables([one, two]).to_pylist()
    if not both:
        return one
    first = min(both, key=lambda each: (each["place"], each["row"]))
    return pa.Table.from_pylist([{**first, "count": sum(each["count"] for each in both)}], UNREAD)


def _few(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct keys, in order; of more than a few, one more than a few."""
    start = np.unique(keys[: 4 * FEW_VALUES])
    return (start if len(start) > FEW_VALUES else np.unique(keys))[: FEW_VALUES + 1]


def _cut(priority: NDArray[np.float64], limit: int) -> float:
    """The largest priority that is kept when at most `limit` rows are."""
    if len(priority) <= limit:
        return 1.0
    return float(np.partition(priority, limit - 1)[limit - 1])


def _join(one: Parts, two: Parts, limit: int) -> tuple[NDArray[np.float64], pa.Table | None]:
    """Both samples, cut at the same priority."""
    tables = [p["sample"] for p in (one, two) if "sample" in p]
    cut = min(float(one["cut"][0]), float(two["cut"][0]))
    if not tables:
        return np.array([cut]), None
    sample = pa.concat_tables(tables)
    priority = sample.column(PRIORITY).to_numpy()
    cut = min(cut, _cut(priority[priority <= cut], limit))
    return np.array([cut]), sample.filter(pa.array(priority <= cut))


def _plain(table: pa.Table, schema: Schema) -> pa.Table:
    """The columns of a table in the types agreed on."""
    layouts = (*schema.features, schema.target)
    columns: dict[str, Any] = {layout.name: column_of(table, layout) for layout in layouts}
    if schema.weight is not None:
        columns[schema.weight] = pa.array(weight_values(table, schema.weight))
    return pa.table(columns)


def _counts(labels: pa.ChunkedArray, weights: NDArray[np.float64] | None) -> pa.Table:
    """Each class with its rows' weight at every scale: column s holds units of 1/SCALES[s]."""
    codes = labels.combine_chunks().dictionary_encode()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.combine_chunks()
    places, size = codes.indices.to_numpy(zero_copy_only=False), len(codes.dictionary)
    columns: dict[str, Any] = {"class": codes.dictionary}
    for at, scale in enumerate(SCALES):
        sums = np.zeros(size, np.int64)
        if weights is None:
            sums += np.bincount(places, minlength=size) * scale
        else:
            units = np.minimum(np.rint(weights * scale), 2.0**50)  # more is refused later
            np.add.at(sums, places, units.astype(np.int64))
        columns[f"units{at}"] = sums
    return pa.table(columns)


def _add_counts(one: pa.Table, two: pa.Table) -> pa.Table:
    both = pa.concat_tables([one, two])
    units = [f"units{at}" for at in range(len(SCALES))]
    summed = both.group_by("class").aggregate([(name, "sum") for name in units])
    return summed.select(["class", *(f"{name}_sum" for name in units)]).rename_columns(
        ["class", *units]
    )
