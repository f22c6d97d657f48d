"""Lists of rules under budgets, limits per segment and parity, against an enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import enumeration as plain
from analysis.test_alternatives import overlap, said, told
from engines.search.every_rule import Listed, every_rule, one_per_pattern
from engines.search.support import examples
from opdt import Mean, Money, Parity, PerSegment, diverse_rules, rashomon_set, top_rules
from opdt.problem import Constraints, Problem
from opdt.solution import StopReason
from row_limited import DRAWN, Limited, limited, limits
from strategies import EMPHASES, describe, small_problems


@st.composite
def limited_problems(draw: st.DrawFn) -> tuple[Problem, list[Listed]]:
    """A problem with limits, and all rules that meet them in their order."""
    emphasis = draw(st.sampled_from(DRAWN))
    problem = draw(small_problems(**EMPHASES[emphasis], max_rules=400))
    problem, regions = limited(problem, draw(limits()), draw(st.integers(0, 9999)))
    note(describe(problem) + f"\nregions: {regions}")
    twin = Limited(problem, regions)
    return problem, [each for each in every_rule(problem) if twin.keeps(each.rows, each.rule.label)]


@given(drawn=limited_problems(), k=st.integers(1, 12))
@examples(60)
def test_the_best_rules_within_limits_are_those_of_the_enumeration(drawn, k):
    problem, rules = drawn
    apart = top_rules(problem, limit=k, distinct="conditions", n_jobs=1)
    assert told(apart) == said(problem, rules[:k])
    found = top_rules(problem, limit=k, n_jobs=1)
    firsts = one_per_pattern(rules)
    assert told(found) == said(problem, firsts[:k])
    assert found.complete
    for each, first in zip(found, firsts, strict=False):
        same = [problem.lift(r.rule) for r in rules if r.pattern == first.pattern][1:]
        assert list(each.equivalents) == same[:20]


@given(drawn=limited_problems(), within=st.sampled_from([0, 0.1, 1 / 3, 1]))
@examples(60)
def test_all_rules_nearly_as_good_within_limits_are_listed(drawn, within):
    problem, rules = drawn
    found = rashomon_set(problem, within=within, n_jobs=1)
    assert found.complete
    if not rules:
        assert len(found) == 0
        return
    best = rules[0].value
    least = best - abs(best) * Fraction(within).limit_denominator(100)
    assert told(found) == said(problem, [each for each in rules if each.value >= least])


@given(drawn=limited_problems(), how=st.sampled_from(["share", "jaccard"]))
@examples(40)
def test_rules_apart_within_limits_are_chosen_one_after_the_other(drawn, how):
    problem, rules = drawn
    kept: list[Listed] = []
    while len(kept) < 3:
        fits = (
            each
            for each in rules
            if all(overlap(problem, each, other, how) <= Fraction(1, 3) for other in kept)
        )
        if (found := next(fits, None)) is None:
            break
        kept.append(found)
    apart = diverse_rules(problem, limit=3, max_overlap=1 / 3, overlap=how, n_jobs=1)
    assert told(apart) == said(problem, kept)
    assert apart.complete


def test_a_limit_on_time_leaves_the_best_rule_known():
    problem = Problem.of(
        {"x": [1, 2, 3, 4, 5, 6]}, list("abbbab"), constraints={"max_coverage": 3}, w=2
    )
    found = top_rules(problem, time_limit=0)
    assert not found.complete
    assert found.stopped_by is StopReason.TIME


# -- objectives, on raw values -------------------------------------------------------------------


def _objective(rng: np.random.Generator, n_rows: int) -> tuple[dict[str, Any], list[Fraction]]:
    """An objective with what its target holds, and what each row is worth."""
    amounts = plain.amounts(rng, n_rows)
    exact = plain.exact(amounts)
    if rng.random() < 0.5:
        labels = rng.choice(["no", "yes"], n_rows).tolist()
        labels[:2] = ["no", "yes"]
        asked = {"y": labels, "label": "yes", "objective": Money(benefit=amounts, cost=2)}
        return asked, [
            v if c == "yes" else Fraction(-2) for v, c in zip(exact, labels, strict=True)
        ]
    low = bool(rng.random() < 0.5)
    objective = Mean(threshold=3.5, direction="low" if low else "high")
    return {"y": amounts, "objective": objective}, [
        (Fraction(7, 2) - v) * (1 if low else -1) for v in exact
    ]


def _list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = plain.small_table(rng)
    usable = {k: v for k, v in columns.items() if len({c for c in v if c is not None}) > 1}
    if not usable:
        return
    n_rows = len(next(iter(usable.values())))
    roles = {k: "categorical" if any(isinstance(c, str) for c in v) else "numeric"
             for k, v in usable.items()}  # fmt: skip
    asked, gains = _objective(rng, n_rows)
    region = [str(r) for r in rng.choice(["n", "s"], n_rows)]
    region[:2] = ["n", "s"]
    most = int(rng.integers(1, n_rows + 1))
    kind = str(rng.choice(["none", "budget", "segments", "parity"]))
    demands: dict[str, Any] = {
        "none": {},
        "budget": {"max_coverage": most},
        "segments": {"segments": [PerSegment("region", max_coverage=most)]},
        "parity": {"parities": [Parity("region", max_difference=0.25)]},
    }[kind]

    def meets(rows: frozenset[int]) -> bool:
        inside = {r: [row for row in range(n_rows) if region[row] == r] for r in "ns"}
        covered = {r: sum(row in rows for row in own) for r, own in inside.items()}
        shares = [Fraction(covered[r], len(inside[r])) for r in "ns"]
        return {
            "none": True,
            "budget": len(rows) <= most,
            "segments": max(covered.values()) <= most,
            "parity": abs(shares[0] - shares[1]) <= Fraction(1, 4),
        }[kind]

    values = {rows: sum(gains[r] for r in rows) for rows in plain.rules(usable, 2) if meets(rows)}
    wanted = sorted((float(v) for v in values.values() if v > 0), reverse=True)
    data = usable | {"region": region}
    asked |= {"roles": roles | {"region": "ignored"}, "constraints": Constraints(**demands)}
    y = asked.pop("y")
    found = top_rules(data, y, limit=6, max_depth=2, n_jobs=1, **asked)
    assert [each.value for each in found] == wanted[:6]
    near = rashomon_set(data, y, within=0.5, max_depth=2, n_jobs=1, **asked)
    assert near.complete
    good = [value for value in wanted if value >= (near.threshold or 0)]
    assert [each.value for each in near.patterns] == good
    for each in found:
        rows = frozenset(np.flatnonzero(each.rule.covers(usable)).tolist())
        assert meets(rows)
        assert float(values[rows]) == each.value


@given(seed=st.integers(0, 2**32 - 1))
@examples(60)
def test_lists_of_objectives_are_those_of_an_enumeration(seed):
    _list(seed)


@pytest.mark.slow
def test_lists_of_objectives_are_those_of_an_enumeration_on_thousands_of_tables():
    for seed in range(3000):
        _list(seed)
