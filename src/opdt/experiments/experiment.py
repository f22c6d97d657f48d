"""A table or figure of the paper as a declaration: what to measure, and how to lay it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opdt.checks import check_int, check_int_or_none, check_number
from opdt.experiments.cell import Cell, Record, Scalar
from opdt.experiments.tables import PaperComparison

# What a quick run takes where nothing else is asked for.
QUICK_SPLITS = 2
QUICK_SEEDS = 1


@dataclass(frozen=True)
class ExperimentSettings:
    """What a run is asked for; an experiment takes from it what concerns it.

    Attributes
    ----------
    splits : int
        Random splits of each dataset into training and test rows.
    seeds : int or None
        The most seeds for a method that draws; None means the paper's number of each method.
    datasets, methods : tuple of str, or None
        The only ones to run; None means all.
    seeds_of : tuple of (method, int)
        The most seeds for single methods; they count before `seeds`.
    structures : tuple of str, or None
        The only structures of the experiment on structures, as all-all or cat-num; None means all.
    mip_splits : int or None
        Splits for mixed-integer programs; None means the experiment's own number.
    solver, formulation : str or None
        How mixed-integer programs are solved; None means the experiment's own ways.
    time_limit : float or None
        Seconds for each solve of a mixed-integer program; None means the experiment's own limit.
        The search engine proves its optimum within a fraction of a second and has no limit.
    quick : bool
        A small run: few splits, seeds and datasets, short limits.
    """

    splits: int = 10
    seeds: int | None = None
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    seeds_of: tuple[tuple[str, int], ...] = ()
    structures: tuple[str, ...] | None = None
    mip_splits: int | None = None
    solver: str | None = None
    formulation: str | None = None
    time_limit: float | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        numbers = ("splits", "seeds", "mip_splits")
        for name, value in ((each, getattr(self, each)) for each in numbers):
            check_int_or_none(name, value)
        for method, most in self.seeds_of:
            check_int(f"seeds of {method}", most)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, "more than 0 seconds", lambda x: x > 0)

    def wants_dataset(self, name: str) -> bool:
        """Whether a dataset takes part."""
        return self.datasets is None or name in self.datasets

    def most_seeds(self, method: str) -> int | None:
        """The most seeds for a method; None where there is no limit but the paper's."""
        return dict(self.seeds_of).get(method, self.seeds)

    def wants_structure(self, name: str) -> bool:
        """Whether a structure takes part."""
        return self.structures is None or name in self.structures

    def wants_method(self, name: str) -> bool:
        """Whether a method takes part."""
        return self.methods is None or name in self.methods


class Results(Mapping[str, Record]):
    """Records of the cells of one run by their key; cells that failed or wait are left out.

    Parameters
    ----------
    cells : iterable of Cell
        All cells of the run; records of other cells are left out.
    records : mapping of key to record
    failures : mapping of key to sentence
        Why a cell has no record.
    settings : ExperimentSettings
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        records: Mapping[str, Record],
        failures: Mapping[str, str] | None = None,
        settings: ExperimentSettings | None = None,
    ) -> None:
        self.cells = tuple(dict.fromkeys(cells))
        self.settings = settings or ExperimentSettings()
        keys = {cell.key: cell for cell in self.cells}
        self._records = {key: records[key] for key in keys if key in records}
        self._failures = {key: text for key, text in (failures or {}).items() if key in keys}
        self._of_kind: dict[str, list[tuple[str, Cell, dict[str, Scalar]]]] = {}
        for key, cell in keys.items():
            entry = key, cell, dict(cell.parameters)
            self._of_kind.setdefault(cell.kind, []).append(entry)

    def __getitem__(self, key: str) -> Record:
        return self._records[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def only(self, cells: Iterable[Cell]) -> Results:
        """The results of some of the cells."""
        return Results(cells, self._records, self._failures, self.settings)

    def record(self, kind: str, /, **parameters: Scalar) -> Record | None:
        """The record of exactly this cell, or None."""
        return self._records.get(Cell(kind, tuple(sorted(parameters.items()))).key)

    def select(self, kind: str, /, **parameters: Scalar) -> list[tuple[Cell, Record]]:
        """The measured cells of this kind with these parameters among theirs, in their order."""
        found = self._find(kind, parameters)
        return [(cell, self._records[key]) for key, cell in found if key in self._records]

    def why_missing(self, kind: str, /, **parameters: Scalar) -> str:
        """Why a cell of this kind and these parameters has no record; empty if all have one."""
        missing = [key for key, _ in self._find(kind, parameters) if key not in self._records]
        reasons = [self._failures[key] for key in missing if key in self._failures]
        return next(iter(reasons), "not measured yet" if missing else "")

    def _find(self, kind: str, parameters: dict[str, Scalar]) -> Iterator[tuple[str, Cell]]:
        wanted = parameters.items()
        for key, cell, own in self._of_kind.get(kind, ()):
            if wanted <= own.items():
                yield key, cell


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    Attributes
    ----------
    name : str
        What the command line calls it, and its files are called.
    title : str
        What it shows, in a few words.
    reference : str
        What the paper calls it: "Table 5", "Figure 2".
    cells : callable(ExperimentSettings) -> sequence of Cell
        What has to be measured, in the order of the work; reads no data.
    tables : callable(Results) -> sequence of PaperComparison
        The tables; cells may be missing.
    figures : callable(Results, folder) -> sequence of Path, optional
        Draws PNG files into a folder that exists, and returns them; imports matplotlib late.
    notes : str
        What differs from the paper's set-up; shown under the tables.
    skipped : callable(ExperimentSettings) -> sequence of str, optional
        A sentence for each part that cannot run here, for example for want of a package.
    """

    name: str
    title: str
    reference: str
    cells: Callable[[ExperimentSettings], Sequence[Cell]]
    tables: Callable[[Results], Sequence[PaperComparison]]
    figures: Callable[[Results, Path], Sequence[Path]] | None = None
    notes: str = ""
    skipped: Callable[[ExperimentSettings], Sequence[str]] = field(default=lambda settings: ())
