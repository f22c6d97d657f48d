"""The paper's two drawings of trees: which group of features each node may use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opdt.engines.search import SearchEngine
from opdt.experiments.cell import Cell, Record
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.solves import W, training_table
from opdt.experiments.tables import Entry, PaperComparison, TableColumn
from opdt.problem import Problem, Structure
from opdt.solution import Budget

DATASET = "hepatitis"
SPLIT = 0
# A structure-constrained tree may have another group at each node, an OPDT has one on each level.
STRUCTURES = {
    "scdt": Structure.tree(split=[1, 1, 1], group=["all", "num", "cat"], target=[1, 1, 1, 1]),
    "opdt": Structure.levels("cat", "num"),
}
TITLES = {
    "scdt": "Structure-constrained tree: a group at each node",
    "opdt": "Optimal pattern detection tree: a group on each level",
}


def measure(cell: Cell) -> Record:
    """The best rule that a tree admits on Hepatitis.

    Parameters of the cell: `tree`, a name of `STRUCTURES`.
    """
    table = training_table(DATASET, SPLIT)
    problem = Problem.build(table, structure=STRUCTURES[cell["tree"]], w=W)
    solution = SearchEngine().solve(problem, Budget(n_jobs=1))
    return {"vi": solution.value, "bound": solution.bound, "rule": str(solution.rule)}


def cells(settings: ExperimentSettings) -> list[Cell]:
    """One for each tree."""
    if not settings.wants_dataset(DATASET):
        return []
    return [_cell(name) for name in STRUCTURES]


def tables(results: Results) -> list[PaperComparison]:
    """The best rule of each tree."""
    if not results.settings.wants_dataset(DATASET):
        return []
    rows: dict[str, Sequence[Entry | None]] = {}
    for name, title in TITLES.items():
        record, note = results.get(_cell(name).key), results.why_missing("tree", tree=name)
        rows[title] = [
            Entry(DATASET, name, words, None if record is None else record[field], note=note)
            for words, field in (("VI", "vi"), ("best rule", "rule"))
        ]
    return [
        PaperComparison(
            "The best rule that each tree admits, on the training rows of a split of Hepatitis",
            (TableColumn("VI", 0, ours_only=True), TableColumn("best rule", ours_only=True)),
            rows,
            corner="tree",
        )
    ]


def figures(results: Results, folder: Path) -> list[Path]:
    """A drawing of each tree with its groups."""
    if not results.settings.wants_dataset(DATASET):
        return []
    from opdt.experiments.trees_figure import draw_structure

    return [
        draw_structure(structure, TITLES[name], folder / f"trees-{name}.png")
        for name, structure in STRUCTURES.items()
    ]


def _cell(name: str) -> Cell:
    return Cell.of("tree", cost=0.1, tree=name)


EXPERIMENT = Experiment(
    "trees",
    "Trees that keep to groups of features",
    "Figures 1, 2",
    cells,
    tables,
    figures,
    notes=(
        "The paper's figures are drawings without data; they show the same with groups that every "
        "dataset has: all features, the numeric and the categorical ones, which overlap with all. "
        "Nodes are numbered as in the paper. The best rule is proven by the search engine, w = 10."
    ),
)
