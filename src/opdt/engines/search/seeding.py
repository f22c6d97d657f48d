"""A good rule at once: a beam that adds the best single condition again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search import kernels
from opdt.engines.search.field import Field
from opdt.engines.search.pricing import UnitPrice, find_prices, limits_of
from opdt.engines.search.records import PARTS
from opdt.engines.search.scores import Scores
from opdt.engines.search.tuning import Switches
from opdt.problem import Problem, VolumeImpurity
from opdt.rules import Rule
from opdt.solution import Budget, Clock, StopReason

if TYPE_CHECKING:
    from opdt.engines.search.run import Run

WIDTH = 6  # partial rules kept at each length


def beam(run: Run, root: Field, flags: kernels.Flags) -> None:
    """Offer greedy rules of up to the problem's depth for one class."""
    states: list[tuple[Field, tuple[int, ...]]] = [(root, ())]
    clash = run.prepared.clash
    for size in range(1, run.problem.structure.depth + 1):
        steps: list[tuple[int, int, int, int]] = []  # value, state, ray, position
        for at, (field, chosen) in enumerate(states):
            run.watch()
            if run.halted():
                return
            if not len(field.rays):
                continue
            values, positions = field.singles(flags, run.limits)
            for ray in chosen:
                values[clash[ray, field.rays]] = kernels.NEG
            for ray in np.argsort(-values, kind="stable")[:WIDTH].tolist():
                if values[ray] > kernels.NEG:
                    steps.append((int(values[ray]), at, ray, int(positions[ray])))
        steps.sort(reverse=True)
        following: dict[tuple[int, ...], tuple[Field, tuple[int, ...]]] = {}
        for gain, at, ray, position in steps:
            field, chosen = states[at]
            names = tuple(sorted((*chosen, int(field.rays[ray]))))
            value = gain + run.scores.offset(size)
            if value >= run.best and run.prepared.fits(names):
                run.offer(value, root.label, names)
            if size < run.problem.structure.depth and names not in following:
                node = field.reduced(field.rows_at(ray, position), kernels.NEG, flags, sort=False)
                following[names] = (node, names)
            if len(following) == WIDTH:
                break
        states = list(following.values())


SAMPLE = 20_000  # rows of the sample that a large table starts from, a fifth of them at most
LEAST_SAMPLE = 1_000
SAMPLE_SECONDS = 1.5  # and how long it may be searched, a tenth of the time at most
MARGIN = 0.03  # by which limits on rows are stricter in the sample
PRICED_ROWS = 4_000  # rows on which prices of limits are looked for
MOST_LEVELS = 100_000_000  # and levels of all rays on these rows
FEW_LABELS = 8  # labels whose limits have prices of their own
N_RULES = 8  # rules of the sample that are tried on all rows


def sample_rules(run: Run) -> None:
    """Offer, for a large table, the best rules of a sample of its rows."""

    problem = run.problem
    n_rows = problem.table.n_rows
    size = min(SAMPLE, n_rows // 5)
    if size < LEAST_SAMPLE:
        return
    switches = replace(run.switches, seeding=False)
    small = sample_of(problem, size, MARGIN)
    for rule in good_rules(small, run.clock, SAMPLE_SECONDS, N_RULES, switches):
        run.take_start(problem.lower(rule))


def good_rules(
    sample: Problem, clock: Clock, seconds: float, number: int, switches: Switches | None = None
) -> list[Rule]:
    """The best rules of a sample, found within so many seconds or a tenth of the time left."""
    from opdt.engines.search.engine import SearchEngine

    budget = Budget(
        time_limit=min(seconds, max(0.0, clock.remaining() / 10)),
        n_jobs=clock.budget.n_jobs,
        cancel=clock.budget.cancel,
    )
    solution = SearchEngine(switches=switches or Switches()).solve(sample, budget)
    if solution.stopped_by is StopReason.INTERRUPTED:
        raise KeyboardInterrupt  # it was meant for the whole search
    found = dict.fromkeys([solution.rule, *(point.rule for point in reversed(solution.trace))])
    return [rule for rule in found if rule is not None][:number]


def sample_prices(run: Run) -> dict[int, UnitPrice]:
    """Prices of limits on rows by label, found on a sample; none where they are of no use."""
    problem = run.problem
    n_rows = problem.table.n_rows
    size = priced_rows(n_rows, len(run.prepared.rays.rays))
    if not size or not run.switches.prices:
        return {}
    return unit_prices(problem, run.scores, lambda: sample_of(problem, size), run.clock)


def priced_rows(n_rows: int, n_rays: int) -> int:
    """Rows of a sample on which prices are looked for; 0 where they would be too few."""
    size = min(n_rows, PRICED_ROWS, MOST_LEVELS // max(1, n_rays))
    return 0 if size < LEAST_SAMPLE and size < n_rows else size


def unit_prices(
    problem: Problem, scores: Scores, sample: Callable[[], Problem | None], clock: Clock
) -> dict[int, UnitPrice]:
    """Prices by label of the limits of a problem, found on the rows of a `sample`."""
    from opdt.engines.search.run import Prepared, Run
    from opdt.engines.search.sweep import Sweep

    objective = problem.objective
    many = len(objective.labels) > FEW_LABELS
    useful = problem.constraints.bounds_rows and not many and scores.scale >= PARTS
    if not useful or not isinstance(objective, VolumeImpurity) or (small := sample()) is None:
        return {}
    prepared = Prepared(small)
    on_rows = Switches(large_rows=small.table.n_rows, large_rays=3 * len(prepared.rays.rays))
    own = Run(small, prepared, clock, on_rows)
    sweep = Sweep(own)
    limits = limits_of(problem)
    most = (objective.w.numerator - objective.w.denominator) * scores.scale
    weight = int(objective.weights.sum())
    classes = problem.table.classes.tolist()
    found = {}
    for base in own.bases:
        prices = find_prices(
            base, sweep.flags(base), own.limits, problem.structure.depth,
            lambda: clock.stop() is not None,
        )  # fmt: skip
        if prices is None:
            continue
        # values of the sample have a scale of their own
        a, b, c = (price * scores.scale // own.scores.scale for price in prices)
        price = UnitPrice.of(limits, (a, b, c), most, weight)
        if price is not None:
            found[classes.index(small.table.classes[base.label])] = price
    return found


def _rows(n_rows: int, size: int) -> NDArray[np.int64]:
    """A sample of the rows, always the same."""
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False, shuffle=False))


def sample_of(problem: Problem, size: int, margin: float = 0.0) -> Problem:
    """The problem on so many rows, with limits in proportion, the stricter by a margin."""
    small = problem.take(_rows(problem.table.n_rows, size))
    share = int(small.objective.weights.sum()) / max(1, int(problem.objective.weights.sum()))
    return replace(small, constraints=problem.constraints.of_sample(share, margin))
