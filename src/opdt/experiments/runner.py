"""Measure the cells that are not on disk yet, in one process or several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from opdt.checks import check_int
from opdt.datasets.fetch import ENVIRONMENT
from opdt.errors import OpdtError
from opdt.experiments.cell import Cell, measure
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.provenance import note_run
from opdt.experiments.store import CellOutcome, ResultStore

# How many seconds of running at the declared cost the estimate of the remaining time starts from.
_PRIOR_SECONDS = 5.0


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: cells done of all of this run, and seconds, gone and expected."""

    done: int
    total: int
    seconds: float
    remaining: float
    cell: Cell | None = None  # the one just finished
    failure: str = ""  # why it has no record


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C; what is finished is on disk."""


def run(
    experiments: Sequence[Experiment],
    out: Path,
    settings: ExperimentSettings,
    *,
    jobs: int = 1,
    progress: Callable[[RunProgress], None] | None = None,
    folder: Path | None = None,
) -> Results:
    """Measure what is missing in the folder `out`, and return the results of all cells.

    Cells that several experiments share are measured once. A cell that fails is noted with its
    sentence and tried again by the next run. Ctrl-C ends the run with `Interrupted`.

    Parameters
    ----------
    experiments : sequence of Experiment
    out : Path
        The folder of the store, for example of an earlier run that was stopped.
    settings : ExperimentSettings
    jobs : int
        Processes; with 1 the work is done in this one. Each works on one thread.
    progress : callable, optional
        Called with a `RunProgress` at the start and after each cell.
    folder : Path, optional
        Where the raw files of the datasets are; see `opdt.datasets.load`.
    """
    check_int("jobs", jobs)
    cells = all_cells(experiments, settings)
    store = ResultStore(out)
    with store, _data_folder(folder):
        known = store.read()
        waiting = [c for c in cells if c.key not in known or known[c.key].record is None]
        note_run(out, settings, [each.name for each in experiments], jobs, cells)
        clock = _Clock(waiting, jobs, progress)
        try:
            with closing(_outcomes(waiting, jobs)) as outcomes:
                for cell, outcome in outcomes:
                    store.append(cell, outcome)
                    clock.finished(cell, outcome)
        except KeyboardInterrupt:
            raise Interrupted from None
    return read_results(experiments, out, settings)


def all_cells(experiments: Iterable[Experiment], settings: ExperimentSettings) -> list[Cell]:
    """The cells of some experiments, each once, in the order of the work."""
    return list(dict.fromkeys(cell for each in experiments for cell in each.cells(settings)))


def read_results(
    experiments: Sequence[Experiment], out: Path, settings: ExperimentSettings
) -> Results:
    """What is in the folder of the cells of these experiments."""
    found = ResultStore(out).read()
    return Results(
        all_cells(experiments, settings),
        {key: outcome.record for key, outcome in found.items() if outcome.record is not None},
        {key: outcome.failure for key, outcome in found.items() if outcome.record is None},
        settings,
    )


class _Clock:
    """Reports progress; the remaining time is that of the costs, scaled by the speed so far."""

    def __init__(
        self,
        waiting: Sequence[Cell],
        jobs: int,
        progress: Callable[[RunProgress], None] | None,
    ) -> None:
        self._started = perf_counter()
        self._jobs, self._progress = jobs, progress
        self._done, self._total = 0, len(waiting)
        self._spent, self._cost = 0.0, sum(cell.cost for cell in waiting)
        self._report(None, "")

    def finished(self, cell: Cell, outcome: CellOutcome) -> None:
        self._done += 1
        self._spent += cell.cost
        self._report(cell, outcome.failure)

    def _report(self, cell: Cell | None, failure: str) -> None:
        if self._progress is None:
            return
        seconds = perf_counter() - self._started
        pace = (seconds + _PRIOR_SECONDS) / (self._spent + _PRIOR_SECONDS * self._jobs)
        remaining = max(0.0, self._cost - self._spent) * pace
        self._progress(RunProgress(self._done, self._total, seconds, remaining, cell, failure))


def _outcomes(
    waiting: Sequence[Cell], jobs: int
) -> Generator[tuple[Cell, CellOutcome], None, None]:
    if jobs == 1 or len(waiting) < 2:
        return _in_this_process(waiting)
    return _in_processes(waiting, jobs)


def _in_this_process(waiting: Sequence[Cell]) -> Generator[tuple[Cell, CellOutcome], None, None]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), _noticed_interrupt() as interrupted:
        for cell in waiting:
            outcome = _attempt(cell)
            # An engine answers Ctrl-C with the best rule so far, which is no measurement.
            if interrupted.is_set():
                raise KeyboardInterrupt
            yield cell, outcome


def _in_processes(
    waiting: Sequence[Cell], jobs: int
) -> Generator[tuple[Cell, CellOutcome], None, None]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(waiting)),
        # A fresh interpreter each: threads and native libraries do not survive a fork.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_prepare_worker,
    )
    queue, running = deque(waiting), dict[Future[CellOutcome], Cell]()
    try:
        while queue or running:
            while queue and len(running) < jobs:
                cell = queue.popleft()
                running[pool.submit(_attempt, cell)] = cell
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running[future], future.result()
                del running[future]
    except BrokenProcessPool:
        names = "; ".join(map(str, running.values()))
        raise OpdtError(
            f"a worker process died, perhaps for want of memory, while it measured: {names}. "
            "What was finished is kept; run the same command again, with fewer '--jobs'."
        ) from None
    finally:
        # The results of what is still running are nobody's.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    from threadpoolctl import threadpool_limits

    # Ctrl-C goes to all processes of a terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)


def _attempt(cell: Cell) -> CellOutcome:
    """The record of a cell, or why there is none: one bad cell must not end hours of work."""
    started = perf_counter()
    record, failure = None, ""
    try:
        # What packages warn of concerns their authors; the data were checked at the start.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = measure(cell)
    except OpdtError as error:
        failure = str(error)
    except Exception as error:
        failure = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return CellOutcome(record, failure, perf_counter() - started)


@contextmanager
def _noticed_interrupt() -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C, beside the usual exception."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def notice(number: int, frame: Any) -> None:
        event.set()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _data_folder(folder: Path | None) -> Iterator[None]:
    """Name the folder of the data to this process and to those that it starts."""
    before = os.environ.get(ENVIRONMENT)
    if folder is not None:
        os.environ[ENVIRONMENT] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(ENVIRONMENT, None)
        else:
            os.environ[ENVIRONMENT] = before
