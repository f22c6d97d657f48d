"""How long an engine may work, and what it may claim afterwards."""

from __future__ import annotations

import math
import os
import re
import threading

import numpy as np
import pytest

from opdt.errors import InputError
from opdt.rules import Rule
from opdt.solution import Budget, Clock, LimitReached, Solution, Status, StopReason, running

# -- budget --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"time_limit": -1},
            "'time_limit' must be a number of seconds >= 0 or None, got -1",
        ),
        ({"time_limit": "60"}, "'time_limit' must be a number of seconds"),
        ({"time_limit": True}, "'time_limit' must be a number of seconds"),
        ({"time_limit": float("nan")}, "'time_limit' must be a number of seconds"),
        ({"nodes": -5}, "'nodes' must be a number of nodes >= 0 or None, got -5"),
        (
            {"memory_limit": "1GB"},
            "'memory_limit' must be a number of bytes >= 0 or None, got '1GB'",
        ),
        (
            {"n_jobs": 0},
            "'n_jobs' must be an int >= 1, or -1 or None for all cores, got 0",
        ),
        ({"n_jobs": -2}, "'n_jobs' must be an int >= 1"),
        ({"n_jobs": 1.5}, "'n_jobs' must be an int >= 1"),
        ({"n_jobs": True}, "'n_jobs' must be an int >= 1"),
    ],
)
def test_a_limit_that_is_none_is_refused(given, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Budget(**given)


def test_limits_of_any_number_type_are_accepted():
    budget = Budget(
        time_limit=np.float32(1.5), nodes=np.int64(3), memory_limit=1e9, n_jobs=np.int64(2)
    )
    assert budget.n_threads == 2
    assert type(budget.n_threads) is int
    assert Budget(time_limit=math.inf).start().stop() is None


@pytest.mark.parametrize("threads", [None, -1])
def test_all_cores_are_used_if_nothing_else_is_said(threads, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    assert Budget(n_jobs=threads).n_threads == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert Budget(n_jobs=threads).n_threads == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert Budget(n_jobs=threads).n_threads == 1


# -- clock ---------------------------------------------------------------------------------------


def test_a_clock_without_limits_never_stops():
    clock = Budget().start()
    assert isinstance(clock, Clock)
    assert clock.remaining() == math.inf
    assert clock.stop(10**12) is None
    assert clock.elapsed() >= 0


def test_a_clock_stops_at_the_limit_that_is_reached(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("opdt.solution.time.perf_counter", lambda: now[0])
    clock = Budget(time_limit=5, nodes=10).start()
    assert clock.stop(9) is None
    assert clock.stop(10) is StopReason.NODES
    now[0] = 103.0
    assert (clock.elapsed(), clock.remaining(), clock.stop()) == (3, 2, None)
    now[0] = 105.0
    assert clock.stop() is StopReason.TIME


def test_an_event_stops_before_anything_else():
    event = threading.Event()
    clock = Budget(time_limit=0, nodes=0, cancel=event).start()
    assert clock.stop() is StopReason.NODES
    event.set()
    assert clock.stop() is StopReason.CANCELLED


def test_a_clock_ends_work_that_asks_it():
    Budget().start().check()
    with pytest.raises(LimitReached) as caught:
        Budget(time_limit=0).start().check()
    assert caught.value.reason is StopReason.TIME


def test_a_running_clock_runs_on():
    clock = Budget(time_limit=5).start()
    assert running(clock) is clock
    assert running(Budget(nodes=3)).budget == Budget(nodes=3)
    assert running(None).budget == Budget()


@pytest.mark.parametrize(
    ("limit", "free", "room"),
    [
        (None, 1000, 750),
        (None, None, math.inf),
        (400, 1000, 400),
        (400, None, 400),
        (4000, 1000, 1000),
    ],
)
def test_room_is_what_limit_and_machine_leave(monkeypatch, limit, free, room):
    monkeypatch.setattr("opdt.solution.available", lambda: free)
    clock = Budget(memory_limit=limit).start()
    assert clock.room() == room
    clock.hold(300)
    assert clock.room() == (room if limit is None else min(limit - 300, free or math.inf))
    clock.hold(limit or 0)
    assert clock.room() == (room if limit is None else 0)
    clock.hold(-300 - (limit or 0))
    assert clock.room() == room


# -- solution ------------------------------------------------------------------------------------


def test_gap_and_precision_follow_from_the_counts():
    solution = Solution(Rule([], 1), 3.0, 5.0, Status.FEASIBLE, covered=8, errors=2)
    assert (solution.gap, solution.precision) == (2, 0.75)


def test_without_a_rule_there_is_no_precision():
    assert math.isnan(Solution(None, 0.0, 0.0, Status.NO_PATTERN).precision)


@pytest.mark.parametrize(
    ("value", "bound", "gap"),
    [(0.0, 0.0, 0), (-math.inf, -math.inf, 0), (-math.inf, 4.0, math.inf)],
)
def test_what_is_proven_leaves_no_gap(value, bound, gap):
    assert Solution(None, value, bound, Status.UNKNOWN).gap == gap


def test_status_and_reason_are_strings():
    assert (Status.OPTIMAL, Status.NO_PATTERN) == ("optimal", "no_pattern")
    assert (f"{Status.INFEASIBLE}", StopReason.TIME) == ("infeasible", "time limit")
