"""What the rule is to be best in, in the Studio: every objective, as the library answers it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import opdt
from opdt import Mean, Money, Parity, PerSegment, Survival, Uplift
from opdt.errors import InputError
from opdt.report.text import rule_sentence
from opdt.studio.best_in import CHOICES, begin, choice_of, told
from opdt.studio.code import script
from opdt.studio.outcome import verdict_of
from opdt.studio.questions import lacks, left_out, unlisted
from opdt.studio.solver import Solver
from opdt.studio.tables import Loaded, loaded_frame
from opdt.studio.takeaway import make
from opdt.studio.web.panels.rule import _proof
from opdt.studio.web.panels.worth_path import choice
from opdt.studio.work import Pinned, Work
from studio.sessions import Listener, on_loop
from studio.works import HOSTILE

AMOUNT, STAY = HOSTILE[4], HOSTILE[1]  # names that could break a page or a script


def claims(n_rows: int = 160) -> Loaded:
    """Claims with an amount, days, a trial and times until an event; a few cells are missing."""
    random = np.random.default_rng(7)
    age = random.integers(20, 80, n_rows)
    pulse = random.normal(70, 10, n_rows).round(1)
    fraud = np.where((age > 55) & (random.random(n_rows) < 0.8), "yes", "no")
    treated = random.choice(["drug", "none"], n_rows)
    frame = pd.DataFrame(
        {
            "age": age,
            "pulse": pulse,
            "sex": random.choice(["f", "m"], n_rows),
            "region": random.choice(["north", "south", "west"], n_rows),
            AMOUNT: random.gamma(2, 50, n_rows).round(2),
            STAY: (random.gamma(2, 2, n_rows) + 4 * (age > 60)).round(1),
            "arm": treated,
            "gain": ((age > 50) * 3.0 * (treated == "drug") + random.normal(size=n_rows)).round(2),
            "months": random.exponential(np.where(age > 60, 5, 20)).round(2),
            "died": np.where(random.random(n_rows) < 0.7, "yes", "no"),
            "fraud": fraud,
        }
    )
    frame.loc[:2, STAY] = np.nan
    return loaded_frame(frame, "claims", target="fraud")


CLAIMS = claims()
SOLVER = Solver(CLAIMS)
READ = {AMOUNT: "ignored", STAY: "ignored", "gain": "ignored", "months": "ignored"}
FIRST = Work(source=CLAIMS.source, target="fraud", label="yes", roles=READ)
LIMITS: dict[str, Any] = {
    "max_coverage": 0.2,
    "segments": (PerSegment("region", min_precision=0.5),),
    "parities": (Parity("sex", max_difference=0.1),),
}
MONEY: dict[str, Any] = {"objective": Money(benefit=AMOUNT, cost=40, unit="EUR")}
ASKED: dict[str, dict[str, Any]] = {
    "f1": {"objective": "f1"},
    "lift": {"objective": "lift"},
    "coverage": {"objective": "coverage", "min_precision": 0.7},
    "money": MONEY,
    "mean": {"objective": Mean(unit="days"), "target": STAY},
    "low": {"objective": Mean(threshold=4, direction="low"), "target": STAY},
    "survival": {"objective": Survival(time="months", event="died", came="yes")},
    "budget": {"max_coverage": 12},
    "limits": LIMITS,
    "money within limits": MONEY | LIMITS,
}


def asked(name: str) -> Work:
    return FIRST.change(**ASKED[name])


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_the_rule_is_that_of_discover_and_its_worth_that_of_its_rows(name: str) -> None:
    work = asked(name)
    train = SOLVER.split(work).train
    expected = opdt.discover(train.X, train.y, **work.arguments())
    outcome = SOLVER.solve(work)
    assert outcome.rule == expected.rule
    assert outcome.solution.value == expected.value
    assert outcome.seen is not None
    assert outcome.seen.worth.value == pytest.approx(expected.value)
    assert outcome.unseen is not None
    verdict = verdict_of(outcome, None)
    assert verdict is not None
    assert all(check.met for check in outcome.seen.limits)
    held = SOLVER.split(work).held_out
    assert held is not None
    assert outcome.rule is not None
    fires = outcome.rule.covers(held.X)
    if isinstance(work.objective, Money):
        rows = (
            held.X[AMOUNT][fires & (held.y == "yes")].sum() - 40 * (fires & (held.y == "no")).sum()
        )
        assert outcome.unseen.worth.value == pytest.approx(rows)
        assert " EUR" in outcome.unseen.worth.shown
        assert " EUR" in verdict.reason
    if name == "low":
        assert outcome.unseen.worth.value == pytest.approx((4 - held.y[fires]).sum())
    if name == "mean":
        assert outcome.unseen.worth.value == pytest.approx(held.y[fires].mean())
        assert outcome.sentence.endswith(f", then “{STAY}” is high.")


def test_whom_to_treat_is_found_and_its_effect_measured_on_held_out_rows() -> None:
    objective = Uplift(treatment="arm", treated="drug", outcome="gain", propensity=0.5, folds=2)
    outcome = SOLVER.solve(FIRST.change(objective=objective))
    assert outcome.sentence.endswith(", then treat.")
    assert {"arm", "gain"}.isdisjoint(outcome.rule.features if outcome.rule else ())
    assert outcome.unseen is not None
    assert "held-out rows" in outcome.unseen.worth.sentence
    assert list(outcome.unseen.worth.numbers) == ["effect inside", "effect outside"]
    held = SOLVER.split(outcome.work).held_out
    assert held is not None
    share = (CLAIMS.frame["arm"] == "drug").mean()
    assert (held.X["arm"] == "drug").mean() == pytest.approx(share, abs=0.02)  # arms are kept


def test_every_choice_of_the_list_can_be_begun_and_says_what_it_lacks() -> None:
    for name in CHOICES:
        work = FIRST.change(objective=begin(name))
        assert choice_of(work.objective) == name
        assert Work.from_json(work.to_json()) == work
        missing = lacks(work)
        if missing is not None:
            with pytest.raises(InputError):
                SOLVER.solve(work)
    without = {name for name in CHOICES if lacks(FIRST.change(objective=begin(name))) is None}
    assert without == {*CHOICES} - {"mean", "uplift", "survival", "coverage"}
    assert lacks(FIRST.change(objective=Money(), label=None)) == "the class that brings the benefit"


def test_where_rules_cannot_be_listed_is_where_the_library_refuses_to() -> None:
    for name in ASKED:
        work = asked(name)
        if unlisted(work) is None:
            assert SOLVER.alternatives(work).objective == work.objective
        else:
            with pytest.raises(opdt.OpdtError):
                SOLVER.alternatives(work)


@pytest.mark.parametrize("name", ["money", "low", "survival"])
def test_every_step_of_a_path_can_be_asked_for(name: str) -> None:
    path = SOLVER.trade_off(asked(name))
    assert isinstance(path, opdt.WorthPath)
    assert path.complete
    for segment in path.segments[:: max(1, len(path) // 4)]:
        wanted = choice(path.objective, segment)
        assert wanted is not None
        assert SOLVER.find(asked(name).change(objective=wanted)).rule == segment.rule


def test_pinned_rules_of_another_question_are_not_measured() -> None:
    rule = SOLVER.solve(asked("money")).rule
    assert rule is not None
    (one,) = SOLVER.compare(asked("money").change(pinned=(Pinned(rule),)))
    assert " EUR" in one.seen.shown
    assert SOLVER.compare(asked("mean").change(pinned=(Pinned(rule),))) == ()
    assert rule_sentence(rule, asked("mean").objective, STAY) == rule.to_english()


# -- what is said ----------------------------------------------------------------------------------


def test_another_objective_makes_what_contradicts_it_give_way() -> None:
    work = FIRST.change(**LIMITS, min_precision=0.9, directions={"pulse": ">="})
    numbers = work.change(objective=Mean(), target=STAY)
    assert (numbers.label, numbers.min_precision, numbers.segments) == (None, 0.0, ())
    assert numbers.parities == work.parities
    treated = work.change(objective=Uplift(treatment="pulse", outcome="gain"))
    assert (treated.target, treated.directions) == (None, {})
    assert "pulse" in treated.apart
    assert treated.change(objective="f1").target is None


def test_rows_without_what_is_read_are_left_out() -> None:
    assert left_out(CLAIMS, asked("money")) == 0
    assert left_out(CLAIMS, asked("mean")) == 3
    train, held = SOLVER.split(asked("mean"))
    assert held is not None
    assert sorted([*train.rows, *held.rows]) == list(range(3, len(CLAIMS.frame)))


def test_numbers_written_as_text_are_numbers_here() -> None:
    cells = [*("n/a" if k % 9 == 0 else f"{k},5" for k in range(60))]
    frame = {"age": [k // 3 for k in range(60)], "cost": cells, "kind": ["a", "b"] * 30}
    loaded = loaded_frame(pd.DataFrame(frame), "x")
    assert loaded.is_number("cost")
    assert not loaded.is_number("kind")
    work = Work(source=loaded.source).change(objective=Mean(), target="cost")
    outcome = Solver(loaded).solve(work)
    assert outcome.seen is not None
    assert outcome.seen.worth.value > 40


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_a_project_gives_back_objective_and_limits(name: str) -> None:
    assert Work.from_json(asked(name).to_json()) == asked(name)


def test_a_project_of_the_release_before_opens() -> None:
    found = json.loads(FIRST.to_json())
    for name in ("objective", "max_coverage", "segments", "parities"):
        del found[name]
    assert Work.from_json(json.dumps({**found, "opdt_project": 2})) == FIRST


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"objective": "best"}, "'objective'"),
        ({"objective": "money"}, "needs arguments"),
        ({"objective": {"objective": "money", "cost": -1}}, "'cost' must not be negative"),
        ({"objective": {"objective": "money", "colour": 1}}, "'colour'"),
        ({"objective": {"objective": "money", "benefit": [1, 2]}}, "'benefit'"),
        ({"objective": {"objective": ["money"]}}, "'objective'"),
        ({"objective": {"objective": "survival", "came": {"a": 1}}}, "'came'"),
        ({"objective": {"objective": "vi", "w": 3}}, "'objective'"),
        ({"segments": [{"column": "region"}]}, "limits nothing"),
        ({"parities": [{"column": "sex", "max_difference": 2}]}, "'max_difference'"),
        ({"max_coverage": -1}, "'max_coverage'"),
    ],
)
def test_what_a_project_cannot_say_is_one_sentence(changed: dict[str, Any], words: str) -> None:
    found = json.loads(FIRST.to_json()) | changed
    with pytest.raises(InputError, match="the project cannot be opened: ") as caught:
        Work.from_json(json.dumps(found))
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["money within limits", "mean", "survival", "f1"])
def test_the_script_finds_the_rule_again(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    work = asked(name)
    text = script(work)
    load = "from opdt.studio.tables import load_dataset\n"
    assert load in text
    text = text.replace(load, "").replace("load_dataset('claims')", "CLAIMS")
    scope: dict[str, Any] = {"CLAIMS": CLAIMS}
    exec(compile(text, "script.py", "exec"), scope)
    assert scope["solution"].rule == SOLVER.solve(work).rule
    told_there = capsys.readouterr().out
    assert told(work.objective).name in told_there
    assert "Held-out rows" in told_there


@pytest.mark.parametrize("name", ["money within limits", "survival"])
def test_rule_file_and_report_speak_of_the_objective(name: str) -> None:
    work = asked(name)
    outcome = SOLVER.solve(work)
    info = json.loads(make("json", SOLVER, work, outcome).content)["info"]
    assert "w" not in info
    assert info["train"]["value"] == pytest.approx(outcome.solution.value)
    kind = (
        info["objective"] if isinstance(info["objective"], str) else info["objective"]["objective"]
    )
    assert kind == choice_of(work.objective)
    page = make("report", SOLVER, work, outcome).content.decode()
    assert told(work.objective).name.lower() in page.lower()
    assert HOSTILE[4] not in page  # markup in the name of a column is text


# -- sessions --------------------------------------------------------------------------------------


def test_what_the_data_do_not_allow_is_told_and_undone(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    CLAIMS.frame.to_csv(path, index=False)

    async def scene() -> None:
        from opdt.studio.session import Session

        one = Session()
        listener = Listener(one)
        assert await one.load_file(path, target="fraud")
        await one.settled()
        assert one.change(objective=Survival(time=None, event="died"))
        assert one.outcome is None
        assert one.busy == frozenset()
        assert one.change(objective=Survival(time="months", event="died"))
        await one.settled()
        assert one.outcome is None
        assert "'came'" in (one.refusal or "")
        assert listener.of("refusal")[-1] == one.refusal
        assert one.change(objective=Survival(time="months", event="died", came="yes"))
        await one.settled()
        assert one.refusal is None
        assert one.outcome.sentence.endswith("the risk is high.")
        for _ in range(3):
            one.undo()
        await one.settled()
        assert (one.work.objective, one.work.target) == ("vi", "fraud")
        assert one.outcome.train is not None
        assert not one.change(objective=Mean(), target="sex")  # holds no numbers
        one.close()

    on_loop(scene)


def test_held_out_rows_that_cannot_tell_are_said_to() -> None:
    frame = pd.DataFrame({"age": np.arange(40) % 7, "months": range(1, 41), "died": [1] + [0] * 39})
    loaded = loaded_frame(frame, "few")
    work = Work(source=loaded.source, objective=Survival(time="months", event="died"))
    outcome = Solver(loaded).solve(work)
    assert outcome.seen is not None
    assert outcome.unseen is None
    assert "'event' (column 'died') is 0 in every row" in _proof(outcome)
