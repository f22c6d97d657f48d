from __future__ import annotations

import csv
from importlib import import_module

import pytest

from experiments.toys import write_small_data
from opdt.errors import InputError
from opdt.experiments import comparison
from opdt.experiments.registry import EXPERIMENTS


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.delenv("OPDT_DATA", raising=False)
    return write_small_data(tmp_path / "raw")


@pytest.fixture
def small(opdt, data):
    """Runs `opdt reproduce` on one small dataset with a method that takes no time."""

    def run(*arguments, methods="prism"):
        options = ("--datasets", "pima", "--methods", methods, "--splits", "2", "--data", data)
        return opdt("reproduce", *arguments, *options)

    return run


def test_without_a_name_the_experiments_are_listed(opdt):
    result = opdt("reproduce")
    assert result.exit_code == 0
    starts = [line.split()[0] for line in result.stdout.splitlines() if line[:1].strip()]
    assert [name for name in starts if name in EXPERIMENTS] == list(EXPERIMENTS)
    assert "all" in starts
    assert "Table 6" in result.stdout


def test_the_help_has_examples(opdt):
    result = opdt("reproduce", "--help")
    assert result.exit_code == 0
    assert "$ opdt reproduce all --quick" in result.stdout
    for option in ("--splits", "--seeds", "--time-limit", "--jobs", "--out", "--quick", "--data"):
        assert option in result.stdout


def test_a_run_prints_its_tables_and_says_where_the_files_are(small, folder):
    result = small("training")
    assert result.exit_code == 0, result.stderr
    assert "VI on the training rows" in result.stdout
    assert "Below ours stands the paper's." in result.stdout
    assert result.stdout.splitlines()[-1] == "reproduction/tables/training.{csv,md,html}"
    assert "note: " in result.stderr  # the file is not that of the archive
    with (folder / "reproduction" / "tables" / "training.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "training VI"]
    assert [(row["method"], row["paper"], row["n"]) for row in rows] == [("prism", "22.8", "2")]


def test_a_second_run_adds_nothing_and_prints_the_same(small, folder):
    first = small("test", "--out", "here")
    lines = (folder / "here" / "cells.jsonl").read_bytes()
    second = small("test", "--out", "here")
    assert (folder / "here" / "cells.jsonl").read_bytes() == lines
    assert second.stdout == first.stdout


def test_experiments_that_share_their_notes_show_them_once(small):
    result = small("training", "test")
    assert " ".join(result.stdout.split()).count("the paper's own splits") == 1
    assert result.stdout.count("(Table 6)") == result.stdout.count("(Table 8)") == 1


def test_a_quick_run_says_that_it_is_one(opdt, data, folder):
    result = opdt(
        "reproduce", "test", "--quick", "--datasets", "pima", "--methods", "cart", "--data", data
    )
    assert result.exit_code == 0, result.stderr
    page = (folder / "reproduction" / "tables" / "test.html").read_text()
    assert "This is a quick run" in result.stderr
    assert "This is a quick run" in page
    assert "Asked for: 2 splits, at most 1 seed per split" in page


def test_a_method_whose_package_is_missing_is_skipped_with_a_line(small, monkeypatch):
    monkeypatch.setattr(
        comparison, "missing_package", lambda name: "imodels" if name == "brs" else None
    )
    result = small("test", methods="prism,brs")
    assert result.exit_code == 0
    assert "BRS is skipped: it needs imodels; run: pip install 'opdt[baselines]'." in result.stderr
    assert "1 BRS is skipped" in result.stdout


def test_a_measurement_that_fails_is_told_and_shown_as_a_dash(small, monkeypatch):
    from opdt.experiments.registry import MEASURES

    monkeypatch.setitem(MEASURES, "rule", "experiments.toys:measure")  # which knows no `dataset`
    result = small("test")
    assert result.exit_code == 0
    assert result.stderr.count("failed: rule dataset=pima") == 1
    assert "2 of 2 measurements failed and show as a dash" in result.stdout
    assert "— 1" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trainin"], ["'trainin'", "did you mean 'training'?"]),
        (["training", "--datasets", "prima"], ["'prima'", "'pima'"]),
        (["training", "--methods", "riper"], ["'riper'", "ripper"]),
        (["training", "--splits", "0"], ["--splits"]),
        (["training", "--seeds", "brs=0"], ["--seeds", "'brs=0'"]),
        (["training", "--seeds", "bsr=3"], ["--seeds", "'bsr=3'"]),
        (["training", "--datasets", ","], ["--datasets", "names nothing"]),
        (["structures", "--structures", "num-all"], ["--structures", "'num-all'", "cat-num"]),
        (["structures", "--solver", "cplex"], ["--solver", "'cplex'", "scip"]),
        (["structures", "--formulation", "flow"], ["--formulation", "'flow'", "path"]),
        (["improvement", "--datasets", "pima"], ["'improvement'", "nothing to measure"]),
        (["sensitivity", "--time-limit", "0"], ["time_limit"]),
        (["training", "--jobs", "0"], ["--jobs"]),
        (["training", "--data", "nowhere"], ["nowhere"]),
    ],
)
def test_wrong_use_is_one_sentence(opdt, refused, arguments, words):
    refused(opdt("reproduce", *arguments), *words)


def test_missing_data_are_one_sentence(opdt, refused, monkeypatch, tmp_path):
    # The package exports a function of the same name, which hides the module.
    fetch_module = import_module("opdt.datasets.fetch")

    def offline(source, progress=None):
        raise InputError(f"dataset {source.name!r} could not be downloaded.")

    monkeypatch.setattr(fetch_module, "download", offline)
    monkeypatch.setattr(fetch_module, "_cached", lambda source: tmp_path / source.file)
    monkeypatch.delenv("OPDT_DATA", raising=False)
    result = opdt("reproduce", "training", "--datasets", "pima", "--methods", "prism")
    refused(result, "dataset 'pima' could not be downloaded")


def test_ctrl_c_says_how_to_go_on(small, monkeypatch):
    from experiments import toys
    from opdt.experiments.registry import MEASURES

    monkeypatch.setitem(MEASURES, "rule", "experiments.toys:stop")
    monkeypatch.setattr(toys, "DONE", [])
    result = small("test", "--out", "here")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "kept in 'here': the same command goes on there." in result.stderr
