"""Limits on the rows of a rule beyond coverage, precision and errors of the whole table.

A budget of alerts, a precision in every region, equal treatment of groups: all of them say that a
sum over the covered rows is at most a number. `row_limits` writes them so, in whole numbers. A
*segment* is the rows that have one value in a column; rows without a value are in no segment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice, check_number, is_finite, quoted
from opdt.errors import InputError
from opdt.objectives.gains import as_written

if TYPE_CHECKING:
    from opdt.problem.problem import Problem
    from opdt.table import Column

MOST_SEGMENTS = 200  # each is a limit of its own
MOST_GROUPS = 20  # of which every two are compared
PARITY_UNITS = 2**27  # of all row weights, so that the product of two sums fits into 64 bits
OF = ("coverage", "recall")


@dataclass(frozen=True)
class PerSegment:
    """Limits that a rule must meet in every segment of a column.

    Parameters
    ----------
    column : str
        Its values are the segments. It need not be a feature: an ignored column will do.
    min_precision : float, or mapping of segment to float, optional
        At least this share of the rows that the rule covers in a segment is of its class. A
        segment in which it covers nothing meets this.
    max_errors : float, or mapping, optional
        At most so many covered rows of a segment are of another class (weighted).
    max_coverage : int or float, or mapping, optional
        At most so many rows of a segment are covered (int), or this share of them (float).

    A mapping gives each segment its own limit; those that it does not name have none.

    Examples
    --------
    >>> PerSegment("region", min_precision=0.8)
    PerSegment('region', min_precision=0.8)
    >>> PerSegment("month", max_coverage={"2024-01": 200, "2024-02": 150}).max_coverage["2024-02"]
    150
    """

    column: str
    min_precision: float | Mapping[Any, float] | None = None
    max_errors: float | Mapping[Any, float] | None = None
    max_coverage: float | Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        _check_column("PerSegment", self.column)
        for name, check in _CHECKS.items():
            given = getattr(self, name)
            if isinstance(given, Mapping):
                object.__setattr__(self, name, dict(given))
                for segment, limit in given.items():
                    check(f"'{name}' of {segment!r}", limit)
            elif given is not None:
                check(name, given)
        if self.min_precision is self.max_errors is self.max_coverage is None:
            raise InputError(
                f"PerSegment({self.column!r}) limits nothing; give 'min_precision', 'max_errors' "
                "or 'max_coverage'."
            )

    def __repr__(self) -> str:
        said = [
            f"{name}={getattr(self, name)!r}" for name in _CHECKS if getattr(self, name) is not None
        ]
        return f"PerSegment({', '.join([repr(self.column), *said])})"

    def __str__(self) -> str:
        words = {
            "min_precision": "precision >=",
            "max_errors": "errors <=",
            "max_coverage": "coverage <=",
        }
        said = [
            f"{word} {getattr(self, name)}"
            for name, word in words.items()
            if getattr(self, name) is not None
        ]
        return f"in every {self.column}: {', '.join(said)}"


@dataclass(frozen=True)
class Parity:
    """How far the groups of a protected column may differ in what a rule does to them.

    Parameters
    ----------
    column : str
        Its values are the groups. It need not be a feature: an ignored column will do.
    of : {"coverage", "recall"}
        What is compared: the share of a group that the rule covers (demographic parity), or the
        share of a group's rows of the rule's class that it covers (equal opportunity).
    max_difference : float, optional
        The largest difference between two groups, from 0 to 1.
    min_ratio : float, optional
        The least ratio between two groups, above 0 and at most 1: 0.8 is the four-fifths rule.

    Examples
    --------
    >>> Parity("sex", max_difference=0.1)
    Parity('sex', of='coverage', max_difference=0.1)
    """

    column: str
    of: str = "coverage"
    max_difference: float | None = None
    min_ratio: float | None = None

    def __post_init__(self) -> None:
        _check_column("Parity", self.column)
        check_choice("of", self.of, OF)
        if self.max_difference is not None:
            check_number(
                "max_difference", self.max_difference, "a difference of two shares, from 0 to 1",
                lambda n: is_finite(n) and 0 <= n <= 1,
            )  # fmt: skip
        if self.min_ratio is not None:
            check_number(
                "min_ratio", self.min_ratio, "a ratio of two shares, above 0 and at most 1",
                lambda n: is_finite(n) and 0 < n <= 1,
            )  # fmt: skip
        if self.max_difference is self.min_ratio is None:
            raise InputError(
                f"Parity({self.column!r}) limits nothing; give 'max_difference' or 'min_ratio'."
            )

    def __repr__(self) -> str:
        said = [
            f"{name}={getattr(self, name)!r}"
            for name in ("max_difference", "min_ratio")
            if getattr(self, name) is not None
        ]
        return f"Parity({', '.join([repr(self.column), f'of={self.of!r}', *said])})"

    def __str__(self) -> str:
        words = {"max_difference": "difference <=", "min_ratio": "ratio >="}
        said = [
            f"{word} {getattr(self, name)}"
            for name, word in words.items()
            if getattr(self, name) is not None
        ]
        return f"{self.of} by {self.column}: {', '.join(said)}"


@dataclass(frozen=True, eq=False)
class RowLimit:
    """A limit on the covered rows: the sum of a column is at most so much.

    `column` (n_rows,) holds whole numbers.
    """

    column: NDArray[np.int64]
    most: int

    def holds(self, fires: NDArray[np.bool_]) -> bool:
        """Whether these rows, shape (n_rows,), meet it."""
        return int(self.column[fires].sum()) <= self.most


def check_coverage(name: str, value: Any) -> None:
    """Refuse what is neither a number of rows nor a share."""
    if not is_finite(value) or value < 0:
        raise InputError(
            f"{quoted(name)} must be a number of rows (int) or a share of them (float from 0 to "
            f"1), got {value!r}."
        )
    if not isinstance(value, Integral) and value > 1:
        raise InputError(
            f"{quoted(name)} as a float is a share from 0 to 1, got {value!r}; give a number of "
            "rows as an int."
        )


def _check_share(name: str, value: Any) -> None:
    check_number(name, value, "a share from 0 to 1", lambda n: is_finite(n) and 0 <= n <= 1)


def _check_rows(name: str, value: Any) -> None:
    check_number(name, value, "a number of rows >= 0", lambda n: is_finite(n) and n >= 0)


_CHECKS = {
    "min_precision": _check_share,
    "max_errors": _check_rows,
    "max_coverage": check_coverage,
}


def _check_column(what: str, column: Any) -> None:
    if not isinstance(column, str) or not column:
        raise InputError(f"'column' of {what} must be the name of a column, got {column!r}.")


# -- in whole numbers --------------------------------------------------------------------------


def row_limits(problem: Problem, label: int) -> tuple[RowLimit, ...]:
    """The limits on the rows of a rule of class `label`, beyond those of `Problem.limits`."""
    constraints = problem.constraints
    limits: list[RowLimit] = []
    weights, scale = problem.objective.weights, problem.objective.weight_scale
    if constraints.max_coverage is not None:
        limits.append(RowLimit(weights, _rows(constraints.max_coverage, weights, scale)))
    for segments in constraints.segments:
        limits += _per_segment(problem, segments, label)
    for parity in constraints.parities:
        limits += _parity(problem, parity, label)
    return tuple(limits)


def _rows(asked: float, weights: NDArray[np.int64], scale: int) -> int:
    """A number of rows, or a share of those of these weights, in units of weight."""
    whole = scale if isinstance(asked, Integral) else int(weights.sum())
    return math.floor(as_written(asked) * whole)


def _per_segment(problem: Problem, asked: PerSegment, label: int) -> Iterator[RowLimit]:
    weights, scale = problem.objective.weights, problem.objective.weight_scale
    wrong = problem.objective.wrong(label)
    for segment, rows in _segments(problem.table.segments(asked.column)):
        inside = weights * rows
        least = _limit(asked.min_precision, segment)
        if least is not None and least > 0:
            over, under = as_written(least).as_integer_ratio()
            yield RowLimit(inside * np.where(wrong, over, over - under), 0)
        errors = _limit(asked.max_errors, segment)
        if errors is not None:
            yield RowLimit(inside * wrong, math.floor(as_written(errors) * scale))
        most = _limit(asked.max_coverage, segment)
        if most is not None:
            yield RowLimit(inside, _rows(most, inside, scale))


def _limit(given: Any, segment: Any) -> Any:
    return given.get(segment) if isinstance(given, Mapping) else given


def _segments(column: Column) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    codes = column.codes
    for code, value in enumerate(column.values.tolist()):
        yield value, codes == code


def _parity(problem: Problem, asked: Parity, label: int) -> Iterator[RowLimit]:
    """For every two groups: their shares of covered rows differ by no more than allowed."""
    weights = problem.objective.weights
    counted = weights if asked.of == "coverage" else weights * ~problem.objective.wrong(label)
    parts = [counted * rows for _, rows in _segments(problem.table.segments(asked.column))]
    parts = [part for part in parts if part.any()]  # a resampled table may lack a group
    for one, two in permutations(parts, 2):
        first, second = int(one.sum()), int(two.sum())
        shared = math.gcd(first, second)
        if asked.max_difference is not None:  # covered one / first - covered two / second <= most
            most = as_written(asked.max_difference) * first * second / shared
            yield RowLimit(one * (second // shared) - two * (first // shared), math.floor(most))
        if asked.min_ratio is not None:  # ratio × covered one / first <= covered two / second
            ratio = as_written(asked.min_ratio) * Fraction(second, first)
            yield RowLimit(one * ratio.numerator - two * ratio.denominator, 0)


# -- whether they can be asked -----------------------------------------------------------------


def check_row_limits(problem: Problem) -> None:
    """Refuse segments that the table does not have, or has too many of."""
    for asked in problem.constraints.segments:
        column = problem.table.segments(asked.column)
        known = column.values.tolist()
        if not known:
            raise InputError(f"column {asked.column!r} has no values, so there are no segments.")
        if len(known) > MOST_SEGMENTS:
            raise InputError(
                f"column {asked.column!r} has {len(known):,} values, but a column of PerSegment "
                f"may have {MOST_SEGMENTS}; group them first, as days into months."
            )
        for name in _CHECKS:
            given = getattr(asked, name)
            for segment in given if isinstance(given, Mapping) else ():
                if segment not in known:
                    shown = ", ".join(repr(value) for value in known[:8])
                    more = ", …" if len(known) > 8 else ""
                    raise InputError(
                        f"'{name}' of PerSegment({asked.column!r}) names segment {segment!r}, "
                        f"which has no rows; the column has {shown}{more}."
                    )
    for parity in problem.constraints.parities:
        _check_groups(problem, parity)
    total = int(problem.objective.weights.sum())
    for label in problem.objective.labels:
        for limit in row_limits(problem, label):
            if float(np.abs(limit.column.astype(np.float64)).sum()) > 2.0**58:
                raise InputError(
                    "the limits per segment or group have too many digits to be added exactly "
                    f"over row weights that sum to {total:,} units; round them."
                )


def _check_groups(problem: Problem, parity: Parity) -> None:
    column = problem.table.segments(parity.column)
    known = column.values.tolist()
    if not 2 <= len(known) <= MOST_GROUPS:
        raise InputError(
            f"Parity({parity.column!r}) compares groups of rows and needs a column of 2 to "
            f"{MOST_GROUPS} values, got {len(known):,}."
        )
    weights, classes = problem.objective.weights, problem.table.classes.tolist()
    for label in problem.objective.labels:
        right = ~problem.objective.wrong(label)
        for group, rows in _segments(column):
            by_class = parity.of == "recall"
            if not weights[rows & right if by_class else rows].any():
                kind = f"rows of class {classes[label]!r}" if by_class else "rows"
                raise InputError(
                    f"Parity({parity.column!r}, of={parity.of!r}): group {group!r} has no {kind}, "
                    "so there is no share to compare; leave its rows out, or name another 'label'."
                )
