"""Options that belong together, as one argument of a command.

Typer makes an option of every parameter of a function. A command that is decorated with `spread`
may take a dataclass in the place of many: its fields become the options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from opdt.cli import options as opt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opdt.objectives import Objective
    from opdt.table import Plan, Source, Table


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the fields of its dataclasses as parameters of their own."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name], eval_str=True).parameters.values()
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        return command(**given)

    by_name = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in by_name}
    return run


@dataclass(frozen=True)
class TextOptions:
    """How a text file is written."""

    delimiter: opt.Delimiter = None
    encoding: opt.Encoding = None
    decimal: opt.Decimal = None
    date_order: opt.DateOrder = None

    @property
    def marks(self) -> dict[str, str | None]:
        """The same as arguments of `read_frame`."""
        return {
            "separator": "\t" if self.delimiter in ("tab", r"\t") else self.delimiter,
            "encoding": self.encoding,
            "decimal": self.decimal,
            "date_order": self.date_order,
        }


@dataclass(frozen=True)
class ColumnOptions:
    """What the columns are taken for."""

    role: opt.Roles = None
    missing: opt.Missing = None

    def table(
        self,
        source: Source,
        target: str | None,
        objective: Objective | None = None,
        keep: Sequence[str] = (),
    ) -> Table:
        """The table of a file's columns.

        Those that an objective names are no features; those to `keep` are kept all the same.
        """
        from opdt.cli.source import build_table

        return build_table(source, target, self.role, self.missing, objective=objective, keep=keep)


@dataclass(frozen=True)
class RuleOptions:
    """Which rules there are, and what they must meet."""

    structure: opt.StructureOption = None
    groups: opt.GroupsOption = None
    direction: opt.Direction = None
    require: opt.Require = None
    forbid: opt.Forbid = None
    min_precision: opt.MinPrecision = None
    min_coverage: opt.MinCoverage = None
    max_errors: opt.MaxErrors = None
    max_coverage: opt.MaxCoverage = None
    per: opt.Per = None
    parity: opt.ParityOption = None

    @property
    def limits(self) -> dict[str, float | None]:
        """The limits on the rows of a rule, by name; None where they are not given."""
        return {
            "min_precision": self.min_precision,
            "min_coverage": self.min_coverage,
            "max_errors": self.max_errors,
        }

    def shape(self) -> dict[str, Any]:
        """Arguments `structure` and `groups` of `discover`."""
        from opdt.problem.structure_file import read_groups

        named = None if self.groups is None else read_groups(self.groups)
        levels: Any = self.structure
        if levels is not None and not levels.endswith((".toml", ".json")):
            levels = [part.strip() for part in levels.split(",")]
        return {"structure": levels, "groups": named}

    def demands(self, names: Sequence[str]) -> dict[str, Any]:
        """Arguments of `Constraints` from the options that are given."""
        from opdt.cli.source import columns, direction_of

        asked: dict[str, Any] = {k: value for k, value in self.limits.items() if value is not None}
        coverage = asked.get("min_coverage")
        if coverage is not None and coverage >= 1 and coverage == int(coverage):
            asked["min_coverage"] = int(coverage)
        if self.direction:
            asked["directions"] = dict(direction_of(text) for text in self.direction)
        if self.require:
            asked["required"] = columns(self.require, names)
        if self.forbid:
            asked["forbidden"] = columns(self.forbid, names)
        return asked | self._sums()

    def _sums(self) -> dict[str, Any]:
        """The limits on sums of rows: a budget, segments, groups."""
        from opdt.cli.row_limits import parity_of, rows_or_share, segment_of

        asked: dict[str, Any] = {}
        if self.max_coverage is not None:
            asked["max_coverage"] = rows_or_share(self.max_coverage)
        if self.per:
            asked["segments"] = [segment_of(text) for text in self.per]
        if self.parity:
            asked["parities"] = [parity_of(text) for text in self.parity]
        return asked

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that the limits need, features or not."""
        asked = self._sums()
        limits = (*asked.get("segments", ()), *asked.get("parities", ()))
        return tuple(dict.fromkeys(each.column for each in limits))


@dataclass(frozen=True)
class RunOptions:
    """How far a search goes, and what is said meanwhile."""

    time_limit: opt.TimeLimit = None
    jobs: opt.Jobs = None
    quiet: opt.Quiet = False

    @property
    def limits(self) -> dict[str, Any]:
        """The same as arguments of the searches of the command line."""
        return {"time_limit": self.time_limit, "n_jobs": self.jobs, "bar": not self.quiet}


@dataclass(frozen=True)
class UnseenOptions:
    """Rows that have no part in the search."""

    test: opt.TestRows = None
    hold_out: opt.HoldOut = None
    seed: opt.Seed = 0

    def __post_init__(self) -> None:
        from opdt.errors import InputError

        if self.test is not None and self.hold_out is not None:
            raise InputError("'--test' and '--hold-out' are two ways to the same end; choose one.")


@dataclass(frozen=True)
class Parts:
    """The rows of a command: those of the search, coded, and those that it must not see."""

    source: Source
    table: Table
    plan: Plan  # of all rows
    unseen: Any

    @classmethod
    def read(
        cls,
        data: str,
        target: str | None,
        text: TextOptions,
        columns: ColumnOptions,
        more: UnseenOptions,
        objective: Objective | None = None,
        keep: Sequence[str] = (),
    ) -> Parts:
        """The rows of a file. What a column is, all of them decide, not those left by chance."""
        from opdt.cli.source import build_table, part_rows, read_data
        from opdt.table import open_source

        frame = read_data(data, text.marks)
        rows, unseen = part_rows(frame, more.hold_out, more.seed)
        plan = columns.table(open_source(frame), target, objective).plan
        if more.test is not None:
            unseen = read_data(more.test, text.marks)
        source = open_source(rows)
        table = build_table(source, target, plan=plan, objective=objective, keep=keep)
        return cls(source, table, plan, unseen)
