from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from opdt import InputError, OpdtWarning, Status, Structure
from opdt.analysis.covering import Ending, sequential_covering
from opdt.estimators import OPDTClassifier, OPDTRuleList
from opdt.estimators.inputs import take_rows

PATIENTS = {
    "age": [25, 31, 47, 52, 60, 38, 44, 29],
    "smoker": ["no", "no", "yes", "no", "yes", None, "yes", "yes"],
    "dose": [1.5, None, 0.5, 2.0, 1.0, 1.0, 2.5, 0.5],
}
STATE = ["well", "well", "ill", "frail", "ill", "well", "ill", "well"]

PAPER = {"w": 10, "class_weight": None}  # of which the outcome is known

FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas categories": lambda data: pd.DataFrame(data).astype({"smoker": "category"}),
    "polars": lambda data: pl.DataFrame(data),
    "arrow": lambda data: pa.table(data),
}


class NumbersOnly(OPDTRuleList):
    """The same, but scikit-learn does not round the tables of its checks to categories."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@parametrize_with_checks([OPDTRuleList(), NumbersOnly()])
def test_every_check_of_scikit_learn_passes(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # some of its tables have constant columns
        check(estimator)


def test_feature_names_are_checked_as_scikit_learn_checks_its_own_estimators():
    check_dataframe_column_names_consistency("OPDTRuleList", OPDTRuleList())


def test_the_constructor_only_stores_and_clone_keeps_every_parameter():
    structure = Structure.levels("cat", "num")
    model = OPDTRuleList(3, 2.5, max_rules=7, alpha=0.1, structure=structure, random_state=5)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params() == {
        "max_depth": 3,
        "w": 2.5,
        "max_rules": 7,
        "alpha": 0.1,
        "n_permutations": 999,
        "structure": structure,
        "groups": None,
        "label": None,
        "class_weight": "balanced",
        "constraints": None,
        "roles": None,
        "missing": None,
        "engine": "search",
        "time_limit": None,
        "n_jobs": None,
        "random_state": 5,
    }


@pytest.mark.parametrize("library", FRAMES)
def test_frames_with_text_and_missing_values_are_read_by_column(library):
    X = FRAMES[library](PATIENTS)
    model = OPDTRuleList(**PAPER).fit(X, STATE)
    assert [str(rule) for rule in model.rule_list_.rules] == [
        # Four rows of class "well": 38 < threshold <= 44, readable as 40.
        "IF age < 40 THEN well",
        # Of the four rows left, three are ill, and those are the ones who smoke.
        "IF smoker == 'yes' THEN ill",
    ]
    assert model.rule_list_.default == "frail"
    assert model.covering_.ended_by is Ending.ONE_CLASS
    assert model.fires(X).tolist() == [0, 0, 1, -1, 1, 0, 1, 0]
    assert model.predict(X).tolist() == STATE
    assert model.classes_.tolist() == ["frail", "ill", "well"]
    assert model.predict_proba(X)[[0, 2, 3]].tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert model.feature_names_in_.tolist() == ["age", "smoker", "dose"]


@pytest.mark.parametrize("library", FRAMES)
def test_only_the_columns_of_the_rules_are_needed_in_a_frame(library):
    model = OPDTRuleList(**PAPER).fit(FRAMES[library](PATIENTS), STATE)
    fewer = pd.DataFrame({"smoker": ["no", "yes", None], "age": [39.9, 40, 41]})
    assert model.predict(fewer).tolist() == ["well", "ill", "frail"]
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- age"):
        model.predict(fewer[["smoker"]])


def test_every_step_has_its_numbers():
    model = OPDTRuleList(**PAPER).fit(pd.DataFrame(PATIENTS), STATE)
    first, second = model.steps_
    assert (first.solution.value, first.solution.bound, first.n_rows) == (4, 4, 8)
    assert (second.solution.value, second.solution.bound, second.n_rows) == (3, 3, 4)
    for step in model.steps_:
        assert step.solution.status is Status.OPTIMAL
        assert (step.solution.errors, step.p_value) == (0, None)
    assert second.counts.tolist() == [0, 3, 0]
    assert second.solution.covered == 3


def test_shares_are_training_frequencies():
    # Of three rows below 3.5, one is of the other class: VI = 3 - 1.5 at w = 1.5.
    X, y = [[1], [2], [3], [4], [5]], ["a", "b", "a", "b", "b"]
    model = OPDTRuleList(1, 1.5, max_rules=1, label="a", class_weight=None).fit(X, y)
    assert str(model.rule_list_) == "IF x0 < 3.5 THEN a\nELSE b"
    assert model.predict_proba([[0], [9]]) == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))


def test_the_first_rule_is_that_of_the_classifier_of_one_rule():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 4)).round(1), rng.integers(0, 3, 80)
    model = OPDTRuleList(w=3, max_rules=2, class_weight=None).fit(X, y)
    single = OPDTClassifier(w=3).fit(X, y)
    assert model.rule_list_.rules[0] == single.rule_
    left = model.fires(X) != 0
    assert model.rule_list_.rules[1] == OPDTClassifier(w=3).fit(X[left], y[left]).rule_


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_predictions_are_those_of_the_rule_list(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 5, n)),
            "c": rng.choice(["a", "b", "c", None], n),
            "z": rng.normal(size=n).round(1),
        }
    )
    y = rng.choice(["p", "q", "r"], n)
    y[:3] = ["p", "q", "r"]
    weights = rng.integers(0, 3, n).astype(float)
    weights[:3] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)
        model = OPDTRuleList(w=float(rng.choice([1.5, 3, 10])), class_weight=None).fit(
            X, y, sample_weight=weights
        )
    assert model.predict(X).tolist() == model.rule_list_.predict(X).tolist()
    assert model.fires(X).tolist() == model.rule_list_.fires(X).tolist()
    shares = model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1)
    fires = model.fires(X)
    for rule in set(fires.tolist()):
        here = (fires == rule) & (weights > 0)
        if here.any():
            counts = [weights[here & (y == label)].sum() for label in model.classes_]
            assert shares[fires == rule][0] == pytest.approx(np.array(counts) / sum(counts))


def test_rows_of_weight_zero_count_as_if_they_were_not_there():
    X, weights = pd.DataFrame(PATIENTS), np.array([1, 1, 0, 1, 2, 1, 1, 1.0])
    model = OPDTRuleList(**PAPER).fit(X, STATE, sample_weight=weights)
    keep = weights > 0
    less = OPDTRuleList(**PAPER).fit(
        take_rows(X, keep), np.array(STATE)[keep], sample_weight=weights[keep]
    )
    assert model.rule_list_ == less.rule_list_


def test_arrays_go_by_position():
    X = pd.DataFrame({"x1": [1, 2, 3, 4], "x0": [0, 1, 0, 1]})
    model = OPDTRuleList(1, **PAPER).fit(X, [0, 0, 1, 1])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert model.predict(X.to_numpy()).tolist() == [0, 0, 1, 1]


def test_it_works_in_pipelines_grids_and_cross_validation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0)
    pipeline = make_pipeline(StandardScaler(), OPDTRuleList())
    grid = GridSearchCV(pipeline, {"opdtrulelist__w": [2, 10], "opdtrulelist__max_rules": [1, 4]})
    assert grid.fit(X, y).best_params_["opdtrulelist__max_rules"] == 4
    assert cross_val_score(OPDTRuleList(w=3), X, y, cv=3, scoring="roc_auc_ovr").min() > 0.6


def test_a_fitted_list_can_be_saved_and_loaded(tmp_path):
    model = OPDTRuleList(**PAPER).fit(pd.DataFrame(PATIENTS), STATE)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert again.rule_list_ == model.rule_list_
    assert again.predict(pd.DataFrame(PATIENTS)).tolist() == STATE


def test_significance_ends_the_list():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60), rng.integers(0, 10, 60)])
    y = np.where(X[:, 0] < 30, 0, rng.integers(0, 2, 60))
    asked = {"w": 3, "alpha": 0.05, "n_permutations": 99}
    model = OPDTRuleList(**PAPER | asked, random_state=4).fit(X, y)
    assert model.covering_.ended_by is Ending.NOT_SIGNIFICANT
    assert model.rule_list_ == sequential_covering(X, y, **asked, seed=4).rule_list
    assert [step.p_value <= 0.05 for step in model.steps_] == [True]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_rules": 0}, r"'max_rules' must be an int >= 1, got 0\."),
        ({"alpha": 0}, r"'alpha' must be a number between 0 and 1, got 0\."),
        ({"w": 0.5}, r"'w' must be a finite number >= 1"),
        ({"random_state": -1}, r"'seed' must be an int >= 0, got -1\."),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(wrong, message):
    settings = {"alpha": 0.1} | wrong
    with pytest.raises(InputError, match=message):
        OPDTRuleList(**settings).fit(pd.DataFrame(PATIENTS), STATE)
