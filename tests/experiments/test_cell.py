from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdt.errors import InputError
from opdt.experiments.cell import Cell, measure

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
# `cost` is no parameter, and JSON has no infinity.
PARAMETERS = st.dictionaries(
    st.text(min_size=1).filter(lambda name: name != "cost"),
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    max_size=4,
)


def test_the_key_does_not_depend_on_the_order_of_the_parameters():
    one = Cell.of("rule", dataset="german", split=0)
    other = Cell.of("rule", split=0, dataset="german")
    assert one == other
    assert one.key == other.key == '["rule",{"dataset":"german","split":0}]'


@given(st.text(), PARAMETERS)
def test_a_key_leads_back_to_its_cell(kind, parameters):
    cell = Cell.of(kind, **parameters)
    assert Cell.from_key(cell.key) == cell


def test_the_cost_is_no_part_of_the_identity():
    assert Cell.of("rule", cost=3.0, split=1) == Cell.of("rule", cost=9.0, split=1)
    assert "cost" not in Cell.of("rule", cost=3.0, split=1).key


def test_parameters_are_read_by_name():
    cell = Cell.of("rule", split=4)
    assert (cell["split"], cell.get("seed"), cell.get("w", 10.0)) == (4, None, 10.0)
    assert str(cell) == "rule split=4"


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"must be one of .*rule.* got 'ruel'"):
        measure(Cell.of("ruel"))
