"""Rules on cleaned columns: new rows, JSON, and exports that cover exactly the same rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt import OPDTClassifier, OPDTClassifierCV
from opdt.errors import InputError
from opdt.rules import Condition, Op, Rule
from opdt.rules.rule_json import rule_from_dict, rule_to_dict
from opdt.table import Cleaning

CELLS = ["a", "b", "c", "d", "?", "n/a", "Y", "yes", "N", "other", None]
LEVELS = Cleaning(missing=("?", "n/a"))
MERGED = Cleaning(missing=("?",), kept=("a", "b"))
UNITED = Cleaning(renamed=(("N", "no"), ("Y", "yes"), ("yes", "yes")))
ORDER = Cleaning(order=("a", "b", "c", "d"))


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    cleaning = draw(st.sampled_from([LEVELS, MERGED, UNITED, ORDER]))
    if cleaning is ORDER:
        op = draw(st.sampled_from([Op.GE, Op.LT]))
        return Condition("x", op, draw(st.sampled_from([0.5, 1.5, 2.5])), cleaning)
    levels = {LEVELS: ["a", "b", "c"], MERGED: ["a", "b", "other"], UNITED: ["yes", "no", "a"]}
    op = draw(st.sampled_from([Op.EQ, Op.NE, Op.IN, Op.PRESENT]))
    if op is Op.PRESENT:
        return Condition("x", op, cleaning=cleaning)
    if op is Op.IN:
        some = draw(st.sets(st.sampled_from(levels[cleaning]), min_size=1, max_size=2))
        return Condition("x", op, some, cleaning)
    return Condition("x", op, draw(st.sampled_from(levels[cleaning])), cleaning)


@settings(max_examples=60)
@given(conditions(), st.lists(st.sampled_from(CELLS), min_size=1, max_size=8))
def test_exports_cover_what_the_rule_covers(condition: Condition, cells: list[Any]) -> None:
    rule = Rule([condition], "ill")
    expected = rule.covers({"x": pd.Series(cells, dtype=object)}).tolist()
    assert expected == [_holds(condition, cell) for cell in cells]
    frame = pl.DataFrame({"x": cells}, schema={"x": pl.String})
    assert frame.select(rule.to_polars())["covers"].to_list() == expected
    scope: dict[str, Any] = {}
    exec(rule.to_python(), scope)
    assert [scope["covers"]({"x": cell}) for cell in cells] == expected
    assert rule_from_dict(rule_to_dict(rule)) == rule


def _holds(condition: Condition, cell: Any) -> bool:
    """The condition put to one cell, in plain Python."""
    clean = condition.cleaning
    assert clean is not None
    if cell is None or cell in clean.missing:
        return False
    if clean.order:
        if cell not in clean.order:
            return False
        above = clean.order.index(cell) >= condition.value
        return above is (condition.op is Op.GE)
    level = dict(clean.renamed).get(cell, cell)
    if clean.kept and level not in clean.kept:
        level = clean.other
    if condition.op is Op.PRESENT:
        return True
    if condition.op is Op.IN:
        return level in condition.value
    return (level == condition.value) is (condition.op is Op.EQ)


def test_a_declared_missing_number_is_left_out_everywhere() -> None:
    rule = Rule([Condition("x", ">=", 5, Cleaning(missing=(9999,)))], "ill")
    frame = pl.DataFrame({"x": [3, 7, 9999, None]})
    assert rule.covers(frame).tolist() == [False, True, False, False]
    assert frame.filter(rule.to_polars())["x"].to_list() == [7]


@pytest.mark.parametrize(
    ("cleaning", "cells", "value", "covered"),
    [
        (Cleaning("number", ",", "€"), ["€ 1.250,50", "3,5 €", "3,5 kg", "x"], 10, [1, 0, 0, 0]),
        (Cleaning("date", dates="d.m.y", part="month"), ["24.12.2023", "01.02.2024"], 6, [1, 0]),
        (Cleaning("seconds"), [dt.timedelta(minutes=5), dt.timedelta(seconds=5)], 60, [1, 0]),
    ],
)
def test_what_no_other_language_reads_is_refused(
    cleaning: Cleaning, cells: list[Any], value: float, covered: list[int]
) -> None:
    rule = Rule([Condition("x", ">=", value, cleaning)], "ill")
    assert rule.covers({"x": cells}).tolist() == list(map(bool, covered))
    for export in (rule.to_sql, rule.to_python, rule.to_polars, rule.to_pmml):
        with pytest.raises(InputError, match=r"column .x. holds .* cannot be exported exactly"):
            export()
    if not cleaning.part:  # a clean column elsewhere needs no cleaning
        assert "60" in rule.to_sql(types={"x": "float"}) or value == 10


def test_people_are_shown_levels_and_parts() -> None:
    ordered = Condition("size", "<", 1.5, Cleaning(order=("S", "M", "L")))
    assert str(ordered) == "size < 'L'"
    part = Condition("when", ">=", 16.5, Cleaning("date", part="hour"))
    assert str(part) == "hour of when >= 16.5"
    assert "hour of when is at least 16.5" in Rule([part], "late").to_english()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"form": "eval"}, "'form' of a cleaning must be "),
        ({"how": 1}, "unknown key 'how'"),
        ({"missing": "?"}, "'missing' of a cleaning of the rule must be a list"),
        ({"renamed": [["a"]]}, "'renamed' of a cleaning of the rule must hold pairs"),
        (5, "must be an object"),
    ],
)
def test_a_broken_cleaning_in_a_file_is_refused(data: Any, message: str) -> None:
    condition = {"feature": "x", "op": "==", "value": "a", "cleaning": data}
    with pytest.raises(InputError, match=message):
        rule_from_dict({"opdt_rule": 1, "label": "ill", "conditions": [condition]})


@pytest.mark.filterwarnings("ignore::opdt.errors.ColumnWarning")
@pytest.mark.parametrize(
    "model", [OPDTClassifier(1, 2), OPDTClassifierCV(ws=[2], max_depths=[1], cv=3)]
)
def test_new_rows_are_cleaned_by_the_plan_and_not_guessed_anew(model: Any) -> None:
    prices = [f"{n}.{n:03},5" for n in range(1, 61)]  # 1.001,5 and so on: a comma, no doubt
    X = pd.DataFrame({"price": prices, "row": range(60)})
    y = np.where(np.arange(60) < 30, "cheap", "dear")
    model.fit(X, y)
    assert model.rule_.features == ("price",)
    # Alone, these would be read as 1.5 and 40.5 with a point before the fraction.
    new = pd.DataFrame({"price": ["1.500", "40.500", "x"], "row": [0, 1, 2]})
    dear = model.rule_.label == "dear"
    assert model.rule_.covers(new).tolist() == [not dear, dear, False]
    assert model.predict(new)[:2].tolist() == ["cheap", "dear"]


def test_labels_in_another_order_are_refused() -> None:
    X = pd.DataFrame({"a": [1, 2, 3, 4]}, index=list("wxyz"))
    y = pd.Series([0, 0, 1, 1], index=list("zyxw"))
    with pytest.raises(InputError, match=r"y has the same index as X, but in another order"):
        OPDTClassifier(1).fit(X, y)
    OPDTClassifier(1).fit(X, y.reset_index(drop=True))
