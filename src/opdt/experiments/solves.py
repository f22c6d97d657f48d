"""One solve of one problem, timed and traced: what the experiments on engines measure."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

from opdt.datasets import load, names
from opdt.engines.base import Engine
from opdt.engines.mip.solver import SOLVERS
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
# Where the path formulation has.
MEDIUM = (*SMALL, "heart_disease", "heart_failure", "parkinsons", "thoracic_surgery")

# Seconds of the processor for the mixed-integer program, unless the run is given a limit; the
# paper has 600 and 120 of the clock.
LIMIT, QUICK_LIMIT = 30.0, 4.0
MIP_SPLITS = 3
REPEATS = 5


class Program(NamedTuple):
    """A mixed-integer program: its model and its solver."""

    formulation: str
    solver: str

    @property
    def words(self) -> str:
        """In a few words."""
        return f"the {FORMULATION_WORDS[self.formulation]}, {SOLVER_WORDS[self.solver]}"


FORMULATION_WORDS = {"paper": "paper's formulation", "path": "path formulation"}
SOLVER_WORDS = {"scip": "SCIP", "highs": "HiGHS", "gurobi": "Gurobi"}
# SCIP is the open solver that has branching priorities; HiGHS is the faster one on path models.
PAPER, PATH = Program("paper", "scip"), Program("path", "highs")


def mip_programs(settings: ExperimentSettings, *usual: Program) -> list[Program]:
    """The programs that are solved: the experiment's own, or what the run is given.

    With a formulation alone its solver is the one that is usual for it.
    """
    if settings.formulation is None and settings.solver is None:
        return list(usual)
    formulation = settings.formulation or PAPER.formulation
    own = next(each.solver for each in (PAPER, PATH) if each.formulation == formulation)
    return [Program(formulation, settings.solver or own)]


def mip_limit(settings: ExperimentSettings) -> float:
    """Seconds of the processor for each solve of a mixed-integer program."""
    return settings.time_limit or (QUICK_LIMIT if settings.quick else LIMIT)


def mip_splits(settings: ExperimentSettings, usual: int = MIP_SPLITS) -> range:
    """The splits on which the mixed-integer program is solved."""
    return range(settings.mip_splits or (1 if settings.quick else min(settings.splits, usual)))


def mip_words(settings: ExperimentSettings, program: Program, usual: int = MIP_SPLITS) -> str:
    """How a mixed-integer program is solved, in a few words."""
    n_splits = len(mip_splits(settings, usual))
    splits = f"{n_splits} splits" if n_splits > 1 else "split 0"
    return f"{program.words}, {mip_limit(settings):g} s, {splits}"


def mip_datasets(settings: ExperimentSettings, program: Program) -> list[str]:
    """The datasets on which a program is solved: those asked for, or some; none without solver."""
    if not has_solver(program.solver):
        return []
    if settings.datasets is not None:
        return [name for name in names() if settings.wants_dataset(name)]
    if settings.quick:
        return list(QUICK)
    return list(MEDIUM if program.formulation == PATH.formulation else SMALL)


def has_solver(solver: str = PAPER.solver) -> bool:
    """Whether a solver is installed."""
    return find_spec(SOLVERS[solver].package) is not None


def skipped_mip(settings: ExperimentSettings, *usual: Program) -> list[str]:
    """Why mixed-integer programs are left out, where they are."""
    missing = [each for each in mip_programs(settings, *usual) if not has_solver(each.solver)]
    return [
        f"{each.words}, is skipped: it needs {SOLVERS[each.solver].package}; run: pip install "
        f"'opdt[{SOLVERS[each.solver].extra}]'."
        for each in missing
    ]


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
    program: Program = PAPER,
    warm_start: bool = True,
    priorities: bool = True,
    structured: bool = True,
) -> Cell:
    """A mixed-integer program, with or without the paper's enhancements and constraints."""
    # Path models mostly end before their limit.
    cost = limit / 3 if program.formulation == PATH.formulation else limit
    return Cell.of(
        "structure",
        cost=cost + 1,
        dataset=dataset,
        split=split,
        structure=structure,
        engine=MIP,
        solver=program.solver,
        formulation=program.formulation,
        limit=float(limit),
        warm_start=warm_start,
        priorities=priorities,
        structured=structured,
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
        solver=cell["solver"],
        formulation=cell["formulation"],
        warm_start=cell["warm_start"],
        priorities=cell["priorities"],
        structured=cell.get("structured", True),
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
