"""`opdt test`: how far the best rule of a file can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opdt.cli import options as opt

if TYPE_CHECKING:
    from opdt.analysis.claims import Claim
    from opdt.analysis.intervals import HoldoutReport
    from opdt.analysis.permutation import PermutationTest
    from opdt.analysis.repeats import RepeatProgress
    from opdt.analysis.stability import Stability
    from opdt.table import Table

EVIDENCE = "The evidence"


def significance(
    data: opt.Data,
    target: opt.Target,
    permutations: Annotated[
        int,
        typer.Option(
            metavar="N", help="Shuffle the classes so many times.", rich_help_panel=EVIDENCE
        ),
    ] = 999,
    bootstraps: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Draw the rows anew so many times; 0: never.",
            rich_help_panel=EVIDENCE,
        ),
    ] = 200,
    strata: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Shuffle within these groups only.", rich_help_panel=EVIDENCE
        ),
    ] = None,
    test_rows: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="DATA",
            help="Rows the search must not see, in a file of their own.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Keep this share of the rows unseen, such as 0.3.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(metavar="X", help="Level of the test.", rich_help_panel=EVIDENCE)
    ] = 0.05,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of all that is random.", rich_help_panel=EVIDENCE)
    ] = 0,
    depth: opt.Depth = None,
    objective: opt.Objective = None,
    w: opt.Price = None,
    label: opt.Wanted = None,
    paper: opt.Paper = False,
    structure: opt.StructureOption = None,
    groups: opt.GroupsOption = None,
    direction: opt.Direction = None,
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    min_precision: opt.MinPrecision = None,
    min_coverage: opt.MinCoverage = None,
    max_errors: opt.MaxErrors = None,
    role: opt.Roles = None,
    missing: opt.Missing = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    date_order: opt.DateOrder = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Half for the permutations, half for the bootstraps."),
    ] = None,
    jobs: opt.Jobs = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the rule with the evidence."),
    ] = None,
    quiet: opt.Quiet = False,
) -> int:
    """Say how far the best rule of a table can be trusted: the one that 'opdt fit' shows.

    Is it better than chance? Shuffles the classes and searches again.
    Would other rows give the same rule? Draws the rows anew and searches.
    What does it do on rows that it has not seen? Holds some out.
    """
    from opdt.cli import source as given
    from opdt.cli.aim import Aim
    from opdt.cli.console import notes, stderr
    from opdt.cli.files import check_output
    from opdt.errors import InputError
    from opdt.table import open_source

    if test_rows is not None and hold_out is not None:
        raise InputError("'--test' and '--hold-out' are two ways to the same end; choose one.")
    if json_out is not None:
        check_output("--json", json_out, data)
    limits = {
        "min_precision": min_precision,
        "min_coverage": min_coverage,
        "max_errors": max_errors,
    }
    aim = Aim(objective, w, label, paper)
    asked = aim.settings(limits)
    written = given.how_written(delimiter, encoding, decimal, date_order)
    with notes(shown=not quiet, columns=False):  # the plan says the same
        frame = given.read_data(data, written)
        rows, unseen = given.part_rows(frame, hold_out, seed)
        # What a column is, all rows decide, and not those that chance has left.
        plan = given.build_table(open_source(frame), target, role, missing).plan
        if test_rows is not None:
            unseen = given.read_data(test_rows, written)
        source = open_source(rows)
        table = given.build_table(source, target, plan=plan)
        levels, named = given.shape(structure, groups)
        evidence = Evidence(
            table,
            seed=seed,
            bar=not quiet,
            n_jobs=jobs,
            time_limit=time_limit if time_limit is None or not bootstraps else time_limit / 2,
            max_depth=depth,
            **asked,
            target=aim.target(partial(given.class_of, table), table.classes.tolist()),
            structure=levels,
            groups=named,
            constraints=given.demands(table.names, direction, require, forbid, **limits),
        )
        evidence.gather(permutations, bootstraps, strata, alpha, unseen, target)
    for said in [] if quiet else aim.notes(evidence.test.solution, table, min_coverage):
        stderr().print(f"note: {said}", style="yellow", soft_wrap=True)
    evidence.show(aim.price, quiet=quiet)
    if json_out is not None:
        evidence.write(json_out, aim.price)
    return evidence.exit_code


class Evidence:
    """What is gathered about the best rule of a table, shown and written."""

    test: PermutationTest
    stability: Stability | None = None
    holdout: HoldoutReport | None = None
    claim: Claim

    def __init__(self, table: Table, *, seed: int, bar: bool, **settings: Any) -> None:
        self._table, self._seed, self._bar, self._settings = table, seed, bar, settings

    def gather(
        self,
        permutations: int,
        bootstraps: int,
        strata: str | None,
        alpha: float,
        unseen: Any,
        target: str,
    ) -> None:
        """Run the tests."""
        from opdt.analysis.claims import claim
        from opdt.analysis.intervals import holdout_report
        from opdt.analysis.permutation import permutation_test
        from opdt.analysis.stability import stability

        with progress_bar("shuffling the classes", shown=self._bar) as tell:
            self.test = permutation_test(
                self._table,
                n_permutations=permutations,
                strata=strata,
                alpha=alpha,
                seed=self._seed,
                progress=tell,
                **self._settings,
            )
        rule = self.test.solution.rule
        if bootstraps and rule is not None and not self._interrupted:
            with progress_bar("drawing the rows anew", shown=self._bar) as tell:
                self.stability = stability(
                    self._table,
                    n_bootstrap=bootstraps,
                    seed=self._seed,
                    progress=tell,
                    **self._settings,
                )
        if unseen is not None and rule is not None:
            self.holdout = holdout_report(rule, unseen, target)
        self.claim = claim(test=self.test, holdout=self.holdout)

    @property
    def _interrupted(self) -> bool:
        from opdt.solution import StopReason

        parts = (self.test, self.stability)
        return any(part and part.stopped_by is StopReason.INTERRUPTED for part in parts)

    @property
    def exit_code(self) -> int:
        """What the command exits with."""
        from opdt.cli.group import INTERRUPTED, NO_RULE

        if self._interrupted:
            return INTERRUPTED
        return NO_RULE if self.test.solution.rule is None else 0

    def show(self, w: float, *, quiet: bool) -> None:
        """Print the rule, the evidence and the claim; when quiet, the claim alone."""
        from rich.text import Text

        from opdt.cli.console import show_columns, show_solution, stdout

        console = stdout()
        if not quiet:
            show_solution(console, self.test.solution, self._table, w, verdict=self.claim.verdict)
            for title, part in (
                ("Is it better than chance?", self.test),
                ("Would other rows give the same rule?", self.stability),
                ("What does it do on rows it has not seen?", self.holdout),
            ):
                if part is not None:
                    console.print(Text(f"\n{title}", "bold"))
                    console.print(Text(str(part)), soft_wrap=True)
            console.print(Text("\nWhat may be claimed", "bold"))
        console.print(Text(self.claim.may))
        console.print(Text(self.claim.may_not, "dim"))
        if not quiet:
            show_columns(console, self._table.plan)

    def write(self, path: Path, w: float) -> None:
        """Write the rule with the evidence."""
        from opdt.cli.console import stderr
        from opdt.rules import write_rule

        solution = self.test.solution
        if solution.rule is None:
            stderr().print("there is no rule, so none is written.", soft_wrap=True)
            return
        write_rule(path, solution.rule, self._facts(w))

    def _facts(self, w: float) -> dict[str, Any]:
        import opdt

        test, stable, held = self.test, self.stability, self.holdout
        facts: dict[str, Any] = {
            "objective": test.solution.objective,
            "value": test.value,
            "bound": test.solution.bound,
            "vi": test.solution.covered - w * test.solution.errors,
            "status": str(test.solution.status),
            "rows": test.n_rows,
            "w": w,
            "p_value": test.p_value,
            "permutations": test.n_done,
            "strata": test.n_strata,
            "seed": test.seed,
            "may_claim": self.claim.may,
            "may_not_claim": self.claim.may_not,
            "verdict": None if self.claim.verdict is None else self.claim.verdict.to_dict(),
            "columns": self._table.plan.to_list(),
            "opdt": opdt.__version__,
        }
        if stable is not None:
            facts |= {
                "bootstraps": stable.n_done,
                "same_rule": stable.same_rule,
                "same_form": stable.same_form,
                "same_features": stable.same_features,
                "left_out_precision": stable.left_out_precision,
            }
        if held is not None:
            facts |= {
                "held_out_rows": held.n_rows,
                "held_out_covered": held.covered,
                "held_out_correct": held.correct,
            }
        # JSON has no word for a share of nothing
        return {name: None if value != value else value for name, value in facts.items()}


@contextmanager
def progress_bar(words: str, *, shown: bool) -> Iterator[Callable[[RepeatProgress], None]]:
    """What tells how many searches are done, on a terminal; the bar vanishes at the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from opdt.cli.console import stderr

    console = stderr()
    columns = (TextColumn(words), BarColumn(24), MofNCompleteColumn())
    hidden = not (shown and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(words, total=None)
        yield lambda progress: bar.update(task, completed=progress.done, total=progress.total)
