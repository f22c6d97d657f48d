"""How long an engine may work, and what it may claim afterwards."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from typing import Any

from opdt.checks import check_number, is_finite, is_whole
from opdt.errors import InputError
from opdt.machine import available, cores, refuse_beyond
from opdt.objectives import Account, Objective, words_of
from opdt.rules import Rule
from opdt.table import Plan
from opdt.verdict import Evidence, Verdict, VerdictLevel, judge

# Of a word and its ground, on pages that are light or dark.
LITTLE = 1 << 20  # bytes that are there on any machine

_COLOURS = {
    VerdictLevel.SUPPORTED: ("#0a6a47", "#dff3e9"),
    VerdictLevel.WEAK: ("#7a4700", "#fbecd2"),
    VerdictLevel.NOT_SUPPORTED: ("#9c1f18", "#fbe3e1"),
}


class Status(StrEnum):
    """What is known about the rule of a solution."""

    OPTIMAL = "optimal"  # no rule of the problem is better: proven
    FEASIBLE = "feasible"  # the best rule so far; `bound` says how much better one could be
    NO_PATTERN = "no_pattern"  # no rule gains anything: proven
    INFEASIBLE = "infeasible"  # no rule meets the constraints: proven
    UNKNOWN = "unknown"  # stopped before any rule that meets the constraints was found

    @classmethod
    def of(cls, *, has_rule: bool, may_be_empty: bool, proven: bool) -> Status:
        """The status that follows from the facts.

        Parameters
        ----------
        has_rule : bool
            Whether a rule was found that gains anything and meets the constraints.
        may_be_empty : bool
            Whether covering nothing is an answer, too.
        proven : bool
            Whether nothing is left to search.
        """
        if has_rule:
            return cls.OPTIMAL if proven else cls.FEASIBLE
        if may_be_empty:
            return cls.NO_PATTERN if proven else cls.FEASIBLE
        return cls.INFEASIBLE if proven else cls.UNKNOWN

    @property
    def is_proven(self) -> bool:
        """Whether nothing is left to search."""
        return self in (Status.OPTIMAL, Status.NO_PATTERN, Status.INFEASIBLE)


class StopReason(StrEnum):
    """Why an engine stopped."""

    FINISHED = "finished"
    TIME = "time limit"
    NODES = "node limit"
    MEMORY = "memory limit"
    PASSES = "pass limit"  # over the partitions of a table larger than memory
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress callback is told, while an engine works.

    Values are in the measure of the objective (VI, in rows); `done` is the share of the search
    space that is settled, from 0 to 1; a `KeyboardInterrupt` raised by the callback stops the
    engine like Ctrl-C.
    """

    seconds: float
    value: float
    bound: float
    done: float

    @property
    def gap(self) -> float:
        """How much better an undiscovered rule could be."""
        return self.bound - self.value


@dataclass(frozen=True, slots=True)
class TracePoint:
    """A moment at which value or bound improved."""

    seconds: float
    value: float
    bound: float
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of the work done; the same names for every engine, 0 where they do not apply."""

    nodes: int = 0  # partial rules considered
    evaluations: int = 0  # sets of features (or rules) evaluated on rows
    pruned: int = 0  # sets of features dismissed by a bound


@dataclass(frozen=True)
class Budget:
    """Limits on an engine's work; all optional.

    Parameters
    ----------
    time_limit : float, optional
        Wall-clock seconds.
    nodes : int, optional
        Number of search nodes.
    memory_limit : int, optional
        Bytes an engine may allocate for itself, beyond the coded table; if left out, three
        quarters of what the machine, its container and the process have free.
    n_jobs : int, optional
        Number of threads; None or -1 means all cores this process may use, in a container those
        of the container.
    cancel : threading.Event, optional
        Set it from anywhere to stop the engine.
    progress : callable, optional
        Called with a `Progress` from time to time, in the thread that called the engine.
    """

    time_limit: float | None = None
    nodes: int | None = None
    memory_limit: int | None = None
    n_jobs: int | None = None
    cancel: threading.Event | None = None
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        for name, unit in (
            ("time_limit", "seconds"),
            ("nodes", "nodes"),
            ("memory_limit", "bytes"),
        ):
            value = getattr(self, name)
            if value is None:
                continue
            check_number(name, value, f"a number of {unit} >= 0 or None", lambda x: x >= 0)
            if name != "time_limit":
                check_number(name, value, f"a finite number of {unit} or None", is_finite)
        if self.cancel is not None and not callable(getattr(self.cancel, "is_set", None)):
            raise InputError(
                f"'cancel' must be a threading.Event or None, got {type(self.cancel).__name__}."
            )
        if self.progress is not None and not callable(self.progress):
            raise InputError(
                f"'progress' must be a function or None, got {type(self.progress).__name__}."
            )
        n_jobs = self.n_jobs
        if n_jobs is not None and not (is_whole(n_jobs) and (n_jobs >= 1 or n_jobs == -1)):
            raise InputError(
                f"'n_jobs' must be an int >= 1, or -1 or None for all cores, got {n_jobs!r}."
            )

    @property
    def n_threads(self) -> int:
        """The number of threads to use."""
        if self.n_jobs is not None and self.n_jobs > 0:
            return int(self.n_jobs)
        return cores()

    def start(self) -> Clock:
        """A running clock with these limits."""
        return Clock(self)


class LimitReached(Exception):
    """Raised by `Clock.check` where a limit is reached; whoever started the clock catches it."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Clock:
    """A running budget: elapsed time, whether to stop, and the memory that is left."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._started = time.perf_counter()
        self._held = 0

    @property
    def n_threads(self) -> int:
        """The number of threads to use."""
        return self.budget.n_threads

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def remaining(self) -> float:
        """Seconds left; infinity without a limit."""
        limit = self.budget.time_limit
        if limit is None or limit > sys.float_info.max:
            return math.inf
        return float(limit) - self.elapsed()

    def stop(self, nodes: int = 0) -> StopReason | None:
        """The limit that is reached, if any."""
        budget = self.budget
        if budget.cancel is not None and budget.cancel.is_set():
            return StopReason.CANCELLED
        if budget.nodes is not None and nodes >= budget.nodes:
            return StopReason.NODES
        if self.remaining() <= 0:
            return StopReason.TIME
        return None

    def check(self) -> None:
        """Raise `LimitReached` at a limit: for work that has many places to stop in."""
        reason = self.stop()
        if reason is not None:
            raise LimitReached(reason)

    def hold(self, n_bytes: int) -> None:
        """Say that so many bytes more are held under the memory limit; fewer if below zero."""
        self._held += n_bytes

    def room(self) -> float:
        """Bytes an engine may still allocate; infinity where nothing limits them.

        With a memory limit, what it leaves beside all that was told to `hold`, and never more
        than there is; without one, three quarters of what there is now.
        """
        free, limit = available(), self.budget.memory_limit
        most = float("inf") if free is None else float(free)
        return most * 0.75 if limit is None else max(0.0, min(limit - self._held, most))

    def fits(self, n_bytes: int) -> bool:
        """Whether an engine may allocate so many bytes.

        For little memory only the memory limit counts: asking the system takes a millisecond.
        """
        if n_bytes > LITTLE:
            return n_bytes <= self.room()
        limit = self.budget.memory_limit
        return limit is None or n_bytes <= limit - self._held

    def require(self, n_bytes: int, what: str, cure: str) -> None:
        """Raise `MemoryLimit` where so many bytes do not fit; see `machine.refuse_beyond`."""
        if not self.fits(n_bytes):
            refuse_beyond(n_bytes, self.room(), what, cure)


def running(budget: Budget | Clock | None) -> Clock:
    """The clock of a budget; one that runs already runs on."""
    return budget if isinstance(budget, Clock) else (budget or Budget()).start()


def value_of_nothing(may_be_empty: bool) -> float:
    """The value of covering nothing: 0, or minus infinity where that is no answer."""
    return 0.0 if may_be_empty else -math.inf


@dataclass(frozen=True, repr=False)
class Solution:
    """A rule and what is proven about it: `value <= optimum <= bound`, always.

    Attributes
    ----------
    rule : Rule or None
        The best rule found; None when there is no pattern, or nothing was found.
    value, bound : float
        The rule's value, and a limit that no rule of the problem exceeds. Which value that is says
        `objective`. Without a rule the value is 0, that of covering nothing; or minus infinity
        where a minimum coverage forbids that.
    status : Status
    stopped_by : StopReason
    covered, errors : float
        Training rows the rule covers, and those of another class among them (weighted).
    seconds : float
        Time from the call to the answer; from `discover`, reading and coding the data included.
    trace : tuple of TracePoint
        Every improvement of value or bound.
    statistics : Statistics
    engine : str
    rounding : float
        Row weights of more digits than can be added exactly are rounded (see "Whole numbers" in
        the architecture page), and all numbers here are those of the rounded weights. With the
        very weights given, the value of any rule differs by at most this; 0 where none was rounded.
    objective : str or Objective
        What `value` and `bound` measure: "vi" (rows), "precision" (a share from 0 to 1),
        "coverage" (rows of the rule's class), a measure such as "f1", or the objective that was
        given.
    account : Account or None
        What the rule does on the training rows in the words of such an objective.
    evidence : Evidence or None
        What the training rows say about the rule, rows without weights; see `verdict`.
    plan : Plan or None
        What each column was taken for, why, and what was changed; from `discover` only.
    """

    rule: Rule | None
    value: float
    bound: float
    status: Status
    stopped_by: StopReason = StopReason.FINISHED
    covered: float = 0.0
    errors: float = 0.0
    seconds: float = 0.0
    trace: tuple[TracePoint, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    engine: str = ""
    details: Any = None
    rounding: float = 0.0
    objective: str | Objective = "vi"
    account: Account | None = None
    evidence: Evidence | None = None
    plan: Plan | None = None

    @classmethod
    def unfinished(cls, *, may_be_empty: bool, bound: float, **known: Any) -> Solution:
        """What is known when a limit is reached before anything is searched: only a bound."""
        status = Status.of(has_rule=False, may_be_empty=may_be_empty, proven=False)
        return cls(None, value_of_nothing(may_be_empty), bound, status, **known)

    @property
    def verdict(self) -> Verdict | None:
        """Whether the training rows speak for the rule; None without one.

        `status` is about the search, this is about the rows: the best rule may still be chance.
        `opdt.claim` judges by a permutation test and by held-out rows as well.
        """
        return None if self.rule is None else judge(self.evidence)

    @property
    def gap(self) -> float:
        """How much better an undiscovered rule could be; 0 when proven optimal."""
        return 0.0 if self.bound == self.value else self.bound - self.value

    @property
    def precision(self) -> float:
        """Share of the covered rows that are of the rule's class; NaN without a rule."""
        return 1 - self.errors / self.covered if self.covered else float("nan")

    def __str__(self) -> str:
        lines = ["no rule" if self.rule is None else str(self.rule), self._search()]
        if self.account is not None:
            lines.append(f"it {self.account}")
        verdict = self.verdict
        if verdict is not None:
            lines += [f"verdict: {verdict}", verdict.cure]
        if self.plan is not None and self.plan.remarkable:
            lines.append(f"columns: {self.plan.summary()}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        verdict = self.verdict
        judged = "" if verdict is None else f", verdict={str(verdict.level)!r}"
        return (
            f"Solution({str(self.rule)!r}, value={self.value!r}, bound={self.bound!r}, "
            f"status={str(self.status)!r}{judged})"
        )

    def _repr_html_(self) -> str:
        """The same in a notebook: green is for a rule that is supported, not for a proof."""
        rule = "no rule" if self.rule is None else str(self.rule)
        lines = [f"<b>{escape(rule)}</b>", escape(self._search())]
        if self.account is not None:
            lines.append(escape(f"it {self.account}"))
        verdict = self.verdict
        if verdict is not None:
            ink, paper = _COLOURS[verdict.level]
            style = f"padding:0 .4em;border-radius:.3em;color:{ink};background:{paper}"
            lines += [
                f'<b style="{style}">{verdict.level}</b> {escape(verdict.reason)}',
                escape(verdict.cure),
            ]
        if self.plan is not None and self.plan.remarkable:
            lines.append(escape(f"columns: {self.plan.summary()}"))
        return "".join(f"<div>{line}</div>" for line in lines)

    def _search(self) -> str:
        """What is known about the search, in a line."""
        status = str(self.status).replace("_", " ")
        proven = f"proven {status}" if self.status.is_proven else f"{status} ({self.stopped_by})"
        words = words_of(self.objective)
        return f"{words.name} {words.show(self.value)}, bound {words.show(self.bound)}: {proven}"
