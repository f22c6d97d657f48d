"""Objectives, the rarest class and class weights, in the estimators and inside those of others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from opdt import OPDTClassifier, OPDTRuleList, OPDTRuleSet, discover
from opdt.errors import InputError


def rare(n=120):
    """Three classes of numbers; "odd" is the rarest and lies where x is large."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    y = np.where(X[:, 0] > 0.85, "odd", np.where(X[:, 1] > 0.5, "even", "none"))
    return X, y.astype(object)


def test_the_classifier_takes_the_objectives_of_discover():
    X, y = rare()
    model = OPDTClassifier(label="rarest", objective="precision", min_coverage=0.1).fit(X, y)
    found = discover(X, y, label="odd", objective="precision", min_coverage=0.1)
    assert (model.rule_, model.value_, model.bound_) == (found.rule, found.value, found.bound)
    most = OPDTClassifier(label="odd", objective="coverage", min_precision=0.9).fit(X, y)
    assert most.value_ == most.solution_.covered - most.solution_.errors


def test_the_rarest_class_is_found_where_labels_are_encoded():
    X, y = rare()
    single = OPDTClassifier(1, label="rarest", objective="precision")
    for model in (
        BaggingClassifier(single, n_estimators=3, random_state=0),
        VotingClassifier([("rule", single)]),
        StackingClassifier([("rule", single)], LogisticRegression(), cv=3),
    ):
        model.fit(X, y)
        assert "odd" in set(model.predict(X))
    guesses = cross_val_predict(single, X, y, cv=3)
    assert "odd" in set(guesses)


def test_balanced_classes_weigh_the_same():
    X, y = rare()
    two = np.where(y == "odd", "odd", "other").astype(object)
    counts = {label: int((two == label).sum()) for label in ("odd", "other")}
    asked = {"w": 2, "label": "odd", "max_depth": 1}
    balanced = OPDTClassifier(**asked, class_weight="balanced").fit(X, two)
    factors = {label: len(two) / 2 / count for label, count in counts.items()}
    weights = np.array([factors[label] for label in two])
    assert balanced.rule_ == discover(X, two, **asked, sample_weight=weights).rule
    named = OPDTClassifier(**asked, class_weight=factors).fit(X, two)
    assert named.rule_ == balanced.rule_
    # a row of weight two is two rows
    twice = np.where(two == "odd", 2.0, 1.0)
    once = OPDTClassifier(**asked, class_weight="balanced").fit(X, two, sample_weight=twice)
    assert once.solution_.value == pytest.approx(balanced.solution_.value * twice.sum() / len(two))


def test_the_rarest_class_is_that_of_the_rows_and_not_of_their_balanced_weights():
    X, y = rare()
    model = OPDTClassifier(label="rarest", class_weight="balanced", w=2).fit(X, y)
    assert model.rule_.label == "odd"


@pytest.mark.parametrize("kind", [OPDTClassifier, OPDTRuleList, OPDTRuleSet])
def test_class_weights_that_cannot_be_used_are_refused(kind):
    X, y = rare()
    two = np.where(y == "odd", "odd", "other").astype(object)
    with pytest.raises(InputError, match="'class_weight' must be 'balanced'"):
        kind(class_weight="fair").fit(X, two)
    with pytest.raises(InputError, match="'class_weight' names class 'strange'"):
        kind(class_weight={"strange": 2}).fit(X, two)
    with pytest.raises(InputError, match="'class_weight' must map classes to numbers"):
        kind(class_weight={"odd": "much"}).fit(X, two)


def test_rule_lists_balance_their_classes_by_default():
    X = np.arange(100.0)[:, None]
    y = np.isin(np.arange(100), [90, 91, 93, 95, 96, 98]).astype(int)
    model = OPDTRuleList()
    assert (model.w, model.class_weight) == (3.0, "balanced")
    assert set(model.fit(X, y).predict(X).tolist()) == {0, 1}


def test_partitions_have_no_class_weights(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = rare()
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match="'class_weight' needs the rows in memory"):
        OPDTClassifier(class_weight="balanced").fit([tmp_path / "a.csv"], "y")
