"""One way to ask: a problem, or the data with the same arguments."""

from __future__ import annotations

import inspect

import pytest

import opdt
from opdt import InputError, Problem

X = {
    "age": [20, 22, 25, 27, 31, 38, 47, 52, 60, 64],
    "smoker": ["no", "yes", "no", "no", "yes", "no", "yes", "no", "yes", "yes"],
}
Y = ["well", "ill", "well", "ill", "well", "ill", "well", "ill", "ill", "ill"]
ASKED = {"max_depth": 1, "label": "ill", "min_coverage": 2}

# Whatever says how much or how the rows are drawn is kept small.
ASKING = {
    opdt.discover: {},
    opdt.top_rules: {},
    opdt.diverse_rules: {},
    opdt.rashomon_set: {},
    opdt.weight_path: {},
    opdt.pareto_frontier: {},
    opdt.precision_path: {},
    opdt.coverage_path: {},
    opdt.permutation_test: {"n_permutations": 19},
    opdt.stability: {"n_bootstrap": 5},
}
NAMES = [function.__name__ for function in ASKING]


def words(found):
    """What is found, without the time that it took."""
    if isinstance(found, opdt.Solution):
        return str(found.rule), found.value, found.bound, found.status
    if isinstance(found, opdt.PermutationTest):
        return words(found.solution), found.p_value
    return str(found)


@pytest.mark.parametrize(("ask", "more"), ASKING.items(), ids=NAMES)
def test_a_problem_gives_what_the_data_give(ask, more):
    problem = Problem.of(X, Y, **ASKED)
    assert words(ask(problem, **more)) == words(ask(X, Y, **ASKED, **more))


@pytest.mark.parametrize("ask", ASKING, ids=NAMES)
def test_all_functions_take_the_same_arguments(ask):
    own, asked = inspect.signature(ask).parameters, inspect.signature(Problem.of).parameters
    priced = ("weight_path", "pareto_frontier", "precision_path", "coverage_path")
    left_out = {"w": priced, "objective": priced}  # they ask for the VI at all prices
    for name, parameter in asked.items():
        if ask.__name__ in left_out.get(name, ()):
            assert name not in own
        else:
            assert own[name].default == parameter.default, name
    for name in ("time_limit", "n_jobs", "memory_limit", "budget"):
        assert own[name].default is None
    assert all(p.kind is not p.VAR_KEYWORD for p in own.values())


@pytest.mark.parametrize("ask", ASKING, ids=NAMES)
@pytest.mark.parametrize(("name", "value"), [("y", Y), ("max_depth", 2), ("roles", {})])
def test_nothing_is_added_to_a_problem(ask, name, value):
    with pytest.raises(InputError, match=rf"'{name}' cannot be given beside a Problem"):
        ask(Problem.of(X, Y), **{name: value})


@pytest.mark.parametrize("objective", ["vi", "precision", "coverage"])
def test_a_problem_knows_what_the_rule_is_to_be_best_in(objective):
    asked = {"objective": objective, "min_precision": 0.6, "max_depth": 1}
    problem = Problem.of(X, Y, **asked)
    assert problem.best_in == objective
    assert opdt.discover(problem).objective == objective
    assert words(opdt.discover(problem)) == words(opdt.discover(X, Y, **asked))


def test_lists_in_the_order_of_the_vi_refuse_a_problem_about_precision():
    with pytest.raises(InputError, match="in the order of their VI"):
        opdt.top_rules(Problem.of(X, Y, objective="precision"))


def test_a_problem_on_some_rows_is_that_of_their_table():
    import numpy as np

    rows = np.array([1, 3, 5, 6, 7, 9])
    some = {name: [values[i] for i in rows] for name, values in X.items()}
    part = Problem.of(X, Y, **ASKED).take(rows)
    assert words(opdt.discover(part)) == words(opdt.discover(some, [Y[i] for i in rows], **ASKED))
