"""Kind "rule": what one method's best rule does on the training and test rows of one split."""

from __future__ import annotations

from functools import cache
from time import perf_counter, process_time
from typing import Any

from opdt.baselines import Baseline, best_rule, get_baseline
from opdt.baselines.constrained import separated
from opdt.discovery import discover
from opdt.experiments.cell import Cell, Record
from opdt.experiments.data import train_test
from opdt.problem import Structure
from opdt.rules import Rule, rule_to_dict
from opdt.solution import Budget
from opdt.table import Table

OPDT = "opdt"
W = 10.0  # the paper's price of one error


def measure(cell: Cell) -> Record:
    """Learn on the training rows, take the best rule by its VI there, measure it on both parts.

    Parameters of the cell: `dataset`, `split`, `method`; `depth` and `separate` for opdt; for
    another method its settings, such as `seed`; `w` where it is not 10.

    Returns
    -------
    record
        `rule` as text and `json`, both None without a rule; `n_rules` learned; the time of
        learning on a table that is already coded, `cpu_seconds` of the processor and
        `wall_seconds` of the clock; `proven` and `bound` for opdt; and for `train` and `test`
        what `_part` gives.
    """
    data = train_test(cell["dataset"], cell["split"])
    w = float(cell.get("w", W))
    if cell["method"] == OPDT:
        rule, facts = _optimum(data.table, cell["depth"], w, separate=cell.get("separate", False))
    else:
        settings = {
            k: v for k, v in cell.parameters if k not in ("dataset", "split", "method", "w")
        }
        rule, facts = _learned(get_baseline(cell["method"], **settings), data.table, w)
    return {
        "rule": None if rule is None else str(rule),
        "json": None if rule is None else rule_to_dict(rule),
        "conditions": None if rule is None else len(rule),
        **facts,
        "train": _part(rule, data.X_train, data.y_train, w),
        "test": _part(rule, data.X_test, data.y_test, w),
    }


def _optimum(
    table: Table, depth: int, w: float, *, separate: bool
) -> tuple[Rule | None, dict[str, Any]]:
    """The best rule of all, by the search engine on one thread.

    With `separate` it is the best of those of the structures that keep numeric and categorical
    features apart, the first of equals, and the time is that of all of them. All is solved twice
    and the second time counts: the first loads compiled code, which no further solve in the
    process has to do.
    """
    structures: list[Structure | None] = [None]
    if separate:
        structures = [Structure.levels(*levels) for levels in separated(table, depth)]
    for _ in range(2):
        timer = _Timer()
        solutions = [
            discover(table, max_depth=depth, structure=each, w=w, budget=Budget(n_jobs=1))
            for each in structures
        ]
        seconds = timer.seconds()
    solution = max(solutions, key=lambda each: each.value)
    facts = {
        "n_rules": sum(each.rule is not None for each in solutions),
        **seconds,
        "proven": all(each.status.is_proven for each in solutions),
        "bound": max(each.bound for each in solutions),
    }
    return solution.rule, facts


def _learned(method: Baseline, table: Table, w: float) -> tuple[Rule | None, dict[str, Any]]:
    """The best of the rules that a method learns, by VI on the rows it has learned from."""
    _warm_up(method.name)
    timer = _Timer()
    rules = method.fit(table)
    seconds = timer.seconds()
    return best_rule(rules, table, w=w), {"n_rules": len(rules), **seconds}


class _Timer:
    """Processor and wall time since it was made; only the latter grows with other work."""

    def __init__(self) -> None:
        self._started = process_time(), perf_counter()

    def seconds(self) -> dict[str, float]:
        processor, clock = self._started
        return {
            "cpu_seconds": process_time() - processor,
            "wall_seconds": perf_counter() - clock,
        }


@cache
def _warm_up(name: str) -> None:
    """Let a method load its packages on a small table, once in a process, before it is timed."""
    values = list(range(20))
    table = Table.build({"x": values, "y": values[::-1]}, [value >= 8 for value in values])
    get_baseline(name).fit(table)


def _part(rule: Rule | None, X: Any, y: Any, w: float) -> Record:
    """Numbers of a rule on some rows; precision is None where it covers none.

    Without a rule nothing is covered, so that VI and coverage are 0.
    """
    covered = errors = 0
    if rule is not None:
        fires = rule.covers(X)
        covered = int(fires.sum())
        errors = int((y.to_numpy()[fires] != rule.label).sum())
    return {
        "rows": len(y),
        "covered": covered,
        "errors": errors,
        "vi": covered - w * errors,
        "coverage": covered / len(y),
        "precision": (covered - errors) / covered if covered else None,
    }
