"""The counts of a report, against arithmetic on the rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from opdt import Condition, Rule, Table
from opdt.report.content import class_counts, summarise, wrong_rows
from opdt.rules.counting import rule_funnel
from opdt.table import open_source

X = {
    "age": [25, 31, 47, 52, 60, None],
    "city": ["Bonn", "Köln", "Bonn", "Bonn", None, "Köln"],
    "id": [1, 2, 3, 4, 5, 6],
}
Y = ["well", "well", "ill", "well", "ill", "ill"]
RULE = Rule([Condition("age", ">=", 40), Condition("city", "==", "Bonn")], "ill")
ILL = np.array([label == "ill" for label in Y])


def test_each_condition_is_counted_alone_and_with_those_before_it():
    everything, first, second = rule_funnel(RULE, open_source(X), ILL)
    assert everything.together == (3, 3)  # of the rule's class, and of others
    assert (first.alone, first.together) == ((2, 1), (2, 1))  # 47, 52, 60
    assert (second.alone, second.together) == ((1, 2), (1, 1))  # Bonn: 25, 47, 52
    assert (second.covered, second.correct, second.errors, second.precision) == (2, 1, 1, 0.5)
    assert second.condition == RULE.conditions[1]


def test_the_errors_are_the_covered_rows_of_another_class():
    wrong = wrong_rows(RULE, open_source(X), Y, ILL, limit=5)
    assert wrong.columns == ("age", "city", "id")
    assert wrong.rows == ((4, "well", ("52", "Bonn", "4")),)
    assert wrong.total == 1


def test_the_list_of_errors_is_cut_but_they_are_all_counted():
    everyone = Rule([], "ill")
    wrong = wrong_rows(everyone, open_source(X), Y, ILL, limit=2)
    assert (len(wrong.rows), wrong.total) == (2, 3)


def test_missing_cells_are_called_missing():
    wrong = wrong_rows(Rule([], "well"), open_source(X), Y, ~ILL, limit=9)
    assert wrong.rows[-1] == (6, "ill", ("missing", "Köln", "6"))


def test_the_target_is_no_column_of_the_errors():
    source = open_source({**X, "state": Y})
    assert "state" not in wrong_rows(RULE, source, Y, ILL, 5, target="state").columns


def test_columns_are_summarised():
    age, city = summarise(Table.build(X, Y, warn=False))  # the third is an id
    assert (age.kind, age.distinct, age.missing, age.content) == ("numeric", 5, 1, "25 to 60")
    assert (city.kind, city.content) == ("categorical", "Bonn (3), Köln (2)")


def test_classes_are_counted():
    assert class_counts(Table.build(X, Y, warn=False)) == [("ill", 3), ("well", 3)]


def test_nested_values_of_a_column_that_is_ignored_are_not_shown():
    source = open_source(pa.table({**X, "tags": [{"a": 1}] * 6}))
    wrong = wrong_rows(RULE, source, Y, ILL, limit=5)
    assert wrong.columns[-1] == "tags"
    assert wrong.rows[0][2][-1] == "…"
