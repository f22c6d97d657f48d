"""`opdt test`: how far the best rule of a file can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opdt.cli import options as opt
from opdt.cli.aim import Aim
from opdt.cli.option_groups import (
    ColumnOptions,
    Parts,
    RuleOptions,
    TextOptions,
    UnseenOptions,
    spread,
)

if TYPE_CHECKING:
    from opdt.analysis.claims import Claim
    from opdt.analysis.intervals import HoldoutReport
    from opdt.analysis.permutation import PermutationTest
    from opdt.analysis.repeats import RepeatProgress
    from opdt.analysis.stability import Stability
    from opdt.objectives import Estimate
    from opdt.table import Table

EVIDENCE = "The evidence"

Permutations = Annotated[
    int,
    typer.Option(metavar="N", help="Shuffle the classes so many times.", rich_help_panel=EVIDENCE),
]
Bootstraps = Annotated[
    int,
    typer.Option(
        metavar="N", help="Draw the rows anew so many times; 0: never.", rich_help_panel=EVIDENCE
    ),
]
Strata = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Shuffle within these groups only.", rich_help_panel=EVIDENCE
    ),
]
Alpha = Annotated[
    float, typer.Option(metavar="X", help="Level of the test.", rich_help_panel=EVIDENCE)
]

Every = Annotated[
    bool,
    typer.Option(
        "--all",
        help="List every rule that is significant, all searches allowed for.",
        rich_help_panel=EVIDENCE,
    ),
]
Limit = Annotated[
    int,
    typer.Option(metavar="N", help="With '--all': at most so many.", rich_help_panel=EVIDENCE),
]


def for_listing(aim: Aim) -> Aim:
    """The same aim, with the VI where nothing is said: lists are ordered by sums over rows."""
    from opdt.checks import check_choice

    if aim.paper or aim.own is not None:
        return aim
    if aim.objective is not None:
        check_choice("--objective", aim.objective, ("vi", "coverage"))
    return replace(aim, objective=aim.objective or "vi")


@spread
def significance(
    data: opt.Data,
    target: opt.AnyTarget = None,
    *,
    permutations: Permutations = 999,
    bootstraps: Bootstraps = 200,
    strata: Strata = None,
    alpha: Alpha = 0.05,
    every: Every = False,
    limit: Limit = 10_000,
    more: UnseenOptions,
    depth: opt.Depth = None,
    aim: Aim,
    rule: RuleOptions,
    columns: ColumnOptions,
    text: TextOptions,
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

    With --all: which rules are more than chance? Lists every one of them, by VI or the objective.
    """
    from opdt.cli.console import notes, stderr
    from opdt.cli.files import check_output

    if json_out is not None:
        check_output("--json", json_out, data)
    target = aim.target_of(target, "test")
    if every:
        aim = for_listing(aim)
    asked = aim.settings(rule.limits)
    with notes(shown=not quiet, columns=False):  # the plan says the same
        rows = Parts.read(data, target, text, columns, more, aim.own, rule.kept)
        if aim.own is None:
            asked |= {
                "max_depth": depth,
                "label": aim.of_table(rows.table),
                **rule.shape(),
                "constraints": rule.demands(rows.table.names),
            }
            searched: Any = rows.table
        else:
            asked, searched = {}, aim.problem(rows.source, target, rows.table, rule, depth)
        found = Gathered(
            rows.table,
            searched,
            seed=more.seed,
            bar=not quiet,
            n_jobs=jobs,
            time_limit=time_limit if time_limit is None or not bootstraps else time_limit / 2,
            **asked,
        )
        if every:
            return found.list_all(permutations, strata, alpha, limit, json_out, quiet=quiet)
        found.gather(permutations, bootstraps, strata, alpha, rows.unseen, target)
    for said in [] if quiet else aim.notes(found.test.solution, rows.table, rule.min_coverage):
        stderr().print(f"note: {said}", style="yellow", soft_wrap=True)
    found.show(aim.price, quiet=quiet)
    if json_out is not None:
        found.write(json_out, aim.price)
    return found.exit_code


class Gathered:
    """What is gathered about the best rule of a table, shown and written."""

    test: PermutationTest
    stability: Stability | None = None
    holdout: HoldoutReport | Estimate | None = None
    claim: Claim

    def __init__(
        self, table: Table, searched: Any, *, seed: int, bar: bool, **settings: Any
    ) -> None:
        self._table, self._searched = table, searched  # the table, or a problem of its rows
        self._seed, self._bar, self._settings = seed, bar, settings

    def gather(
        self,
        permutations: int,
        bootstraps: int,
        strata: str | None,
        alpha: float,
        unseen: Any,
        target: str | None,
    ) -> None:
        """Run the tests."""
        from opdt.analysis.claims import claim
        from opdt.analysis.intervals import holdout_report
        from opdt.analysis.permutation import permutation_test
        from opdt.analysis.stability import stability

        with progress_bar("shuffling the classes", shown=self._bar) as tell:
            self.test = permutation_test(
                self._searched,
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
                    self._searched,
                    n_bootstrap=bootstraps,
                    seed=self._seed,
                    progress=tell,
                    **self._settings,
                )
        if unseen is not None and rule is not None:
            own = self.test.solution.objective
            if isinstance(own, str):
                self.holdout = holdout_report(rule, unseen, target)
            else:
                self.holdout = holdout_report(rule, unseen, target, objective=own)
        self.claim = claim(test=self.test, holdout=self.holdout)

    def list_all(
        self,
        permutations: int,
        strata: str | None,
        alpha: float,
        limit: int,
        json_out: Path | None,
        *,
        quiet: bool,
    ) -> int:
        """List every significant rule; the exit code."""
        import json

        from rich.text import Text

        from opdt.analysis.significant import significant_rules
        from opdt.cli.console import show_columns, stdout
        from opdt.cli.group import INTERRUPTED, NO_RULE
        from opdt.solution import StopReason

        with progress_bar("shuffling the classes", shown=self._bar) as tell:
            found = significant_rules(
                self._searched, n_permutations=permutations, strata=strata, alpha=alpha,
                limit=limit, seed=self._seed, progress=tell, **self._settings,
            )  # fmt: skip
        console = stdout()
        console.print(Text(found.facts() if quiet else str(found)), soft_wrap=True)
        if not quiet:
            show_columns(console, self._table.plan)
        if json_out is not None:
            json_out.write_text(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
        if found.stopped_by is StopReason.INTERRUPTED:
            return INTERRUPTED
        return 0 if len(found) else NO_RULE

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
        from opdt.analysis.intervals import HoldoutReport
        from opdt.cli.aim import written

        test, stable, held = self.test, self.stability, self.holdout
        facts: dict[str, Any] = {
            "objective": written(test.solution.objective),
            "value": test.value,
            "bound": test.solution.bound,
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
                "left_out_worth": stable.left_out_worth,
            }
        if held is not None:
            facts |= {
                "held_out_rows": held.n_rows,
                "held_out_covered": held.covered,
            }
            if isinstance(held, HoldoutReport):
                facts["held_out_correct"] = held.correct
            else:
                low, high = held.interval
                facts |= {"held_out_mean": held.inside, "held_out_low": low, "held_out_high": high}
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
