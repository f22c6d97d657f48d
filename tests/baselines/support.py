"""Data and helpers that the tests of the comparison methods share."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from opdt.baselines import Baseline, get_baseline
from opdt.baselines.registry import EXTRA, missing_package

# Settings with which the slow methods end quickly.
QUICK: dict[str, dict[str, Any]] = {
    "brs": {"n_iterations": 60, "n_chains": 1, "n_rules": 80},
    "skope": {"n_estimators": 8},
}


def built(name: str, **settings: Any) -> Baseline:
    """The method with quick settings; the test is skipped where its package is missing."""
    package = missing_package(name)
    if package is not None:
        pytest.skip(f"baseline {name} needs {package}: pip install 'opdt[{EXTRA}]'")
    return get_baseline(name, **(QUICK.get(name, {}) | settings))


def clinic() -> tuple[pd.DataFrame, pd.Series]:
    """160 rows of scikit-learn's breast cancer data: four numbers and a made-up category."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:160, [0, 6, 20, 24]].copy()
    X["grade"] = np.array(["low", "mid", "high"])[np.digitize(X.pop("mean radius"), [12, 17])]
    X["mean concavity"] = (X["mean concavity"] * 100).round().astype(int)
    return X, y.iloc[:160].map({0: "malignant", 1: "benign"})


def wines() -> tuple[pd.DataFrame, pd.Series]:
    """Scikit-learn's wine data, three classes: three numbers and a yes or no."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X[["alcohol", "flavanoids", "hue"]].copy()
    X["strong"] = np.where(X["alcohol"] > 13, "yes", "no")
    return X, y


def lenses() -> tuple[dict[str, list[str]], list[str]]:
    """The contact lenses of Cendrowska's paper: 24 patients, all combinations once."""
    rows = list(
        product(
            ("young", "pre-presbyopic", "presbyopic"),
            ("myope", "hypermetrope"),
            ("no", "yes"),
            ("reduced", "normal"),
        )
    )

    def lens(age: str, prescription: str, astigmatic: str, tears: str) -> str:
        if tears == "reduced":
            return "none"
        if astigmatic == "no":
            return "none" if (age, prescription) == ("presbyopic", "myope") else "soft"
        return "hard" if prescription == "myope" or age == "young" else "none"

    names = ("age", "prescription", "astigmatic", "tears")
    columns = map(list, zip(*rows, strict=True))
    return dict(zip(names, columns, strict=True)), [lens(*row) for row in rows]
