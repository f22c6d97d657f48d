"""VI and runtime by structure: the paper's table of Branching Structure Constraints."""

from __future__ import annotations

from collections.abc import Callable

from opdt.datasets import names
from opdt.experiments.cell import Cell, Record
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.published import Published, find_published, published
from opdt.experiments.solve_tables import (
    QUANTITIES,
    RUNTIME,
    VI,
    SolveColumn,
    solve_table,
    verdict_table,
)
from opdt.experiments.solves import (
    PAPER,
    PATH,
    STRUCTURES,
    Program,
    mip_cell,
    mip_datasets,
    mip_limit,
    mip_programs,
    mip_splits,
    mip_words,
    search_cell,
    skipped_mip,
    solve_cell,
)
from opdt.experiments.tables import PaperComparison, TableColumn

PROGRAMS = (PAPER, PATH)


def measure(cell: Cell) -> Record:
    """Solve within a structure on the training rows of a split.

    Parameters of the cell: `dataset`, `split`, `structure` as all-all or cat-num, `engine`; for
    the mixed-integer program `formulation`, `solver`, `limit` in seconds, `warm_start`,
    `priorities` and `structured`.
    """
    return solve_cell(cell)


def cells(settings: ExperimentSettings) -> list[Cell]:
    """The search engine on every split, mixed-integer programs on the first."""
    search = [
        search_cell(dataset, split, structure)
        for dataset in _datasets(settings)
        for structure in _structures(settings)
        for split in range(settings.splits)
    ]
    programs = mip_programs(settings, *PROGRAMS)
    for dataset in dict.fromkeys(d for p in programs for d in _mip_datasets(settings, p)):
        for structure in _structures(settings):
            search += _optima(settings, structure)(dataset)
            for program in programs:
                if dataset in _mip_datasets(settings, program):
                    search += _program(settings, program, structure)(dataset)
    return list(dict.fromkeys(search))


def tables(results: Results) -> list[PaperComparison]:
    """VI and runtime of the search engine, then of each mixed-integer program."""
    settings, datasets = results.settings, _datasets(results.settings)
    if not datasets:
        return []

    def search(structure: str) -> Callable[[str], list[Cell]]:
        splits = range(settings.splits)
        return lambda dataset: [search_cell(dataset, split, structure) for split in splits]

    found = [
        solve_table("VI: search engine, every optimum proven", datasets,
                    _columns(settings, search, VI, 1), results),
        solve_table("Runtime in seconds: search engine", datasets,
                    _columns(settings, search, RUNTIME, 4), results),
    ]  # fmt: skip
    for program in mip_programs(settings, *PROGRAMS):
        found += _of_program(results, program)
    return found


def _of_program(results: Results, program: Program) -> list[PaperComparison]:
    """VI, runtime and outcome of one mixed-integer program."""
    settings, datasets = results.settings, _mip_datasets(results.settings, program)
    if not datasets:
        return []
    how, digits = mip_words(settings, program, 1), 0 if len(_mip_splits(settings)) == 1 else 1

    def solves(structure: str) -> Callable[[str], list[Cell]]:
        return _program(settings, program, structure)

    outcome = [
        (each, solves(each), _optima(settings, each)) for each in _structures(settings)
    ]  # fmt: skip
    return [
        solve_table(f"VI: {how}", datasets, _columns(settings, solves, VI, digits), results),
        solve_table(f"Runtime in seconds: {how}", datasets,
                    _columns(settings, solves, RUNTIME, 2), results),
        verdict_table(f"Against the proven optimum: {how}", datasets, outcome, results),
    ]  # fmt: skip


def _columns(
    settings: ExperimentSettings,
    cells_of: Callable[[str], Callable[[str], list[Cell]]],
    field: str,
    digits: int,
) -> list[SolveColumn]:
    return [
        SolveColumn(TableColumn(each, digits), cells_of(each), field, _paper(each, field))
        for each in _structures(settings)
    ]


def _program(
    settings: ExperimentSettings, program: Program, structure: str
) -> Callable[[str], list[Cell]]:
    limit, splits = mip_limit(settings), _mip_splits(settings)
    return lambda dataset: [mip_cell(dataset, s, limit, structure, program=program) for s in splits]


def _optima(settings: ExperimentSettings, structure: str) -> Callable[[str], list[Cell]]:
    splits = _mip_splits(settings)
    return lambda dataset: [search_cell(dataset, split, structure) for split in splits]


def _paper(structure: str, field: str) -> Callable[[str], Published | None]:
    return lambda dataset: find_published("structures", dataset, structure, QUANTITIES[field])


def _datasets(settings: ExperimentSettings) -> list[str]:
    """The paper's twelve, which have features of both kinds."""
    printed = {each.dataset for each in published("structures")}
    return [name for name in names() if name in printed and settings.wants_dataset(name)]


def _mip_datasets(settings: ExperimentSettings, program: Program) -> list[str]:
    return [name for name in mip_datasets(settings, program) if name in _datasets(settings)]


def _mip_splits(settings: ExperimentSettings) -> range:
    return mip_splits(settings, 1)


def _structures(settings: ExperimentSettings) -> list[str]:
    return [each for each in STRUCTURES if settings.wants_structure(each)]


EXPERIMENT = Experiment(
    "structures",
    "VI and runtime by structure constraints",
    "Table 4",
    cells,
    tables,
    notes=(
        "Structures are of depth 2, one group of features for each level; w = 10. The paper's "
        "numbers are of one training split that is not known, and of a mixed-integer program "
        "stopped after 600 s; ours are means over splits with the standard deviation, so that the "
        "paper's number is to be looked for in that range. A structure cannot beat all–all where "
        "both are solved to the end: the paper's German has 31 for all–all and 45 for cat–num, "
        "its Thoracic Surgery 39 and 42, because the solver was stopped. In num–cat and cat–num a "
        "categorical condition is always applied, so they may be worse than num–num. Parkinsons "
        "has no categorical feature but the name of the recording, which the paper counts as one; "
        "it is kept here where the structure asks for one. Mixed-integer programs are the "
        "paper's formulation with warm start and priorities by SCIP, and the path formulation, "
        "which is ours, with warm start by HiGHS, on one thread; datasets, splits and limit are "
        "said in the title of each table and can be changed by `--datasets`, `--mip-splits`, "
        "`--structures`, `--time-limit`, `--solver` and `--formulation`. Limit and times are of "
        "the processor. The last table of each says what it found and proved against the optimum "
        "of the search engine."
    ),
    skipped=lambda settings: skipped_mip(settings, *PROGRAMS),
)
