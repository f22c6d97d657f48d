"""Engines as parameters of the estimator: by name or configured, cloned and searched over."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from opdt import (
    BSCCARTEngine,
    ExhaustiveEngine,
    MIPEngine,
    OPDTClassifier,
    RSCRULESEngine,
    SearchEngine,
    discover,
    engine_names,
)
from opdt.engines.tree import SplitTree


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = {
        "dose": rng.integers(0, 6, 40),
        "age": rng.integers(0, 5, 40),
        "smoker": rng.choice(["no", "yes"], 40),
    }
    y = np.where((X["dose"] >= 3) & (X["smoker"] == "yes"), "ill", "well")
    y[:3] = "ill"
    return X, y


@pytest.mark.parametrize("name", engine_names(installed=True))
def test_an_engine_is_taken_by_name(name, data):
    if name == "mip":
        pytest.importorskip("pyscipopt")
    solution = discover(*data, w=3, engine=name, time_limit=5)
    best = discover(*data, w=3, engine="exhaustive")
    assert solution.value <= best.value <= solution.bound


@pytest.mark.parametrize(
    "engine",
    [
        SearchEngine(),
        ExhaustiveEngine(),
        BSCCARTEngine(),
        RSCRULESEngine(bins=4),
        MIPEngine(solver="highs", formulation="path"),
        MIPEngine(solver="highs", formulation="paper", warm_start=False, priorities=False),
    ],
    ids=repr,
)
def test_a_configured_engine_survives_cloning_and_fits(engine, data):
    if isinstance(engine, MIPEngine):
        pytest.importorskip("highspy")
    X, y = data
    model = clone(OPDTClassifier(w=3, engine=engine, time_limit=8))
    assert model.engine == engine
    model.fit(X, y)
    best = discover(X, y, w=3, engine="exhaustive").value
    assert model.value_ <= best <= model.bound_


def test_a_grid_may_search_over_engines(data):
    X, y = data
    frame = np.column_stack([X["dose"], X["age"]])
    grid = {"engine": ["search", BSCCARTEngine(), "exhaustive"], "w": [2, 5]}
    search = GridSearchCV(OPDTClassifier(), grid, cv=3).fit(frame, y)
    assert search.best_params_["engine"] in grid["engine"]


@pytest.mark.parametrize("engine", ["bsccart", "mip"])
def test_the_tree_of_a_solution_can_be_drawn_and_walked(engine, data):
    if engine == "mip":
        pytest.importorskip("highspy")
        engine = MIPEngine(solver="highs", formulation="paper")
    solution = discover(*data, w=3, engine=engine, time_limit=5)
    tree = solution.details if isinstance(solution.details, SplitTree) else solution.details.tree
    assert isinstance(tree, SplitTree)
