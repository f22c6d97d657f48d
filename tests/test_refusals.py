"""Arguments that cannot be used give one short line, whatever they are."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import opdt
from opdt import Budget, Condition, Constraints, InputError, OpdtError, Rule
from opdt.errors import LONGEST

X, Y = {"a": [1, 2, 3, 4]}, ["u", "u", "x", "x"]
RULE = Rule([Condition("a", ">=", 2)], "x")
HUGE = 10**400
FRAME = pd.DataFrame({"a": range(60), "b": range(60)})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: opdt.rule_report(None, X, Y), "'rule' must be a Rule, got NoneType"),
        (lambda: opdt.write_rule("rule.json", None), "'rule' must be a Rule.* got NoneType"),
        (lambda: opdt.discover(X, Y, roles=["numeric"]), "'roles' must .* got list"),
        (lambda: opdt.read_structure(5), "'path' must name a structure file, got int"),
        (lambda: Budget(progress=5), "'progress' must be a function or None, got int"),
        (lambda: Budget(cancel=True), "'cancel' must be a threading.Event or None, got bool"),
        (
            lambda: Budget(memory_limit=float("inf")),
            "'memory_limit' must be a finite number of bytes",
        ),
        (lambda: opdt.discover(X, Y, label=np.array([1, 2])), "'label' must be one class"),
        (lambda: opdt.discover(X, Y, label=FRAME), "'label' must be one class.* got DataFrame"),
        (lambda: RULE.to_sql("duckdb", types=1.0), "'types' must map columns .* got float"),
        (lambda: opdt.discover(X, Y, w=HUGE), "'w' is 1.00000e\\+400, which is too large"),
        (lambda: Constraints(min_precision=HUGE), "'min_precision' must be a number from 0 to 1"),
    ],
)
def test_it_is_named_with_what_came(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_whole_number_beyond_all_floats_is_a_number():
    best = opdt.discover(X, Y, engine="exhaustive")
    for given in (
        {"time_limit": HUGE},
        {"constraints": {"max_errors": HUGE}},
        {"budget": Budget(nodes=HUGE, memory_limit=HUGE)},
    ):
        assert opdt.discover(X, Y, engine="exhaustive", **given).value == best.value
    none = opdt.discover(X, Y, engine="exhaustive", constraints={"min_coverage": HUGE})
    assert none.status == "infeasible"
    assert opdt.discover(X, Y, constraints={"min_coverage": HUGE}).status == "infeasible"
    assert opdt.vi_index(Y, [False, False, True, True], "x", w=HUGE) == 2
    path = opdt.weight_path(X, Y, w_max=HUGE, engine="exhaustive")
    assert path.at(HUGE).value == 2
    assert opdt.pareto_frontier(X, Y, max_errors=HUGE, engine="exhaustive").complete


@pytest.mark.parametrize("value", [FRAME, np.arange(400).reshape(200, 2), list(range(5000))])
@pytest.mark.parametrize(
    "call",
    [
        lambda value: opdt.discover(X, Y, w=value),
        lambda value: opdt.discover(X, Y, max_depth=value),
        lambda value: Constraints(min_coverage=value),
        lambda value: Budget(time_limit=value),
        lambda value: Condition("a", ">=", value),
        lambda value: opdt.permutation_test(X, Y, seed=value),
    ],
)
def test_a_large_value_does_not_fill_the_screen(call, value):
    with pytest.raises(OpdtError) as caught:
        call(value)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) <= LONGEST
    assert re.search(r"must be|lists are not|is not", message)


def test_a_short_message_stays_as_it_is():
    assert str(InputError("'w' must  be 1.")) == "'w' must  be 1."
