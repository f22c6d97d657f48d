from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from opdt import Condition, Rule, RuleList, write_rule

AGED = Rule([Condition("age", ">=", 40)], "ill")


@pytest.fixture
def rule(folder):
    write_rule(folder / "rule.json", AGED)
    return "rule.json"


def marks(values):
    return ["true" if value else "false" for value in values]


def test_the_column_is_added_and_every_other_cell_is_copied_as_it_stands(opdt, folder, rule):
    result = opdt("apply", rule, "patients.csv")
    assert result.exit_code == 0
    given = (folder / "patients.csv").read_text().splitlines()
    fires = ["rule", *marks([0, 0, 1, 1, 1, 0])]
    assert result.stdout.splitlines() == [
        f"{line},{mark}" for line, mark in zip(given, fires, strict=True)
    ]
    assert result.stderr == "the rule fires on 3 of 6 rows: IF age >= 40 THEN ill\n"


@pytest.mark.parametrize("source", ["patients.csv", "p.tsv", "p.parquet"])
@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.parquet", "out.PQ"])
def test_every_format_can_be_read_and_written(opdt, folder, rule, source, out):
    frame = pl.read_csv("patients.csv", try_parse_dates=True)
    frame.write_parquet("p.parquet")
    frame.write_csv("p.tsv", separator="\t")
    result = opdt("apply", rule, source, "-o", out, "--column", "at risk")
    assert (result.exit_code, result.stdout) == (0, "")
    if out.endswith((".csv", ".tsv")):
        written = pl.read_csv(out, separator="\t" if out == "out.tsv" else ",")
    else:
        written = pl.read_parquet(out)
        assert written.schema["at risk"] == pl.Boolean
    assert written.columns == [*frame.columns, "at risk"]
    assert written["at risk"].to_list() == [False, False, True, True, True, False]
    assert written["age"].to_list() == frame["age"].to_list()
    assert not list(folder.glob("*.part"))


def test_an_older_output_is_replaced_whole(opdt, folder, rule):
    (folder / "out.csv").write_text("x" * 10_000)
    assert opdt("apply", rule, "patients.csv", "-o", "out.csv").exit_code == 0
    assert (folder / "out.csv").read_text().startswith("id,age,smoker,since,state,rule\n001,")


def test_quotes_line_breaks_and_empty_lines_survive(opdt, folder, rule):
    (folder / "a.csv").write_text('age,note\n50,"a ""b"", c"\n\n39,"two\nlines"\n')
    result = opdt("apply", rule, "a.csv", "-o", "out.csv")
    assert result.exit_code == 0
    written = pl.read_csv("out.csv").drop_nulls("age")
    assert written["note"].to_list() == ['a "b", c', "two\nlines"]
    assert written["rule"].to_list() == [True, False]


def test_only_the_columns_of_the_rule_are_needed(opdt, folder, rule):
    (folder / "a.csv").write_text("age\n39\n\n41\n")
    pl.DataFrame({"age": [39.5, None, 40.0]}).write_csv("b.csv")
    assert opdt("apply", rule, "b.csv").stdout == "age,rule\n39.5,false\n,false\n40.0,true\n"


def test_dates_and_levels_are_tested_as_they_were_found(opdt, folder):
    dated = Rule(
        [Condition("since", ">=", np.datetime64("2024-02-01")), Condition("smoker", "!=", "yes")],
        "ill",
    )
    write_rule(folder / "rule.json", dated)
    result = opdt("apply", "rule.json", "patients.csv")
    # Row 006 has no entry for smoker, which satisfies no condition.
    column = [line.rpartition(",")[2] for line in result.stdout.splitlines()[1:]]
    assert column == marks([0, 0, 0, 1, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rule.json", "none.csv"], ["none.csv"]),
        (["none.json", "patients.csv"], ["none.json"]),
        (["patients.csv", "patients.csv"], ["is not a JSON file"]),
        (["rule.json", "patients.csv", "-o", "patients.csv"], ["is the input"]),
        (["rule.json", "patients.csv", "-o", "./patients.csv"], ["is the input"]),
        (["rule.json", "patients.csv", "-o", "out.xlsx"], ["must end in .csv"]),
        (["rule.json", "patients.csv", "-o", "none/out.csv"], ["folder that does not exist"]),
        (["rule.json", "patients.csv", "--column", "age"], ["already has a column 'age'"]),
        (["rule.json", "other.csv"], ["'age'"]),
        (["rule.json", "text.csv"], ["'age'"]),
        (["rule.json", "twice.csv"], ["duplicate"]),
        (["rule.json", "empty.csv"], ["empty"]),
        (["future.json", "patients.csv"], ["version 99"]),
    ],
)
def test_what_cannot_be_done_gives_one_sentence_and_no_file(
    opdt, refused, folder, rule, arguments, words
):
    (folder / "other.csv").write_text("ages\n1\n")
    (folder / "text.csv").write_text("age\nold\n")
    (folder / "twice.csv").write_text("age,age\n1,2\n")
    (folder / "empty.csv").write_text("")
    (folder / "future.json").write_text(json.dumps({"opdt_rule": 99}))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused(opdt("apply", *arguments), *words)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_failure_while_writing_leaves_neither_output_nor_draft(opdt, folder, rule, monkeypatch):
    from opdt.cli import mark

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mark.os, "replace", full)
    result = opdt("apply", rule, "patients.csv", "-o", "out.csv")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert not list(folder.glob("out*"))


def test_a_rule_list_is_refused_with_what_to_do_instead(opdt, refused, folder):
    write_rule(folder / "list.json", RuleList([AGED], "well"))
    refused(opdt("apply", "list.json", "patients.csv"), "rule list", "opdt export")


def test_the_verdict_of_the_file_is_told_again(opdt, folder):
    assert opdt("fit", "patients.csv", "--target", "state", "--json", "rule.json").exit_code == 0
    told = opdt("apply", "rule.json", "patients.csv", "-o", "marked.csv").stderr
    assert "verdict when it was found: not supported: right in 3 of 3 rows" in told
    rule = json.loads((folder / "rule.json").read_text())
    for info in ({}, {"verdict": "true"}, {"verdict": {"level": "proven"}}):
        (folder / "rule.json").write_text(json.dumps({**rule, "info": info}))
        assert "verdict" not in opdt("apply", "rule.json", "patients.csv", "-o", "m.csv").stderr


def test_nested_values_do_not_fit_into_a_text_file(opdt, folder, refused):
    frame = pl.DataFrame({"age": [30, 50], "parts": [[1], [2, 3]]})
    frame.write_parquet("nested.parquet")
    assert opdt("fit", "patients.csv", "--target", "state", "--json", "rule.json").exit_code == 0
    refused(opdt("apply", "rule.json", "nested.parquet", "-o", "out.csv"), "'parts'", "Parquet")
    assert not (folder / "out.csv").exists()
    assert opdt("apply", "rule.json", "nested.parquet", "-o", "out.parquet").exit_code == 0
    assert pl.read_parquet("out.parquet")["rule"].to_list() == [False, True]
