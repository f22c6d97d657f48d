"""Datasets of the paper as an experiment needs them: as tables, whole and split."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

from opdt.datasets import Dataset, load
from opdt.datasets.fetch import ENVIRONMENT
from opdt.experiments.splits import split_rows
from opdt.table import ColumnPlan, Plan, Role, Table


class TrainTest(NamedTuple):
    """One split: a table to learn from, and rows and labels of both parts to measure on."""

    table: Table
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


def dataset(name: str) -> Dataset:
    """The dataset of this name, read once in a process."""
    return _load(name, os.environ.get(ENVIRONMENT))


@cache
def _load(name: str, folder: str | None) -> Dataset:
    return load(name)


def whole_table(name: str) -> Table:
    """All rows of a dataset."""
    data = dataset(name)
    return _table(data, data.X, data.y)


def train_test(name: str, number: int) -> TrainTest:
    """The split of this number of a dataset."""
    data = dataset(name)
    train, test = split_rows(data.n_rows, number)
    X, y = data.X.iloc[train], data.y.iloc[train]
    return TrainTest(_table(data, X, y), X, y, data.X.iloc[test], data.y.iloc[test])


def _table(data: Dataset, X: Any, y: Any) -> Table:
    # A column that is constant in one of many splits is nothing to warn of.
    return Table.build(X, y, roles=plan_of(data), warn=False)


def plan_of(data: Dataset) -> Plan:
    """The features as the paper has them: nothing is left out, and no cell is read anew."""
    numeric = (ColumnPlan(name, Role.NUMERIC, "") for name in data.numeric)
    categorical = (ColumnPlan(name, Role.CATEGORICAL, "") for name in data.categorical)
    return Plan((*numeric, *categorical))
