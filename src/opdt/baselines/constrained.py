"""The paper's own comparison methods: BSCCART and RSCRULES, each with its best rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from opdt.baselines.base import Baseline
from opdt.baselines.rules import rscrules
from opdt.engines.bins import DEFAULT_BINS
from opdt.engines.bsccart import BSCCARTEngine
from opdt.problem import Problem, Structure
from opdt.rules import Rule
from opdt.table import Table


@dataclass(frozen=True)
class BSCCART(Baseline):
    """CART within a structure, as an engine: at most one rule, the leaf of greatest VI.

    Without a leaf of positive VI there is no rule.

    Parameters
    ----------
    levels : tuple of str
        The group of features of each level of the tree.
    w : float
        The price of one error, in rows.
    """

    name: ClassVar[str] = "bsccart"
    weighted: ClassVar[bool] = True

    levels: tuple[str, ...] = ("all", "all")
    w: float = 10.0

    def _fit(self, table: Table) -> list[Rule]:
        problem = Problem.build(table, structure=Structure.levels(*self.levels), w=self.w)
        rule = BSCCARTEngine().solve(problem).rule
        return [] if rule is None else [rule]


@dataclass(frozen=True)
class RSCRULES(Baseline):
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
    """

    name: ClassVar[str] = "rscrules"
    weighted: ClassVar[bool] = True

    levels: tuple[str, ...] = ("all", "all")
    bins: int = DEFAULT_BINS
    w: float = 10.0

    def _fit(self, table: Table) -> list[Rule]:
        rule = rscrules(table, levels=self.levels, bins=self.bins, w=self.w)
        return [] if rule is None else [rule]
