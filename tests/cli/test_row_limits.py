"""Measures and limits on sums of rows on the command line."""

from __future__ import annotations

import json

import pytest

from opdt import Parity, PerSegment
from opdt.cli.row_limits import parity_of, rows_or_share, segment_of
from opdt.errors import InputError

ROWS = [
    (20, "n", "well"), (25, "s", "well"), (31, "n", "ill"), (38, "s", "well"), (47, "n", "ill"),
    (52, "s", "ill"), (60, "n", "ill"), (66, "s", "ill"),
]  # fmt: skip


@pytest.fixture
def patients(tmp_path):
    path = tmp_path / "patients.csv"
    lines = ["age,region,state", *(f"{age},{region},{state}" for age, region, state in ROWS * 5)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_limits_as_they_are_written():
    assert segment_of("region precision>=0.8") == PerSegment("region", min_precision=0.8)
    assert segment_of("the region coverage <= 200") == PerSegment("the region", max_coverage=200)
    assert segment_of("region coverage<=0.5") == PerSegment("region", max_coverage=0.5)
    assert segment_of("region errors <=3") == PerSegment("region", max_errors=3.0)
    assert parity_of("sex difference<=0.1") == Parity("sex", max_difference=0.1)
    assert parity_of("sex recall ratio>=0.8") == Parity("sex", of="recall", min_ratio=0.8)
    assert parity_of("sex coverage ratio >= 1") == Parity("sex", min_ratio=1.0)
    assert (rows_or_share(20.0), rows_or_share(0.2), rows_or_share(1.0)) == (20, 0.2, 1)
    for text in ("region", "precision>=0.8", "region precision<=0.8", "region precision>=x"):
        with pytest.raises(InputError, match="'--per' must look like"):
            segment_of(text)
    with pytest.raises(InputError, match="'--parity' must look like"):
        parity_of("sex <= 0.1")


def test_a_measure_is_told_in_its_own_words(opdt, patients):
    done = opdt("fit", patients, "--target", "state", "--objective", "f1", "--label", "ill")
    assert done.exit_code == 0
    assert "no allowed rule has a larger F1" in " ".join(done.stdout.split())
    assert done.stdout.split("F1")[1].split()[0] == "0.9091"


def test_limits_are_kept(opdt, patients, tmp_path):
    out = tmp_path / "rule.json"
    done = opdt(
        "fit", patients, "--target", "state", "--w", "3", "--label", "ill", "--role",
        "region=ignored", "--max-coverage", "10", "--per", "region coverage<=5", "--parity",
        "region difference<=0.1", "--json", out,
    )  # fmt: skip
    assert done.exit_code == 0
    assert json.loads(out.read_text())["info"]["covered"] <= 10


def test_every_significant_rule(opdt, patients, tmp_path):
    out = tmp_path / "rules.json"
    done = opdt(
        "test", patients, "--target", "state", "--all", "--w", "3", "--permutations", "39",
        "--label", "ill", "--json", out,
    )  # fmt: skip
    assert done.exit_code == 0
    assert "significant at 0.05" in done.stdout
    said = json.loads(out.read_text())
    assert said["complete"]
    assert all(rule["p_value"] <= 0.05 for rule in said["rules"])


def test_lists_keep_the_limits(opdt, patients, tmp_path):
    out = tmp_path / "list.json"
    done = opdt(
        "alternatives", patients, "--target", "state", "--max-coverage", "20", "--w", "3", "--best",
        "--json", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    listed = json.loads(out.read_text())["best"]["rules"]
    assert listed
    assert all(rule["covered"] <= 20 for rule in listed)


def test_what_cannot_be_asked_gets_a_sentence(opdt, refused, patients):
    base = ("fit", patients, "--target", "state")
    refused(opdt(*base, "--per", "region"), "'--per' must look like")
    refused(opdt(*base, "--parity", "region"), "'--parity' must look like")
    refused(opdt(*base, "--per", "regoin errors<=1"), "'regoin'")
    refused(opdt(*base, "--objective", "f1", "--w", "3"), "'--w' is the price")
    refused(
        opdt("test", patients, "--target", "state", "--all", "--objective", "f1"),
        "'--objective' must be 'vi' or 'coverage'",
    )


def test_a_report_says_the_limits(opdt, patients, tmp_path):
    out = tmp_path / "report.html"
    done = opdt(
        "report", patients, "--target", "state", "--objective", "f1", "--label", "ill",
        "--max-coverage", "20", "--parity", "region difference<=0.2", "-o", out, "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    page = out.read_text()
    assert "coverage by region: difference &lt;= 0.2" in page
    assert "F1" in page
