"""The paper's own numbers, table by table, as they are printed.

The files in ``paper/`` hold them with every digit of the paper. Datasets have the names of
`opdt.datasets`, methods those of `opdt.baselines` with ``opdt`` for the paper's own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from opdt.checks import check_choice

# Tables of one number per dataset, configuration, part of the data and quantity, and what a
# configuration is in each.
TABLES = {
    "structures": "structure, as all-all or cat-num; 600 s for the solver",
    "enhancements": "warm start / branching priorities, as on/off; 120 s for the solver",
    "training": "method",
    "testing": "method",
    "full": "method; the appendix's table, ten splits",
    "solution_time": "opdt",
}


class Published(NamedTuple):
    """One number of the paper.

    `part` is the part of the data it was measured on, ``train`` or ``test``; `quantity` is
    ``VI``, ``precision``, ``coverage``, ``runtime`` or ``time to solution`` (both in seconds);
    `sd` is None where the paper prints none.
    """

    dataset: str
    configuration: str
    part: str
    quantity: str
    mean: float
    sd: float | None


class PublishedDataset(NamedTuple):
    """One row of the paper's dataset table; `negative` and `positive` are its (neg, pos)."""

    dataset: str
    rows: int
    dropped: int
    features: int
    numeric: int
    categorical: int
    negative: int
    positive: int
    domain: str


class PublishedPart(NamedTuple):
    """What a rule does on one part of the data: shares, and the counts behind them."""

    precision: float
    correct: int
    covered: int
    coverage: float
    rows: int


class PublishedWeight(NamedTuple):
    """One row of the paper's sensitivity table on Hepatitis: VI on training rows, seconds."""

    w: int
    train: PublishedPart
    test: PublishedPart
    vi: float
    runtime: float


class PublishedStep(NamedTuple):
    """A moment at which the paper's VI rose on German, or at which it was proven.

    `grouping` is ``importance`` for feature groups from LightGBM and ``none`` without; `step`
    counts from 1 and is None for the proof.
    """

    grouping: str
    step: int | None
    vi: float
    seconds: float


class PublishedImprovement(NamedTuple):
    """One of the two trees of the paper's figure on German; `seconds` where it tells them."""

    method: str
    vi: float
    seconds: float | None


@cache
def published(table: str) -> tuple[Published, ...]:
    """Return the numbers of one of the paper's tables, in the order of the paper.

    Parameters
    ----------
    table : str
        A name of `TABLES`.

    Examples
    --------
    >>> first = published("testing")[0]
    >>> first.dataset, first.configuration, first.quantity, first.mean
    ('australian', 'opdt', 'VI', 22.8)
    """
    check_choice("table", table, tuple(TABLES))
    return tuple(
        Published(
            row["dataset"],
            row["configuration"],
            row["part"],
            row["quantity"],
            float(row["mean"]),
            _number(row["sd"]),
        )
        for row in _rows(table)
    )


def find_published(
    table: str, dataset: str, configuration: str, quantity: str, part: str = "train"
) -> Published | None:
    """Return one number of a table of the paper, or None where the paper has none."""
    return _index(table).get((dataset, configuration, part, quantity))


@cache
def published_datasets() -> tuple[PublishedDataset, ...]:
    """Return the paper's dataset table."""
    return tuple(
        PublishedDataset(
            dataset=row.pop("dataset"),
            domain=row.pop("domain"),
            **{name: int(count) for name, count in row.items()},
        )
        for row in _rows("datasets")
    )


@cache
def published_weights() -> tuple[PublishedWeight, ...]:
    """Return the paper's sensitivity to w on Hepatitis, from w = 10 down to 2."""
    return tuple(
        PublishedWeight(
            int(row["w"]),
            _part(row, "train"),
            _part(row, "test"),
            float(row["vi"]),
            float(row["runtime"]),
        )
        for row in _rows("sensitivity")
    )


@cache
def published_steps() -> tuple[PublishedStep, ...]:
    """Return the paper's VI over time on German with and without groups from LightGBM."""
    return tuple(
        PublishedStep(
            row["grouping"],
            None if row["step"] == "proof" else int(row["step"]),
            float(row["vi"]),
            float(row["seconds"]),
        )
        for row in _rows("importance")
    )


@cache
def published_improvement() -> tuple[PublishedImprovement, ...]:
    """Return the VI of BSCCART's tree on German and of the paper's improvement of it."""
    return tuple(
        PublishedImprovement(row["method"], float(row["vi"]), _number(row["seconds"]))
        for row in _rows("improvement")
    )


@cache
def _index(table: str) -> dict[tuple[str, str, str, str], Published]:
    return {each[:4]: each for each in published(table)}


def _part(row: dict[str, str], part: str) -> PublishedPart:
    def share(name: str) -> float:
        return float(row[f"{part}_{name}"])

    def count(name: str) -> int:
        return int(row[f"{part}_{name}"])

    return PublishedPart(
        share("precision"), count("correct"), count("covered"), share("coverage"), count("rows")
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = files("opdt.experiments").joinpath(f"paper/{name}.csv").read_text(encoding="utf-8")
    return iter(csv.DictReader(text.splitlines()))
