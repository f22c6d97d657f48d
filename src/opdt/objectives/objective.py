"""What a rule is to be best in, said before the rows are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.objectives.estimate import Estimate, estimate_of_gains
from opdt.objectives.gains import Gains, ObjectiveGains
from opdt.objectives.words import Words

if TYPE_CHECKING:
    from opdt.objectives.rows import BoundRows


class TargetKind(StrEnum):
    """What the target `y` holds for an objective."""

    CLASSES = "classes"  # rules are for one of them
    NUMBERS = "numbers"
    NOTHING = "nothing"  # the objective names all columns that it reads


class Objective(ABC):
    """What a rule is to be best in: plain, frozen data with keyword arguments.

    A subclass is a dataclass (`frozen=True, eq=False, repr=False, kw_only=True`) that says the
    class variables below and writes `bind` and `words`. Passed as ``discover(..., objective=...)``
    it is bound to the rows: `bind` gives `Gains`, what covering each row is worth in whole units,
    and the engines maximise their sum.

    Attributes
    ----------
    kind : str
        Its name in files and on the command line.
    target : TargetKind
        What `y` holds.
    reads : tuple of str
        Arguments that name a column of X (a string), or give an array of shape (n_rows,). Columns
        that they name are no features.
    counts_errors : bool
        Whether `Gains.wrong` says what an error is, so that `min_precision` and `max_errors` mean
        something.
    needs_features : bool
        Whether `bind` looks at the features; if not, held-out rows need not be coded.
    headline : tuple of str
        Which numbers of an account lists of rules show; all where it is empty.
    """

    kind: ClassVar[str]
    target: ClassVar[TargetKind] = TargetKind.CLASSES
    reads: ClassVar[tuple[str, ...]] = ()
    counts_errors: ClassVar[bool] = True
    needs_features: ClassVar[bool] = False
    headline: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def bind(self, rows: BoundRows) -> Gains:
        """What covering each of these rows is worth, exactly."""

    @property
    @abstractmethod
    def words(self) -> Words:
        """How its values are spoken of."""

    @property
    def rule_label(self) -> str | None:
        """The class of its rules, where the target holds no classes: "high", "treat", …."""
        return None

    def then(self, target: str | None = None) -> str | None:
        """What follows for the rows that a rule covers, in words: "treat"; None for a class.

        `target` is the name of the target, where it has one.
        """
        return None

    @property
    def needs_coverage(self) -> bool:
        """Whether it is a ratio, so that it means something beside a minimum coverage only."""
        return False

    @property
    def columns(self) -> dict[str, str]:
        """The columns of X that it names, by argument."""
        given = {argument: getattr(self, argument) for argument in self.reads}
        return {argument: name for argument, name in given.items() if isinstance(name, str)}

    def estimate(
        self, gains: ObjectiveGains, fires: NDArray[np.bool_], level: float = 0.95
    ) -> Estimate:
        """What a rule is worth on rows that had no part in finding it, with an interval.

        Parameters
        ----------
        gains : ObjectiveGains
            This objective, bound to the held-out rows.
        fires : ndarray of bool of shape (n_rows,)
            Those that the rule covers.
        level : float
            Confidence, between 0 and 1.
        """
        return estimate_of_gains(gains, fires, level, self.words)

    def to_dict(self) -> dict[str, Any]:
        """Its kind and arguments, for JSON; of values given row by row only how many they were."""
        out: dict[str, Any] = {"objective": self.kind}
        for field in fields(self):  # type: ignore[arg-type]
            out[field.name] = _plain(getattr(self, field.name))
        return out

    def __repr__(self) -> str:
        """What was given, and not what stands there anyway."""
        shown = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not _same(value, field.default):
                shown.append(f"{field.name}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((self.kind, tuple(sorted(self.columns.items()))))


def objective_from(kinds: Mapping[str, type[Objective]], data: Mapping[str, Any]) -> Objective:
    """The objective that `Objective.to_dict` has written."""
    given = dict(data)
    kind = given.pop("objective", None)
    if kind not in kinds:
        known = ", ".join(map(repr, kinds))
        raise InputError(f"'objective' must be one of {known}, got {kind!r}.")
    made = kinds[kind]
    known_fields = [field.name for field in fields(made)]  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in known_fields:
            raise InputError(
                f"objective {kind!r} has no argument {name!r}; it has {', '.join(known_fields)}."
            )
        if isinstance(value, Mapping) and "rows" in value:
            raise InputError(
                f"'{name}' of objective {kind!r} was given row by row, which files do not hold; "
                "name a column of the data instead."
            )
    return made(**given)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Real):
        return float(value)
    if hasattr(value, "__len__"):
        return {"rows": len(value)}
    return str(value)


def _shown(value: Any) -> str:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return repr(value)
    return f"<{len(value):,} values>"


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, str) or isinstance(other, str) or not hasattr(one, "__len__"):
        return bool(np.ndim(other) == 0 and one == other)
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))
