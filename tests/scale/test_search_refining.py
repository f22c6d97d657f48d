"""Tables of up to 20,000 rows, with limits so small that boxes are cut and cut again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import opdt
from engines.search.support import make_default
from opdt.engines.search import Switches
from opdt.engines.search.tuning import Tuning
from opdt.errors import UnsupportedProblem
from opdt.scale import (
    discover_partitioned,
    driver,
    front,
    partition_rows,
    summary,
)
from scale.partitions import TableScanner, cut, shown


def random_rows(seed: int, n_rows: int) -> pa.Table:
    """Numbers of several widths, text, dates, missing values, and a planted rule."""
    rng = np.random.default_rng(seed)
    wide, narrow = rng.normal(size=n_rows), rng.integers(0, 40, n_rows)
    skewed = rng.exponential(100, n_rows).astype(np.float32)
    text = rng.choice(["north", "south", "east", "Ä"], n_rows)
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, n_rows)
    fires = (wide >= rng.normal()) & (narrow < rng.integers(5, 40)) | (text == "Ä") & (skewed > 150)
    labels = np.where(fires ^ (rng.random(n_rows) < 0.1), "bad", "good")
    gone = rng.random(n_rows) < 0.1
    return pa.table({
        "wide": pa.array(wide, mask=gone), "narrow": narrow.astype(np.int16), "skewed": skewed,
        "text": pa.array(text, mask=rng.random(n_rows) < 0.05), "day": days, "y": labels,
    })  # fmt: skip


def compare(table: pa.Table, seed: int, **settings: Any) -> None:
    rng = np.random.default_rng(seed)
    parts = cut(table, rng, int(rng.integers(1, 9)))
    there = discover_partitioned(TableScanner(parts), "y", **settings)
    here = opdt.discover(table, "y", **settings)
    assert shown(there) == shown(here)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bins and few rows brought back, so that small tables need many passes."""
    ladder = ((6,), (5, 9), (4, 6), (3,))
    tuning = Tuning(
        ladder=ladder, many_boxes=1, inner_bins=(8, 8, 8, 4), fetched_rows=40, sample_rows=50
    )
    make_default(monkeypatch, tuning=tuning)
    monkeypatch.setattr(front, "SAMPLE", 60)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", range(12))
def test_boxes_that_are_cut_again_and_again_hold_the_same_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_rows(seed, int(rng.integers(30, 1500)))
    compare(table, seed, max_depth=2, w=float(rng.choice([2, 5, 10])))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "asked", [{"min_coverage": 0.4}, {"max_errors": 4}, {"min_precision": 0.95}]
)
def test_limits_that_bind_have_prices_and_the_same_rule(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    priced: list[bool] = []
    found = partition_rows.unit_prices

    def spy(*args: Any) -> Any:
        prices = found(*args)
        priced.append(bool(prices))
        return prices

    monkeypatch.setattr(partition_rows, "unit_prices", spy)
    for seed in range(6):
        table = random_rows(900 + seed, 300)
        compare(table, seed, max_depth=2, w=3, constraints=asked)
    assert any(priced)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", range(4))
def test_three_conditions_need_no_more_than_more_passes(seed: int) -> None:
    compare(random_rows(100 + seed, 300), seed, max_depth=3, w=5)


@pytest.mark.parametrize("seed", range(4))
def test_twenty_thousand_rows_are_solved_as_in_memory(seed: int) -> None:
    compare(random_rows(200 + seed, 20_000), seed, max_depth=2, w=[10, 3, 5, 2][seed])


def test_little_memory_means_more_passes_and_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_rows(600, 3000)
    parts = cut(table, np.random.default_rng(0), 3)
    much, little = TableScanner(parts), TableScanner(parts)
    one = discover_partitioned(much, "y", w=5)
    monkeypatch.setattr(driver, "LEAST_ROOM", 1 << 16)
    two = discover_partitioned(little, "y", w=5, memory_limit=1)
    assert shown(one) == shown(two)
    assert little.passes > much.passes


@pytest.mark.parametrize("seed", range(3))
def test_three_conditions_that_pairs_rule_out_are_not_missed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = random_rows(500 + seed, 800)
    parts = cut(table, np.random.default_rng(seed), 3)
    solutions = []
    for bounded in (True, False):
        if not bounded:  # every set of three features is counted
            monkeypatch.setattr(partition_rows.PairBounds, "of", lambda *_: None)
        scanner = TableScanner(parts)
        solutions.append(discover_partitioned(scanner, "y", max_depth=3, w=5))
    assert shown(solutions[0]) == shown(solutions[1])
    assert solutions[0].statistics.evaluations < solutions[1].statistics.evaluations


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", range(3))
def test_four_conditions_are_solved_as_in_memory(seed: int) -> None:
    compare(random_rows(700 + seed, 60), seed, max_depth=4, w=3)


@pytest.mark.parametrize("depth", [1, 2])
def test_many_classes_and_many_levels_are_solved_as_in_memory(depth: int) -> None:
    rng = np.random.default_rng(depth)
    n = 4000
    level = rng.integers(0, 300, n)
    number = rng.normal(size=n)
    label = np.where((level % 7 == 3) & (number > 0.3), level % 20, rng.integers(0, 20, n))
    text = np.array([f"level {code}" for code in range(300)])[level]
    table = pa.table({"level": text, "number": number, "y": [f"class {c}" for c in label]})
    compare(table, depth, max_depth=depth, w=2)


class Rare:
    """Keys close together in one place, far from all others, which no sample shows."""

    @staticmethod
    def rows(n_rows: int) -> pa.Table:
        rng = np.random.default_rng(3)
        close = np.nextafter(1.0, 2.0) - 1.0
        x = np.where(rng.random(n_rows) < 0.5, 1.0 + close * rng.integers(0, 400, n_rows), -1e300)
        z = 1e-300 * rng.integers(0, 400, n_rows)
        inside = (x > 1.0 + 150 * close) & (z > 1e-300 * 200)
        return pa.table({"x": x, "z": z, "y": np.where(inside ^ (rng.random(n_rows) < 0.1), 1, 0)})


def test_boxes_shrink_even_where_the_sample_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = Tuning(fetched_rows=3, ladder=((3,),) * 8, inner_bins=(4,) * 8)
    monkeypatch.setattr(front, "SAMPLE", 12)
    monkeypatch.setattr(front, "LEAST_SAMPLE", 12)
    table = Rare.rows(400)
    scanner = TableScanner([table])
    there = discover_partitioned(scanner, "y", max_depth=2, w=3, switches=Switches(tuning=tuning))
    assert shown(there) == shown(opdt.discover(table, "y", max_depth=2, w=3))
    assert scanner.passes < 150


def test_a_column_of_too_many_levels_may_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_LEVELS", 20)
    table = random_rows(800, 300).append_column(
        "name", pa.array([f"name {i % 30}" for i in range(300)])
    )
    with pytest.raises(UnsupportedProblem, match="column 'name' has more than 20 levels"):
        discover_partitioned(TableScanner([table]), "y", w=5)
    request = {"constraints": {"forbidden": ["name"]}, "w": 5}
    there = discover_partitioned(TableScanner([table]), "y", **request)
    assert shown(there) == shown(opdt.discover(table, "y", **request))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", range(6))
def test_gains_of_single_rows_are_weights_of_two_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_rows(1_000 + seed, int(rng.integers(40, 400))).drop_columns(["y"])
    gains = np.round(rng.normal(size=len(table)), int(rng.integers(0, 4)))
    worth = table.append_column("pays", pa.array(gains > 0)).append_column(
        "amount", pa.array(np.abs(gains))
    )
    there = discover_partitioned(
        TableScanner(cut(worth, rng, 3)), "pays", label=True, w=2, sample_weight="amount"
    )
    here = opdt.Searcher(opdt.Problem.of(table, gains > 0)).solve(gains)
    assert there.status is here.status is opdt.Status.OPTIMAL
    assert there.value == pytest.approx(here.value, abs=1e-9)
