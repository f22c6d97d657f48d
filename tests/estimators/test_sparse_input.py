from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from opdt import OPDTClassifier, OPDTClassifierCV, OPDTRuleList, OPDTRuleSet

rng = np.random.default_rng(5)
CELLS = ((rng.random((200, 6)) < 0.3) * rng.integers(1, 4, (200, 6))).astype(float)
LABELS = np.where((CELLS[:, 1] >= 1) & (CELLS[:, 3] < 2), "ill", "well")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize(
    "model", [OPDTClassifier(), OPDTRuleList(), OPDTRuleSet()], ids=lambda m: type(m).__name__
)
def test_a_sparse_matrix_is_fitted_and_answered_as_its_dense_cells(model, form):
    X = sparse.coo_array(CELLS).asformat(form)
    expected = model.fit(CELLS, LABELS).predict(CELLS)
    assert (model.fit(X, LABELS).predict(X) == expected).all()
    assert (model.predict(CELLS) == expected).all()
    assert model.n_features_in_ == 6


def test_rows_of_weight_zero_are_left_out_of_a_sparse_matrix():
    weights = np.arange(200) % 2
    for form in ("csr", "csc", "coo"):
        X = sparse.coo_array(CELLS).asformat(form)
        model = OPDTClassifier().fit(X, LABELS, sample_weight=weights)
        assert model.value_ == OPDTClassifier().fit(CELLS[1::2], LABELS[1::2]).value_


def test_a_sparse_matrix_is_cut_into_folds():
    X = sparse.csc_array(CELLS)
    model = OPDTClassifierCV(cv=3, random_state=0)
    assert (model.fit(X, LABELS).predict(X) == model.fit(CELLS, LABELS).predict(CELLS)).all()
    assert cross_val_score(OPDTClassifier(), sparse.csr_array(CELLS), LABELS, cv=3).min() > 0.9


def test_a_pipeline_hands_on_a_sparse_matrix():
    X = pd.DataFrame(CELLS[:, :4].astype(int).astype(str))
    model = make_pipeline(OneHotEncoder(), OPDTClassifier(max_depth=3)).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.9


def test_whole_numbers_with_gaps_stay_whole_in_a_mapping():
    whole = [2**60 + k for k in range(4)]
    X = {"a": pd.array([*whole, None], dtype="Int64"), "b": [1, 2, 3, 4, 5]}
    model = OPDTClassifier(max_depth=1, label=1).fit(X, [0, 0, 1, 1, 0])
    assert model.rule_.features == ("a",)
    assert model.value_ == 2
