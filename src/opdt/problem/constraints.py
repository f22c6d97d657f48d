"""What an expert demands of the rule beyond its structure."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

from opdt.checks import check_bool, check_number, check_share_or_end, is_finite
from opdt.errors import InputError
from opdt.objectives.gains import MAX_WEIGHT
from opdt.problem.segments import PARITY_UNITS, Parity, PerSegment, check_coverage
from opdt.rules import Op

DIRECTIONS = (Op.GE, Op.LT, Op.EQ, Op.NE)


@dataclass(frozen=True)
class Constraints:
    """Demands on the rule; all optional, all kept exactly.

    Parameters
    ----------
    directions : mapping of feature to operator
        The one direction a feature may be used in: `">="` or `"<"` for a numeric feature,
        `"=="` or `"!="` for a categorical one.
    required, forbidden : iterables of features
        Features the rule must use, and features it must not use.
    once : bool
        Each feature at most once, so no intervals and no two `!=` on one feature.
    min_coverage : int or float
        The rule covers at least so many rows (int), or this share of all rows (float below 1).
        With row weights, rows count with their weight.
    min_precision : float
        At least this share of the covered rows is of the rule's class.
    max_errors : float, optional
        At most so many covered rows are of another class (weighted, where rows have weights).
    max_coverage : int or float, optional
        The rule covers at most so many rows (int), or this share of all rows (float up to 1): a
        budget of alerts.
    segments : iterable of PerSegment
        Precision, errors or coverage that the rule must keep in every segment of a column.
    parities : iterable of Parity
        How far groups may differ in the share that the rule covers.
    subsets : bool or iterable of features
        Allow `x in {a, b}` on these (all) categorical features. Of a feature of more than 12
        levels the sets are made of the 11 most frequent ones.
    missing_conditions : bool
        Allow `x is missing` and `x is present` on features with missing values. Without it no
        rule tells missing values from present ones by a condition that all present values
        satisfy: a threshold always lies between two values that occur.

    Examples
    --------
    >>> Constraints(directions={"age": ">="}, min_precision=0.9).min_precision
    0.9
    """

    directions: Mapping[str, str] = field(default_factory=dict)
    required: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    once: bool = False
    min_coverage: float = 0
    min_precision: float = 0.0
    max_errors: float | None = None
    subsets: bool | Sequence[str] = False
    missing_conditions: bool = False
    max_coverage: float | None = None
    segments: Sequence[PerSegment] = ()
    parities: Sequence[Parity] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.directions, Mapping):
            raise InputError(
                f"'directions' must map features to operators, got {self.directions!r}; "
                "write {'age': '>='}."
            )
        object.__setattr__(self, "directions", dict(self.directions))
        _names("directions", self.directions)
        for feature, op in self.directions.items():
            if op not in DIRECTIONS:
                raise InputError(
                    f"'directions' of feature {feature!r} must be '>=', '<', '==' or '!=', "
                    f"got {op!r}."
                )
        for name in ("required", "forbidden"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if not isinstance(self.subsets, bool):
            object.__setattr__(self, "subsets", _names("subsets", self.subsets))
        both = set(self.required) & set(self.forbidden)
        if both:
            raise InputError(f"feature {min(both)!r} is both required and forbidden; drop one.")
        self._check_numbers()

    def _check_numbers(self) -> None:
        check_coverage("min_coverage", self.min_coverage)
        if self.max_coverage is not None:
            check_coverage("max_coverage", self.max_coverage)
        for name, kind in (("segments", PerSegment), ("parities", Parity)):
            object.__setattr__(self, name, _nouns(name, kind, getattr(self, name)))
        check_share_or_end("min_precision", self.min_precision)
        if self.max_errors is not None:
            check_number(
                "max_errors",
                self.max_errors,
                "a number of rows >= 0 or None",
                lambda n: is_finite(n) and n >= 0,
            )
        check_bool("once", self.once)
        check_bool("missing_conditions", self.missing_conditions)

    @property
    def bounds_rows(self) -> bool:
        """Whether coverage, precision or errors are limited."""
        return self.min_coverage > 0 or self.min_precision > 0 or self.max_errors is not None

    @property
    def sums_rows(self) -> bool:
        """Whether there are limits beyond these: a budget, segments, parities."""
        return self.max_coverage is not None or bool(self.segments or self.parities)

    @property
    def segment_columns(self) -> tuple[str, ...]:
        """The columns whose values are segments or groups, each once."""
        named = [each.column for each in self.segments] + [each.column for each in self.parities]
        return tuple(dict.fromkeys(named))

    @property
    def max_units(self) -> int:
        """What the row weights may add up to, in units: shares of groups multiply two sums."""
        return PARITY_UNITS if self.parities else MAX_WEIGHT

    def of_sample(self, share: float, margin: float = 0.0) -> Constraints:
        """The demands on a rule of a sample of the rows: limits on rows in proportion.

        `share` is the part of the weight that the sample has. Limits are stricter by `margin`.
        """
        least: float = min(1.0, self.min_coverage * (1 + margin))
        if isinstance(self.min_coverage, Integral):
            least = math.ceil(self.min_coverage * share * (1 + margin))
        most = None if self.max_errors is None else self.max_errors * share * (1 - margin)
        return replace(self, min_coverage=least, max_errors=most)

    def check_known(self, names: Sequence[str]) -> None:
        """Refuse features that the table does not have."""
        subsets = () if isinstance(self.subsets, bool) else self.subsets
        for argument, given in (
            ("directions", tuple(self.directions)),
            ("required", self.required),
            ("forbidden", self.forbidden),
            ("subsets", subsets),
        ):
            for feature in given:
                if feature not in names:
                    close = difflib.get_close_matches(feature, names, 1)
                    hint = f"; did you mean {close[0]!r}?" if close else "."
                    raise InputError(
                        f"'{argument}' names feature {feature!r}, which the table does not "
                        f"have{hint}"
                    )

    def check_names(self, names: Sequence[str], categorical: Iterable[int]) -> None:
        """Refuse features that the table does not have and directions that cannot apply."""
        self.check_known(names)
        levels = {names[i] for i in categorical}
        subsets = () if isinstance(self.subsets, bool) else self.subsets
        for feature, op in self.directions.items():
            wanted = (Op.EQ, Op.NE) if feature in levels else (Op.GE, Op.LT)
            if op not in wanted:
                kind = "categorical" if feature in levels else "numeric"
                raise InputError(
                    f"'directions' of the {kind} feature {feature!r} must be "
                    f"'{wanted[0]}' or '{wanted[1]}', got {str(op)!r}."
                )
        for feature in subsets:
            if feature not in levels:
                raise InputError(f"'subsets' names feature {feature!r}, which is not categorical.")
        usable = [n for n in names if n not in self.forbidden]
        if not usable:
            raise InputError("'forbidden' leaves no feature for the rule; allow at least one.")


def _names(argument: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"'{argument}' must be a list of feature names, got {value!r}.")
    names = tuple(value)
    if not all(isinstance(n, str) for n in names):
        raise InputError(f"'{argument}' must be a list of feature names, got {list(names)!r}.")
    return names


def _nouns(argument: str, kind: type[Any], given: Any) -> tuple[Any, ...]:
    """A list of limits, each as it is or as a mapping of its arguments."""
    if isinstance(given, (kind, Mapping)):
        given = (given,)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"'{argument}' must be a list of {kind.__name__}, got {given!r}.")
    out = []
    for each in given:
        if isinstance(each, Mapping):
            known = tuple(kind.__dataclass_fields__)
            unknown = [name for name in each if name not in known]
            if unknown or "column" not in each:
                wrong = f"has no {unknown[0]!r}" if unknown else "needs a 'column'"
                raise InputError(
                    f"'{argument}': {kind.__name__} {wrong}; it has {', '.join(known)}."
                )
            each = kind(**each)
        if not isinstance(each, kind):
            raise InputError(f"'{argument}' must be a list of {kind.__name__}, got {each!r}.")
        out.append(each)
    return tuple(out)
