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
    STRUCTURES,
    mip_cell,
    mip_datasets,
    mip_limit,
    search_cell,
    skipped_mip,
    solve_cell,
)
from opdt.experiments.tables import PaperComparison, TableColumn


def measure(cell: Cell) -> Record:
    """Solve within a structure on the training rows of a split.

    Parameters of the cell: `dataset`, `split`, `structure` as all-all or cat-num, `engine`; for
    the mixed-integer program `limit` in seconds, `warm_start` and `priorities`.
    """
    return solve_cell(cell)


def cells(settings: ExperimentSettings) -> list[Cell]:
    """The search engine on every split, the mixed-integer program on the first."""
    return [
        *(
            search_cell(dataset, split, structure)
            for dataset in _datasets(settings)
            for structure in STRUCTURES
            for split in _splits(settings)
        ),
        *(
            mip_cell(dataset, 0, mip_limit(settings), structure)
            for dataset in mip_datasets(settings)
            for structure in STRUCTURES
        ),
    ]


def tables(results: Results) -> list[PaperComparison]:
    """VI and runtime of the search engine, then of the mixed-integer program."""
    settings = results.settings
    limit = mip_limit(settings)

    def search(structure: str) -> Callable[[str], list[Cell]]:
        return lambda dataset: [search_cell(dataset, s, structure) for s in _splits(settings)]

    def program(structure: str) -> Callable[[str], list[Cell]]:
        return lambda dataset: [mip_cell(dataset, 0, limit, structure)]

    def first(structure: str) -> Callable[[str], list[Cell]]:
        return lambda dataset: [search_cell(dataset, 0, structure)]

    def columns(
        cells_of: Callable[[str], Callable[[str], list[Cell]]], field: str, digits: int
    ) -> list[SolveColumn]:
        return [
            SolveColumn(TableColumn(each, digits), cells_of(each), field, _paper(each, field))
            for each in STRUCTURES
        ]

    mip = f"the mixed-integer program, SCIP, {limit:g} s, split 0"
    datasets, small = _datasets(settings), mip_datasets(settings)
    found = [
        solve_table("VI: search engine, every optimum proven", datasets,
                    columns(search, VI, 1), results),
        solve_table("Runtime in seconds: search engine", datasets,
                    columns(search, RUNTIME, 4), results),
    ]  # fmt: skip
    if small:
        found += [
            solve_table(f"VI: {mip}", small, columns(program, VI, 0), results),
            solve_table(f"Runtime in seconds: {mip}", small,
                        columns(program, RUNTIME, 2), results),
            verdict_table(f"Against the proven optimum: {mip}", small,
                          [(each, program(each), first(each)) for each in STRUCTURES], results),
        ]  # fmt: skip
    return found


def _paper(structure: str, field: str) -> Callable[[str], Published | None]:
    return lambda dataset: find_published("structures", dataset, structure, QUANTITIES[field])


def _datasets(settings: ExperimentSettings) -> list[str]:
    """The paper's twelve, which have features of both kinds."""
    printed = {each.dataset for each in published("structures")}
    return [name for name in names() if name in printed and settings.wants_dataset(name)]


def _splits(settings: ExperimentSettings) -> range:
    return range(settings.splits)


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
        "it is kept here where the structure asks for one. The mixed-integer program is the "
        "paper's formulation with warm start and priorities, solved by SCIP on one thread on small "
        "datasets only, with a limit on the processor's time, in which its times are told too; the "
        "last table says what it found and proved against the optimum of the search engine."
    ),
    skipped=skipped_mip,
)
