"""The search engine with the rows of the table on a device."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from opdt.checks import check_kind
from opdt.device.card import (
    card_name,
    free_bytes,
    is_card_failure,
    release_memory,
    why_no_card,
)
from opdt.device.device_run import DeviceDriver, DeviceRun, DeviceTuning
from opdt.device.host_passes import HostPasses
from opdt.device.passes import DevicePasses
from opdt.device.table_question import TableQuestion
from opdt.engines import Engine
from opdt.engines.base import Outcome, audit
from opdt.engines.many import check_value
from opdt.engines.search import SearchEngine, Searcher
from opdt.engines.search.run import Prepared
from opdt.errors import EngineFailure, EngineUnavailable, InputError, OpdtWarning
from opdt.problem import Problem, VolumeImpurity
from opdt.rules import Rule
from opdt.scale.answer import first_of
from opdt.scale.driver import Stopped
from opdt.solution import Budget, Clock, Solution, StopReason, running

MOST_CLASSES = 255
MOST_CONDITIONS = 8
MOST_FEATURES = 4_000  # of which there are eight million pairs, each counted by itself
TRIES = 4  # with less and less of the device's memory, before the search goes on without it
HOST_BYTES = 1 << 30  # of the twin of a device, for which nothing depends on it
LESS = 8  # by which it is divided each time


@dataclass(frozen=True)
class DeviceUse:
    """Where a search was done, in `Solution.details`; the CPU has none.

    Attributes
    ----------
    device : str
        "cuda".
    name : str
        What the device calls itself.
    upload_seconds : float
        Time in which the codes were sent to the device, part of `Solution.seconds`.
    streamed : bool
        Whether the rows were sent in blocks, again for every pass, because they did not fit.
    passes : int
        Passes over the rows.
    """

    device: str
    name: str
    upload_seconds: float
    streamed: bool
    passes: int


@dataclass(frozen=True)
class DeviceSearch(SearchEngine):
    """The search engine, which counts rows on a device.

    Parameters
    ----------
    device : str
        "cuda"; "auto" for a CUDA device where there is one and the table is large enough to pay;
        or "host" for the same search on this machine, which tests compare with it.
    tuning : DeviceTuning

    Objectives other than the VI, limits on sums of rows, and more than 255 classes, 4,000 features
    or 8 conditions are searched on the CPU; "cuda" says so in a warning.
    """

    name: ClassVar[str] = "search"

    device: str = "cuda"
    tuning: DeviceTuning = field(default_factory=DeviceTuning)

    def many(self, problem: Problem) -> Searcher:
        """The search for many questions about one table, whose codes stay on the device."""
        return DeviceSearcher(self, problem)

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        if not self.takes(problem):
            return super()._solve(problem, clock)
        start = self.start

        def solve(passes: DevicePasses, question: TableQuestion) -> Outcome:
            return _outcome(self.run(passes, question, clock, start=start))

        question = TableQuestion(problem, Prepared(problem))
        found = self.attempt(question, clock, solve)
        return super()._solve(problem, clock) if found is None else found

    def takes(self, problem: Problem) -> bool:
        """Whether a problem is searched on the device; warns where "cuda" was asked for in vain.

        Raises
        ------
        EngineUnavailable
            If "cuda" is asked for, and there is none.
        """
        if self.device == "host":
            return _why_not(problem) is None
        why = why_no_card()
        if self.device == "auto":
            large = problem.table.n_rows >= self.tuning.worth_rows
            return large and why is None and _why_not(problem) is None
        if why is not None:
            raise EngineUnavailable(why)
        if (reason := _why_not(problem)) is not None:
            _warn(f"device 'cuda' does not search {reason}; the CPU does.")
            return False
        return True

    def run(
        self, passes: DevicePasses, question: TableQuestion, clock: Clock, *,
        start: Rule | None = None, at_least: int | None = None,
    ) -> DeviceRun:  # fmt: skip
        """A search on rows that are on the device."""
        driver = DeviceDriver(clock, passes.result_bytes)
        run = DeviceRun(
            question, passes, driver, self.switches, self.tuning, start=start, at_least=at_least
        )
        run.search()
        return run

    def attempt(
        self, question: TableQuestion, clock: Clock,
        use: Callable[[DevicePasses, TableQuestion], Outcome],
    ) -> Outcome | None:  # fmt: skip
        """What is asked of the rows on the device; None, with a warning, if it cannot be done.

        Where its memory ends, all is tried again with less of it: rows are sent in blocks then.
        """
        limit = self.memory_limit(clock)
        for _ in range(TRIES):
            try:
                return use(self.open(question, limit), question)
            except MemoryError:
                if self.device != "host":
                    release_memory()
                limit = (self._free() if limit is None else limit) // LESS
            except Exception as error:
                if not is_card_failure(error):
                    raise
                if self.device == "cuda":
                    raise EngineFailure(f"the CUDA device failed: {error}") from error
                _warn(f"the CUDA device failed, and the CPU goes on: {error}")
                return None
        _warn("the memory of the CUDA device does not suffice, and the CPU goes on.")
        return None

    def _free(self) -> int:
        return HOST_BYTES if self.device == "host" else free_bytes()

    def memory_limit(self, clock: Clock) -> int | None:
        """Bytes that may be taken on the device: as much as there is, or what a limit says."""
        given = (self.tuning.memory_limit, clock.budget.memory_limit)
        return min((limit for limit in given if limit is not None), default=None)

    def open(self, question: TableQuestion, limit: int | None) -> DevicePasses:
        """The rows of a table on the device."""
        began = time.perf_counter()
        passes: DevicePasses
        if self.device == "host":
            passes = HostPasses(question, limit)
        else:
            from opdt.device.cuda_passes import CudaPasses

            passes = CudaPasses(question, limit)
            passes.name = card_name()
        passes.upload_seconds = time.perf_counter() - began
        return passes


class DeviceSearcher(Searcher):
    """Many questions about one table: codes stay on the device, labels and prices change.

    What the device does not do is asked of the search in memory. One question is worked on at a
    time, whatever the number of threads that ask.
    """

    def __init__(self, engine: DeviceSearch, problem: Problem) -> None:
        super().__init__(problem, engine.switches)
        self._device = engine
        self._passes: DevicePasses | None = None
        self._question: TableQuestion | None = None  # the last one
        self._turn = threading.Lock()
        self._failed = False

    def solve(
        self, gains: Any = None, *, budget: Budget | Clock | None = None, start: Rule | None = None
    ) -> Solution:
        """The best rule for these gains; see `Searcher.solve`."""
        problem, clock = self.with_gains(gains), running(budget)
        engine = self._device

        def solve(passes: DevicePasses, question: TableQuestion) -> Outcome:
            return _outcome(engine.run(passes, question, clock, start=start))

        found = self._ask(problem, clock, solve)
        if found is None:
            return super().solve(gains, budget=clock, start=start)
        return audit(engine.name, problem, found, clock.elapsed())

    def improve(
        self,
        start: Rule | None,
        gains: Any = None,
        *,
        budget: Budget | Clock | None = None,
        proven: bool = True,
    ) -> Solution:
        """The best rule for these gains, or `start` where none is better."""
        if not proven or not self._suits(self.with_gains(gains)):
            return super().improve(start, gains, budget=budget, proven=proven)
        return self.solve(gains, budget=budget, start=start)

    def reaches(
        self, value: float, gains: Any = None, *, budget: Budget | Clock | None = None
    ) -> bool | None:
        """Whether some rule has at least this value; see `Searcher.reaches`."""
        check_value(value)
        problem, clock = self.with_gains(gains), running(budget)
        least = problem.gain(value)
        known = problem.may_be_empty and least <= 0
        answer: list[bool | None] = []

        def decide(passes: DevicePasses, question: TableQuestion) -> Outcome:
            run = self._device.run(passes, question, clock, at_least=least)
            decided = run.stopped_by is None
            answer.append(True if run.found is not None else False if decided else None)
            return Outcome(None)

        if known or self._ask(problem, clock, decide) is None:
            return super().reaches(value, gains, budget=clock)
        return answer[-1]

    def _suits(self, problem: Problem) -> bool:
        return not self._failed and self._device.takes(problem)

    def _ask(
        self, problem: Problem, clock: Clock,
        use: Callable[[DevicePasses, TableQuestion], Outcome],
    ) -> Outcome | None:  # fmt: skip
        """What is asked of the rows on the device, which are sent there once."""
        if not self._suits(problem):
            return None
        with self._turn:
            last = self._question
            question = last.again(problem) if last else TableQuestion(problem, self._prepared)
            self._question = question
            if self._passes is not None:
                try:
                    self._passes.relabel(question)
                    return use(self._passes, question)
                except MemoryError:
                    self._passes = None  # begin anew, with less memory

            def keep(passes: DevicePasses, question: TableQuestion) -> Outcome:
                found = use(passes, question)
                self._passes = passes
                return found

            found = self._device.attempt(question, clock, keep)
            self._failed = found is None
            return found


def on_device(engine: Engine, device: Any) -> Engine:
    """The search engine on a device: "cuda", or "auto" for one where it is there and pays."""
    check_kind("device", device, str, "'cuda' or 'auto'")
    if device not in ("cuda", "auto"):
        raise InputError(f"'device' must be 'cuda' or 'auto', got {device!r}.")
    if isinstance(engine, DeviceSearch):
        return engine
    if not isinstance(engine, SearchEngine):
        if device == "auto":
            return engine
        raise InputError(f"'device' is for the engine 'search', not for {engine.name!r}.")
    if device == "cuda" and (why := why_no_card()) is not None:
        raise EngineUnavailable(why)
    return DeviceSearch(start=engine.start, switches=engine.switches, device=device)


def _why_not(problem: Problem) -> str | None:
    """What a device does not search, as the object of a sentence; None where it does."""
    if not isinstance(problem.objective, VolumeImpurity):
        return "objectives in which rows have values of their own"
    if problem.constraints.sums_rows:
        return "for rules under 'max_coverage', 'segments' or 'parities'"
    if len(problem.table.classes) > MOST_CLASSES:
        return f"tables of more than {MOST_CLASSES} classes"
    if problem.table.n_features > MOST_FEATURES:
        return f"tables of more than {MOST_FEATURES:,} features"
    if problem.structure.depth > MOST_CONDITIONS:
        return f"for rules of more than {MOST_CONDITIONS} conditions"
    return None


def _warn(message: str) -> None:
    warnings.warn(message, OpdtWarning, stacklevel=2)


def _outcome(run: DeviceRun) -> Outcome:
    """What was found; ties are decided by one more pass."""
    found = run.found
    if run.stopped_by is None:
        try:
            found = first_of(run, run.candidates())[0]
        except Stopped as stop:
            run.stopped_by = stop.reason
        except KeyboardInterrupt:
            run.stopped_by = StopReason.INTERRUPTED
    passes = run.passes
    return Outcome(
        rule=None if found is None else run.coded(found),
        bound=run.bound(),
        stopped_by=run.stopped_by or StopReason.FINISHED,
        trace=tuple(run.recorder.points),
        statistics=run.statistics,
        details=DeviceUse(
            passes.device, passes.name, passes.upload_seconds, passes.streamed, run.driver.passes
        ),
    )
