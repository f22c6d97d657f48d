"""`opdt alternatives`: other rules than the best, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from opdt.cli import options as opt
from opdt.cli.aim import Aim
from opdt.cli.option_groups import ColumnOptions, RuleOptions, RunOptions, TextOptions, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from rich.console import Console

    from opdt.analysis.alternatives import Alternative, Alternatives, RashomonSet
    from opdt.problem import Problem
    from opdt.solution import Solution
    from opdt.table import Plan, Table

    Found = Alternatives | RashomonSet

WHICH = "Which rules"
LISTED = 10  # rules of a part that are shown if no number is asked for

Within = Annotated[
    str | None,
    typer.Option(
        metavar="1%",
        help="All rules that lose at most this to the best: a share of its VI, or of its rows "
        "where the VI is 0; '3 rows' is a loss of VI (1%).",
        rich_help_panel=WHICH,
    ),
]
Best = Annotated[bool, typer.Option("--best", help="The best rules.", rich_help_panel=WHICH)]
Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="How many rules to list (10); alone: the best N.", rich_help_panel=WHICH
    ),
]
MaxOverlap = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Rules that have at most this share of their rows in common.",
        rich_help_panel=WHICH,
    ),
]
Overlap = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Of the smaller rule: 'share'; or 'jaccard'.", rich_help_panel=WHICH
    ),
]
WithinLimit = Annotated[
    int, typer.Option(metavar="N", help="Most rules of '--within'.", rich_help_panel=WHICH)
]


@dataclass(frozen=True)
class WhichOptions:
    """Which rules are listed, and how many."""

    within: Within = None
    best: Best = False
    limit: Limit = None
    max_overlap: MaxOverlap = None
    overlap: Overlap = "share"
    within_limit: WithinLimit = 10_000

    @property
    def n_listed(self) -> int:
        """Rules of each part that are shown."""
        return LISTED if self.limit is None else self.limit

    @property
    def wants_best(self) -> bool:
        """Whether the best rules are listed: where they are asked for, or only their number is."""
        alone = self.within is None and self.max_overlap is None
        return self.best or (alone and self.limit is not None)

    @property
    def near(self) -> dict[str, float] | None:
        """What may be lost, as arguments of `rashomon_set`; None where that is not asked for."""
        if self.within is not None:
            return read_within(self.within)
        alone = self.max_overlap is None and not self.wants_best
        return {"within": 0.01} if alone else None


@spread
def alternatives(
    data: opt.Data,
    target: opt.AnyTarget = None,
    *,
    which: WhichOptions,
    depth: opt.Depth = None,
    aim: Aim,
    rule: RuleOptions,
    columns: ColumnOptions,
    text: TextOptions,
    run: RunOptions,
    json_out: opt.JsonOut = None,
) -> int:
    """List other rules than the best one, exactly.

    The best N, rules that cover other rows, and all that are nearly as good, with the features
    they need and those they can exchange. Without any of these all rules within 1 % of the best.

    The best is that of 'opdt fit': the most precise rule of at least 5 % of the rows, for the rarer
    of two classes. Rules are listed by VI at the price of an error at which it is worth 0 and no
    rule more; '--w' names another price, and '--objective money' or 'mean' another worth.
    """
    from opdt.cli import source as given
    from opdt.cli.console import notes, show_columns, stderr, stdout
    from opdt.cli.files import check_output
    from opdt.errors import InputError

    only_json = json_out is not None and str(json_out) == given.STDIN
    if json_out is not None and not only_json:
        check_output("--json", json_out, data)
    _ = which.near  # refuses what it cannot read before the data are read
    if aim.objective == "coverage":
        raise InputError(
            "'--objective coverage' gives no order of many rules; list them by 'precision', 'vi', "
            "'money', 'mean', 'uplift' or 'survival'."
        )
    target = aim.target_of(target, "alternatives")
    with notes(shown=not run.quiet, columns=False):  # the plan says the same
        source = given.open_data(data, text.marks)
        table = columns.table(source, target, aim.own, rule.kept)
        if aim.own is None:
            settings: dict[str, Any] = {
                **run.limits,
                "max_depth": depth,
                "label": aim.of_table(table),
                **rule.shape(),
                "constraints": rule.demands(table.names),
            }
            start = _start(table, aim, rule.limits, settings)
            if start.best is not None:
                settings["constraints"].setdefault("min_coverage", start.least)
            parts = _find(table, which, start, **settings)
        else:
            start = _Start(aim.price)
            problem = aim.problem(source, target, table, rule, depth)
            parts = _find(problem, which, start, **run.limits)
    for note in [] if run.quiet else start.notes(aim, table):
        stderr().print(f"note: {note}", style="yellow", soft_wrap=True)
    if not only_json:
        price = None if aim.own is not None else float(start.w)
        _show(parts, which.n_listed, price, quiet=run.quiet)
        if not run.quiet:
            show_columns(stdout(), table.plan)
    if json_out is not None:
        asked: dict[str, Any] = {"w": float(start.w)}
        if aim.own is not None:
            asked = {"objective": aim.own.to_dict()}
        _write(json_out, parts, table.plan, asked)
    return _exit_code(list(parts.values()))


class _Start(NamedTuple):
    """The price that rules are listed by, and the rule that makes it: none where it was given."""

    w: float | Fraction
    best: Solution | None = None
    least: float = 0.0  # the coverage that the rule must have

    def reach(self, near: Mapping[str, float]) -> Mapping[str, float]:
        """What may be lost, where the best VI is 0: a share of the rows of the best rule."""
        if self.best is None or not self.best.errors or "within" not in near:
            return near
        return {"within_rows": near["within"] * self.best.covered}

    def notes(self, aim: Aim, table: Table) -> list[str]:
        """What is said aloud about what nobody has asked for: the class, and the price."""
        if self.best is None or self.best.rule is None:
            return []
        said = aim.class_notes(self.best.rule.label, table, "the rules are")
        share = f"{100 * self.least:.10g} % of the rows"
        rows = share if self.least < 1 else f"{self.least:.10g} rows"
        worth = "0" if self.best.errors else "its rows"
        return [
            *said,
            f"rules are listed by VI at w = {float(self.w):.4g}, at which the most precise rule of "
            f"at least {rows}, that of 'opdt fit', is worth {worth} and no rule more; '--w' names "
            "another price.",
        ]


def _start(
    table: Table, aim: Aim, limits: Mapping[str, float | None], settings: Mapping[str, Any]
) -> _Start:
    """What to list by; found by a search for the rule of 'opdt fit' where nothing is said."""
    from fractions import Fraction

    from opdt.checks import check_choice
    from opdt.cli.solve import solve
    from opdt.problem.arguments import LEAST_COVERAGE

    objective = aim.settings(limits)["objective"]
    check_choice("--objective", objective, ("vi", "precision", "coverage"))
    if objective == "vi":
        return _Start(aim.price)
    best = solve(table, objective="precision", **settings)
    if best.rule is None:
        return _Start(aim.price)
    # An error costs so much that what is right pays for it; of no error, whatever it costs.
    price = Fraction(best.covered) / Fraction(best.errors) if best.errors else table.n_rows
    least = limits["min_coverage"]
    return _Start(price, best, LEAST_COVERAGE if least is None else least)


def read_within(text: str) -> dict[str, float]:
    """Arguments of `rashomon_set` from '1%', '0.01' or '3 rows'."""
    from opdt.errors import InputError

    words = text.strip().lower()
    try:
        if words.endswith(("row", "rows")):
            return {"within_rows": float(words.removesuffix("s").removesuffix("row"))}
        if words.endswith("%"):
            return {"within": float(words.removesuffix("%")) / 100}
        return {"within": float(words)}
    except ValueError:
        raise InputError(
            f"'--within' must be a share such as '1%' or 0.01, or rows such as '3 rows', "
            f"got {text!r}."
        ) from None


def _find(
    table: Table | Problem,
    which: WhichOptions,
    start: _Start,
    *,
    time_limit: float | None,
    n_jobs: int | None,
    bar: bool,
    **settings: Any,
) -> dict[str, Found]:
    """The parts that are asked for, by name; each has the whole time."""
    from opdt.analysis.alternatives import diverse_rules, rashomon_set, top_rules
    from opdt.cli.console import SearchProgress
    from opdt.problem import Problem
    from opdt.solution import Budget

    parts: dict[str, Found] = {}
    with SearchProgress() as progress:
        budget = Budget(time_limit=time_limit, n_jobs=n_jobs, progress=progress if bar else None)
        asked: dict[str, Any] = {"budget": budget, **settings}
        if not isinstance(table, Problem):
            asked["w"] = start.w
        if which.wants_best:
            parts["best"] = top_rules(table, limit=which.n_listed, **asked)
        if which.max_overlap is not None:
            apart: dict[str, Any] = {"max_overlap": which.max_overlap, "overlap": which.overlap}
            parts["diverse"] = diverse_rules(table, limit=which.n_listed, **apart, **asked)
        if which.near is not None:
            near: Mapping[str, Any] = start.reach(which.near)
            parts["near"] = rashomon_set(table, limit=which.within_limit, **near, **asked)
    return parts


def _show(parts: Mapping[str, Found], number: int, w: float | None, *, quiet: bool) -> None:
    """Print the parts, each with what is proven about it; `w` is None where rows have a worth."""
    from rich.text import Text

    from opdt.analysis.alternatives import RashomonSet
    from opdt.analysis.ranking import list_rules
    from opdt.cli.console import stdout
    from opdt.verdict import SAME_ROWS

    console = stdout()
    titles = {
        "best": "The best rules",
        "diverse": "The best rules that differ",
        "near": "All rules that are nearly as good as the best",
    }
    for index, (name, found) in enumerate(parts.items()):
        rules = found.patterns[:number] if isinstance(found, RashomonSet) else found.rules
        if not quiet:
            console.print(Text(("\n" if index else "") + titles[name], "bold"))
        if rules and w is not None:
            _show_rules(console, rules, w)
        elif rules:
            console.print(Text(list_rules(rules, found.objective)), soft_wrap=True)
        if isinstance(found, RashomonSet) and len(found.patterns) > len(rules):
            more = len(found.patterns) - len(rules)
            console.print(f"… and {more:,} more, the same rows counted once", style="dim")
        if quiet:
            continue
        style = "bold" if found.complete else "yellow"
        console.print()
        console.print(Text(_proof(found), style), soft_wrap=True)
        if rules:
            console.print(Text(SAME_ROWS, "dim"), soft_wrap=True)
        if isinstance(found, RashomonSet) and len(found):
            console.print(Text("\nWhat they have in common", "bold"))
            console.print(Text(str(found.summary)), soft_wrap=True)


def _show_rules(console: Console, rules: Sequence[Alternative], w: float) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    from opdt.cli.console import judged
    from opdt.report.formats import format_lift, format_share

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    has_overlap = any(each.overlap == each.overlap for each in rules)
    titles = ["", "VI", "covered", "errors", "precision", "lift"]
    titles += [*(["overlap"] if has_overlap else []), "same rows"]
    for title in titles:
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("rule [verdict]", overflow="fold")
    for each in rules:
        others = f"+{len(each.equivalents)}" if each.equivalents else ""
        numbers = [str(each.rank), f"{each.value:.6g}", f"{each.covered:g}", f"{each.errors:g}"]
        numbers += [format_share(each.precision), format_lift(each.lift)]
        if has_overlap:
            numbers.append("–" if each.overlap != each.overlap else f"{each.overlap:.2f}")
        more = "…" if each.more_equivalents and others else ""
        grid.add_row(*numbers, others + more, judged(str(each.rule), each.verdict))
    blank = [""] * (has_overlap + 1)
    for label, base in {each.rule.label: each.evidence for each in rules if each.evidence}.items():
        rows, wrong = base.counts.n_rows, base.counts.n_rows - base.counts.n_class
        numbers = [f"{rows - w * wrong:.4g}", f"{rows:g}", f"{wrong:g}"]
        numbers += [format_share(base.base_rate), format_lift(1.0)]
        words = f"all rows (THEN {label})"
        grid.add_row("", *numbers, *blank, Text(words), style="dim")
    console.print(grid)


def _proof(found: Found) -> str:
    from opdt.analysis.alternatives import RashomonSet
    from opdt.report.formats import format_seconds

    took = format_seconds(found.seconds)
    if isinstance(found, RashomonSet):
        return f"{found.facts()} ({took})"
    if not found.complete:
        return f"not proven ({found.stopped_by}): better rules may be missing ({took})"
    if not len(found):
        return f"proven: there is no rule ({took})"
    return f"proven: these are the first of all rules of this kind ({took})"


def _write(out: Path, parts: Mapping[str, Found], plan: Plan, asked: Mapping[str, Any]) -> None:
    """Write the parts as JSON to a file or (for '-') to the terminal."""
    import json

    import opdt

    content: dict[str, Any] = {name: _content(found) for name, found in parts.items()}
    content |= {**asked, "columns": plan.to_list(), "opdt": opdt.__version__}
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if str(out) == "-":
        typer.echo(text)
    else:
        out.write_text(text + "\n", encoding="utf-8")


def _content(found: Found) -> dict[str, Any]:
    from opdt.analysis.alternatives import RashomonSet
    from opdt.rules import rule_to_dict

    rules = found.patterns if isinstance(found, RashomonSet) else found.rules
    lines = [
        {
            "value": each.value,
            "covered": each.covered,
            "errors": each.errors,
            "lift": None if each.lift != each.lift else each.lift,
            "overlap": None if each.overlap != each.overlap else each.overlap,
            "verdict": None if each.verdict is None else each.verdict.to_dict(),
            "rule": rule_to_dict(each.rule),
            "equivalents": [rule_to_dict(other) for other in each.equivalents],
        }
        for each in rules
    ]
    out = {"rules": lines, "complete": found.complete, "stopped_by": str(found.stopped_by)}
    if not isinstance(found, RashomonSet):
        return out
    summary = found.summary
    return out | {
        "optimum": found.optimum,
        "threshold": found.threshold,
        "rest_at_most": found.rest_at_most,
        "necessary": list(summary.necessary),
        "interchangeable": [list(pair) for pair in summary.interchangeable],
        "features": {each.feature: each.share for each in summary.features},
        "rows_covered_by_all": int(summary.covered_by_all.sum()),
        "rows_covered_by_any": int(summary.covered_by_any.sum()),
    }


def _exit_code(parts: list[Found]) -> int:
    from opdt.cli.group import INTERRUPTED, NO_RULE
    from opdt.solution import StopReason

    if any(found.stopped_by is StopReason.INTERRUPTED for found in parts):
        return INTERRUPTED
    return 0 if any(len(found) for found in parts) else NO_RULE
