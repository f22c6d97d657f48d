"""How much each feature helps LightGBM to tell the classes apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.optional import require
from opdt.table import Column, Kind, Table

Floats = NDArray[np.float64]

METRICS = ("gain", "split", "shap")
DEFAULT_ITERATIONS = 1000  # the paper's number of boosting iterations
_LEAF_ROWS = 20  # LightGBM's own default
_LEAF_SHARE = 10  # a leaf asks for no more than this part of a small table


@dataclass(frozen=True)
class FeatureImportance:
    """Scores of the features by one metric; the greater, the more a model leans on it.

    Attributes
    ----------
    metric : str
        ``gain``, ``split`` or ``shap``.
    names : tuple of str, length n_features
        Features in the order of the table.
    scores : tuple of float, length n_features
        Total gain of the splits on a feature, their number, or its mean absolute SHAP value.

    Examples
    --------
    >>> FeatureImportance("split", ("age", "sex", "bmi"), (3.0, 0.0, 5.0)).top(2)
    ('bmi', 'age')
    """

    metric: str
    names: tuple[str, ...]
    scores: tuple[float, ...]

    def ranked(self) -> tuple[tuple[str, float], ...]:
        """Features with their scores, best first; equal ones in the order of the table."""
        order = sorted(range(len(self.names)), key=lambda j: -self.scores[j])
        return tuple((self.names[j], self.scores[j]) for j in order)

    def top(self, number: int) -> tuple[str, ...]:
        """The best features, at most `number`; a feature without any score is never among them."""
        return tuple(name for name, score in self.ranked()[:number] if score > 0)


def table_importance(
    table: Table, metrics: Sequence[str], iterations: int, seed: int
) -> tuple[FeatureImportance, ...]:
    """Return the importance of a table's features by each metric, from one boosted model."""
    booster, data = fit(table.columns, table, rounds=iterations, seed=seed)
    return tuple(
        FeatureImportance(metric, table.names, tuple(map(float, _scores(booster, data, metric))))
        for metric in metrics
    )


def fit(
    columns: Sequence[Column], table: Table, *, rounds: int, seed: int, **parameters: Any
) -> tuple[Any, Floats]:
    """Return LightGBM's model of the table's classes from these columns, and its input.

    One thread and a fixed order of work make the model depend on the data and the seed alone.
    Trees see ranks, which hold all that a threshold can use; a missing value is NaN.
    """
    lightgbm = require("lightgbm", "importance", "grouping features by importance")
    data = _matrix(columns)
    n_classes = len(table.classes)
    settings = {
        "objective": "binary" if n_classes == 2 else "multiclass",
        "num_class": 1 if n_classes == 2 else n_classes,
        "min_data_in_leaf": min(_LEAF_ROWS, max(1, table.n_rows // _LEAF_SHARE)),
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "seed": seed,
        "verbosity": -1,
        **parameters,
    }
    train = lightgbm.Dataset(
        data,
        label=table.labels,
        weight=table.weights,
        feature_name=[f"x{j}" for j in range(len(columns))],
        categorical_feature=[j for j, c in enumerate(columns) if c.kind is Kind.CATEGORICAL],
        params={"verbosity": -1, "min_data_in_leaf": settings["min_data_in_leaf"]},
    )
    return lightgbm.train(settings, train, num_boost_round=rounds), data


def _scores(booster: Any, data: Floats, metric: str) -> Floats:
    if metric != "shap":
        return np.asarray(booster.feature_importance(metric), dtype=np.float64)
    # (n_rows, n_classes or 1, n_features + 1): exact TreeSHAP values, the last one the mean.
    values = np.asarray(booster.predict(data, pred_contrib=True))
    values = np.abs(values.reshape(len(data), -1, data.shape[1] + 1)[:, :, :-1])
    scores: Floats = values.mean(axis=(0, 1))
    return scores


def _matrix(columns: Sequence[Column]) -> Floats:
    """Rank codes as floats, shape (n_rows, n_columns), NaN where a value is missing."""
    data = np.column_stack([column.codes for column in columns]).astype(np.float64)
    data[data < 0] = np.nan
    return data
