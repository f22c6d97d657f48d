"""The paper's table of datasets, counted from the raw files."""

from __future__ import annotations

from opdt.datasets import load
from opdt.datasets.registry import SOURCES
from opdt.experiments.cell import Cell, Record
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.published import published_datasets
from opdt.experiments.tables import Entry, PaperComparison, TableColumn

COUNTS = ("rows", "dropped", "features", "numeric", "categorical", "negative", "positive")
_IDENTIFIED = "parkinsons"


def measure(cell: Cell) -> Record:
    """Count the rows, features and classes of a dataset, identifiers included."""
    data = load(cell["dataset"], keep_id=True)
    negative, positive = data.class_counts.values()
    return {
        "rows": data.n_rows,
        "dropped": data.n_dropped,
        "features": data.X.shape[1],
        "numeric": len(data.numeric),
        "categorical": len(data.categorical),
        "negative": negative,
        "positive": positive,
    }


def cells(settings: ExperimentSettings) -> list[Cell]:
    """One cell for each dataset."""
    return [
        Cell.of("dataset", cost=0.1, dataset=each.dataset)
        for each in published_datasets()
        if settings.wants_dataset(each.dataset)
    ]


def tables(results: Results) -> list[PaperComparison]:
    """All counts beside the paper's."""
    rows = {
        SOURCES[each.dataset].title: [
            _entry(results, each.dataset, name, getattr(each, name)) for name in COUNTS
        ]
        for each in published_datasets()
        if results.settings.wants_dataset(each.dataset)
    }
    return [PaperComparison("Datasets", tuple(TableColumn(name, 0) for name in COUNTS), rows)]


def _entry(results: Results, dataset: str, name: str, paper: int) -> Entry:
    record = results.record("dataset", dataset=dataset)
    ours = None if record is None else record[name]
    note = results.why_missing("dataset", dataset=dataset)
    if dataset == _IDENTIFIED and name == "categorical":
        note = note or (
            "the name of the recording, which no rule can use; everything else leaves it out"
        )
    return Entry(dataset, "", name, ours, n=int(ours is not None), paper=paper, note=note)


EXPERIMENT = Experiment(
    "datasets",
    "The fifteen datasets",
    "Table 3",
    cells,
    tables,
    notes=(
        "Rows are those without a missing value, dropped the others; negative and positive are "
        "the classes in the order of the paper, (neg, pos). The counts come from the raw files "
        "by the rules that opdt.datasets documents for each dataset."
    ),
)
