"""A mixed-integer program as plain arrays, independent of any solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdt.machine import refuse_beyond
from opdt.solution import Budget, Clock

# Bytes for each entry and each variable of a model, here and in the solver together: at the peak
# HiGHS was seen to take 105 for an entry and SCIP 180.
ENTRY_BYTES, VARIABLE_BYTES = 200, 400

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Term = tuple[ArrayLike, ArrayLike, ArrayLike]  # rows, variables, coefficients; broadcast


class Family(NamedTuple):
    """The rows from `first` to `last` (exclusive) that one constraint of the formulation gave."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Model:
    """Maximise ``cost @ x`` subject to ``row_lower <= A x <= row_upper`` and bounds on x.

    Attributes
    ----------
    name : str
    names : tuple of str, length n_variables
    cost, lower, upper : ndarray of float64 of shape (n_variables,)
    integer : ndarray of bool of shape (n_variables,)
    priority : ndarray of int32 of shape (n_variables,)
        A solver that can branches on variables of larger priority first.
    row_start, column, coefficient : ndarray
        A in compressed sparse rows: row r has its entries at ``row_start[r]:row_start[r + 1]``.
    row_lower, row_upper : ndarray of float64 of shape (n_rows,)
    families : tuple of Family
        Which constraint of the formulation gave which rows.
    start : ndarray of float64 of shape (n_variables,), optional
        A feasible point to start from.
    """

    name: str
    names: tuple[str, ...]
    cost: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_]
    priority: NDArray[np.int32]
    row_start: Indices
    column: Indices
    coefficient: Floats
    row_lower: Floats
    row_upper: Floats
    families: tuple[Family, ...]
    start: Floats | None = None

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.cost)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def n_entries(self) -> int:
        """Number of nonzero coefficients."""
        return len(self.coefficient)

    @property
    def row_of(self) -> Indices:
        """The row of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.row_start))

    def value(self, x: Floats) -> float:
        """The objective at a point."""
        return float(self.cost @ x)

    def violations(self, x: Floats) -> dict[str, float]:
        """By how much a point violates each family, its bounds and its integrality at most."""
        activity = np.bincount(
            self.row_of, self.coefficient * x[self.column], minlength=self.n_rows
        )
        excess = np.maximum(self.row_lower - activity, activity - self.row_upper)
        out = {
            "bounds": _largest(np.maximum(self.lower - x, x - self.upper)),
            "integrality": _largest(np.abs(x - np.rint(x))[self.integer]),
        }
        for name, first, last in self.families:
            out[name] = max(out.get(name, 0.0), _largest(excess[first:last]))
        return out

    def check(self, x: Floats) -> float:
        """The largest violation of a point; 0 where it is feasible."""
        return max(self.violations(x).values())

    def without(self, family: str) -> Model:
        """The model without the rows of one family: what that constraint is good for."""
        keep = np.ones(self.n_rows, dtype=bool)
        families, first = [], 0
        for each in self.families:
            if each.name == family:
                keep[each.first : each.last] = False
            else:
                size = each.last - each.first
                families.append(Family(each.name, first, first + size))
                first += size
        entries = keep[self.row_of]
        sizes = np.diff(self.row_start)[keep]
        return replace(
            self,
            row_start=np.concatenate([[0], np.cumsum(sizes)]),
            column=self.column[entries],
            coefficient=self.coefficient[entries],
            row_lower=self.row_lower[keep],
            row_upper=self.row_upper[keep],
            families=tuple(families),
        )

    def write(self, path: str | Path) -> None:
        """Write the model to a file that any solver reads: `.mps` (free format) or `.lp`."""
        from opdt.engines.mip.write import write_model

        write_model(self, Path(path))


def _largest(values: Floats) -> float:
    return float(max(values.max(initial=0.0), 0.0))


class Builder:
    """Collects variables and families of rows, and makes the model of them.

    Looks at the clock at every step, which raises `LimitReached`, and refuses what does not fit
    into memory before it is there.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Budget().start()
        self._room = self._clock.room()
        self._names: list[str] = []
        self._columns: list[tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.int32]]] = []
        self._sizes: list[Indices] = []  # entries of each row
        self._entries: list[tuple[Indices, Floats]] = []
        self._limits: list[tuple[Floats, Floats]] = []
        self.families: list[Family] = []
        self.n_rows = self.n_entries = 0

    def expect(self, variables: int = 0, entries: int = 0) -> None:
        """Look at the clock; refuse a model that so many more would make too large."""
        self._clock.check()
        needed = (len(self._names) + variables) * VARIABLE_BYTES
        needed += (self.n_entries + entries) * ENTRY_BYTES
        refuse_beyond(
            needed,
            self._room,
            "the mixed-integer model",
            "use the engine 'search', fewer rows or a smaller depth",
        )

    def variables(
        self,
        name: str,
        *axes: Iterable[Any],
        upper: float = 1.0,
        lower: float = 0.0,
        integer: bool = True,
        priority: int = 0,
    ) -> Indices:
        """New variables, one for each combination of the axes' labels.

        Returns their indices, one dimension per axis (none for a single variable).
        """
        names, shape = [name], []
        for axis in axes:
            labels = [str(label) for label in axis]
            self.expect(variables=len(names) * len(labels))
            names = [f"{stem}_{label}" for stem in names for label in labels]
            shape.append(len(labels))
        first, count = len(self._names), len(names)
        self._names += names
        self._columns.append(
            (
                np.full(count, lower, dtype=np.float64),
                np.full(count, upper, dtype=np.float64),
                np.full(count, integer, dtype=bool),
                np.full(count, priority, dtype=np.int32),
            )
        )
        return np.arange(first, first + count).reshape(shape)

    def rows(
        self,
        family: str,
        count: int,
        *terms: Term,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add `count` rows; a term names rows 0 … count - 1, variables and coefficients.

        Entries of one variable in one row are added up.
        """
        self.expect(entries=sum(np.broadcast(*term).size for term in terms))
        places, values, width = [], [], len(self._names)
        for term in terms:
            row, variable, coefficient = (each.ravel() for each in np.broadcast_arrays(*term))
            used = coefficient != 0
            places.append(row[used].astype(np.int64) * width + variable[used])
            values.append(coefficient[used].astype(np.float64))
        place, at = np.unique(np.concatenate(places), return_inverse=True)
        summed = np.bincount(at, np.concatenate(values), minlength=len(place))
        place, summed = place[summed != 0], summed[summed != 0]
        self._sizes.append(np.bincount(place // width, minlength=count))
        self._entries.append((place % width, summed))
        self.n_entries += len(place)
        self._limits.append(
            (
                np.broadcast_to(np.asarray(lower, dtype=np.float64), count),
                np.broadcast_to(np.asarray(upper, dtype=np.float64), count),
            )
        )
        self.families.append(Family(family, self.n_rows, self.n_rows + count))
        self.n_rows += count

    def row(
        self,
        family: str,
        *terms: tuple[ArrayLike, ArrayLike],
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> None:
        """Add one row; a term is variables and their coefficients."""
        full = ((0, variable, coefficient) for variable, coefficient in terms)
        self.rows(family, 1, *full, lower=lower, upper=upper)

    def model(
        self,
        name: str,
        objective: Iterable[tuple[ArrayLike, ArrayLike]],
        fixed: Iterable[tuple[Any, ArrayLike, ArrayLike]] = (),
    ) -> Model:
        """The model that maximises the objective; `fixed` are bounds ``(variables, low, high)``."""
        self.expect()
        lower, upper, integer, priority = (
            np.concatenate(parts) for parts in zip(*self._columns, strict=True)
        )
        for variables, low, high in fixed:
            lower[variables], upper[variables] = low, high
        cost = np.zeros(len(self._names))
        for variables, coefficients in objective:
            np.add.at(cost, *np.broadcast_arrays(variables, coefficients))
        sizes = np.concatenate(self._sizes)
        column, coefficient = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        limits = zip(*self._limits, strict=True)
        row_lower, row_upper = (np.concatenate(parts) for parts in limits)
        return Model(
            name,
            tuple(self._names),
            cost,
            lower,
            upper,
            integer,
            priority,
            np.concatenate([[0], np.cumsum(sizes)]),
            column,
            coefficient,
            row_lower,
            row_upper,
            tuple(self.families),
        )
