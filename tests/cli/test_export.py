from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from opdt.cli.export import export
from opdt.cli.group import Group
from opdt.rules import Condition, Rule, RuleList, read_rule, write_rule
from opdt.rules.export import DIALECTS, FORMATS

RULE = Rule([Condition("age", ">=", 40), Condition("smoker", "==", "it's")], "ill")


@pytest.fixture
def command(folder):
    """Runs `opdt export` with these arguments, beside a rule file."""
    app = typer.Typer(cls=Group, pretty_exceptions_enable=False)
    app.command()(export)
    app.command()(lambda: None)  # a second command, without which typer drops the name
    write_rule("rule.json", RULE)

    def run(*arguments):
        return CliRunner().invoke(app, ["export", *map(str, arguments)], prog_name="opdt")

    return run


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_is_printed_and_written(command, folder, to):
    printed = command("rule.json", "--to", to)
    assert (printed.exit_code, printed.stderr) == (0, "")
    written = command("rule.json", "--to", to, "-o", "out.txt")
    assert (written.exit_code, written.stdout, written.stderr) == (0, "", "")
    assert (folder / "out.txt").read_text(encoding="utf-8") == printed.stdout
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("dialect", [*DIALECTS, "PostgreSQL"])
def test_sql_is_written_for_the_dialect(command, dialect):
    result = command("rule.json", "--to", "sql", "--dialect", dialect)
    assert result.stdout == RULE.to_sql(dialect) + "\n"


def test_json_is_a_rule_file_again(command):
    command("rule.json", "--to", "json", "-o", "again.json")
    assert read_rule("again.json") == RULE


def test_the_types_may_come_from_data(command, folder):
    (folder / "data.csv").write_text("smoker\ntrue\nfalse\n")
    write_rule("rule.json", Rule([Condition("smoker", ">=", 0.5)], "ill"))
    options = ("rule.json", "--to", "sql", "--dialect", "postgres")
    result = command(*options, "--data", "data.csv")
    assert result.stdout == '"smoker" = TRUE AND NOT "smoker" IS NULL\n'
    assert command(*options).stdout.startswith('"smoker" >= 0.5')


@pytest.mark.parametrize(
    ("label", "default", "sql"),
    [("ill", "well", "'well'"), (1, "0", "0"), (True, "False", "FALSE"), (1.0, "0.5", "0.5")],
)
def test_a_default_is_read_as_the_class_is(command, label, default, sql):
    write_rule("rule.json", Rule([], label))
    result = command("rule.json", "--to", "sql-case", "--default", default)
    assert result.stdout.endswith(f" ELSE {sql} END\n")
    pmml = command("rule.json", "--to", "pmml", "--default", default)
    assert "defaultScore" in pmml.stdout


def test_a_rule_list_is_exported_too(command):
    write_rule("rule.json", RuleList([Rule([], "ill")], "well"))
    result = command("rule.json", "--to", "sql-case")
    assert result.stdout == "CASE WHEN TRUE THEN 'ill' ELSE 'well' END\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.json", "--to", "sql"], ["none.json"]),
        (["patients.csv", "--to", "sql"], ["is not a JSON file"]),
        (["rule.json"], ["--to"]),
        (["rule.json", "--to", "excel"], ["'to'", "excel"]),
        (["rule.json", "--to", "sql", "--dialect", "oracle"], ["'dialect'", "oracle"]),
        (["rule.json", "--to", "sql", "-o", "none/out.sql"], ["folder that does not exist"]),
        (["rule.json", "--to", "sql", "-o", "rule.json"], ["is the input"]),
        (["rule.json", "--to", "sql", "-o", "."], ["is a folder"]),
        (["rule.json", "--to", "sql", "--data", "none.csv"], ["none.csv"]),
        (["rule.json", "--to", "sql", "--default", "well"], ["'--default' goes with"]),
        (["list.json", "--to", "sql-case", "--default", "well"], ["of a single rule only"]),
        (["whole.json", "--to", "sql-case", "--default", "well"], ["the rule's class 1", "'well'"]),
        (["date.json", "--to", "sql", "--dialect", "sqlite"], ["column 'd'", "SQLite"]),
        (["control.json", "--to", "pmml"], ["XML has no way to write"]),
    ],
)
def test_what_cannot_be_done_gives_one_sentence_and_no_file(
    command, refused, folder, arguments, words
):
    write_rule("list.json", RuleList([], 1))
    write_rule("whole.json", Rule([], 1))
    write_rule("date.json", Rule([Condition("d", "==", np.datetime64("2024-03-01"))], 1))
    write_rule("control.json", Rule([Condition("a\x01", ">=", 1)], 1))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused(command(*arguments), *words)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_failure_while_writing_leaves_neither_output_nor_draft(command, folder, monkeypatch):
    from pathlib import Path

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    result = command("rule.json", "--to", "sql", "-o", "out.sql")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert not list(folder.glob("out*"))


def test_names_that_no_terminal_shows_are_printed_as_escapes(command, folder):
    rule = {
        "opdt_rule": 1,
        "label": "ill",
        "conditions": [{"feature": "\ud800", "op": "is missing"}],
    }
    (folder / "rule.json").write_text(json.dumps(rule))
    for to in ("python", "pandas", "polars", "json", "english", "markdown", "latex"):
        result = command("rule.json", "--to", to)
        assert result.exit_code == 0
        assert "ud800" in result.stdout


def test_the_recorded_verdict_stands_beside_the_export(opdt, folder):
    rows = [f"{n % 50},{'ill' if n % 50 > 30 else 'well'}" for n in range(100)]
    (folder / "many.csv").write_text("\n".join(["pulse,state", *rows]) + "\n")
    opdt("fit", "many.csv", "--target", "state", "--json", "found.json")
    result = opdt("export", "found.json", "--to", "english")
    assert result.exit_code == 0
    assert "verdict" not in result.stdout
    assert result.stderr.startswith("verdict when it was found: supported: right in ")
