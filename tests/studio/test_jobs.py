"""Jobs that follow each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from opdt.studio.jobs import Job, Jobs
from studio.sessions import on_loop

pytestmark = pytest.mark.usefixtures("nothing_unexpected")


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
