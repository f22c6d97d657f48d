"""Rule sets and rule lists on the fifteen datasets: what is proven, and what it is worth.

Two sections. `rule_sets`: the best set of at most five rules of two conditions on all rows, with
its bound, within a minute. `rule_tests`: what rules learned on 80 % of the rows say about the
others, beside other methods and a gradient boosting ceiling.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from common import Grid, Log, Record, short
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from opdt.analysis.column_generation import best_rule_set
from opdt.baselines import get_baseline
from opdt.datasets import Dataset, load
from opdt.errors import OpdtWarning
from opdt.estimators import OPDTRuleList, OPDTRuleSet
from opdt.rules import Rule, RuleList, RuleSet
from opdt.table import Table

PROOFS, TESTS = "rule_sets", "rule_tests"
MAX_RULES, DEPTH, LIMIT = 5, 2, 60.0
N_SPLITS, QUICK_SPLITS = 3, 1
# What cross-validation chooses from: the price of an error for a list, of a condition for a set.
ERROR_PRICES, CONDITION_PRICES = (2, 3, 5, 10), (1, 2, 4, 8)
TEST_LIMIT, FOLD_LIMIT = 10.0, 2.0  # seconds for the set of a split, and of one of its folds


class Wanted(Protocol):
    """What the section needs to know."""

    data: Path | None
    datasets: tuple[str, ...]
    quick: bool


class Fitted(NamedTuple):
    """Predictions for held-out rows, and the size of what made them; None where it has no rules."""

    predicted: Any
    n_rules: int | None = None
    n_conditions: int | None = None
    more: Record = {}  # noqa: RUF012 - never written to


def run(log: Log, settings: Wanted) -> None:
    """Find the best set of each dataset, and prove what can be proven."""
    for name in settings.datasets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OpdtWarning)  # of constant columns
            record = proof(load(name, folder=settings.data))
        log.add(PROOFS, **record)
        print(
            f"  {name}: loss {record['loss']:g}, bound {record['bound']:g} "
            f"({record['status']}) in {short(record['seconds'])} "
            f"({short(record['cpu'])} of processor time)",
            flush=True,
        )


def run_tests(log: Log, settings: Wanted) -> None:
    """Compare methods on splits of each dataset."""
    for name in settings.datasets:
        data = load(name, folder=settings.data)
        records = []
        for seed in range(QUICK_SPLITS if settings.quick else N_SPLITS):
            for method in METHODS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", OpdtWarning)
                    records.append(compare(data, method, seed))
                log.add(TESTS, **records[-1])
        shown = (f"{m} {_mean(records, 'accuracy', method=m):.1%}" for m in METHODS)
        print(f"  {name}: {', '.join(shown)}", flush=True)


# -- proof -----------------------------------------------------------------------------------


def proof(data: Dataset) -> Record:
    """The set of all rows, from the coded table, after a run that compiles."""
    table = Table.build(data.X, data.y)
    asked = {"max_rules": MAX_RULES, "max_depth": DEPTH}
    best_rule_set(table, **asked, time_limit=1)
    cpu = time.process_time()
    found = best_rule_set(table, **asked, time_limit=LIMIT)
    cpu = time.process_time() - cpu
    wrong = np.mean(found.rule_set.covers(data.X) != (data.y == found.rule_set.label))
    return {
        "dataset": data.name,
        "rows": table.n_rows,
        "features": table.n_features,
        "label": str(found.rule_set.label),
        "loss": found.value,
        "bound": found.bound,
        "relaxation": found.relaxation,
        "status": str(found.status),
        "stopped_by": str(found.stopped_by),
        "rules": len(found.rule_set),
        "conditions": found.n_conditions,
        "training_accuracy": 1 - float(wrong),
        "searches": found.iterations,
        "columns": found.columns,
        "nodes": found.nodes,
        "seconds": found.seconds,
        "cpu": cpu,
    }


# -- test ------------------------------------------------------------------------------------


def compare(data: Dataset, method: str, seed: int) -> Record:
    """One method on one split: 80 % of the rows to learn from, stratified."""
    X, X_new, y, y_new = train_test_split(
        data.X, data.y, train_size=0.8, random_state=seed, stratify=data.y
    )
    started, cpu = time.perf_counter(), time.process_time()
    fitted = METHODS[method](X, y, X_new, seed)
    return {
        "dataset": data.name,
        "method": method,
        "seed": seed,
        "accuracy": float(accuracy_score(y_new, fitted.predicted)),
        "balanced": float(balanced_accuracy_score(y_new, fitted.predicted)),
        "rules": fitted.n_rules,
        "conditions": fitted.n_conditions,
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        **fitted.more,
    }


def _size(rules: Sequence[Rule]) -> tuple[int, int]:
    return len(rules), sum(map(len, rules))


def _rule_set(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
    model = OPDTRuleSet(MAX_RULES, DEPTH, time_limit=TEST_LIMIT).fit(X, y)
    proven = {"loss": model.value_, "bound": model.bound_}
    return Fitted(model.predict(X_new), *_size(model.rule_set_.rules), proven)


def _rule_list(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
    model = OPDTRuleList(DEPTH, 10, max_rules=MAX_RULES, class_weight=None).fit(X, y)
    return Fitted(model.predict(X_new), *_size(model.rule_list_.rules))


def _tuned_set(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    quick = OPDTRuleSet(MAX_RULES, DEPTH, time_limit=FOLD_LIMIT)
    search = GridSearchCV(quick, {"condition_price": CONDITION_PRICES}, cv=folds, refit=False)
    price = search.fit(X, y).best_params_["condition_price"]
    model = OPDTRuleSet(MAX_RULES, DEPTH, condition_price=price, time_limit=TEST_LIMIT).fit(X, y)
    more = {"loss": model.value_, "bound": model.bound_, "price": price}
    return Fitted(model.predict(X_new), *_size(model.rule_set_.rules), more)


def _tuned_list(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    search = GridSearchCV(
        OPDTRuleList(DEPTH, max_rules=MAX_RULES, class_weight=None), {"w": ERROR_PRICES}, cv=folds
    )
    model = search.fit(X, y).best_estimator_
    return Fitted(
        model.predict(X_new), *_size(model.rule_list_.rules), {"w": search.best_params_["w"]}
    )


def _any_fires(name: str, *, first: int | None = None, **settings: Any) -> Callable[..., Fitted]:
    """A method whose rules for the rarer class decide: that class where any fires."""

    def fit(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
        counts = y.value_counts()
        rare, common = counts.index[-1], counts.index[0]
        found = get_baseline(name, seed=seed, **settings).fit(X, y)
        rules = [rule for rule in found if rule.label == rare][:first]
        return Fitted(RuleSet(rules, rare, common).predict(X_new), *_size(rules))

    return fit


def _cart(depth: int) -> Callable[..., Fitted]:
    """The leaves of a tree; every row reaches one, unless a value is missing."""

    def fit(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
        rules = get_baseline("cart", seed=seed, max_depth=depth).fit(X, y)
        leaves = RuleList(rules, y.value_counts().index[0])
        return Fitted(leaves.predict(X_new), *_size(rules))

    return fit


def _boosting(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
    text = [name for name in X if X[name].dtype.kind not in "biuf"]
    levels = {name: sorted({*X[name].dropna(), *X_new[name].dropna()}) for name in text}

    def coded(frame: Any) -> Any:
        import pandas as pd

        kinds = {name: pd.CategoricalDtype(known) for name, known in levels.items()}
        return frame.astype(kinds)

    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
    return Fitted(model.fit(coded(X), y).predict(coded(X_new)))


def _most_frequent(X: Any, y: Any, X_new: Any, seed: int) -> Fitted:
    return Fitted(np.full(len(X_new), y.value_counts().index[0]), 0, 0)


METHODS: dict[str, Callable[..., Fitted]] = {
    "OPDTRuleSet": _rule_set,
    "OPDTRuleSet, CV": _tuned_set,
    "OPDTRuleList": _rule_list,
    "OPDTRuleList, CV": _tuned_list,
    "RIPPER": _any_fires("ripper"),
    "BRS": _any_fires("brs"),
    "SkopeRules": _any_fires("skope", first=MAX_RULES),
    "CART": _cart(3),
    "boosting": _boosting,
    "most frequent": _most_frequent,
}


# -- tables ----------------------------------------------------------------------------------


def grids(records: Sequence[Record]) -> list[Grid]:
    """What is proven."""
    return [proof_grid(records)]


def test_grids(records: Sequence[Record]) -> list[Grid]:
    """The means of each method, and accuracies by dataset."""
    return [method_grid(records), accuracy_grid(records)]


def proof_grid(records: Sequence[Record]) -> Grid:
    """One row per dataset."""
    header = (
        "dataset", "class", "rows × features", "loss", "bound", "gap", "linear program",
        "rules", "conditions", "searches", "rules listed", "time", "processor",
    )  # fmt: skip
    rows = [
        (
            r["dataset"],
            r["label"],
            f"{r['rows']} × {r['features']}",
            f"{r['loss']:g}",
            f"{r['bound']:g}",
            "proven" if r["status"] == "optimal" else f"{(r['loss'] - r['bound']) / r['loss']:.1%}",
            f"{r['relaxation']:.1f}",
            str(r["rules"]),
            str(r["conditions"]),
            str(r["searches"]),
            str(r["columns"]),
            short(r["seconds"]),
            short(r["cpu"]),
        )
        for r in records
    ]
    return Grid(header, rows, n_words=2)


def _mean(records: Sequence[Record], field: str, **chosen: Any) -> float:
    found = [
        r[field]
        for r in records
        if r[field] is not None and all(r[key] == value for key, value in chosen.items())
    ]
    return float(np.mean(found)) if found else float("nan")


def accuracy_grid(records: Sequence[Record]) -> Grid:
    """Mean accuracy on held-out rows: a row per dataset, a column per method."""
    methods = list(dict.fromkeys(r["method"] for r in records))
    datasets = list(dict.fromkeys(r["dataset"] for r in records))
    rows = [
        (name, *(f"{_mean(records, 'accuracy', dataset=name, method=m):.1%}" for m in methods))
        for name in datasets
    ]
    rows.append(("**mean**", *(f"{_mean(records, 'accuracy', method=m):.1%}" for m in methods)))
    return Grid(("dataset", *methods), rows)


def method_grid(records: Sequence[Record]) -> Grid:
    """Means over all datasets and splits."""
    header = (
        "method", "accuracy", "balanced accuracy", "rules", "conditions", "time", "processor",
    )  # fmt: skip
    rows = []
    for method in dict.fromkeys(r["method"] for r in records):
        sizes = (_mean(records, field, method=method) for field in ("rules", "conditions"))
        rows.append(
            (
                method,
                f"{_mean(records, 'accuracy', method=method):.1%}",
                f"{_mean(records, 'balanced', method=method):.1%}",
                *("–" if np.isnan(size) else f"{size:.1f}" for size in sizes),
                short(_mean(records, "seconds", method=method)),
                short(_mean(records, "cpu", method=method)),
            )
        )
    return Grid(header, rows)
