"""Whose event comes early: against an enumeration of all rules, in words, and where refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import enumeration as plain
from opdt import (
    InputError,
    Problem,
    Survival,
    discover,
    holdout_report,
    permutation_test,
    stability,
    top_rules,
    worth_path,
)
from opdt.objectives import read_objective
from opdt.plot import survival as draw
from plot.support import axes, texts


def by_hand(time: list[int], event: list[int], ratio: Fraction, *, efron: bool) -> list[Fraction]:
    """Events less expected events, moment by moment."""
    out = [Fraction(each) for each in event]
    for moment in sorted({t for t, e in zip(time, event, strict=True) if e}):
        at_risk = [row for row, t in enumerate(time) if t >= moment]
        dead = [row for row in at_risk if time[row] == moment and event[row]]
        n, d = len(at_risk), len(dead)
        for row in at_risk:
            if not efron:
                out[row] -= ratio * Fraction(d, n)
            elif row in dead:
                out[row] -= ratio * sum(Fraction(d - k, d) / (n - k) for k in range(d))
            else:
                out[row] -= ratio * sum(Fraction(1, n - k) for k in range(d))
    return out


def against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {
        name: cells
        for name, cells in plain.small_table(rng).items()
        if len({cell for cell in cells if cell is not None}) > 1
    }
    if not columns:
        return
    n_rows = len(next(iter(columns.values())))
    time = rng.integers(0, 9, n_rows).tolist()
    event = rng.integers(0, 2, n_rows).tolist()
    event[int(rng.integers(n_rows))] = 1
    depth, ratio = int(rng.integers(1, 3)), float(rng.choice([1, 1, 0.5, 2]))
    direction = str(rng.choice(["high", "low"]))
    score = str(rng.choice(["log-rank", "martingale"]))
    kinds = {
        name: "categorical" if any(isinstance(c, str) for c in cells) else "numeric"
        for name, cells in columns.items()
    }
    found = discover(
        columns, max_depth=depth, roles=kinds, engine=str(rng.choice(["search", "exhaustive"])),
        objective=Survival(time=time, event=event, score=score, direction=direction, ratio=ratio),
    )  # fmt: skip
    sign = 1 if direction == "high" else -1
    scores = by_hand(time, event, Fraction(ratio), efron=score == "martingale")
    best = plain.largest_sum(columns, [sign * each for each in scores], depth)
    assert found.value == found.bound
    assert found.value == pytest.approx(float(best), abs=1e-9)
    if found.rule is not None:
        assert found.rule.label == f"{direction} risk"
        assert found.account is not None
        fires = found.rule.covers(columns)
        assert found.account.numbers["events inside"] == (np.array(event, bool) & fires).sum()


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_the_best_of_all_rules(seed: int) -> None:
    against_enumeration(seed)


@pytest.mark.slow
@settings(max_examples=3000)
@given(st.integers(0, 2**32 - 1))
def test_the_best_of_all_rules_thousands_of_times(seed: int) -> None:
    against_enumeration(seed)


def ward(n: int = 300) -> dict[str, Any]:
    """Events that come three times as fast from 60 years on; some rows are watched for less."""
    rng = np.random.default_rng(5)
    age = rng.integers(20, 90, n)
    until = rng.exponential(np.where(age >= 60, 100.0, 300.0))
    cut = rng.uniform(50, 400, n)
    return {
        "age": age,
        "weight": rng.normal(70, 10, n).round(1),
        "days": np.minimum(until, cut).round(1),
        "died": (until <= cut).astype(int),
    }


ASKED = Survival(time="days", event="died")


def test_the_solution_speaks_of_events() -> None:
    solution = discover(ward(), objective=ASKED, max_depth=1)
    assert solution.rule is not None
    assert solution.rule.features == ("age",)
    text = str(solution)
    assert "THEN high risk" in text
    assert "events beyond expectation" in text
    assert " were to be expected at the pace of all rows; half have the event inside by " in text


def test_times_and_events_are_no_features() -> None:
    assert Problem.of(ward(), objective=ASKED).table.names == ("age", "weight")


def test_a_larger_ratio_asks_for_a_higher_risk() -> None:
    usual = discover(ward(), objective=ASKED, max_depth=1)
    strict = discover(ward(), objective=Survival(time="days", event="died", ratio=1.5), max_depth=1)
    assert strict.value < usual.value
    assert strict.covered <= usual.covered
    assert "beyond 1.5 × expectation" in str(strict)


def test_low_risk_is_its_own_rule() -> None:
    low = discover(
        ward(), objective=Survival(time="days", event="died", direction="low"), max_depth=1
    )
    assert "THEN low risk" in str(low)
    assert "short of expectation" in str(low)


def test_held_out_rows_are_tested() -> None:
    data = ward(600)
    rule = discover({k: v[:300] for k, v in data.items()}, objective=ASKED, max_depth=1).rule
    assert rule is not None
    other = {k: v[300:] for k, v in data.items()}
    estimate = holdout_report(rule, other, objective=ASKED)
    gains = Problem.of(other, objective=ASKED).objective
    assert estimate.numbers["hazard ratio from"] < 3 < estimate.numbers["hazard ratio to"]
    assert estimate.interval[0] < estimate.inside < estimate.interval[1]
    assert estimate.p_value < 1e-4
    assert "log-rank test p < 0.0001" in str(estimate)
    nothing = ASKED.estimate(gains, np.zeros(300, bool))  # type: ignore[arg-type]
    assert str(nothing) == "covers none of the 300 held-out rows"
    assert nothing.p_value == 1
    low = Survival(time="days", event="died", direction="low")
    against = low.estimate(gains, rule.covers(other))  # type: ignore[arg-type]
    assert against.p_value == pytest.approx(1 - estimate.p_value)


def test_what_is_asked_of_many_searches() -> None:
    data = ward(150)
    test = permutation_test(data, objective=ASKED, max_depth=1, n_permutations=39)
    assert test.p_value == pytest.approx(1 / 40)
    assert len(top_rules(data, objective=ASKED, max_depth=1, limit=3)) == 3
    assert stability(data, objective=ASKED, max_depth=1, n_bootstrap=5).features["age"] > 0.5


def test_curves_of_a_solution_on_any_rows() -> None:
    solution = discover(ward(), objective=ASKED, max_depth=1)
    ax = draw(solution, ward(), ax=axes())
    assert any(text.startswith("inside the rule: ") for text in texts(ax))
    assert "days" in texts(ax)
    again = draw(solution.rule, ward(), objective=ASKED, ax=axes())
    assert texts(again) == texts(ax)
    with pytest.raises(InputError, match="'objective' must say which columns hold times"):
        draw(solution.rule, ward(), ax=axes())


def test_it_survives_json() -> None:
    asked = Survival(time="days", event="died", score="martingale", direction="low", ratio=0.5)
    assert read_objective(asked.to_dict()) == asked


def refuse(words: str, data: dict[str, Any] | None = None, **changes: Any) -> None:
    asked: dict[str, Any] = {"time": "days", "event": "died", **changes}
    with pytest.raises(InputError, match=words):
        discover(ward() if data is None else data, objective=Survival(**asked), max_depth=1)


def test_bad_times_and_events_are_refused() -> None:
    data = ward()
    before = data["days"].copy()
    before[4] = -1
    refuse(
        r"'time' \(column 'days'\) is negative in 1 row \(first at row 4\)",
        {**data, "days": before},
    )
    before[4] = np.nan
    refuse(r"'time' \(column 'days'\) is missing in 1 row", {**data, "days": before})
    refuse(r"'event' \(column 'died'\) is 0 in every row", {**data, "died": np.zeros(300, int)})
    refuse(r"'event' \(column 'died'\) must be 0 or 1 but is 2", {**data, "died": data["died"] + 1})
    words = {**data, "died": np.where(data["died"] == 1, "yes", "no").tolist()}
    refuse("must be 0 or 1 but is '(yes|no)'", words)
    gone = {**data, "died": [None, *data["died"][1:].tolist()]}
    refuse(r"'event' \(column 'died'\) is missing in 1 row", gone)
    refuse("'time' has 2 values, but X has 300 rows", time=[1, 2])


def test_any_value_of_a_column_can_say_that_the_event_came() -> None:
    data = ward()
    expected = discover(data, objective=ASKED, max_depth=1)
    for came, other in (("dead", "alive"), (2, 1), (False, True)):
        words = {**data, "died": [came if each else other for each in data["died"].tolist()]}
        asked = Survival(time="days", event="died", came=came)
        found = discover(words, objective=asked, max_depth=1)
        assert (found.rule, found.value) == (expected.rule, expected.value)
        assert read_objective(asked.to_dict()) == asked
    refuse(
        r"'came' must be a value of 'event' \(column 'died'\), which has .*, got 'gone'",
        came="gone",
    )


def test_bad_arguments_are_refused() -> None:
    refuse("'score' must be 'log-rank' or 'martingale', got 'cox'", score="cox")
    refuse("'direction' must be 'high' or 'low'", direction="up")
    refuse("'ratio' must be a finite number above 0", ratio=0)
    with pytest.raises(InputError, match="'sample_weight' cannot be given beside Survival"):
        discover(ward(), objective=ASKED, sample_weight=np.ones(300))


@pytest.mark.parametrize("direction", ["high", "low"])
@pytest.mark.parametrize("score", ["log-rank", "martingale"])
def test_the_path_has_the_best_rule_of_every_ratio(direction: str, score: str) -> None:
    data = ward(100)
    data["days"] = data["days"].round(-1)  # shared times
    given = {"time": "days", "event": "died", "direction": direction, "score": score}
    path = worth_path(data, objective=Survival(**given), max_depth=1)
    assert path.complete
    assert path[0].low == 0
    assert path[-1].high == float("inf")
    for ratio in (0.25, 1, 1.5, 3):
        goal = Survival(**given, ratio=ratio)
        best = discover(data, objective=goal, max_depth=1).value
        (here,) = [each for each in path if each.low <= ratio < each.high]
        worth = 0.0
        if here.rule is not None:
            gains = Problem.of(data, objective=goal).objective
            worth = float(gains.values[here.rule.covers(data)].sum())  # type: ignore[attr-defined]
        assert worth == pytest.approx(best, abs=1e-6)
