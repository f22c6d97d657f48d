"""What a command looks for: the class and the objective, where they are given and where not.

Why the defaults are what they are is told on the page "Which defaults hold?" of the documentation:
a rule for the rarer of two classes, the most precise one that covers at least 5 % of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.cli import options as opt
from opdt.cli.source import class_of
from opdt.errors import InputError
from opdt.objectives import Mean, Money, Objective
from opdt.problem import Problem
from opdt.problem.arguments import LEAST_COVERAGE, resolve_objective
from opdt.problem.lifting import RARER, RAREST
from opdt.report.formats import format_share
from opdt.solution import Solution
from opdt.table import Source, Table

if TYPE_CHECKING:
    from opdt.cli.option_groups import RuleOptions

ALL = "all"
# The options that each objective of its own has.
OPTIONS = {"money": ("benefit", "cost", "unit"), "mean": ("threshold", "low", "unit")}
PRICE = 10.0  # the paper's


@dataclass(frozen=True)
class Aim:
    """The options that say what a rule is best in, and of which class it is.

    `w`, `objective` and `label` are None where the option is not given.
    """

    objective: opt.Objective = None
    w: opt.Price = None
    label: opt.Wanted = None
    paper: opt.Paper = False
    benefit: opt.Benefit = None
    cost: opt.Cost = None
    threshold: opt.Threshold = None
    low: opt.Low = False
    unit: opt.Unit = None

    def __post_init__(self) -> None:
        _ = self.own  # refuses options of other objectives
        if not self.paper:
            return
        for option, value in (("--objective", self.objective), ("--label", self.label)):
            if value is not None:
                raise InputError(f"'{option}' cannot be given beside '--paper', which settles it.")

    @property
    def own(self) -> Objective | None:
        """The objective that is an object, from its options; None for those that a name says."""
        for kind, names in OPTIONS.items():
            for name in names:
                value = getattr(self, name)
                given = value is not None and value is not False
                if given and name not in OPTIONS.get(self.objective or "", ()):
                    raise InputError(
                        f"'--{name}' belongs to '--objective {kind}'; ask for that, or drop it."
                    )
        unit = self.unit or ""
        if self.objective == "money":
            if self.benefit is None or self.cost is None:
                raise InputError(
                    "'--objective money' needs '--benefit', what a row of the class brings, and "
                    "'--cost', what a row of another costs: a number or the name of a column each."
                )
            return Money(benefit=_amount(self.benefit), cost=_amount(self.cost), unit=unit)
        if self.objective == "mean":
            direction = "low" if self.low else "high"
            return Mean(threshold=self.threshold, direction=direction, unit=unit)
        return None

    def problem(
        self, source: Source, target: str, table: Table, rule: RuleOptions, depth: int | None
    ) -> Problem:
        """The problem of an objective of its own; its columns are read as in the table."""
        assert self.own is not None
        return Problem.of(
            source,
            target,
            max_depth=depth,
            **self.settings(rule.limits),
            label=self.of_table(table),
            **rule.shape(),
            constraints=rule.demands(table.names),
            roles=table.plan,
        )

    @property
    def price(self) -> float:
        """The price of an error; it counts for the VI only."""
        return PRICE if self.w is None else self.w

    def settings(self, limits: Mapping[str, float | None]) -> dict[str, Any]:
        """The arguments `objective` and `w` of `discover`.

        A price asks for the VI. So does a limit on errors or precision: the rule of the largest VI
        within the limit; the most precise rule would make nothing of it.
        """
        if self.own is not None:
            if self.w is not None:
                raise InputError(
                    "'--w' is the price of an error in the VI and cannot be given beside "
                    f"'--objective {self.objective}'; drop one."
                )
            return {"objective": self.own}
        objective = self.objective
        if objective is None:
            other = any(limits.get(name) is not None for name in ("min_precision", "max_errors"))
            objective = "vi" if self.paper or self.w is not None or other else "precision"
        elif objective != "vi" and self.w is not None:
            raise InputError(
                f"'--w' is the price of an error in the VI and cannot be given beside "
                f"'--objective {objective}'; drop one."
            )
        resolve_objective(objective)  # refuses names that are none
        return {"objective": objective, "w": self.price}

    def wanted(self, class_of: Callable[[str], Any], classes: Sequence[Any] | None) -> Any:
        """The argument `label` of `discover`.

        Parameters
        ----------
        class_of : callable
            Gives the class that a text spells, or raises `InputError`.
        classes : sequence or None
            The classes, where they are known before the search.
        """
        if self.paper:
            return None
        if self.own is not None and self.own.rule_label is not None:
            if self.label is not None:
                raise InputError(
                    f"'--label' names a class, and '--objective {self.objective}' knows none; "
                    "drop it."
                )
            return None
        if self.label is None:
            if classes is None:
                return RARER
            return RAREST if len(classes) == 2 else None
        if self.label in (ALL, RAREST) and self.label not in map(str, classes or ()):
            return None if self.label == ALL else RAREST
        return class_of(self.label)

    def of_table(self, table: Table) -> Any:
        """The argument `label` of `discover` for a table."""
        return self.wanted(partial(class_of, table), table.classes.tolist())

    def class_notes(self, label: Any, table: Table, what: str = "the rule is") -> list[str]:
        """Which class was taken, where nobody has said and there are two."""
        if self.paper or self.label is not None or len(table.classes) != 2:
            return []
        rarer = _share(table, label) < 0.5
        which = "the rarer of two classes" if rarer else "the first of two equal classes"
        return [
            f"{what} for {label}, {which}; '--label' names another, '--label all' leaves it open."
        ]

    def notes(self, solution: Solution, table: Table, given: float | None) -> list[str]:
        """What is said aloud about what nobody has asked for: the class, and the coverage.

        `table` has the classes and their weights; `given` is the minimum coverage that was asked
        for, if any.
        """
        if solution.rule is None or self.paper:
            return []
        said = self.class_notes(solution.rule.label, table)
        share = _share(table, solution.rule.label)
        if solution.objective == "precision" and given is None and share < LEAST_COVERAGE:
            said.append(
                f"only {format_share(share)} of the rows are {solution.rule.label}, so no rule "
                f"that covers {LEAST_COVERAGE:.0%} of them is right in more than "
                f"{format_share(share / LEAST_COVERAGE)}; lower '--min-coverage' for rarer rows."
            )
        return said


def written(objective: str | Objective) -> Any:
    """An objective as it stands in JSON."""
    return objective if isinstance(objective, str) else objective.to_dict()


def _amount(text: str) -> Any:
    """A number, or the name of a column."""
    try:
        return float(text)
    except ValueError:
        return text


def _share(table: Table, label: Any) -> float:
    """The share of a class in the weight of all rows."""
    weights = np.bincount(table.labels, table.weights, len(table.classes))
    return float(weights[table.classes.tolist().index(label)] / weights.sum())
