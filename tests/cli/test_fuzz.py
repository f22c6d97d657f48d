"""Damaged files: one sentence and exit code 2, or a rule; never a traceback or half a file."""

from __future__ import annotations

import gzip
import io

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from opdt import Condition, Rule, write_rule

PATIENTS = b"""\
id,age,smoker,state
1,25,no,well
2,31,"no",well
3,47,yes,ill
4,52,no,ill
5,,yes,ill
6,38,\xc3\xa9,well
"""


def parquet() -> bytes:
    content = io.BytesIO()
    pl.read_csv(PATIENTS).write_parquet(content)
    return content.getvalue()


WHOLE = {"p.csv": PATIENTS, "p.csv.gz": gzip.compress(PATIENTS), "p.parquet": parquet()}


def check(result, folder, written):
    """A command that fails says so in one sentence, and leaves nothing half done."""
    assert result.exit_code in (0, 2, 3), result.output
    assert "Traceback" not in result.output
    assert not list(folder.glob("*.part"))
    if result.exit_code == 2:
        complaints = [line for line in result.stderr.splitlines() if not line.startswith("note:")]
        assert len(complaints) == 1, result.stderr
        assert not (folder / written).exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    write_rule(folder / "rule.json", Rule([Condition("age", ">=", 40)], "ill"))
    return folder


def run(folder, name, content):
    from opdt.cli.app import app

    data = folder / name
    data.write_bytes(content)
    marked = folder / "marked.csv"
    commands = (
        (["fit", data, "--target", "state", "--depth", "1", "--json", folder / "r.json"], "r.json"),
        (["apply", folder / "rule.json", data, "-o", marked], "marked.csv"),
    )
    for command, written in commands:
        result = CliRunner().invoke(app, [str(part) for part in command], prog_name="opdt")
        check(result, folder, written)
        (folder / written).unlink(missing_ok=True)


FEW = settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FEW
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_file_cut_anywhere(place, name, data):
    content = WHOLE[name]
    run(place, name, content[: data.draw(st.integers(0, len(content)))])


@FEW
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_file_with_bytes_changed(place, name, data):
    content = bytearray(WHOLE[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    run(place, name, bytes(content))


@FEW
@given(st.binary(max_size=300))
def test_any_bytes(place, content):
    run(place, "p.csv", content)


@FEW
@given(st.text(max_size=200))
def test_any_text_as_a_rule(place, text):
    from opdt.cli.app import app

    (place / "odd.json").write_text(text, encoding="utf-8", errors="replace", newline="")
    (place / "p.csv").write_bytes(PATIENTS)
    command = ["apply", place / "odd.json", place / "p.csv", "-o", place / "marked.csv"]
    result = CliRunner().invoke(app, [str(part) for part in command], prog_name="opdt")
    check(result, place, "marked.csv")
    (place / "marked.csv").unlink(missing_ok=True)


def test_ten_thousand_columns_are_no_trouble(opdt, folder):
    names = [f"c{j}" for j in range(10_000)]
    cells = [[str((i * 7 + j) % 5) for j in range(10_000)] for i in range(12)]
    rows = [[*row, "ab"[row[0] < "2"]] for row in cells]
    lines = [",".join([*names, "y"]), *map(",".join, rows)]
    (folder / "wide.csv").write_text("\n".join(lines))
    result = opdt("fit", "wide.csv", "--target", "y", "--depth", "1", "--paper", "--quiet")
    assert result.exit_code == 0
    assert result.stdout.startswith("IF c0 ")
