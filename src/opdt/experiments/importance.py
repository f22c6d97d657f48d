"""Feature groups from LightGBM's importance on German: the paper's second appendix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from opdt.analysis.groups import FeatureImportance, feature_importance, importance_groups
from opdt.experiments.cell import Cell, Record
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.published import PublishedStep, published_steps
from opdt.experiments.solves import (
    MIP,
    PAPER,
    PATH,
    SEARCH,
    Program,
    W,
    has_solver,
    skipped_mip,
    solve,
    training_table,
)
from opdt.experiments.tables import Entry, PaperComparison, TableColumn
from opdt.problem import Problem, Structure

DATASET = "german"
TOP, ITERATIONS, SEED = 6, 1000, 0
METRICS = ("gain", "split")
# Which groups the levels use, by the paper's two ways; the names are those of its steps.
GROUPINGS = {"importance": ("important_cat", "important_num"), "none": ("cat", "num")}
WORDS = {"importance": "groups from LightGBM", "none": "no groups"}


# Seconds for each mixed-integer program, in a whole and a quick run.
LIMITS = {PAPER: (30.0, 4.0), PATH: (240.0, 10.0)}
PROGRAMS = tuple(LIMITS)


def measure(cell: Cell) -> Record:
    """The importance of the features, or one solve with or without groups made from it.

    Parameters of the cell: `split`; `grouping` and `engine` for a solve, and for the mixed-integer
    program `formulation`, `solver`, `limit`, `warm_start` and `priorities`.
    """
    if cell.get("grouping") is None:
        table = training_table(DATASET, cell["split"])
        categorical = [table.names[j] for j in table.categorical]
        scores = {m: list(importance(cell["split"], m).scores) for m in METRICS}
        return {"names": list(table.names), "categorical": categorical, **scores}
    problem = Problem.build(
        training_table(DATASET, cell["split"]),
        structure=Structure.levels(*GROUPINGS[cell["grouping"]]),
        groups=groups(cell["split"]) if cell["grouping"] == "importance" else None,
        w=W,
    )
    return solve(problem, cell)


@cache
def importance(split: int, metric: str) -> FeatureImportance:
    """The importance of German's features, from the training rows of a split."""
    table = training_table(DATASET, split)
    return feature_importance(table, metric=metric, iterations=ITERATIONS, seed=SEED)


@cache
def groups(split: int) -> dict[str, tuple[str, ...]]:
    """The groups of the best six features by gain and by split count."""
    table = training_table(DATASET, split)
    return importance_groups(table, limit=TOP, iterations=ITERATIONS, seed=SEED).custom


def cells(settings: ExperimentSettings) -> list[Cell]:
    """The search engine on every split; scores and the mixed-integer program on the first."""
    if not settings.wants_dataset(DATASET) or skipped_lightgbm():
        return []
    return [
        _scores(),
        *(_search(grouping, s) for s in range(settings.splits) for grouping in GROUPINGS),
        *(
            _program(settings, program, grouping)
            for program in PROGRAMS
            for grouping in GROUPINGS
            if has_solver(program.solver)
        ),
    ]


def _scores() -> Cell:
    return Cell.of("importance", cost=5, split=0)


def _search(grouping: str, split: int) -> Cell:
    return Cell.of("importance", cost=2, split=split, grouping=grouping, engine=SEARCH)


def _program(settings: ExperimentSettings, program: Program, grouping: str) -> Cell:
    limit = settings.time_limit or LIMITS[program][settings.quick]
    # The paper's steps start from a VI of 0, so there is no warm start.
    return Cell.of(
        "importance",
        cost=limit + 5,
        split=0,
        grouping=grouping,
        engine=MIP,
        formulation=program.formulation,
        solver=program.solver,
        limit=float(limit),
        warm_start=False,
        priorities=program.solver == "scip",
    )


def tables(results: Results) -> list[PaperComparison]:
    """The chosen features, the search engine with and without groups, and VI over time."""
    if not cells(results.settings):
        return []
    found = [_chosen(results), _proofs(results)]
    return found + [_steps(results, each) for each in PROGRAMS if has_solver(each.solver)]


def _chosen(results: Results) -> PaperComparison:
    record = results.get(_scores().key)
    rows: dict[str, Sequence[Entry | None]] = {}
    for metric in METRICS:
        text = None if record is None else _best(record, metric)
        rows[metric] = [Entry(DATASET, metric, f"best {TOP} features, split 0", text)]
    return PaperComparison(
        f"The {TOP} most important features by each metric, split 0",
        (TableColumn("best first", ours_only=True),),
        rows,
        corner="metric",
        caption="(cat) marks categorical features; all of them together make the two groups.",
    )


def _proofs(results: Results) -> PaperComparison:
    splits = range(results.settings.splits)
    rows: dict[str, Sequence[Entry | None]] = {}
    for grouping, words in WORDS.items():
        records = [results.get(_search(grouping, s).key) for s in splits]
        known = [record for record in records if record is not None]
        best, proof = _published(grouping)
        rows[words] = [
            Entry.of(DATASET, f"search {grouping}", quantity, [r[field] for r in known],
                     (paper, None), is_time=field != "vi")
            for quantity, field, paper in (
                ("VI", "vi", proof.vi),
                ("time to solution", "seconds_to_best", best.seconds),
                ("time to proof", "seconds", proof.seconds),
            )
        ]  # fmt: skip
    grouped, free = ([results.get(_search(g, s).key) for s in splits] for g in GROUPINGS)
    pairs = [(a, b) for a, b in zip(grouped, free, strict=True) if a and b]
    same = sum(a["vi"] == b["vi"] for a, b in pairs)
    return PaperComparison(
        f"Search engine, cat–num: means over {len(splits)} splits",
        (TableColumn("VI", 1), TableColumn("time to solution", 4), TableColumn("time to proof", 4)),
        rows,
        corner="",
        caption=f"The groups keep the optimum on {same} of {len(pairs)} splits.",
    )


def _steps(results: Results, program: Program) -> PaperComparison:
    """The moments of a better rule beside the paper's, and the end."""
    records = {g: results.get(_program(results.settings, program, g).key) for g in GROUPINGS}
    ours = {g: [] if r is None else [[0.0, 0.0], *r["steps"]] for g, r in records.items()}
    paper = {g: [s for s in published_steps() if s.grouping == g] for g in GROUPINGS}
    length = max(*map(len, ours.values()), *(len(steps) - 1 for steps in paper.values()))
    rows: dict[str, Sequence[Entry | None]] = {}
    for at in range(length):
        rows[str(at + 1)] = [
            entry
            for grouping in GROUPINGS
            for entry in _pair(
                grouping,
                f"step {at + 1}",
                ours[grouping][at] if at < len(ours[grouping]) else None,
                paper[grouping][at] if at < len(paper[grouping]) - 1 else None,
            )
        ]
    rows["end"] = [
        entry
        for grouping, record in records.items()
        for entry in _pair(
            grouping,
            "end",
            None if record is None else [record["seconds"], record["vi"]],
            paper[grouping][-1],
        )
    ]
    limit = _program(results.settings, program, "none")["limit"]
    columns = [
        TableColumn(f"{name}, {words}", digits)
        for words in WORDS.values()
        for name, digits in (("VI", 0), ("seconds", 1))
    ]
    return PaperComparison(
        f"VI over time: {program.words}, {limit:g} s, split 0",
        tuple(columns),
        rows,
        corner="step",
        caption=" ".join(_ending(words, records[g]) for g, words in WORDS.items()),
    )


def _pair(
    grouping: str, name: str, ours: Sequence[float] | None, paper: PublishedStep | None
) -> list[Entry]:
    method = f"mip {grouping}"
    vi, seconds = ([], []) if ours is None else ([ours[1]], [ours[0]])
    printed = (None, None) if paper is None else (paper.vi, paper.seconds)
    return [
        Entry.of(DATASET, method, f"VI, {name}", vi, (printed[0], None)),
        Entry.of(DATASET, method, f"seconds, {name}", seconds, (printed[1], None), is_time=True),
    ]


def _ending(words: str, record: Record | None) -> str:
    if record is None:
        return f"With {words}: not measured."
    bound = record["bound"]
    end = "proven" if record["proven"] else f"stopped with a bound of {bound:g}"
    return f"With {words}: {end}."


def _published(grouping: str) -> tuple[PublishedStep, PublishedStep]:
    """The paper's last better rule and its proof."""
    *_, best, proof = (step for step in published_steps() if step.grouping == grouping)
    return best, proof


def _best(record: Record, metric: str) -> str:
    best = _importance(record, metric).top(TOP)
    return ", ".join(f"{name} (cat)" if name in record["categorical"] else name for name in best)


def _importance(record: Record, metric: str) -> FeatureImportance:
    return FeatureImportance(metric, tuple(record["names"]), tuple(record[metric]))


def figures(results: Results, folder: Path) -> list[Path]:
    """Two bar charts of the importance, and VI over time."""
    from opdt.experiments.importance_figures import draw_importance, draw_steps

    record = results.get(_scores().key)
    paths = []
    if record is not None:
        scores = [_importance(record, metric) for metric in METRICS]
        categorical = set(record["categorical"])
        paths.append(draw_importance(scores, TOP, categorical, folder / "importance.png"))
    # The program that gets anywhere on a table of this size.
    cells = {g: _program(results.settings, PROGRAMS[-1], g) for g in GROUPINGS}
    known = {WORDS[g]: results[cell.key] for g, cell in cells.items() if cell.key in results}
    if known:
        paper: dict[str, Any] = {
            WORDS[g]: [(s.seconds, s.vi) for s in published_steps() if s.grouping == g]
            for g in GROUPINGS
        }
        optimum = results.get(_search("none", 0).key)
        value = None if optimum is None else float(optimum["vi"])
        paths.append(draw_steps(known, paper, value, folder / "vi-over-time.png"))
    return paths


def skipped_lightgbm() -> list[str]:
    """Why the experiment is left out, where it is."""
    if find_spec("lightgbm") is not None:
        return []
    cure = "run: pip install 'opdt[importance]'."
    return [f"feature groups from importance are skipped: they need lightgbm; {cure}"]


EXPERIMENT = Experiment(
    "importance",
    "Feature groups from LightGBM importance on German",
    "Figure 4, Table 11",
    cells,
    tables,
    figures,
    notes=(
        "LightGBM with 1,000 boosting iterations on the training rows; its other settings are its "
        "defaults, because the paper tells none. Of the six best features by gain and the six best "
        "by split count, the categorical ones make one group and the numeric ones the other; the "
        "structure is cat–num of depth 2, w = 10. The paper's split is not known and its limit is "
        "600 s. The mixed-integer programs have no warm start (the paper's steps start from 0) and "
        "one thread, limit and times of the processor: the paper's formulation with priorities by "
        "SCIP, which gets nowhere on 800 rows within our limit, and the path formulation, which is "
        "ours, by HiGHS. Groups chosen by importance need not hold the optimum of all features; "
        "whether they do is known only because the search engine proves both."
    ),
    skipped=lambda settings: [*skipped_lightgbm(), *skipped_mip(settings, *PROGRAMS)],
)
