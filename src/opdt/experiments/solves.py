"""One solve of one problem, timed and traced: what the experiments on engines measure."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from opdt.datasets import load
from opdt.engines.base import Engine
from opdt.experiments.cell import Cell, Record
from opdt.experiments.data import plan_of, train_test
from opdt.experiments.experiment import ExperimentSettings
from opdt.experiments.processor import ProcessorLimit
from opdt.experiments.splits import split_rows
from opdt.problem import Problem, Structure
from opdt.solution import Budget, Solution, Status
from opdt.table import Table

W = 10.0  # the paper's price of one error
SEARCH, MIP = "search", "mip"
STRUCTURES = ("all-all", "num-num", "num-cat", "cat-num", "cat-cat")
FREE = STRUCTURES[0]
# Where an open solver has a chance within a limit that leaves time for the other cells.
SMALL = ("echocardiogram", "fertility", "hepatitis", "chronic_kidney", "early_stage_diabetes")
QUICK = SMALL[:2]

# Seconds of the processor for the mixed-integer program, unless the run is given a limit; the
# paper has 600 and 120 of the clock.
LIMIT, QUICK_LIMIT = 30.0, 4.0
MIP_SPLITS = 3
REPEATS = 5
_PACKAGE = "pyscipopt"


def mip_limit(settings: ExperimentSettings) -> float:
    """Seconds of the processor for each solve of a mixed-integer program."""
    return settings.time_limit or (QUICK_LIMIT if settings.quick else LIMIT)


def mip_splits(settings: ExperimentSettings) -> range:
    """The splits on which the mixed-integer program is solved."""
    return range(1 if settings.quick else min(settings.splits, MIP_SPLITS))


def mip_words(settings: ExperimentSettings) -> str:
    """How the mixed-integer program is solved, in a few words."""
    n_splits = len(mip_splits(settings))
    return f"SCIP, {mip_limit(settings):g} s, {n_splits} split{'s' if n_splits > 1 else ''}"


def mip_datasets(settings: ExperimentSettings) -> list[str]:
    """The datasets on which the mixed-integer program is solved; none without its solver."""
    chosen = QUICK if settings.quick else SMALL
    return [name for name in chosen if has_solver() and settings.wants_dataset(name)]


def has_solver() -> bool:
    """Whether SCIP is installed: of the open solvers only it has branching priorities."""
    return find_spec(_PACKAGE) is not None


def skipped_mip(settings: ExperimentSettings) -> list[str]:
    """Why the mixed-integer program is left out, where it is."""
    if has_solver():
        return []
    cure = "run: pip install 'opdt[mip]'."
    return [f"the mixed-integer program is skipped: it needs {_PACKAGE}; {cure}"]


def search_cell(dataset: str, split: int, structure: str = FREE) -> Cell:
    """The proven optimum by the search engine."""
    return Cell.of(
        "structure", cost=0.1, dataset=dataset, split=split, structure=structure, engine=SEARCH
    )


def mip_cell(
    dataset: str,
    split: int,
    limit: float,
    structure: str = FREE,
    *,
    warm_start: bool = True,
    priorities: bool = True,
) -> Cell:
    """The paper's mixed-integer program by SCIP, with or without the paper's enhancements."""
    return Cell.of(
        "structure",
        cost=limit + 1,
        dataset=dataset,
        split=split,
        structure=structure,
        engine=MIP,
        limit=float(limit),
        warm_start=warm_start,
        priorities=priorities,
    )


def solve_cell(cell: Cell) -> Record:
    """Solve on the training rows of a split; see `solve` for the record."""
    levels = cell["structure"].split("-")
    # In the paper the names of Parkinsons' recordings are its only categorical feature.
    keep_id = cell["dataset"] == "parkinsons" and "cat" in levels
    table = training_table(cell["dataset"], cell["split"], keep_id=keep_id)
    problem = Problem.build(table, structure=Structure.levels(*levels), w=W)
    return solve(problem, cell)


def training_table(name: str, split: int, *, keep_id: bool = False) -> Table:
    """The training rows of a split, with the column that names each row if it is wanted."""
    if not keep_id:
        return train_test(name, split).table
    data = load(name, keep_id=True)
    rows = split_rows(data.n_rows, split).train
    return Table.build(data.X.iloc[rows], data.y.iloc[rows], roles=plan_of(data), warn=False)


def solve(problem: Problem, cell: Cell) -> dict[str, Any]:
    """Solve with the engine of the cell on one thread.

    The search engine has no limit and takes milliseconds: it solves once to load compiled code,
    and then the fastest of five solves counts, which tells most about the engine and least about
    what else the machine had to do. The limit of the mixed-integer program is one of the
    processor's time, and its times are too.

    Returns
    -------
    record
        `rule` as text or None; `vi`, `bound`; `proven`; `seconds` in all, and `seconds_to_best`
        when the last better rule was found; `steps`, the moments of a better rule, as
        ``[seconds, VI]``; for the mixed-integer program also `clock_seconds` in all, and
        `solver` and `start`, in words.
    """
    engine = engine_of(cell)
    if cell["engine"] == SEARCH:
        solutions = [engine.solve(problem, Budget(n_jobs=1)) for _ in range(1 + REPEATS)]
        fastest = min(solutions[1:], key=lambda each: each.seconds)
        return _record(fastest, better(fastest))
    with ProcessorLimit(cell["limit"]) as processor:
        solution = engine.solve(problem, Budget(n_jobs=1, cancel=processor.cancel))
    steps = [[processor.at(seconds), value] for seconds, value in better(solution)]
    return {
        **_record(replace(solution, seconds=processor.seconds), steps),
        "clock_seconds": solution.seconds,
        "solver": solution.details.solver,
        "start": solution.details.start,
    }


def engine_of(cell: Cell) -> Engine:
    """The engine that a cell asks for."""
    from opdt.engines.mip import MIPEngine
    from opdt.engines.search import SearchEngine

    if cell["engine"] == SEARCH:
        return SearchEngine()
    return MIPEngine(
        solver=cell.get("solver", "scip"),
        formulation=cell.get("formulation", "paper"),
        warm_start=cell["warm_start"],
        priorities=cell["priorities"],
    )


def _record(solution: Solution, steps: list[list[float]]) -> dict[str, Any]:
    return {
        "rule": None if solution.rule is None else str(solution.rule),
        "vi": solution.value,
        "bound": solution.bound if math.isfinite(solution.bound) else None,
        "proven": solution.status in (Status.OPTIMAL, Status.NO_PATTERN),
        "seconds": solution.seconds,
        "seconds_to_best": steps[-1][0] if steps else 0.0,
        "steps": steps,
    }


def better(solution: Solution) -> list[list[float]]:
    """The moments at which a better rule was found, as ``[seconds, VI]``."""
    steps: list[list[float]] = []
    for point in solution.trace:
        if point.value > (steps[-1][1] if steps else 0.0):
            steps.append([point.seconds, point.value])
    return steps
