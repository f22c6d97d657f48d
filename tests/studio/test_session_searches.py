"""Searches of a session that take long: their progress, and how they end."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from pathlib import Path

import pytest

import opdt
from opdt.solution import StopReason
from opdt.studio.session import Session
from studio.sessions import deep_search, on_loop, progress, stored
from studio.works import patients

pytestmark = pytest.mark.usefixtures("nothing_unexpected")


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


@pytest.mark.slow
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
