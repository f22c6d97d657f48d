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
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from opdt import InputError, OpdtWarning, Status, Structure
from opdt.analysis.column_generation import best_rule_set
from opdt.estimators import OPDTRuleSet
from opdt.estimators.inputs import take_rows

PATIENTS = {
    "age": [25, 31, 47, 52, 66, 38, 44, 70],
    "smoker": ["no", None, "yes", "no", "no", "no", "yes", "no"],
    "dose": [1.5, None, 0.5, 2.0, 1.0, 1.0, 2.5, 0.5],
}
STATE = ["well", "well", "ill", "well", "ill", "well", "ill", "ill"]

FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas categories": lambda data: pd.DataFrame(data).astype({"smoker": "category"}),
    "polars": lambda data: pl.DataFrame(data),
    "arrow": lambda data: pa.table(data),
}


class NumbersOnly(OPDTRuleSet):
    """The same, but scikit-learn does not round the tables of its checks to categories."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@parametrize_with_checks([OPDTRuleSet(), NumbersOnly()])
def test_every_check_of_scikit_learn_passes(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # some of its tables have constant columns
        check(estimator)


def test_feature_names_are_checked_as_scikit_learn_checks_its_own_estimators():
    check_dataframe_column_names_consistency("OPDTRuleSet", OPDTRuleSet())


def test_the_constructor_only_stores_and_clone_keeps_every_parameter():
    structure = Structure.levels("cat", "num")
    model = OPDTRuleSet(3, condition_price=0.5, structure=structure, label="ill", time_limit=9)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params() == {
        "max_rules": 3,
        "max_depth": None,
        "condition_price": 0.5,
        "structure": structure,
        "groups": None,
        "label": "ill",
        "class_weight": None,
        "constraints": None,
        "roles": None,
        "missing": None,
        "time_limit": 9,
        "n_jobs": None,
    }


@pytest.mark.parametrize("library", FRAMES)
def test_frames_with_text_and_missing_values_are_read_by_column(library):
    X = FRAMES[library](PATIENTS)
    model = OPDTRuleSet(condition_price=0.5, label="ill").fit(X, STATE)
    # Two conditions without an error; one condition, age >= 40, has one.
    assert [str(rule) for rule in model.rule_set_.rules] == [
        "IF age >= 60 THEN ill",
        "IF smoker == 'yes' THEN ill",
    ]
    assert (model.value_, model.bound_, model.status_) == (1, 1, Status.OPTIMAL)
    assert model.covers(X).tolist() == [state == "ill" for state in STATE]
    assert model.predict(X).tolist() == STATE
    assert model.predict_proba(X).tolist() == [[s == "ill", s == "well"] for s in STATE]
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.feature_names_in_.tolist() == ["age", "smoker", "dose"]


@pytest.mark.parametrize("library", FRAMES)
def test_only_the_columns_of_the_rules_are_needed_in_a_frame(library):
    model = OPDTRuleSet(condition_price=0.5).fit(FRAMES[library](PATIENTS), STATE)
    fewer = pd.DataFrame({"smoker": ["no", "yes", None], "age": [61, 40, None]})
    assert model.rule_set_.label == "ill"  # no rules for "well" have so small a loss
    assert model.predict(fewer).tolist() == ["ill", "ill", "well"]
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- age"):
        model.predict(fewer[["smoker"]])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_predictions_are_those_of_the_rule_set(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 5, n)),
            "c": rng.choice(["a", "b", "c", None], n),
            "z": rng.normal(size=n).round(1),
        }
    )
    y = rng.random(n) < 0.5
    y[:2] = [False, True]
    weights = rng.integers(0, 3, n).astype(float)
    weights[:2] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)
        model = OPDTRuleSet(3, condition_price=float(rng.choice([0, 0.5, 1])))
        model.fit(X, y, sample_weight=weights)
    inside = model.rule_set_.covers(X)
    assert model.covers(X).tolist() == inside.tolist()
    assert model.predict(X).tolist() == model.rule_set_.predict(X).tolist()
    assert model.predict(X).dtype == model.classes_.dtype
    shares = model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1)
    for part in (inside, ~inside):
        here = part & (weights > 0)
        if here.any():
            share = weights[here & y].sum() / weights[here].sum()
            assert shares[part, 1] == pytest.approx(share)
    # The loss is never less than the errors of the predictions and the price of the conditions.
    errors = weights[model.predict(X) != y].sum()
    found = model.solution_
    assert model.value_ >= errors + model.condition_price * found.n_conditions
    assert model.value_ == found.missed + found.wrong + model.condition_price * found.n_conditions


def test_the_estimator_is_the_function_with_the_interface_of_scikit_learn():
    X, y = pd.DataFrame(PATIENTS), STATE
    asked = {"max_rules": 1, "structure": ["num"], "constraints": {"forbidden": ["dose"]}}
    model = OPDTRuleSet(**asked).fit(X, y)
    found = best_rule_set(X, y, **asked)
    assert model.rule_set_ == found.rule_set
    assert (model.value_, model.bound_) == (found.value, found.bound)


def test_rows_of_weight_zero_count_as_if_they_were_not_there():
    X, weights = pd.DataFrame(PATIENTS), np.array([1, 1, 0, 1, 2, 1, 1, 1.0])
    model = OPDTRuleSet().fit(X, STATE, sample_weight=weights)
    keep = weights > 0
    less = OPDTRuleSet().fit(take_rows(X, keep), np.array(STATE)[keep], sample_weight=weights[keep])
    assert (model.rule_set_, model.value_) == (less.rule_set_, less.value_)


def test_arrays_go_by_position():
    X = pd.DataFrame({"x1": [1, 2, 3, 4, 5, 6], "x0": [0, 1, 0, 1, 0, 1]})
    model = OPDTRuleSet().fit(X, [0, 0, 0, 1, 1, 1])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert model.predict(X.to_numpy()).tolist() == [0, 0, 0, 1, 1, 1]


def test_more_than_two_classes_are_refused_and_work_one_against_the_rest():
    X = np.array([[1], [2], [3], [4], [5], [6]])
    y = ["a", "a", "b", "b", "c", "c"]
    with pytest.raises(InputError, match=r"Only binary classification .* y has 3 classes; use"):
        OPDTRuleSet().fit(X, y)
    each = OneVsRestClassifier(OPDTRuleSet(condition_price=0.1)).fit(X, y)
    assert each.predict(X).tolist() == y


def test_it_works_in_pipelines_grids_and_cross_validation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0.7) | (X[:, 1] > 0.7)
    pipeline = make_pipeline(StandardScaler(), OPDTRuleSet(max_depth=1, label=True))
    grid = GridSearchCV(pipeline, {"opdtruleset__max_rules": [1, 2]}, cv=3)
    assert grid.fit(X, y).best_params_ == {"opdtruleset__max_rules": 2}
    assert cross_val_score(OPDTRuleSet(2, 1), X, y, cv=3, scoring="roc_auc").min() > 0.8


def test_a_fitted_set_can_be_saved_and_loaded(tmp_path):
    model = OPDTRuleSet(condition_price=0.5).fit(pd.DataFrame(PATIENTS), STATE)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert again.rule_set_ == model.rule_set_
    assert again.predict(pd.DataFrame(PATIENTS)).tolist() == STATE


def test_a_time_limit_leaves_a_set_and_a_true_bound():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 6)), rng.integers(0, 2, 150)
    model = OPDTRuleSet(time_limit=0.05).fit(X, y)
    assert 0 <= model.bound_ <= model.value_ <= 75
    assert (model.status_ is Status.OPTIMAL) == (model.bound_ == model.value_)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_rules": 0}, r"'max_rules' must be an int >= 1, got 0\."),
        ({"condition_price": -1}, r"'condition_price' must be a finite number of rows >= 0"),
        ({"label": "dead"}, r"class 'dead' does not occur in the labels"),
        ({"time_limit": -1}, r"'time_limit' must be"),
    ],
)
def test_bad_parameters_are_refused_with_one_sentence(wrong, message):
    with pytest.raises(InputError, match=message):
        OPDTRuleSet(**wrong).fit(pd.DataFrame(PATIENTS), STATE)
