"""One measurement that can be made alone, in any process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

from opdt.errors import InputError

Scalar = str | int | float | bool | None
Record = Mapping[str, Any]  # what a measurement gives: names and values that JSON can hold


@dataclass(frozen=True)
class Cell:
    """A measurement by its kind and parameters, which together say all that it depends on.

    Whatever would change the answer (the number of a split, a seed, the time limit of an engine)
    is a parameter; what would not (the number of processes, the folder of the data) is none.

    Attributes
    ----------
    kind : str
        Name of the measurement, a key of `opdt.experiments.registry.MEASURES`.
    parameters : tuple of (name, value)
        Sorted by name; `Cell.of` sorts them.
    cost : float
        Expected seconds, for the remaining time only; not part of the identity.

    Examples
    --------
    >>> cell = Cell.of("rule", dataset="german", split=0, method="ripper", seed=3)
    >>> cell["dataset"], cell.key
    ('german', '["rule",{"dataset":"german","method":"ripper","seed":3,"split":0}]')
    """

    kind: str
    parameters: tuple[tuple[str, Scalar], ...] = ()
    cost: float = field(default=1.0, compare=False)

    @classmethod
    def of(cls, kind: str, /, *, cost: float = 1.0, **parameters: Scalar) -> Self:
        """The cell of this kind with these parameters, in any order."""
        return cls(kind, tuple(sorted(parameters.items())), cost)

    @classmethod
    def from_key(cls, key: str) -> Self:
        """The cell whose `key` this is."""
        kind, parameters = json.loads(key)
        return cls.of(kind, **parameters)

    @property
    def key(self) -> str:
        """Kind and parameters as JSON, always written in the same way."""
        content = [self.kind, dict(self.parameters)]
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    def __getitem__(self, name: str) -> Any:
        return dict(self.parameters)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a parameter, or `default` where the cell has none of this name."""
        return dict(self.parameters).get(name, default)

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"{name}={value}" for name, value in self.parameters)])


def measure(cell: Cell) -> Record:
    """Make the measurement: call the function that is registered for the cell's kind."""
    from opdt.experiments.registry import MEASURES

    if cell.kind not in MEASURES:
        raise InputError(
            f"'kind' of a cell must be one of {', '.join(MEASURES)}; got {cell.kind!r}."
        )
    module, _, name = MEASURES[cell.kind].partition(":")
    record: Record = getattr(import_module(module), name)(cell)
    return record
