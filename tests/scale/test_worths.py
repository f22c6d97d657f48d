"""Objectives that say what each row is worth, over partitions: as in memory, and by enumeration."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import enumeration as plain
from opdt import Mean, Money, Status, Survival, Uplift, discover
from opdt.errors import InputError, UnsupportedProblem
from opdt.scale import discover_partitioned
from scale.partitions import TableScanner


def _case(seed: int) -> None:
    """A random table in pieces against all rules of the whole."""
    rng = np.random.default_rng(seed)
    columns = plain.small_table(rng)
    columns = {k: v for k, v in columns.items() if len({c for c in v if c is not None}) > 1}
    if not columns:
        return
    n_rows = len(next(iter(columns.values())))
    roles = {
        name: "categorical" if any(isinstance(c, str) for c in cells) else "numeric"
        for name, cells in columns.items()
    }
    amounts = plain.amounts(rng, n_rows)
    exact = plain.exact(amounts)
    asked: dict[str, Any] = {"roles": roles, "max_depth": int(rng.integers(1, 3)), "n_jobs": 1}
    own: dict[str, Any]
    if rng.random() < 0.5:
        labels = [*rng.choice(["no", "yes"], n_rows - 1).tolist(), "yes"]
        cost = [abs(each) for each in plain.amounts(rng, n_rows)]
        objective: Any = Money(benefit="benefit", cost="cost" if rng.random() < 0.5 else 2.5)
        if objective.cost != "cost":
            cost = [2.5] * n_rows
        own, asked["label"] = {"y": labels, "benefit": amounts, "cost": cost}, "yes"
        if objective.cost != "cost":
            del own["cost"]
        gains = [
            b if label == "yes" else -c
            for b, c, label in zip(exact, plain.exact(cost), labels, strict=True)
        ]
    else:
        low = bool(rng.random() < 0.5)
        objective = Mean(threshold=2.25, direction="low" if low else "high")
        own, sign = {"y": amounts}, -1 if low else 1
        gains = [sign * (each - Fraction(9, 4)) for each in exact]
    table = pa.table(columns | own)
    cuts = sorted(rng.integers(0, n_rows + 1, 2).tolist())
    ends = zip([0, *cuts], [*cuts, n_rows], strict=True)
    parts = [table.slice(a, b - a) for a, b in ends]
    found = discover_partitioned(TableScanner(parts), "y", objective=objective, **asked)
    best = plain.largest_sum(columns, gains, asked["max_depth"])
    assert found.value == found.bound == float(best)
    assert found.status is (Status.NO_PATTERN if best <= 0 else Status.OPTIMAL)
    if found.rule is None:
        return
    fires = found.rule.covers(columns)
    assert sum(g for g, fire in zip(gains, fires, strict=True) if fire) == best
    y = own.pop("y")
    if len(set(y)) == 1:
        return
    whole = discover(columns | own, y, objective=objective, **asked)
    assert found.value == whole.value
    assert found.rule.label == whole.rule.label
    assert found.covered == fires.sum()
    if found.rule == whole.rule:  # unless rules tie
        assert (found.errors, str(found.account)) == (whole.errors, str(whole.account))


def test_the_best_rule_in_pieces_is_that_of_an_enumeration():
    for seed in range(60):
        _case(seed)


@pytest.mark.slow
def test_the_best_rule_in_pieces_is_that_of_an_enumeration_on_many_tables():
    for seed in range(1500):
        _case(seed)


@pytest.fixture
def files(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    for part in range(2):
        a = rng.integers(0, 30, 100)
        ill = np.where((a > 20) & (rng.random(100) < 0.8), "ill", "well")
        amount = np.round(rng.exponential(50, 100), 2)
        table = pa.table({"a": a, "b": rng.permutation(a), "amount": amount, "y": ill})
        pq.write_table(table, tmp_path / f"{part}.parquet")
    return str(tmp_path / "*.parquet")


MONEY = Money(benefit="amount", cost=4, unit="EUR")


def test_files_are_searched_and_the_account_is_theirs(files):
    found = discover(files, "y", label="ill", objective=MONEY)
    whole = pq.read_table(str(Path(files).parent)).to_pydict()
    y = whole.pop("y")
    same = discover(whole, y, label="ill", objective=MONEY)
    assert (found.rule, found.value, found.bound) == (same.rule, same.value, same.bound)
    assert str(found.account) == str(same.account)
    assert found.objective == MONEY


def test_a_dask_frame_is_searched_where_it_lies(files):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pq.read_table(str(Path(files).parent)).to_pandas(), npartitions=3)
    found = discover(frame, "y", label="ill", objective=MONEY)
    assert found.value == discover(files, "y", label="ill", objective=MONEY).value


def test_where_every_row_is_worth_covering_none_is_left_out():
    table = pa.table({"a": [1, 2, 3, 4], "y": [5, 6, 7, 8]})
    parts = TableScanner([table.slice(0, 2), table.slice(2)])
    found = discover_partitioned(parts, "y", objective=Mean(threshold=1), max_depth=1)
    same = discover({"a": [1, 2, 3, 4]}, [5, 6, 7, 8], objective=Mean(threshold=1), max_depth=1)
    assert (found.rule, found.value, found.covered) == (same.rule, same.value, same.covered)


def test_a_time_limit_ends_it(files):
    found = discover(files, "y", label="ill", objective=MONEY, time_limit=0)
    assert found.status is Status.FEASIBLE
    assert found.rule is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"objective": Mean()}, r"highest mean needs the whole table in memory"),
        ({"objective": MONEY, "label": "ill", "min_coverage": 5}, r"limits on covered rows beside"),
        ({"objective": MONEY, "label": "ill", "sample_weight": "b"}, r"'sample_weight' beside"),
        ({"objective": Survival(time="a", event="b")}, r"put the scores into a column"),
        ({"objective": Uplift(treatment="a", outcome="b")}, r"put the scores into a column"),
        ({"objective": "f1"}, r"Money, and Mean with a threshold"),
    ],
)
def test_what_needs_the_whole_table_says_so(files, asked, message):
    with pytest.raises(UnsupportedProblem, match=message):
        discover(files, "y", **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"objective": MONEY}, r"'label' must name the class that brings the benefit"),
        ({"objective": MONEY, "label": "dead"}, r"'label' is 'dead', but no row of column 'y'"),
        ({"objective": Money(benefit="amuont"), "label": "ill"}, r"'amuont'.*amount"),
        ({"objective": Money(benefit=[1, 2]), "label": "ill"}, r"'benefit' must be a number or"),
        ({"objective": Mean(threshold=1)}, r"the target, column 'y', must hold numbers"),
        ({"objective": Money(cost=1 / 3), "label": "ill"}, r"'cost' is 0.333.*six decimals"),
    ],
)
def test_bad_arguments_get_a_sentence(files, asked, message):
    with pytest.raises(InputError, match=message):
        discover(files, "y", **asked)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.0, None], r"column 'amount', which has missing values"),
        ([1.0, float("inf")], r"column 'amount', which must hold finite numbers"),
        ([1.0, 1 / 3], r"column 'amount', which must hold numbers below 1e9 of at most six"),
    ],
)
def test_bad_cells_get_a_sentence(tmp_path, cells, message):
    for part in range(2):
        table = pa.table({"a": [1, 2], "amount": cells, "y": ["ill", "well"]})
        pq.write_table(table, tmp_path / f"{part}.parquet")
    with pytest.raises(InputError, match=message):
        discover(str(tmp_path), "y", label="ill", objective=MONEY)
