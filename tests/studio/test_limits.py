"""Limits on a rule in the Studio: what they say, whether they are met, which are too narrow."""

from __future__ import annotations

from typing import Any

import pytest

from opdt import Mean, Parity, PerSegment
from opdt.studio.limits import check_limits, limits_of
from opdt.studio.solver import Solver
from opdt.studio.web.panels.limits import limits_state
from opdt.studio.web.panels.wording import advice
from opdt.studio.work import Work
from studio.works import first, patients

PATIENTS = patients(120)
SOLVER = Solver(PATIENTS)
LIMITED: dict[str, Any] = {
    "label": "ill",
    "w": 2.0,
    "min_coverage": 5,
    "max_coverage": 0.3,
    "min_precision": 0.6,
    "max_errors": 8,
    "segments": (PerSegment("ward", min_precision=0.5, max_errors=6),),
    "parities": (Parity("drug", of="recall", max_difference=0.2),),
}


def limited(**said: Any) -> Work:
    return first(PATIENTS, **{**LIMITED, **said})


def test_numbers_by_segment_are_those_of_the_rows() -> None:
    outcome = SOLVER.solve(limited())
    assert outcome.rule is not None
    train = SOLVER.split(limited()).train
    fires, ill = outcome.rule.covers(train.X), train.y == "ill"
    assert outcome.seen is not None
    *whole, ward, drug = outcome.seen.limits
    assert all(check.met for check in outcome.seen.limits)
    assert whole[0].numbers.startswith(f"{fires.sum()} rows")
    assert {line.name for line in ward.lines} == {"a", "b", "c"}
    for line in ward.lines:
        inside = (train.X["ward"] == line.name).to_numpy()
        errors = int((fires & inside & ~ill).sum())
        covered = f"{(fires & inside).sum()} of {inside.sum()} rows covered, {errors} errors"
        assert line.numbers.startswith(covered)
    shares = {group: fires[ill & (train.X["drug"] == group)].mean() for group in ("x", "y")}
    apart = 100 * abs(shares["x"] - shares["y"])
    assert drug.numbers == f"differ by {apart:.1f} points"


def test_limits_are_checked_anew_on_held_out_rows_but_for_numbers_of_rows() -> None:
    outcome = SOLVER.solve(limited())
    assert outcome.unseen is not None
    least, most, precision, errors, ward, drug = outcome.unseen.limits
    assert (least.met, errors.met, ward.met) == (None, None, None)  # numbers of training rows
    assert None not in (most.met, precision.met, drug.met)
    state = limits_state(outcome)
    assert [each["train"]["word"] for each in state["limits"]] == ["met"] * 6
    assert limits_state(None) == {"limits": []}


def test_a_rule_that_breaks_a_limit_is_said_to() -> None:
    outcome = SOLVER.solve(limited())
    assert outcome.rule is not None
    narrow = limited(max_coverage=1, segments=(PerSegment("ward", max_coverage=0.0),))
    train = SOLVER.split(narrow).train
    found = check_limits(narrow, outcome.rule, train, SOLVER.plan(narrow))
    broken = {check.says for check in found if not check.met}
    assert {"at most 1 row covered", "in every ward: at most 0.0 % of the rows covered"} <= broken


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"min_coverage": 0.5, "max_coverage": 0.1}, ["less coverage", "more than 10.0 %"]),
        ({"min_precision": 1.0, "min_coverage": 0.3}, ["less precision than 100.0 %"]),
        (
            {"segments": (PerSegment("ward", max_errors=0),), "min_coverage": 40},
            ["less in every ward", "less coverage than 40 rows"],
        ),
        (
            {"parities": (Parity("drug", max_difference=0.0),), "min_precision": 0.7},
            ["groups of drug differ more"],
        ),
    ],
)
def test_where_no_rule_is_left_the_limits_to_loosen_are_named(
    said: dict[str, Any], wanted: list[str]
) -> None:
    work = first(PATIENTS, **{"label": "ill", "w": 2.0, **said})
    outcome = SOLVER.solve(work)
    assert outcome.rule is None
    told = advice(outcome) or ""
    assert [words for words in wanted if words not in told] == []
    for each in outcome.narrow:
        assert SOLVER.find(each.without).rule is not None
    kept = [each for each in limits_of(work) if each not in outcome.narrow]
    assert all(SOLVER.find(each.without).rule is None for each in kept)


def test_limits_hold_where_rows_have_no_classes() -> None:
    work = Work(source=PATIENTS.source).change(
        objective=Mean(),
        target="pulse",
        max_coverage=0.4,
        segments=(PerSegment("ward", max_coverage=0.5),),
        parities=(Parity("drug", max_difference=0.1),),
    )
    outcome = SOLVER.solve(work)
    assert outcome.seen is not None
    assert [check.met for check in outcome.seen.limits] == [True] * 3
    assert "errors" not in outcome.seen.limits[1].lines[0].numbers
