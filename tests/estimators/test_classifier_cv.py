from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from opdt.analysis.choosing import price_grid
from opdt.analysis.path import weight_path
from opdt.discovery import discover
from opdt.errors import InputError, OpdtWarning
from opdt.estimators.classifier import OPDTClassifier
from opdt.estimators.classifier_cv import OPDTClassifierCV
from opdt.solution import Status

# One round of few folds and one condition: enough to see that everything is in its place.
SMALL = {"engine": "exhaustive", "max_depths": [1], "cv": 3, "n_repeats": 1}
SLOW = pytest.mark.slow

LIGHT = [OPDTClassifierCV(**SMALL, ws=[2, 10]), OPDTClassifierCV(**SMALL, min_precision=0.7)]


# scikit-learn itself skips the array API check unless SCIPY_ARRAY_API is set; nothing is exempt.
@parametrize_with_checks(LIGHT)
def test_every_check_of_scikit_learn_passes(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # some of its tables have constant columns
        check(estimator)


@SLOW
@parametrize_with_checks([OPDTClassifierCV()])
def test_every_check_passes_with_default_arguments(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)
        check(estimator)


def ages(n=60, seed=0):
    """One feature that matters, one that does not, and three errors in the pattern."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.permutation(n), "shoe": rng.integers(36, 46, n)})
    y = np.where((X["age"] >= n // 3) & ~X["age"].isin([25, 30, 40]), "ill", "well")
    return X, y


# -- what is wanted of the rule ------------------------------------------------------------------


def test_a_precision_is_kept_exactly_and_covers_the_most():
    X, y = ages()
    model = OPDTClassifierCV(**SMALL, min_precision=0.95, label="ill").fit(X, y)
    # 19 ill above 40, the error 40, and 9 ill from 31 to 39: 28 of 29 is more than 0.95
    assert str(model.rule_) == "IF age >= 30.5 THEN ill"
    assert model.value_ == model.bound_ == 28  # correct rows
    assert model.best_params_ == {"w": None, "max_depth": 1, "structure": None}
    exact = discover(X, y, w=1, max_depth=1, label="ill", constraints={"min_precision": 0.95})
    assert model.rule_ == exact.rule


def test_a_number_of_errors_is_kept_exactly():
    X, y = ages()
    model = OPDTClassifierCV(**SMALL, max_errors=2, label="ill").fit(X, y)
    assert str(model.rule_) == "IF age >= 25.5 THEN ill"
    assert model.solution_.errors == 2


def test_a_coverage_is_kept_with_the_highest_precision():
    X, y = ages()
    model = OPDTClassifierCV(**SMALL, min_coverage=0.5, label="ill").fit(X, y)
    assert model.solution_.covered >= 30
    every = [1 - sum(y[X["age"] >= a] == "well") / (60 - a) for a in range(1, 31)]
    assert model.solution_.precision == pytest.approx(max(every))
    few = OPDTClassifierCV(**SMALL, min_coverage=10, label="ill").fit(X, y)
    assert str(few.rule_) == "IF age >= 40.5 THEN ill"  # without errors, and the largest of those


def test_a_wish_is_met_by_the_best_of_all_depths_and_measured_on_held_out_rows():
    X, y = ages()
    model = OPDTClassifierCV(min_precision=0.95, label="ill", n_repeats=1, n_jobs=1).fit(X, y)
    exact = discover(X, y, w=1, label="ill", constraints={"min_precision": 0.95})
    assert (model.rule_, model.value_) == (exact.rule, exact.value)
    assert [p["max_depth"] for p in model.cv_results_["params"]] == [1, 2]
    assert model.best_params_["max_depth"] == 2
    assert model.cv_results_["test_precision"][1] < 1
    shallow = OPDTClassifierCV(**SMALL | {"max_depths": [1, 2]}, max_errors=60, label="ill")
    # everything may be covered, without a condition: the smaller depth does
    assert shallow.fit(X, y).best_params_["max_depth"] == 1
    precise = OPDTClassifierCV(min_coverage=0.4, label="ill", n_repeats=1, n_jobs=1).fit(X, y)
    assert precise.solution_.precision >= model.solution_.precision
    assert precise.solution_.covered >= 24


def test_wishes_go_together():
    X, y = ages()
    model = OPDTClassifierCV(**SMALL, min_precision=0.95, min_coverage=0.6, label="ill")
    assert model.fit(X, y).status_ is Status.INFEASIBLE
    assert model.rule_ is None
    assert set(model.predict(X)) == {"ill"}  # the most frequent class


# -- choosing ------------------------------------------------------------------------------------


def test_scores_are_the_vi_of_separate_fits_on_held_out_rows():
    X, y = ages()
    cv = list(KFold(4, shuffle=True, random_state=1).split(X))
    model = OPDTClassifierCV(**SMALL | {"cv": cv}, ws=[2, 5, 20], scoring_w=4, label="ill")
    model.fit(X, y)
    assert model.n_splits_ == 4
    for place, params in enumerate(model.cv_results_["params"]):
        pooled = np.zeros(2)
        for fold, (train, test) in enumerate(cv):
            single = OPDTClassifier(1, params["w"], label="ill").fit(X.iloc[train], y[train])
            fires = single.covers(X.iloc[test])
            errors = (y[test][fires] != "ill").sum()
            expected = (fires.sum() - 4 * errors) / len(test)
            assert model.cv_results_[f"split{fold}_test_score"][place] == pytest.approx(expected)
            pooled += fires.sum(), errors
        assert model.cv_results_["test_precision"][place] == pytest.approx(
            1 - pooled[1] / pooled[0]
        )
        assert model.cv_results_["test_coverage"][place] == pytest.approx(pooled[0] / len(y))
    assert [p["w"] for p in model.cv_results_["params"]] == [20, 5, 2]  # the most cautious first


def test_candidates_come_from_the_path_simplest_first():
    X, y = ages()
    model = OPDTClassifierCV(n_repeats=1, label="ill", scoring_w=3, n_jobs=1).fit(X, y)
    params = model.cv_results_["params"]
    assert [p["max_depth"] for p in params] == sorted(p["max_depth"] for p in params)
    for depth in (1, 2):
        path = weight_path(X, y, label="ill", max_depth=depth, n_jobs=1)
        mine = [p["w"] for p in params if p["max_depth"] == depth]
        assert mine == sorted({*price_grid(path), 3.0}, reverse=True)
    best = model.best_params_
    single = OPDTClassifier(best["max_depth"], best["w"], label="ill").fit(X, y)
    assert (single.rule_, single.value_) == (model.rule_, model.value_)
    assert model.best_score_ == model.cv_results_["mean_test_score"][model.best_index_]
    assert model.cv_results_["rank_test_score"].min() == 1


def test_where_nothing_pays_on_held_out_rows_there_is_no_rule():
    rng = np.random.default_rng(3)
    X = rng.random((80, 4))
    y = rng.integers(0, 2, 80)
    model = OPDTClassifierCV(n_repeats=1, n_jobs=1).fit(X, y)
    assert model.rule_ is None
    assert model.best_params_ is model.best_index_ is None
    assert (model.best_score_, model.value_) == (0, 0)
    assert model.declined_.value > 0  # the search itself has found something: chance
    assert model.solution_.rule is None
    assert model.status_ is Status.FEASIBLE
    assert model.solution_.value == 0 < model.bound_ == model.declined_.bound
    assert not model.covers(X).any()
    assert len(set(model.predict(X))) == 1


def test_a_time_limit_is_one_for_the_whole_call():
    X, y = ages()
    with pytest.warns(UserWarning, match="after 1 of 25 folds"):
        model = OPDTClassifierCV(label="ill", time_limit=0, n_jobs=1).fit(X, y)
    assert model.n_splits_ == 1
    assert model.solution_.value <= model.bound_


def test_the_rarest_class_is_the_same_in_all_folds():
    X, y = ages()
    named = OPDTClassifierCV(**SMALL, min_coverage=0.2, label="well").fit(X, y)
    word = OPDTClassifierCV(**SMALL, min_coverage=0.2, label="rarest").fit(X, y)
    assert word.rule_ == named.rule_
    assert word.solution_.objective == "precision"
    assert word.value_ == word.solution_.precision


def test_structures_are_chosen_in_place_of_depths():
    X, y = ages()
    X["where"] = np.where(X["shoe"] % 2, "north", "south")
    model = OPDTClassifierCV(
        structures=[["cat"], ["num"], ["num", "cat"]], ws=[3], scoring_w=3, n_repeats=1, n_jobs=1
    ).fit(X, y)
    assert [p["structure"] for p in model.cv_results_["params"]] == [
        ["cat"],
        ["num"],
        ["num", "cat"],
    ]
    assert model.best_params_["structure"] == ["num"]
    assert model.rule_.features == ("age",)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "callable"])
def test_scorers_of_scikit_learn_may_judge(scoring):
    X, y = ages()
    chosen = scoring
    if scoring == "callable":
        chosen = lambda model, X, y: accuracy_score(y, model.predict(X))  # noqa: E731
    cv = list(StratifiedKFold(3).split(X, y))
    model = OPDTClassifierCV(**SMALL | {"cv": cv}, ws=[2, 20], label="ill", scoring=chosen)
    model.fit(X, y)
    for place, params in enumerate(model.cv_results_["params"]):
        single = OPDTClassifier(1, params["w"], label="ill")
        name = "accuracy" if scoring == "callable" else scoring
        expected = cross_val_score(single, X, y, cv=cv, scoring=name)
        found = [model.cv_results_[f"split{fold}_test_score"][place] for fold in range(3)]
        assert found == pytest.approx(expected.tolist())
    assert model.rule_ is not None


def test_weights_count_rows_in_the_search_and_in_the_scores():
    X, y = ages(40)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    groups = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weights)
    cv = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    cv_repeated = [
        (np.flatnonzero(groups[repeated] != g), np.flatnonzero(groups[repeated] == g))
        for g in range(3)
    ]
    one = OPDTClassifierCV(**SMALL | {"cv": cv}, scoring_w=3).fit(X, y, sample_weight=weights)
    two = OPDTClassifierCV(**SMALL | {"cv": cv_repeated}, scoring_w=3)
    two.fit(X.iloc[repeated], y[repeated])
    assert one.rule_ == two.rule_
    assert one.best_params_ == two.best_params_
    for name in ("mean_test_score", "se_test_score", "test_precision", "test_coverage"):
        assert one.cv_results_[name] == pytest.approx(two.cv_results_[name], nan_ok=True)


def test_numbers_of_rows_shrink_with_the_rows_of_a_fold():
    X, y = ages()
    model = OPDTClassifierCV(**SMALL | {"cv": 2}, max_errors=2, label="ill").fit(X, y)
    # in half of the rows one error is allowed, so that the held-out precision is that of the wish
    assert 0.85 < model.cv_results_["test_precision"][0] <= 1


# -- a citizen of scikit-learn ---------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_text_are_read_by_column(library):
    X, y = ages()
    X["where"] = np.where(X["age"] % 2, "north", None)
    frame = X if library == "pandas" else pl.from_pandas(X)
    model = OPDTClassifierCV(**SMALL, scoring_w=3).fit(frame, y)
    assert model.rule_.features == ("age",)
    assert model.feature_names_in_.tolist() == ["age", "shoe", "where"]
    assert (model.predict(frame) == np.where(model.covers(frame), "ill", "well")).all()


def test_it_works_in_pipelines_and_searches():
    X, y = ages()
    pipeline = make_pipeline(StandardScaler(), OPDTClassifierCV(**SMALL, scoring_w=3, ws=[3, 9]))
    grid = {"opdtclassifiercv__scoring_w": [2, 3]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X.astype(float), y)
    assert search.best_score_ > 0.7


def test_clone_keeps_every_parameter_and_joblib_the_fit(tmp_path):
    X, y = ages()
    model = OPDTClassifierCV(**SMALL, ws=[3], structures=[["num"]], scoring_w=2.5, random_state=7)
    assert clone(model).get_params() == model.get_params()
    model = clone(model).set_params(max_depths=(1,)).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert again.rule_ == model.rule_
    assert again.cv_results_["params"] == model.cv_results_["params"]


def test_the_same_folds_are_drawn_every_time():
    X, y = ages()
    one, two = (OPDTClassifierCV(**SMALL, ws=[2, 9]).fit(X, y) for _ in range(2))
    assert (
        one.cv_results_["mean_test_score"].tolist() == two.cv_results_["mean_test_score"].tolist()
    )
    other = OPDTClassifierCV(**SMALL, ws=[2, 9], random_state=5).fit(X, y)
    assert (
        other.cv_results_["mean_test_score"].tolist() != one.cv_results_["mean_test_score"].tolist()
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ws": []}, "'ws' must be a list of values to choose from"),
        ({"ws": [0.5]}, "'ws' must be a finite number >= 1"),
        ({"ws": 5}, "'ws' must be a list"),
        ({"max_depths": 2}, "'max_depths' must be a list"),
        ({"max_depths": [0]}, "1 to 8"),
        ({"structures": ["cat", "num"]}, r"write \[\['cat', 'num'\]\]"),
        ({"scoring": 3}, "'scoring' must be 'vi' or a scorer"),
        ({"scoring_w": 0}, "'scoring_w' must be a finite number >= 1"),
        ({"n_repeats": 0}, "'n_repeats' must be an int >= 1"),
        ({"cv": 1}, "'cv' must be a number of folds >= 2"),
        ({"min_precision": 2}, "'min_precision' must be"),
        ({"min_precision": 0.9, "ws": [3]}, "'ws' cannot be given beside 'min_precision'"),
        ({"min_coverage": 0}, "'min_coverage' must be above 0"),
        ({"max_errors": 1, "constraints": {"max_errors": 2}}, "'max_errors' is given twice"),
        ({"label": "dead"}, "class 'dead' does not occur"),
        ({"engine": "bsccart"}, "proves nothing"),
    ],
)
def test_bad_parameters_are_refused_at_fit(settings, message):
    X, y = ages()
    with pytest.raises(InputError, match=message):
        OPDTClassifierCV(**{**SMALL, **settings}).fit(X, y)
