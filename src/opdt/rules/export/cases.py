"""What every export starts from: rules with their classes, the first that fires decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.errors import InputError
from opdt.rules.condition import format_value

if TYPE_CHECKING:
    from opdt.rules.rule import Rule


class Form(StrEnum):
    """Which object the cases came from; it decides how the text reads."""

    RULE = "rule"
    LIST = "rule list"
    SET = "rule set"


@dataclass(frozen=True)
class Cases:
    """Rules in order, each with its class, and the class where none fires (None: no class)."""

    form: Form
    rules: tuple[Rule, ...]
    default: Any = None

    @property
    def labels(self) -> tuple[Any, ...]:
        """All classes that can come out, the default last if there is one."""
        return (*(rule.label for rule in self.rules), *self.defaults)

    @property
    def defaults(self) -> tuple[Any, ...]:
        """The default, or nothing."""
        return () if self.default is None else (self.default,)


def format_label(label: Any) -> str:
    """Text of a class, without the quotes that a level has."""
    return label if isinstance(label, str) else format_value(label)


def kind_of(value: Any) -> str:
    """`text`, `boolean`, `number` or `date`; any other value is refused."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, np.datetime64):
        return "date"
    raise InputError(f"{value!r} cannot be exported; levels are texts, numbers, booleans or dates.")


def check_labels(cases: Cases) -> None:
    """Refuse classes of several kinds, which no column of a database can hold."""
    kinds = {kind_of(label) for label in cases.labels}
    if "date" in kinds:
        raise InputError("a class that is a date cannot be exported; classes are texts or numbers.")
    if len(kinds) > 1:
        raise InputError(
            f"the classes are of several kinds ({', '.join(sorted(kinds))}), which one column "
            "cannot hold; make all of them texts."
        )
