"""Measures that are no sums, against all rules of small tables and the textbook formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from engines.search.support import examples
from naive import Answer, Naive, says
from opdt import OPDTClassifier, discover, permutation_test, stability
from opdt.engines.measures import (
    ClassSide,
    MeasureSearch,
    largest_lift,
    measure_pricer,
    solve_measured,
)
from opdt.errors import InputError, UnsupportedProblem
from opdt.objectives.measures import MEASURES, ClassTotals, LineMeasure, measure_named
from opdt.problem import Problem
from opdt.solution import Budget, Status, StopReason
from strategies import EMPHASES, describe, small_problems

DRAWN = [name for name in EMPHASES if name != "gains"]
NAMES = [name for name in MEASURES if name != "lift"] + ["f3", "f0.1"]
X = {"age": [25, 31, 47, 52, 60, 33], "size": [3, 1, 2, 5, 4, 4]}
Y = ["well", "ill", "ill", "well", "ill", "well"]


def textbook(
    name: str, hits: Fraction, alarms: Fraction, ill: Fraction, well: Fraction
) -> Fraction:
    """A measure from its definition in the table of two rows and two columns; MCC as its square."""
    missed, spared, total = ill - hits, well - alarms, ill + well
    inside, outside = hits + alarms, missed + spared
    if name.startswith("f"):
        square = Fraction(name[1:]) ** 2
        below = (1 + square) * hits + square * missed + alarms
        return (1 + square) * hits / below if below else Fraction(0)
    if name == "lift":
        return hits / inside / (ill / total) if ill else Fraction(0)
    if name == "wracc":
        return inside / total * (hits / inside - ill / total)
    if not (ill and well):
        return Fraction(1 if name == "odds_ratio" else 0)
    if name == "youden":
        return hits / ill + spared / well - 1
    if name == "odds_ratio":  # one average row inside, and one outside
        p, q = ill / total, well / total
        return max(Fraction(1), (hits + p) / (alarms + q) * (spared + q) / (missed + p))
    if hits * spared <= alarms * missed or not outside:
        return Fraction(0)
    product = hits * spared - alarms * missed
    if name == "chi2":
        return total * product**2 / (ill * well * inside * outside)
    if name == "mcc":
        return product**2 / (ill * well * inside * outside)
    assert name == "gini"

    def impurity(part: Fraction, whole: Fraction) -> Fraction:
        return 1 - (part / whole) ** 2 - (1 - part / whole) ** 2

    within = inside / total * impurity(hits, inside) + outside / total * impurity(missed, outside)
    return impurity(ill, total) - within


def best_of_all(twin: Naive, name: str) -> Answer:
    """The best rule by trying all; the empty one where nothing is worth more."""
    nothing = Fraction(1 if name == "odds_ratio" else 0)
    may_be_empty = twin.demands.min_coverage == 0
    best_key, best = None, Answer(nothing) if may_be_empty else Answer(None)
    everything, others, values = sum(twin.weights) * twin.units[1], {}, {}
    for label in twin.labels:
        bad = zip(twin.weights, twin.wrong[label], strict=True)
        others[label] = sum(weight for weight, wrong in bad if wrong) * twin.units[1]
    for tests, rows in twin.rules():
        for label in twin.labels:
            _, covered, errors = counts = twin.count(rows, label)
            if not twin.enough(covered, errors):
                continue
            if (counts, label) not in values:  # fractions are slow
                well = others[label]
                values[counts, label] = textbook(
                    name, covered - errors, errors, everything - well, well
                )
            value = values[counts, label]
            if (may_be_empty and value <= nothing) or (best_key and -value > best_key[0]):
                continue
            if not twin.allowed(short := twin.simplify(tests)):
                continue
            key = (-value, len(short), errors, *twin.order(short), label)
            if best_key is None or key < best_key:
                best_key, best = key, Answer(value, short, label, covered, errors)
    return best


def shown(name: str, value: Fraction) -> float:
    return math.sqrt(value) if name == "mcc" else float(value)


def check(problem: Problem, name: str, engine: str) -> None:
    """Compare the best rule in a measure with that of the slow twin."""
    asked = replace(problem, best_in=name)
    solution = solve_measured(asked, engine, Budget(n_jobs=1))
    twin = Naive(measure_pricer(asked, engine, Budget()).problem)
    answer = best_of_all(twin, name)
    note(f"{name}: {solution!r} | {answer}")
    assert solution.objective == name
    assert solution.value == solution.bound
    if answer.value is None:
        assert solution.status is Status.INFEASIBLE
        assert solution.value == -math.inf
    elif answer.label is None:
        assert solution.status is Status.NO_PATTERN
        assert solution.value == shown(name, answer.value)
    else:
        assert solution.status is Status.OPTIMAL
        assert solution.value == pytest.approx(shown(name, answer.value), rel=1e-12, abs=0)
        if answer.value > (1 if name == "odds_ratio" else 0) or isinstance(
            measure_named(name), LineMeasure
        ):
            assert says(solution.rule, answer, twin.problem)
            assert solution.covered == float(answer.covered)
            assert solution.errors == float(answer.errors)


@pytest.mark.parametrize("engine", ["search", "exhaustive"])
@given(data=st.data())
@examples(100)
def test_the_best_rule_is_that_of_the_slow_twin(engine, data):
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=400))
    note(describe(problem))
    check(problem, data.draw(st.sampled_from(NAMES)), engine)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@examples(500)
def test_the_best_rule_is_that_of_the_slow_twin_on_many_tables(name, data):
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=1500, max_rows=24))
    note(describe(problem))
    check(problem, name, "search")


@given(problem=small_problems(max_rules=600), least=st.sampled_from([1, 2, 0.1, 0.4]))
@examples(50)
def test_the_largest_lift_is_that_of_the_slow_twin(problem, least):
    note(describe(problem))
    own = problem.constraints.min_coverage
    asked = replace(problem.with_limits(min_coverage=own or least), best_in="lift")
    pricer = measure_pricer(asked, "search", Budget(n_jobs=1))
    solution = largest_lift(pricer)
    answer = best_of_all(Naive(pricer.problem), "lift")
    if answer.value is None:
        assert solution.rule is None
    else:
        assert solution.value == solution.bound == pytest.approx(float(answer.value), rel=1e-12)
        assert solution.status is Status.OPTIMAL


@given(
    problem=small_problems(max_rules=400),
    nodes=st.integers(0, 12),
    name=st.sampled_from(NAMES),
)
@examples(80)
def test_a_limit_leaves_a_true_bound(problem, nodes, name):
    note(describe(problem))
    asked = replace(problem, best_in=name)
    solution = solve_measured(asked, "search", Budget(nodes=nodes, n_jobs=1))
    twin = Naive(measure_pricer(asked, "search", Budget()).problem)
    answer = best_of_all(twin, name)
    best = -math.inf if answer.value is None else shown(name, answer.value)
    assert solution.value <= best * (1 + 1e-12)
    assert best <= solution.bound * (1 + 1e-12) or best == solution.bound
    if not solution.status.is_proven:
        assert solution.stopped_by is StopReason.NODES


@given(
    name=st.sampled_from([*NAMES, "lift"]),
    positives=st.integers(1, 40),
    negatives=st.integers(1, 40),
    data=st.data(),
)
@examples(200)
def test_measures_are_monotone_and_quasi_convex(name, positives, negatives, data):
    measure, totals = measure_named(name), ClassTotals(positives, negatives)

    def point() -> tuple[Fraction, Fraction]:
        shares = st.fractions(0, 1, max_denominator=12)
        return data.draw(shares) * positives, data.draw(shares) * negatives

    one, two = point(), point()
    middle = tuple((a + b) / 2 for a, b in zip(one, two, strict=True))
    scores = [measure.score(*each, totals) for each in (one, two)]
    if name != "lift" or min(sum(one), sum(two)) > 0:
        assert measure.score(*middle, totals) <= max(scores)
    better = max(one[0], two[0]), min(one[1], two[1])
    if name != "lift" or sum(better) > 0:
        assert measure.score(*better, totals) >= max(scores) or sum(better) == 0


def test_a_goal_ends_the_search():
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80)}
    y = (columns["a"] > 5) ^ (rng.random(80) < 0.2)
    problem = Problem.of(columns, y, label=True, objective="chi2")
    measure = measure_named("chi2")
    best = solve_measured(problem, "search", Budget(n_jobs=1)).value
    for goal, reached in ((Fraction(best) / 2, True), (Fraction(best) * 2, False)):
        search = MeasureSearch(measure_pricer(problem, "search", Budget(n_jobs=1)), measure, goal)
        search.run()
        assert search.reaches(goal) is reached


def test_the_polygon_holds_every_rule_at_any_time():
    rng = np.random.default_rng(3)
    columns = {"a": rng.integers(0, 7, 60), "b": rng.integers(0, 7, 60)}
    problem = Problem.of(columns, rng.random(60) < 0.4, label=True, objective="mcc")
    measure = measure_named("mcc")
    side = ClassSide(measure_pricer(problem, "search", Budget(n_jobs=1)), measure, 1)
    bounds = [side.ceiling]
    for _ in range(30):
        corner = side.open_corner(side.score)
        if corner is None:
            break
        bounds.append(corner.score)
        side.solve(side.price(corner, side.score))
    assert side.open_corner(side.score) is None
    assert all(later <= earlier for earlier, later in pairwise(bounds))
    assert side.score <= bounds[-1]


def test_python_says_it_in_the_measures_own_words():
    found = discover(X, Y, label="ill", objective="f1")
    assert found.objective == "f1"
    assert f"F1 {found.value:.4g}" in str(found)
    assert found.value == 2 * 3 / (2 * 3 + found.errors)


@pytest.mark.parametrize("name", ["f1", "wracc", "chi2", "odds_ratio", "lift"])
def test_tests_bootstraps_and_the_classifier_take_a_measure(name):
    rng = np.random.default_rng(1)
    columns = {"a": rng.integers(0, 9, 60), "b": rng.integers(0, 9, 60)}
    y = np.where(columns["a"] > 5, "ill", "well")
    asked: dict[str, Any] = {"label": "ill", "objective": name, "min_coverage": 0.25, "n_jobs": 1}
    best = discover(columns, y, **asked)
    test = permutation_test(columns, y, **asked, n_permutations=19)
    assert test.p_value == 0.05
    assert test.value == best.value
    kept = permutation_test(columns, y, **asked, n_permutations=19, keep_values=True)
    assert kept.p_value == 0.05
    assert (kept.null_values < best.value).all()
    found = stability(columns, y, **asked, n_bootstrap=5)
    assert found.solution.rule == best.rule
    matrix = np.column_stack(list(columns.values()))
    assert OPDTClassifier(**asked).fit(matrix, y).value_ == best.value


def test_a_permutation_is_a_hit_exactly_if_a_rule_is_as_good():
    rng = np.random.default_rng(5)
    columns = {"a": rng.integers(0, 5, 30)}
    y = np.where(rng.random(30) < 0.5, "ill", "well")
    asked: dict[str, Any] = {"label": "ill", "objective": "mcc", "n_permutations": 39, "n_jobs": 1}
    quick = permutation_test(columns, y, **asked, early_stop=False)
    whole = permutation_test(columns, y, **asked, early_stop=False, keep_values=True)
    assert quick.hits == whole.hits == int((whole.null_values >= whole.value).sum())
    assert 0 < quick.hits < 39


def test_unknown_measures_and_partitions_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"'objective' must be 'vi', .*'f1'.*got 'f-1'"):
        discover(X, Y, objective="f-1")
    with pytest.raises(InputError, match=r"'objective' 'f0' needs a number from 0.001 to 1000"):
        discover(X, Y, objective="f0")
    with pytest.raises(InputError, match=r"'min_coverage' must be above 0"):
        discover(X, Y, objective="lift", min_coverage=0)
    (tmp_path / "a.csv").write_text("age,state\n1,ill\n2,well\n")
    with pytest.raises(UnsupportedProblem, match=r"'f1' needs the whole table in memory"):
        discover(str(tmp_path / "*.csv"), "state", objective="f1")


def test_weights_of_many_digits_are_rounded_within_the_limit_told():
    rng = np.random.default_rng(2)
    columns, weights = {"a": rng.integers(0, 5, 40)}, rng.random(40) / 3
    y = rng.random(40) < 0.5
    for name in ("f1", "wracc", "youden"):
        found = discover(columns, y, label=True, objective=name, sample_weight=weights)
        fires = found.rule.covers(columns)
        hits, alarms = weights[fires & y].sum(), weights[fires & ~y].sum()
        true = textbook(name, *map(Fraction, (hits, alarms, weights[y].sum(), weights[~y].sum())))
        assert 0 < found.rounding < 1e-6
        assert abs(float(true) - found.value) <= found.rounding
