"""`--objective money` and `--objective mean`, on every command that has them."""

from __future__ import annotations

import json

import numpy as np
import pytest

SMALL = ("--engine", "exhaustive")
MONEY = ("--objective", "money", "--benefit", "amount", "--cost", "4", "--unit", "EUR")
FRAUD = ("claims.csv", "--target", "fraud", *MONEY, "--depth", "1")
DAYS = ("claims.csv", "--target", "days", "--objective", "mean", "--unit", "days", "--depth", "1")


@pytest.fixture
def claims(folder):
    rng = np.random.default_rng(0)
    lines = ["hour,amount,days,fraud"]
    for _ in range(60):
        hour, amount = int(rng.integers(24)), round(float(rng.exponential(50)), 2)
        days = round(float(2 + 3 * (hour >= 12) + rng.exponential()), 1)
        fraud = "yes" if hour < 6 and rng.random() < 0.7 else "no"
        lines.append(f"{hour},{amount},{days},{fraud}")
    (folder / "claims.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("claims")
def test_the_rule_that_brings_most_is_shown_and_written_with_its_amounts(opdt, folder):
    result = opdt("fit", *FRAUD, *SMALL, "--json", "rule.json")
    assert result.exit_code == 0, result.stderr
    assert "THEN yes" in result.stdout
    assert "net benefit" in result.stdout
    assert "proven optimal: no allowed rule has a larger net benefit" in result.stdout
    info = json.loads((folder / "rule.json").read_text())["info"]
    assert info["objective"] == {
        "objective": "money", "benefit": "amount", "cost": 4.0, "unit": "EUR"
    }  # fmt: skip
    assert info["account"]["unit"] == "EUR"
    assert info["account"]["numbers"]["net benefit"] == info["value"]
    assert "w" not in info


@pytest.mark.usefixtures("claims")
def test_the_highest_mean_and_the_largest_sum_are_found(opdt):
    result = opdt("fit", *DAYS, "--min-coverage", "0.2")
    assert result.exit_code == 0, result.stderr
    assert "THEN high" in result.stdout
    assert "has a mean of" in result.stdout
    assert "precision" not in result.stdout
    low = opdt("fit", *DAYS, "--threshold", "4", "--low", "--quiet")
    assert low.stdout.rstrip().endswith("THEN low")


@pytest.mark.usefixtures("claims")
def test_the_frontier_of_an_objective_lists_numbers_of_rows(opdt, folder):
    asked = ("path", "claims.csv", "--target", "days", "--objective", "mean", "--frontier")
    shown = opdt(*asked, "--depth", "1", "--json", "frontier.json")
    assert "covered  coverage" in shown.stdout
    written = json.loads((folder / "frontier.json").read_text(encoding="utf-8"))
    assert written["complete"]
    assert written["along"] == "rows"
    covered = [each["covered"] for each in written["rules"]]
    means = [each["value"] for each in written["rules"]]
    assert covered == sorted(covered)
    assert means == sorted(means, reverse=True)


@pytest.mark.usefixtures("claims")
def test_files_in_pieces_give_the_same_rule(opdt, folder):
    lines = (folder / "claims.csv").read_text().splitlines()
    for name, rows in (("a.csv", lines[1:20]), ("b.csv", lines[20:])):
        (folder / name).write_text("\n".join([lines[0], *rows]) + "\n")
    asked = ("--target", "fraud", *MONEY, "--label", "yes", "--depth", "1", "--quiet")
    whole, pieces = opdt("fit", "claims.csv", *asked), opdt("fit", "a.csv", "b.csv", *asked)
    assert pieces.exit_code == 0, pieces.stderr
    assert pieces.stdout == whole.stdout
    shown = opdt("fit", "a.csv", "b.csv", *asked[:-1])
    assert "of 60 rows" in shown.stdout


@pytest.mark.usefixtures("claims")
def test_a_rule_is_explained_in_the_words_of_its_objective(opdt):
    assert opdt("fit", *DAYS, "--threshold", "4", "--quiet", "--json", "r.json").exit_code == 0
    assert "then the number is high." in opdt("explain", "r.json").stdout.replace("\n", " ")
    written = opdt("export", "r.json", "--to", "english").stdout.replace("\n", " ")
    assert "then the number is high." in written


@pytest.mark.usefixtures("claims")
def test_every_significant_rule_of_an_objective_is_listed(opdt, folder):
    asked = ("--threshold", "4", "--all", "--permutations", "19", "--json", "s.json")
    listed = opdt("test", *DAYS, *asked)
    assert listed.exit_code == 0, listed.stderr
    assert "significant at 0.05 (sum of (y - 4) above" in listed.stdout
    said = json.loads((folder / "s.json").read_text())
    assert said["complete"]
    assert said["rules"]


@pytest.mark.usefixtures("claims")
def test_other_commands_know_the_objectives(opdt, folder):
    listed = opdt("alternatives", *DAYS, "--threshold", "4", "--limit", "3", "--json", "a.json")
    assert "sum of (y - 4)" in listed.stdout
    assert len(json.loads((folder / "a.json").read_text())["best"]["rules"]) == 3
    tested = opdt(
        "test", *FRAUD, "--permutations", "19", "--bootstraps", "5", "--hold-out", "0.3",
        "--json", "t.json",
    )  # fmt: skip
    assert tested.exit_code == 0, tested.stderr
    assert "a covered row" in tested.stdout
    assert {"left_out_worth", "held_out_mean"} <= set(
        json.loads((folder / "t.json").read_text())["info"]
    )
    path = opdt("path", *DAYS, "--json", "-")
    assert json.loads(path.stdout)["along"] == "threshold"
    assert "price of cost" in opdt("path", *FRAUD).stdout


@pytest.mark.usefixtures("claims")
def test_a_report_is_written(opdt, folder):
    pytest.importorskip("jinja2")
    result = opdt("report", *DAYS, "--hold-out", "0.3", "-o", "r.html")
    assert result.exit_code == 0, result.stderr
    assert "has a mean of" in (folder / "r.html").read_text()


@pytest.mark.usefixtures("claims")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "--target", "fraud", "--objective", "money"), "needs '--benefit'"),
        (("fit", "--target", "fraud", "--benefit", "3"), "belongs to '--objective money'"),
        (("fit", "--target", "days", "--threshold", "3"), "belongs to '--objective mean'"),
        (("fit", "--target", "fraud", *MONEY, "--w", "3"), "'--w' is the price of an error"),
        (("fit", "--target", "days", "--objective", "mean", "--label", "a"), "'--label' names"),
        (("fit", "--target", "fraud", "--objective", "mean"), "holds no number but"),
        (
            ("fit", "--target", "fraud", "--objective", "money", "--benefit", "x", "--cost", "1"),
            "there is no column 'x'",
        ),
        (
            ("fit", "--target", "fraud", "--objective", "money", "--benefit", "1", "--cost", "-1"),
            "'cost' must not be negative",
        ),
        (("alternatives", "--target", "fraud", "--objective", "coverage"), "gives no order"),
        (("alternatives", "--target", "days", "--objective", "mean"), "give it a threshold"),
        (("path", "--target", "days", "--objective", "mean", "--w-max", "3"), "is not there for"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_sentence(opdt, arguments, said):
    command, *rest = arguments
    result = opdt(command, "claims.csv", *rest)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
