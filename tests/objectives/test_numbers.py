"""What else is asked about objectives: tests, bootstraps, held-out rows, paths, estimators."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import enumeration as plain
from opdt import (
    InputError,
    Mean,
    Money,
    OPDTClassifier,
    OPDTRegressor,
    claim,
    discover,
    holdout_report,
    permutation_test,
    stability,
    top_rules,
    worth_path,
)
from opdt.objectives.estimate import welch_p_value
from opdt.report import report


@pytest.fixture(scope="module")
def stays():
    rng = np.random.default_rng(3)
    n_rows = 300
    age, ward = rng.integers(18, 90, n_rows), rng.choice(["A", "B"], n_rows)
    days = np.round(3 + 4 * (age >= 60) * (ward == "B") + rng.exponential(1, n_rows), 1)
    return {"age": age, "ward": ward}, days


MONEY = Money(benefit="amount", cost=2, unit="EUR")


@pytest.fixture(scope="module")
def frauds(stays):
    X, days = stays
    rng = np.random.default_rng(4)
    fraud = np.where(rng.random(300) < 0.05 + 0.6 * (days > 7), "yes", "no")
    return {**X, "amount": np.round(rng.exponential(20, 300), 2)}, fraud


def test_permuting_what_rows_are_worth_tells_a_pattern_from_noise(stays, frauds):
    found = permutation_test(*stays, objective=Mean(), n_permutations=19)
    assert (found.p_value, found.hits) == (0.05, 0)
    assert "what rows are worth is shuffled" in str(found.verdict)
    noise = np.random.default_rng(5).permutation(stays[1])
    assert permutation_test(stays[0], noise, objective=Mean(), n_permutations=19).p_value > 0.05
    money = permutation_test(*frauds, label="yes", objective=MONEY, n_permutations=19)
    assert money.hits == 0
    assert money.solution.objective == MONEY
    with pytest.raises(InputError, match="'keep_values' cannot be given beside"):
        permutation_test(*stays, objective=Mean(), n_permutations=19, keep_values=True)
    with pytest.raises(InputError, match="all rows are worth the same"):
        permutation_test(stays[0], np.ones(300), objective=Mean(threshold=0), n_permutations=19)


def test_bootstraps_search_for_the_same_objective(stays):
    found = stability(*stays, objective=Mean(unit="days"), min_coverage=0.1, n_bootstrap=10)
    assert found.features["age"] == 1
    assert found.left_out_worth == pytest.approx(8, abs=0.5)
    assert "left-out rows  a mean of" in str(found)


def test_held_out_rows_give_an_interval(stays):
    X, days = stays
    half = np.arange(300) < 150
    train = {name: cells[half] for name, cells in X.items()}
    new = {name: cells[~half] for name, cells in X.items()}
    solution = discover(train, days[half], objective=Mean(unit="days"), min_coverage=0.1)
    held = holdout_report(solution.rule, new, days[~half], objective=solution.objective)
    fires = solution.rule.covers(new)
    assert held.inside == pytest.approx(days[~half][fires].mean())
    assert held.interval[0] < held.inside < held.interval[1]
    assert held.p_value < 1e-6
    verdict = claim(solution, holdout=held).verdict
    assert verdict.level == "supported"
    assert "days per covered row" in verdict.reason
    low = holdout_report(solution.rule, new, days[~half], objective=Mean(direction="low"))
    assert low.p_value > 0.99
    assert low.advantage < 0


def test_the_best_rules_come_in_the_order_of_their_sum(stays):
    found = top_rules(*stays, objective=Mean(threshold=6), limit=4)
    values = [each.value for each in found]
    assert values == sorted(values, reverse=True)
    assert found[0].value == discover(*stays, objective=Mean(threshold=6)).value
    assert "precision" not in found.columns()
    assert "sum of (y - 6)" in str(found)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_path_has_the_best_rule_of_every_threshold(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(3, 12))
    columns = {"f0": rng.integers(0, 5, n_rows).tolist(), "f1": rng.integers(0, 3, n_rows).tolist()}
    columns = {name: cells for name, cells in columns.items() if len(set(cells)) > 1}
    if not columns:
        return
    y = rng.integers(-5, 9, n_rows).tolist()
    direction = str(rng.choice(["high", "low"]))
    sign = 1 if direction == "high" else -1
    roles = dict.fromkeys(columns, "numeric")
    path = worth_path(columns, y, max_depth=2, objective=Mean(direction=direction), roles=roles)
    assert path.complete
    for edge in rng.uniform(min(y), max(y), 5).round(3):
        if min(y) == max(y):
            break
        gains = [sign * (Fraction(value) - Fraction(str(edge))) for value in y]
        best = plain.largest_sum(columns, gains, 2)
        (segment,) = [each for each in path if each.low <= edge < each.high]
        fires = np.zeros(n_rows, bool) if segment.rule is None else segment.rule.covers(columns)
        assert sum(gain for gain, fire in zip(gains, fires, strict=True) if fire) == best


def test_a_path_of_costs_holds_the_rule_at_the_stated_cost(frauds):
    path = worth_path(*frauds, label="yes", max_depth=1, objective=MONEY)
    (here,) = [each for each in path if each.low <= 1 < each.high]
    solution = discover(*frauds, label="yes", max_depth=1, objective=MONEY)
    assert here.rule == solution.rule
    assert here.numbers["net benefit"] == solution.value
    assert path.name == "price of cost"
    assert [each.low for each in path][1:] == [each.high for each in path][:-1]
    with pytest.raises(InputError, match="weight_path is for the VI"):
        worth_path(*frauds, label="yes")


def test_the_report_speaks_the_words_of_the_objective(stays, frauds):
    pytest.importorskip("jinja2")
    solution = discover(*stays, objective=Mean(unit="days"), min_coverage=0.1)
    page = report(solution, *stays, *stays, settings={"min_coverage": 0.1}).html()
    assert "has a mean of" in page
    assert "Rows of each class" not in page
    solution = discover(*frauds, label="yes", objective=MONEY)
    page = report(solution, *frauds, *frauds).html()
    assert "Net benefit" in page
    assert "rows of yes, less" in page


@parametrize_with_checks([OPDTRegressor()])
def test_the_regressor_is_one_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_regressor_predicts_the_means_of_both_parts(stays):
    X, days = stays
    model = OPDTRegressor(min_coverage=0.1).fit(X, days)
    fires = model.covers(X)
    assert model.inside_ == pytest.approx(days[fires].mean())
    assert set(model.predict(X)) == {model.inside_, model.outside_}
    low = OPDTRegressor(direction="low", threshold=4.0).fit(X, days)
    assert low.inside_ < low.outside_
    assert low.rule_.label == "low"


def test_shares_of_classes_are_those_of_the_training_rows(stays):
    X, days = stays
    model = OPDTClassifier(w=3).fit(X, days > 6)
    fires, shares = model.covers(X), model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(np.ones(300))
    for part in (fires, ~fires):
        assert shares[part][0, 1] == pytest.approx((days > 6)[part].mean())
    with pytest.raises(InputError, match="use OPDTRegressor"):
        OPDTClassifier(objective=Mean()).fit(X, days)


def test_the_test_of_held_out_rows_is_welchs():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(7)
    one, other = rng.normal(1, 1, 12), rng.normal(0, 3, 30)
    expected = ttest_ind(one, other, equal_var=False, alternative="greater").pvalue
    assert welch_p_value(one, other) == pytest.approx(expected)
    assert welch_p_value(one[:1], other) == 1
    assert welch_p_value(np.ones(5), np.zeros(5)) == 1
    assert welch_p_value(one, np.zeros(5)) < 0.05
