"""Real runs in processes of their own, killed at random and started again."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest

from experiments.toys import write_small_data

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")

METHODS = "opdt,bsccart,rscrules,prism,cart,ids"
N_CELLS = 6 * 2 * 6
COMMAND = [
    sys.executable,
    "-c",
    "from opdt.cli import main; main()",
    "reproduce",
    "training",
    "test",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_small_data(tmp_path_factory.mktemp("raw"), n_rows=60)


def start(data, out, jobs=1):
    options = ["--datasets", "pima,blood_transfusion", "--methods", METHODS, "--splits", "6"]
    return subprocess.Popen(
        [*COMMAND, *options, "--data", str(data), "--out", str(out), "--jobs", str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process):
    output = process.communicate(timeout=300)
    return process.returncode, *output


def n_lines(out):
    """Measured cells so far, whole lines after the header."""
    file = out / "cells.jsonl"
    return max(0, file.read_bytes().count(b"\n") - 1) if file.exists() else 0


def wait_for(process, out, n):
    """Wait until so many cells are measured, or the run has ended."""
    deadline = time.monotonic() + 200
    while process.poll() is None and n_lines(out) < n:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.001)


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)


def tables(out):
    """The tables without measured times, which no two runs share."""
    found = {}
    for name in ("training", "test"):
        with (out / "tables" / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        found[name] = [row for row in rows if row["is_time"] == "no"]
        assert len(found[name]) > 20
    return found


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    """The tables of a run that nothing disturbs."""
    out = tmp_path_factory.mktemp("whole")
    code, _, errors = finish(start(data, out))
    assert code == 0, errors
    assert n_lines(out) == N_CELLS
    return tables(out)


@pytest.mark.parametrize(
    ("jobs", "kills", "seed"),
    [
        pytest.param(1, 1, 0, marks=pytest.mark.slow),
        pytest.param(1, 3, 1, marks=pytest.mark.slow),
        pytest.param(2, 3, 2, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_and_started_again_gives_the_same_tables(
    data, uninterrupted, tmp_path, jobs, kills, seed
):
    draw = random.Random(seed)
    for at in sorted(draw.sample(range(1, N_CELLS - 20), kills)):
        process = start(data, tmp_path, jobs)
        wait_for(process, tmp_path, at)
        time.sleep(draw.random() * 0.02)
        before = (tmp_path / "cells.jsonl").read_bytes()
        kill(process)
        assert process.returncode == -signal.SIGKILL, "it was finished before it was killed"
    # The next run cuts a torn line off and keeps all before it.
    whole = before[: before.rfind(b"\n") + 1]
    code, _, errors = finish(start(data, tmp_path, jobs))
    assert code == 0, errors
    assert (tmp_path / "cells.jsonl").read_bytes().startswith(whole)
    assert n_lines(tmp_path) == N_CELLS
    assert tables(tmp_path) == uninterrupted


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_loses_nothing(data, uninterrupted, tmp_path):
    process = start(data, tmp_path, jobs=2)
    wait_for(process, tmp_path, 5)
    os.killpg(process.pid, signal.SIGINT)
    code, output, errors = finish(process)
    assert (code, output) == (130, "")
    assert "the same command goes on there" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert 5 <= n_lines(tmp_path) < N_CELLS
    code, _, errors = finish(start(data, tmp_path))
    assert code == 0, errors
    assert tables(tmp_path) == uninterrupted


@pytest.mark.slow
def test_a_worker_that_dies_is_one_sentence_and_nothing_is_lost(data, uninterrupted, tmp_path):
    process = start(data, tmp_path, jobs=2)
    wait_for(process, tmp_path, 3)
    workers = [
        child
        for child in psutil.Process(process.pid).children()
        if "spawn_main" in " ".join(child.cmdline())
    ]
    workers[0].kill()
    code, output, errors = finish(process)
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].startswith("a worker process died")
    assert "Traceback" not in errors
    kept = n_lines(tmp_path)
    assert kept >= 3
    code, _, errors = finish(start(data, tmp_path))
    assert code == 0, errors
    assert tables(tmp_path) == uninterrupted
