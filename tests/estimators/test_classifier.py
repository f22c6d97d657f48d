from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from opdt import InputError, OPDTClassifier, OpdtWarning, Status, Structure, discover

SMALL = {"engine": "exhaustive"}

PATIENTS = {
    "age": [25, 31, 47, 52, 60, 38],
    "smoker": ["no", "no", "yes", "no", "yes", None],
    "dose": [1.5, None, 0.5, 2.0, 1.0, 1.0],
}
STATE = ["well", "well", "ill", "ill", "ill", "well"]

FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas categories": lambda data: pd.DataFrame(data).astype({"smoker": "category"}),
    "polars": lambda data: pl.DataFrame(data),
    "arrow": lambda data: pa.table(data),
}


class NumbersOnly(OPDTClassifier):
    """The same, but scikit-learn does not round the tables of its checks to categories."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


# scikit-learn itself skips the array API check unless SCIPY_ARRAY_API is set; nothing is exempt.
@parametrize_with_checks([OPDTClassifier(), OPDTClassifier(**SMALL), NumbersOnly()])
def test_every_check_of_scikit_learn_passes(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # some of its tables have constant columns
        check(estimator)


@pytest.mark.parametrize("estimator", [OPDTClassifier(), NumbersOnly()])
def test_feature_names_are_checked_as_scikit_learn_checks_its_own_estimators(estimator):
    check_dataframe_column_names_consistency("OPDTClassifier", estimator)


def test_the_constructor_only_stores_and_clone_keeps_every_parameter():
    structure = Structure.levels("cat", "num")
    model = OPDTClassifier(3, 2.5, structure=structure, label="ill", time_limit=9, n_jobs=2)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params() == {
        "max_depth": 3,
        "w": 2.5,
        "structure": structure,
        "groups": None,
        "label": "ill",
        "objective": "vi",
        "min_coverage": None,
        "max_coverage": None,
        "min_precision": None,
        "class_weight": None,
        "constraints": None,
        "roles": None,
        "missing": None,
        "engine": "search",
        "time_limit": 9,
        "n_jobs": 2,
        "memory_limit": None,
        "device": None,
    }


@pytest.mark.parametrize("library", FRAMES)
def test_frames_with_text_and_missing_values_are_read_by_column(library):
    X = FRAMES[library](PATIENTS)
    model = OPDTClassifier(**SMALL).fit(X, STATE)
    # One condition covers all three: 38 < threshold <= 47, readable as 40.
    assert str(model.rule_) == "IF age >= 40 THEN ill"
    assert (model.value_, model.bound_, model.status_) == (3, 3, Status.OPTIMAL)
    assert model.solution_.rule == model.rule_
    assert model.feature_names_in_.tolist() == ["age", "smoker", "dose"]
    assert model.n_features_in_ == 3
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.predict(X).tolist() == STATE
    assert model.score(X, STATE) == 1


@pytest.mark.parametrize("library", FRAMES)
def test_a_rule_on_text_is_found_and_a_missing_level_satisfies_no_condition(library):
    X = FRAMES[library]({"age": PATIENTS["age"], "smoker": PATIENTS["smoker"]})
    model = OPDTClassifier(structure=["cat"], **SMALL).fit(X, STATE)
    assert str(model.rule_) == "IF smoker == 'yes' THEN ill"
    assert model.covers(X).tolist() == [False, False, True, False, True, False]


@pytest.mark.parametrize("library", FRAMES)
def test_only_the_columns_of_the_rule_are_needed_in_a_frame(library):
    model = OPDTClassifier(**SMALL).fit(FRAMES[library](PATIENTS), STATE)
    fewer = pd.DataFrame({"age": [39.9, 40, 41], "note": ["a", "b", "c"]})
    assert model.covers(fewer).tolist() == [False, True, True]
    assert model.predict(fewer).tolist() == ["well", "ill", "ill"]
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- age"):
        model.predict(fewer[["note"]])


def test_all_columns_in_another_order_are_refused_as_scikit_learn_does():
    X = pd.DataFrame(PATIENTS)
    model = OPDTClassifier(**SMALL).fit(X, STATE)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(X[["dose", "smoker", "age"]])


def test_an_array_is_checked_by_its_number_of_columns():
    model = OPDTClassifier(**SMALL).fit([[1, 0, 5], [2, 1, 5], [3, 0, 4], [4, 1, 4]], [0, 0, 1, 1])
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(
        ValueError, match="X has 2 features, but OPDTClassifier is expecting 3 features as input"
    ):
        model.predict([[1, 0]])


def test_an_array_for_a_model_fitted_on_names_goes_by_position_with_a_warning():
    # The names look like those of arrays, in another order: position must win.
    X = pd.DataFrame({"x1": [1, 2, 3, 4], "x0": [0, 1, 0, 1]})
    model = OPDTClassifier(**SMALL).fit(X, [0, 0, 1, 1])
    assert model.rule_.features == ("x1",)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert model.predict(X.to_numpy()).tolist() == [0, 0, 1, 1]


def test_a_frame_for_a_model_fitted_on_an_array_goes_by_position_with_a_warning():
    X = pd.DataFrame({"x1": [1, 2, 3, 4], "x0": [0, 1, 0, 1]})
    model = OPDTClassifier(**SMALL).fit(X.to_numpy(), [0, 0, 1, 1])
    with pytest.warns(UserWarning, match="X has feature names, but OPDTClassifier was fitted"):
        assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_a_frame_whose_names_are_numbers_goes_by_position():
    X = pd.DataFrame([[0, 1], [1, 2], [0, 3], [1, 4]])
    model = OPDTClassifier(**SMALL).fit(X, [0, 0, 1, 1])
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X).tolist() == [0, 0, 1, 1]
    assert model.predict(X.to_numpy()).tolist() == [0, 0, 1, 1]


def test_rows_of_numbers_and_text_keep_their_kinds():
    X = [[1, "a"], [20, "b"], [3, "b"], [40, "a"]]
    model = OPDTClassifier(**SMALL).fit(X, [0, 1, 0, 1])
    assert str(model.rule_) == "IF x0 >= 10 THEN 1"
    assert model.predict(X).tolist() == [0, 1, 0, 1]


def test_outside_the_rule_the_most_frequent_other_class_is_predicted():
    X = np.arange(9).reshape(-1, 1)
    y = np.array(["a"] * 4 + ["b"] * 2 + ["c"] * 3)
    model = OPDTClassifier(max_depth=1, **SMALL).fit(X, y)
    assert model.rule_.label == "a"
    assert model.predict([[0], [8], [5]]).tolist() == ["a", "c", "c"]
    weighted = clone(model).fit(X, y, sample_weight=[1, 1, 1, 1, 1.5, 1.6, 1, 1, 1])
    assert weighted.predict([[0], [8], [5]]).tolist() == ["a", "b", "b"]


def test_without_a_pattern_the_most_frequent_class_is_predicted():
    X = pd.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": list("xyzxyz")})
    y = [0, 1, 1, 0, 1, 1]
    model = OPDTClassifier(structure=["num"], w=10, **SMALL).fit(X, y)
    assert model.rule_ is None
    assert (model.value_, model.status_) == (0, Status.NO_PATTERN)
    assert model.covers(X).tolist() == [False] * 6
    assert model.predict(X).tolist() == [1] * 6
    assert (model.decision_function(X) > 0).all()


def test_a_rule_without_conditions_fires_everywhere():
    X = np.array([[1], [1], [1]])
    with pytest.warns(OpdtWarning, match="constant"):
        model = OPDTClassifier(w=2, **SMALL).fit(X, [0, 0, 1])
    assert model.rule_.conditions == ()
    assert model.value_ == 3 - 2 * 1
    assert model.predict([[5], [6]]).tolist() == [0, 0]


def test_constraints_that_no_rule_meets_leave_the_most_frequent_class():
    X, y = np.array([[1], [2], [3], [4]]), [0, 1, 1, 0]
    demands = {"min_coverage": 3, "min_precision": 1.0}
    model = OPDTClassifier(max_depth=1, constraints=demands, **SMALL).fit(X, y)
    assert model.rule_ is None
    assert model.status_ is Status.INFEASIBLE
    assert model.predict(X).tolist() == [0] * 4


tables = st.integers(2, 4).flatmap(
    lambda n_classes: st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from([None, "a", "b"]), st.integers(0, n_classes - 1)
        ),
        min_size=3,
        max_size=12,
    ).filter(lambda rows: len({row[2] for row in rows}) > 1)
)


@given(tables, st.sampled_from([1, 2, 10]))
@pytest.mark.filterwarnings("ignore::opdt.OpdtWarning")
def test_decision_function_agrees_with_predict(rows, w):
    X = pd.DataFrame({"n": [r[0] for r in rows], "c": [r[1] for r in rows]})
    model = OPDTClassifier(w=w, **SMALL).fit(X, [r[2] for r in rows])
    scores = model.decision_function(X)
    if len(model.classes_) == 2:
        assert scores.shape == (len(rows),)
        best = (scores > 0).astype(int)
    else:
        assert scores.shape == (len(rows), len(model.classes_))
        best = scores.argmax(axis=1)
    assert model.classes_[best].tolist() == model.predict(X).tolist()


@given(tables, st.data())
@pytest.mark.filterwarnings("ignore::opdt.OpdtWarning")
def test_weights_count_rows_and_weight_zero_removes_them(rows, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    frame = pd.DataFrame(rows, columns=["n", "c", "y"])
    repeated = frame.loc[np.repeat(frame.index, weights)]
    if repeated["y"].nunique() < 2:
        return
    weighted = OPDTClassifier(**SMALL).fit(frame[["n", "c"]], frame["y"], sample_weight=weights)
    counted = OPDTClassifier(**SMALL).fit(repeated[["n", "c"]], repeated["y"])
    assert weighted.rule_ == counted.rule_
    assert weighted.value_ == counted.value_
    assert (weighted.predict(frame[["n", "c"]]) == counted.predict(frame[["n", "c"]])).all()


@pytest.mark.parametrize("library", FRAMES)
def test_rows_of_weight_zero_are_left_out_in_every_kind_of_frame(library):
    weights = [1, 1, 0, 1, 1, 1]
    model = OPDTClassifier(label="ill", **SMALL)
    model.fit(FRAMES[library](PATIENTS), STATE, sample_weight=weights)
    # Without the 47-year-old the gap reaches from 38 to 52.
    assert str(model.rule_) == "IF age >= 40 THEN ill"
    assert model.value_ == 2


@pytest.mark.parametrize("depth", [2, np.int64(2)])
def test_a_depth_from_a_numpy_range_is_a_depth(depth):
    model = OPDTClassifier(max_depth=depth, w=np.float64(3), n_jobs=1)
    assert model.fit(pd.DataFrame(PATIENTS), STATE).value_ == 3


def test_it_works_in_a_pipeline_and_a_grid_search_over_w_and_depth():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(60, 3)).astype(float)
    y = ((X[:, 0] >= 3) & (X[:, 1] < 3)).astype(int)
    pipeline = make_pipeline(StandardScaler(), OPDTClassifier(label=1, **SMALL))
    grid = {"opdtclassifier__w": [2, 10.0], "opdtclassifier__max_depth": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["opdtclassifier__max_depth"] == 2
    assert search.best_score_ > 0.9
    assert cross_val_score(OPDTClassifier(label=1, **SMALL), X, y, cv=3).min() > 0.8


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_it_keeps_the_names_that_a_transformer_hands_on(output):
    X = pl.DataFrame(PATIENTS).to_pandas() if output == "pandas" else pl.DataFrame(PATIENTS)
    columns = ColumnTransformer(
        [("keep", "passthrough", ["age", "smoker"])], verbose_feature_names_out=False
    ).set_output(transform=output)
    model = make_pipeline(columns, OPDTClassifier(**SMALL)).fit(X, STATE)
    assert model[-1].feature_names_in_.tolist() == ["age", "smoker"]
    assert model.predict(X).tolist() == STATE


def test_joblib_brings_a_fitted_model_back(tmp_path):
    X = pl.DataFrame(PATIENTS)
    model = OPDTClassifier(**SMALL).fit(X, STATE)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert again.rule_ == model.rule_
    assert again.solution_ == model.solution_
    assert again.status_ is Status.OPTIMAL
    assert again.predict(X).tolist() == STATE


def test_the_classifier_finds_what_discover_finds():
    settings = {"w": 3, "label": "well", "groups": {"g": ["age", "smoker"]}, "structure": ["g"]}
    model = OPDTClassifier(**settings, **SMALL).fit(pd.DataFrame(PATIENTS), STATE)
    solution = discover(PATIENTS, STATE, **settings, **SMALL)
    assert (model.rule_, model.value_) == (solution.rule, solution.value)
    assert model.rule_.label == "well"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_depth": 0}, "1 to 8"),
        ({"w": 0.5}, "'w' must be a finite number >= 1"),
        ({"engine": "serch"}, "'engine' 'serch' is not known"),
        ({"label": "dead"}, "class 'dead' does not occur"),
        ({"max_depth": 3, "structure": ["cat", "num"]}, "the structure has depth 2"),
    ],
)
def test_bad_parameters_are_refused_at_fit(settings, message):
    with pytest.raises(InputError, match=message):
        OPDTClassifier(**{**SMALL, **settings}).fit(pd.DataFrame(PATIENTS), STATE)


def test_labels_of_one_class_are_refused():
    with pytest.raises(InputError, match="only one class"):
        OPDTClassifier(**SMALL).fit(pd.DataFrame(PATIENTS), ["ill"] * 6)
    with pytest.raises(InputError, match="only one class"):
        OPDTClassifier(**SMALL).fit(pd.DataFrame(PATIENTS), STATE, sample_weight=[1, 1, 0, 0, 0, 1])


@pytest.mark.parametrize("kind", [bool, np.int8, np.float64, str])
def test_predictions_have_the_type_of_the_labels(kind):
    X, y = np.array([[1], [2], [3], [4]]), np.array([0, 0, 1, 1]).astype(kind)
    prediction = OPDTClassifier(**SMALL).fit(X, y).predict(X)
    assert prediction.tolist() == y.tolist()
    assert prediction.dtype.kind == y.dtype.kind
