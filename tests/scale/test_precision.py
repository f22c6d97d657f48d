"""The most precise rule over partitions is that of the rows in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt.discovery import discover
from opdt.errors import InputError
from opdt.problem import Problem
from opdt.scale import discover_partitioned, prices
from opdt.solution import Budget, Status, StopReason
from scale.partitions import TableScanner, arrow_of, cut, settings_of, shown, solve
from strategies import small_problems


@pytest.mark.parametrize("objective", ["precision", "coverage"])
def test_objectives_have_the_rule_of_the_rows_in_memory(objective: str) -> None:
    @settings(max_examples=10)
    @given(
        small_problems(weights=["none", "integers", "decimals"], max_rules=1500),
        st.integers(0, 2**32 - 1),
    )
    def check(problem: Problem, seed: int) -> None:
        rng = np.random.default_rng(seed)
        limits = problem.constraints
        if objective == "precision":
            limits = replace(limits, min_coverage=limits.min_coverage or 0.2)
        else:
            limits = replace(limits, min_precision=limits.min_precision or 0.7)
        asked = {"objective": objective, "constraints": limits}
        parts = cut(arrow_of(problem), rng, int(rng.integers(1, 6)))
        here = {k: v for k, v in settings_of(problem).items() if k not in ("y", "sample_weight")}
        here.pop("roles")
        expected = discover(problem.table, **{**here, **asked})
        assert shown(solve(problem, TableScanner(parts), **asked)) == shown(expected)

    check()


def table(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, n))
    y = rng.random(n) < 0.1 + 0.5 * ((a > 0.5) & (b < 0))
    return pa.table({"a": a, "b": b, "y": y})


def test_a_limit_on_passes_leaves_a_true_bound() -> None:
    rows, seen = table(), []
    parts = [rows.slice(0, 1000), rows.slice(1000)]
    asked = {"label": "rarest", "objective": "precision"}
    watched = Budget(progress=seen.append)
    whole = discover_partitioned(TableScanner(parts), "y", **asked, budget=watched)
    assert whole.status is Status.OPTIMAL
    assert bool(whole.rule.label)
    assert all(each.value <= whole.value <= each.bound for each in seen if each.passes > 1)
    for passes in (0, 1, 3):
        cut_short = discover_partitioned(TableScanner(parts), "y", **asked, max_passes=passes)
        assert cut_short.stopped_by is StopReason.PASSES
        assert cut_short.value <= whole.value <= cut_short.bound


def test_weights_of_too_many_digits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "MAX_UNITS", 100)
    with pytest.raises(InputError, match="objective 'precision' needs rows or weights"):
        discover_partitioned(TableScanner([table(200)]), "y", objective="precision")
