"""The paper's own comparison methods: BSCCART and RSCRULES, each with its best rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from opdt.baselines.base import Baseline
from opdt.baselines.rules import rscrules
from opdt.checks import check_bool
from opdt.engines.bins import DEFAULT_BINS
from opdt.engines.bsccart import BSCCARTEngine
from opdt.problem import Problem, Structure
from opdt.problem.groups import CATEGORICAL, NUMERIC
from opdt.rules import Rule
from opdt.table import Table

Levels = tuple[str, ...]


def separated(table: Table, depth: int) -> list[Levels]:
    """Every structure of this depth whose levels are numeric or categorical, not mixed.

    At depth 2 these are num–num, num–cat, cat–num and cat–cat. A structure is left out where the
    table has no feature of a kind that it asks for.

    Examples
    --------
    >>> separated(Table.build({"age": [1, 2], "sex": ["f", "m"]}, [0, 1]), 1)
    [('num',), ('cat',)]
    """
    kinds = {NUMERIC: table.numeric, CATEGORICAL: table.categorical}
    return list(product([name for name, features in kinds.items() if features], repeat=depth))


@dataclass(frozen=True)
class _Constrained(Baseline):
    """Learns one rule within a structure, or one in each of the separated structures."""

    weighted: ClassVar[bool] = True

    levels: Levels = ("all", "all")
    w: float = 10.0
    separate: bool = False

    def __post_init__(self) -> None:
        check_bool("separate", self.separate)

    def _fit(self, table: Table) -> list[Rule]:
        wanted = separated(table, len(self.levels)) if self.separate else [self.levels]
        found = (self._learn(table, levels) for levels in wanted)
        return [rule for rule in found if rule is not None]

    @abstractmethod
    def _learn(self, table: Table, levels: Sequence[str]) -> Rule | None:
        """The rule within one structure, if there is one."""


@dataclass(frozen=True)
class BSCCART(_Constrained):
    """CART within a structure, as an engine: at most one rule, the leaf of greatest VI.

    Without a leaf of positive VI there is no rule.

    Parameters
    ----------
    levels : tuple of str
        The group of features of each level of the tree.
    w : float
        The price of one error, in rows.
    separate : bool
        Grow one tree for each structure of as many levels that keeps numeric and categorical
        features apart, instead of one within `levels`: at most one rule of each.
    """

    name: ClassVar[str] = "bsccart"

    def _learn(self, table: Table, levels: Sequence[str]) -> Rule | None:
        problem = Problem.build(table, structure=Structure.levels(*levels), w=self.w)
        return BSCCARTEngine().solve(problem).rule


@dataclass(frozen=True)
class RSCRULES(_Constrained):
    """RULES within a structure, a bin counting as one condition: at most one rule.

    See `opdt.baselines.rscrules`. Without a rule of positive VI there is none.

    Parameters
    ----------
    levels : tuple of str
        The group of features of each level.
    bins : int
        Bins of equal width per numeric feature.
    w : float
        The price of one error, in rows.
    separate : bool
        Learn once for each structure of as many levels that keeps numeric and categorical
        features apart, instead of once within `levels`: at most one rule of each.
    """

    name: ClassVar[str] = "rscrules"

    bins: int = DEFAULT_BINS

    def _learn(self, table: Table, levels: Sequence[str]) -> Rule | None:
        return rscrules(table, levels=levels, bins=self.bins, w=self.w)
