"""Datasets that come with scikit-learn, so they are there without a network."""

from __future__ import annotations

from typing import Any, NamedTuple


class BuiltIn(NamedTuple):
    """A dataset of scikit-learn under a name of its own."""

    title: str
    about: str
    loader: str  # in sklearn.datasets
    target: str  # what its classes are called


BUILT_IN = {
    "tumours": BuiltIn(
        "Breast tumours", "30 measurements of 569 tumours, benign or malignant",
        "load_breast_cancer", "diagnosis",
    ),
    "wines": BuiltIn(
        "Wines", "13 measurements of 178 wines of three growers", "load_wine", "grower"
    ),
    "irises": BuiltIn(
        "Irises", "4 measurements of 150 flowers of three species", "load_iris", "species"
    ),
}  # fmt: skip


def load_built_in(name: str) -> Any:
    """The data frame of one of them, its classes in the last column."""
    import sklearn.datasets

    chosen = BUILT_IN[name]
    data = getattr(sklearn.datasets, chosen.loader)(as_frame=True)
    return data.data.assign(**{chosen.target: data.target_names[data.target]})
