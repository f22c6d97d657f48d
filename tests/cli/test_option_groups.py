"""Options that belong together: one argument of a command, several on the command line."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from opdt.cli.option_groups import RuleOptions, TextOptions, UnseenOptions, spread
from opdt.errors import InputError


@dataclass(frozen=True)
class Size:
    """Two numbers."""

    width: Annotated[int, typer.Option(help="Across.")] = 3
    height: Annotated[int, typer.Option(help="Upwards.")] = 2


@spread
def area(name: str, *, before: int = 0, size: Size, after: int = 1) -> None:
    """Multiply."""
    typer.echo(f"{name} {before} {size.width * size.height} {after}")


def test_the_fields_of_a_group_are_options_in_its_place():
    assert list(inspect.signature(area).parameters) == [
        "name", "before", "width", "height", "after"
    ]  # fmt: skip
    app = typer.Typer()
    app.command()(area)
    run = CliRunner().invoke
    assert run(app, ["box"]).stdout == "box 0 6 1\n"
    assert run(app, ["box", "--height", "7", "--before", "4"]).stdout == "box 4 21 1\n"
    assert "Upwards." in run(app, ["--help"]).stdout


def test_a_tab_may_be_spelt():
    assert TextOptions(delimiter="tab").marks["separator"] == "\t"
    assert TextOptions(delimiter=";").marks["separator"] == ";"


def test_a_number_of_rows_is_no_share():
    assert RuleOptions(min_coverage=20.0).demands(()) == {"min_coverage": 20}
    assert isinstance(RuleOptions(min_coverage=20.0).demands(())["min_coverage"], int)
    assert RuleOptions(min_coverage=0.2).demands(()) == {"min_coverage": 0.2}


def test_two_ways_to_unseen_rows_are_refused():
    with pytest.raises(InputError, match="'--test' and '--hold-out'"):
        UnseenOptions(test="a.csv", hold_out=0.2)
