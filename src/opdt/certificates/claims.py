"""A problem and what is claimed about it, as plain data: the first half of a certificate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt import verify
from opdt.errors import EngineFailure, InputError, UnsupportedProblem
from opdt.objectives.gains import VolumeImpurity
from opdt.problem import CodedCondition, Problem
from opdt.problem.lifting import lift_condition
from opdt.rules import Condition, Op, Rule
from opdt.solution import Solution, Status
from opdt.table import Column, Kind

CERTIFIED = ("vi", "coverage", "precision")
TARGET = "target"  # what the column of the classes is called where it has no name

Cells = dict[str, Any]


class PricedClaim(NamedTuple):
    """A bound as a VI at some price: no rule has a VI above `bound` units at `w`.

    That no rule is more precise than p is that no rule has a VI above 0 at w = 1 / (1 - p).
    """

    objective: str
    w: Fraction
    bound: int | None  # None: no rule keeps the limits


def check_certifiable(problem: Problem) -> VolumeImpurity:
    """The gains of a problem whose answer can be certified; a refusal in one sentence otherwise."""
    gains = problem.objective
    if not isinstance(gains, VolumeImpurity) or problem.best_in not in CERTIFIED:
        raise UnsupportedProblem(
            f"a certificate is about the objectives {', '.join(map(repr, CERTIFIED))}; for "
            f"{problem.best_in!r} there is none."
        )
    if gains.rounding:
        raise UnsupportedProblem(
            "a certificate needs row weights that are whole numbers or decimals of up to six "
            "places; these were rounded."
        )
    if problem.constraints.segments or problem.constraints.parities:
        raise UnsupportedProblem(
            "a certificate knows 'max_coverage', 'min_coverage', 'min_precision' and 'max_errors'; "
            "for 'segments' and 'parities' there is none."
        )
    return gains


def price(problem: Problem, solution: Solution) -> PricedClaim:
    """What a solution claims, at the price at which it can be counted."""
    gains = check_certifiable(problem)
    name = "VI" if problem.best_in == "vi" else str(problem.best_in)
    if solution.status is Status.INFEASIBLE:
        return PricedClaim(name, gains.w, None)
    if problem.best_in == "precision":
        return _price_of_precision(problem, solution)
    if solution.rule is not None and solution.status is Status.OPTIMAL:
        bound = problem.measure(problem.lower(solution.rule)).gain
    else:
        bound = min(problem.gain(solution.bound), problem.ceiling)
    return PricedClaim(name, gains.w, bound)


def _price_of_precision(problem: Problem, solution: Solution) -> PricedClaim:
    most = Fraction(math.ceil(solution.bound * 10**6), 10**6)
    correct = 0
    if solution.rule is not None:
        measure = problem.measure(problem.lower(solution.rule))
        correct = measure.covered - measure.errors
        if solution.status is Status.OPTIMAL:
            most = Fraction(correct, measure.covered)
    if most < 1:
        return PricedClaim("precision", 1 / (1 - most), 0)
    # Nothing is more precise than all correct; at this price one error outweighs all rows.
    total = int(problem.objective.weights.sum())
    proven = solution.status is Status.OPTIMAL
    return PricedClaim("VI", Fraction(total + 1), correct if proven else total)


def describe_problem(problem: Problem, target: str, priced: PricedClaim) -> dict[str, Any]:
    """All that decides which rules are allowed and what they are worth, as JSON."""
    table, asked, limits = problem.table, problem.constraints, problem.limits
    gains = check_certifiable(problem)
    labels = gains.labels
    structure = problem.structure
    return {
        "features": [_describe_column(column) for column in table.columns],
        "target": target,
        "label": text_of(table.classes[labels[0]]) if len(labels) < len(table.classes) else None,
        "objective": priced.objective,
        "w": str(priced.w),
        "weight_scale": int(gains.weight_scale),
        "structure": {
            "split": [int(splits) for splits in structure.split],
            "group": list(structure.group),
            "target": [int(wanted) for wanted in structure.target],
        },
        "groups": {
            name: list(problem.groups[name]) for name in sorted({*structure.group} - {"all"})
        },
        "directions": {str(table.index(f)): str(op) for f, op in asked.directions.items()},
        "required": sorted(problem.required),
        "forbidden": sorted(problem.forbidden),
        "once": bool(asked.once),
        "subsets": {
            str(f): [text_of(table.columns[f].values[c]) for c in problem.subset_levels(f)]
            for f in sorted(problem.subset_features)
        },
        "missing_conditions": bool(asked.missing_conditions),
        "limits": {
            "min_covered": int(limits.min_covered),
            "max_covered": _budget(problem),
            "max_errors": None if asked.max_errors is None else int(limits.max_errors),
            "min_precision": str(limits.precision),
        },
    }


def _budget(problem: Problem) -> int | None:
    if problem.constraints.max_coverage is None:
        return None
    (limit,) = problem.row_limits(problem.objective.labels[0])
    return int(limit.most)


def describe_claim(
    problem: Problem, solution: Solution, priced: PricedClaim, rules: verify.AllowedRules
) -> dict[str, Any]:
    """What the solution says, in whole units at the price."""
    claim: dict[str, Any] = {"bound": priced.bound, "rule": None}
    if solution.rule is not None:
        measure = problem.measure(problem.lower(solution.rule))
        conditions = spell(problem, solution.rule, rules)
        claim["rule"] = {
            "label": text_of(solution.rule.label),
            "conditions": [_describe_condition(condition) for condition in conditions],
        }
        worth = measure.covered * priced.w.denominator - measure.errors * priced.w.numerator
        claim |= {"covered": measure.covered, "errors": measure.errors, "value": worth}
    return claim


def spell(problem: Problem, rule: Rule, rules: verify.AllowedRules) -> list[Condition]:
    """The conditions of a rule, one for each node of the structure that needs one.

    A node that may not be left out repeats something that the rule implies, and two sets of levels
    may say an equality; see `Problem.fits`.
    """
    known = {(axis.feature, axis.op): number for number, axis in enumerate(rules.axes)}

    def fit(conditions: Sequence[CodedCondition]) -> bool:
        axes = [known.get((c.feature, str(c.op))) for c in conditions]
        return None not in axes and rules.complete(axes)

    coded = problem.lower(rule).conditions
    if len(coded) == len(rule.conditions) and fit(coded):
        return list(rule.conditions)
    fillers = list({(c.feature, c.op): c for c in problem.implied(coded)}.values())
    for spelling in product(*map(problem.spellings, coded)):
        conditions = sum(spelling, ())
        for n in range(rules.depth - len(conditions) + 1):
            for more in combinations_with_replacement(fillers, n):
                if fit(conditions + more):
                    return [lift_condition(problem.table, c) for c in conditions + more]
    raise EngineFailure(f"the rule {rule} is none that the problem allows.")


def _describe_condition(condition: Condition) -> dict[str, Any]:
    value: Any = condition.value
    if condition.op is Op.IN:
        value = sorted(map(text_of, value))
    elif condition.op in (Op.EQ, Op.NE):
        value = text_of(value)
    elif isinstance(value, np.datetime64):
        value = str(value)
    return {"feature": condition.feature, "op": str(condition.op), "value": value}


def _describe_column(column: Column) -> dict[str, Any]:
    values = column.values
    return {
        "name": column.name,
        "kind": kind_of(column),
        "whole": values.dtype.kind in "iu" and bool((np.abs(values.astype(float)) >= 2**53).any()),
        "cleaning": {} if column.cleaning is None else column.cleaning.to_dict(),
    }


def kind_of(column: Column) -> str:
    """What kind of column a certificate calls it."""
    if column.kind is Kind.CATEGORICAL:
        return "level"
    return "date" if column.values.dtype.kind == "M" else "number"


def text_of(level: Any) -> str:
    """A level or a class as a certificate writes it."""
    return str(verify.level_text(level))


def cells_of(problem: Problem, target: str = TARGET) -> Cells:
    """The cells of all columns, as `opdt.verify.verify` takes them: cleaned, None where missing."""
    table = problem.table
    cells: Cells = {column.name: _cells(column) for column in table.columns}
    classes = np.array([text_of(label) for label in table.classes], object)
    cells[free_name(target, table.names)] = classes[table.labels].tolist()
    return cells


def units_of(problem: Problem) -> list[int] | None:
    """The weights of the rows in units; None where all are 1."""
    return None if problem.table.weights is None else problem.objective.weights.tolist()


def free_name(target: str, names: Iterable[str]) -> str:
    """A name for the column of the classes that no feature has."""
    while target in names:
        target += "'"
    return target


def _cells(column: Column) -> NDArray[Any]:
    values = column.values
    if values.dtype.kind == "M":
        exact = values.astype("datetime64[us]")
        if (exact != values).any():
            raise InputError(
                f"column {column.name!r} holds dates with nanoseconds, which a certificate does "
                "not tell apart; round them to microseconds."
            )
        return np.append(exact, np.datetime64("NaT", "us"))[column.codes]
    if column.has_missing or values.dtype == object:
        cells = np.empty(len(values) + 1, object)  # the last is None: code -1
        cells[:-1] = values
        values = cells
    taken: NDArray[Any] = values[column.codes]
    return taken
