"""The fifteen UCI datasets of the paper by name, and tables with a planted rule."""

from __future__ import annotations

from opdt.datasets.fetch import DatasetInfo, available, fetch
from opdt.datasets.load import Dataset, load
from opdt.datasets.registry import names

__all__ = ["Dataset", "DatasetInfo", "available", "fetch", "load", "names"]
