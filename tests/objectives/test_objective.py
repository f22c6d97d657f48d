"""The noun: data that can be written, compared and refused; and how it is resolved."""

from __future__ import annotations

import numpy as np
import pytest

from opdt import VI, InputError, Mean, Money, Problem, UnsupportedProblem, discover, top_rules
from opdt.objectives import Account, read_objective, words_of
from opdt.objectives.evidence import Spread, log_chance_of_classes

X = {"age": [25, 31, 47, 52, 60, 64], "sum": [10, 20, 30, 40, 50, 60]}
Y = ["well", "well", "ill", "well", "ill", "ill"]
DAYS = [2, 3, 5, 4, 9, 12]


@pytest.mark.parametrize(
    "objective",
    [VI(w=4), Money(benefit="sum", cost=4, unit="EUR"), Mean(threshold=2.5, direction="low")],
)
def test_an_objective_comes_back_from_plain_data(objective):
    assert read_objective(objective.to_dict()) == objective
    y, label = (DAYS, None) if isinstance(objective, Mean) else (Y, "ill")
    found = [discover(X, y, label=label, objective=o) for o in (objective, objective.to_dict())]
    assert found[0].value == found[1].value


def test_values_row_by_row_are_not_written():
    written = Money(benefit=[1, 2, 3], cost=1).to_dict()
    assert written["benefit"] == {"rows": 3}
    with pytest.raises(InputError, match="'benefit' of objective 'money' was given row by row"):
        read_objective(written)


def test_equal_objectives_are_equal_and_others_are_not():
    assert Money(benefit=np.array([1.0, 2.0]), cost=1) == Money(benefit=[1, 2], cost=1)
    assert Money(benefit="a", cost=1) != Money(benefit="b", cost=1)
    assert Mean() != Mean(direction="low")
    assert VI(w=5) != Mean()
    assert hash(VI(w=5)) == hash(VI(w=5))
    assert repr(Mean(threshold=3)) == "Mean(threshold=3)"
    assert repr(Money(benefit=[1, 2], cost=3)) == "Money(benefit=<2 values>, cost=3)"


def test_vi_is_the_objective_that_was_always_there():
    assert discover(X, Y, objective=VI(w=3)).objective == "vi"
    assert discover(X, Y, objective=VI(w=3)).value == discover(X, Y, w=3).value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"objective": VI(w=3), "w": 4}, "'w' is given twice"),
        ({"objective": Mean(), "w": 4}, "'w' is the price of an error for the VI"),
        ({"objective": Mean}, "got the class; write Mean"),
        ({"objective": "money"}, "needs arguments of its own; give opdt.Money"),
        ({"objective": {"objective": "gold"}}, "must be one of 'vi', 'money', 'mean'"),
        ({"objective": {"objective": "vi", "price": 3}}, "'vi' has no argument 'price'"),
        ({"objective": Mean(), "label": "ill"}, "whose rules are for 'high'"),
        ({"objective": Mean(), "min_coverage": 0}, "must be above 0 to ask for the rule of the"),
        ({"objective": Mean(threshold=3), "min_precision": 0.5}, "has no classes; drop it"),
        ({"objective": Mean(threshold=3), "constraints": {"max_errors": 2}}, "'max_errors' counts"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_sentence(given, said):
    with pytest.raises(InputError, match=said):
        discover(X, DAYS, **given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: VI(w=0.5), "'w' must be a finite number >= 1"),
        (lambda: Money(benefit=None), "'benefit' must be a number, the name of a column"),
        (lambda: Money(benefit=float("nan")), "'benefit' must be a number"),
        (lambda: Money(cost=-4), "'cost' must not be negative, got -4"),
        (lambda: Money(cost=True), "'cost' must be a number"),
        (lambda: Money(unit=3), "'unit' must be text"),
        (lambda: Mean(threshold="high"), "'threshold' must be a finite number or None"),
        (lambda: Mean(threshold=float("inf")), "'threshold' must be a finite number or None"),
        (lambda: Mean(direction="up"), "'direction' must be 'high' or 'low'"),
    ],
)
def test_arguments_are_checked_before_there_are_rows(make, said):
    with pytest.raises(InputError, match=said):
        make()


@pytest.mark.parametrize(
    ("money", "said"),
    [
        (Money(benefit="amount", cost=1), "there is no column 'amount' in X"),
        (Money(benefit=[1, 2], cost=1), "'benefit' has 2 values, but X has 6 rows"),
        (Money(benefit=[], cost=1), "'benefit' has 0 values"),
        (Money(benefit=[1, 2, None, 4, 5, 6], cost=1), "'benefit' is missing in 1 row"),
        (Money(benefit=[1, 2, np.inf, 4, 5, 6], cost=1), "'benefit' is not finite in 1 row"),
        (Money(benefit=list("abcdef"), cost=1), "'benefit' holds no number but 'a'"),
        (Money(benefit=1, cost=[1, 2, -3, 4, 5, 6]), "'cost' is negative in 1 row"),
    ],
)
def test_amounts_that_cannot_be_used_are_refused_in_one_sentence(money, said):
    with pytest.raises(InputError, match=said):
        discover(X, Y, label="ill", objective=money)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (Y, "'y' holds no number but 'well' or the like"),
        ([2, 3, None, 4, 9, 12], "'y' is missing in 1 row"),
        ([2, 3], "'y' has 2 values, but X has 6 rows"),
        (None, "'y' must be the numbers of the rows"),
        ("days", "there is no column 'days' in X"),
    ],
)
def test_a_target_of_no_numbers_is_refused_in_one_sentence(y, said):
    with pytest.raises(InputError, match=said):
        discover(X, y, objective=Mean())


def test_money_needs_to_know_the_class():
    with pytest.raises(InputError, match="'label' must say which class brings the benefit"):
        discover(X, Y, objective=Money(benefit=1, cost=1))


def test_columns_that_an_objective_names_are_no_features():
    problem = Problem.of(X, Y, label="ill", objective=Money(benefit="sum", cost=1))
    assert problem.table.names == ("age",)
    both = Problem.of(X, Y, label="ill", objective=Money(benefit=X["sum"], cost=1))
    assert both.table.names == ("age", "sum")
    assert Problem.of({**X, "days": DAYS}, "days", objective=Mean()).table.names == ("age", "sum")


def test_partitions_and_ratios_are_refused_where_they_cannot_be(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,days\n1,2\n3,4\n")
    with pytest.raises(UnsupportedProblem, match="needs the whole table in memory"):
        discover([str(path)], "days", objective=Mean())
    with pytest.raises(InputError, match="give it a threshold"):
        top_rules(X, DAYS, objective=Mean())


def test_a_solution_speaks_the_words_and_units_of_its_objective():
    text = str(discover(X, DAYS, max_depth=1, objective=Mean(threshold=5, unit="days")))
    assert "sum of (y - 5) 11 days, bound 11 days: proven optimal" in text
    assert "it has a mean of 10.5 days in 2 covered rows, 3.5 days in the other 4" in text
    money = Money(benefit="sum", cost=4, unit="EUR")
    solution = discover(X, Y, label="ill", max_depth=1, objective=money)
    assert isinstance(solution.account, Account)
    said = "brings 136 EUR: 140 EUR from 3 rows of ill, less 4 EUR for 1 other"
    assert str(solution.account) == said
    assert words_of(money).show(12340.0) == "12,340 EUR"


def test_no_distribution_gives_a_mean_more_often_than_its_bound_says():
    rng = np.random.default_rng(0)
    for values in (rng.exponential(1, 60), rng.integers(0, 2, 60) * 1.0, rng.normal(0, 1, 1500)):
        spread, n_drawn = Spread(values), 12
        means = np.array([rng.permutation(values)[:n_drawn].mean() for _ in range(4000)])
        for level in (0.5, 0.1, 0.01):
            edge = float(np.quantile(means, 1 - level))
            share = float((means >= edge).mean())
            assert np.log(share) <= spread.log_chance(n_drawn, edge) + 3 / np.sqrt(4000 * share)


def test_rules_in_noise_are_not_called_supported():
    rng = np.random.default_rng(1)
    supported = 0
    for _ in range(40):
        table = {name: rng.normal(size=60) for name in "abc"}
        found = discover(table, rng.normal(size=60), max_depth=1, objective=Mean(threshold=0))
        supported += found.verdict is not None and found.verdict.level == "supported"
    assert supported <= 5  # 2 are to be expected at most


def test_amounts_that_rules_may_use_are_no_evidence_about_classes():
    rng = np.random.default_rng(2)
    supported = 0
    for _ in range(40):
        amount = rng.exponential(100, 80).round(2)
        table = {"amount": amount, "age": rng.integers(18, 80, 80)}
        fraud = np.where(rng.random(80) < 0.3, "yes", "no")
        money = Money(benefit=amount, cost=30)
        found = discover(table, fraud, label="yes", max_depth=1, objective=money)
        supported += found.verdict is not None and found.verdict.level == "supported"
    assert supported <= 5  # 2 are to be expected at most


def test_classes_dealt_out_are_worth_no_more_than_the_bound_says():
    rng = np.random.default_rng(3)
    extra, right = rng.exponential(1, 40), np.arange(200) < 60
    sums = np.array([extra[rng.permutation(right)[:40]].sum() for _ in range(4000)])
    for level in (0.5, 0.1, 0.01):
        edge = float(np.quantile(sums, 1 - level))
        share = float((sums >= edge).mean())
        bound = log_chance_of_classes(extra, 0.3, edge)
        assert np.log(share) <= bound + 3 / np.sqrt(4000 * share)
        assert bound < 0 or level == 0.5
