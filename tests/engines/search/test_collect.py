"""Every rule that is worth enough: sets of rays, their positions, their order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.every_rule import Listed, every_rule, one_per_pattern
from engines.search.support import CRAMPED, EAGER, examples, make_default, switches
from entangled import entangled
from naive import Naive
from opdt.engines.search import RowLimit, Searcher, Switches, position_kernels
from opdt.engines.search.collect import GRACE, Gather
from opdt.engines.search.listing import Lister
from opdt.engines.search.run import Prepared
from opdt.engines.search.scores import Scores
from opdt.problem import CodedRule, Problem, Structure
from opdt.solution import Budget, StopReason
from opdt.table import Table
from strategies import EMPHASES, coded, describe, small_problems

SEEDS = st.integers(0, 2**32 - 1)
PATHS = {"rows": 20_000, "cells": 0}


@pytest.fixture(scope="module", params=["rows", "cells", "cramped"])
def path(request: pytest.FixtureRequest) -> Iterator[int]:
    """From how many rows cells are counted, with all that is lazy made eager; or no room at all."""
    with pytest.MonkeyPatch.context() as patch:
        make_default(patch, tuning=CRAMPED if request.param == "cramped" else EAGER)
        yield PATHS.get(request.param, 20_000)


def check(problem: Problem, chosen: Switches, seed: int) -> None:
    """Assert that the first rules and those of at least a gain are those of the slow twin."""
    rng, rules = np.random.default_rng(seed), every_rule(problem)
    k = int(rng.integers(1, 25))
    finder = Searcher(problem, chosen)
    note = f"{k}\n{describe(problem)}"
    found = finder.list_rules(k)
    assert found.is_complete
    assert [rule for rule, _ in found.rules()] == [each.rule for each in rules[:k]], note
    counted = [found.measure(at) for _, at in found.rules()]
    unit, scale = problem.objective.unit, problem.objective.weight_scale
    for measure, each in zip(counted, rules, strict=False):
        assert measure.gain * unit == each.value
        assert Fraction(measure.covered, scale) == each.covered
        assert Fraction(measure.errors, scale) == each.errors
    firsts = finder.list_rules(k, by_rows=True).representatives()
    assert [rule for rule, _ in firsts] == [each.rule for each in one_per_pattern(rules)[:k]], note
    if rules:
        best = int(rules[0].value / unit)
        least = best - int(rng.integers(0, abs(best) + 2))
        near = finder.list_rules(10**6, least_gain=least).rules()
        wanted = [each.rule for each in rules if each.value >= least * unit]
        assert [rule for rule, _ in near] == wanted, f"{least} {note}"


@pytest.mark.parametrize("emphasis", EMPHASES)
def test_the_first_rules_are_those_of_the_enumeration(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), chosen=switches(path), seed=SEEDS)
    @examples(8)
    def agrees(problem: Problem, chosen: Switches, seed: int) -> None:
        check(problem, chosen, seed)

    agrees()


@pytest.mark.slow
@pytest.mark.parametrize("emphasis", EMPHASES)
def test_the_first_rules_of_very_many_problems(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), chosen=switches(path), seed=SEEDS)
    @examples(300)
    def agrees(problem: Problem, chosen: Switches, seed: int) -> None:
        check(problem, chosen, seed)

    agrees()


@given(seed=SEEDS, depth=st.sampled_from([2, 3, 4]), vi=st.booleans(), one_way=st.booleans())
@examples(12)
def test_rules_in_which_gain_and_loss_are_entangled(
    seed: int, depth: int, vi: bool, one_way: bool
) -> None:
    rng = np.random.default_rng(seed)
    one_way = one_way or depth > 2  # the slow twin has to try them all
    check(entangled(rng, depth, vi=vi, one_way=one_way), Switches(), seed)


@given(problem=small_problems(), large_rows=st.sampled_from([0, 20_000]))
@examples(20)
def test_threads_change_nothing(problem: Problem, large_rows: int) -> None:
    chosen = Switches(large_rows=large_rows)
    finder = Searcher(problem, chosen)
    one = finder.list_rules(7, by_rows=True)
    two = finder.list_rules(7, by_rows=True, budget=Budget(n_jobs=2))
    assert one.representatives() == two.representatives()


@given(problem=small_problems(gains=True, options=()), seed=SEEDS)
@examples(30)
def test_every_set_of_rays_is_found_for_losses_too(problem: Problem, seed: int) -> None:
    """A limit may be priced so high that any rule to be listed is worth less than nothing."""
    prepared, twin = Prepared(problem), Naive(problem)
    rays = prepared.rays
    ray_of = {
        rays.condition(ray, position): ray
        for ray, top in enumerate(rays.tops.tolist())
        for position in range(1, top + 1)
    }
    losses = int(np.minimum(problem.objective.gains(problem.objective.labels[0]), 0).sum())
    gain = -int(np.random.default_rng(seed).integers(0, 1 - losses))
    gather = Gather(
        problem, prepared, Budget(n_jobs=1).start(), Switches(),
        least=Scores.of(problem).least_value(gain), most=10**6,
    )  # fmt: skip
    gather.search()
    for tests, rows in twin.rules():
        value, covered, _ = twin.count(rows, twin.labels[0])
        if covered and value >= gain * problem.objective.unit:
            short = twin.simplify(tests)
            names = tuple(sorted(ray_of[coded(twin, test)] for test in short))
            assert (twin.labels[0], names) in gather.found, f"{gain}\n{describe(problem)}"


def test_a_tighter_position_may_lose_less() -> None:
    """Losses only: `x >= 1` loses 6 and `x >= 2` loses 1, so the tighter one is to be kept."""
    table = Table.build({"x": [0, 1, 2]}, [0, 1, 0], warn=False)
    problem = Problem.build(table, structure=Structure.free(1)).with_gains([-9, -5, -1])
    least, prepared = Scores.of(problem).least_value(-2), Prepared(problem)
    clock = Budget(n_jobs=1).start()
    gather = Gather(problem, prepared, clock, Switches(), least=least, most=9)
    gather.search()
    rays = prepared.rays
    assert [str(rays.rays[ray].op) for _, (ray,) in gather.found] == [">="]


# -- further limits on the rows ------------------------------------------------------------------


def meets(each: Listed, limits: list[RowLimit]) -> bool:
    rows = sorted(each.rows)
    return all(int(limit.column[rows].sum()) <= limit.most for limit in limits)


@pytest.mark.parametrize("emphasis", EMPHASES)
def test_the_best_rule_within_limits_is_that_of_the_enumeration(emphasis: str, path: int) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), seed=SEEDS)
    @examples(5)
    def agrees(problem: Problem, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = problem.table.n_rows
        limits = [
            RowLimit(rng.integers(-3, 4, size=n), int(rng.integers(-2, 6)))
            for _ in range(int(rng.integers(0, 4)))
        ]
        wanted = next((each for each in every_rule(problem) if meets(each, limits)), None)
        found, stopped = Searcher(problem, Switches(large_rows=path)).best_within(limits)
        assert stopped is StopReason.FINISHED
        assert (found and found[0]) == (wanted and wanted.rule), f"{limits}\n{describe(problem)}"

    agrees()


# -- sizes and limits ----------------------------------------------------------------------------


def gain_of_best(problem: Problem) -> tuple[CodedRule, int]:
    found = Searcher(problem).solve()
    assert found.rule is not None
    rule = problem.lower(found.rule)
    return rule, problem.measure(rule).gain


def test_a_listing_of_thousands_is_sorted_and_has_no_rule_twice(noise: Problem) -> None:
    finder, best = Searcher(noise), gain_of_best(noise)[1]
    found = finder.list_rules(10**6, least_gain=best - best // 8, budget=Budget())
    rules = [rule for rule, _ in found.rules()]
    keys = [noise.key(rule, noise.measure(rule)) for rule in rules]
    assert len(rules) > 2_000
    assert all(a < b for a, b in pairwise(keys))
    half = finder.list_rules(len(rules) // 2, least_gain=best - best // 7, budget=Budget())
    assert [rule for rule, _ in half.rules()] == rules[: len(rules) // 2]


@pytest.mark.parametrize("large_rows", [0, 20_000])
def test_a_limit_leaves_a_rule_of_the_best_value(noise: Problem, large_rows: int) -> None:
    finder, (rule, best) = Searcher(noise, Switches(large_rows=large_rows)), gain_of_best(noise)
    for budget, reason in (
        (Budget(time_limit=0), StopReason.TIME),
        (Budget(nodes=1), StopReason.NODES),
    ):
        found = finder.list_rules(10, least_gain=1, by_rows=True, known=rule, budget=budget)
        assert not found.is_complete
        assert found.stopped_by is reason
        first, measure = found.representatives()[0]
        assert (first, measure) == (rule, noise.measure(rule))
        assert measure.gain == best


def test_a_cancelled_listing_ends_at_once(noise: Problem) -> None:
    stop = threading.Event()
    stop.set()
    found = Searcher(noise).list_rules(10, by_rows=True, budget=Budget(cancel=stop))
    assert found.stopped_by is StopReason.CANCELLED
    assert not found.is_complete


def test_no_set_of_rays_is_listed_when_the_time_is_over(
    noise: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, _ = gain_of_best(noise)

    def refuse(*arguments: object) -> int:
        raise AssertionError("positions are listed although the time is over")

    monkeypatch.setattr(position_kernels, "list_pair", refuse)
    over = Budget(time_limit=0).start()
    while over.remaining() > -2 * GRACE:
        time.sleep(GRACE)
    found = Searcher(noise).list_rules(10, least_gain=1, known=rule, budget=over)
    assert [each for each, _ in found.rules()] == [rule]
    assert found.stopped_by is StopReason.TIME


def test_a_listing_that_is_cancelled_on_the_way_says_so(
    noise: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, whole = threading.Event(), Lister.list

    def cancel(lister: Lister, label: int, rays: tuple[int, ...]) -> None:
        stop.set()
        whole(lister, label, rays)

    monkeypatch.setattr(Lister, "list", cancel)
    found = Searcher(noise).list_rules(10**6, least_gain=1, budget=Budget(cancel=stop))
    assert found.stopped_by is StopReason.CANCELLED


def test_an_interruption_ends_the_listing(noise: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(label: int, rays: tuple[int, ...]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("opdt.engines.search.listing.Lister.list", staticmethod(interrupt))
    assert Searcher(noise).list_rules(3, by_rows=True).stopped_by is StopReason.INTERRUPTED


def test_a_limit_on_time_is_told_by_the_rule_within_limits(noise: Problem) -> None:
    limit = RowLimit(np.ones(noise.table.n_rows, np.int64), 20)
    found = Searcher(noise).best_within([limit], budget=Budget(time_limit=0))
    assert found == (None, StopReason.TIME)
