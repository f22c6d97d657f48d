"""Every significant rule: the list against all rules and all permutations of small tables."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import enumeration as plain
from naive import Naive
from opdt import Mean, Money, Parity, Survival, Uplift, significant_rules
from opdt.analysis.permutation import permutation_test
from opdt.analysis.shuffling import Shuffler
from opdt.analysis.significant import adjusted_p, allowed_hits
from opdt.engines import get_engine
from opdt.errors import InputError
from opdt.problem import Constraints, Problem
from opdt.rules import Rule
from opdt.rules.rule_json import rule_from_dict
from opdt.solution import Budget, StopReason


def table(seed: int, n_rows: int = 60, signal: float = 0.8) -> tuple[dict[str, Any], list[str]]:
    """Two features, of which one has to do with the class in most rows."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 6, n_rows), "c": rng.choice(list("xyz"), n_rows)}
    inside = (columns["a"] > 3) & (rng.random(n_rows) < signal)
    noise = rng.random(n_rows) < 0.15
    return columns, np.where(inside ^ noise, "ill", "well").tolist()


def slowly(problem: Problem, alpha: float, n: int, seed: int) -> dict[Any, tuple[float, float]]:
    """The significant rules and their p-values, by trying all rules and solving all tables."""
    shuffler = Shuffler.of(problem, seed, None, None)
    maxima = []
    for index in range(n):
        shuffled = problem.with_objective(shuffler.objective(index))
        maxima.append(get_engine("exhaustive").solve(shuffled).value)
    twin, found = Naive(problem), {}
    for tests, rows in twin.rules():
        for label in twin.labels:
            value, covered, errors = twin.count(rows, label)
            short = twin.simplify(tests)
            if value <= 0 or not twin.enough(covered, errors) or not twin.allowed(short):
                continue
            p = (1 + sum(most >= float(value) for most in maxima)) / (1 + n)
            if p <= alpha:
                found[short, label] = float(value), p
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_list_is_complete_and_its_p_values_are_right(seed):
    X, y = table(seed)
    asked: dict[str, Any] = {"label": "ill", "w": 3, "max_depth": 2 if seed % 2 else 1}
    problem = Problem.of(X, y, **asked)
    found = significant_rules(
        problem, alpha=0.1, n_permutations=39, seed=seed, n_jobs=1, distinct="conditions"
    )
    by_rows = significant_rules(problem, alpha=0.1, n_permutations=39, seed=seed, n_jobs=1)
    covers = {tuple(rule.rule.covers(X)) for rule in found}
    assert {tuple(rule.rule.covers(X)) for rule in by_rows} == covers
    assert len(by_rows) == len(covers)
    slow = slowly(problem, 0.1, 39, seed)
    listed = sorted((rule.value, p) for rule, p in zip(found, found.p_values, strict=True))
    assert listed == sorted(slow.values())
    assert found.complete == (found.stopped_by is StopReason.FINISHED)
    assert len({str(rule.rule) for rule in found}) == len(found)
    if len(found):
        assert found.p_values == tuple(sorted(found.p_values))
        assert found.p_values[-1] <= 0.1
        assert all(rule.value > found.threshold for rule in found)
    else:
        assert found.p_value > 0.1


def test_the_best_rule_has_the_p_value_of_its_own_test():
    X, y = table(1)
    asked: dict[str, Any] = {"label": "ill", "w": 3, "n_permutations": 99, "n_jobs": 1}
    found = significant_rules(X, y, **asked)
    test = permutation_test(X, y, **asked)
    assert found.p_value == found.p_values[0] == test.p_value
    assert found[0].rule == test.solution.rule


def test_the_answer_does_not_depend_on_threads():
    X, y = table(3, signal=0.5)
    one = significant_rules(X, y, label="ill", w=3, n_permutations=59, n_jobs=1)
    two = significant_rules(X, y, label="ill", w=3, n_permutations=59, n_jobs=2)
    assert one.to_dict() == two.to_dict()


def test_chance_gives_no_rule_and_ends_early():
    rng = np.random.default_rng(0)
    X = {"a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80)}
    found = significant_rules(X, rng.random(80) < 0.4, label=True, w=2, n_permutations=199)
    assert len(found) == 0
    assert found.complete
    assert found.n_done < 199
    assert "No rule is significant at 0.05" in str(found)


def test_a_person_can_read_it():
    X, y = table(1, n_rows=120)
    found = significant_rules(X, y, label="ill", w=3, n_permutations=99, n_jobs=1)
    text = str(found)
    assert f"{len(found):,} rules that cover different rows are significant at 0.05" in text
    assert "there are no others." in text
    assert len(found.families) < len(found)
    assert sum(each.n_rules for each in found.families) <= len(found)
    assert found.families[0].best.rule == found[0].rule
    said = json.loads(json.dumps(found.to_dict()))
    assert len(said["rules"]) == len(found)
    back = rule_from_dict(said["rules"][0]["rule"])
    assert isinstance(back, Rule)
    assert back == found[0].rule
    assert len(found.to_frame()) == len(found)


def test_a_list_that_is_too_long_says_so():
    X, y = table(1, n_rows=120)
    found = significant_rules(X, y, label="ill", w=3, n_permutations=39, limit=1, n_jobs=1)
    assert len(found) == 1
    assert found.capped
    assert not found.complete
    assert "The first 1 rule that covers different rows is significant" in str(found)


def test_a_limit_leaves_fewer_permutations_and_stays_valid():
    X, y = table(1)
    budget = Budget(time_limit=0.0, n_jobs=1)
    found = significant_rules(X, y, label="ill", w=3, n_permutations=99, budget=budget)
    assert len(found) == 0
    assert found.stopped_by is StopReason.TIME
    assert not found.complete


def by_enumeration(problem: Problem, alpha: float, n: int, seed: int) -> dict[frozenset, float]:
    """The rows of the significant rules and their p-values, over the rows of all rules."""
    columns = {
        column.name: [None if code < 0 else column.values.tolist()[code] for code in column.codes]
        for column in problem.table.columns
    }
    covers = [sorted(rows) for rows in plain.rules(columns, 2)]

    def within(some: Problem) -> list[tuple[list[int], int]]:
        gains, out = some.objective.gains(0), []
        for rows in covers:
            fires = np.zeros(some.table.n_rows, bool)
            fires[rows] = True
            if all(limit.holds(fires) for limit in some.row_limits(0)):
                out.append((rows, int(gains[rows].sum())))
        return out

    shuffler = Shuffler.of(problem, seed, None, None)
    maxima = [
        max([0, *(gain for _, gain in within(problem.with_objective(shuffler.objective(index))))])
        for index in range(n)
    ]
    found = {}
    for rows, gain in within(problem):
        p = (1 + sum(most >= gain for most in maxima)) / (1 + n)
        if gain > 0 and p <= alpha:
            found[frozenset(rows)] = p
    return found


LIMITS: dict[str, dict[str, Any]] = {
    "no limit": {},
    "a budget": {"max_coverage": 12},
    "parity": {"parities": [Parity("c", max_difference=0.2)]},
}


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", ["money", "mean", "uplift", "survival"])
def test_the_list_is_complete_for_every_objective(kind, limits):
    X, y = table(1, n_rows=70)
    rng = np.random.default_rng(5)
    ill = np.array(y) == "ill"
    X |= {"amount": rng.integers(1, 9, 70), "treated": rng.integers(0, 2, 70)}
    X |= {"score": np.where(ill, 3, 1) * X["treated"] + rng.integers(0, 3, 70)}
    X |= {"time": rng.integers(1, 30, 70), "event": rng.integers(0, 2, 70) | ill}
    objective = {
        "money": Money(benefit="amount", cost=2),
        "mean": Mean(threshold=4),
        "uplift": Uplift(treatment="treated", outcome="score", propensity=0.5, cost=1),
        "survival": Survival(time="time", event="event"),
    }[kind]
    used = ["a", "c", *objective.columns.values()]
    target = {"money": y, "mean": X["amount"] + 4 * ill}.get(kind)
    problem = Problem.of(
        {name: X[name] for name in used}, target, objective=objective, max_depth=2,
        label="ill" if kind == "money" else None, constraints=Constraints(**LIMITS[limits]),
    )  # fmt: skip
    found = significant_rules(problem, alpha=0.1, n_permutations=29, seed=3, n_jobs=1)
    slow = by_enumeration(problem, 0.1, 29, 3)
    listed = {
        frozenset(np.flatnonzero(each.rule.covers(X)).tolist()): p
        for each, p in zip(found, found.p_values, strict=True)
    }
    assert listed == slow
    assert len(listed) == len(found)
    assert found.complete
    if slow:
        assert objective.words.name in str(found)
        assert ("errors" in found.columns()) == (kind == "money")


def test_levels_and_hits():
    assert allowed_hits(0.05, 19) == 0
    assert allowed_hits(0.05, 18) == -1
    assert allowed_hits(0.05, 999) == 49
    assert allowed_hits(0.05, 38, cut=True) == 0
    assert adjusted_p(allowed_hits(0.05, 999), 999, cut=False) == 0.05
    assert math.isclose(adjusted_p(0, 38, cut=True), 0.05)


def test_bad_arguments_get_a_sentence():
    X, y = table(0)
    with pytest.raises(InputError, match=r"'n_permutations' is 10, with which no p-value is 0.05"):
        significant_rules(X, y, n_permutations=10)
    with pytest.raises(InputError, match=r"a sum over their rows, which 'f1' is not"):
        significant_rules(X, y, objective="f1")
    with pytest.raises(InputError, match=r"Mean\(\) asks for the best mean; give it a threshold"):
        significant_rules(X, X["a"], objective=Mean(), min_coverage=5)
    with pytest.raises(InputError, match=r"were given row by row; build it with an objective"):
        significant_rules(Problem.of(X, y).with_gains(X["a"]))
    with pytest.raises(InputError, match=r"'alpha'"):
        significant_rules(X, y, alpha=2)
