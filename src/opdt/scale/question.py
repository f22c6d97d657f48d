"""The problem of a partitioned table: what may be said, what it is worth, and how rows are coded.

Everything that does not depend on single rows (structure, constraints, which conditions may
stand together, the scale of values) is asked of an ordinary `Problem` on a *stand-in* table: its
columns have the kinds, levels, ranges and missing values of the whole, its few rows the weight of
the classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from opdt.engines.search.run import Prepared
from opdt.engines.search.scores import Scores
from opdt.errors import InputError
from opdt.objectives.gains import SCALES, error_price, weight_room
from opdt.problem import Constraints, FeatureGroups, Problem, Structure, VolumeImpurity
from opdt.problem.groups import check_groups
from opdt.problem.lifting import label_code
from opdt.problem.problem import most_frequent
from opdt.scale.keys import Coder, value_of
from opdt.scale.scanner import Parts
from opdt.scale.schema import Layout, Schema
from opdt.scale.summary import FEW_VALUES, PRIORITY
from opdt.table import Column, ColumnPlan, Kind, Plan, Role, Table
from opdt.table.frames import from_values
from opdt.table.labels import code_labels

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class SearchRequest:
    """What the user asked for."""

    structure: Structure
    groups: Mapping[str, Iterable[str]]
    w: float | Fraction
    label: Any
    constraints: Constraints
    classes: tuple[str, ...] = ()  # known before a row is read


class Question:
    """The stand-in problem, the coder of rows, and what the first pass found."""

    def __init__(self, schema: Schema, summary: Parts, request: SearchRequest) -> None:
        self.schema, self.request = schema, request
        self.n_rows = int(summary["rows"][0])
        if not self.n_rows:
            raise InputError("the files hold no rows; a rule needs some.")
        counts = _with_classes(summary["classes"], request.classes)
        labels = counts.column("class")
        order, classes = code_labels(from_values(labels, "y"))
        sorted_labels = labels.take(pa.array(np.argsort(order))).combine_chunks()
        if isinstance(sorted_labels, pa.ChunkedArray):
            sorted_labels = sorted_labels.combine_chunks()
        if schema.target.truth:
            classes = classes.astype(bool)
        weighted = schema.weight is not None
        # columns that are made of others have names that no user has given
        name = "amounts" if (schema.weight or "").startswith("\0") else "weights"
        self.ratio, at = _price(request.w, summary, weighted, self.n_rows, name)
        units = np.empty(len(classes), np.int64)
        units[order] = counts.column(f"units{at}").to_numpy()
        levels, self._frequent = {}, {}
        for f, layout in enumerate(schema.features):
            if layout.kind is Kind.CATEGORICAL:
                found = summary[f"levels{f}"].sort_by("level").combine_chunks()
                levels[f] = _joined(found.column("level"))
                self._frequent[f] = most_frequent(found.column("count").to_numpy())
        self.coder = Coder(schema, levels, sorted_labels, SCALES[at])
        self.ranges: dict[int, Whole] = {}
        self.values: dict[int, Whole | None] = {}  # distinct keys, where they are few
        for f, layout in enumerate(schema.features):
            if layout.kind is Kind.NUMERIC:
                self.ranges[f] = summary[f"range{f}"]
                few = summary[f"values{f}"]
                self.values[f] = few if len(few) <= FEW_VALUES else None
        self.absent: Whole = summary["absent"]
        self.problem = self._problem(classes, units, self.absent)
        self.prepared = Prepared(self.problem)
        self.scores = Scores.of(self.problem)
        self.totals = units
        self.sample = summary.get("sample")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.totals)

    def factors(self, label: int) -> Whole:
        """What a unit of weight of each class adds to the value of a rule of class `label`."""
        right = self.ratio.denominator
        wrong = self.ratio.denominator - self.ratio.numerator
        out = np.full(self.n_classes, wrong, np.int64) * self.scores.scale
        out -= self.scores.with_errors
        out[label] = right * self.scores.scale
        return out

    def _problem(self, classes: NDArray[Any], units: Whole, absent: Whole) -> Problem:
        """One row per class with all its weight, and one that lacks what some row lacks."""
        n = len(classes)
        columns = tuple(
            self._column(f, layout, n, bool(absent[f]))
            for f, layout in enumerate(self.schema.features)
        )
        labels = np.append(np.arange(n), 0).astype(np.int32)
        table = Table(columns, labels, classes)
        request = self.request
        request.constraints.check_names(table.names, table.categorical)
        groups = FeatureGroups.of(
            table.names, table.numeric, table.categorical, check_groups(request.groups)
        )
        chosen = label_code(table, request.label, units)
        objective = VolumeImpurity(
            labels, self.ratio, tuple(range(n)) if chosen is None else (chosen,),
            np.append(units, 0), self.coder.weight_scale,
        )  # fmt: skip
        problem = Problem(
            table, request.structure, groups, objective, request.constraints, self._frequent
        )
        problem._check()
        return problem

    def _column(self, feature: int, layout: Layout, n: int, absent: bool) -> Column:
        values: NDArray[Any]
        if layout.kind is Kind.CATEGORICAL:
            cells = _as_list(self.coder.levels[feature])
            values = np.empty(len(cells), object)
            values[:] = cells
        else:
            ends = np.unique(self.ranges[feature])
            values = np.array([value_of(int(key), layout) for key in ends], layout.numpy)
        codes = np.full(n + 1, 0 if len(values) else -1, np.int32)
        codes[-1] = -1 if absent or not len(values) else 0
        return Column(layout.name, layout.kind, codes, values)

    def sample_problem(self, limit: int) -> Problem | None:
        """The problem on the first rows of the sample; None where they cannot make one."""
        if self.sample is None or not len(self.sample):
            return None
        rows = self.sample.slice(0, limit).drop_columns([PRIORITY])
        names = [layout.name for layout in self.schema.features]
        weights = None
        if self.schema.weight is not None:
            weights = rows.column(self.schema.weight).to_numpy()
        # The sample is clean already: no role is to be guessed again.
        plan = Plan(tuple(ColumnPlan(f.name, Role(str(f.kind)), "") for f in self.schema.features))
        limits = self.request.constraints.of_sample(len(rows) / self.n_rows)
        known, labels = self.problem.table.classes.tolist(), self.problem.objective.labels
        # that of the whole table, where the sample may have another that is the rarest
        label = known[labels[0]] if len(labels) == 1 else None
        try:
            table = Table.build(
                rows.select(names), rows.column(self.schema.target.name),
                sample_weight=weights, roles=plan, warn=False,
            )  # fmt: skip
            return Problem.build(
                table, structure=self.request.structure, groups=self.request.groups,
                w=self.request.w, label=label, constraints=limits,
            )  # fmt: skip
        except InputError:  # one class only, say
            return None

    def sample_keys(self) -> dict[int, Whole]:
        """The sample's keys, by which cells are cut."""
        if self.sample is None:
            return {f: np.empty(0, np.int64) for f in range(len(self.schema.features))}
        return {f: self.coder.feature(f, self.sample) for f in range(len(self.schema.features))}


def _with_classes(counts: pa.Table, known: tuple[str, ...]) -> pa.Table:
    """The weights of the classes, with those of known classes that no row has."""
    absent = sorted({*known} - {*counts.column("class").to_pylist()}) if known else []
    if not absent:
        return counts
    zeros = [0] * len(absent)
    more = {name: absent if name == "class" else zeros for name in counts.column_names}
    return pa.concat_tables([counts, pa.table(more, schema=counts.schema)])


def _joined(column: pa.ChunkedArray) -> pa.Array:
    cells = column.combine_chunks()
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _as_list(levels: pa.Array) -> list[Any]:
    if pa.types.is_temporal(levels.type):
        return list(levels.to_numpy(zero_copy_only=False))
    return list(levels.to_pylist())


def _price(w: Any, summary: Parts, weighted: bool, n_rows: int, name: str) -> tuple[Fraction, int]:
    """The price of an error as a fraction, and the place of the weights' scale among `SCALES`.

    As `opdt.objectives.gains.volume_impurity` settles them; `name` is what weights are called.
    """
    price = error_price(w)
    weight = float(summary["weight"][0]) if weighted else float(n_rows)
    if not weight:
        raise InputError("the weights are zero in every row; give some rows a positive weight.")
    limit = weight_room(price, n_rows, weight if weighted else None)
    if not weighted:
        return price, 0
    for at, scale in enumerate(SCALES):
        if weight * scale >= limit:
            break
        if summary["whole"][at]:
            return price, at
    raise InputError(
        f"the {name} have too many digits to be added exactly over all partitions; round them to "
        "at most six decimals, or scale them down."
    )
