"""What the engine asks of a solver, and the thread in which every solver runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, Protocol

from opdt.checks import check_choice
from opdt.engines.mip.model import Floats, Model
from opdt.errors import EngineUnavailable
from opdt.solution import Clock, StopReason

# How often the waiting thread looks at the cancel flag and reports progress, in seconds.
TICK = 0.1


class SolverEntry(NamedTuple):
    """Where a solver's adapter is, and what it needs."""

    module: str
    package: str
    extra: str


SOLVERS = {
    "scip": SolverEntry("opdt.engines.mip.scip", "pyscipopt", "mip"),
    "highs": SolverEntry("opdt.engines.mip.highs", "highspy", "mip"),
    "gurobi": SolverEntry("opdt.engines.mip.gurobi", "gurobipy", "gurobi"),
}


@dataclass(frozen=True)
class SolverSettings:
    """Limits and switches of one solve, the same for every solver; the clock has the time."""

    nodes: int | None = None
    memory: int | None = None  # bytes
    threads: int = 1
    seed: int = 0
    gap: float = 0.0  # absolute gap at which the value counts as proven
    priorities: bool = True


class SolverAnswer(NamedTuple):
    """How a solve ended.

    `x` is the best point, None without one; `bound` limits the objective of every point, and is
    -inf where there is none; `stopped_by` is FINISHED where bound and value met.
    """

    x: Floats | None
    bound: float
    nodes: int
    stopped_by: StopReason


class Event(NamedTuple):
    """An improvement on the way: the incumbent's point, if it is new, and the bound then."""

    seconds: float
    x: Floats | None
    bound: float


@dataclass
class Listener:
    """Collects events in the solver's thread, for the waiting thread to take."""

    clock: Clock
    _events: list[Event] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    failure: BaseException | None = None

    def add(self, x: Floats | None, bound: float) -> None:
        """Record an incumbent (or only a bound) at this moment."""
        with self._lock:
            self._events.append(Event(self.clock.elapsed(), x, bound))

    def take(self) -> list[Event]:
        """The events since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def guard(self, act: Callable[[], None]) -> None:
        """Run a callback's body; what it raises is kept, since solvers cannot pass it on."""
        try:
            act()
        except BaseException as error:
            self.failure = self.failure or error


class SolverRun(Protocol):
    """A model loaded into a solver."""

    def solve(self) -> SolverAnswer:
        """Solve within the time that is left by now; called once, in a thread of its own."""

    def interrupt(self) -> None:
        """Ask the running solver to stop soon; called from another thread."""


class Adapter(Protocol):
    """A module with a solver's adapter."""

    HAS_PRIORITIES: bool
    STARTUP: float  # seconds for each entry of a model in which no limit is looked at

    def load(self, model: Model, settings: SolverSettings, listener: Listener) -> SolverRun:
        """Load a model; what takes long looks at the listener's clock (`LimitReached`)."""

    def version(self) -> str:
        """Name and version of the solver."""


def get_adapter(name: str) -> Adapter:
    """The adapter of a solver, importing neither the solver nor the other adapters."""
    check_choice("solver", name, tuple(SOLVERS))
    module, package, extra = SOLVERS[name]
    if find_spec(package) is None:
        raise EngineUnavailable(
            f"solver {name!r} needs {package}; run: pip install 'opdt[{extra}]'"
        )
    adapter: Adapter = import_module(module)
    return adapter


def supervise(
    run: SolverRun, listener: Listener, tick: Callable[[], None]
) -> tuple[SolverAnswer, StopReason | None]:
    """Run a solver in a thread, and stop it on Ctrl-C, the cancel flag, or past its time.

    Returns the answer and, beside it, why the solver was asked to stop, if it was: it may have
    been done by then. `tick` is called in this thread a few times a second; a
    `KeyboardInterrupt` it raises counts
    as Ctrl-C.
    """
    done = threading.Event()
    answers: list[SolverAnswer] = []

    def work() -> None:
        listener.guard(lambda: answers.append(run.solve()))
        done.set()

    threading.Thread(target=work, name="opdt-mip", daemon=True).start()
    reason: StopReason | None = None
    clock, cancel = listener.clock, listener.clock.budget.cancel
    while True:
        try:
            finished = done.wait(TICK)
            if reason is None:
                tick()
                if cancel is not None and cancel.is_set():
                    reason = StopReason.CANCELLED
        except KeyboardInterrupt:
            reason = reason or StopReason.INTERRUPTED
            finished = done.is_set()
        except BaseException as error:  # the progress callback failed: stop, then raise
            listener.failure = listener.failure or error
            finished = done.is_set()
        if finished:
            break
        late = clock.remaining() < -TICK  # some parts of a solver look at no limit of their own
        if late or reason is not None or listener.failure is not None:
            run.interrupt()  # again at every turn: a solver forgets it while starting up
    if listener.failure is not None:
        raise listener.failure
    answer = answers[0]
    if answer.stopped_by is StopReason.INTERRUPTED and reason is None and clock.remaining() <= 0:
        answer = answer._replace(stopped_by=StopReason.TIME)
    if reason is not None and answer.stopped_by is not StopReason.FINISHED:
        answer = answer._replace(stopped_by=reason)
    return answer, reason
