"""What goes to the terminal: consoles, a solution, notes, and the progress of a search."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from opdt.errors import ColumnWarning, InputError, OpdtWarning
from opdt.objectives import Objective, read_objective, words_of
from opdt.report.formats import format_count, format_seconds, format_share
from opdt.report.text import rule_lines, solution_facts
from opdt.rules.rule_json import read_info
from opdt.solution import Progress, Solution
from opdt.table import Plan, Table
from opdt.verdict import Verdict, VerdictLevel

# Shorter searches end before anyone could read a bar.
_SHOW_AFTER_SECONDS = 1.0


def stdout() -> Console:
    """The console for results."""
    return Console(highlight=False, markup=False)


def stderr() -> Console:
    """The console for everything that is not a result."""
    return Console(stderr=True, highlight=False, markup=False)


# Green is for a rule that the rows speak for; that it is proven the best does not make it true.
VERDICT_STYLE = {
    VerdictLevel.SUPPORTED: "green",
    VerdictLevel.WEAK: "yellow",
    VerdictLevel.NOT_SUPPORTED: "red",
}


def judged(rule: str, verdict: Verdict | None) -> Text:
    """A rule with its verdict behind it, for a table of rules."""
    text = Text(rule)
    if verdict is not None:
        text.append(f" [{verdict.level}]", VERDICT_STYLE[verdict.level])
    return text


def recorded_verdict(file: Path) -> Text | None:
    """The verdict that a rule file holds, in its colour; None where it holds none."""
    verdict = Verdict.from_dict(read_info(file).get("verdict"))
    if verdict is None:
        return None
    return Text(f"verdict when it was found: {visible(str(verdict))}", VERDICT_STYLE[verdict.level])


def recorded_then(file: Path) -> str | None:
    """What follows for covered rows, in words; None where the rule that a file holds names a class.

    Whatever else stands there is no objective that this release knows.
    """
    said = read_info(file).get("objective")
    if not isinstance(said, dict):
        return None
    try:
        return read_objective(said).then()
    except (InputError, TypeError):
        return None


def show_solution(
    console: Console,
    solution: Solution,
    table: Table,
    w: float,
    *more: tuple[str, str],
    verdict: Verdict | None = None,
) -> None:
    """Print the rule, its numbers, what is proven, whether the rows speak for it, and `more`.

    `verdict` is one that more is known for than the training rows say.
    """
    for line in rule_lines(solution):
        text = Text(line, style="bold")
        if solution.rule is not None:
            text.stylize("cyan", 0, 4)
        console.print(text, soft_wrap=True)
    console.print()
    judged = verdict or solution.verdict
    style = {
        "status": "bold" if solution.status.is_proven else "yellow",
        "verdict": "" if judged is None else f"bold {VERDICT_STYLE[judged.level]}",
    }
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for name, value in (*solution_facts(solution, table, w, judged), *more):
        grid.add_row(Text(name, "dim"), Text(value, style.get(name, "")))
    console.print(grid)


def show_columns(console: Console, plan: Plan) -> None:
    """Print how many columns have which role, and what there is to say about them."""
    console.print()
    console.print(Text.assemble(("columns  ", "dim"), plan.summary()), soft_wrap=True)
    show_plan(console, plan)


def show_plan(console: Console, plan: Plan, *, whole: bool = False) -> None:
    """Print what there is to say about columns; all of them if `whole`."""
    rows = plan.rows(whole=whole)
    if not rows:
        return
    console.print()
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, role, remark in rows:
        color = "yellow" if remark.startswith("warning:") else ""
        grid.add_row(Text(visible(name)), Text(role, "dim"), Text(visible(remark), color))
    console.print(grid)


def visible(text: str) -> str:
    """Text of the data for a terminal: no line break, no control character."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def show_trace(solution: Solution) -> None:
    """Print on the standard error how value and bound met."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    share = solution.objective == "precision"
    words = words_of(solution.objective)
    shown = format_share if share else words.show
    if solution.objective in ("vi", "coverage"):
        shown = format_count
    for title in ("time", words.name, "bound"):
        grid.add_column(title, justify="right")
    grid.add_column("rule")
    for point in solution.trace:
        rule = Text("" if point.rule is None else str(point.rule))
        numbers = (shown(max(0.0, point.value) if share else point.value), shown(point.bound))
        grid.add_row(format_seconds(point.seconds), *numbers, rule)
    stderr().print(grid)
    done = solution.statistics
    stderr().print(
        f"{done.nodes:,} partial rules considered, {done.evaluations:,} sets of features "
        f"evaluated, {done.pruned:,} dismissed by a bound\n",
        style="dim",
        soft_wrap=True,
    )


@contextmanager
def notes(*, shown: bool = True, columns: bool = True) -> Iterator[None]:
    """Show the library's warnings as notes on the standard error, or keep them quiet.

    Those on columns are left out where `columns` is false, as the plan is shown anyway.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OpdtWarning)
        yield
    for each in caught:
        if not columns and issubclass(each.category, ColumnWarning):
            continue
        if shown and issubclass(each.category, OpdtWarning):
            stderr().print(f"note: {each.message}", style="yellow", soft_wrap=True)


@contextmanager
def working(words: str, *, shown: bool = True) -> Iterator[None]:
    """Say on a terminal that something is being done, for work that cannot tell how far it is."""
    console = stderr()
    if not (shown and console.is_terminal):
        yield
        return
    with console.status(words):
        yield


class SearchProgress:
    """A bar for a search that takes longer than a second; nothing where no terminal is.

    Pass it as `progress` of a `Budget`, and use it as a context, at whose end the bar vanishes.
    """

    def __init__(self, objective: str | Objective = "vi") -> None:
        self._console = stderr()
        self._bar: Any = None
        self._name = words_of(objective).name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(self, progress: Progress) -> None:
        """Show how far the search is."""
        if not self._console.is_terminal or progress.seconds < _SHOW_AFTER_SECONDS:
            return
        if self._bar is None:
            self._start()
        words = _where(progress)
        if math.isfinite(progress.value):
            words += f"{self._name} {format_count(progress.value)}"
        if math.isfinite(progress.bound):
            words += f", bound {format_count(progress.bound)}, gap {format_count(progress.gap)}"
        words += f"  {format_seconds(progress.seconds)}"
        self._bar.update(self._bar.task_ids[0], completed=progress.done, words=words)

    def _start(self) -> None:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(24),
            TaskProgressColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            console=self._console,
            transient=True,
        )
        self._bar.add_task("", total=1.0, words="")
        self._bar.start()


def _where(progress: Progress) -> str:
    """How far a search over partitions is; nothing for one in memory."""
    parts = getattr(progress, "parts", 0)
    if not parts:
        return ""
    return f"pass {progress.passes}, {progress.parts_done} of {parts} partitions  "  # type: ignore[attr-defined]
