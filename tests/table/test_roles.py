"""Roles that the user asks for, plans that are kept, and columns that know too much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opdt
from opdt.errors import ColumnWarning, InputError
from opdt.problem import Problem
from opdt.table import Role, Table
from opdt.table.numbers_in_text import read_number, shape_of
from opdt.table.survey import Survey

LABELS = [0, 1] * 30


def test_plain_arrays_keep_all_columns() -> None:
    X = np.column_stack([np.arange(60), np.arange(60)[::-1]])
    table = Table.build(X, LABELS)
    assert table.names == ("x0", "x1")


def test_ordered_types_give_thresholds() -> None:
    sizes = ["S", "L", "M"] * 20
    ordered = pd.Categorical(sizes, categories=["S", "M", "L"], ordered=True)
    enum = pl.Series(sizes, dtype=pl.Enum(["S", "M", "L"]))
    for X in (pd.DataFrame({"size": ordered}), pl.DataFrame({"size": enum})):
        y = [int(size == "L") for size in sizes]
        solution = opdt.discover(X, y, max_depth=1, label=1)
        assert str(solution.rule) == "IF size >= 'L' THEN 1"
        assert solution.rule.covers(X).tolist() == [size == "L" for size in sizes]
        assert solution.plan["size"].role is Role.ORDERED


def test_a_plan_is_kept_for_other_rows() -> None:
    X = {"row": list(range(60)), "price": [f"{n},5 €" for n in range(60)], "z": [1.0, 2.0] * 30}
    whole = Table.build(X, LABELS, warn=False)
    some = {name: cells[5:9] for name, cells in X.items()}
    part = Table.build(some, [0, 1, 0, 1], roles=whole.plan, warn=False)
    assert part.names == whole.names == ("price", "z")
    assert part.columns[0].cleaning == whole.columns[0].cleaning
    assert part.columns[0].values.tolist() == [5.5, 6.5, 7.5, 8.5]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"code {label}" for label in LABELS], "it alone tells the class of 100.0 % of the rows"),
        ([0.1 * n + 100 * label for n, label in enumerate(LABELS)], "it alone tells"),
        ([None if label else 1.0 + n for n, label in enumerate(LABELS)], "whether it is filled"),
    ],
)
def test_columns_that_know_too_much_are_flagged_and_stay(cells: list[Any], words: str) -> None:
    table = Table.build({"leak": cells, "z": [n % 7 for n in range(60)]}, LABELS, warn=False)
    assert table.names == ("leak", "z")
    (warning,) = table.plan["leak"].warnings
    assert words in warning
    assert not table.plan["z"].warnings


def test_a_word_about_a_column_that_is_not_used_says_why() -> None:
    X = {"user_id": [f"u{n}" for n in range(60)], "z": [n % 7 for n in range(60)]}
    table = Table.build(X, LABELS, warn=False)
    Problem.build(table, constraints=opdt.Constraints(forbidden=["user_id"]))
    for demands in ({"required": ["user_id"]}, {"directions": {"user_id": "=="}}):
        with pytest.raises(InputError, match=r"'user_id' is not used: its role is 'id' \(its name"):
            Problem.build(table, constraints=opdt.Constraints(**demands))
    with pytest.raises(InputError, match="no column is left to make rules of: column 'user_id'"):
        Table.build({"user_id": X["user_id"]}, LABELS, warn=False)
    with pytest.warns(ColumnWarning, match="columns that are not used: 'user_id'"):
        Table.build(X, LABELS)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"a": "number"}, r"roles\['a'\] must be 'numeric'"),
        ({"a": "categorical:0"}, r"roles\['a'\] must be"),
        ({"a": "constant"}, r"roles\['a'\] must be"),
        ({"a": "ordered:x<y"}, r"must name all levels of the column, and 'u' is missing"),
        ({"a": "ordered"}, "does not say how its levels are ordered"),
        ({"a": "date"}, "holds no dates that can be read"),
        ({"a": "yes/no"}, "cannot be 'yes/no'"),
        ({"n": "date"}, "cannot be 'date': it holds no dates but numbers"),
        ({"n": "categorical:3"}, "most frequent levels of text only"),
        ({"b": "id"}, "there is no column 'b' in X"),
    ],
)
def test_roles_that_cannot_be_are_refused(roles: dict[str, str], message: str) -> None:
    X = {"a": ["u", "v", "w"] * 20, "n": [1, 2, 3] * 20}
    with pytest.raises(InputError, match=message):
        Table.build(X, LABELS, roles=roles)


@pytest.mark.parametrize("missing", [object(), [None], [True], {"b": [1]}])
def test_missing_cells_that_cannot_be_are_refused(missing: Any) -> None:
    with pytest.raises(InputError):
        Table.build({"a": [1, 2] * 30}, LABELS, missing=missing)


@given(st.floats(-1e9, 1e9).map(lambda value: round(value, 3)))
def test_a_number_comes_back_from_every_dress(value: float) -> None:
    for text, decimal in (
        (f"{value:,.3f}", "."),
        (f"{value:,.3f}".translate(str.maketrans(",.", ".,")), ","),
        (f"{value:.3f}".replace(".", ",") + " kg", ","),
        (f"{value:.3f}%", "."),
        (f"€ {abs(value):.3f}" if value >= 0 else f"(€ {abs(value):.3f})", "."),
    ):
        if shape_of(text) is not None:
            assert read_number(text, decimal) == pytest.approx(value, abs=1e-12), text


@given(st.lists(st.sampled_from(["1", "2,5", "€ 3", "n/a", "ja", "x", None]), max_size=12))
def test_surveys_of_parts_add_up_to_that_of_the_whole(cells: list[str | None]) -> None:
    whole = Survey.of(cells)
    for cut in range(len(cells) + 1):
        parts = Survey.of(cells[:cut]), Survey.of(cells[cut:])
        first, second = (Survey.from_bytes(part.to_bytes()) for part in parts)
        assert first + second == whole
