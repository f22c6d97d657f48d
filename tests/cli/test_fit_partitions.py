"""`opdt fit` and `opdt apply` on data that are read in pieces."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from opdt import Condition, Rule, RuleSet, discover, read_rule, write_rule
from opdt.cli import console, mark_files
from opdt.cli.console import SearchProgress
from opdt.scale import PassProgress

AGED = Rule([Condition("age", ">=", 40)], "ill")


def patients(seed=0, n=400):
    """Rows of which the older and heavier are mostly ill."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.integers(20, 80, n), rng.normal(27, 4, n).round(1)
    ill = ((age >= 50) & (bmi >= 26)) ^ (rng.random(n) < 0.05)
    return pa.table(
        {
            "age": age,
            "bmi": pa.array(bmi, mask=rng.random(n) < 0.1),
            "site": rng.choice(["a", "b"], n),
            "state": np.where(ill, "ill", "well"),
            "died": rng.random(n) < 0.1,
            "grade": rng.integers(0, 3, n),
        }
    )


@pytest.fixture
def parts(folder):
    """A folder with three Parquet files, one of them empty."""
    (folder / "parts").mkdir()
    table = patients()
    for name, piece in (("a", table[:150]), ("b", table[150:150]), ("c", table[150:])):
        pq.write_table(piece, f"parts/{name}.parquet", row_group_size=64)
    pq.write_table(table, "whole.parquet")
    return "parts/*.parquet"


def lines(result):
    """What is shown, but for the time, what was read, and how many rules there are at most.

    Of these, pieces know less: the number of different values is not counted.
    """
    shown = [line for line in result.stdout.splitlines() if not line.startswith(("time", "read"))]
    return [re.sub(r"(some )?(10\^)?[0-9,]+ rules", "… rules", line) for line in shown]


ASKED = ("--target", "state", "--label", "ill", "--w", "4", "--forbid", "died,grade")


def test_pieces_are_shown_like_one_file(opdt, parts):
    whole = opdt("fit", "whole.parquet", *ASKED, "--json", "whole.json")
    assert whole.exit_code == 0, whole.stderr
    files = sorted(Path("parts").iterdir())
    for data in ([parts], ["parts"], files, ["whole.parquet", "--memory-limit", "300MB"]):
        result = opdt("fit", *data, *ASKED, "--json", "pieces.json")
        assert result.exit_code == 0, result.stderr
        assert [line.split() for line in lines(result)] == [line.split() for line in lines(whole)]
        assert "passes over 400 rows" in result.stdout
        assert read_rule("pieces.json") == read_rule("whole.json")
        written, expected = (json.loads(Path(f"{n}.json").read_text()) for n in ("pieces", "whole"))
        known = [each["info"].pop("verdict")["level"] for each in (written, expected)]
        assert known == ["supported", "supported"]
        assert written == expected


def test_quiet_pieces_give_the_rule_alone(opdt, parts):
    result = opdt("fit", parts, *ASKED, "--quiet")
    rule = discover(parts, "state", label="ill", w=4, constraints={"forbidden": ["died", "grade"]})
    assert (result.stdout, result.stderr) == (f"{rule.rule}\n", "")


@pytest.mark.parametrize(
    ("target", "label", "code"),
    [("died", "True", 0), ("died", "1", 0), ("grade", "2", 0), ("state", "well", 0)],
)
def test_a_class_is_spelt_as_its_column_holds_it(opdt, parts, target, label, code):
    result = opdt("fit", parts, "--target", target, "--label", label, "--w", 1)
    assert result.exit_code == code, result.stderr
    assert f"THEN {'True' if target == 'died' else label}" in result.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--target", "nowhere"), "there is no column 'nowhere'"),
        (("--target", "died", "--label", "perhaps"), "column 'died' holds true and false"),
        (("--target", "grade", "--label", "two"), "column 'grade' holds numbers"),
        (("--target", "grade", "--label", "9"), "class 9 does not occur"),
        (("--target", "state", "--engine", "exhaustive"), "needs the whole table in memory"),
        (("--target", "state", "--memory-limit", "much"), "must be a number of bytes"),
        (("--target", "state", "--forbid", "nowhere"), "'nowhere'"),
        (("--target", "state", "--role", "site=numeric"), "'site' holds no number"),
        (("--target", "state", "--json", "parts/a.parquet"), "is the input"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(opdt, parts, refused, options, words):
    data = ["parts/a.parquet", "parts/c.parquet"] if "--json" in options else [parts]
    refused(opdt("fit", *data, *options), words)


def test_files_that_are_not_there_or_cannot_be_read_are_named(opdt, parts, refused):
    refused(opdt("fit", "gone/*.parquet", "--target", "state"), "'gone/*.parquet'")
    refused(opdt("fit", "-", parts, "--target", "state"), "standard input cannot be read in pieces")
    Path("parts/d.parquet").write_bytes(b"PAR1 nothing")
    refused(opdt("fit", parts, "--target", "state"), "cannot read 'parts/d.parquet'")


def test_numbers_here_and_text_there_are_refused_naming_both(opdt, parts, refused):
    table = patients().set_column(0, "age", pa.array(["old"] * 400))
    pq.write_table(table, "parts/d.parquet")
    refused(opdt("fit", parts, *ASKED), "'parts/a.parquet'", "'parts/d.parquet'", "'age'")


def test_ctrl_c_gives_the_best_rule_so_far(opdt, parts, monkeypatch):
    def interrupt(self, progress):
        if progress.passes > 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(SearchProgress, "__call__", interrupt)
    result = opdt("fit", parts, *ASKED)
    assert result.exit_code == 130
    assert "not proven (interrupted): no allowed rule has a VI above" in result.stdout


def test_ctrl_c_before_the_first_pass_ends_says_so(opdt, parts, monkeypatch):
    def interrupt(self, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchProgress, "__call__", interrupt)
    result = opdt("fit", parts, *ASKED, "--json", "rule.json")
    assert result.exit_code == 130
    assert result.stdout.startswith("No rule that pays for its errors was found in time.\n")
    assert "not proven (interrupted): no allowed rule has a VI above 400" in result.stdout
    assert "0 passes over 400 rows" in result.stdout  # only the columns were looked at
    assert not Path("rule.json").exists()


def test_progress_tells_pass_partitions_value_and_bound(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(
        console, "stderr", lambda: Console(file=out, force_terminal=True, width=120)
    )
    with SearchProgress() as bar:
        bar(PassProgress(2, float("-inf"), float("inf"), 0.1, 1, 1, 10))
        bar._bar.refresh()
        assert "pass 1, 1 of 10 partitions" in out.getvalue()
        assert "VI" not in out.getvalue()
        bar(PassProgress(3, 40, 90, 0.5, 2, 5, 10))
        bar._bar.refresh()
        assert "pass 2, 5 of 10 partitions  VI 40, bound 90, gap 50  3.0 s" in out.getvalue()


@pytest.mark.filterwarnings("ignore")  # of Dask's own making
def test_the_workers_of_a_dask_scheduler_read_the_files(opdt, parts):
    distributed = pytest.importorskip("distributed", reason="pip install 'opdt[dask]'")
    expected = opdt("fit", "whole.parquet", *ASKED)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    )
    with cluster:
        result = opdt("fit", parts, *ASKED, "--dask", cluster.scheduler_address)
    assert result.exit_code == 0, result.stderr
    assert [line.split() for line in lines(result)] == [line.split() for line in lines(expected)]


@pytest.mark.filterwarnings("ignore")
def test_an_address_without_a_scheduler_is_refused(opdt, parts, refused):
    pytest.importorskip("distributed", reason="pip install 'opdt[dask]'")
    refused(opdt("fit", parts, *ASKED, "--dask", "nonsense://x"), "not the address of a Dask")


# -- apply ---------------------------------------------------------------------------------------


@pytest.fixture
def rule(folder):
    write_rule(folder / "rule.json", AGED)
    return "rule.json"


def test_files_are_marked_into_a_folder_with_their_names(opdt, parts, rule):
    result = opdt("apply", rule, parts, "--out", "marked", "--column", "at risk")
    assert (result.exit_code, result.stdout) == (0, "")
    covered = int((patients().column("age").to_numpy() >= 40).sum())
    assert result.stderr == f"the rule fires on {covered:,} of 400 rows: {AGED}\n"
    for path in Path("parts").iterdir():
        given, marked = pq.read_table(path), pq.read_table(Path("marked") / path.name)
        assert marked.drop_columns(["at risk"]).equals(given)
        assert marked.column("at risk").to_pylist() == AGED.covers(given).tolist()
    assert sorted(os.listdir()) == ["marked", "parts", "patients.csv", "rule.json", "whole.parquet"]


def test_large_parquet_files_are_marked_batch_by_batch(opdt, parts, rule, monkeypatch):
    monkeypatch.setattr(mark_files, "BATCH_ROWS", 32)
    assert opdt("apply", rule, "parts", "-o", "marked").exit_code == 0
    given = pq.read_table("parts/c.parquet")
    assert pq.read_table("marked/c.parquet").column("rule").to_pylist() == (
        AGED.covers(given).tolist()
    )


def test_text_files_and_folders_within_keep_their_places(opdt, folder, rule):
    Path("in/deep").mkdir(parents=True)
    shutil.copy("patients.csv", "in/one.csv")
    Path("in/deep/two.tsv").write_text("age\tid\n50\t007\n")
    write_rule("any.json", RuleSet([AGED], "ill", "well"))
    assert opdt("apply", "any.json", "in", "-o", "out").exit_code == 0
    assert Path("out/deep/two.tsv").read_text() == "age\tid\trule\n50\t007\ttrue\n"
    assert Path("out/one.csv").read_text().startswith("id,age,smoker,since,state,rule\n001,25,")


@pytest.mark.parametrize("breaks", ["pages", "column", "name"])
def test_nothing_is_half_written(opdt, parts, rule, refused, breaks):
    table = pq.read_table("parts/c.parquet")
    if breaks == "pages":
        data = bytearray(Path("parts/c.parquet").read_bytes())
        data[4:800] = b"\xff" * 796
        Path("parts/c.parquet").write_bytes(bytes(data))
    elif breaks == "column":
        pq.write_table(table.drop_columns(["age"]), "parts/c.parquet")
    else:
        pq.write_table(table.append_column("rule", table.column("age")), "parts/c.parquet")
    before = sorted(os.listdir())
    words = {
        "pages": "cannot read 'parts/c.parquet'",
        "column": "'parts/c.parquet' has no column 'age'",
        "name": "already has a column 'rule'",
    }
    refused(opdt("apply", rule, parts, "-o", "marked"), words[breaks])
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "name a new one with '--out'"),
        (("-o", "marked.parquet"), "is the name of a file"),
        (("-o", "parts"), "is already there"),
        (("-o", "gone/marked"), "a folder that does not exist"),
    ],
)
def test_where_marked_files_go_is_checked_first(opdt, parts, rule, refused, options, words):
    refused(opdt("apply", rule, parts, *options), words)


def test_an_empty_folder_may_be_filled(opdt, parts, rule):
    Path("marked").mkdir()
    assert opdt("apply", rule, parts, "-o", "marked").exit_code == 0
    assert len(list(Path("marked").iterdir())) == 3
