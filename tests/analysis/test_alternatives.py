"""More than one rule: against the slow twin, and what is said where a limit is met."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.enumerated import arguments
from engines.search.every_rule import Listed, every_rule, one_per_pattern
from engines.search.support import examples
from opdt.analysis import alternatives
from opdt.analysis.alternatives import Alternative, diverse_rules, rashomon_set, top_rules
from opdt.analysis.rashomon import RashomonSet
from opdt.errors import InputError
from opdt.problem import Problem
from opdt.rules import Op, Rule
from opdt.solution import Budget, StopReason
from strategies import describe, small_problems

SEEDS = st.integers(0, 2**32 - 1)
SHARES = st.sampled_from([0, 0.01, 0.1, 1 / 3, 0.5, 1])
LIMITS = st.sampled_from([0, 0.25, 1 / 3, 0.5, 0.9])

PEOPLE = {
    "age": [25, 31, 47, 52, 60, 44],
    "pulse": [60, 62, 80, 85, 70, 61],
    "sex": ["f", "m", "f", "m", "f", "m"],
}
STATE = ["well", "well", "ill", "ill", "ill", "well"]


def given_as(problem: Problem) -> dict[str, Any]:
    """The arguments that make this problem, its price included."""
    return arguments(problem) | {"w": problem.objective.w, "n_jobs": 1}  # type: ignore[attr-defined]


def said(problem: Problem, rules: Iterable[Listed]) -> list[tuple[Rule, float, float, float]]:
    """What is told about rules of the enumeration."""
    return [
        (problem.lift(r.rule), float(r.value), float(r.covered), float(r.errors)) for r in rules
    ]


def told(rules: Iterable[Alternative]) -> list[tuple[Rule, float, float, float]]:
    return [(each.rule, each.value, each.covered, each.errors) for each in rules]


# -- the best k ----------------------------------------------------------------------------------


@given(problem=small_problems(), k=st.integers(1, 12))
@examples(60)
def test_the_best_rules_are_those_of_the_enumeration(problem: Problem, k: int) -> None:
    rules = every_rule(problem)
    apart = top_rules(limit=k, distinct="conditions", **given_as(problem))
    assert told(apart) == said(problem, rules[:k]), describe(problem)
    assert [each.rank for each in apart] == list(range(1, len(apart) + 1))
    found = top_rules(limit=k, **given_as(problem))
    firsts = one_per_pattern(rules)
    assert told(found) == said(problem, firsts[:k]), describe(problem)
    assert found.complete
    assert found.stopped_by is StopReason.FINISHED
    for each, first in zip(found, firsts, strict=False):
        same = [problem.lift(r.rule) for r in rules if r.pattern == first.pattern][1:]
        assert list(each.equivalents) == same[:20], describe(problem)
        assert each.more_equivalents == (len(same) > 20)


def test_ties_at_the_last_place_are_decided_by_the_order() -> None:
    """Three features say the same: the first of the table stands for them, or comes first."""
    data = {name: [0, 0, 1, 1] for name in ("c", "a", "b")}
    settings: dict[str, Any] = {"label": "y", "max_depth": 1}
    labels = ["n", "n", "y", "y"]
    for k in (1, 2, 3, 4):
        rules = top_rules(data, labels, limit=k, distinct="conditions", **settings)
        assert [each.rule.features for each in rules] == [("c",), ("a",), ("b",)][:k]
    (only,) = top_rules(data, labels, limit=3, **settings)
    assert only.rule.features == ("c",)
    assert [rule.features for rule in only.equivalents] == [("a",), ("b",)]
    (only,) = top_rules(data, labels, limit=3, max_equivalents=1, **settings)
    assert (len(only.equivalents), only.more_equivalents) == (1, True)
    (only,) = top_rules(data, labels, limit=3, max_equivalents=0, **settings)
    assert only.equivalents == ()


def test_without_a_pattern_there_is_no_rule() -> None:
    found = top_rules({"x": [1, 1, 2, 2]}, [0, 1, 0, 1])
    assert (len(found), found.complete, str(found)) == (0, True, "no rule")
    assert len(diverse_rules({"x": [1, 1, 2, 2]}, [0, 1, 0, 1])) == 0
    near = rashomon_set({"x": [1, 1, 2, 2]}, [0, 1, 0, 1])
    assert (len(near), near.complete, near.optimum) == (0, True, None)
    assert near.summary.n_rules == near.summary.covered_by_all.sum() == 0
    assert near.facts() == "There is no rule."


# -- rules apart ---------------------------------------------------------------------------------


def overlap(problem: Problem, one: Listed, two: Listed, how: str) -> Fraction:
    weights = problem.objective.weights

    def weight(rows: frozenset[int]) -> int:
        return int(weights[sorted(rows)].sum())

    both = weight(one.rows & two.rows)
    if how == "jaccard":
        return Fraction(both, weight(one.rows | two.rows))
    return Fraction(both, min(weight(one.rows), weight(two.rows)))


@given(problem=small_problems(), how=st.sampled_from(["share", "jaccard"]), limit=LIMITS)
@examples(50)
def test_rules_apart_are_chosen_one_after_the_other(
    problem: Problem, how: str, limit: float
) -> None:
    rules, kept, most = every_rule(problem), [], []
    exact = Fraction(limit).limit_denominator(100)
    while len(kept) < 3:
        for each in rules:
            shares = [overlap(problem, each, other, how) for other in kept]
            if all(share <= exact for share in shares):
                kept.append(each)
                most.append(max(map(float, shares), default=None))
                break
        else:
            break
    found = diverse_rules(limit=3, max_overlap=limit, overlap=how, **given_as(problem))
    assert told(found) == said(problem, kept), describe(problem)
    assert found.complete
    assert [each.overlap for each in found][1:] == most[1:]


def test_half_of_the_best_rule_is_no_other_rule_unless_jaccard_is_asked_for() -> None:
    """Eight of ten rows in one block: a quarter of it is far from it only in Jaccard's sense."""
    data = {"x": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "z": [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]}
    labels = ["y"] * 8 + ["n"] * 2
    settings: dict[str, Any] = {"limit": 2, "label": "y", "max_depth": 1}
    first, second = diverse_rules(data, labels, overlap="jaccard", **settings)
    assert (first.value, second.value, second.overlap) == (8, 4, 0.5)
    assert len(diverse_rules(data, labels, **settings)) == 1


# -- nearly as good ------------------------------------------------------------------------------


@given(problem=small_problems(), within=SHARES, cap=st.sampled_from([1, 3, 10, 10_000]))
@examples(60)
def test_the_set_is_the_filtered_enumeration(problem: Problem, within: float, cap: int) -> None:
    rules = every_rule(problem)
    found = rashomon_set(within=within, limit=cap, **given_as(problem))
    assert found.stopped_by is StopReason.FINISHED
    assert found.proven
    if not rules:
        assert len(found) == 0
        return
    share, best = Fraction(within).limit_denominator(1000), rules[0].value
    near = [r for r in rules if r.value >= best - share * abs(best)]
    assert told(found) == said(problem, near[:cap]), describe(problem)
    assert found.optimum == float(best)
    assert (found.complete, found.capped) == (len(near) <= cap, len(near) > cap)
    rest = float(near[cap].value) if len(near) > cap else None
    assert found.rest_at_most == rest
    check_patterns(problem, found, near[:cap])
    if found.complete:
        check_summary(problem, found, near)


@given(problem=small_problems(), rows=st.sampled_from([0, 0.5, 1, 2, 7]))
@examples(25)
def test_rows_below_the_optimum_count_in_place_of_a_share(problem: Problem, rows: float) -> None:
    rules = every_rule(problem)
    assume(rules)
    found = rashomon_set(within_rows=rows, within=0.5, **given_as(problem))
    near = [r for r in rules if r.value >= rules[0].value - Fraction(rows)]
    assert told(found) == said(problem, near)


def check_patterns(problem: Problem, found: RashomonSet, near: list[Listed]) -> None:
    firsts = one_per_pattern(near)
    assert told(found.patterns) == said(problem, firsts)
    for each, first in zip(found.patterns, firsts, strict=True):
        same = [problem.lift(r.rule) for r in near if r.pattern == first.pattern]
        assert [each.rule, *each.equivalents] == same


def check_summary(problem: Problem, found: RashomonSet, near: list[Listed]) -> None:
    """What the summary says, counted anew from the rules of the enumeration."""
    summary = found.summary
    lean = [r for r in near if not any(is_part(other, r) for other in near)]
    names = problem.table.names
    used = [frozenset(names[c.feature] for c in r.rule.conditions) for r in lean]
    assert (summary.n_rules, summary.n_lean) == (len(near), len(lean))
    assert summary.n_patterns == len(one_per_pattern(near))
    assert set(summary.necessary) == frozenset.intersection(*used)
    assert {each.feature for each in summary.features} == frozenset.union(*used)
    for each in summary.features:
        has = [each.feature in features for features in used]
        assert each.share == sum(has) / len(lean)
        best = max(float(r.value) for r, with_it in zip(lean, has, strict=True) if with_it)
        assert each.best_with == best
        others = [float(r.value) for r, with_it in zip(lean, has, strict=True) if not with_it]
        assert each.best_without == max(others, default=None)
    pairs = set()
    for (one, a), (two, b) in combinations(zip(lean, used, strict=True), 2):
        if one.rule.label == two.rule.label and len(a - b) == len(b - a) == 1:
            pairs.add(tuple(sorted((*(a - b), *(b - a)), key=names.index)))
    assert set(summary.interchangeable) == pairs
    rows = [r.rows for r in near]
    assert set(np.flatnonzero(summary.covered_by_all)) == frozenset.intersection(*rows)
    assert set(np.flatnonzero(summary.covered_by_any)) == frozenset.union(*rows)
    for ends in summary.thresholds:
        check_threshold(problem, ends, lean)


def is_part(other: Listed, rule: Listed) -> bool:
    """Whether another rule says the same with fewer conditions and is worth no less."""
    fewer = set(other.rule.conditions) < set(rule.rule.conditions)
    return fewer and other.rule.label == rule.rule.label and other.value >= rule.value


def check_threshold(problem: Problem, ends: Any, lean: list[Listed]) -> None:
    held = [
        condition.value
        for r in lean
        for condition in problem.lift(r.rule).conditions
        if (condition.feature, condition.op) == (ends.feature, ends.op)
        and problem.table.classes[r.rule.label] == ends.label
    ]
    assert ends.n_rules == len(held)
    extremes = min(held), max(held)
    assert (ends.loosest, ends.tightest) == (extremes if ends.op is Op.GE else extremes[::-1])


def test_a_needless_condition_is_not_a_use_of_its_feature() -> None:
    """`x >= 3` alone is best; whatever is said beside it is in the set but says nothing."""
    found = rashomon_set({"x": [1, 2, 3, 4], "z": [5, 6, 7, 8]}, [0, 0, 1, 1], label=1)
    assert len(found) == 5  # x; z; both, loose or tight on either side
    summary = found.summary
    assert (summary.n_lean, summary.necessary) == (2, ())
    assert summary.interchangeable == (("x", "z"),)
    (swap,) = summary.exchanges
    assert (swap.beside, swap.value, swap.other_value, swap.label) == ((), 2, 2, 1)


def test_a_feature_that_every_rule_needs_is_necessary() -> None:
    """Class 1 needs `a` and one of two copies of the other half."""
    a, b = [1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 1, 0]
    found = rashomon_set({"a": a, "b": b, "copy": b}, [1, 1, 1, 0, 0, 0], label=1)
    summary = found.summary
    assert summary.necessary == ("a",)
    assert summary.interchangeable == (("b", "copy"),)
    assert summary.exchanges[0].beside == ("a",)
    (needed, *others) = summary.features
    assert (needed.feature, needed.share, needed.best_without) == ("a", 1, None)
    assert [(each.share, each.best_without) for each in others] == [(0.5, 3), (0.5, 3)]


# -- limits --------------------------------------------------------------------------------------


@pytest.fixture
def noise() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {"X": rng.random((300, 8)), "y": rng.integers(0, 2, size=300), "w": 2, "max_depth": 3}


def test_a_capped_set_holds_the_first_rules_and_bounds_the_rest(noise: dict[str, Any]) -> None:
    found = rashomon_set(**noise, within=0.05, limit=50)
    assert len(found) == 50
    assert (found.capped, found.complete) == (True, False)
    assert found.rest_at_most is not None
    assert found.rest_at_most <= found[-1].value
    assert told(found) == told(top_rules(**noise, limit=50, distinct="conditions"))
    assert found.facts().startswith("The first 50 rules (")
    assert all(each.more_equivalents for each in found.patterns)


def test_no_time_leaves_what_is_known_and_says_so(noise: dict[str, Any]) -> None:
    for function in (top_rules, diverse_rules):
        found = function(**noise, time_limit=0)
        assert not found.complete
        assert found.stopped_by is StopReason.TIME
    near = rashomon_set(**noise, time_limit=0)
    assert (near.complete, near.proven, near.stopped_by) == (False, False, StopReason.TIME)
    assert near.facts() == "No rule was found in time."


def test_what_a_limit_leaves_is_true(noise: dict[str, Any]) -> None:
    part = rashomon_set(**noise, within=0.04, budget=Budget(nodes=10, n_jobs=1))
    assert (part.complete, part.proven, part.stopped_by) == (False, False, StopReason.NODES)
    assert "there may be others" in part.facts()
    assert part.optimum == part[0].value
    for each in part:
        fires = each.rule.covers(noise["X"])
        wrong = fires & (noise["y"] != each.rule.label)
        assert (each.covered, each.errors) == (fires.sum(), wrong.sum())
        assert each.value == fires.sum() - 2 * wrong.sum() >= part.threshold


def test_a_cancelled_search_ends_at_once(noise: dict[str, Any]) -> None:
    stop = threading.Event()
    stop.set()
    budget = Budget(cancel=stop)
    assert top_rules(**noise, budget=budget).stopped_by is StopReason.CANCELLED
    assert diverse_rules(**noise, budget=budget).stopped_by is StopReason.CANCELLED
    assert rashomon_set(**noise, budget=budget).stopped_by is StopReason.CANCELLED


# -- tables, words, arguments --------------------------------------------------------------------


def test_rules_come_as_text_and_as_a_table() -> None:
    found = top_rules(PEOPLE, STATE, limit=2, label="ill")
    titles, first, _ = str(found).splitlines()
    assert " ".join(titles.split()) == "rank VI covered errors precision lift coverage verdict rule"
    words = "1 3 3 0 100.0 % 2.00 50.0 % not supported"
    assert first.split() == [*words.split(), *str(found[0].rule).split()]
    columns = found.columns()
    assert columns["rank"] == [1, 2]
    assert columns["value"] == [each.value for each in found]
    assert len(found.to_frame()) == 2
    assert found[0] is found.rules[0]
    apart = diverse_rules(PEOPLE, STATE, limit=2, label="ill", max_overlap=0.9, overlap="jaccard")
    assert str(apart).splitlines()[0].split()[:3] == ["rank", "VI", "overlap"]


def test_a_set_comes_as_text_and_as_a_table() -> None:
    near = rashomon_set(PEOPLE, STATE, within=0.4, label="ill")
    lines = str(near).splitlines()
    assert lines[0] == near.facts()
    assert len(lines) == 2 + min(10, len(near.patterns)) + (len(near.patterns) > 10)
    assert near.columns()["pattern"][0] == 1
    assert len(near.to_frame()) == len(near) == len(list(near))
    text = str(near.summary)
    assert "rows covered by every rule" in text
    assert all(each.feature in text for each in near.summary.features)


@pytest.mark.parametrize(
    ("function", "bad", "message"),
    [
        (top_rules, {"limit": 0}, "'limit' must be an int >= 1, got 0"),
        (top_rules, {"distinct": "cover"}, "'distinct' must be 'rows' or 'conditions'"),
        (top_rules, {"max_equivalents": -1}, "'max_equivalents' must be an int >= 0, got -1"),
        (diverse_rules, {"limit": True}, "'limit' must be an int >= 1, got True"),
        (diverse_rules, {"max_overlap": 1}, "'max_overlap' must be a number from 0 to below 1"),
        (diverse_rules, {"max_overlap": -0.1}, "'max_overlap' must be a number from 0 to below 1"),
        (
            diverse_rules,
            {"max_overlap": "half"},
            "'max_overlap' must be a number from 0 to below 1",
        ),
        (diverse_rules, {"overlap": "dice"}, "'overlap' must be 'share' or 'jaccard'"),
        (rashomon_set, {"within": 2}, "'within' must be a share from 0 to 1, got 2"),
        (rashomon_set, {"within": float("nan")}, "'within' must be a share from 0 to 1, got nan"),
        (rashomon_set, {"within_rows": -1}, "'within_rows' must be a number of rows >= 0, got -1"),
        (rashomon_set, {"limit": 0}, "'limit' must be an int >= 1, got 0"),
    ],
)
def test_a_bad_argument_is_refused_in_a_sentence(
    function: Any, bad: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        function(PEOPLE, STATE, **bad)


def test_all_public_names_are_there() -> None:
    assert all(hasattr(alternatives, name) for name in alternatives.__all__)


def test_a_set_knows_its_size_before_its_rules_are_named() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 3)), rng.integers(0, 2, size=60)
    every = rashomon_set(X, y, w=2, within=0.6)
    assert every.complete
    assert len(every) == len(every.rules) > 30
    for cap in (1, 7, len(every) - 1, len(every)):
        found = rashomon_set(X, y, w=2, within=0.6, limit=cap)
        assert len(found) == cap
        assert [each.rule for each in found] == [each.rule for each in every[:cap]]
        assert found.capped == (cap < len(every))
        assert found.rest_at_most == (every[cap].value if cap < len(every) else None)
