"""`opdt fit`: the best rule of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from opdt.cli import options as opt
from opdt.cli.aim import Aim
from opdt.cli.option_groups import ColumnOptions, RuleOptions, RunOptions, TextOptions, spread

if TYPE_CHECKING:
    from opdt.solution import Solution
    from opdt.table import Table

_RUN = ("time_limit", "n_jobs", "bar", "engine", "device")  # how, and not what, to search


@spread
def fit(
    data: opt.Files,
    target: opt.AnyTarget = None,
    *,
    depth: opt.Depth = None,
    aim: Aim,
    rule: RuleOptions,
    columns: ColumnOptions,
    text: TextOptions,
    engine: opt.EngineName = "search",
    device: opt.Device = None,
    run: RunOptions,
    memory_limit: opt.MemoryLimit = None,
    dask: opt.DaskAddress = None,
    json_out: opt.JsonOut = None,
    certificate: opt.CertificateOut = None,
    verbose: opt.Verbose = False,
) -> int:
    """Find the best rule of a table and say what is proven about it.

    Unless something else is asked for, that is the most precise rule that
    covers at least 5 % of the rows, for the rarer of two classes.

    One file is read into memory: about three times the size of its numbers.

    With several files, --memory-limit or --dask it is read in pieces, to the same rule.
    """
    from opdt.cli.console import notes, show_trace, stderr
    from opdt.cli.files import check_output
    from opdt.cli.pieces import in_pieces
    from opdt.cli.solve import exit_code
    from opdt.cli.source import STDIN
    from opdt.errors import InputError

    only_json = json_out is not None and str(json_out) == STDIN
    if json_out is not None and not only_json:
        for path in data:
            check_output("--json", json_out, path)
    if certificate is not None:
        check_output("--certificate", certificate, data[0])
    asked = _Asked(aim.target_of(target, "fit"), aim, rule, columns, text, dask, certificate)
    settings: dict[str, Any] = {
        **run.limits,
        "max_depth": depth,
        **aim.settings(rule.limits),
        **rule.shape(),
        "engine": engine,
        "device": device,
    }
    pieces = in_pieces(data, memory_limit, dask)
    if pieces and certificate is not None:
        raise InputError(
            "'--certificate' needs the whole table in memory: give one file, without "
            "'--memory-limit' and '--dask'."
        )
    with notes(shown=not run.quiet, columns=False):  # the plan says the same
        if pieces:
            settings["memory_limit"] = memory_limit
            solution, table = _fit_pieces(data, asked, settings)
        else:
            solution, table = _fit_table(data[0], asked, settings)
    if verbose:
        show_trace(solution)
    for said in [] if run.quiet else aim.notes(solution, table, rule.min_coverage):
        stderr().print(f"note: {said}", style="yellow", soft_wrap=True)
    if not only_json:
        _show(solution, table, aim.price, pieces=pieces, quiet=run.quiet, verbose=verbose)
    if json_out is not None:
        n_rows = solution.details.n_rows if pieces else table.n_rows
        _write(json_out, solution, n_rows, aim.price)
    return exit_code(solution)


class _Asked(NamedTuple):
    """Options that can only be understood beside the columns of the data."""

    target: str | None
    aim: Aim
    rule: RuleOptions
    columns: ColumnOptions
    text: TextOptions
    dask: str | None
    certificate: Path | None


def _show(
    solution: Solution, table: Table, w: float, *, pieces: bool, quiet: bool, verbose: bool
) -> None:
    """Print the rule, and what is known about it."""
    from opdt.cli.console import show_plan, show_solution, stdout
    from opdt.cli.pieces import reading

    if quiet:
        stdout().print("no rule" if solution.rule is None else solution.rule, soft_wrap=True)
        return
    more = [reading(solution)] if pieces else []
    more += [] if solution.plan is None else [("columns", solution.plan.summary())]
    show_solution(stdout(), solution, table, w, *more)
    if solution.plan is not None:
        show_plan(stdout(), solution.plan, whole=verbose)


def _fit_table(data: str, asked: _Asked, settings: Mapping[str, Any]) -> tuple[Solution, Table]:
    """The solution of a file in memory, and its table."""
    from opdt.certificates.claims import check_certifiable
    from opdt.cli.solve import solve
    from opdt.cli.source import open_data
    from opdt.solution import Budget

    limit = settings["time_limit"]
    clock = Budget(time_limit=limit).start()
    source = open_data(data, asked.text.marks)
    own = asked.aim.own
    table = asked.columns.table(source, asked.target, own, asked.rule.kept)
    left = None if limit is None else max(0.0, clock.remaining())
    if own is not None:
        problem = asked.aim.problem(source, asked.target, table, asked.rule, settings["max_depth"])
        run = {name: settings[name] for name in ("n_jobs", "bar", "engine", "device")}
        if asked.certificate is not None:
            check_certifiable(problem)
        return solve(problem, time_limit=left, **run), problem.table
    wanted = {
        **settings,
        "time_limit": left,
        "label": asked.aim.of_table(table),
        "constraints": asked.rule.demands(table.names),
    }
    if asked.certificate is not None:
        return _certify(table, asked, wanted), table
    return solve(table, **wanted), table


def _certify(table: Table, asked: _Asked, settings: dict[str, Any]) -> Solution:
    """The solution of a table, after its certificate is written."""
    from opdt.certificates import certify
    from opdt.certificates.claims import check_certifiable
    from opdt.cli.solve import solve
    from opdt.problem import Problem

    assert asked.certificate is not None
    run = {name: settings.pop(name) for name in _RUN if name in settings}
    problem = Problem.of(table, **settings)
    check_certifiable(problem)
    solution = solve(problem, **run)
    certify(problem, solution, target=str(asked.target)).save(asked.certificate)
    return solution


def _fit_pieces(
    data: Sequence[str], asked: _Asked, settings: Mapping[str, Any]
) -> tuple[Solution, Table]:
    """The solution of files in pieces, and a table of their classes."""
    from opdt.cli.pieces import class_table, open_pieces
    from opdt.cli.solve import solve
    from opdt.scale.worths import row_worth

    own = asked.aim.own
    if own is not None:
        row_worth(own, asked.target, "")  # refuses objectives that need the whole table
    assert asked.target is not None
    wanted = asked.target, asked.columns.role, asked.columns.missing
    with open_pieces(data, *wanted, dask=asked.dask, written=asked.text.marks) as pieces:
        solution = solve(
            pieces.source,
            asked.target,
            label=asked.aim.wanted(pieces.class_of, None),
            roles=pieces.roles,
            missing=pieces.missing,
            constraints=asked.rule.demands(pieces.names),
            **settings,
        )
    return solution, class_table(solution)


def _write(path: Path, solution: Solution, n_rows: int, w: float) -> None:
    """Write the rule with what is known about it, to a file or (for '-') to the terminal."""
    import json

    import opdt
    from opdt.cli.aim import written
    from opdt.cli.console import stderr
    from opdt.rules import rule_to_dict, write_rule

    if solution.rule is None:
        stderr().print("there is no rule, so none is written.", soft_wrap=True)
        return
    info: dict[str, Any] = {
        "objective": written(solution.objective),
        "value": solution.value,
        "bound": solution.bound,
        "status": str(solution.status),
        "precision": solution.precision,
        "covered": solution.covered,
        "errors": solution.errors,
        "rows": n_rows,
        "w": w,
        "verdict": None if solution.verdict is None else solution.verdict.to_dict(),
        "engine": solution.engine,
        "opdt": opdt.__version__,
    }
    if solution.account is not None:
        info["account"] = solution.account.to_dict()
    if not isinstance(solution.objective, str):
        del info["w"]
        if solution.objective.rule_label is not None:  # rows have no classes
            del info["precision"], info["errors"]
    if solution.plan is not None:
        info["columns"] = solution.plan.to_list()
    if str(path) == "-":
        text = json.dumps(rule_to_dict(solution.rule, info), indent=2, ensure_ascii=False)
        typer.echo(text)
    else:
        write_rule(path, solution.rule, info)
