from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from opdt.cli.explain import explain
from opdt.cli.group import Group
from opdt.rules import Condition, Rule, RuleList, RuleSet, write_rule

AGE, SMOKES = Condition("age", ">=", 30), Condition("smoker", "!=", "yes")


@pytest.fixture
def command(folder):
    """Runs `opdt explain` with these arguments, beside a rule file."""
    app = typer.Typer(cls=Group, pretty_exceptions_enable=False)
    app.command()(explain)
    app.command()(lambda: None)  # a second command, without which typer drops the name
    write_rule("rule.json", Rule([AGE, SMOKES], "ill"))

    def run(*arguments):
        return CliRunner().invoke(app, ["explain", *map(str, arguments)], prog_name="opdt")

    return run


def lines(result):
    assert (result.exit_code, result.stderr) == (0, "")
    return [line.rstrip() for line in result.stdout.splitlines()]


WORDS = [
    "If age is at least 30 and smoker is known and not “yes”, then the class is ill.",
    "A row with a missing value meets no condition on it.",
]


def test_without_data_the_rule_is_put_into_words(command):
    assert lines(command("rule.json")) == WORDS


def test_with_data_the_rows_are_counted_after_each_condition(command):
    assert lines(command("rule.json", "patients.csv")) == [
        *WORDS,
        "",
        "                                   rows",
        "all rows                              6",
        "age is at least 30                    5",
        "and smoker is known and not “yes”     2",
    ]


def test_with_a_target_the_classes_are_counted_too(command):
    # 002 well, 003 ill, 004 ill, 005 ill and 006 well are 30 or older; 002 and 004 do not smoke,
    # and of 006 nothing is known.
    found = lines(command("rule.json", "patients.csv", "--target", "state"))
    assert found[:2] == WORDS
    assert [line.split()[-6:] for line in found[4:7]] == [
        ["all", "rows", "6", "3", "3", "50.0", "%"][-6:],
        ["30", "5", "2", "3", "60.0", "%"],
        ["“yes”", "2", "1", "1", "50.0", "%"],
    ]
    assert found[3].split() == ["rows", "well", "ill", "share", "of", "ill"]
    assert found[8].startswith("precision  50.0 %  (1 of 2; 95% interval ")
    assert found[9:] == ["coverage   33.3 %  (2 of 6 rows)", "lift       1.00"]


def test_many_classes_are_not_listed(command, folder):
    rows = "".join(f"{40 + i},no,class {i}\n" for i in range(6))
    (folder / "many.csv").write_text("age,smoker,y\n" + rows + "50,no,ill\n")
    found = lines(command("rule.json", "many.csv", "--target", "y"))
    assert found[3].split() == ["rows", "share", "of", "ill"]
    assert found[6].endswith("7        14.3 %")


def test_a_rule_list_shows_what_each_rule_decides(command):
    rules = [Rule([SMOKES], "well"), Rule([Condition("age", ">=", 50)], "ill")]
    write_rule("list.json", RuleList(rules, "well"))
    found = lines(command("list.json", "patients.csv", "--target", "state"))
    assert found[5:] == [
        "                                      rows  well  ill    right",
        "all rows                                 6     3    3",
        "rule 1: IF smoker != 'yes' THEN well     3     2    1   66.7 %",
        "rule 2: IF age >= 50 THEN ill            1     0    1  100.0 %",
        "otherwise: well                          2     1    1   50.0 %",
    ]


def test_a_rule_set_shows_what_each_rule_adds(command):
    rules = [Rule([SMOKES], "ill"), Rule([AGE], "ill")]
    write_rule("set.json", RuleSet(rules, "ill", None))
    found = lines(command("set.json", "patients.csv"))
    assert [line.split()[-1] for line in found[3:]] == ["rows", "6", "3", "3", "0"]


def test_the_note_on_missing_values_is_left_out_where_nothing_is_compared(command):
    write_rule("rule.json", Rule([Condition("age", "is missing")], "ill"))
    assert lines(command("rule.json")) == ["If age is missing, then the class is ill."]


def test_a_class_that_does_not_occur_has_a_share_of_nothing(command):
    write_rule("rule.json", Rule([AGE], "dead"))
    found = lines(command("rule.json", "patients.csv", "--target", "state"))
    assert found[5].endswith("5     2    3          0.0 %")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.json"], ["none.json"]),
        (["patients.csv"], ["is not a JSON file"]),
        (["rule.json", "none.csv"], ["none.csv"]),
        (["rule.json", "--target", "state"], ["'--target'", "name their file"]),
        (["rule.json", "patients.csv", "--target", "stat"], ["'stat'", "'state'"]),
        (["rule.json", "patients.csv", "--target", "smoker"], ["'smoker' has no class in 1 row"]),
        (["rule.json", "other.csv"], ["'age'"]),
        (["rule.json", "text.csv"], ["'age'"]),
    ],
)
def test_what_cannot_be_used_gives_one_sentence(command, refused, folder, arguments, words):
    (folder / "other.csv").write_text("ages,smoker\n1,no\n")
    (folder / "text.csv").write_text("age,smoker\nold,no\n")
    refused(command(*arguments), *words)
