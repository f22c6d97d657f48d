"""The fifteen UCI datasets of the paper by name, and tables with a planted rule."""

from __future__ import annotations

from opdt.datasets.fetch import DatasetInfo, available, fetch
from opdt.datasets.load import Dataset, load
from opdt.datasets.registry import names
from opdt.datasets.synthetic import Planted, planted_rule

__all__ = [
    "Dataset",
    "DatasetInfo",
    "Planted",
    "available",
    "fetch",
    "load",
    "names",
    "planted_rule",
]
