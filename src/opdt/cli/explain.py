"""`opdt explain`: a rule in words, and what each of its parts does on a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opdt.cli.option_groups import TextOptions, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opdt.rules import AnyRule, Rule, RuleList, RuleSet
    from opdt.table import Source

# Classes that get a column of their own; with more, all but one are counted together.
_SHOWN_CLASSES = 4


@spread
def explain(
    rule: Annotated[
        Path, typer.Argument(metavar="RULE", help="Rule file that 'opdt fit --json' wrote.")
    ],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            show_default=False,
            help="CSV, TSV or Parquet file, also gzipped; '-' is the standard input.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of DATA that holds the class of each row."),
    ] = None,
    *,
    text: TextOptions,
) -> None:
    """Say in plain words what a rule means and, with data, what each condition leaves."""
    from opdt.cli.console import recorded_then, recorded_verdict, stdout
    from opdt.cli.source import open_data
    from opdt.errors import InputError
    from opdt.rules import Rule, read_rule

    found = read_rule(rule)
    if target is not None and data is None:
        raise InputError("'--target' names a column of the data; name their file too.")
    views: list[Any] = []
    if data is not None:
        rows = _Rows.of(open_data(data, text.marks), target)
        if isinstance(found, Rule):
            views = [_funnel(found, rows), *_facts(found, rows)]
        else:
            views = [_shares_of_rules(found, rows)]
    console = stdout()
    console.print(found.to_english(recorded_then(rule)), soft_wrap=True, style="bold")
    verdict = recorded_verdict(rule)
    if verdict is not None:
        console.print(verdict, soft_wrap=True)
    if _compares(found):
        console.print("A row with a missing value meets no condition on it.", style="dim")
    for view in views:
        console.print()
        console.print(view, soft_wrap=isinstance(view, str))


@dataclass(frozen=True)
class _Rows:
    """A table and, where they are known, the classes of its rows."""

    source: Source
    labels: NDArray[Any] | None

    @classmethod
    def of(cls, source: Source, target: str | None) -> _Rows:
        from opdt.table import raw_column
        from opdt.table.raw import BadRows
        from opdt.table.table import in_file

        if target is None:
            return cls(source, None)
        labels, missing = raw_column(source, target)
        if missing.any():
            error = BadRows(f"column {target!r} has no class", missing, "; drop them.")
            raise in_file(error, source, target)
        return cls(source, labels)

    @cached_property
    def classes(self) -> list[Any]:
        """The classes that occur, the most frequent first."""
        from collections import Counter

        if self.labels is None:
            return []
        return [label for label, _ in Counter(self.labels.tolist()).most_common()]

    def of_class(self, label: Any) -> NDArray[Any]:
        """Which rows are of a class."""
        from opdt.rules.counting import of_class

        assert self.labels is not None
        return of_class(self.labels, label)


def _compares(rule: AnyRule) -> bool:
    """Whether any condition asks for more than whether a value is there."""
    from opdt.rules import Rule

    rules = (rule,) if isinstance(rule, Rule) else rule.rules
    return any(condition.op.needs_value for each in rules for condition in each.conditions)


def _funnel(rule: Rule, rows: _Rows) -> Any:
    """The rows that each condition leaves, with their classes."""
    import numpy as np

    from opdt.rules.counting import conditions_left
    from opdt.rules.export.prose import condition_in_words

    stages = [("all rows", np.ones(rows.source.n_rows, dtype=bool))]
    for condition, left in conditions_left(rule, rows.source):
        stages.append((f"{'and ' * (len(stages) > 1)}{condition_in_words(condition)}", left))
    return _grid(stages, rows, [rule.label] * len(stages))


def _shares_of_rules(rules: RuleList | RuleSet, rows: _Rows) -> Any:
    """The rows that each rule decides, with their classes."""
    import numpy as np

    from opdt.rules import RuleList

    first = RuleList(rules.rules, rules.default).fires(rows.source)
    stages = [("all rows", np.ones(len(first), dtype=bool))]
    stages += [(f"rule {at + 1}: {rule}", first == at) for at, rule in enumerate(rules.rules)]
    stages.append((f"otherwise: {rules.default}", first < 0))
    labels = [None, *(rule.label for rule in rules.rules), rules.default]
    return _grid(stages, rows, labels)


def _grid(stages: Sequence[tuple[str, NDArray[Any]]], rows: _Rows, labels: Sequence[Any]) -> Any:
    """One line for each stage: its rows, its classes, and the share of the class it stands for."""
    from rich.table import Table as Grid
    from rich.text import Text

    from opdt.report.formats import format_share

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("", overflow="fold")
    grid.add_column("rows", justify="right")
    shown = rows.classes if len(rows.classes) <= _SHOWN_CLASSES else []
    for label in shown:
        grid.add_column(Text(str(label)), justify="right")
    if rows.labels is not None:
        same = len(set(map(str, labels))) == 1
        grid.add_column(Text(f"share of {labels[0]}" if same else "right"), justify="right")
    for (words, left), label in zip(stages, labels, strict=True):
        cells = [f"{int(left.sum()):,}"]
        cells += [f"{int((left & rows.of_class(each)).sum()):,}" for each in shown]
        if rows.labels is not None:
            right = int((left & rows.of_class(label)).sum())
            share = right / int(left.sum()) if left.any() else float("nan")
            cells.append("" if label is None else format_share(share))
        grid.add_row(Text(words), *cells)
    return grid


def _facts(rule: Rule, rows: _Rows) -> list[str]:
    """Precision and coverage, where classes are known."""
    from opdt.report import rule_report

    if rows.labels is None or not rows.source.n_rows:
        return []
    lines = str(rule_report(rule, rows.source, rows.labels)).splitlines()
    return ["\n".join(line for line in lines if line.startswith(("precision", "coverage", "lift")))]
