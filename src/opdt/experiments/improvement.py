"""BSCCART's tree on German, and the optimum that takes its place: the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opdt.engines.bsccart import BSCCARTEngine
from opdt.engines.search import SearchEngine
from opdt.experiments.cell import Cell, Record
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.published import published_improvement
from opdt.experiments.solves import STRUCTURES, W, training_table
from opdt.experiments.tables import Entry, PaperComparison, TableColumn
from opdt.problem import Problem, Structure
from opdt.solution import Budget

DATASET = "german"
FIGURE_SPLIT = 0
FIGURE_STRUCTURE = "num-num"


def measure(cell: Cell) -> Record:
    """The VI of BSCCART's best leaf and of the optimum, with both rules.

    Parameters of the cell: `split` and `structure`.
    """
    problem = problem_of(cell["split"], cell["structure"])
    heuristic = BSCCARTEngine().solve(problem)
    optimum = SearchEngine().solve(problem, Budget(n_jobs=1))
    return {
        "bsccart": {"vi": heuristic.value, "rule": _text(heuristic.rule)},
        "opdt": {"vi": optimum.value, "rule": _text(optimum.rule), "bound": optimum.bound},
    }


def problem_of(split: int, structure: str) -> Problem:
    """The best rule of this structure on the training rows of German."""
    levels = Structure.levels(*structure.split("-"))
    return Problem.build(training_table(DATASET, split), structure=levels, w=W)


def cells(settings: ExperimentSettings) -> list[Cell]:
    """Every structure on every split."""
    if not settings.wants_dataset(DATASET):
        return []
    return [_cell(split, each) for each in STRUCTURES for split in range(settings.splits)]


def tables(results: Results) -> list[PaperComparison]:
    """Both VIs on the figure's split, and means over splits for every structure."""
    if not results.settings.wants_dataset(DATASET):
        return []
    columns = (
        TableColumn("BSCCART", 1),
        TableColumn("optimum", 1),
        TableColumn("rise", 1, ours_only=True),
    )
    figure = f"{FIGURE_STRUCTURE}, split {FIGURE_SPLIT}"
    shown = [_cell(FIGURE_SPLIT, FIGURE_STRUCTURE)]
    paper = {each.method: each.vi for each in published_improvement()}
    splits = range(results.settings.splits)
    return [
        PaperComparison(
            f"VI in the figure: {figure}",
            columns,
            {"German": _row(results, shown, figure, paper)},
        ),
        PaperComparison(
            f"VI by structure: means over {len(splits)} splits",
            tuple(TableColumn(each.name, 1, ours_only=True) for each in columns),
            {
                structure: _row(results, [_cell(s, structure) for s in splits], structure, {})
                for structure in STRUCTURES
            },
            corner="structure",
        ),
    ]


def figures(results: Results, folder: Path) -> list[Path]:
    """The two trees side by side, rows and VI at the leaves, the chosen leaf marked."""
    if not results.settings.wants_dataset(DATASET):
        return []
    from opdt.experiments.improvement_figure import draw_trees

    problem = problem_of(FIGURE_SPLIT, FIGURE_STRUCTURE)
    solutions = {
        "BSCCART": BSCCARTEngine().solve(problem),
        "the proven optimum": SearchEngine().solve(problem, Budget(n_jobs=1)),
    }
    return [draw_trees(problem, solutions, folder / "improvement.png")]


def _row(
    results: Results, cells: Sequence[Cell], name: str, paper: dict[str, float]
) -> list[Entry | None]:
    records = [results[cell.key] for cell in cells if cell.key in results]
    heuristic, optimum = ([each[m]["vi"] for each in records] for m in ("bsccart", "opdt"))
    rises = [high - low for low, high in zip(heuristic, optimum, strict=True)]
    return [
        Entry.of(DATASET, name, f"VI of {words}", values, (paper.get(method), None))
        for words, method, values in (
            ("BSCCART", "bsccart", heuristic),
            ("the optimum", "opdt", optimum),
            ("the rise", "", rises),
        )
    ]


def _cell(split: int, structure: str) -> Cell:
    return Cell.of("improvement", cost=0.1, split=split, structure=structure)


def _text(rule: object) -> str | None:
    return None if rule is None else str(rule)


EXPERIMENT = Experiment(
    "improvement",
    "BSCCART's tree on German improved to the optimum",
    "Figure 3",
    cells,
    tables,
    figures,
    notes=(
        "The paper shows a tree of BSCCART with a best VI of 8 that its solver improves to 32 in "
        "12 s, not yet the optimum, and tells neither split nor structure. A VI of 8 is what "
        "BSCCART finds with num–num, so the figure has that structure, on split 0; with all "
        "features BSCCART is much closer to the optimum. The optimum is proven by the search "
        "engine; nodes of its tree beside the path to the rule are completed arbitrarily."
    ),
)
