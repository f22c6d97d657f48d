from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import opdt
from opdt import Structure
from opdt.errors import InputError
from opdt.solution import StopReason
from opdt.studio import jobs, session
from opdt.studio.jobs import UNEXPECTED, Job, Jobs
from opdt.studio.outcome import verdict_of
from opdt.studio.session import TOPICS, Session
from opdt.studio.solver import Solver
from opdt.studio.work import Work
from studio.works import patients


@pytest.fixture(autouse=True)
def _nothing_unexpected(caplog: pytest.LogCaptureFixture) -> Any:
    """What the Studio logs as an error is one, unless a test expects it."""
    caplog.set_level(logging.ERROR, "opdt.studio")
    yield
    assert not caplog.records


def on_loop(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 120))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return stored(tmp_path, 0)


def stored(folder: Path, seed: int) -> Path:
    path = folder / f"patients-{seed}.csv"
    patients(seed=seed).frame.to_csv(path, index=False)
    return path


class Listener:
    """Hears all news of a session, and remembers on which thread."""

    def __init__(self, heard_of: Session) -> None:
        self.news: list[tuple[str, Any]] = []
        self.threads: set[int] = set()
        for topic in TOPICS:
            heard_of.subscribe(topic, lambda news, topic=topic: self._hear(topic, news))

    def _hear(self, topic: str, news: Any) -> None:
        self.news.append((topic, news))
        self.threads.add(threading.get_ident())

    def of(self, topic: str) -> list[Any]:
        return [news for heard, news in self.news if heard == topic]


async def begun(path: Path, **said: Any) -> tuple[Session, Listener]:
    one = Session()
    listener = Listener(one)
    assert await one.load_file(path, target="state")
    if said:
        assert one.change(**said)
    await one.settled()
    return one, listener


async def deep_search(folder: Path) -> tuple[Session, Listener]:
    """A session on noise, in which a rule of six conditions is not proven for minutes."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(400, 30)).round(3)).add_prefix("x")
    frame["state"] = random.choice(["ill", "well"], 400)
    frame.to_csv(folder / "deep.csv", index=False)
    one = Session()
    listener = Listener(one)
    assert await one.load_file(folder / "deep.csv")
    assert one.change(target="state", max_depth=6, w=1.5)
    return one, listener


async def progress(listener: Listener) -> int:
    """How often the loop went round until there was a word of progress."""
    for rounds in range(100_000):
        if listener.of("progress"):
            return rounds
        await asyncio.sleep(0.001)
    raise TimeoutError


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
        assert all(each.train.w == 2 for each in one.pins)
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


def test_a_deep_search_tells_its_progress_and_can_be_stopped(tmp_path: Path) -> None:
    async def scene() -> None:
        one, listener = await deep_search(tmp_path)
        assert await progress(listener) > 1  # the event loop goes on while a search runs
        one.stop("solve")
        await one.settled()
        advance = listener.of("progress")[-1]
        assert advance.kind == "solve"
        assert advance.bound >= advance.value
        assert one.outcome.solution.stopped_by is StopReason.CANCELLED
        assert one.trade_off is None  # many such searches are not started unasked
        one.refresh()
        assert "solve" in one.busy
        one.close()

    on_loop(scene)


def test_a_search_goes_on_when_someone_comes_back_but_not_if_it_was_stopped(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        one, listener = await deep_search(tmp_path)
        await progress(listener)
        one.come_back()  # a reload comes back before it leaves
        assert "solve" in one.busy
        one.leave()
        await one.settled()
        assert not one.busy
        one.come_back()
        assert "solve" in one.busy
        one.stop("solve")
        await one.settled()
        one.leave()
        one.come_back()
        assert "solve" not in one.busy
        one.close()

    on_loop(scene)


def test_a_newer_question_ends_a_deep_search(tmp_path: Path) -> None:
    async def scene() -> None:
        one, listener = await deep_search(tmp_path)
        await progress(listener)
        one.change(max_depth=1)
        while one.outcome is None:
            await asyncio.sleep(0.01)
        assert one.outcome.work.max_depth == 1
        assert one.outcome.is_proven
        assert all(each is None or each.work.max_depth < 6 for each in listener.of("outcome"))
        one.close()

    on_loop(scene)


def test_without_a_label_a_search_is_of_no_interest_any_more(tmp_path: Path) -> None:
    async def scene() -> None:
        one, listener = await deep_search(tmp_path)
        await progress(listener)
        one.change(target=None)
        assert one.busy == frozenset()
        await asyncio.sleep(0.3)
        assert one.outcome is None
        assert not any(listener.of("outcome"))
        one.close()

    on_loop(scene)


def test_a_closed_session_ends_its_jobs_and_lets_go_of_the_data(tmp_path: Path) -> None:
    async def scene() -> None:
        one, listener = await deep_search(tmp_path)
        one.ask_real()
        await progress(listener)
        seen = weakref.ref(one.loaded), weakref.ref(one._solver.table(one.work))
        one.close()
        listener.news.clear()
        assert one.loaded is None
        assert one.busy == frozenset()
        await one.end()
        assert not [each for each in threading.enumerate() if each.name.startswith("studio-")]
        gc.collect()
        assert [each() for each in seen] == [None, None]
        assert listener.news == []

    on_loop(scene)


def test_twenty_sessions_at_once_are_all_answered_and_never_mixed_up(tmp_path: Path) -> None:
    async def use(number: int) -> None:
        loaded = patients(seed=number)
        path = stored(tmp_path, number)
        one = Session()
        assert await one.load_file(path, f"{number}.csv", target="state")
        for w in (2.0, 3.0, 4.0 + number):
            one.change(w=w)
            await asyncio.sleep(0.01)
        await one.settled()
        train = loaded.split("state").train
        expected = opdt.discover(train.X, train.y, w=4.0 + number, max_depth=2)
        assert one.loaded.source.name == f"{number}.csv"
        assert str(one.outcome.rule) == str(expected.rule)
        assert one.outcome.solution.value == expected.value
        one.close()

    async def scene() -> None:
        await asyncio.gather(*map(use, range(20)))

    on_loop(scene)


def test_a_project_of_a_dataset_is_opened_again() -> None:
    async def scene() -> None:
        one = Session()
        assert await one.load_dataset("irises")
        one.change(w=4.0, max_depth=1)
        await one.settled()
        one.pin(note="kept")
        project = await one.take("project")
        two = Session()
        assert await two.open_project(project.content)
        await two.settled()
        assert two.work == one.work
        assert str(two.outcome.rule) == str(one.outcome.rule)
        assert two.pins[0].note == "kept"
        for each in (one, two):
            each.close()

    on_loop(scene)


def test_a_project_of_a_file_waits_for_that_file(table: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        one, _ = await begun(table, w=4.0)
        content = one.work.to_json()
        two = Session()
        listener = Listener(two)
        assert not await two.open_project(content)
        assert two.waiting.source.name == table.name
        assert not await two.load_file(stored(tmp_path, 7), "other.csv")
        assert "'other.csv' is not the file that is wanted" in listener.of("error")[-1]
        assert two.waiting is not None
        assert two.loaded is None
        assert await two.load_file(table, "renamed.csv")
        assert two.waiting is None
        assert two.work.w == 4
        assert two.work.source.name == "renamed.csv"
        two.change(w=5.0)
        assert await two.open_project(content)  # the file is there already
        assert two.work.w == 4
        for each in (one, two):
            each.close()

    on_loop(scene)


def test_a_project_that_does_not_fit_its_data_is_refused(table: Path) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        before = one.work
        for work in (
            before.change(roles={"pulse2": "ignored"}),
            Work(source=before.source, target="drug", label="z"),
        ):
            assert not await one.open_project(work.to_json())
        assert not await one.open_project("{}")
        assert not await one.open_project(Work().to_json())
        assert len(listener.of("error")) == 4
        assert one.work == before
        one.close()

    on_loop(scene)


def test_a_file_that_cannot_be_read_leaves_the_workbench_as_it_is(
    table: Path, tmp_path: Path
) -> None:
    async def scene() -> None:
        one, listener = await begun(table)
        (tmp_path / "bad.csv").write_bytes(b"\0\1\2")
        assert not await one.load_file(tmp_path / "bad.csv")
        assert "no text table" in listener.of("error")[-1]
        assert not await one.load_file(table, target="age9")
        assert one.outcome is not None
        assert one.loaded.source.name == table.name
        one.close()

    on_loop(scene)


def test_a_file_without_a_label_waits_for_one(table: Path) -> None:
    async def scene() -> None:
        one = Session()
        listener = Listener(one)
        assert await one.load_file(table)
        one.ask_real()
        await one.settled()
        assert one.outcome is None
        assert listener.of("error") == ["Choose data and the column of the classes first."]
        one.change(target="state")
        await one.settled()
        assert one.outcome is not None
        one.change(target=None)
        assert one.outcome is None
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


def test_jobs_of_one_kind_follow_each_other_and_only_the_newest_counts() -> None:
    async def scene() -> None:
        answers: list[int] = []
        running: list[int] = []
        crowd = Jobs(lambda: None, answers.append)

        def task(number: int) -> Callable[[Job], int]:
            def work(job: Job) -> int:
                running.append(number)
                assert len(running) == 1, "two jobs of a kind at once"
                job.cancel.wait(5)
                running.remove(number)
                return number

            return work

        futures = [crowd.start("x", task(number), answers.append) for number in range(5)]
        crowd.stop("x")
        assert await asyncio.gather(*futures) == [None, None, None, None, 4]
        assert answers == [4]
        crowd.close()
        assert await crowd.start("x", task(9)) is None

    on_loop(scene)


def test_a_job_in_its_grace_still_counts_unless_it_is_dropped() -> None:
    async def scene() -> None:
        crowd = Jobs(lambda: None, lambda _: None)
        answers: list[str] = []
        go = threading.Event()

        def slow(job: Job) -> str:
            go.wait(5)
            return "slow"

        first = crowd.start("x", slow, answers.append)
        while not crowd._current["x"].started:
            await asyncio.sleep(0.001)
        second = crowd.start("x", lambda job: "quick", answers.append, grace=60)
        go.set()
        assert await asyncio.gather(first, second) == ["slow", "quick"]
        assert answers == ["slow", "quick"]
        go.clear()
        crowd.start("x", slow, answers.append)
        crowd.start("x", slow, answers.append, grace=60)
        crowd.drop("x")
        go.set()
        await crowd.wait()
        await asyncio.sleep(0.05)
        assert answers == ["slow", "quick"]
        crowd.close()

    on_loop(scene)


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
