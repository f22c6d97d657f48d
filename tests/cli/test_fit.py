from __future__ import annotations

import gzip
import json
import re
from datetime import time

import polars as pl
import pytest

import opdt as package
from opdt import read_rule

SMALL = ("--engine", "exhaustive")
FIT = ("fit", "patients.csv", "--target", "state", *SMALL)


def test_the_rule_is_shown_with_its_numbers_and_its_proof(opdt):
    result = opdt(*FIT, "--paper")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:8] == [
        "IF   age >= 40",
        "THEN ill",
        "",
        "VI         3  (w = 10; all rows: -24)",
        "precision  100.0 %  (3 of 3 covered rows are ill)",
        "coverage   50.0 %  (3 of 6 rows, 100.0 % of all ill)",
        "lift       2.00  (all rows: 50.0 % are ill)",
        "status     proven optimal: no allowed rule has a larger VI",
    ]
    assert lines[-3:] == [
        "columns    3 used: 1 numeric, 1 yes/no, 1 date; 1 not used: 1 id",
        "",
        "id  id  not used: its name says so, and all 6 values differ",
    ]
    assert lines[8].startswith("verdict    not supported: right in 3 of 3 rows, 50.0 % overall")
    assert any(re.fullmatch(r"time       .* m?s \(engine exhaustive\)", line) for line in lines)


RARE = "a,y\n" + "".join(
    f"{i},{'bad' if i in (3, 16, 17, 19) else 'good'}\n" for i in range(19, -1, -1)
)


def test_without_a_word_it_is_the_most_precise_rule_of_the_rarer_class(opdt, folder):
    (folder / "a.csv").write_text(RARE)
    result = opdt("fit", "a.csv", "--target", "y", *SMALL)
    assert result.exit_code == 0
    assert result.stderr == (
        "note: the rule is for bad, the rarer of two classes; '--label' names another, "
        "'--label all' leaves it open.\n"
    )
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:8] == [
        "IF   a >= 15.5",
        "AND  a < 17.5",
        "THEN bad",
        "",
        "precision  100.0 %  (2 of 2 covered rows are bad)",
        "coverage   10.0 %  (2 of 20 rows, 50.0 % of all bad)",
        "lift       5.00  (all rows: 20.0 % are bad)",
        "status     proven optimal: no allowed rule with enough rows is more precise",
    ]
    assert lines[8].startswith("verdict    not supported: right in 2 of 2 rows")
    wider = opdt("fit", "a.csv", "--target", "y", "--min-coverage", 0.2, "--json", "r.json", *SMALL)
    assert wider.stdout.startswith("IF   a >= 15.5\nTHEN bad\n")
    info = json.loads((folder / "r.json").read_text())["info"]
    assert (info["objective"], info["value"], info["bound"]) == ("precision", 0.75, 0.75)


def test_other_objectives_classes_and_the_paper_are_a_word_away(opdt, folder):
    (folder / "a.csv").write_text(RARE)
    fit = ("fit", "a.csv", "--target", "y", *SMALL, "-q")
    assert opdt(*fit, "--paper").stdout.endswith("THEN good\n")
    assert opdt(*fit, "--label", "all").stdout.endswith("THEN good\n")
    assert opdt(*fit, "--label", "rarest").stdout.endswith("THEN bad\n")
    assert opdt(*fit, "--w", 2).stdout == "IF a >= 15.5 THEN bad\n"
    most = opdt(*fit, "--objective", "coverage", "--min-precision", 0.7)
    assert most.stdout == "IF a >= 15.5 THEN bad\n"


def test_what_does_not_go_together_is_refused(opdt, refused):
    refused(opdt(*FIT, "--w", 3, "--objective", "precision"), "'--w'", "'--objective precision'")
    refused(opdt(*FIT, "--paper", "--label", "ill"), "'--label'", "'--paper'")
    refused(opdt(*FIT, "--objective", "accuracy"), "'objective' must be")
    refused(opdt(*FIT, "--objective", "coverage"), "'min_precision'")


def test_a_class_too_rare_for_the_usual_coverage_is_told(opdt, folder):
    rows = "".join(f"{i},{'bad' if i == 40 else 'good'}\n" for i in range(99, -1, -1))
    (folder / "a.csv").write_text("a,y\n" + rows)
    result = opdt("fit", "a.csv", "--target", "y", *SMALL)
    assert "only 1.0 % of the rows are bad" in result.stderr
    assert "is right in more than 20.0 %" in result.stderr


@pytest.mark.parametrize("name", ["p.parquet", "p.tsv"])
def test_other_files_give_the_same_rule(opdt, name):
    frame = pl.read_csv("patients.csv", try_parse_dates=True)
    frame.write_parquet(name) if name == "p.parquet" else frame.write_csv(name, separator="\t")
    result = opdt("fit", name, *FIT[2:])
    assert result.stdout.startswith("IF   age >= 40\nTHEN ill\n")


def test_the_class_may_be_chosen(opdt):
    assert "THEN well" in opdt(*FIT, "--label", "well").stdout


@pytest.mark.parametrize(
    ("labels", "text", "shown"),
    [
        (["0", "0", "1", "1"], "1", "1"),
        (["0.0", "0.0", "1.0", "1.0"], "1", "1"),
        (["false", "false", "true", "true"], "True", "True"),
    ],
)
def test_a_class_is_recognised_by_how_it_is_written(opdt, folder, labels, text, shown):
    rows = "".join(f"{i},{label}\n" for i, label in enumerate(labels))
    (folder / "a.csv").write_text("a,y\n" + rows)
    result = opdt("fit", "a.csv", "--target", "y", "--label", text, *SMALL)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"IF   a >= 1.5\nTHEN {shown}")


def test_structure_groups_and_roles_come_from_options(opdt, folder):
    assert "smoker == 'yes'" in opdt(*FIT, "--structure", "cat").stdout
    (folder / "groups.toml").write_text('opdt_structure = 1\n[groups]\nhabits = ["smoker"]\n')
    result = opdt(*FIT, "--structure", "habits, num", "--groups", "groups.toml", "--depth", 2)
    assert result.exit_code == 0
    assert "smoker" in result.stdout
    result = opdt(*FIT, "--structure", "cat", "--role", "age,id=categorical", "--label", "ill")
    assert result.exit_code == 0
    assert "4 used: 2 categorical, 1 yes/no, 1 date" in result.stdout


def test_a_structure_file_brings_its_own_groups(opdt, folder):
    text = 'opdt_structure = 1\nlevels = ["habits"]\n[groups]\nhabits = ["smoker"]\n'
    (folder / "s.toml").write_text(text)
    assert "smoker == 'yes'" in opdt(*FIT, "--structure", "s.toml").stdout


def test_a_column_name_with_a_comma_is_understood(opdt, folder):
    (folder / "a.csv").write_text('"a, b",y\n1,x\n2,x\n3,z\n4,z\n')
    result = opdt("fit", "a.csv", "--target", "y", "--role", "a, b=categorical", *SMALL)
    assert result.exit_code == 0
    assert "a, b ==" in result.stdout or "a, b !=" in result.stdout


def test_json_holds_the_rule_and_what_is_known_about_it(opdt, folder):
    result = opdt(*FIT, "--paper", "--json", "rule.json")
    assert result.exit_code == 0
    assert result.stdout.startswith("IF   age >= 40")
    assert str(read_rule("rule.json")) == "IF age >= 40 THEN ill"
    info = json.loads((folder / "rule.json").read_text())["info"]
    verdict = info.pop("verdict")
    assert verdict["level"] == "not supported"
    assert verdict["reason"].startswith("right in 3 of 3 rows, 50.0 % overall")
    assert "too few" in verdict["cure"]
    assert [(c["column"], c["role"]) for c in info.pop("columns")] == [
        ("id", "id"),
        ("age", "numeric"),
        ("smoker", "yes/no"),
        ("since", "date"),
    ]
    assert info == {
        "objective": "vi",
        "value": 3,
        "bound": 3,
        "status": "optimal",
        "precision": 1,
        "covered": 3,
        "errors": 0,
        "rows": 6,
        "w": 10,
        "engine": "exhaustive",
        "opdt": package.__version__,
    }
    printed = opdt(*FIT, "--paper", "--json", "-")
    assert printed.stdout == (folder / "rule.json").read_text()


def test_no_pattern_exits_with_3_and_writes_no_rule(opdt, folder):
    (folder / "a.csv").write_text("a,y\n1,x\n1,z\n2,x\n2,z\n")
    result = opdt("fit", "a.csv", "--target", "y", "--paper", "--json", "rule.json", *SMALL)
    assert result.exit_code == 3
    assert result.stdout.startswith("No pattern")
    assert "no rule" in result.stderr
    assert not (folder / "rule.json").exists()


def test_a_limit_of_no_time_shows_what_is_not_proven(opdt):
    result = opdt(*FIT, "--time-limit", 0)
    assert result.exit_code == 3
    assert "not proven (time limit)" in result.stdout


HOSTILE = {
    "empty.csv": b"",
    "header.csv": b"a,y\n",
    "binary.csv": bytes(range(256)) * 50,
    "zeros.csv": b"\x00" * 4096,
    "binary.parquet": bytes(range(256)) * 50,
    "empty.parquet": b"",
    "twice.csv": b"a,a,y\n1,2,x\n3,4,z\n",
    "one_class.csv": b"a,y\n1,x\n2,x\n",
    "no_feature.csv": b"y\nx\nz\n",
    "no_target.csv": b"a,b\n1,x\n2,z\n",
    "missing_labels.csv": b"a,y\n1,x\n2,\n3,z\n",
    "continuous.csv": b"a,y\n1,0.5\n2,1.5\n",
    "infinite.csv": b"a,y\n1,x\ninf,z\n",
    "note.doc": b"a,y\n1,x\n2,z\n",
    "half.csv.gz": gzip.compress(b"a,y\n1,x\n2,z\n" * 500)[:40],
    "wide.csv": b",".join(b"c%d" % i for i in range(10_000)) + b"\n",
    "ragged.csv": b"a,y\n1,x\n2,z,3\n",
    "only_missing.csv": b"a,y\n,x\nNA,z\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_used_gives_one_sentence(opdt, refused, folder, name):
    (folder / name).write_bytes(HOSTILE[name])
    before = sorted(folder.iterdir())
    refused(opdt("fit", name, "--target", "y", "--json", "rule.json", *SMALL))
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "dead"], ["'--label' 'dead'", "ill, well"]),
        (["--engine", "serch"], ["'engine'", "serch"]),
        (["--depth", "0"], ["1 to 8"]),
        (["--depth", "3", "--structure", "cat,num"], ["depth 2"]),
        (["--structure", "lab"], ["there is no group 'lab'"]),
        (["--structure", "none.toml"], ["none.toml"]),
        (["--groups", "none.toml"], ["none.toml"]),
        (["--w", "0.5"], ["'w'"]),
        (["--w", "nan"], ["'w'"]),
        (["--time-limit", "-1"], ["seconds"]),
        (["--jobs", "0"], ["n_jobs"]),
        (["--role", "nothing=numeric"], ["'nothing'"]),
        (["--role", "smoker=numeric"], ["'smoker'"]),
        (["--role", "smoker"], ["--role", "'age=numeric'"]),
        (["--role", "age=number"], ["roles['age']", "'number'"]),
        (["--json", "nowhere/rule.json"], ["folder that does not exist"]),
        (["--json", "patients.csv"], ["is the input"]),
        (["--json", "."], ["is a folder"]),
    ],
)
def test_an_option_that_cannot_be_used_gives_one_sentence(opdt, refused, folder, options, words):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused(opdt(*FIT, *options), *words)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_time_of_day_is_a_level_that_is_written(opdt, folder):
    times = [time(10), time(10), time(11), time(12)]
    pl.DataFrame({"t": times, "y": ["u", "u", "v", "v"]}).write_parquet("times.parquet")
    result = opdt("fit", "times.parquet", "--target", "y", "--json", "rule.json", *SMALL)
    assert result.exit_code == 0
    assert read_rule("rule.json").covers(pl.read_parquet("times.parquet")).sum() == 2
