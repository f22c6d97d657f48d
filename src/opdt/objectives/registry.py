"""The objectives that are objects, by the names that files and the command line give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opdt.objectives.mean import Mean
from opdt.objectives.money import Money
from opdt.objectives.objective import Objective, objective_from
from opdt.objectives.vi import VI

KINDS: dict[str, type[Objective]] = {made.kind: made for made in (VI, Money, Mean)}


def read_objective(data: Mapping[str, Any]) -> Objective:
    """The objective that `Objective.to_dict` has written.

    Examples
    --------
    >>> read_objective({"objective": "vi", "w": 4})
    VI(w=4)
    """
    return objective_from(KINDS, data)
