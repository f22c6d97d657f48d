"""A session: what is said, what is answered, what is told."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import opdt
from opdt import Structure
from opdt.errors import InputError
from opdt.studio import jobs, session
from opdt.studio.jobs import UNEXPECTED
from opdt.studio.outcome import verdict_of
from opdt.studio.session import Session
from opdt.studio.solver import Solver
from studio.sessions import begun, on_loop

pytestmark = pytest.mark.usefixtures("nothing_unexpected")


def test_a_file_is_loaded_and_answered_and_all_is_told_on_the_event_loop(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        assert one.outcome is not None
        assert one.is_current
        assert one.trade_off is not None
        assert one.trade_off.is_complete
        assert one.busy == frozenset()
        assert listener.of("data") == [one.loaded]
        assert listener.of("outcome") == [None, one.outcome]
        assert listener.of("busy")[-1] == frozenset()
        assert listener.of("error") == []
        assert listener.threads == {threading.get_ident()}
        train = one.loaded.split("state").train
        assert one.outcome.rule == opdt.discover(train.X, train.y, **one.work.arguments()).rule
        one.close()

    on_loop(scene)


def test_the_last_of_many_changes_is_the_one_answered(table: Path) -> None:
    async def scene() -> None:
        one, _ = await begun(table)
        for w in range(2, 40):
            one.change(merge="slider", w=float(w))
            await asyncio.sleep(0)
        await one.settled()
        assert one.outcome.work.w == 39
        one.undo()
        await one.settled()
        assert (one.work.w, one.outcome.work.w) == (10, 10)
        one.redo()
        await one.settled()
        assert one.outcome.work.w == 39
        one.settle()
        one.change(merge="slider", w=3.0)
        one.undo()
        assert one.work.w == 39
        one.close()

    on_loop(scene)


def test_what_cannot_be_said_is_refused_and_nothing_changes(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        before = one.work
        for said in ({"w": 0.5}, {"label": "dead"}, {"target": "age2"}, {"colour": 1}):
            assert not one.change(**said)
        assert one.work == before
        assert len(listener.of("error")) == 4
        assert all(not each[0].islower() and each[-1] in ".?" for each in listener.of("error"))
        one.close()

    on_loop(scene)


def test_a_question_without_an_answer_says_why_and_shows_no_old_rule(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        one.change(groups={"lab": ()}, structure=Structure.levels("lab"))
        await one.settled()
        assert one.outcome is None
        assert "Group 'lab' is empty" in listener.of("error")[-1]
        one.change(groups={"lab": ("age",)})
        await one.settled()
        assert one.outcome.rule.features in ((), ("age",))
        one.close()

    on_loop(scene)


def test_rules_are_pinned_compared_and_let_go(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        assert one.pin(note="first")
        assert not one.pin()
        assert listener.of("error") == ["This rule is pinned."]
        one.change(w=2.0)
        await one.settled()
        assert one.pin()
        await one.settled()
        assert [each.note for each in one.pins] == ["first", ""]
        assert all(each.seen.counts.w == 2 for each in one.pins)
        assert one.note(1, "second")
        one.unpin(0)
        await one.settled()
        assert [each.note for each in one.pins] == ["second"]
        one.unpin(0)
        assert one.pins == ()
        one.close()

    on_loop(scene)


def test_the_test_and_the_alternatives_belong_to_one_question(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        one.ask_real(99)
        one.ask_alternatives()
        assert {"real", "alternatives"} <= one.busy
        await one.settled()
        assert one.real.n_done == 99
        assert one.alternatives.optimum == one.outcome.solution.value
        one.change(w=3.0)
        assert one.real is None
        assert one.alternatives is None
        assert listener.of("real")[-1] is None
        one.close()

    on_loop(scene)


def test_a_trade_off_stays_while_only_the_price_changes(table: Path) -> None:
    async def scene() -> None:
        one, _ = await begun(table)
        traced = one.trade_off
        one.change(w=3.0)
        await one.settled()
        assert one.trade_off is traced
        one.change(max_depth=1)
        assert one.trade_off is None
        await one.settled()
        assert one.trade_off is not None
        assert one.trade_off is not traced
        one.close()

    on_loop(scene)


def test_who_has_left_hears_nothing_more(table: Path) -> None:
    async def scene() -> None:
        one = Session()
        heard: list[Any] = []
        leave = one.subscribe("work", heard.append)
        leave()
        leave()
        await one.load_file(table)
        assert heard == []
        with pytest.raises(InputError, match="no topic 'weather'"):
            one.subscribe("weather", heard.append)
        one.close()

    on_loop(scene)


def test_an_unexpected_failure_is_logged_and_one_general_sentence(
    table: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret")

    async def scene() -> None:
        one, listener = await begun(table)
        monkeypatch.setattr(Solver, "solve", broken)
        one.change(w=2.0)
        await one.settled()
        assert listener.of("error") == [UNEXPECTED[0].upper() + UNEXPECTED[1:]]
        assert one.outcome is None
        one.close()

    on_loop(scene)
    assert "ZeroDivisionError: secret" in caplog.text
    caplog.clear()


def test_an_observer_that_fails_keeps_the_news_from_nobody(
    table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        one = Session()
        heard: list[Any] = []
        one.subscribe("data", lambda _: 1 / 0)
        one.subscribe("data", heard.append)
        await one.load_file(table)
        assert heard == [one.loaded]
        one.close()

    on_loop(scene)
    assert "an observer of 'data' failed" in caplog.text
    caplog.clear()


def test_constants_are_what_pages_count_on() -> None:
    assert session.GRACE < 0.25
    assert jobs.UNEXPECTED.endswith(".")


def test_a_quick_test_is_made_unasked_and_the_verdict_follows(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        await one.settled()
        told = listener.of("verdict")
        assert one.real is None
        assert told[-1] is one.verdict
        assert one.verdict == verdict_of(one.outcome, one._chance)
        assert one._chance.n_permutations == 99
        one.change(w=3.0)
        assert one._chance is None
        await one.settled()
        assert one.verdict == verdict_of(one.outcome, one._chance)
        one.ask_real(199)
        await one.settled()
        assert one.verdict == verdict_of(one.outcome, one.real)
        taken = json.loads((await one.take("json")).content)
        assert taken["info"]["verdict"] == one.verdict.to_dict()
        report = (await one.take("report")).content.decode()
        assert f"<b>{str(one.verdict.level).capitalize()}</b>" in report
        one.close()

    on_loop(scene)
