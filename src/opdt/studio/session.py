"""One user's workbench: the data, what was said, the answers, and who wants to hear of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from opdt.analysis.alternatives import RashomonSet
from opdt.analysis.permutation import PermutationTest
from opdt.analysis.worth_path import WorthPath
from opdt.errors import InputError, OpdtError
from opdt.rules import Rule
from opdt.studio.advance import Advance, Teller
from opdt.studio.history import History
from opdt.studio.jobs import Job, Jobs
from opdt.studio.observers import Observers
from opdt.studio.outcome import Comparison, PartValuers, RuleOutcome, verdict_of
from opdt.studio.questions import (
    check_columns,
    check_label,
    check_reading,
    comparison_question,
    first_work,
    is_same,
    lacks,
    question,
    trade_off_question,
)
from opdt.studio.solver import (
    ALTERNATIVES_WITHIN,
    N_PERMUTATIONS,
    QUICK_PERMUTATIONS,
    QUICK_SECONDS,
    Solver,
)
from opdt.studio.tables import Loaded, load_dataset, load_file
from opdt.studio.takeaway import Takeaway, make
from opdt.studio.trade_off import TradeOff
from opdt.studio.work import Pinned, Work
from opdt.verdict import Verdict

ANSWERS = ("refusal", "outcome", "pins", "trade_off", "real", "verdict", "alternatives")
TOPICS = ("data", "work", *ANSWERS, "progress", "busy", "error")
# A trade-off takes many searches, so it is traced unasked only where one takes fewer seconds.
QUICK = 3.0
# A quick test begins where nothing was said for so many seconds: not while a slider moves.
PAUSE = 0.3
# A search that a newer one follows may still end within so many seconds.
GRACE = 0.15


class Session:
    """The workbench of one user; made and used on an event loop, while jobs run on threads.

    Attributes
    ----------
    loaded : Loaded or None
    history : History
    outcome : RuleOutcome or None
        The last answer, which may be to an earlier work: see `is_current`.
    refusal : str or None
        Why there is no outcome, in a sentence, where the data cannot answer what was said last.
    pins : tuple of Comparison
    trade_off : TradeOff, WorthPath or None
        A path of worths where an objective says what rows are worth.
    real : PermutationTest or None
    verdict : Verdict or None
        On the rule of `outcome`, by all that is known: a quick permutation test is made unasked.
    alternatives : RashomonSet or None
    waiting : Work or None
        A project that was opened and waits for its file.
    """

    def __init__(self) -> None:
        self._observers = Observers(TOPICS)
        self._jobs = Jobs(self._tell_busy, self._fail)
        self._solver: Solver | None = None
        self._left = False  # whether a search was ended because nobody looked on
        self._traded: Work | None = None  # what the trade-off was traced for
        self._forget()

    def _forget(self) -> None:
        self.loaded: Loaded | None = None
        self.history = History(Work())
        self.waiting: Work | None = None
        self._forget_answers()

    def _forget_answers(self) -> None:
        self.refusal: str | None = None
        self.outcome: RuleOutcome | None = None
        self.pins: tuple[Comparison, ...] = ()
        self.trade_off: TradeOff | WorthPath | None = None
        self.real: PermutationTest | None = None
        self._chance: PermutationTest | None = None  # the quick test
        self.verdict: Verdict | None = None
        self.alternatives: RashomonSet | None = None

    # -- who wants to hear ------------------------------------------------------------------

    def subscribe(self, topic: str, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Call `callback` with the news of a topic; returns what ends this.

        data: Loaded or None. work: Work. refusal: str or None. outcome: RuleOutcome or None. pins:
        tuple of Comparison. trade_off: TradeOff, WorthPath or None. real: PermutationTest or None.
        verdict: Verdict or None. alternatives: RashomonSet or None. progress: Advance. busy:
        frozenset of kinds of jobs ("load", "solve", "pins", "trade_off", "real", "chance",
        "alternatives", "take …"). error: one sentence.
        """
        return self._observers.subscribe(topic, callback)

    def _tell_busy(self) -> None:
        self._observers.publish("busy", self.busy)

    def _fail(self, sentence: str) -> None:
        self._observers.publish("error", sentence[:1].upper() + sentence[1:])

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
        return self.outcome is not None and question(self.outcome.work) == question(self.work)

    async def settled(self) -> None:
        """Wait until nothing is under way."""
        await self._jobs.wait()

    # -- data -------------------------------------------------------------------------------

    async def load_file(
        self, path: str | Path, name: str | None = None, target: str | None = None
    ) -> bool:
        """Read a file; whether it was. A project that waits for it goes on."""
        waiting = self.waiting
        sha256 = waiting.source.sha256 if waiting is not None and waiting.source else None
        return await self._load(partial(load_file, path, name, sha256), target, waiting)

    async def load_dataset(self, name: str, target: str | None = None) -> bool:
        """Open one of `opdt.studio.tables.datasets()`; whether it was."""
        self.waiting = None
        return await self._load(partial(load_dataset, name), target)

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
        if self.loaded is not None and is_same(self.loaded.source, source):
            return self._started(self.loaded, lambda: work)
        if source.kind == "dataset":
            return await self._load(partial(load_dataset, source.name), None, work)
        self.waiting = work
        self._observers.publish("data", self.loaded)
        return False

    def forget_project(self) -> None:
        """Do not wait for the file of a project any longer."""
        self.waiting = None
        self._observers.publish("data", self.loaded)

    async def _load(
        self, read: Callable[[], Loaded], target: str | None, work: Work | None = None
    ) -> bool:
        loaded = await self._jobs.start("load", lambda job: read())
        if loaded is None:
            return False
        return self._started(loaded, lambda: work or first_work(loaded, target))

    def _started(self, loaded: Loaded, make_work: Callable[[], Work]) -> bool:
        """Put a table and the work on it on the workbench; whether they fit each other."""
        try:
            work = make_work()
            check_columns(loaded, work)
        except OpdtError as error:
            self._fail(str(error))
            return False
        self._drop_jobs()
        if self._solver is not None and loaded is not self.loaded:
            self._solver.clear()
        if self._solver is None or loaded is not self.loaded:
            self._solver = Solver(loaded)
        self._forget()
        self.loaded = loaded
        self.history = History(replace(work, source=loaded.source))
        self._observers.publish("data", loaded)
        self._observers.publish("work", self.work)
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
                check_label(self.loaded, work)
                if (work.roles, work.missing) != (self.work.roles, self.work.missing):
                    check_reading(self.loaded, work)
        except OpdtError as error:
            self._fail(str(error))
            self._observers.publish("work", self.work)  # so that what is shown is what counts
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
        self._observers.publish("work", self.work)
        if question(self.work) != question(before):
            self._ask(pins=comparison_question(self.work) != comparison_question(before))
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
        self._jobs.drop("chance")
        self._chance = None
        stale = ["real", "alternatives"]
        if self._traded is not None and trade_off_question(self.work) != self._traded:
            stale.append("trade_off")
        for kind in stale:
            self._jobs.drop(kind)
            if getattr(self, kind) is not None:
                self._set(kind, None)
        solver, work = self._solver, self.work
        if self.refusal is not None:
            self._set("refusal", None)
        if solver is None or lacks(work) is not None:
            self._drop_jobs()
            self._forget_answers()
            self._publish_answers()
            return
        self._jobs.start(
            "solve",
            lambda job: solver.solve(work, cancel=job.cancel, progress=self._teller(job).search),
            self._answered,
            failed=self._refused,
            grace=GRACE,
        )
        if pins:
            self._compare()

    def _refused(self, why: str) -> None:
        self._set("outcome", None)
        self._set("refusal", why)

    def _answered(self, outcome: RuleOutcome) -> None:
        self.outcome = outcome
        self.verdict = verdict_of(outcome, None)
        self._observers.publish("outcome", outcome)
        self._observers.publish("verdict", self.verdict)
        is_wanted = self.trade_off is None and "trade_off" not in self.busy
        is_quick = outcome.is_proven and outcome.solution.seconds < QUICK and self.is_current
        if is_quick and outcome.rule is not None:
            self._test_quickly()
        if is_quick and is_wanted:
            self.ask_trade_off()

    def _test_quickly(self) -> None:
        """A short permutation test, for the verdict; nobody hears of it where it fails."""
        solver, work = self._solver, self.work
        assert solver is not None

        def test(job: Job) -> PermutationTest | None:
            if job.cancel.wait(PAUSE):
                return None
            with suppress(OpdtError):
                return solver.is_it_real(
                    work,
                    n_permutations=QUICK_PERMUTATIONS,
                    time_limit=QUICK_SECONDS,
                    cancel=job.cancel,
                )
            return None

        self._jobs.start("chance", test, self._tested_quickly)

    def _tested_quickly(self, test: PermutationTest | None) -> None:
        self._chance = test
        self._judge()

    def _judge(self) -> None:
        """Say again what is to be held of the rule, by the better of the two tests."""
        self._set("verdict", verdict_of(self.outcome, self.real or self._chance))

    def _tested(self, test: PermutationTest) -> None:
        self._set("real", test)
        self._judge()

    def _compare(self) -> None:
        solver, work = self._solver, self.work
        if not work.pinned:
            self._jobs.drop("pins")
            self._set("pins", ())
        elif solver is not None and lacks(work) is None:
            self._jobs.start("pins", lambda job: solver.compare(work), partial(self._set, "pins"))

    def ask_trade_off(self) -> None:
        """Trace the frontier of the present work; its prices are told before the rest."""
        solver, work = self._solver, self.work
        if solver is None or lacks(work) is not None:
            return
        self._traded = trade_off_question(work)

        def trace(job: Job) -> TradeOff | WorthPath:
            def on_path(found: TradeOff) -> None:
                self._jobs.tell(job, lambda: self._set("trade_off", found))

            return solver.trade_off(work, cancel=job.cancel, on_path=on_path)

        self._jobs.start("trade_off", trace, partial(self._set, "trade_off"))

    def ask_real(self, n_permutations: int = N_PERMUTATIONS) -> None:
        """Is it real? The permutation test of the present rule."""
        solver, work = self._solver, self.work
        if solver is None or lacks(work) is not None:
            self._fail(f"choose {'data' if solver is None else lacks(work)} first.")
            return
        self._jobs.start(
            "real",
            lambda job: solver.is_it_real(
                work,
                n_permutations=n_permutations,
                cancel=job.cancel,
                progress=self._teller(job).repeats,
            ),
            self._tested,
        )

    def ask_alternatives(self, within: float = ALTERNATIVES_WITHIN) -> None:
        """All rules that are nearly as good as the present one."""
        solver, work = self._solver, self.work
        if solver is None or lacks(work) is not None:
            self._fail(f"choose {'data' if solver is None else lacks(work)} first.")
            return
        self._jobs.start(
            "alternatives",
            lambda job: solver.alternatives(work, within=within, cancel=job.cancel),
            partial(self._set, "alternatives"),
        )

    def parts(self, work: Work) -> PartValuers:
        """Who says what rules are worth on the rows of a work; blocks until that is known."""
        if self._solver is None:
            raise InputError("there are no data yet; choose them first.")
        return self._solver.parts(work)

    async def take(self, what: str, **options: Any) -> Takeaway | None:
        """A file to take away (see `opdt.studio.takeaway.make`); None where there is none."""
        solver, work, outcome = self._solver, self.work, self.outcome
        test = self.real or self._chance
        if solver is None:
            self._fail("there is nothing to take away yet; choose data first.")
            return None
        found: Takeaway | None = await self._jobs.start(
            f"take {what}", lambda job: make(what, solver, work, outcome, test=test, **options)
        )
        return found

    def stop(self, kind: str | None = None) -> None:
        """End the job of a kind, or all; what they have found by then is the answer."""
        self._jobs.stop(kind)

    def leave(self) -> None:
        """End all jobs, as nobody looks on; `come_back` takes the search up again."""
        self._left = "solve" in self.busy
        self._jobs.stop(None)

    def come_back(self) -> None:
        """Go on with the search that `leave` has ended, but not with one that the user stopped."""
        if self._left or not self.is_current:
            self.refresh()
        self._left = False

    def close(self) -> None:
        """End everything and let go of the data."""
        self._jobs.close()
        if self._solver is not None:
            self._solver.clear()
        self._solver = None
        self._forget()
        self._observers.clear()

    async def end(self) -> None:
        """Close, and wait until nothing works on the data any more."""
        self.close()
        await self._jobs.join()

    def _drop_jobs(self) -> None:
        for kind in self.busy - {"load"}:
            self._jobs.drop(kind)

    def _teller(self, job: Job) -> Teller:
        def tell(advance: Advance) -> None:
            self._jobs.tell(job, lambda: self._observers.publish("progress", advance))

        return Teller(job.kind, tell)

    def _set(self, topic: str, answer: Any) -> None:
        setattr(self, topic, answer)
        self._observers.publish(topic, answer)

    def _publish_answers(self) -> None:
        for topic in ANSWERS:
            self._observers.publish(topic, getattr(self, topic))
