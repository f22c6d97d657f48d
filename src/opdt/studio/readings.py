"""How each column is read: what its content suggests, what else it could be, and why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from opdt.errors import InputError
from opdt.studio.profiles import Profile, profile
from opdt.table import Kind, Plan, Role
from opdt.table.cleaning import PARTS
from opdt.table.planning import plan_raw
from opdt.table.raw import Raw
from opdt.table.roles import ColumnPlan, check_missing, check_roles, kind_of

FREQUENT = 20  # levels that are kept where the rare ones are merged
MOST_ORDERED = 20  # levels that a person can put in order
TRIED = 200  # cells that say which roles a column could have
ORDERED = str(Role.ORDERED)
# Roles in the order in which they are offered, and how they are called.
WORDS = {
    "numeric": "numeric",
    "numeric:comma": "numeric, 1,5 is a fraction",
    "numeric:point": "numeric, 1.5 is a fraction",
    "categorical": "categorical",
    f"categorical:{FREQUENT}": f"categorical, {FREQUENT} most frequent",
    ORDERED: "ordered",
    "date": "date",
    "date:d/m/y": "date, day/month/year",
    "date:m/d/y": "date, month/day/year",
    **{f"date:{part}": f"date: {part}" for part in PARTS},
    "yes/no": "yes/no",
    "id": "id (not used)",
    "text": "free text (not used)",
    "ignored": "ignored",
}


class Readings:
    """The columns of a table with the roles that they have or could have; all answers are kept.

    Parameters
    ----------
    plan : Plan
        What the content suggests.
    raw : callable
        The cells of a column, by its name.
    """

    def __init__(self, plan: Plan, raw: Callable[[str], Raw]) -> None:
        self._suggested = {each.name: each for each in plan}
        self._raw = raw
        self._plans: dict[tuple[str, str | None, tuple[str, ...]], ColumnPlan] = {}
        self._profiles: dict[ColumnPlan, Profile] = {}
        self._choices: dict[str, dict[str, str]] = {}

    def suggested(self, name: str) -> ColumnPlan:
        """What the content suggests."""
        return self._suggested[name]

    def plan(self, name: str, role: str | None = None, missing: tuple[str, ...] = ()) -> ColumnPlan:
        """What a column is taken for with a role, or by its content; one sentence if it cannot.

        Parameters
        ----------
        missing : tuple of str
            Cells that the expert says are missing values.
        """
        suggested = self._suggested[name]
        role = None if role == str(suggested.role) else role
        if role is None and not (missing and suggested.is_used):
            return suggested
        key = name, role, missing
        if key not in self._plans:
            self._plans[key] = self._made(name, self._raw(name), role, missing)
        return self._plans[key]

    def _made(self, name: str, raw: Raw, role: str | None, missing: tuple[str, ...]) -> ColumnPlan:
        wish = None if role is None else check_roles({name: role}, [name])[name]
        declared = check_missing(list(missing) or None, [name]).get(name, ())
        return plan_raw(name, raw, wish, declared)[0]

    def kind(self, name: str, role: str | None = None, missing: tuple[str, ...] = ()) -> Kind:
        """How the column is tested."""
        return kind_of(self.plan(name, role, missing).role, self._raw(name).kind)

    def profile(self, plan: ColumnPlan) -> Profile:
        """What the column holds as it is compared; as it stands, where it is not used."""
        if plan not in self._profiles:
            raw = self._raw(plan.name)
            cleaned = raw if plan.cleaning is None else plan.cleaning.apply(raw)[0]
            kind = kind_of(plan.role, cleaned.kind)
            self._profiles[plan] = profile(plan.name, replace(cleaned, kind=kind))
        return self._profiles[plan]

    def order(self, name: str) -> str:
        """The role that takes the levels in the order of the alphabet, for a start."""
        return f"{ORDERED}:{'<'.join(sorted(self._levels(name)))}"

    def choices(self, name: str) -> dict[str, str]:
        """The roles that a column could have, as its first cells show, with their names."""
        if name not in self._choices:
            offered = {role: words for role, words in WORDS.items() if self._may_be(name, role)}
            if self._suggested[name].role is Role.CONSTANT:
                offered = {str(Role.CONSTANT): "constant", **offered}
            self._choices[name] = offered
        return self._choices[name]

    def _may_be(self, name: str, role: str) -> bool:
        raw, suggested = self._raw(name), self._suggested[name].role
        is_text = raw.values.dtype == object
        head, _, rest = role.partition(":")
        if role == ORDERED:
            return is_text and 2 <= len(self._levels(name)) <= MOST_ORDERED
        if head == "date" and rest in PARTS and suggested is not Role.DATE:
            return False
        if rest and head != "date" and not is_text:
            return False
        some = raw.values[np.flatnonzero(~raw.mask)[:TRIED]]
        if head == "numeric" and rest and not any({",", "."} & set(str(cell)) for cell in some):
            return False
        if head == "categorical" and rest and len(self._levels(name)) <= FREQUENT:
            return False
        if role == "yes/no" and not is_text and len(np.unique(some)) > 2:
            return False
        with suppress(InputError):
            self._made(name, replace(raw, values=some, missing=None), role, ())
            return True
        return False

    def _levels(self, name: str) -> list[str]:
        """The different cells of text; none where a level could not be told from an order."""
        raw = self._raw(name)
        missing = set() if (plan := self._suggested[name].cleaning) is None else {*plan.missing}
        levels = {cell for cell in raw.values[~raw.mask].tolist() if cell not in missing}
        plain = all(isinstance(level, str) and level == level.strip() and level for level in levels)
        return list(levels) if plain and not any("<" in level for level in levels) else []
