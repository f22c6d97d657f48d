"""Whom to treat: against an enumeration of all rules, in words, and refused where it cannot be."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import StratifiedKFold

import enumeration as plain
from opdt import (
    Budget,
    InputError,
    OpdtWarning,
    Problem,
    Uplift,
    discover,
    holdout_report,
    permutation_test,
    stability,
    top_rules,
    worth_path,
)
from opdt.objectives import read_objective

CONSTANT = {"outcome_learner": DummyRegressor(), "propensity_learner": DummyClassifier()}


def by_hand(
    treated: np.ndarray, outcome: np.ndarray, chance: np.ndarray | None, folds: int
) -> list[Fraction]:
    """Scores where the models are the means of each arm and the share of the treated, exactly."""
    out = [Fraction(0)] * len(outcome)
    split = StratifiedKFold(folds, shuffle=True, random_state=0).split(treated, treated)
    for fitted, scored in split:
        given = [row for row in fitted if treated[row]]
        not_given = [row for row in fitted if not treated[row]]
        high, low = (
            sum(Fraction(float(outcome[row])) for row in rows) / len(rows)
            for rows in (given, not_given)
        )
        for row in scored:
            share = Fraction(len(given), len(fitted)) if chance is None else Fraction(chance[row])
            value = Fraction(float(outcome[row]))
            if treated[row]:
                out[row] = high - low + (value - high) / share
            else:
                out[row] = high - low - (value - low) / (1 - share)
    return out


def usable(columns: plain.Columns) -> plain.Columns:
    return {
        name: cells
        for name, cells in columns.items()
        if len({cell for cell in cells if cell is not None}) > 1
    }


def against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = usable(plain.small_table(rng))
    n_rows = len(next(iter(columns.values()))) if columns else 0
    if n_rows < 5:
        return
    treated = np.arange(n_rows) % 2 == 0
    rng.shuffle(treated)
    outcome = np.array(plain.amounts(rng, n_rows))
    chance = rng.choice([0.25, 0.5, 0.125], n_rows) if rng.random() < 0.5 else None
    cost = float(rng.integers(0, 5))
    direction = str(rng.choice(["high", "low"]))
    depth = int(rng.integers(1, 3))
    kinds = {
        name: "categorical" if any(isinstance(c, str) for c in cells) else "numeric"
        for name, cells in columns.items()
    }
    found = discover(
        columns, max_depth=depth, roles=kinds, engine=str(rng.choice(["search", "exhaustive"])),
        objective=Uplift(
            treatment=treated, outcome=outcome, propensity=chance, cost=cost, folds=2,
            direction=direction, **CONSTANT,
        ),
    )  # fmt: skip
    sign = 1 if direction == "high" else -1
    scores = by_hand(treated, outcome, chance, 2)
    best = plain.largest_sum(columns, [sign * s - Fraction(cost) for s in scores], depth)
    assert found.value == found.bound
    assert found.value == pytest.approx(float(best), abs=1e-9)
    if found.rule is not None:
        fires = found.rule.covers(columns)
        effect = np.mean([float(s) for s, fire in zip(scores, fires, strict=True) if fire])
        assert found.account is not None
        assert found.account.numbers["effect inside"] == pytest.approx(effect)
        assert found.account.numbers["treated inside"] == (treated & fires).sum()


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_the_best_of_all_rules(seed: int) -> None:
    against_enumeration(seed)


@pytest.mark.slow
@settings(max_examples=3000)
@given(st.integers(0, 2**32 - 1))
def test_the_best_of_all_rules_thousands_of_times(seed: int) -> None:
    against_enumeration(seed)


def clinic(n: int = 400) -> dict[str, Any]:
    """A drug that helps from 50 years on and harms before, given by the toss of a coin."""
    rng = np.random.default_rng(12)
    age, drug = rng.integers(20, 80, n), rng.integers(0, 2, n)
    gain = np.where(age >= 50, 3.0, -1.0) * drug + rng.normal(size=n)
    return {"age": age, "weight": rng.normal(70, 10, n), "drug": drug, "gain": gain}


TRIAL = Uplift(
    treatment="drug", outcome="gain", propensity=0.5, unit="points", folds=2,
    outcome_learner=DummyRegressor(),
)  # fmt: skip


def test_the_solution_speaks_of_effects() -> None:
    solution = discover(clinic(), objective=TRIAL, max_depth=1)
    assert solution.rule is not None
    assert solution.rule.label == "treat"
    assert solution.rule.features == ("age",)
    text = str(solution)
    assert "points: proven optimal" in text
    assert "it covers " in text
    assert " inside (95% interval " in text
    assert "by the scores that it was chosen by, which flatter it" in text


def test_treatment_and_outcome_are_no_features() -> None:
    problem = Problem.of(clinic(), objective=TRIAL)
    assert problem.table.names == ("age", "weight")
    with_column = {**clinic(), "chance": np.full(400, 0.5), "price": np.ones(400)}
    named = Uplift(
        treatment="drug", outcome="gain", propensity="chance", cost="price",
        outcome_learner=DummyRegressor(),
    )  # fmt: skip
    assert Problem.of(with_column, objective=named).table.names == ("age", "weight")


def test_a_cost_and_its_column_are_the_same() -> None:
    given = {"treatment": "drug", "outcome": "gain", "propensity": 0.5, "folds": 2,
             "outcome_learner": DummyRegressor()}  # fmt: skip
    data = {**clinic(), "price": np.full(400, 1.5)}
    by_column = discover(data, objective=Uplift(cost="price", **given), max_depth=1)
    by_number = discover(clinic(), objective=Uplift(cost=1.5, **given), max_depth=1)
    free = discover(clinic(), objective=Uplift(**given), max_depth=1)
    assert by_column.value == by_number.value
    assert by_number.value < free.value - 1.4 * by_number.covered


def test_low_is_the_opposite_of_high() -> None:
    data = clinic()
    high = discover(data, objective=TRIAL, max_depth=1)
    turned = {**data, "gain": -data["gain"]}
    low = Uplift(treatment="drug", outcome="gain", propensity=0.5, folds=2, direction="low",
                 outcome_learner=DummyRegressor())  # fmt: skip
    found = discover(turned, objective=low, max_depth=1)
    assert str(found.rule) == str(high.rule)
    assert found.value == pytest.approx(high.value)
    assert found.account is not None
    assert found.account.numbers["effect inside"] < 0


def test_two_arms_of_any_name() -> None:
    data = clinic()
    data["drug"] = ["verum" if given else "placebo" for given in data["drug"]]
    named = Uplift(treatment="drug", treated="verum", outcome="gain", propensity=0.5, folds=2,
                   outcome_learner=DummyRegressor())  # fmt: skip
    assert str(discover(data, objective=named, max_depth=1).rule) == str(
        discover(clinic(), objective=TRIAL, max_depth=1).rule
    )


def test_held_out_rows_are_estimated_honestly() -> None:
    data = clinic(800)
    rule = discover({k: v[:400] for k, v in data.items()}, objective=TRIAL, max_depth=1).rule
    assert rule is not None
    other = {k: v[400:] for k, v in data.items()}
    estimate = holdout_report(rule, other, objective=TRIAL)
    gains = Problem.of(other, objective=TRIAL).objective
    assert estimate.interval[0] < estimate.inside < estimate.interval[1]
    assert abs(estimate.inside - 3) < 0.5
    assert abs(estimate.outside + 1) < 0.5
    assert estimate.p_value < 1e-6
    assert "held-out rows" in str(estimate)
    nothing = TRIAL.estimate(gains, np.zeros(400, bool))  # type: ignore[arg-type]
    assert str(nothing) == "covers none of the 400 held-out rows"
    treated_only = TRIAL.estimate(gains, other["drug"] == 1)  # type: ignore[arg-type]
    assert "none of these rows is untreated" in str(treated_only)
    assert np.isnan(treated_only.interval[0])


def test_one_arm_inside_is_said() -> None:
    gains = Problem.of(clinic(), objective=TRIAL).objective
    treated = clinic()["drug"] == 1
    assert "none of these rows is untreated" in str(gains.account(treated, 0))
    assert "none of these rows is treated" in str(gains.account(~treated, 0))
    assert "none of these rows" not in str(gains.account(treated | True, 0))


def test_what_is_asked_of_many_searches() -> None:
    data = clinic(150)
    test = permutation_test(data, objective=TRIAL, max_depth=1, n_permutations=39)
    assert test.p_value == pytest.approx(1 / 40)
    best = top_rules(data, objective=TRIAL, max_depth=1, limit=3)
    assert len(best) == 3
    found = stability(data, objective=TRIAL, max_depth=1, n_bootstrap=5)
    assert found.features["age"] > 0.5


def test_a_time_limit_counts_the_models() -> None:
    solution = discover(clinic(), objective=TRIAL, time_limit=0)
    assert solution.rule is None
    assert solution.bound == float("inf")
    assert solution.stopped_by == "time limit"
    stop = threading.Event()

    class Last(DummyRegressor):  # sets the event while the first model is fitted
        def fit(self, X: Any, y: Any) -> Any:
            stop.set()
            return super().fit(X, y)

    asked = Uplift(treatment="drug", outcome="gain", propensity=0.5, outcome_learner=Last())
    ended = discover(clinic(), objective=asked, budget=Budget(cancel=stop))
    assert ended.rule is None
    assert ended.stopped_by == "cancelled"


def test_poor_overlap_is_a_warning() -> None:
    data = clinic()
    chance = np.where(data["age"] >= 70, 0.01, 0.5)
    with pytest.warns(OpdtWarning, match="propensity below 5% or above 95%"):
        Problem.of(data, objective=Uplift(treatment="drug", outcome="gain", propensity=chance,
                                          outcome_learner=DummyRegressor()))  # fmt: skip


def test_it_survives_json() -> None:
    data = TRIAL.to_dict()
    assert data["treatment"] == "drug"
    plain_one = Uplift(treatment="drug", outcome="gain", cost=2, direction="low")
    assert read_objective(plain_one.to_dict()) == plain_one


def refuse(words: str, data: dict[str, Any] | None = None, **changes: Any) -> None:
    asked: dict[str, Any] = {"treatment": "drug", "outcome": "gain", **CONSTANT, **changes}
    with pytest.raises(InputError, match=words):
        discover(clinic() if data is None else data, objective=Uplift(**asked), max_depth=1)


def test_bad_arms_are_refused() -> None:
    data = clinic()
    refuse(
        r"'treatment' \(column 'drug'\) has one arm only, 1;", {**data, "drug": np.ones(400, int)}
    )
    three = {**data, "drug": np.arange(400) % 3}
    refuse(r"'treatment' \(column 'drug'\) has 3 arms \(0, 1, 2\)", three)
    words = {**data, "drug": np.where(data["drug"] == 1, "yes", "no").tolist()}
    refuse(r"has the arms 'no', 'yes'; say by 'treated'", words)
    refuse(r"'treated' must be one of 'no', 'yes', got 'maybe'", words, treated="maybe")
    gone = {**data, "drug": [None, *data["drug"][1:].tolist()]}
    refuse(r"'treatment' \(column 'drug'\) is missing in 1 row", gone)
    few = {**data, "drug": (np.arange(400) < 3).astype(int)}
    refuse("only 3 rows are treated; scores need at least 5 rows in each arm", few)
    refuse("no column named 'pill'|'pill'", treatment="pill")


def test_bad_outcomes_are_refused() -> None:
    data = clinic()
    gone = data["gain"].copy()
    gone[7] = np.nan
    refuse(
        r"'outcome' \(column 'gain'\) is missing in 1 row \(first at row 7\)",
        {**data, "gain": gone},
    )
    refuse("'outcome' has 3 values, but X has 400 rows", outcome=[1.0, 2.0, 3.0])
    refuse("'cost' .* is missing", {**data, "price": gone}, cost="price")


@pytest.mark.parametrize("chance", [0, 1, -0.5, 1.5])
def test_impossible_propensities_are_refused(chance: float) -> None:
    refuse(f"'propensity' must be between 0 and 1, got {chance}", propensity=chance)
    each = np.full(400, 0.5)
    each[3] = chance
    refuse("'propensity' is not between 0 and 1 .* in 1 row .first at row 3", propensity=each)


def test_bad_arguments_are_refused() -> None:
    refuse("'direction' must be 'high' or 'low', got 'up'", direction="up")
    refuse("'folds' must be an int >= 2, got 1", folds=1)
    refuse("'seed' must be an int >= 0", seed=-1)
    refuse("'unit' must be text", unit=3)
    refuse("'outcome_learner' must be a scikit-learn estimator", outcome_learner="trees")
    with pytest.raises(InputError, match="'sample_weight' cannot be given beside Uplift"):
        discover(clinic(), objective=TRIAL, sample_weight=np.ones(400))
    with pytest.raises(InputError, match="'min_precision'"):
        discover(clinic(), objective=TRIAL, min_precision=0.5)


def test_the_path_has_the_best_rule_of_every_cost() -> None:
    given = {"treatment": "drug", "outcome": "gain", "propensity": 0.5, "folds": 2,
             "outcome_learner": DummyRegressor()}  # fmt: skip
    data = clinic(120)
    path = worth_path(data, objective=Uplift(**given), max_depth=1)
    assert path.complete
    assert path.name == "further cost"
    effects = [each.numbers["effect inside"] for each in path if each.rule is not None]
    assert effects == sorted(effects)
    for cost in (0, 0.5, 1.75, 4):
        best = discover(data, objective=Uplift(cost=cost, **given), max_depth=1).value
        (here,) = [each for each in path if each.low <= cost < each.high]
        worth = here.covered * (here.numbers.get("effect inside", 0) - cost)
        assert worth == pytest.approx(best, abs=1e-6)
