"""Each objective against an enumeration of all rules on raw values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import enumeration as plain
from opdt import Mean, Money, Status, discover

SEEDS = st.integers(0, 2**32 - 1)
ROLES = {"f0", "f1", "f2"}


def _roles(columns):
    """Nothing is taken for an identifier or a constant's column: all are features."""
    kinds = {
        name: "categorical" if any(isinstance(c, str) for c in cells) else "numeric"
        for name, cells in columns.items()
    }
    usable = {
        name for name, cells in columns.items() if len({c for c in cells if c is not None}) > 1
    }
    return {name: kind for name, kind in kinds.items() if name in usable}


def _table(rng):
    columns = plain.small_table(rng)
    roles = _roles(columns)
    columns = {name: columns[name] for name in roles}
    return columns, roles


def _money(seed):
    rng = np.random.default_rng(seed)
    columns, roles = _table(rng)
    if not columns:
        return
    n_rows = len(next(iter(columns.values())))
    labels = rng.choice(["no", "yes"], n_rows).tolist()
    if len(set(labels)) < 2:
        return
    depth = int(rng.integers(1, 3))
    benefit = plain.amounts(rng, n_rows)
    cost = [abs(each) for each in plain.amounts(rng, n_rows)]
    if rng.random() < 0.3:
        cost = [cost[0]] * n_rows
        given_cost = cost[0]
    else:
        given_cost = cost
    weights = rng.integers(1, 4, n_rows).tolist() if rng.random() < 0.3 else [1] * n_rows
    least = int(rng.integers(0, 3)) if set(weights) == {1} else 0
    found = discover(
        columns, labels, label="yes", roles=roles, max_depth=depth,
        objective=Money(benefit=benefit, cost=given_cost), min_coverage=least,
        sample_weight=None if set(weights) == {1} else weights,
        engine=str(rng.choice(["search", "exhaustive"])),
    )  # fmt: skip
    gains = [
        weight * (b if label == "yes" else -c)
        for weight, b, c, label in zip(
            weights, plain.exact(benefit), plain.exact(cost), labels, strict=True
        )
    ]
    best = plain.largest_sum(columns, gains, depth, least)
    if best is None:
        assert found.status is Status.INFEASIBLE
        return
    assert found.value == found.bound == float(best)
    assert found.rounding == 0
    if found.rule is not None:
        fires = found.rule.covers(columns)
        assert sum(g for g, fire in zip(gains, fires, strict=True) if fire) == best
        assert found.account.numbers["net benefit"] == pytest.approx(float(best))


def _sum_beyond(seed):
    rng = np.random.default_rng(seed)
    columns, roles = _table(rng)
    if not columns:
        return
    n_rows = len(next(iter(columns.values())))
    depth, y = int(rng.integers(1, 3)), plain.amounts(rng, n_rows)
    edge = round(float(rng.normal(3, 5)), int(rng.integers(0, 4)))
    direction = str(rng.choice(["high", "low"]))
    sign = 1 if direction == "high" else -1
    found = discover(
        columns, y, roles=roles, max_depth=depth, engine=str(rng.choice(["search", "exhaustive"])),
        objective=Mean(threshold=edge, direction=direction),
    )  # fmt: skip
    gains = [sign * (each - Fraction(str(edge))) for each in plain.exact(y)]
    assert found.value == found.bound == float(plain.largest_sum(columns, gains, depth))
    assert found.rule is None or found.rule.label == direction


def _best_mean(seed):
    rng = np.random.default_rng(seed)
    columns, roles = _table(rng)
    if not columns:
        return
    n_rows = len(next(iter(columns.values())))
    depth, y = int(rng.integers(1, 3)), plain.amounts(rng, n_rows)
    if rng.random() < 0.3:
        y = rng.integers(0, 3, n_rows).tolist()  # ties
    weights = rng.integers(0, 4, n_rows).tolist() if rng.random() < 0.3 else [1] * n_rows
    if not any(weights):
        return
    least = int(rng.integers(1, 5))
    direction = str(rng.choice(["high", "low"]))
    asked = {
        "roles": roles,
        "max_depth": depth,
        "objective": Mean(direction=direction),
        "min_coverage": least,
        "sample_weight": None if set(weights) == {1} else weights,
    }
    found = discover(columns, y, **asked)
    exact = [Fraction(str(each)) for each in y]
    sign = 1 if direction == "high" else -1
    best = plain.best_mean(columns, exact, list(map(Fraction, weights)), depth, least, sign)
    if best is None:
        assert found.status is Status.INFEASIBLE
        return
    assert found.status is Status.OPTIMAL
    assert found.value == found.bound == float(best)
    assert found.rule == discover(columns, y, engine="exhaustive", **asked).rule
    fires = found.rule.covers(columns)
    inside = [(e, w) for e, w, fire in zip(exact, weights, fires, strict=True) if fire]
    assert sum(e * w for e, w in inside) / sum(w for _, w in inside) == best


CHECKS = {"money": _money, "sum beyond": _sum_beyond, "mean": _best_mean}


@pytest.mark.parametrize("name", CHECKS)
@settings(max_examples=100, deadline=None)
@given(seed=SEEDS)
def test_the_best_rule_is_that_of_an_enumeration(name, seed):
    CHECKS[name](seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_the_best_rule_is_that_of_an_enumeration_on_thousands_of_tables(name):
    for seed in range(4000):
        CHECKS[name](seed)


def test_the_best_mean_of_many_rows_is_found_by_prices(monkeypatch):
    monkeypatch.setattr("opdt.engines.means.MANY_ROWS", 0)
    for seed in range(25):
        _best_mean(seed)
