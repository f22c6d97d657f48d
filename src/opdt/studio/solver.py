"""Answers to a work, each within milliseconds where only the trade-off has changed.

What does not depend on the price of an error (rows, codes, the prepared search) is kept for the
last few works of a table. All methods block; they are called in threads, several at a time.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from opdt.analysis.alternatives import RashomonSet, rashomon_set
from opdt.analysis.permutation import PermutationTest, permutation_test
from opdt.analysis.repeats import RepeatProgress
from opdt.analysis.worth_path import WorthPath, worth_path
from opdt.engines import get_engine
from opdt.engines.best import solve_problem
from opdt.engines.search import Searcher
from opdt.errors import OpdtError
from opdt.objectives import ObjectiveGains
from opdt.objectives.gains import volume_impurity
from opdt.problem import Problem
from opdt.problem.arguments import problem_on, resolve_demands
from opdt.problem.lifting import class_code
from opdt.report.rows import sentence
from opdt.report.text import proof, rule_lines
from opdt.solution import Budget, LimitReached, Progress, Solution, StopReason
from opdt.studio.best_in import columns_of, strata_of
from opdt.studio.limits import WorkLimit, too_narrow
from opdt.studio.outcome import Comparison, PartValuers, RuleOutcome, badge_of, compare, outcome_of
from opdt.studio.questions import divide
from opdt.studio.tables import Loaded, RowPart, RowSplit
from opdt.studio.trade_off import TradeOff, trace_trade_off
from opdt.studio.work import Work
from opdt.studio.worth import Valuer, gains_on
from opdt.table import Plan, Table

ENGINE = "search"
N_PERMUTATIONS = 999
# A quick test is made unasked, for the verdict beside the rule.
QUICK_PERMUTATIONS, QUICK_SECONDS = 99, 10.0
ALTERNATIVES_WITHIN = 0.01
MAX_ALTERNATIVES = 500
TRADE_OFF_SECONDS = 20.0  # it is traced unasked, and may not take a processor for long
LOOSER_SECONDS = 2.0  # for each limit that is left out to see whether there is a rule without it
_KEPT = 4  # tables and prepared searches of each session

Found = TypeVar("Found")
Tell = Callable[[Progress], None] | None


class Solver:
    """Answers questions about one table; what it has prepared is kept with it.

    Parameters
    ----------
    loaded : Loaded
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self._splits: Kept = Kept(_KEPT)
        self._tables: Kept = Kept(_KEPT)
        self._searchers: Kept = Kept(_KEPT)
        self._problems: Kept = Kept(_KEPT)
        self._gains: Kept = Kept(_KEPT)  # of objectives on held-out rows

    def split(self, work: Work) -> RowSplit:
        """The training rows and the held-out rows of a work."""
        return self._splits.get(_rows_key(work), lambda: divide(self.loaded, work))

    def table(self, work: Work) -> Table:
        """The training rows, coded."""

        def build() -> Table:
            train, objective = self.split(work).train, work.objective
            word = None if isinstance(objective, str) else objective.rule_label
            return Table.build(
                train.X,
                None if word is not None else train.y,
                roles=self.plan(work),
                keep=tuple(sorted(work.kept)),
                apart=columns_of(objective),
                only_class=word,
                warn=False,
            )

        return self._tables.get(_table_key(work), build)

    def plan(self, work: Work) -> Plan:
        """What each column is taken for, the column of the classes aside."""
        whole = self.loaded.plan_for(work.roles, work.missing)
        return Plan(tuple(each for each in whole if each.name != work.target))

    def problem(self, work: Work, watch: Callable[[], object] | None = None) -> Problem:
        """What is searched, with the objective bound to the training rows.

        `watch` is called from time to time while that takes long, and raises at a limit.
        """

        def build() -> Problem:
            given = work.arguments()
            train = self.split(work).train
            return problem_on(
                self.table(work),
                train.source,
                train.y,
                structure=work.structure,
                groups=given.get("groups") or {},
                label=work.label,
                objective=work.objective,
                w=work.w,
                demands=resolve_demands(work.objective, given.get("constraints")),
                watch=watch,
            )

        key = _search_key(work), work.objective, repr(work.label), work.w
        return self._problems.get(key, build)

    def searcher(self, work: Work) -> Searcher:
        """The search, prepared for the work's rules; price and class are given to each solve."""
        plain = work.change(w=10.0, label=None, time_limit=60.0, pinned=())
        return self._searchers.get(_search_key(work), lambda: Searcher(self.problem(plain)))

    def find(
        self, work: Work, *, cancel: threading.Event | None = None, progress: Tell = None
    ) -> Solution:
        """What `opdt.discover` finds on the training rows with the work's arguments."""
        budget = _budget(work, cancel, progress)
        if work.objective == "vi" and not work.sums_rows:
            table, searcher = self.table(work), self.searcher(work)
            label = None if work.label is None else class_code(table, work.label)
            objective = volume_impurity(table.labels, len(table.classes), work.w, label)
            found = searcher.solve(objective, budget=budget)
            return replace(found, plan=searcher.problem.noted(self.plan(work)))
        clock = budget.start()
        try:
            problem = self.problem(work, clock.check)
        except LimitReached as stop:  # models of an objective take longest
            empty = not resolve_demands(work.objective, work.demands()).min_coverage
            return Solution.unfinished(
                may_be_empty=empty,
                bound=math.inf,
                stopped_by=stop.reason,
                seconds=clock.elapsed(),
                engine=ENGINE,
                objective=work.objective,
            )
        found = solve_problem(problem, get_engine(ENGINE), clock)
        return replace(found, plan=problem.noted(self.plan(work)))

    def parts(self, work: Work) -> PartValuers:
        """Who says what rules are worth, on the training rows and on the held-out ones."""
        train, held = self.split(work)
        own = not isinstance(work.objective, str)
        gains = self.problem(work).objective if own else None
        assert gains is None or isinstance(gains, ObjectiveGains)
        known = Valuer(work.objective, train, work.w, gains, target=work.target)
        if held is None:
            return PartValuers(known, None)
        try:
            new = self._new_gains(work, held) if own else None
        except OpdtError as error:
            return PartValuers(known, None, f"The held-out rows say nothing: {error}")
        return PartValuers(known, replace(known, part=held, gains=new, new=True))

    def _new_gains(self, work: Work, held: RowPart) -> ObjectiveGains | None:
        key = _table_key(work), work.objective, repr(work.label)
        return self._gains.get(
            key, lambda: gains_on(work.objective, held, work.label, self.plan(work))
        )

    def solve(
        self, work: Work, *, cancel: threading.Event | None = None, progress: Tell = None
    ) -> RuleOutcome:
        """The best rule with its numbers.

        Parameters
        ----------
        work : Work
        cancel : threading.Event, optional
            Set it to get the best rule so far.
        progress : callable, optional
            Called with an `opdt.solution.Progress` from time to time.
        """
        solution = self.find(work, cancel=cancel, progress=progress)
        if solution.stopped_by is not StopReason.FINISHED and solution.rule is None:
            plain = badge_of(solution), sentence(proof(solution))
            return RuleOutcome(work, solution, rule_lines(solution)[0], *plain)
        outcome = outcome_of(self.loaded, work, self.parts(work), solution, self.plan(work))
        if solution.rule is not None or not solution.status.is_proven:
            return outcome
        return replace(outcome, narrow=self._too_narrow(work, cancel))

    def _too_narrow(self, work: Work, cancel: threading.Event | None) -> tuple[WorkLimit, ...]:
        """The limits without any one of which there is a rule, as far as a short search tells."""

        def find(wider: Work) -> Solution:
            return self.find(replace(wider, time_limit=LOOSER_SECONDS), cancel=cancel)

        with suppress(OpdtError):
            return too_narrow(work, find)
        return ()

    def compare(self, work: Work) -> tuple[Comparison, ...]:
        """The pinned rules side by side, on training and held-out rows."""
        return compare(work, self.parts(work), self.problem(work)) if work.pinned else ()

    def trade_off(
        self,
        work: Work,
        *,
        cancel: threading.Event | None = None,
        on_path: Callable[[TradeOff], None] | None = None,
    ) -> TradeOff | WorthPath:
        """The best rule of every price of an error, and the whole frontier.

        `on_path` is told the prices first, as the points between them may take longer. A limit
        on errors is no part of the question: it is one of the answers. Where an objective says
        what rows are worth, it is the best rule of every threshold, cost or ratio instead.
        """
        limit = min(work.time_limit, TRADE_OFF_SECONDS)
        if not isinstance(work.objective, str):
            budget = _budget(work.change(time_limit=limit), cancel)
            return worth_path(self.problem(work), budget=budget)
        work = work.change(max_errors=None, time_limit=limit, objective="vi")
        settings = _settings(work)
        del settings["w"]
        return trace_trade_off(
            self.table(work),
            self.split(work).held_out,
            settings,
            _budget(work, cancel),
            on_path,
        )

    def is_it_real(
        self,
        work: Work,
        *,
        n_permutations: int = N_PERMUTATIONS,
        time_limit: float | None = None,
        cancel: threading.Event | None = None,
        progress: Callable[[RepeatProgress], None] | None = None,
    ) -> PermutationTest:
        """How often labels in random order allow a rule as good as the one found."""
        return permutation_test(
            self.problem(work),
            n_permutations=n_permutations,
            seed=work.seed,
            budget=Budget(time_limit=time_limit, n_jobs=1, cancel=cancel),
            progress=progress,
        )

    def alternatives(
        self,
        work: Work,
        *,
        within: float = ALTERNATIVES_WITHIN,
        cancel: threading.Event | None = None,
        progress: Tell = None,
    ) -> RashomonSet:
        """All rules whose value is within a share of the optimum; see `questions.unlisted`."""
        return rashomon_set(
            self.problem(work),
            within=within,
            limit=MAX_ALTERNATIVES,
            budget=_budget(work, cancel, progress),
        )

    def clear(self) -> None:
        """Forget what was prepared."""
        for kept in (self._splits, self._tables, self._searchers, self._problems, self._gains):
            kept.clear()


class Kept:
    """The few values that were used last, made where they are missing; for many threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """The value of this key; two threads that want it make it once."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
            value: Found = self._values[key]
            return value

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._values.clear()


def warm_up() -> None:
    """Compile and import what the first answer needs, so that nobody waits for it."""
    from opdt.studio.sample import small_table, small_work

    solver = Solver(small_table())
    work = small_work()
    for depth in (2, 3):
        solver.solve(work.change(max_depth=depth))
    solver.solve(work.change(min_precision=0.5, min_coverage=1))
    solver.is_it_real(work, n_permutations=19)
    solver.alternatives(work)


def _settings(work: Work) -> Any:
    """What is searched: the arguments without those that the table and the budget have."""
    settings = work.arguments()
    for name in ("roles", "missing"):
        settings.pop(name, None)
    del settings["time_limit"]
    return settings


def _budget(work: Work, cancel: threading.Event | None, progress: Tell = None) -> Budget:
    # One thread for each user, so that twenty of them share the machine.
    return Budget(time_limit=work.time_limit, n_jobs=1, cancel=cancel, progress=progress)


def _rows_key(work: Work) -> Hashable:
    read = columns_of(work.objective), strata_of(work.objective, work.target), work.kept
    return work.target, work.held_out, work.seed, tuple(sorted(work.ignored)), read


def _table_key(work: Work) -> Hashable:
    word = None if isinstance(work.objective, str) else work.objective.rule_label
    return _rows_key(work), tuple(sorted(work.roles.items())), work.missing, word


def _search_key(work: Work) -> Hashable:
    groups = tuple(sorted(work.groups.items()))
    return _table_key(work), work.structure, groups, repr(sorted(work.demands().items()))
