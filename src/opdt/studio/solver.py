"""Answers to a work, each within milliseconds where only the trade-off has changed.

What does not depend on the price of an error (rows, codes, the prepared search) is kept for the
last few works of a table. All methods block; they are called in threads, several at a time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, TypeVar

from opdt.analysis.alternatives import RashomonSet, rashomon_set
from opdt.analysis.permutation import PermutationTest, permutation_test
from opdt.analysis.repeats import RepeatProgress
from opdt.engines.search import Searcher
from opdt.errors import InputError
from opdt.objectives.gains import volume_impurity
from opdt.problem import Problem
from opdt.problem.arguments import resolve_constraints
from opdt.problem.lifting import class_code
from opdt.solution import Budget, Progress, Solution
from opdt.studio.outcome import Comparison, RuleOutcome, compare, outcome_of
from opdt.studio.tables import Loaded, RowSplit
from opdt.studio.trade_off import TradeOff, trace_trade_off
from opdt.studio.work import Work
from opdt.table import Plan, Table

N_PERMUTATIONS = 999
# A quick test is made unasked, for the verdict beside the rule.
QUICK_PERMUTATIONS, QUICK_SECONDS = 99, 10.0
ALTERNATIVES_WITHIN = 0.01
MAX_ALTERNATIVES = 500
TRADE_OFF_SECONDS = 20.0  # it is traced unasked, and may not take a processor for long
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

    def split(self, work: Work) -> RowSplit:
        """The training rows and the held-out rows of a work."""
        target = _target(work)
        return self._splits.get(
            _rows_key(work),
            lambda: self.loaded.split(
                target, held_out=work.held_out, seed=work.seed, ignored=work.ignored
            ),
        )

    def table(self, work: Work) -> Table:
        """The training rows, coded."""

        def build() -> Table:
            train = self.split(work).train
            return Table.build(train.X, train.y, roles=self.plan(work), warn=False)

        return self._tables.get(_table_key(work), build)

    def plan(self, work: Work) -> Plan:
        """What each column is taken for, the column of the classes aside."""
        whole = self.loaded.plan_for(work.roles, work.missing)
        return Plan(tuple(each for each in whole if each.name != work.target))

    def searcher(self, work: Work) -> Searcher:
        """The search, prepared for the work's rules; price and class are given to each solve."""

        def prepare() -> Searcher:
            given = work.arguments()
            problem = Problem.build(
                self.table(work),
                structure=work.structure,
                groups=given.get("groups"),
                constraints=resolve_constraints(given.get("constraints")),
            )
            return Searcher(problem)

        return self._searchers.get(_search_key(work), prepare)

    def find(
        self, work: Work, *, cancel: threading.Event | None = None, progress: Tell = None
    ) -> Solution:
        """What `opdt.discover` finds on the training rows with the work's arguments."""
        table, searcher = self.table(work), self.searcher(work)
        label = None if work.label is None else class_code(table, work.label)
        objective = volume_impurity(table.labels, len(table.classes), work.w, label)
        found = searcher.solve(objective, budget=_budget(work, cancel, progress))
        return replace(found, plan=searcher.problem.noted(self.plan(work)))

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
        return outcome_of(self.loaded, work, self.split(work), solution)

    def compare(self, work: Work) -> tuple[Comparison, ...]:
        """The pinned rules side by side, on training and held-out rows."""
        return compare(work, self.split(work), self.table(work)) if work.pinned else ()

    def trade_off(
        self,
        work: Work,
        *,
        cancel: threading.Event | None = None,
        on_path: Callable[[TradeOff], None] | None = None,
    ) -> TradeOff:
        """The best rule of every price of an error, and the whole frontier.

        `on_path` is told the prices first, as the points between them may take longer. A limit
        on errors is no part of the question: it is one of the answers.
        """
        limit = min(work.time_limit, TRADE_OFF_SECONDS)
        work = work.change(max_errors=None, time_limit=limit)
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
            self.table(work),
            n_permutations=n_permutations,
            seed=work.seed,
            budget=Budget(time_limit=time_limit, n_jobs=1, cancel=cancel),
            progress=progress,
            **_settings(work),
        )

    def alternatives(
        self,
        work: Work,
        *,
        within: float = ALTERNATIVES_WITHIN,
        cancel: threading.Event | None = None,
        progress: Tell = None,
    ) -> RashomonSet:
        """All rules whose VI is within a share of the optimum."""
        return rashomon_set(
            self.table(work),
            within=within,
            limit=MAX_ALTERNATIVES,
            budget=_budget(work, cancel, progress),
            **_settings(work),
        )

    def clear(self) -> None:
        """Forget what was prepared."""
        for kept in (self._splits, self._tables, self._searchers):
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


def _target(work: Work) -> str:
    if work.target is None:
        raise InputError("choose the column that holds the classes first.")
    return work.target


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
    return work.target, work.held_out, work.seed, tuple(sorted(work.ignored))


def _table_key(work: Work) -> Hashable:
    return _rows_key(work), tuple(sorted(work.roles.items())), work.missing


def _search_key(work: Work) -> Hashable:
    groups = tuple(sorted(work.groups.items()))
    return _table_key(work), work.structure, groups, repr(sorted(work.demands().items()))
