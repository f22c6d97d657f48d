"""`opdt reproduce`: run the paper's tables and figures again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opdt.cli.option_groups import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opdt.experiments.experiment import Experiment, ExperimentSettings

EVERYTHING = "all"


@dataclass(frozen=True)
class Scope:
    """How much of an experiment is run."""

    splits: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Random splits (10; quick: 2).")
    ] = None
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Most seeds per split (the paper's; quick: 1), or 'brs=3,ripper=10'."
        ),
    ] = None
    datasets: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these datasets: 'german,pima'.")
    ] = None
    methods: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these methods: 'opdt,ripper'.")
    ] = None
    structures: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these structures: 'all-all,cat-num'.")
    ] = None
    mip_splits: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Splits for mixed-integer programs (1 or 3)."),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="For each solve of a mixed-integer program."),
    ] = None
    solver: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of mixed-integer programs: scip, highs, …")
    ] = None
    formulation: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of mixed-integer programs: paper or path.")
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="A small run: all of it in ten minutes on two cores.")
    ] = False

    def settings(self) -> ExperimentSettings:
        """The same in the words of the experiments."""
        from opdt.datasets.registry import find
        from opdt.engines.mip.engine import FORMULATIONS
        from opdt.engines.mip.solver import SOLVERS
        from opdt.experiments.comparison import METHODS
        from opdt.experiments.experiment import QUICK_SEEDS, QUICK_SPLITS, ExperimentSettings
        from opdt.experiments.solves import STRUCTURES

        for name in _parts(self.datasets, "--datasets") or ():
            find(name)
        _known("--methods", self.methods, METHODS)
        _known("--structures", self.structures, STRUCTURES)
        _known("--solver", self.solver, SOLVERS)
        _known("--formulation", self.formulation, FORMULATIONS)
        usual = ExperimentSettings()
        seeds, seeds_of = _seeds(self.seeds)
        return ExperimentSettings(
            splits=self.splits or (QUICK_SPLITS if self.quick else usual.splits),
            seeds=seeds or (QUICK_SEEDS if self.quick else usual.seeds),
            seeds_of=seeds_of,
            datasets=_parts(self.datasets),
            methods=_parts(self.methods),
            structures=_parts(self.structures),
            mip_splits=self.mip_splits,
            solver=self.solver,
            formulation=self.formulation,
            time_limit=self.time_limit,
            quick=self.quick,
        )


@spread
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Experiments, or 'all'; none lists them."),
    ] = None,
    *,
    scope: Scope,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Processes.")] = 1,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the results; continued."),
    ] = Path("reproduction"),
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with the raw files of the datasets.")
    ] = None,
) -> int:
    """Run tables and figures of the paper again, and put ours beside the paper's.

    Each finished measurement is on disk at once: a run that was stopped goes on where it was.
    """
    from opdt.cli.console import notes, stderr, stdout
    from opdt.cli.run_view import RunView, list_experiments, show_files, show_page
    from opdt.experiments.output import write_pages
    from opdt.experiments.render import about_settings
    from opdt.experiments.runner import Interrupted, run

    if not names:
        list_experiments(stdout())
        return 0
    chosen = _chosen(names)
    settings = scope.settings()
    chosen = _not_empty(chosen, settings, all_of_them=EVERYTHING in names)
    skipped = dict.fromkeys(line for each in chosen for line in each.skipped(settings))
    for line in [*(about_settings(settings) if scope.quick else ()), *skipped]:
        stderr().print(line, style="yellow", soft_wrap=True)
    try:
        with RunView() as view, notes():
            results = run(chosen, out, settings, jobs=jobs, progress=view, folder=data)
    except Interrupted:
        stderr().print(
            f"stopped; what is finished is kept in {str(out)!r}: the same command goes on there.",
            soft_wrap=True,
        )
        raise
    pages = write_pages(chosen, results, out)
    shown = [] if EVERYTHING in names else pages
    for page, following in zip_longest(shown, shown[1:]):
        # Experiments of one kind share their notes, which need be read once.
        last = following is None or following.experiment.notes != page.experiment.notes
        show_page(stdout(), page, notes=last)
    show_files(stdout(), pages, results, out)
    return 0


def _chosen(names: Sequence[str]) -> list[Experiment]:
    from opdt.experiments.registry import EXPERIMENTS, get_experiment

    wanted = EXPERIMENTS if EVERYTHING in names else dict.fromkeys(names)
    return [get_experiment(name) for name in wanted]


def _not_empty(
    chosen: Sequence[Experiment], settings: ExperimentSettings, *, all_of_them: bool
) -> list[Experiment]:
    """The experiments that have something to measure; one that was named must have something.

    An experiment that lacks only a package is kept, and says so itself.
    """
    from opdt.errors import InputError

    found = [each for each in chosen if each.cells(settings) or each.skipped(settings)]
    empty = [each.name for each in chosen if each not in found]
    if empty and not (all_of_them and found):
        raise InputError(
            f"experiment {empty[0]!r} has nothing to measure with these options; choose other "
            "'--datasets', '--methods' or '--structures', or leave them out."
        )
    return found


def _known(option: str, text: str | None, names: Iterable[str]) -> None:
    """Refuse a name that is none of these."""
    from opdt.errors import InputError

    for name in _parts(text, option) or ():
        if name not in names:
            raise InputError(f"{option!r} has {name!r}; choose from {', '.join(names)}.")


def _parts(text: str | None, option: str = "") -> tuple[str, ...] | None:
    """The names of an option, apart by commas; an option without any is refused."""
    from opdt.errors import InputError

    if text is None:
        return None
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if not parts:
        raise InputError(f"{option!r} names nothing; leave it out, or give at least one name.")
    return parts


def _seeds(text: str | None) -> tuple[int | None, tuple[tuple[str, int], ...]]:
    """The most seeds for all methods, and for single ones."""
    from opdt.errors import InputError
    from opdt.experiments.comparison import METHODS

    most: int | None = None
    single: dict[str, int] = {}
    for part in _parts(text, "--seeds") or ():
        method, equals, number = part.rpartition("=")
        if not number.strip().isdecimal() or int(number) < 1 or (equals and method not in METHODS):
            raise InputError(
                f"'--seeds' must be a number of at least 1, or numbers of methods such as "
                f"'brs=3,ripper=10'; got {part!r}."
            )
        if equals:
            single[method] = int(number)
        else:
            most = int(number)
    return most, tuple(single.items())
