"""Whom to treat and whose event comes early, on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

UPLIFT = ("--objective", "uplift", "--treatment", "drug", "--outcome", "gain")
SURVIVAL = ("--objective", "survival", "--time", "days", "--event", "died")
QUICK = ("--depth", "1")


@pytest.fixture
def trial(folder):
    """A drug that helps from 50 years on; and events that come early from 60 years on."""
    rng = np.random.default_rng(3)
    n = 200
    age, drug = rng.integers(20, 90, n), rng.integers(0, 2, n)
    gain = (np.where(age >= 50, 4.0, -2.0) * drug + rng.normal(size=n)).round(3)
    until = rng.exponential(np.where(age >= 60, 50.0, 400.0)).round(1)
    days, died = np.minimum(until, 300), (until <= 300).astype(int)
    arm = np.where(drug == 1, "verum", "placebo")
    lines = ["age,drug,arm,gain,days,died"]
    lines += [",".join(map(str, row)) for row in zip(age, drug, arm, gain, days, died, strict=True)]
    (folder / "trial.csv").write_text("\n".join(lines) + "\n")
    (folder / "first.csv").write_text("\n".join(lines[:121]) + "\n")
    (folder / "rest.csv").write_text("\n".join([lines[0], *lines[121:]]) + "\n")
    return folder


def test_whom_to_treat(trial, opdt):
    forbid = ("--forbid", "arm,days,died", *QUICK)
    result = opdt("fit", "trial.csv", *UPLIFT, "--propensity", "0.5", "--unit", "points", *forbid)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "THEN treat" in text
    assert "no allowed rule has a larger uplift" in text
    assert "by the scores that it was chosen by, which flatter it" in text
    named = opdt(
        "fit", "trial.csv", "--objective", "uplift", "--treatment", "arm", "--treated", "verum",
        "--outcome", "gain", "--propensity", "0.5", "--forbid", "drug,days,died", *QUICK, "-q",
    )  # fmt: skip
    assert named.stdout.strip() == text.partition(" THEN")[0] + " THEN treat"
    low = opdt("fit", "trial.csv", *UPLIFT, "--propensity", "0.5", "--low", "-q", *forbid)
    assert low.stdout.startswith("IF age < ")


def test_a_cost_makes_for_fewer_rows(trial, opdt):
    forbid = ("--forbid", "arm,days,died", *QUICK, "--propensity", "0.5", "--json", "-")
    free = json.loads(opdt("fit", "trial.csv", *UPLIFT, *forbid).stdout)["info"]
    dear = json.loads(opdt("fit", "trial.csv", *UPLIFT, "--cost", "1", *forbid).stdout)["info"]
    assert free["objective"]["treatment"] == "drug"
    assert dear["objective"]["cost"] == 1
    assert dear["value"] < free["value"]


def test_whose_event_comes_early(trial, opdt):
    forbid = ("--forbid", "arm,drug,gain", *QUICK)
    result = opdt("fit", "trial.csv", *SURVIVAL, *forbid)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "THEN high risk" in text
    assert "has more events beyond expectation" in text
    other = opdt("fit", "trial.csv", *SURVIVAL, "--low", "--score", "martingale", "-q", *forbid)
    assert other.stdout.rstrip().endswith("THEN low risk")
    strict = opdt("fit", "trial.csv", *SURVIVAL, "--ratio", "2", *forbid)
    assert "events beyond 2 × expectation" in " ".join(strict.stdout.split())


def test_evidence_and_alternatives(trial, opdt):
    forbid = ("--forbid", "arm,drug,gain", *QUICK)
    result = opdt(
        "test", "first.csv", *SURVIVAL, *forbid, "--test", "rest.csv",
        "--permutations", "19", "--bootstraps", "3", "--json", "evidence.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "events come " in text
    assert "held-out rows" in text
    facts = json.loads((trial / "evidence.json").read_text())["info"]
    assert facts["objective"]["objective"] == "survival"
    assert facts["p_value"] == pytest.approx(0.05)
    listed = opdt("alternatives", "trial.csv", *SURVIVAL, *forbid, "--best", "--limit", "2")
    assert "events beyond expectation" in listed.stdout


def test_paths(trial, opdt):
    forbid = ("--forbid", "arm,drug,gain", *QUICK)
    result = opdt("path", "trial.csv", *SURVIVAL, *forbid)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.split()[:2] == ["ratio", "covered"]
    other = ("--propensity", "0.5", "--forbid", "arm,days,died", *QUICK)
    result = opdt("path", "trial.csv", *UPLIFT, *other)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.split()[:2] == ["further", "cost"]


def test_a_page_with_curves(trial, opdt):
    pytest.importorskip("jinja2")
    forbid = ("--forbid", "arm,drug,gain", *QUICK)
    result = opdt("report", "first.csv", *SURVIVAL, *forbid, "--test", "rest.csv", "-q")
    assert result.exit_code == 0, result.stderr
    page = (trial / "report.html").read_text()
    assert page.count("Kaplan–Meier curves") >= 2
    assert "events come " in page


def test_what_is_missing_or_too_much(trial, opdt, refused):
    fit = ("fit", "trial.csv")
    refused(opdt(*fit, "--objective", "uplift"), "'--treatment'", "'--outcome'")
    refused(opdt(*fit, "--objective", "survival", "--time", "days"), "'--event'")
    refused(opdt(*fit, *SURVIVAL, "--target", "arm"), "'--target' is not used by")
    refused(opdt(*fit), "Missing option '--target'")
    refused(opdt(*fit, "--target", "arm", "--time", "days"), "'--time' belongs to")
    refused(opdt(*fit, *SURVIVAL, "--propensity", "0.5"), "'--propensity' belongs to")
    refused(opdt(*fit, *SURVIVAL, "--label", "1"), "'--label' names a class")
    refused(opdt(*fit, *SURVIVAL, "--memory-limit", "1GB"), "whole table in memory")
    refused(opdt(*fit, *SURVIVAL, "--score", "cox"), "'score' must be 'log-rank' or 'martingale'")
    refused(opdt(*fit, *UPLIFT, "--propensity", "1"), "'propensity' must be between 0 and 1")
    wrong = ("--objective", "survival", "--time", "day", "--event", "died")
    refused(opdt(*fit, *wrong), "day")
