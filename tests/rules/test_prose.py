"""Rules in words: English, Markdown and LaTeX, whatever the names hold."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export_cases import cases
from opdt import Mean, Money, Survival, Uplift
from opdt.rules import Condition, Rule, RuleList, RuleSet

AGE, SMOKES = Condition("age", ">=", 40), Condition("smoker", "==", "yes")
ILL = Rule([AGE, SMOKES], "ill")
LIST = RuleList([ILL, Rule([AGE], "at risk")], "well")
SET = RuleSet([Rule([AGE], "ill"), Rule([SMOKES], "ill")], "ill", "well")


# -- English -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([], "the row is any row"),
        ([AGE], "age is at least 40"),
        ([Condition("age", "<", 29.9)], "age is below 29.9"),
        ([Condition("age", "<", 60), AGE], "age is at least 40 and below 60"),
        ([SMOKES], "smoker is “yes”"),
        ([Condition("smoker", "!=", "yes")], "smoker is known and not “yes”"),
        ([Condition("site", "in", ["b", "a", 3])], "site is one of 3, “a”, “b”"),
        ([Condition("bmi", "is missing")], "bmi is missing"),
        ([Condition("bmi", "is present")], "bmi is known"),
        ([Condition("day", ">=", np.datetime64("2024-03-01"))], "day is on or after 2024-03-01"),
        (
            [Condition("day", "<", np.datetime64("2024-03-01T10:30"))],
            "day is before 2024-03-01 10:30",
        ),
        ([Condition("x; DROP TABLE t", "<", 1)], "“x; DROP TABLE t” is below 1"),
        ([Condition("two\nlines", "==", "\t")], "“two\\nlines” is “\\t”"),
        ([AGE, SMOKES], "age is at least 40 and smoker is “yes”"),
    ],
)
def test_a_rule_is_one_plain_sentence(conditions, words):
    assert Rule(conditions, "ill").to_english() == f"If {words}, then the class is ill."


def test_lists_and_sets_say_what_happens_otherwise():
    assert LIST.to_english().splitlines() == [
        "If age is at least 40 and smoker is “yes”, then the class is ill.",
        "Otherwise, if age is at least 40, then the class is at risk.",
        "Otherwise the class is well.",
    ]
    assert SET.to_english().splitlines() == [
        "If age is at least 40, or if smoker is “yes”, then the class is ill.",
        "Otherwise the class is well.",
    ]
    assert RuleList([], 0).to_english() == "The class is 0."
    assert RuleList([ILL], None).to_english() == ILL.to_english()


@settings(max_examples=40)
@given(case=cases())
def test_a_rule_never_breaks_its_line(case):
    lines = case.rule.to_english().splitlines()
    assert len(lines) <= len(getattr(case.rule, "rules", (1,))) + 1
    assert all(line.endswith(".") and line.isprintable() for line in lines)


# -- Markdown ------------------------------------------------------------------------------------


def test_markdown_shows_conditions_as_code():
    assert ILL.to_markdown() == "**IF** `age >= 40` **AND** `smoker == 'yes'` **THEN** `ill`"
    assert LIST.to_markdown().splitlines() == [
        "1. **IF** `age >= 40` **AND** `smoker == 'yes'` **THEN** `ill`",
        "2. **ELSE** **IF** `age >= 40` **THEN** `at risk`",
        "3. **ELSE** `well`",
    ]
    assert SET.to_markdown().splitlines() == [
        "**IF** any of",
        "",
        "- `age >= 40`",
        "- `smoker == 'yes'`",
        "",
        "**THEN** `ill` **ELSE** `well`",
    ]
    assert Rule([], 1).to_markdown() == "**IF** any row **THEN** `1`"
    assert RuleSet([], 1, 0).to_markdown() == "**ALWAYS** `0`"
    assert RuleList([], None).to_markdown() == "1. no class"


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8))
def test_a_code_span_shows_the_text_and_nothing_else(text):
    shown = Rule([], text).to_markdown().removeprefix("**IF** any row **THEN** ")
    fence = re.match("`+", shown)[0]
    assert shown.endswith(fence)
    body = shown[len(fence) : -len(fence)]
    assert fence not in re.findall("`+", body)  # a run of this length would end the span
    if body.startswith(" ") and body.endswith(" ") and body.strip():
        body = body[1:-1]  # as CommonMark does
    visible = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    assert body.strip() == visible.strip()


# -- LaTeX ---------------------------------------------------------------------------------------


def test_latex_is_a_table_with_one_condition_on_each_line():
    assert ILL.to_latex().splitlines() == [
        r"\begin{tabular}{@{}ll@{}}",
        r"\textbf{if} & age $\ge$ $40$ \\",
        r"\textbf{and} & smoker $=$ `yes' \\",
        r"\textbf{then} & ill \\",
        r"\end{tabular}",
    ]
    assert r"\textbf{else if} & age $\ge$ $40$ \\" in LIST.to_latex().splitlines()
    assert SET.to_latex().splitlines()[1:-1] == [
        r"\textbf{if} & age $\ge$ $40$ \\",
        r"\textbf{or} & smoker $=$ `yes' \\",
        r"\textbf{then} & ill \\",
        r"\textbf{else} & well \\",
    ]


def test_latex_takes_nothing_in_a_name_for_a_command():
    rule = Rule([Condition("50%_$x^2$ & {#1}~\\end", "in", ["a", "<b>"])], 1)
    assert rule.to_latex().splitlines()[1] == (
        r"\textbf{if} & 50\%\_\$x\textasciicircum{}2\$ \& \{\#1\}\textasciitilde{}"
        r"\textbackslash{}end $\in$ \{`\textless{}b\textgreater{}', `a'\} \\"
    )


def test_what_follows_may_be_said_in_other_words():
    rule = Rule([Condition("age", ">=", 40)], "treat")
    assert rule.to_english("treat") == "If age is at least 40, then treat."
    assert Uplift(treatment="t", outcome="y").then() == "treat"
    assert Survival(time="t", event="e", direction="low").then() == "the risk is low"
    assert Mean(threshold=3).then() == "the number is high"
    assert Mean(direction="low").then("length of\nstay") == "“length of\\nstay” is low"
    assert Money(benefit=1, cost=1).then("y") is None
