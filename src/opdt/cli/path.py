"""`opdt path`: the best rules by what is asked of them: coverage, precision, price, errors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opdt.cli import options as opt
from opdt.cli.aim import Aim
from opdt.cli.option_groups import (
    ColumnOptions,
    Parts,
    RuleOptions,
    RunOptions,
    TextOptions,
    UnseenOptions,
    spread,
)

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from opdt.analysis.counts import CountedRule
    from opdt.analysis.demands import DemandPath
    from opdt.analysis.frontier import ParetoFrontier
    from opdt.analysis.path import WeightPath
    from opdt.problem import Problem
    from opdt.table import Plan
    from opdt.verdict import Verdict

    Found = WeightPath | ParetoFrontier | DemandPath

RANGE = "What to list"
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
VERDICTS = "the verdict is about the rows, not about the search: 'opdt test' says more of one rule"


LastPrice = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="List the rules of the best VI, up to this price of an error.",
        rich_help_panel=RANGE,
    ),
]
Frontier = Annotated[
    bool,
    typer.Option(
        "--frontier",
        help="List the rule of most right rows for every number of errors; of an objective, the "
        "best for every number of rows.",
        rich_help_panel=RANGE,
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw precision against coverage: a PNG, SVG or PDF."),
]
ByWhat = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="'precision' for each minimum coverage (the default), 'coverage' for each minimum "
        "precision, 'vi' for every price of an error, 'mean' for every threshold, 'money' for "
        "every price of the cost, 'uplift' for every further cost, or 'survival' for every ratio.",
        rich_help_panel=RANGE,
    ),
]


@spread
def path(
    data: opt.Data,
    target: opt.AnyTarget = None,
    *,
    w_max: LastPrice = None,
    frontier: Frontier = False,
    objective: ByWhat = None,
    paper: opt.Paper = False,
    more: UnseenOptions,
    depth: opt.Depth = None,
    label: opt.Wanted = None,
    benefit: opt.Benefit = None,
    cost: opt.Cost = None,
    low: opt.Low = False,
    unit: opt.Unit = None,
    treatment: opt.Treatment = None,
    outcome: opt.Outcome = None,
    treated: opt.TreatedArm = None,
    propensity: opt.Propensity = None,
    time: opt.TimeColumn = None,
    event: opt.EventColumn = None,
    score: opt.Score = None,
    rule: RuleOptions,
    columns: ColumnOptions,
    text: TextOptions,
    engine: opt.EngineName = "search",
    run: RunOptions,
    json_out: opt.JsonOut = None,
    plot: Picture = None,
) -> int:
    """List the best rules by what is asked of them, to choose between.

    Unless something else is asked for: the most precise rule of each
    minimum coverage, for the rarer of two classes. 'opdt fit' shows that of 5 %.

    With --objective vi: the best rule of every price of an error, from 1 to infinity.
    """
    from opdt.cli.console import notes, show_columns, stderr, stdout
    from opdt.errors import InputError

    aim = Aim(
        objective, None, label, paper, benefit, cost, None, low, unit, treatment, outcome, treated,
        propensity, time, event, score,
    )  # fmt: skip
    target = aim.target_of(target, "path")
    if aim.own is not None:
        for option, given in (("--w-max", w_max), ("--plot", plot), ("--test", more.test),
                              ("--hold-out", more.hold_out)):  # fmt: skip
            if given:
                raise InputError(f"'{option}' is not there for '--objective {objective}'; drop it.")
        with notes(shown=not run.quiet, columns=False):
            rows = Parts.read(data, target, text, columns, more, aim.own, rule.kept)
            problem = aim.problem(rows.source, target, rows.table, rule, depth)
            return _worth(problem, run, engine, json_out, data, frontier=frontier)
    kind = _kind(aim, rule.limits, frontier=frontier, w_max=w_max)
    only_json = _check_outputs(json_out, plot, data)
    with notes(shown=not run.quiet, columns=False):  # the plan says the same
        rows = Parts.read(data, target, text, columns, more, keep=rule.kept)
        found = _trace(
            rows.table,
            kind,
            **run.limits,
            w_max=math.inf if w_max is None else w_max,
            max_depth=depth,
            label=aim.of_table(rows.table),
            **rule.shape(),
            constraints=rule.demands(rows.table.names),
            engine=engine,
        )
        held = None if rows.unseen is None else found.evaluate(rows.unseen, target)
        verdicts = _verdicts(found, rows.unseen, target)
    rules = [each.rule for each in found if each.rule is not None]
    said = aim.class_notes(rules[0].label, rows.table, "the rules are") if rules else []
    for note in [] if run.quiet else said:
        stderr().print(f"note: {note}", style="yellow", soft_wrap=True)
    if not only_json:
        _show(found, held, verdicts, quiet=run.quiet)
        if not run.quiet:
            show_columns(stdout(), rows.table.plan)
    if json_out is not None:
        _write(json_out, found, held, verdicts, rows.table.plan)
    if plot is not None:
        _draw(plot, found, held)
    return _exit_code(found)


def _worth(
    problem: Problem,
    run: RunOptions,
    engine: str,
    json_out: Path | None,
    data: str,
    *,
    frontier: bool,
) -> int:
    """List the best rules of an objective that says what rows are worth."""
    import json

    from rich.text import Text

    from opdt.analysis.worth_frontier import worth_frontier
    from opdt.analysis.worth_path import worth_path
    from opdt.cli.console import stdout
    from opdt.cli.group import INTERRUPTED, NO_RULE
    from opdt.solution import StopReason

    only_json = _check_outputs(json_out, None, data)
    limits: Any = {"engine": engine, "time_limit": run.time_limit, "n_jobs": run.jobs}
    found: Any = (worth_frontier if frontier else worth_path)(problem, **limits)
    if not only_json:
        stdout().print(Text(str(found)), soft_wrap=True)
        if not found.complete:
            stdout().print(Text(f"not finished ({found.stopped_by})", "yellow"))
    if json_out is not None:
        columns = found.columns()
        lines = [
            dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
        ]
        content = {
            "objective": found.objective.to_dict(), "along": "rows" if frontier else found.name,
            "rules": lines,
            "complete": found.complete,
        }  # fmt: skip
        text = json.dumps(content, indent=2, ensure_ascii=False)
        if only_json:
            typer.echo(text)
        else:
            json_out.write_text(text + "\n", encoding="utf-8")
    if found.stopped_by is StopReason.INTERRUPTED:
        return INTERRUPTED
    return 0 if any(each.rule is not None for each in found) else NO_RULE


def _check_outputs(json_out: Path | None, plot: Path | None, data: str) -> bool:
    """Refuse files that cannot be written; whether JSON is all that is printed."""
    from opdt.cli.files import check_output
    from opdt.cli.source import STDIN
    from opdt.errors import InputError

    only_json = json_out is not None and str(json_out) == STDIN
    for option, out in (("--json", json_out), ("--plot", plot)):
        if out is not None and not (option == "--json" and only_json):
            check_output(option, out, data)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise InputError(f"'--plot' {str(plot)!r} must end in {', '.join(PICTURES)}.")
    return only_json


def _kind(aim: Aim, limits: dict[str, float | None], *, frontier: bool, w_max: float | None) -> str:
    """What is listed: "frontier", or the best rules of an objective."""
    from opdt.checks import check_choice
    from opdt.errors import InputError

    if frontier and w_max is not None:
        raise InputError("'--w-max' has no meaning beside '--frontier'; use '--max-errors'.")
    for option, given in (("--frontier", frontier), ("--w-max", w_max is not None)):
        if given and aim.objective not in (None, "vi"):
            raise InputError(
                f"'{option}' has no meaning beside '--objective {aim.objective}'; drop one."
            )
    if frontier:
        return "frontier"
    kind: str = "vi" if w_max is not None else aim.settings(limits)["objective"]
    return check_choice("--objective", kind, ("vi", "precision", "coverage"))


def _trace(
    table: Any,
    kind: str,
    *,
    time_limit: float | None,
    n_jobs: int | None,
    bar: bool,
    w_max: float,
    **settings: Any,
) -> Found:
    """The path or the frontier, with a progress bar where that makes sense."""
    from opdt.analysis.demands import coverage_path, precision_path
    from opdt.analysis.frontier import pareto_frontier
    from opdt.analysis.path import weight_path
    from opdt.cli.console import SearchProgress
    from opdt.solution import Budget

    with SearchProgress("vi" if kind == "frontier" else kind) as progress:
        budget = Budget(time_limit=time_limit, n_jobs=n_jobs, progress=progress if bar else None)
        if kind == "frontier":
            most = settings["constraints"].pop("max_errors", None)
            return pareto_frontier(table, max_errors=most, budget=budget, **settings)
        if kind == "precision":
            return precision_path(table, budget=budget, **settings)
        if kind == "coverage":
            return coverage_path(table, budget=budget, **settings)
        return weight_path(table, w_max=w_max, budget=budget, **settings)


def _verdicts(found: Found, unseen: Any, target: str | None) -> list[Verdict | None]:
    """Whether the rows speak for each of the rules: those it was found on, and the unseen."""
    from opdt.analysis.intervals import holdout_report
    from opdt.verdict import judge

    each: Any
    verdicts: list[Verdict | None] = []
    for each in found:
        if each.rule is None:
            verdicts.append(None)
            continue
        held = None if unseen is None else holdout_report(each.rule, unseen, target)
        verdicts.append(judge(each.evidence, held_out=held))
    return verdicts


def _show(
    found: Found,
    held: tuple[CountedRule, ...] | None,
    verdicts: list[Verdict | None],
    *,
    quiet: bool,
) -> None:
    """Print the table, and below it what is proven."""
    from rich.text import Text

    from opdt.cli.console import stdout

    console = stdout()
    if not len(found):
        console.print("No rule meets the constraints." if found.complete else _proof(found))
        return
    console.print(_grid(found, held, verdicts))
    if not quiet:
        style = "bold" if found.complete else "yellow"
        console.print()
        console.print(Text(_proof(found), style), soft_wrap=True)
        if any(verdicts):
            console.print(Text(VERDICTS, "dim"), soft_wrap=True)


def _grid(
    found: Found, held: tuple[CountedRule, ...] | None, verdicts: list[Verdict | None]
) -> Grid:
    from rich.table import Table as Grid
    from rich.text import Text

    from opdt.cli.console import judged
    from opdt.report.formats import format_lift, format_share

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    titles = [*_first_titles(found), "covered", "errors", "precision", "lift"]
    titles += [] if held is None else ["held-out"]
    for title in titles:
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("rule [verdict]", overflow="fold")
    each: Any
    for index, each in enumerate(found):
        first = _first_cells(each)
        *numbers, _, _, rule = each.words()
        numbers.append(format_lift(each.lift))
        others = [] if held is None else [_held(held[index])]
        grid.add_row(*first, *numbers, *others, judged(rule, verdicts[index]))
    bases = {each.rule.label: each.evidence for each in found if each.rule and each.evidence}
    for label, base in bases.items():
        rows, wrong = base.counts.n_rows, base.counts.n_rows - base.counts.n_class
        numbers = [f"{rows:g}", f"{wrong:g}", format_share(base.base_rate)]
        blank = [""] * (held is not None)
        words = Text(f"all rows (THEN {label})")
        grid.add_row(*[""] * len(first), *numbers, format_lift(1.0), *blank, words, style="dim")
    return grid


def _first_titles(found: Found) -> list[str]:
    """What the rules are listed by."""
    from opdt.analysis.demands import DemandPath
    from opdt.analysis.path import WeightPath

    if isinstance(found, WeightPath):
        return ["w from", "to"]
    return [f"least {found.demand}"] if isinstance(found, DemandPath) else ["on the path"]


def _first_cells(each: Any) -> list[str]:
    """The cells under these titles."""
    from opdt.analysis.demands import DemandPoint
    from opdt.analysis.path import Segment

    if isinstance(each, Segment):
        return [_price(each.w_from), _price(each.w_to)]
    if isinstance(each, DemandPoint):
        return [f"{100 * each.least:.4g} %"]
    return ["yes" if each.supported else "no"]


def _price(w: float) -> str:
    return "∞" if w == math.inf else f"{w:.4g}"


def _held(counts: CountedRule) -> str:
    """The precision on held-out rows, as a fraction too: few rows say little."""
    if not counts.covered:
        return "–"
    return f"{100 * counts.precision:.1f} % of {counts.covered:g}"


def _proof(found: Found) -> str:
    from opdt.analysis.demands import DemandPath
    from opdt.analysis.path import WeightPath
    from opdt.report.formats import format_seconds

    took = f"{found.n_solves} searches, {format_seconds(found.seconds)}"
    if isinstance(found, WeightPath):
        what = "no allowed rule has a larger VI at any of these prices"
        open_ = sum(not segment.proven for segment in found.segments)
        rest = f"{open_} of {len(found)} segments may have a better rule"
    elif isinstance(found, DemandPath):
        better = "is more precise" if found.objective == "precision" else "has more right rows"
        what = f"no allowed rule of the same least {found.demand} {better}"
        rest = "rules may be missing, or there may be better ones"
    else:
        what = "no allowed rule has more correct rows at any number of errors"
        rest = "further rules may lie between these"
    if found.complete:
        return f"proven: {what} ({took})"
    return f"not proven ({found.stopped_by}): {rest} ({took})"


def _write(
    out: Path,
    found: Found,
    held: tuple[CountedRule, ...] | None,
    verdicts: list[Verdict | None],
    plan: Plan,
) -> None:
    """Write the table as JSON to a file or (for '-') to the terminal."""
    import json

    import opdt
    from opdt.analysis.path import WeightPath
    from opdt.rules import rule_to_dict

    kind = "segments" if isinstance(found, WeightPath) else "points"
    lines = []
    for index, each in enumerate(found):
        line = {name: values[index] for name, values in found.columns().items()}
        line["rule"] = None if each.rule is None else rule_to_dict(each.rule)
        verdict = verdicts[index]
        line["verdict"] = None if verdict is None else verdict.to_dict()
        line["lift"] = each.lift
        if held is not None:
            line |= {"held_out_covered": held[index].covered, "held_out_errors": held[index].errors}
        # JSON knows neither infinity nor a share of nothing
        lines.append({k: None if v == math.inf or v != v else v for k, v in line.items()})
    content = {
        kind: lines,
        "complete": found.complete,
        "stopped_by": str(found.stopped_by),
        "searches": found.n_solves,
        "columns": plan.to_list(),
        "opdt": opdt.__version__,
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if str(out) == "-":
        typer.echo(text)
    else:
        out.write_text(text + "\n", encoding="utf-8")


def _draw(out: Path, found: Found, held: tuple[CountedRule, ...] | None) -> None:
    from opdt.plot import trade_off

    figure: Any = trade_off(list(found), held_out=held).figure
    figure.savefig(out, dpi=160)


def _exit_code(found: Found) -> int:
    from opdt.cli.group import INTERRUPTED, NO_RULE
    from opdt.solution import StopReason

    if found.stopped_by is StopReason.INTERRUPTED:
        return INTERRUPTED
    return 0 if any(each.rule is not None for each in found) else NO_RULE
