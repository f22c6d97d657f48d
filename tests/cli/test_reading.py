"""Files as they come: separators, encodings, gzip, the standard input; and what is shown of it."""

from __future__ import annotations

import gzip
import io
import json

import polars as pl
import pytest
from typer.testing import CliRunner

from opdt import discover, read_rule
from opdt.cli.source import open_data

FIT = ["--target", "state", "--depth", "1"]


def piped(*arguments, content):
    from opdt.cli.app import app

    return CliRunner().invoke(app, list(arguments), input=content, prog_name="opdt")


def rewritten(folder, name, separator=",", encoding="utf-8"):
    text = (folder / "patients.csv").read_text().replace(",", separator)
    content = text.encode(encoding)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return name


@pytest.mark.parametrize(
    ("name", "separator", "encoding"),
    [
        ("p.csv", ";", "utf-8"),
        ("p.csv", "|", "utf-16"),
        ("p.csv.gz", ",", "utf-8"),
        ("p.tsv.gz", "\t", "utf-8"),
        ("p.txt", ";", "utf-8-sig"),
    ],
)
def test_the_rule_is_the_same_however_the_file_is_written(opdt, folder, name, separator, encoding):
    wanted = opdt("fit", "patients.csv", *FIT, "--quiet")
    found = opdt("fit", rewritten(folder, name, separator, encoding), *FIT, "--quiet")
    assert (found.exit_code, found.stdout) == (0, wanted.stdout)
    assert found.stdout == "IF age >= 40 THEN ill\n"


@pytest.mark.parametrize("step", ["table.textfile", "problem.arguments"])
def test_a_file_that_does_not_fit_is_refused(opdt, folder, refused, monkeypatch, step):
    monkeypatch.setattr(f"opdt.{step}.available", lambda: 20)
    monkeypatch.setattr("opdt.problem.arguments.LARGE", 0)  # for which the system is asked
    refused(opdt("fit", "patients.csv", *FIT), " of memory", "'memory_limit'")


def test_reading_counts_for_the_time(opdt, folder, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("opdt.solution.time.perf_counter", lambda: now[0])

    def slow(data, written):
        now[0] += 7
        return open_data(data, written)

    monkeypatch.setattr("opdt.cli.source.open_data", slow)
    late = opdt("fit", "patients.csv", *FIT, "--time-limit", "5", "--engine", "exhaustive")
    assert "time limit" in late.stdout
    in_time = opdt("fit", "patients.csv", *FIT, "--time-limit", "9", "--engine", "exhaustive")
    assert "optimal" in in_time.stdout


def test_the_standard_input_is_read_as_text_gzip_or_parquet(opdt, folder):
    text = (folder / "patients.csv").read_bytes()
    parquet = io.BytesIO()
    pl.read_csv(folder / "patients.csv").write_parquet(parquet)
    for content in (text, gzip.compress(text), parquet.getvalue()):
        result = piped("fit", "-", *FIT, "--quiet", content=content)
        assert (result.exit_code, result.stdout) == (0, "IF age >= 40 THEN ill\n")


def test_a_rule_is_applied_to_the_standard_input(opdt, folder):
    opdt("fit", "patients.csv", *FIT, "--json", "rule.json")
    content = (folder / "patients.csv").read_bytes()
    result = piped("apply", "rule.json", "-", "--quiet", content=content)
    assert result.stdout == opdt("apply", "rule.json", "patients.csv").stdout
    assert result.stderr == ""


def test_a_rule_is_applied_to_a_file_with_semicolons(opdt, folder):
    opdt("fit", "patients.csv", *FIT, "--json", "rule.json")
    name = rewritten(folder, "p.csv.gz", ";")
    assert (
        opdt("apply", "rule.json", name).stdout == opdt("apply", "rule.json", "patients.csv").stdout
    )


def test_another_encoding_is_noted_and_can_be_named(opdt, folder):
    (folder / "p.csv").write_bytes("a,city\n1,Zürich\n2,Bern\n".encode("cp1252"))
    guessed = opdt("fit", "p.csv", "--target", "city")
    assert "note: 'p.csv' is not in UTF-8 and was read as cp1252" in guessed.stderr
    named = opdt("fit", "p.csv", "--target", "city", "--encoding", "latin-1", "--paper")
    assert (named.exit_code, named.stderr) == (0, "")


def test_the_delimiter_can_be_named(opdt, folder):
    name = rewritten(folder, "p.csv", "\t")
    for delimiter in ("tab", r"\t", "\t"):
        result = opdt("fit", name, *FIT, "--delimiter", delimiter, "--quiet")
        assert result.stdout == "IF age >= 40 THEN ill\n"


def test_json_on_the_standard_output_is_all_there_is(opdt, folder):
    result = opdt("fit", "patients.csv", *FIT, "--paper", "--json", "-")
    assert json.loads(result.stdout)["conditions"]
    assert result.stderr == ""


def test_the_trace_is_shown_on_demand(opdt):
    result = opdt("fit", "patients.csv", *FIT, "-v")
    assert "bound" in result.stderr
    assert "partial rules considered" in result.stderr


@pytest.mark.parametrize(
    ("options", "constraints"),
    [
        (["--forbid", "age,id"], {"forbidden": ["age", "id"]}),
        (["--require", "smoker"], {"required": ["smoker"]}),
        (["--direction", "age <", "--forbid", "id"], {"directions": {"age": "<"}}),
        (["--min-coverage", "5"], {"min_coverage": 5}),
        (["--min-coverage", "0.9"], {"min_coverage": 0.9}),
        (["--min-precision", "1"], {"min_precision": 1.0}),
        (["--max-errors", "0"], {"max_errors": 0}),
    ],
)
@pytest.mark.filterwarnings("ignore::opdt.errors.ColumnWarning")
def test_demands_on_the_rule_reach_the_search(opdt, folder, options, constraints):
    if "age <" in options:
        constraints = {**constraints, "forbidden": ["id"]}
    result = opdt("fit", "patients.csv", *FIT, *options, "--paper", "--json", "rule.json")
    wanted = discover(folder / "patients.csv", "state", max_depth=1, constraints=constraints).rule
    assert result.exit_code == (3 if wanted is None else 0)
    assert (None if wanted is None else read_rule("rule.json")) == wanted


def test_a_direction_without_an_operator_is_refused(opdt, refused):
    refused(opdt("fit", "patients.csv", *FIT, "--direction", "age"), "'--direction' must end in")


STRUCTURE = """\
opdt_structure = 1
levels = ["lab", "num"]
[groups]
lab = ["smoker"]
"""


def test_a_structure_file_is_drawn_and_checked(opdt, refused, folder):
    (folder / "s.toml").write_text(STRUCTURE)
    result = opdt("structure", "check", "s.toml")
    assert result.exit_code == 0
    assert "★" in result.stdout
    assert "lab: smoker" in result.stdout
    fitted = opdt("structure", "check", "s.toml", "--data", "patients.csv", "--target", "state")
    assert "fits 'patients.csv': 3 features" in fitted.stdout
    refused(opdt("structure", "check", "s.toml", "--data", "patients.csv"), "belong together")
    refused(opdt("structure", "check", "none.toml"), "none.toml")


def test_a_structure_that_names_no_column_of_the_table_is_refused(opdt, folder):
    (folder / "s.toml").write_text(STRUCTURE.replace("smoker", "smokes"))
    result = opdt("structure", "check", "s.toml", "--data", "patients.csv", "--target", "state")
    assert result.exit_code == 2
    assert "smokes" in result.stderr


def test_how_text_is_written_can_be_said_in_memory_and_in_pieces(opdt, folder):
    rows = "".join(f"{k % 12 + 1:02}/{k % 9 + 1:02}/2024;{k}\n" for k in range(12))
    (folder / "d.csv").write_bytes(("day;größe\n" + rows).encode("latin-1"))
    written = ["--delimiter", ";", "--encoding", "latin-1", "--date-order", "mdy"]
    for more in ([], ["--memory-limit", "2GB"]):
        result = opdt("fit", "d.csv", "--target", "größe", "--depth", "1", "-q", *written, *more)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "day" in result.stdout
        assert "2024-" in result.stdout


def test_dates_of_unknown_order_are_noted_once(opdt, folder):
    (folder / "d.csv").write_text(
        "day,x,y\n" + "".join(f"03/04/2024,{k},{k // 5}\n" for k in range(9))
    )
    for more in ([], ["--memory-limit", "2GB"]):
        result = opdt("fit", "d.csv", "--target", "y", *more)
        assert result.stderr.count("note: column 'day' of 'd.csv' holds dates which may begin") == 1


@pytest.mark.parametrize("command", ["report", "test", "path"])
def test_a_table_without_rows_has_none_to_hold_out(opdt, folder, refused, command):
    (folder / "none.csv").write_text("a,state\n")
    refused(
        opdt(command, "none.csv", "--target", "state", "--hold-out", "0.3"), "the data have no rows"
    )
    refused(opdt(command, "none.csv", "--target", "state"), "the table has no rows; a rule needs")


def test_a_role_is_suggested_in_the_words_of_the_command_line(opdt, folder, refused):
    (folder / "ids.csv").write_text(
        "user id,state\n" + "".join(f"u{n},{n % 2}\n" for n in range(9))
    )
    for more in ((), ("--memory-limit", "1GB")):
        asked = opdt("fit", "ids.csv", "--target", "state", *more)
        refused(asked, "give it another one, as in --role 'user id=categorical'.")


def test_a_table_of_a_database_is_fitted_and_marked(opdt, folder):
    import sqlite3

    rows = [tuple(line.split(",")) for line in (folder / "patients.csv").read_text().split()]
    with sqlite3.connect(folder / "clinic.db") as base:
        base.execute(f"CREATE TABLE patients ({', '.join(rows[0])})")
        base.executemany(f"INSERT INTO patients VALUES ({', '.join('?' * len(rows[0]))})", rows[1:])
    base.close()
    wanted = opdt("fit", "patients.csv", *FIT, "--quiet")
    for data in ("clinic.db", "clinic.db::patients", "clinic.db::SELECT * FROM patients -- a // b"):
        found = opdt("fit", data, *FIT, "--quiet", "--json", "rule.json")
        assert (found.exit_code, found.stdout) == (0, wanted.stdout)
    marked = opdt("apply", "rule.json", "clinic.db::patients", "-o", "marked.csv")
    assert marked.exit_code == 0
    assert len((folder / "marked.csv").read_text().splitlines()) == len(rows)
