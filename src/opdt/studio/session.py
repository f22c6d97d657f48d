"""One user's workbench: the data, what was said, the answers, and who wants to hear of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from opdt.analysis.alternatives import RashomonSet
from opdt.analysis.permutation import PermutationTest
from opdt.analysis.repeats import RepeatProgress
from opdt.errors import InputError, OpdtError
from opdt.rules import Rule
from opdt.solution import Progress
from opdt.studio.history import History
from opdt.studio.jobs import Job, Jobs
from opdt.studio.outcome import Comparison, Outcome
from opdt.studio.solver import ALTERNATIVES_WITHIN, N_PERMUTATIONS, Solver
from opdt.studio.tables import Loaded, load_dataset, load_file
from opdt.studio.takeaway import Takeaway, make
from opdt.studio.trade_off import TradeOff
from opdt.studio.work import DataSource, Pinned, Work

_LOG = logging.getLogger("opdt.studio")

TOPICS = (
    "data",
    "work",
    "outcome",
    "pins",
    "trade_off",
    "real",
    "alternatives",
    "progress",
    "busy",
    "error",
)
TELL_EVERY = 0.1  # seconds between two words of progress
# Settings that change no rule, only what is shown beside it or how long it may take.
_NO_QUESTION = {"time_limit": 60.0, "pinned": ()}


@dataclass(frozen=True)
class Advance:
    """How far a job is.

    Attributes
    ----------
    kind : {"solve", "real", "alternatives"}
    share : float
        From 0 to 1.
    seconds : float
    value, bound : float or None
        Of a search: the best VI so far, and one that no rule exceeds.
    done, total : int or None
        Of a test: permutations done and planned.
    """

    kind: str
    share: float
    seconds: float
    value: float | None = None
    bound: float | None = None
    done: int | None = None
    total: int | None = None


class Session:
    """The workbench of one user; made and used on an event loop, while jobs run on threads.

    Attributes
    ----------
    loaded : Loaded or None
    history : History
    outcome : Outcome or None
        The last answer, which may be to an earlier work: see `is_current`.
    pins : tuple of Comparison
    trade_off : TradeOff or None
    real : PermutationTest or None
    alternatives : RashomonSet or None
    waiting : Work or None
        A project that was opened and waits for its file.
    """

    def __init__(self) -> None:
        self._observers: dict[str, dict[int, Callable[[Any], Any]]] = {t: {} for t in TOPICS}
        self._n_observers = 0
        self._jobs = Jobs(self._tell_busy, self._fail)
        self._solver: Solver | None = None
        self._told = 0.0
        self._forget()

    def _forget(self) -> None:
        self.loaded: Loaded | None = None
        self.history = History(Work())
        self.waiting: Work | None = None
        self._forget_answers()

    def _forget_answers(self) -> None:
        self.outcome: Outcome | None = None
        self.pins: tuple[Comparison, ...] = ()
        self.trade_off: TradeOff | None = None
        self.real: PermutationTest | None = None
        self.alternatives: RashomonSet | None = None

    # -- who wants to hear ------------------------------------------------------------------

    def subscribe(self, topic: str, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `callback` with the news of a topic; returns what ends this.

        data: Loaded or None. work: Work. outcome: Outcome or None. pins: tuple of Comparison.
        trade_off: TradeOff or None. real: PermutationTest or None. alternatives: RashomonSet or
        None. progress: Advance. busy: frozenset of kinds of jobs ("load", "solve", "pins",
        "trade_off", "real", "alternatives", "take …"). error: one sentence.
        """
        if topic not in TOPICS:
            raise InputError(f"there is no topic {topic!r}; there are {', '.join(TOPICS)}.")
        self._n_observers += 1
        key = self._n_observers
        self._observers[topic][key] = callback
        return lambda: void(self._observers[topic].pop(key, None))

    def _publish(self, topic: str, news: Any) -> None:
        for callback in list(self._observers[topic].values()):
            try:
                callback(news)
            except Exception:  # one page that is gone must not keep the news from the others
                _LOG.exception("an observer of %r failed", topic)

    def _tell_busy(self) -> None:
        self._publish("busy", self.busy)

    def _fail(self, sentence: str) -> None:
        self._publish("error", sentence[:1].upper() + sentence[1:])

    # -- what there is ----------------------------------------------------------------------

    @property
    def work(self) -> Work:
        """What the expert has said."""
        return self.history.present

    @property
    def busy(self) -> frozenset[str]:
        """Kinds of the jobs under way."""
        return self._jobs.kinds

    @property
    def is_current(self) -> bool:
        """Whether the outcome answers what was said last."""
        return self.outcome is not None and _question(self.outcome.work) == _question(self.work)

    async def settled(self) -> None:
        """Wait until nothing is under way."""
        await self._jobs.wait()

    # -- data -------------------------------------------------------------------------------

    async def load_file(
        self, path: str | Path, name: str | None = None, label: str | None = None
    ) -> bool:
        """Read a file; whether it was. A project that waits for it goes on."""
        waiting = self.waiting
        sha256 = waiting.source.sha256 if waiting is not None and waiting.source else None
        return await self._load(partial(load_file, path, name, sha256), label, waiting)

    async def load_dataset(self, name: str, label: str | None = None) -> bool:
        """Open one of `opdt.studio.tables.datasets()`; whether it was."""
        self.waiting = None
        return await self._load(partial(load_dataset, name), label)

    async def open_project(self, content: str | bytes) -> bool:
        """Open a project file; whether its work is now on the workbench.

        Where it needs a file that is not the present one, `waiting` says which, and the next
        `load_file` must be given it.
        """
        try:
            work = Work.from_json(content)
            source = work.source
            if source is None:
                raise InputError("the project names no data.")
        except OpdtError as error:
            self._fail(str(error))
            return False
        if self.loaded is not None and _is_same(self.loaded.source, source):
            return self._begin(self.loaded, work)
        if source.kind == "dataset":
            return await self._load(partial(load_dataset, source.name), None, work)
        self.waiting = work
        self._publish("data", self.loaded)
        return False

    def forget_project(self) -> None:
        """Do not wait for the file of a project any longer."""
        self.waiting = None
        self._publish("data", self.loaded)

    async def _load(
        self, read: Callable[[], Loaded], label: str | None, work: Work | None = None
    ) -> bool:
        loaded = await self._jobs.start("load", lambda job: read())
        if loaded is None:
            return False
        try:
            return self._begin(loaded, work or _first_work(loaded, label))
        except OpdtError as error:
            self._fail(str(error))
            return False

    def _begin(self, loaded: Loaded, work: Work) -> bool:
        """Put a table and the work on it on the workbench."""
        _check_columns(loaded, work)
        self._drop_jobs()
        if self._solver is not None and loaded is not self.loaded:
            self._solver.clear()
        if self._solver is None or loaded is not self.loaded:
            self._solver = Solver(loaded)
        self._forget()
        self.loaded = loaded
        self.history = History(replace(work, source=loaded.source))
        self._publish("data", loaded)
        self._publish("work", self.work)
        self._publish_answers()
        self._ask(pins=True)
        return True

    # -- what the expert says ---------------------------------------------------------------

    def change(self, *, merge: str | None = None, **said: Any) -> bool:
        """Say something else (see `Work.change`); whether it can be said.

        With the same `merge`, changes that follow each other are undone together.
        """
        try:
            work = self.work.change(**said)
            if self.loaded is not None:
                _check_label(self.loaded, work)
        except OpdtError as error:
            self._fail(str(error))
            self._publish("work", self.work)  # so that what is shown is what counts
            return False
        self._move(self.history.push(work, merge))
        return True

    def rename_group(self, old: str, new: str) -> bool:
        """Give a group another name; whether it can have it."""
        try:
            work = self.work.rename_group(old, new)
        except OpdtError as error:
            self._fail(str(error))
            return False
        self._move(self.history.push(work))
        return True

    def settle(self) -> None:
        """End a movement: the next change with the same `merge` is a step of its own."""
        self.history = replace(self.history, merge=None)

    def undo(self) -> None:
        """Take the last step back."""
        self._move(self.history.undo())

    def redo(self) -> None:
        """Repeat the step that was taken back."""
        self._move(self.history.redo())

    def pin(self, rule: Rule | None = None, note: str = "") -> bool:
        """Keep a rule, or the present one, for comparison; whether there is one."""
        if rule is None and self.outcome is not None:
            rule = self.outcome.rule
        if rule is None or any(pinned.rule == rule for pinned in self.work.pinned):
            self._fail("there is no rule to pin." if rule is None else "this rule is pinned.")
            return False
        return self.change(pinned=(*self.work.pinned, Pinned(rule, note)))

    def unpin(self, index: int) -> bool:
        """Let a pinned rule go; whether there was one."""
        pinned = self.work.pinned
        return self.change(pinned=(*pinned[:index], *pinned[index + 1 :]))

    def note(self, index: int, text: str) -> bool:
        """Write something beside a pinned rule."""
        pinned = list(self.work.pinned)
        if not 0 <= index < len(pinned):
            return False
        pinned[index] = replace(pinned[index], note=text)
        return self.change(pinned=tuple(pinned))

    def _move(self, history: History) -> None:
        before, self.history = self.work, history
        if self.work == before:
            return
        self._publish("work", self.work)
        if _question(self.work) != _question(before):
            self._ask(pins=_compared(self.work) != _compared(before))
        elif self.work.pinned != before.pinned:
            self._compare()

    # -- answers ----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Ask again, where the last answer is not to what was said last, or was stopped."""
        stopped = self.outcome is not None and not self.outcome.is_proven
        if (not self.is_current or stopped) and "solve" not in self.busy:
            self._ask(pins=True)

    def _ask(self, *, pins: bool) -> None:
        """Find the rule of the present work; what belonged to another question is dropped."""
        for kind in ("real", "alternatives"):
            self._jobs.drop(kind)
            if getattr(self, kind) is not None:
                setattr(self, kind, None)
                self._publish(kind, None)
        solver, work = self._solver, self.work
        if solver is None or work.label is None:
            self._forget_answers()
            self._publish_answers()
            return
        self._jobs.start(
            "solve",
            lambda job: solver.solve(work, cancel=job.cancel, progress=partial(self._search, job)),
            self._answered,
        )
        if pins:
            self._compare()

    def _answered(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._publish("outcome", outcome)
        if self.trade_off is None or _trade(self.work) != self._traded:
            self.ask_trade_off()

    def _compare(self) -> None:
        solver, work = self._solver, self.work
        if solver is not None and work.label is not None:
            self._jobs.start("pins", lambda job: solver.compare(work), partial(self._set, "pins"))

    def ask_trade_off(self) -> None:
        """Trace the frontier of the present work; its prices are told before the rest."""
        solver, work = self._solver, self.work
        if solver is None or work.label is None:
            return
        self._traded = _trade(work)

        def trace(job: Job) -> TradeOff:
            def on_path(found: TradeOff) -> None:
                self._jobs.tell(job, lambda: self._set("trade_off", found))

            return solver.trade_off(work, cancel=job.cancel, on_path=on_path)

        self._jobs.start("trade_off", trace, partial(self._set, "trade_off"))

    def ask_real(self, n_permutations: int = N_PERMUTATIONS) -> None:
        """Is it real? The permutation test of the present rule."""
        solver, work = self._solver, self.work
        if solver is None or work.label is None:
            self._fail("choose data and the column of the classes first.")
            return
        self._jobs.start(
            "real",
            lambda job: solver.is_it_real(
                work,
                n_permutations=n_permutations,
                cancel=job.cancel,
                progress=partial(self._repeat, job),
            ),
            partial(self._set, "real"),
        )

    def ask_alternatives(self, within: float = ALTERNATIVES_WITHIN) -> None:
        """All rules that are nearly as good as the present one."""
        solver, work = self._solver, self.work
        if solver is None or work.label is None:
            self._fail("choose data and the column of the classes first.")
            return
        self._jobs.start(
            "alternatives",
            lambda job: solver.alternatives(work, within=within, cancel=job.cancel),
            partial(self._set, "alternatives"),
        )

    async def take(self, what: str, **options: Any) -> Takeaway | None:
        """A file to take away (see `opdt.studio.takeaway.make`); None where there is none."""
        solver, work, outcome = self._solver, self.work, self.outcome
        if solver is None:
            self._fail("there is nothing to take away yet; choose data first.")
            return None
        found: Takeaway | None = await self._jobs.start(
            f"take {what}", lambda job: make(what, solver, work, outcome, **options)
        )
        return found

    def stop(self, kind: str | None = None) -> None:
        """End the job of a kind, or all; what they have found by then is the answer."""
        self._jobs.stop(kind)

    def close(self) -> None:
        """End everything and let go of the data."""
        self._jobs.close()
        if self._solver is not None:
            self._solver.clear()
        self._solver = None
        self._forget()
        for observers in self._observers.values():
            observers.clear()

    def _drop_jobs(self) -> None:
        for kind in self.busy - {"load"}:
            self._jobs.drop(kind)

    def _set(self, topic: str, answer: Any) -> None:
        setattr(self, topic, answer)
        self._publish(topic, answer)

    def _publish_answers(self) -> None:
        for topic in ("outcome", "pins", "trade_off", "real", "alternatives"):
            self._publish(topic, getattr(self, topic))

    # -- progress, told by the threads of jobs ----------------------------------------------

    def _search(self, job: Job, news: Progress) -> None:
        self._advance(job, Advance("solve", news.done, news.seconds, news.value, news.bound))

    def _repeat(self, job: Job, news: RepeatProgress) -> None:
        share = news.done / news.total if news.total else 1.0
        more = {"done": news.done, "total": news.total}
        self._advance(job, Advance("real", share, news.seconds, **more))

    def _advance(self, job: Job, advance: Advance) -> None:
        now = time.monotonic()
        if now - self._told >= TELL_EVERY:
            self._told = now
            self._jobs.tell(job, lambda: self._publish("progress", advance))


def void(_: object) -> None:
    """Nothing, whatever comes."""


def _first_work(loaded: Loaded, label: str | None) -> Work:
    work = Work(source=loaded.source, label=label or loaded.label)
    if work.label is not None:
        _check_label(loaded, work)
    return work


def _check_label(loaded: Loaded, work: Work) -> None:
    if work.label is None:
        return
    classes = loaded.classes(work.label)
    if work.target is not None and work.target not in classes:
        shown = ", ".join(map(repr, classes[:10]))
        raise InputError(
            f"the class {work.target!r} is none of column {work.label!r}, which has {shown}."
        )


def _check_columns(loaded: Loaded, work: Work) -> None:
    """Refuse a work on other columns than those of the table."""
    _check_label(loaded, work)
    named = {*work.kinds, *work.directions, *work.required, *work.forbidden}
    named |= {feature for group in work.groups.values() for feature in group}
    named |= {feature for pinned in work.pinned for feature in pinned.rule.features}
    for name in sorted(named - set(loaded.names)):
        raise InputError(f"the project names the column {name!r}, which the data do not have.")


def _is_same(one: DataSource, other: DataSource) -> bool:
    return (one.kind, one.sha256) == (other.kind, other.sha256) and (
        one.kind == "file" or one.name == other.name
    )


def _question(work: Work) -> Work:
    """The work without what changes no answer."""
    return replace(work, **_NO_QUESTION)  # type: ignore[arg-type]


def _trade(work: Work) -> Work:
    """The work without what the trade-off answers."""
    return replace(_question(work), w=10.0, max_errors=None)


def _compared(work: Work) -> tuple[Any, ...]:
    """What the numbers of a pinned rule depend on."""
    return work.label, work.w, work.held_out, work.seed, work.ignored, work.pinned
