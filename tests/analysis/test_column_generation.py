from __future__ import annotations

import math
import threading
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from analysis.rule_sets import Universe, asked, universe
from naive import Naive
from opdt import Budget, InputError, Status, Table
from opdt.analysis.column_generation import best_rule_set
from opdt.analysis.column_generation import run as running
from opdt.analysis.column_generation.branching import Branching
from opdt.analysis.column_generation.columns import greedy, undominated
from opdt.analysis.column_generation.master import relax
from opdt.analysis.column_generation.pricing import Oracle, Quote, at_most
from opdt.engines.search import Searcher
from opdt.problem import Problem
from opdt.solution import StopReason
from strategies import describe, small_problems

# The integer program of the oracle has tolerances; weights such as 1/3 tie within them.
NOTHING = 1e-9
PRICES = (0, 1, 0.5, 0.3, 1 / 3, 100)
PATIENTS = {
    "age": [25, 31, 47, 52, 38, 70],
    "smoker": ["no", "no", "yes", "no", "yes", "no"],
}
STATE = ["well", "well", "ill", "well", "ill", "ill"]


@st.composite
def questions(draw: st.DrawFn, **limits: int) -> tuple[Problem, int, int, float]:
    """A small problem, the class to describe, how many rules, and the price of a condition."""
    problem = draw(small_problems(max_depth=2, max_rules=900, max_rows=12, **limits))
    label = draw(st.integers(0, len(problem.table.classes) - 1), label="label")
    most = draw(st.sampled_from([2, 3, 1, 5]), label="max_rules")
    return problem, label, most, draw(st.sampled_from(PRICES), label="price")


def check(universe: Universe, most: int, found) -> float:
    """Loss and bound of a solution against the integer program; the optimum."""
    optimum = float(universe.optimum(most))
    assert found.bound - NOTHING <= optimum <= found.value + NOTHING, describe(universe.problem)
    rule_set, table = found.rule_set, universe.problem.table
    assert len(rule_set) <= most
    covers = [
        frozenset(
            np.flatnonzero(universe.problem.cover(universe.problem.lower(rule).conditions)).tolist()
        )
        for rule in rule_set.rules
    ]
    assert all(rows in universe.lengths for rows in covers)
    # The rule that is shown may be longer than needed only if conditions are free.
    recounted = universe.loss_of(covers)
    shown = sum(map(len, rule_set.rules)) - sum(universe.lengths[rows] for rows in covers)
    assert float(recounted + shown * universe.loss.price * universe.loss.unit) == found.value
    assert rule_set.label == table.classes.tolist()[universe.loss.label]
    return optimum


@pytest.mark.parametrize("near", [0.01, 1e30], ids=["the program solved", "the program skipped"])
@settings(max_examples=70)
@given(question=questions())
def test_the_set_is_the_optimum_of_an_integer_program_over_all_rules(near, question):
    """The program's bound is nearly always enough; listing has to do without it, too."""
    problem, label, most, price = question
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "NEAR", near)
        found = best_rule_set(**asked(problem, label), max_rules=most, condition_price=price)
    optimum = check(universe(problem, label, price), most, found)
    assert (found.status, found.stopped_by) == (Status.OPTIMAL, StopReason.FINISHED)
    assert found.value == found.bound == pytest.approx(optimum, abs=NOTHING)
    assert found.gap == 0


@settings(max_examples=40)
@given(questions(), st.integers(1, 4), st.integers(0, 3))
def test_limits_on_lists_and_nodes_leave_a_true_bound(question, listed, nodes):
    problem, label, most, price = question
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "NEAR", 1e30)
        patch.setattr(running, "MAX_LISTED", listed)
        patch.setattr(running, "MAX_NODES", nodes)
        found = best_rule_set(**asked(problem, label), max_rules=most, condition_price=price)
    optimum = check(universe(problem, label, price), most, found)
    if found.status is Status.OPTIMAL:
        assert found.value == found.bound == pytest.approx(optimum, abs=NOTHING)
    else:
        assert found.stopped_by is StopReason.NODES


@settings(max_examples=40)
@given(questions(), st.integers(0, 12))
def test_stopped_anywhere_the_bound_is_true(question, after):
    problem, label, most, price = question
    event, calls = threading.Event(), iter(range(10**9))
    original = Oracle.halted

    def halted(self):
        if next(calls) >= after:
            event.set()
        return original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Oracle, "halted", halted)
        found = best_rule_set(
            **asked(problem, label),
            max_rules=most,
            condition_price=price,
            budget=Budget(cancel=event),
        )
    check(universe(problem, label, price), most, found)
    assert found.stopped_by in (StopReason.CANCELLED, StopReason.FINISHED)
    assert (found.status is Status.OPTIMAL) == (found.value == found.bound)


@settings(max_examples=30)
@given(questions(), st.integers(0, 3))
def test_ctrl_c_leaves_the_best_set_so_far_with_a_true_bound(question, after):
    problem, label, most, price = question
    calls = iter(range(10**9))

    def interrupted(*arguments):
        if next(calls) >= after:
            raise KeyboardInterrupt
        return relax(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "relax", interrupted)
        found = best_rule_set(**asked(problem, label), max_rules=most, condition_price=price)
    check(universe(problem, label, price), most, found)
    if found.status is Status.FEASIBLE:
        assert found.stopped_by is StopReason.INTERRUPTED


def test_no_time_at_all_gives_a_set_and_a_true_bound():
    found = best_rule_set(PATIENTS, STATE, time_limit=0)
    assert found.bound <= 1.5 <= found.value
    assert found.stopped_by is StopReason.TIME


# -- what the parts promise ------------------------------------------------------------------


@settings(max_examples=40)
@given(questions(), st.integers(0, 2**32 - 1))
def test_any_multipliers_give_a_true_bound_and_the_listing_leaves_out_nothing(question, seed):
    problem, label, most, price = question
    every = universe(problem, label, price)
    rng, loss = np.random.default_rng(seed), every.loss
    oracle = Oracle(every.problem, loss, Budget().start())
    multipliers = np.rint(rng.random(len(loss.missed)) ** 2 * loss.missed)
    quote = oracle.quote(multipliers)
    worth = np.zeros(len(loss.wanted))
    worth[loss.wanted] = multipliers

    def net(rows):
        cost = every.cost(rows) / loss.unit
        return sum(int(worth[row]) for row in rows if loss.wanted[row]) - cost

    nets = {rows: net(rows) for rows in every.lengths}
    assert quote.best == max([0, *nets.values()])
    assert float(quote.bound(most) * loss.unit) <= float(every.optimum(most)) + NOTHING

    least = int(rng.integers(-quote.total, quote.best + 1)) if quote.total else 0
    limit = int(rng.choice([1, 3, 10_000]))
    listing = oracle.listing(quote, least, limit)
    listed = {frozenset(range(len(loss.wanted)))} if oracle.always is not None else set()
    for batch in listing.batches():
        for place, (cover, cost) in enumerate(zip(batch.covers, batch.costs, strict=True)):
            fires = every.problem.cover(batch.rule(place).conditions)
            rows = frozenset(np.flatnonzero(fires).tolist())
            assert fires[loss.wanted].tolist() == cover.tolist()
            assert cost == loss.cost(fires, len(batch.rule(place).conditions))
            assert every.cost(rows) <= int(cost) * loss.unit
            listed.add(rows)
    for rows, value in nets.items():
        alone = sum(every.weight(row) for row in rows if loss.wanted[row]) - every.cost(rows)
        assert rows in listed or value <= listing.beyond or alone <= 0
    if limit > len(nets):
        assert listing.beyond == least - 1


@given(small_problems(max_depth=3, max_rules=400), st.integers(1, 3))
def test_a_problem_of_fewer_conditions_has_the_short_rules_of_the_longer_one(problem, size):
    size = min(size, problem.structure.depth)
    twin, best = Naive(problem), None
    for tests, rows in twin.rules():
        short = twin.simplify(tests)
        for label in twin.labels:
            value, covered, errors = twin.count(rows, label)
            if len(short) <= size and twin.enough(covered, errors) and twin.allowed(short):
                best = value if best is None else max(best, value)
    found = Searcher(at_most(problem, size)).solve()
    if problem.may_be_empty:
        best = max(Fraction(0), best or Fraction(0))
    assert found.value == (-math.inf if best is None else float(best)), describe(problem)


def matrices(seed: int, *, most_columns: int = 8, most_rows: int = 6):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, most_columns + 1)), int(rng.integers(1, most_rows + 1))
    covers = rng.random((m, n)) < rng.choice([0.3, 0.6])
    return covers, rng.integers(0, 6, m).astype(float), rng.integers(1, 5, n).astype(float)


def loss_of(covers, costs, missed, chosen) -> float:
    fires = covers[list(chosen)].any(axis=0)
    return float(missed[~fires].sum() + costs[list(chosen)].sum())


def best_of(covers, costs, missed, most: int) -> float:
    return min(
        loss_of(covers, costs, missed, chosen)
        for size in range(most + 1)
        for chosen in combinations(range(len(costs)), size)
    )


@pytest.mark.parametrize("seed", range(150))
def test_branching_finds_the_best_choice_and_proves_it(seed):
    covers, costs, missed = matrices(seed)
    most, rng = 1 + seed % 5, np.random.default_rng(seed)
    best = best_of(covers, costs, missed, most)
    multipliers = np.rint(rng.random(len(missed)) * missed)
    for goal in (best - 1, best, best + 2):
        search = Branching(covers, costs, missed, most, goal=int(goal), step=1)
        choice = search.search(multipliers, max_nodes=10**6, halted=lambda: False)
        assert choice.is_proven
        if goal < best:
            assert (choice.places, choice.bound) == (None, best)
        else:
            assert loss_of(covers, costs, missed, choice.places) == choice.loss == best
            assert choice.bound == best


@pytest.mark.parametrize("seed", range(40))
def test_branching_cut_short_has_a_true_bound(seed):
    covers, costs, missed = matrices(seed, most_columns=10, most_rows=10)
    best = best_of(covers, costs, missed, 4)
    search = Branching(covers, costs, missed, 4, goal=int(missed.sum()), step=1)
    choice = search.search(np.zeros(len(missed)), max_nodes=seed % 4, halted=lambda: False)
    assert choice.bound <= best <= choice.loss


@pytest.mark.parametrize("seed", range(60))
def test_the_linear_program_is_solved_with_few_columns_at_a_time(seed, monkeypatch):
    covers, costs, missed = matrices(seed, most_columns=40, most_rows=12)
    monkeypatch.setattr("opdt.analysis.column_generation.master.FEW", 1 + seed % 7)
    missed = missed * 1000  # so that rounding multipliers to whole numbers is nothing
    costs = costs * 1000
    most = 1 + seed % 3
    found = relax(covers, costs, missed, most, missed)
    m, n = covers.shape
    expected = linprog(
        np.concatenate([costs, missed]),
        A_ub=np.vstack(
            [-np.hstack([covers.T, np.eye(n)]), np.concatenate([np.ones(m), np.zeros(n)])]
        ),
        b_ub=np.append(-np.ones(n), most),
        bounds=(0, None),
    )
    assert found.value == pytest.approx(expected.fun, abs=1e-3)
    assert ((found.multipliers >= 0) & (found.multipliers <= missed)).all()
    best = max(0.0, float((covers @ found.multipliers - costs).max()))
    quote = Quote(found.multipliers, int(best))
    assert quote.bound(most) == pytest.approx(expected.fun, abs=n + most)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_dominated_is_left_out_and_nothing_else(seed, monkeypatch):
    covers, costs, _ = matrices(seed, most_columns=30)
    monkeypatch.setattr("opdt.analysis.column_generation.columns.BLOCK", 1 + seed % 9)
    kept = undominated(covers, costs).tolist()

    def dominates(a, b):
        return costs[a] <= costs[b] and not (covers[b] & ~covers[a]).any()

    for b in range(len(costs)):
        others = [a for a in kept if a != b and dominates(a, b)]
        assert bool(others) != (b in kept)


@pytest.mark.parametrize("seed", range(40))
def test_the_loss_of_the_greedy_choice_is_what_it_says(seed):
    covers, costs, missed = matrices(seed)
    chosen, loss = greedy(covers, costs, missed, 3)
    assert loss == loss_of(covers, costs, missed, chosen)
    assert best_of(covers, costs, missed, 3) <= loss <= missed.sum()


# -- what a user sees ------------------------------------------------------------------------


def test_two_rules_where_one_is_not_enough():
    # Both rules are free of errors: 3 conditions would be needed for one rule, 1 each for two.
    found = best_rule_set(PATIENTS, STATE, label="ill", condition_price=0.25)
    assert str(found.rule_set).splitlines() == [
        "IF smoker == 'yes'",
        "OR age >= 60",
        "THEN ill",
        "ELSE well",
    ]
    assert (found.value, found.missed, found.wrong, found.n_conditions) == (0.5, 0, 0, 2)
    assert found.rule_set.predict(PATIENTS).tolist() == STATE


def test_the_class_with_the_smaller_loss_is_described_if_none_is_named():
    both = best_rule_set(PATIENTS, STATE, max_rules=1)
    each = [best_rule_set(PATIENTS, STATE, max_rules=1, label=label) for label in ("ill", "well")]
    assert both.value == min(one.value for one in each)
    assert both.bound == min(one.bound for one in each)


def test_a_row_that_two_rules_cover_is_charged_twice():
    # Only x < 2 and y < 2 cover rows 0 and 1, and both cover the last row, which is no "a".
    data = {"x": [1, 3, 1, 3], "y": [3, 1, 1, 3]}
    labels = ["a", "a", "b", "b"]
    weights = [5, 5, 1, 1]
    found = best_rule_set(
        data, labels, label="a", max_depth=1, condition_price=0, sample_weight=weights
    )
    assert (found.value, found.missed, found.wrong) == (2, 0, 2)


def test_a_price_that_no_condition_is_worth_leaves_no_rule():
    found = best_rule_set(PATIENTS, STATE, label="ill", condition_price=1e9)
    # All rows at once cost the three others, which is no better than missing three.
    assert (found.value, found.status) == (3, Status.OPTIMAL)
    assert found.n_conditions == 0


def test_weights_count_as_repeated_rows():
    repeated = {name: values + values[:3] for name, values in PATIENTS.items()}
    one = best_rule_set(repeated, STATE + STATE[:3])
    two = best_rule_set(PATIENTS, STATE, sample_weight=[2, 2, 2, 1, 1, 1])
    assert (one.rule_set, one.value, one.bound) == (two.rule_set, two.value, two.bound)


def test_the_class_has_no_weight():
    table = Table.build(PATIENTS, STATE, sample_weight=[1, 1, 0, 1, 0, 0])
    found = best_rule_set(table, label="ill")
    assert (len(found.rule_set), found.value, found.bound) == (0, 0, 0)


def test_more_than_two_classes_need_a_target():
    data, labels = {"x": [1, 2, 3, 4]}, ["a", "b", "c", "c"]
    with pytest.raises(InputError, match=r"the labels have 3; give the 'label'"):
        best_rule_set(data, labels)
    found = best_rule_set(data, labels, label="c", condition_price=0)
    assert str(found.rule_set) == "IF x >= 2.5\nTHEN c\nELSE None"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_rules": 0}, r"'max_rules' must be an int >= 1, got 0\."),
        ({"max_rules": 2.5}, r"'max_rules' must be an int >= 1, got 2.5\."),
        ({"condition_price": -1}, r"'condition_price' must be a finite number of rows >= 0"),
        ({"condition_price": "low"}, r"'condition_price' must be .* got 'low'\."),
        ({"condition_price": math.nan}, r"'condition_price' must be .* got nan\."),
    ],
)
def test_bad_settings_are_refused_with_one_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        best_rule_set(PATIENTS, STATE, **arguments)
