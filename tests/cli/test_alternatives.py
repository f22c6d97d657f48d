from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from opdt.cli.alternatives import alternatives, read_within
from opdt.cli.group import Group
from opdt.errors import InputError
from opdt.rules import rule_from_dict
from opdt.verdict import SAME_ROWS

# Ill: three old ones, two with a fast pulse. Age alone finds the first, pulse the others.
STATES = """\
age,pulse,weight,state
25,60,70,well
31,62,71,well
60,61,80,ill
65,59,85,ill
70,60,90,ill
24,95,70,ill
28,99,71,ill
"""
COMMAND = ("alternatives", "states.csv", "--target", "state", "--label", "ill", "--w", 10)


@pytest.fixture
def opdt(folder):
    """Runs `opdt alternatives`."""
    (folder / "states.csv").write_text(STATES)
    app = typer.Typer(cls=Group, pretty_exceptions_enable=False)
    app.command()(alternatives)
    app.callback()(lambda: None)

    def run(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="opdt")

    return run


def lines(result):
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_all_three_parts_are_listed_with_their_proof(opdt):
    result = opdt(
        *COMMAND, "--within", "1%", "--best", "--limit", 2, "--max-overlap", 0.5, "--depth", 1
    )
    assert (result.exit_code, result.stderr) == (0, "")
    text = lines(result)
    assert text[:11] == [
        "The best rules",
        "    VI  covered  errors  precision  lift  same rows  rule [verdict]",
        "1    3        3       0    100.0 %  1.40         +1  IF age >= 50 THEN ill [not",
        "                                                     supported]",
        "2    2        2       0    100.0 %  1.40         +1  IF age >= 62 THEN ill [not",
        "                                                     supported]",
        "   -13        7       2     71.4 %  1.00             all rows (THEN ill)",
        "",
        text[8],
        SAME_ROWS,
        "",
    ]
    assert text[8].startswith("proven: these are the first of all rules of this kind (")
    assert text[11:15] == [
        "The best rules that differ",
        "    VI  covered  errors  precision  lift  overlap  same rows  rule [verdict]",
        "1    3        3       0    100.0 %  1.40        –         +1  IF age >= 50 THEN",
        "                                                              ill [not",
    ]
    near = text.index("All rules that are nearly as good as the best")
    assert text[near + 6].startswith(
        "2 rules (1 set of rows) with a VI of at least 3 (optimum 3); "
    )
    common = text.index("What they have in common")
    assert text[text.index("columns  3 used: 3 numeric") - 1] == ""
    assert text[common : text.index("columns  3 used: 3 numeric") - 1] == [
        "What they have in common",
        "rows covered by every rule 3, by some rule 3",
        "features in every rule: none",
        "",
        "used by  best VI without  feature",
        "   50 %                3  age",
        "   50 %                3  weight",
        "",
        "interchangeable (with the best VI)",
        "  alone: age (3), weight (3)",
        "",
        "thresholds, from the loosest to the tightest",
        "  age >= 50",
        "  weight >= 75",
    ]


def test_without_a_choice_all_rules_within_a_per_cent_are_listed(opdt):
    text = lines(opdt(*COMMAND, "--depth", 1))
    assert text[0] == "All rules that are nearly as good as the best"
    assert lines(opdt(*COMMAND, "--depth", 1, "--quiet")) == text[1:5]


def test_without_a_price_the_first_rule_is_that_of_fit(opdt, folder):
    """Four of five old ones are ill, and all three of one town, who are fewer than a half."""
    rows = ["age,town,state"]
    rows += [f"{60 + k},{'B' if k < 3 else 'A'},ill" for k in range(4)] + ["70,A,well"]
    rows += [f"{30 + k},A,well" for k in range(7)]
    (folder / "towns.csv").write_text("\n".join(rows) + "\n")
    asked = ("alternatives", "towns.csv", "--target", "state", "--depth", 1, "--best", "--limit", 3)
    best = opdt(*asked)
    assert lines(best)[2].split()[:4] == ["1", "3", "3", "0"]
    assert "IF town" in lines(best)[2]
    assert "w = 12, at which the most precise rule of at least 5 % of the rows" in best.stderr
    assert "the rules are for ill, the rarer of two classes" in best.stderr
    large = opdt(*asked, "--min-coverage", 5, "--json", "-")
    assert "of at least 5 rows, that of 'opdt fit', is worth 0" in large.stderr
    content = json.loads(large.stdout)
    assert content["w"] == 5  # an error among five rows
    assert content["best"]["rules"][0]["value"] == 0
    near = opdt(*asked[:-2], "--min-coverage", 5, "--within", "20%", "--json", "-")
    assert json.loads(near.stdout)["near"]["threshold"] == -1  # a fifth of its rows
    assert opdt(*asked, "--paper").stderr == ""


def test_what_is_not_shown_is_counted(opdt):
    """One row is lost by `age >= 62` and by `pulse >= 80`; `weight` covers what `age` does."""
    text = lines(opdt(*COMMAND, "--depth", 1, "--within", "1 row", "--best", "--limit", 1))
    assert "… and 2 more, the same rows counted once" in text


def test_the_parts_are_written_as_json(opdt, folder):
    asked = ("--best", "--limit", 1, "--within", "2 rows", "--max-overlap", 0, "--depth", 1)
    only = opdt(*COMMAND, *asked, "--json", "-")
    content = json.loads(only.stdout)
    assert set(content) == {"best", "diverse", "near", "w", "columns", "opdt"}
    assert [each["role"] for each in content["columns"]] == ["numeric"] * 3
    assert content["best"]["complete"]
    assert content["near"]["threshold"] == 1
    (best,) = content["best"]["rules"]
    assert best["verdict"]["level"] == "not supported"
    assert best["lift"] == pytest.approx(7 / 5)
    assert str(rule_from_dict(best["rule"])) == "IF age >= 50 THEN ill"
    assert [str(rule_from_dict(rule)) for rule in best["equivalents"]] == [
        "IF weight >= 75 THEN ill"
    ]
    written = opdt(*COMMAND, *asked, "--json", "out.json")
    assert written.exit_code == 0
    assert json.loads((folder / "out.json").read_text()) == content


def test_no_rule_has_an_exit_code_of_its_own(opdt, folder):
    (folder / "states.csv").write_text("x,state\n1,a\n1,b\n2,a\n2,b\n")
    result = opdt("alternatives", "states.csv", "--target", "state", "--limit", 3, "--paper")
    assert result.exit_code == 3
    assert "proven: there is no rule" in result.stdout


def test_a_limit_is_told(opdt):
    result = opdt(*COMMAND, "--best", "--limit", 3, "--within", "0.1", "--time-limit", 0)
    assert result.exit_code == 3
    assert "not proven (time limit): better rules may be missing" in result.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--within", "some"), "'--within' must be a share such as '1%' or 0.01, or rows such as"),
        (("--within", "200%"), "'within' must be a share from 0 to 1, got 2.0."),
        (("--best", "--limit", 0), "'limit' must be an int >= 1, got 0."),
        (("--max-overlap", 1), "'max_overlap' must be a number from 0 to below 1"),
        (("--max-overlap", 0.5, "--overlap", "dice"), "'overlap' must be 'share' or 'jaccard'"),
    ],
)
def test_a_bad_option_is_refused_in_a_sentence(opdt, refused, options, words):
    refused(opdt(*COMMAND, *options), words)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("1%", {"within": 0.01}),
        ("0.5 %", {"within": 0.005}),
        ("0.02", {"within": 0.02}),
        ("3 rows", {"within_rows": 3}),
        ("1 row", {"within_rows": 1}),
    ],
)
def test_a_loss_is_a_share_or_a_number_of_rows(text, arguments):
    assert read_within(text) == arguments


def test_a_loss_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="got 'rows'"):
        read_within("rows")
