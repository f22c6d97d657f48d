from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from opdt import read_rule
from opdt.cli.group import Group
from opdt.cli.significance import significance

QUICK = ("--target", "state", "--permutations", 99, "--bootstraps", 10, "--depth", 1)


@pytest.fixture
def test(folder):
    """Runs `opdt test` with these arguments."""
    app = typer.Typer(cls=Group)
    app.command("test")(significance)
    app.callback()(lambda: None)
    rng = np.random.default_rng(0)
    rows = ["age,clinic,state"]
    for i in range(60):
        age = 20 + int(rng.integers(50))
        rows.append(f"{age},{'ab'[i % 2]},{'ill' if age >= 45 else 'well'}")
    (folder / "many.csv").write_text("\n".join(rows) + "\n")

    def run(*arguments):
        return CliRunner().invoke(app, ["test", *map(str, arguments)], prog_name="opdt")

    return run


def test_rule_test_stability_and_claim_are_shown(test):
    result = test("many.csv", *QUICK)
    assert result.exit_code == 0
    assert "the rarer of two classes; '--label' names another" in result.stderr
    shown = result.stdout
    assert shown.startswith("IF   age ")
    assert "Is it better than chance?\np-value       0.010, the smallest" in shown
    assert "Would other rows give the same rule?\nbootstraps     10\n" in shown
    assert "What does it do on rows" not in shown
    claim = " ".join(shown.partition("What may be claimed\n")[2].split())
    assert "a rule as good is rare (p = 0.010" in claim
    assert "Not shown: that 100.0%, the precision on the rows" in claim


def test_quiet_prints_the_claim_alone(test):
    result = test("many.csv", *QUICK, "--quiet")
    assert result.stdout.startswith("No rule of the kind searched has a higher precision")
    assert "p-value" not in result.stdout
    result = test("many.csv", *QUICK, "--quiet", "--paper")
    assert result.stdout.startswith("No rule of the kind searched has a larger VI")


def test_the_rule_tested_is_the_one_that_fit_shows(test, opdt):
    asked = ("many.csv", *QUICK[:2], "--depth", 1, "--min-coverage", 0.2)
    fitted = opdt("fit", *asked, "--quiet").stdout.strip()
    shown = test(*asked, "--permutations", 39, "--bootstraps", 0).stdout
    assert " ".join(shown.partition("\n\n")[0].split()) == fitted
    assert "no allowed rule with enough rows is more precise" in shown


def test_held_out_rows_are_not_searched(test, folder):
    result = test("many.csv", *QUICK, "--hold-out", 0.25)
    assert "What does it do on rows it has not seen?\nheld-out rows  15\n" in result.stdout
    assert "of 45 rows" in result.stdout
    (folder / "new.csv").write_text("age,state\n50,ill\n60,well\n30,well\n")
    result = test("many.csv", *QUICK, "--test", "new.csv", "--label", "ill")
    assert "(1 of 2; 95% interval" in result.stdout


def test_strata_and_bootstraps_are_options(test):
    result = test("many.csv", *QUICK, "--strata", "clinic", "--bootstraps", 0)
    assert "within 2 strata" in result.stdout
    assert "Would other rows" not in result.stdout


def test_the_rule_is_written_with_the_evidence(test, folder):
    result = test("many.csv", *QUICK, "--json", "rule.json", "--hold-out", 0.2)
    assert result.exit_code == 0
    info = json.loads((folder / "rule.json").read_text())["info"]
    assert (info["p_value"], info["permutations"], info["bootstraps"]) == (0.01, 99, 10)
    assert info["held_out_rows"] == 12
    assert (info["objective"], info["value"]) == ("precision", 1)
    assert info["may_claim"].endswith(".")
    assert read_rule("rule.json").features == ("age",)


def test_a_time_limit_is_shared(test):
    result = test("many.csv", *QUICK[:2], "--permutations", 10**6, "--time-limit", 0.4)
    assert result.exit_code == 0
    assert "(time limit)" in result.stdout


def test_without_a_rule_the_code_says_so(test, folder):
    (folder / "flat.csv").write_text("x,state\n" + "1,a\n1,b\n" * 5 + "2,a\n2,b\n")
    result = test("flat.csv", *QUICK, "--paper")
    assert result.exit_code == 3
    assert "p-value       1.000" in result.stdout
    result = test("flat.csv", *QUICK, "--paper", "--json", "rule.json")
    assert "there is no rule" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("many.csv", *QUICK, "--hold-out", 0.2, "--test", "many.csv"), "choose one"),
        (("many.csv", *QUICK, "--alpha", 2), "'alpha'"),
        (("many.csv", *QUICK, "--objective", "coverage"), "needs a 'min_precision'"),
        (("many.csv", *QUICK, "--objective", "precision", "--w", 3), "drop one"),
        (("many.csv", *QUICK, "--strata", "town"), "town"),
        (("many.csv", *QUICK, "--json", "many.csv"), "is the input"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(test, refused, arguments, word):
    refused(test(*arguments), word)


@pytest.mark.parametrize("cells", ["1,u\n1,u\n1,v", ",u\n,u\n,v"], ids=["constant", "missing"])
def test_without_a_usable_column_there_is_one_sentence(opdt, folder, refused, cells):
    (folder / "none.csv").write_text(f"a,y\n{cells}\n")
    result = opdt("test", "none.csv", "--target", "y", "--quiet")
    refused(result, "no column")
