from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opdt import Budget, Condition, InputError, Rule, Table, discover
from opdt.analysis.resampling import draw_counts, resampled
from opdt.analysis.stability import RuleForm, order_interval, stability
from opdt.engines import get_engine
from opdt.errors import OpdtWarning
from opdt.problem import Problem
from opdt.rules import Op
from opdt.solution import StopReason
from strategies import describe, small_problems


def clinic(seed: int = 0, n_rows: int = 80):
    """Illness that depends on age and smoking, with some noise and some missing values."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, size=n_rows).astype(float)
    smoker = rng.choice(["no", "yes", "former"], n_rows)
    ill = (age > 45) & (smoker != "no") | (rng.random(n_rows) < 0.08)
    age[rng.random(n_rows) < 0.1] = np.nan
    return {"age": age, "smoker": smoker, "height": rng.normal(170, 9, n_rows).round(1)}, ill


def drawn(columns, labels, counts):
    """The raw data with each row as often as it was drawn."""
    rows = np.repeat(np.arange(len(labels)), counts)
    return {name: values[rows] for name, values in columns.items()}, labels[rows]


def test_the_most_precise_rules_of_weighted_rows_are_those_of_the_drawn_rows():
    columns, labels = clinic()
    weights = np.where(labels, 2.5, 1.0)
    asked = {"objective": "precision", "label": True, "max_depth": 1}
    found = stability(columns, labels, n_bootstrap=5, sample_weight=weights, **asked)
    for index, rule in enumerate(found.rules):
        counts = draw_counts(80, 0, index)
        rows = drawn(columns, labels, counts)
        assert rule == discover(*rows, sample_weight=np.repeat(weights, counts), **asked).rule
    assert found.solution.objective == "precision"


# -- the resampled problem -------------------------------------------------------------------


@given(small_problems(weights=("none", "integers", "decimals")), st.integers(0, 1000))
def test_a_resampled_problem_is_the_problem_of_the_table_read_anew(problem, seed):
    table, counts = problem.table, draw_counts(problem.table.n_rows, seed, 0)
    rows = np.repeat(np.arange(table.n_rows), counts)
    cells = {
        column.name: [None if c < 0 else column.values[c] for c in column.codes[rows]]
        for column in table.columns
    }
    labels = table.classes[table.labels[rows]]
    target = table.classes[problem.objective.labels[0]]
    single = len(problem.objective.labels) == 1
    assume(len(set(labels.tolist())) > 1)
    assume(not single or target in labels)
    assume(all(any(cell is not None for cell in column) for column in cells.values()))
    weights = None if table.weights is None else table.weights[rows]
    assume(weights is None or weights.any())
    anew = Problem.build(
        Table.build(
            cells,
            labels,
            sample_weight=weights,
            roles={column.name: str(column.kind) for column in table.columns},
            warn=False,
        ),
        structure=problem.structure,
        groups=problem.groups.custom,
        w=problem.objective.w,
        label=target if single else None,
        constraints=problem.constraints,
    )
    exhaustive, search = get_engine("exhaustive"), get_engine("search")
    expected = exhaustive.solve(anew)
    for engine in (exhaustive, search):
        found = engine.solve(resampled(problem, counts))
        assert (found.rule, found.value, found.status) == (
            expected.rule,
            expected.value,
            expected.status,
        ), describe(problem)
        assert (found.covered, found.errors) == (expected.covered, expected.errors)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_depth": 3, "w": 2.5, "label": True},
        {"structure": ["cat", "num"]},
        {"constraints": {"required": ["height"], "missing_conditions": True, "subsets": True}},
        {"objective": "precision", "label": True, "min_coverage": 0.1},
        {"objective": "coverage", "min_precision": 0.9},
    ],
)
def test_every_bootstrap_finds_what_discover_finds_in_the_drawn_rows(settings):
    columns, labels = clinic()
    found = stability(columns, labels, n_bootstrap=12, seed=3, **settings)
    assert found.n_done == 12
    for index, rule in enumerate(found.rules):
        rows = drawn(columns, labels, draw_counts(80, 3, index))
        assert rule == discover(*rows, **settings).rule
    assert found.solution.rule == discover(columns, labels, **settings).rule


def test_row_weights_are_drawn_with_their_rows():
    columns, labels = clinic(1)
    weights = np.random.default_rng(0).integers(1, 5, size=80) / 2
    found = stability(columns, labels, n_bootstrap=8, sample_weight=weights)
    for index, rule in enumerate(found.rules):
        counts = draw_counts(80, 0, index)
        rows = drawn(columns, labels, counts)
        assert rule == discover(*rows, sample_weight=np.repeat(weights, counts)).rule


def test_weights_of_many_digits_that_are_drawn_too_often_get_coarser_units():
    weights = np.full(40, 1 / 3)
    weights[0] = 1000 / 7
    labels = np.arange(40) % 2 == 0
    problem = Problem.build(Table.build({"x": range(7, 47)}, labels, sample_weight=weights))
    counts = np.zeros(40, np.int64)
    counts[[0, 1]] = 39, 1
    small = resampled(problem, counts)
    assert small.objective.weights.sum() < 2**42
    total = small.objective.weights.sum() / small.objective.weight_scale
    assert total == pytest.approx(39 * 1000 / 7 + 1 / 3, rel=1e-9)


def test_rows_are_drawn_with_replacement_and_uniformly():
    counts = np.array([draw_counts(20, 5, index) for index in range(2000)])
    assert (counts.sum(axis=1) == 20).all()
    # mean and variance of a count of Binomial(20, 1/20)
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * math.sqrt(0.95 / 2000)
    assert counts.var() == pytest.approx(0.95, rel=0.05)


# -- the summary -----------------------------------------------------------------------------


def test_shares_are_those_of_the_rules():
    columns, labels = clinic(2)
    found = stability(columns, labels, n_bootstrap=40)
    rules = found.rules
    for name, share in found.features.items():
        assert share == sum(name in rule.features for rule in rules) / 40
    assert list(found.features.values()) == sorted(found.features.values(), reverse=True)
    for each in found.conditions:
        mine = [c for rule in rules for c in rule.conditions if RuleForm.of(c) == each.form]
        assert each.share == len(mine) / 40
        if each.form.op.is_threshold and mine:
            values = [c.value for c in mine]
            assert (each.low, each.median, each.high) == order_interval(values, 0.95)
    own = {RuleForm.of(c) for c in found.solution.rule.conditions}
    assert {each.form for each in found.conditions if each.in_rule} == own
    assert sum(share for _, _, share in found.forms) == pytest.approx(1)
    same = [s for forms, label, s in found.forms if (forms, label) == (own, True)]
    assert found.same_form == sum(same)
    assert found.same_rule <= found.same_form <= found.same_features
    assert found.same_class == sum(rule.label is True for rule in rules) / 40


def test_overlap_and_left_out_rows_are_counted_on_the_data():
    columns, labels = clinic(3)
    found = stability(columns, labels, n_bootstrap=15)
    own = found.solution.rule.covers(columns)
    covered = correct = 0
    for index, rule in enumerate(found.rules):
        fires = rule.covers(columns)
        assert found.overlap[index] == (own & fires).sum() / (own | fires).sum()
        unseen = fires & (draw_counts(80, 0, index) == 0)
        covered += unseen.sum()
        correct += (unseen & (labels == rule.label)).sum()
    assert (found.left_out_covered, found.left_out_correct) == (covered, correct)
    assert found.left_out_precision == correct / covered


def test_a_clear_cut_is_found_again_and_its_threshold_lies_in_the_gap():
    x = np.r_[np.linspace(0, 1, 60), np.linspace(2, 3, 60)]
    columns = {"x": x, "noise": np.sin(7 * x)}
    found = stability(columns, x > 1.5, n_bootstrap=60, max_depth=1, label=True)
    (condition,) = found.conditions
    assert condition.share == found.same_form == found.same_features == 1
    assert condition.low <= condition.threshold <= condition.high
    assert condition.low > 0.8
    assert condition.high < 2.2
    assert found.overlap.min() > 0.9
    assert found.left_out_precision > 0.95
    text = str(found)
    assert "same form      100%" in text
    assert "* 100%  x " in text


def test_dates_have_intervals_too():
    days = np.datetime64("2024-01-01") + np.arange(40)
    found = stability({"day": days}, np.arange(40) > 25, n_bootstrap=20, max_depth=1)
    condition = found.conditions[0]
    assert days[15] < condition.low <= condition.median <= condition.high < days[35]
    assert "2024-01-2" in str(found)


def test_levels_and_sets_are_part_of_the_form():
    assert RuleForm.of(Condition("smoker", "==", "yes")) != RuleForm.of(
        Condition("smoker", "==", "no")
    )
    assert RuleForm.of(Condition("age", ">=", 40)) == RuleForm.of(Condition("age", ">=", 41.5))
    assert RuleForm.of(Condition("age", ">=", 40)) != RuleForm.of(Condition("age", "<", 40))
    assert str(RuleForm("age", Op.GE)) == "age >= …"
    assert str(RuleForm.of(Condition("smoker", "in", ["b", "a"]))) == "smoker in {'a', 'b'}"
    assert str(RuleForm.of(Condition("age", "is missing"))) == "age is missing"


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95]))
def test_an_interval_leaves_out_no_more_than_its_tails(values, level):
    low, middle, high = order_interval(values, level)
    tail = (1 - level) / 2 * len(values)
    assert sum(v < low for v in values) <= tail
    assert sum(v > high for v in values) <= tail
    assert low <= middle <= high
    assert {low, middle, high} <= set(values)


def test_where_no_rule_gains_anything_that_is_counted_too():
    columns = {"x": [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]}
    labels = [0, 1] * 5
    found = stability(columns, labels, w=50, label=0, n_bootstrap=20)
    assert found.solution.rule is None
    assert None in found.rules
    none = sum(rule is None for rule in found.rules) / 20
    assert found.same_rule == found.same_form == none
    assert found.overlap.tolist() == [float(rule is None) for rule in found.rules]


# -- threads, limits, interruptions ----------------------------------------------------------


def test_the_number_of_threads_changes_nothing():
    columns, labels = clinic()
    one = stability(columns, labels, n_bootstrap=20, n_jobs=1)
    many = stability(columns, labels, n_bootstrap=20, n_jobs=3)
    assert one.rules == many.rules
    assert one.conditions == many.conditions


def test_a_time_limit_leaves_what_was_done():
    found = stability(*clinic(), n_bootstrap=10**6, time_limit=0.3)
    assert found.stopped_by is StopReason.TIME
    assert found.n_done < 10**6
    assert "(time limit)" in str(found)
    nothing = stability(*clinic(), time_limit=0)
    assert nothing.n_done == 0
    assert math.isnan(nothing.same_rule)
    assert math.isnan(nothing.left_out_precision)
    assert str(nothing)


def test_ctrl_c_and_cancelling_leave_what_was_done():
    def interrupt(progress):
        if progress.done >= 3:
            raise KeyboardInterrupt

    found = stability(*clinic(), n_bootstrap=10**5, progress=interrupt)
    assert found.stopped_by is StopReason.INTERRUPTED
    assert 3 <= found.n_done < 10**5
    cancel = threading.Event()
    cancel.set()
    assert stability(*clinic(), budget=Budget(cancel=cancel)).n_done == 0


def test_rules_that_are_not_proven_are_counted():
    found = stability(*clinic(), n_bootstrap=10, engine="bsccart")
    assert found.n_unproven == 10
    assert stability(*clinic(), n_bootstrap=10).n_unproven == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_bootstrap": 0}, "'n_bootstrap' must be an int >= 1"),
        ({"level": 95}, "'level' must be a number between 0 and 1"),
        ({"seed": "a"}, "'seed' must be an int >= 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        stability({"x": [1, 2, 3, 4]}, [0, 1, 0, 1], **arguments)


def test_a_table_may_be_given_as_it_is():
    columns, labels = clinic()
    table = Table.build(columns, labels)
    assert stability(table, n_bootstrap=5).rules == stability(columns, labels, n_bootstrap=5).rules
    with pytest.warns(OpdtWarning, match="constant"):
        stability({"x": [1, 2, 3, 4], "same": [1] * 4}, [0, 0, 1, 1], n_bootstrap=2)


def test_the_rule_of_the_data_may_be_short_of_conditions():
    found = stability({"x": [1, 2, 3, 4]}, [0, 0, 0, 1], w=1, n_bootstrap=10)
    assert found.solution.rule == Rule([], 0)
    assert not any(each.in_rule for each in found.conditions)
