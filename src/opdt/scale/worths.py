"""Objectives that say what each row is worth, over partitions.

A row that is worth v > 0 counts as v rows of a class, one that is worth v < 0 as -v rows of the
other. At the price 2 the VI of such rows is the sum of what they are worth: a row of the class
gains its weight, any other loses it. So the search over partitions, which knows classes and
weights, finds the best rule and proves it. Only two columns are put before it, made of those that
the objective reads wherever rows are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.errors import EngineFailure, InputError, UnsupportedProblem
from opdt.objectives import Account, Mean, Money, Objective
from opdt.objectives.gains import SCALES, as_written
from opdt.objectives.mean import mean_account
from opdt.objectives.money import money_account
from opdt.problem.lifting import RARER, RAREST
from opdt.rules import Rule
from opdt.scale.scanner import PartitionSource, Parts, Scanner, ScanTask, Watch
from opdt.solution import Solution
from opdt.table.kinds import unknown_column

Whole = NDArray[np.int64]
FINEST = SCALES[-1]  # units that make one; amounts have six decimals at most
IN, OUT = "in", "out"  # the classes of rows that are worth something, and of others


@dataclass(frozen=True)
class RowWorth(ABC):
    """What a row is worth, from its own cells alone. `names` are the columns that are read."""

    names: tuple[str, ...]

    @abstractmethod
    def units(self, table: pa.Table) -> tuple[Whole, NDArray[np.bool_]]:
        """What each row is worth in units of 1 / FINEST, and which rows are right to cover."""

    @abstractmethod
    def account(self, rows: Whole, units: Whole) -> Account:
        """What a rule does.

        `rows` (2, 2) are the rows outside and inside, wrong and right ones; `units` what they are
        worth together.
        """


@dataclass(frozen=True)
class MoneyWorth(RowWorth):
    """`Money` on the rows of a class."""

    money: Money
    target: str
    label: Any

    def units(self, table: pa.Table) -> tuple[Whole, NDArray[np.bool_]]:
        """The benefit of rows of the class, less the cost of others."""
        right = _is_class(table.column(self.target), self.label)
        benefit = self._amounts(table, "benefit")
        cost = self._amounts(table, "cost")
        if (cost < 0).any():
            raise InputError(
                f"'cost' is negative in column {self.money.cost!r}; write what a row of another "
                "class costs as a positive number."
            )
        return np.where(right, benefit, -cost), right

    def _amounts(self, table: pa.Table, argument: str) -> Whole:
        given = getattr(self.money, argument)
        if isinstance(given, str):
            return whole_units(table.column(given), f"'{argument}' names column {given!r}, which")
        return np.full(table.num_rows, units_of(given, argument), np.int64)

    def account(self, rows: Whole, units: Whole) -> Account:
        """Benefits and costs of the covered rows."""
        (wrong, right), (cost, benefit) = rows[1].tolist(), (units[1] / FINEST).tolist()
        return money_account((right, benefit), (wrong, -cost), str(self.label), self.money.unit)


@dataclass(frozen=True)
class MeanWorth(RowWorth):
    """`Mean` with a threshold."""

    mean: Mean
    target: str

    @property
    def _edge(self) -> int:
        return units_of(self.mean.threshold, "threshold")

    def units(self, table: pa.Table) -> tuple[Whole, NDArray[np.bool_]]:
        """How far the number of a row lies beyond the threshold."""
        numbers = whole_units(table.column(self.target), f"the target, column {self.target!r},")
        worth = self.mean.sign * (numbers - self._edge)
        return worth, worth >= 0

    def account(self, rows: Whole, units: Whole) -> Account:
        """The means inside and outside."""
        counts, sums = rows.sum(axis=1).tolist(), units.sum(axis=1).tolist()
        totals = [n * self._edge + self.mean.sign * s for n, s in zip(counts, sums, strict=True)]
        outside, inside = (
            float(Fraction(total, n * FINEST)) if n else float("nan")
            for n, total in zip(counts, totals, strict=True)
        )
        return mean_account((counts[1], inside), (counts[0], outside), self.mean.unit)


def row_worth(objective: Objective, y: Any, label: Any) -> RowWorth:
    """What rows are worth in this objective; or one sentence, where single rows do not tell."""
    if isinstance(objective, Money):
        for name in objective.reads:
            if not np.isscalar(getattr(objective, name)):
                raise InputError(
                    f"'{name}' must be a number or the name of a column where the rows lie in "
                    f"files or partitions, got {type(getattr(objective, name)).__name__}."
                )
        if label is None or label in (RARER, RAREST):
            raise InputError(
                "'label' must name the class that brings the benefit where the rows lie in files "
                "or partitions and the objective is Money."
            )
        return MoneyWorth((*objective.columns.values(), y), objective, y, label)
    if isinstance(objective, Mean) and objective.threshold is not None:
        return MeanWorth((y,), objective, y)
    if isinstance(objective, Mean):
        raise UnsupportedProblem(
            "the highest mean needs the whole table in memory; for partitions give Mean a "
            "threshold."
        )
    raise UnsupportedProblem(
        f"{objective!r} scores each row by all others, which needs the whole table in memory; for "
        "partitions put the scores into a column and ask for Mean(threshold=0) of it."
    )


class Tally(NamedTuple):
    """Rows outside and inside of a rule, wrong and right ones (2, 2), and what they are worth.

    `gaining` rows of all are worth more than nothing.
    """

    rows: Whole
    units: Whole
    gaining: int


class WorthScanner(Scanner):
    """The partitions of another scanner, with what rows are worth in the place of some columns.

    Parameters
    ----------
    scanner : Scanner
    worth : RowWorth
        The columns that it reads are no features.
    """

    classes = (IN, OUT)

    def __init__(self, scanner: Scanner, worth: RowWorth) -> None:
        self._scanner, self.worth = scanner, worth
        self._pair: tuple[str, str] | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """The names of the two columns: class and weight, which no other column has."""
        if self._pair is None:
            known = self._scanner.sources()[0].schema.names
            mark = "\0"
            while any(name.startswith(mark) for name in known):
                mark += "\0"
            self._pair = f"{mark}class", f"{mark}weight"
        return self._pair

    def prepare(self, watch: Watch) -> None:
        """As the scanner of the rows does."""
        self._scanner.prepare(watch)

    def sources(self) -> list[PartitionSource]:
        """The partitions, with the two columns."""
        more = [pa.field(self.pair[0], pa.large_string()), pa.field(self.pair[1], pa.float64())]
        out = []
        for name, schema in self._scanner.sources():
            for column in self.worth.names:
                if column not in schema.names:
                    raise unknown_column(column, tuple(schema.names))
            kept = [field for field in schema if field.name not in self.worth.names]
            out.append(PartitionSource(name, pa.schema([*kept, *more], schema.metadata)))
        return out

    def scan(self, task: ScanTask, watch: Watch) -> Parts:
        """One pass, in which rows are given what they are worth."""
        return self._scanner.scan(WorthTask(task, self.worth, self.pair), watch)

    def tally(self, rule: Rule | None, watch: Watch) -> Tally:
        """What a rule does on all rows; without one, all rows are outside."""
        sums = self._scanner.scan(WorthTally(rule, self.worth), watch)
        return Tally(sums["rows"], sums["units"], int(sums["gaining"][0]))

    @property
    def bytes_read(self) -> int:
        """Bytes of the columns read so far."""
        return self._scanner.bytes_read

    @property
    def bytes_moved(self) -> int:  # type: ignore[override]
        """Bytes sent between this process and the workers."""
        return self._scanner.bytes_moved

    def line_of(
        self, place: int, row: int, column: str, cell: str
    ) -> tuple[int | None, str] | None:
        """The line and the file of a cell."""
        return self._scanner.line_of(place, row, column, cell)

    def known_rows(self) -> int | None:
        """The number of rows, where it is known without reading them."""
        return self._scanner.known_rows()


@dataclass(frozen=True, eq=False)
class WorthTask(ScanTask):
    """Another task, on rows with class and weight by what they are worth."""

    task: ScanTask
    worth: RowWorth
    pair: tuple[str, str]

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns of the task, and those that tell what rows are worth where it asks."""
        asked = self.task.columns
        own = tuple(name for name in asked if name not in self.pair)
        return own if len(own) == len(asked) else (*own, *self.worth.names)

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """The task on one partition."""
        asks = any(name in self.pair for name in self.task.columns)
        return self.task.run(self._with_worth(batches) if asks else batches, place)

    def merge(self, one: Parts, two: Parts) -> Parts:
        """As the task does."""
        return self.task.merge(one, two)

    def _with_worth(self, batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
        classes = pa.array([OUT, IN], pa.large_string())
        for table in batches:
            units, _ = self.worth.units(table)
            own = classes.take(pa.array((units > 0).astype(np.int8)))
            weights = pa.array(np.abs(units) / FINEST)
            yield table.append_column(self.pair[0], own).append_column(self.pair[1], weights)


@dataclass(frozen=True)
class WorthTally(ScanTask):
    """How many rows a rule covers and leaves, wrong and right ones, and what they are worth."""

    rule: Rule | None
    worth: RowWorth

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the rule and of the objective."""
        return (*(self.rule.features if self.rule is not None else ()), *self.worth.names)

    def run(self, batches: Iterable[pa.Table], place: int) -> Parts:
        """The sums of one partition."""
        rows, sums = np.zeros((2, 2, 2), np.int64)
        gaining = np.zeros(1, np.int64)
        for table in batches:
            units, right = self.worth.units(table)
            fires = np.zeros(len(units), bool) if self.rule is None else self.rule.covers(table)
            at = 2 * fires.astype(np.int64) + right
            rows += np.bincount(at, minlength=4).reshape(2, 2)
            np.add.at(sums.reshape(-1), at, units)
            gaining += int((units > 0).sum())
        return {"rows": rows, "units": sums, "gaining": gaining}

    def merge(self, one: Parts, two: Parts) -> Parts:
        """Sums add up."""
        return {name: one[name] + two[name] for name in one}


def units_of(value: Any, argument: str) -> int:
    """One number in units of 1 / FINEST."""
    units = as_written(value) * FINEST
    if units.denominator != 1:
        raise InputError(
            f"'{argument}' is {float(value)!r}, but over partitions amounts have six decimals at "
            "most; round it."
        )
    return int(units)


def whole_units(column: pa.ChunkedArray, what: str) -> Whole:
    """Numbers of at most six decimals in units of 1 / FINEST; `what` begins the messages."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if not any(check(kind) for check in known):
        raise InputError(f"{what} must hold numbers, but holds {kind}.")
    if column.null_count:
        raise InputError(f"{what} has missing values; drop or fill those rows.")
    values = np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{what} must hold finite numbers; drop or fill the other rows.")
    units = np.rint(values * FINEST)
    if not np.array_equal(units / FINEST, values) or np.abs(units).max(initial=0) >= 2.0**50:
        raise InputError(
            f"{what} must hold numbers below 1e9 of at most six decimals, so that partitions add "
            "up exactly; round them."
        )
    return units.astype(np.int64)


def _is_class(column: pa.ChunkedArray, label: Any) -> NDArray[np.bool_]:
    """Rows of a class."""
    if column.null_count:
        raise InputError("the target has missing values; drop those rows.")
    parts = []
    for chunk in column.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else pc.dictionary_encode(chunk)
        same = np.array([bool(cell == label) for cell in coded.dictionary.to_pylist()], bool)
        parts.append(same[coded.indices.to_numpy(zero_copy_only=False)])
    return np.concatenate([np.zeros(0, bool), *parts])


def settled_worth(
    found: Solution,
    scanner: WorthScanner,
    objective: Objective,
    label: Any,
    watch: Watch,
) -> Solution:
    """A solution of the search over classes and weights, in the words of the objective.

    What a rule covers is counted where it is proven.
    """
    told = replace(found, objective=objective, covered=0.0, errors=0.0, evidence=None)
    if found.rule is None:
        return told
    rule = Rule(found.rule.conditions, label)
    told = replace(told, rule=rule)
    if not found.status.is_proven:
        return told
    tally = scanner.tally(rule, watch)
    value = float(Fraction(int(tally.units[1].sum()), FINEST))
    if value != found.value:
        raise EngineFailure(f"a rule of the value {found.value} is worth {value} on the rows.")
    wrong, right = tally.rows[1].tolist()
    account = scanner.worth.account(tally.rows, tally.units)
    return replace(told, covered=float(wrong + right), errors=float(wrong), account=account)
