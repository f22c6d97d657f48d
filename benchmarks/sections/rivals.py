"""Breast cancer beside other exact programs, all in the same run."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from common import HERE, Log, Record, Settings, median, own_python, short, timed

from opdt.datasets import load
from opdt.table import Table
from sections.problems import solve

# Importing optikon compiles for more than a minute; a rival that is not ready by then is broken.
READY = 900.0


class Entry(NamedTuple):
    """A rival: what to install for it (nothing: it runs in this environment), and its aim."""

    packages: tuple[str, ...]
    classes: tuple[int, ...]  # those that it is asked about; () where it has no class to choose
    shown: str


RIVALS = {
    "pycontree": Entry(("pycontree==1.0.8",), (), "pycontree (optimal tree)"),
    "fastogb": Entry(("fastogb==0.2.0",), (0, 1), "fastogb"),
    "optikon": Entry(("optikon==0.4.0",), (0, 1), "optikon"),
    "mip": Entry((), (0, 1), "path model in HiGHS"),
}


def run(log: Log, settings: Settings) -> None:
    """Ask each rival and the search engine the same, in turns."""
    data = load("breast_cancer", folder=settings.data)
    X, (classes, y) = data.X.to_numpy(dtype=float), np.unique(data.y, return_inverse=True)
    table = Table.build(X, y)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(file, X=X, y=y)
        for name in settings.rivals:
            entry = RIVALS[name]
            if name == "mip" and find_spec("highspy") is None:
                print("  mip: left out, as highspy is not installed", flush=True)
                continue
            python = own_python(name, *entry.packages) if entry.packages else sys.executable
            with Rival(python, HERE / "rivals" / f"run_{name}.py", file) as rival:
                for depth in (2, 3):
                    for label in entry.classes or (None,):
                        record = compare(rival, table, depth, label, settings)
                        wanted = None if label is None else str(classes[label])
                        log.add("rivals", rival=name, depth=depth, label=wanted, **record)
                        tell(name, record, depth, wanted)


def tell(name: str, record: Record, depth: int, wanted: str | None) -> None:
    """Print one comparison."""
    theirs = short(record["theirs"]) if record["finished"] else f"not in {record['limit']:g} s"
    ratio = record["theirs"] / record["ours"]
    print(
        f"  depth {depth}, {wanted or 'both classes'}: opdt {short(record['ours'])}, "
        f"{name} {theirs} ({'' if record['finished'] else 'more than '}{ratio:.3g} ×)",
        flush=True,
    )


def compare(
    rival: Rival, table: Table, depth: int, label: int | None, settings: Settings
) -> Record:
    """Medians of both; a rival that needs long, or does not finish, is asked once."""
    request = {
        "depth": depth,
        "label": 0 if label is None else label,
        "w": settings.w,
        "limit": settings.rival_limit,
    }
    solve(table, depth, settings, label=label)  # compiles, and is not timed
    solve(table, depth, settings, label=label, threads=1)
    answers: list[Record] = []
    ours, alone = [], []
    for _ in range(settings.rounds):
        if not answers or (answers[-1]["finished"] and answers[-1]["seconds"] < 10):
            answers.append(rival.ask(request))
        seconds, solution = timed(lambda: solve(table, depth, settings, label=label))
        ours.append(seconds)
        alone.append(timed(lambda: solve(table, depth, settings, label=label, threads=1))[0])
    last = answers[-1]
    return {
        "ours": median(ours),
        "ours_one_thread": median(alone),
        "our_value": solution.value,
        "our_gap": solution.gap,
        "theirs": median([answer["seconds"] for answer in answers]),
        "their_value": last["value"],
        "finished": last["finished"],
        "remark": last.get("remark", ""),
        "limit": settings.rival_limit,
        "rounds": len(answers),
        "ready": rival.ready,
        "version": rival.version,
    }


class Rival:
    """A rival in a process of its own, started again after it had to be ended."""

    def __init__(self, python: str, script: Path, data: Path) -> None:
        self._command = [python, "-W", "ignore", str(script), str(data)]
        self._process: subprocess.Popen[str] | None = None
        self.ready, self.version = 0.0, ""

    def __enter__(self) -> Rival:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def ask(self, request: Record) -> Record:
        """The rival's answer; that it has not finished, where the limit is over."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        # Some end by themselves and then tell how far they came: they get a moment more.
        answer = self._next(request["limit"] + 10)
        if answer is None:
            self._end()
            return {"seconds": request["limit"], "value": None, "finished": False}
        return answer

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self._process, self._lines), daemon=True).start()
        ready = self._next(READY)
        if ready is None:
            self._end()
            raise SystemExit(f"{self._command[3]} was not ready after {READY:g} s")
        self.ready, self.version = ready["ready"], ready["version"]

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def _next(self, seconds: float) -> dict[str, Any] | None:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if not line:
            raise SystemExit(f"{self._command[3]} ended unexpectedly")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
