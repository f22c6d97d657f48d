"""Nested cross-validation: does choosing w and depth on held-out rows pay on rows never seen?

Ten outer splits of 80 % and 20 %, stratified, with seeds 0 to 9. An error costs 10 rows, as in the
paper, or 5. Inside the 80 %, OPDTClassifierCV chooses with its default arguments, and for
comparison without the rule of one standard error; OPDTClassifier takes that price and depth 2. All
are judged by the VI at that price on the 20 %.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from common import Grid, Log, Record
from sklearn.model_selection import train_test_split
from tables import by_dataset

from opdt.analysis.counts import counts_on
from opdt.datasets import load
from opdt.errors import OpdtWarning
from opdt.estimators.classifier import OPDTClassifier
from opdt.estimators.classifier_cv import OPDTClassifierCV
from opdt.rules import Rule

SECTION = "choosing"
DATASETS = ("german", "heart_disease", "thoracic_surgery")  # where the paper says that w = 10 fails
PRICES = (10.0, 5.0)
SPLITS = 10


class Wanted(Protocol):
    """What the section needs to know."""

    data: Path | None
    datasets: tuple[str, ...]
    threads: int
    quick: bool


def run(log: Log, settings: Wanted) -> None:
    """Both models on every split of the datasets in question."""
    chosen = [name for name in settings.datasets if name in DATASETS] or list(settings.datasets)
    for name in chosen[:1] if settings.quick else chosen:
        data = load(name, folder=settings.data)
        for seed, price in product(range(1 if settings.quick else SPLITS), PRICES):
            record = measure(data, seed, price, settings)
            log.add(SECTION, **record)
            print(
                f"  {name}, split {seed}: {record['plain_vi']:g} with w = {price:g}, "
                f"{record['chosen_vi']:g} with {record['chosen_params'] or 'no rule'}",
                flush=True,
            )


def measure(data: Any, seed: int, price: float, settings: Wanted) -> Record:
    """One outer split, at one price of an error."""
    X, X_new, y, y_new = train_test_split(
        data.X, data.y, train_size=0.8, random_state=seed, stratify=data.y
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpdtWarning)  # of constant columns
        plain = fit(X, y, {"max_depth": 2, "w": price}, settings)
        model = OPDTClassifierCV(scoring_w=price, n_jobs=settings.threads).fit(X, y)
        scores = model.cv_results_["mean_test_score"]
        best = model.cv_results_["params"][scores.argmax()] if scores.max() > 0 else None
        rules = {"plain": plain, "chosen": model.rule_, "best": best and fit(X, y, best, settings)}
    record: Record = {"dataset": data.name, "seed": seed, "price": price, "new_rows": len(y_new)}
    for name, (covered, errors, _) in zip(
        rules, counts_on(rules.values(), X_new, y_new), strict=True
    ):
        record |= {
            f"{name}_vi": covered - price * errors,
            f"{name}_covered": covered,
            f"{name}_errors": errors,
            f"{name}_rule": str(rules[name]),
        }
    return record | {
        "chosen_params": model.best_params_,
        "best_params": best,
        "seconds": time.perf_counter() - started,
    }


def fit(X: Any, y: Any, params: dict[str, Any], settings: Wanted) -> Rule | None:
    """The rule of one setting."""
    rule: Rule | None = OPDTClassifier(**params, n_jobs=settings.threads).fit(X, y).rule_
    return rule


def grids(records: Sequence[Record]) -> list[Grid]:
    """Means over the splits, and how often there was no rule."""
    header = (
        "dataset", "an error costs", "rule", "test VI", "better, equal, worse", "no rule",
        "precision", "coverage",
    )  # fmt: skip
    words = {
        "plain": "trained with this price, depth 2",
        "chosen": "chosen",
        "best": "chosen, without the standard error",
    }
    rows = []
    for price, (name, every) in product(PRICES, by_dataset(records).items()):
        mine = [r for r in every if r["price"] == price]
        for which, title in words.items():
            first = (name, f"{price:g} rows") if which == "plain" else ("", "")
            gains = [r[f"{which}_vi"] - r["plain_vi"] for r in mine]
            signs = (sum(g > 0 for g in gains), gains.count(0), sum(g < 0 for g in gains))
            rows.append(
                (
                    *first,
                    title,
                    _mean([r[f"{which}_vi"] for r in mine]),
                    "" if which == "plain" else ", ".join(map(str, signs)),
                    f"{sum(r[f'{which}_rule'] == 'None' for r in mine)} of {len(mine)}",
                    _precision(mine, which),
                    _coverage(mine, which),
                )
            )
    return [Grid(header, rows, n_words=3)]


def _mean(values: Sequence[float]) -> str:
    """The mean with its standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.1f} ± {error:.1f}"


def _precision(records: Sequence[Record], which: str) -> str:
    """The precision on all new rows together."""
    covered = sum(r[f"{which}_covered"] for r in records)
    errors = sum(r[f"{which}_errors"] for r in records)
    return f"{1 - errors / covered:.1%}" if covered else "–"


def _coverage(records: Sequence[Record], which: str) -> str:
    """The share of all new rows that is covered."""
    covered = sum(r[f"{which}_covered"] for r in records)
    return f"{covered / sum(r['new_rows'] for r in records):.1%}"
