from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np
import pytest

from opdt.errors import InputError
from opdt.table import Table
from opdt.table.parallel import run


class Enough(Exception):
    pass


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("threads", [None, 1, 3])
def test_results_come_in_the_order_of_the_jobs(large: bool, threads: int | None) -> None:
    jobs = [partial(time.sleep, 0.01)] + [partial(int, str(k)) for k in range(20)]
    assert run(jobs, large=large, threads=threads) == [None, *range(20)]
    assert run(jobs, large=large, threads=threads, watch=lambda: None) == [None, *range(20)]
    assert run([], large=large) == []


@pytest.mark.parametrize("large", [False, True])
def test_the_first_error_in_order_is_the_one_that_is_raised(large: bool) -> None:
    def slow() -> None:
        time.sleep(0.05)
        raise InputError("first")

    def quick() -> None:
        raise InputError("second")

    for watch in (None, lambda: None):
        with pytest.raises(InputError, match="first"):
            run([slow, quick], large=large, watch=watch)


def test_a_timeout_of_a_job_is_its_own() -> None:
    def late() -> None:
        raise TimeoutError("of the job")

    with pytest.raises(TimeoutError, match="of the job"):
        run([late], large=True, watch=lambda: None)


def test_whoever_watches_need_not_wait_for_a_job() -> None:
    go_on = threading.Event()
    begun: list[int] = []

    def job() -> None:
        begun.append(1)
        go_on.wait(30)

    def watch() -> None:
        if begun:
            raise Enough

    with pytest.raises(Enough):
        run([job] * 50, large=True, watch=watch, threads=2)
    go_on.set()
    assert len(begun) <= 2


@pytest.mark.parametrize("least", [0, 1 << 40])
def test_a_table_is_watched_while_it_is_coded(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr("opdt.table.table._LARGE", least)
    X, y = np.random.default_rng(0).normal(size=(300, 5)), np.arange(300) % 2
    seen: list[int] = []
    table = Table.build(X, y, watch=lambda: seen.append(1))
    assert seen
    for one, other in zip(table.columns, Table.build(X, y, n_jobs=1).columns, strict=True):
        assert one.codes.tolist() == other.codes.tolist()

    def enough() -> None:
        raise Enough

    with pytest.raises(Enough):
        Table.build(X, y, watch=enough)
    with pytest.raises(Enough):
        Table.build({"a": ["u", "v"] * 150}, y, watch=enough)
