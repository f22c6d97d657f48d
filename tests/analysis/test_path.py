from __future__ import annotations

import math
import threading
from fractions import Fraction
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.enumerated import all_counts, arguments, has_decimals
from engines.search.support import examples
from opdt.analysis.path import weight_path
from opdt.datasets import load
from opdt.discovery import discover
from opdt.engines.prices import Pricer
from opdt.engines.search import SearchEngine, Switches
from opdt.errors import InputError
from opdt.objectives.gains import as_written
from opdt.problem import Constraints, Problem
from opdt.solution import Budget, Status, StopReason
from opdt.table import Table
from strategies import EMPHASES, describe, small_problems

SEEDS = st.integers(0, 2**32 - 1)
INEXACT = 1e-6  # weights that no decimal writes are rounded, and not alike

AGES = {"age": [25, 31, 38, 47, 52, 60]}
STATES = ["well", "ill", "well", "ill", "ill", "ill"]


def random_prices(rng: np.random.Generator, number: int) -> list[Fraction]:
    """Prices of all sizes and denominators."""
    tops, bottoms = rng.integers(1, 60, number), rng.integers(1, 12, number)
    return [1 + Fraction(int(a), int(b)) for a, b in zip(tops, bottoms, strict=True)]


@pytest.mark.parametrize("emphasis", [name for name in EMPHASES if name != "gains"])
def test_the_path_is_the_largest_line_of_all_rules(emphasis: str) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis], max_rules=1500), seed=SEEDS)
    @examples(20)
    def holds(problem: Problem, seed: int) -> None:
        path = weight_path(**arguments(problem))
        counts = all_counts(problem)
        assert path.complete
        if not counts:
            assert path.segments == ()
            assert path.at(10).status is Status.INFEASIBLE
            return
        prices = [Fraction(1), *path.breakpoints, *random_prices(np.random.default_rng(seed), 12)]
        for w in prices:
            best = max(covered - w * errors for covered, errors in counts)
            found = path.at(w)
            assert found.value == found.bound == float(best), f"{w}\n{describe(problem)}"
            assert found.covered - w * Fraction(found.errors) == pytest.approx(float(best))
        # and no piece is missing: segments are as few as the corners of the largest line
        for one, two in pairwise(path.segments):
            assert one.errors > two.errors
            assert one.w_from < one.w_to == two.w_from

    holds()


@given(problem=small_problems(max_rules=1500), seed=SEEDS)
@examples(60)
def test_at_every_price_it_is_what_discover_finds(problem: Problem, seed: int) -> None:
    """Rule and value, at random prices and exactly where two rules tie."""
    given = arguments(problem)
    path = weight_path(**given)
    prices = [Fraction(1), *path.breakpoints, *random_prices(np.random.default_rng(seed), 6)]
    for w in prices:
        single, found = discover(**given, w=w, engine="exhaustive"), path.at(w)
        if not has_decimals(problem):
            # a single solve rounds other prices beside such weights, and a limit may be missed
            # by a rounding
            if w.denominator < 12 and not problem.constraints.bounds_rows:
                assert found.value == pytest.approx(single.value, rel=INEXACT, abs=INEXACT)
            continue
        assert (found.status, found.rule) == (single.status, single.rule), f"{w}"
        assert (found.value, found.bound) == (single.value, single.bound)
        assert (found.covered, found.errors) == (single.covered, single.errors)


@pytest.fixture(scope="module")
def noisy() -> Problem:
    """Three classes, weights with decimals, missing values; a path of many segments."""
    rng = np.random.default_rng(10)
    n = 200
    size = rng.integers(0, 60, n).astype(float)
    place = rng.choice(["north", "south", "west", None], n)
    score = np.round(rng.normal(size=n), 2)
    score[rng.random(n) < 0.1] = np.nan
    chance = 0.3 + size / 100 - score / 4 + 0.1 * (place == "north")
    labels = np.where(rng.random(n) < chance, "a", np.where(rng.random(n) < 0.3, "b", "c"))
    data = {"size": size, "place": place, "score": score}
    weights = rng.choice([0.5, 1, 1.25, 2], n)
    table = Table.build(pd.DataFrame(data), labels, sample_weight=weights, warn=False)
    return Problem.build(table, constraints=Constraints(missing_conditions=True))


@pytest.mark.parametrize("number", [500, pytest.param(5000, marks=pytest.mark.slow)])
def test_thousands_of_separate_solves_agree(noisy: Problem, number: int) -> None:
    path = weight_path(**arguments(noisy))
    assert len(path) >= 10
    rng = np.random.default_rng(0)
    grid = [round(float(w), 3) for w in 1 + 40 * rng.random(number) ** 3]
    pricer = Pricer(noisy, "search", Budget(n_jobs=1))
    for w in [*map(as_written, grid), *random_prices(rng, number), *path.breakpoints]:
        line = pricer.solve(w).line
        found = path.at(w)
        assert found.rule == line.rule, w
        assert found.value == found.bound == float(line.value(w) / pricer.scale)
        assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("name", ["hepatitis", "fertility", "heart_disease", "pima"])
def test_real_data_agree_with_discover(name: str, uci_folder) -> None:
    data = load(name, folder=uci_folder)
    table = Table.build(data.X, data.y, warn=False)
    path = weight_path(table, n_jobs=1)
    rng = np.random.default_rng(1)
    for w in [*path.breakpoints, *random_prices(rng, 25)]:
        single, found = discover(table, w=w, n_jobs=1), path.at(w)
        assert (found.rule, found.value, found.status) == (single.rule, single.value, single.status)


@given(problem=small_problems(max_rules=1500), nodes=st.integers(0, 40), seed=SEEDS)
@examples(40)
def test_a_path_cut_short_bounds_the_optimum_everywhere(
    problem: Problem, nodes: int, seed: int
) -> None:
    given = arguments(problem)
    cut = weight_path(**given, budget=Budget(nodes=nodes, n_jobs=1))
    whole = weight_path(**given)
    prices = [Fraction(1), *whole.breakpoints, *random_prices(np.random.default_rng(seed), 8)]
    for w in [*prices, Fraction(10**6), math.inf]:
        assert cut.value(w) <= whole.value(w) <= cut.bound(w), f"{w}\n{describe(problem)}"
    for segment in cut.segments:
        if segment.proven:
            ends = [segment.w_from, min(segment.w_to, 1e6)]
            assert [segment.value(w) for w in ends] == pytest.approx(
                [whole.value(w) for w in ends], abs=1e-6
            )
    if cut.stopped_by is StopReason.FINISHED:
        assert cut.complete


def test_a_path_without_time_says_that_nothing_is_proven(noisy: Problem) -> None:
    path = weight_path(**arguments(noisy), time_limit=0)
    assert not path.complete
    assert path.stopped_by is StopReason.TIME
    found = path.at(10)
    assert found.status is Status.FEASIBLE
    assert found.bound >= weight_path(**arguments(noisy)).value(10) > found.value


def test_what_was_proven_before_a_limit_stays_proven(noisy: Problem) -> None:
    """The widest gap is closed first, so that the bound comes down quickly."""
    whole = weight_path(**arguments(noisy))
    gaps = []
    for nodes in (0, 3, 6, 12, 10**6):
        cut = weight_path(**arguments(noisy), budget=Budget(nodes=nodes, n_jobs=1))
        gaps.append(max(cut.bound(w) - cut.value(w) for w in np.linspace(1, 30, 60)))
        assert all(cut.value(w) <= whole.value(w) <= cut.bound(w) for w in np.linspace(1, 30, 60))
    assert gaps == sorted(gaps, reverse=True)
    assert len(set(gaps)) > 3
    assert gaps[-1] == 0
    assert cut.complete


def test_a_cancelled_path_is_a_path(noisy: Problem) -> None:
    event = threading.Event()
    event.set()
    path = weight_path(**arguments(noisy), budget=Budget(cancel=event))
    assert path.stopped_by is StopReason.CANCELLED
    assert not path.complete


def test_progress_counts_the_time_of_the_whole_path(noisy: Problem) -> None:
    seen: list[float] = []
    budget = Budget(progress=lambda at: seen.append(at.seconds), n_jobs=1)
    path = weight_path(**arguments(noisy), budget=budget)
    assert seen == sorted(seen)
    assert seen[-1] <= path.seconds


@given(problem=small_problems(max_rules=1500))
@examples(30)
def test_every_engine_that_proves_gives_the_same_path(problem: Problem) -> None:
    given = arguments(problem)
    paths = [
        weight_path(**given, engine=engine)
        for engine in ("search", "exhaustive", SearchEngine(switches=Switches(large_rows=0)))
    ]
    for path in paths[1:]:
        assert path.segments == paths[0].segments
        assert path.breakpoints == paths[0].breakpoints


def test_a_path_by_hand() -> None:
    """At w = 1 all ill rows count and errors nothing; at w = 2 the 31-year-old does not pay."""
    path = weight_path(AGES, STATES, label="ill")
    assert [str(s.rule) for s in path] == ["IF age >= 30 THEN ill", "IF age >= 40 THEN ill"]
    assert [(s.w_from, s.w_to) for s in path] == [(1, 2), (2, math.inf)]
    assert [(s.covered, s.errors, s.n_rows) for s in path] == [(5, 1, 6), (3, 0, 6)]
    assert path.segments[0].precision == 4 / 5
    assert path.segments[0].coverage == 5 / 6
    assert path.breakpoints == (Fraction(2),)
    assert path.value(1.25) == 5 - 1.25
    # equal VI, equal length: fewer errors win, as in discover
    assert path.at(2).rule == path.segments[1].rule == discover(AGES, STATES, w=2).rule
    # all six rows without a condition have the same VI at w = 1
    assert path.at(1).rule == discover(AGES, STATES, w=1, label="ill").rule
    assert path.at(1).rule.conditions == ()
    assert path.at(math.inf).value == 3


def test_a_path_ends_where_it_is_asked_to() -> None:
    path = weight_path(AGES, STATES, label="ill", w_max=1.5)
    assert [(s.w_from, s.w_to) for s in path] == [(1, 1.5)]
    assert path.complete
    assert path.value(1.5) == 3.5
    with pytest.raises(InputError, match=r"the path ends at 1.5; ask for a larger 'w_max'"):
        path.at(2)
    assert len(weight_path(AGES, STATES, label="ill", w_max=2)) == 1
    assert len(weight_path(AGES, STATES, label="ill", w_max=2.5)) == 2
    assert weight_path(AGES, STATES, label="ill", w_max=1).value(1) == 4


@given(problem=small_problems(max_rules=1500), w_max=st.fractions(1, 20, max_denominator=9))
@examples(40)
def test_a_path_with_an_end_is_the_beginning_of_the_whole(problem: Problem, w_max) -> None:
    given = arguments(problem)
    part, whole = weight_path(**given, w_max=w_max), weight_path(**given)
    assert part.complete
    assert part.breakpoints == tuple(w for w in whole.breakpoints if w < w_max)
    for w in (Fraction(1), (1 + w_max) / 2, w_max):
        assert part.at(w) == whole.at(w)


def test_without_a_rule_that_pays_the_path_ends_in_none() -> None:
    path = weight_path(Table.build({"x": [1, 1, 1, 1]}, ["a", "a", "a", "b"], warn=False))
    assert [(s.w_from, s.w_to) for s in path] == [(1, 4), (4, math.inf)]
    assert path.segments[1].rule is None
    assert path.segments[0].rule.conditions == ()
    assert math.isnan(path.segments[1].precision)
    assert path.at(5).status is Status.NO_PATTERN
    assert path.at(4).rule is None  # as good as nothing, and called so
    assert path.columns()["rule"] == ["IF (any row) THEN a", None]


def test_constraints_that_no_rule_meets_leave_an_empty_path() -> None:
    demands = {"min_coverage": 6, "max_errors": 0}
    path = weight_path(AGES, STATES, constraints=demands)
    assert path.segments == ()
    assert path.complete
    assert (path.at(3).value, path.at(3).status) == (-math.inf, Status.INFEASIBLE)
    assert str(path) == "no rule meets the constraints"


def test_a_minimum_of_coverage_leads_below_zero() -> None:
    path = weight_path(AGES, STATES, constraints={"min_coverage": 6}, label="ill")
    assert [(s.covered, s.errors) for s in path] == [(6, 2)]
    assert path.value(10) == 6 - 10 * 2
    assert path.value(math.inf) == path.bound(math.inf) == -math.inf


def test_rules_are_counted_on_other_rows() -> None:
    path = weight_path(AGES, STATES, label="ill")
    counted = path.evaluate({"age": [35, 41, 70, 20]}, ["well", "well", "ill", "ill"])
    assert [(s.covered, s.errors, s.n_rows) for s in counted] == [(3, 2, 4), (2, 1, 4)]
    assert [s.rule for s in counted] == [s.rule for s in path]
    assert counted[0].value(10) == 3 - 20
    weighted = path.evaluate(
        pd.DataFrame({"age": [35, 41], "state": ["well", "ill"]}), "state", [0.5, 2]
    )
    assert [(s.covered, s.errors) for s in weighted] == [(2.5, 0.5), (2, 0)]
    with pytest.raises(InputError, match="'y' must have one label for each of the 2 rows"):
        path.evaluate({"age": [35, 41]}, ["well"])


def test_the_table_of_segments_is_a_frame_and_a_text() -> None:
    path = weight_path(AGES, STATES, label="ill")
    frame = path.to_frame()
    assert frame["w_to"].tolist() == [2, math.inf]
    assert frame["rule"].tolist() == [str(s.rule) for s in path]
    assert frame["precision"].tolist() == [0.8, 1.0]
    assert str(path).splitlines() == [
        "w from   to  covered  errors  precision  coverage        verdict  rule",
        "     1    2        5       1     80.0 %    83.3 %  not supported  IF age >= 30 THEN ill",
        "     2  inf        3       0    100.0 %    50.0 %  not supported  IF age >= 40 THEN ill",
    ]
    assert frame["verdict"].tolist() == ["not supported"] * 2
    assert path.at(1.5).evidence == path.segments[0].evidence
    assert path.at(1.5).verdict == discover(AGES, STATES, label="ill", w=1.5).verdict


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"w_max": 0.5}, "'w_max' must be a number >= 1, or infinity"),
        ({"w_max": math.nan}, "'w_max' must be"),
        ({"w_max": "all"}, "'w_max' must be .* got 'all'"),
        ({"engine": "bsccart"}, "'engine' 'bsccart' proves nothing"),
        ({"label": "dead"}, "class 'dead' does not occur"),
        ({"sample_weight": [1e9] * 6}, "too large to add exactly"),
        ({"time_limit": 1, "budget": Budget()}, "beside 'budget'"),
    ],
)
def test_bad_arguments_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        weight_path(AGES, STATES, **settings)


@pytest.mark.parametrize("w", [0.9, -1, math.nan, "ten", True, None])
def test_a_price_below_one_is_refused(w: object) -> None:
    with pytest.raises(InputError, match="'w' must be a number >= 1, or infinity"):
        weight_path(AGES, STATES).at(w)


def test_a_path_can_be_stored(tmp_path) -> None:
    path = weight_path(AGES, STATES, label="ill")
    joblib.dump(path, tmp_path / "path.joblib")
    again = joblib.load(tmp_path / "path.joblib")
    assert again.segments == path.segments
    assert again.at(2) == path.at(2)
