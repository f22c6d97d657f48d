from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdt import Condition
from opdt.plot.text import (
    ELLIPSIS,
    and_more,
    asks,
    class_text,
    condition_lines,
    count,
    rows_text,
    seconds_text,
    share,
    shorten,
    shorten_all,
    shown,
    width_of,
    wrap,
)

names = st.text(st.characters(codec="latin-1", categories=("L", "N", "P", "S", "Zs")), max_size=60)


@settings(max_examples=40)
@given(text=names, room=st.floats(15, 300))
def test_a_shortened_text_fits_and_keeps_its_ends(text: str, room: float) -> None:
    short = shorten(text, room, 9)
    if short != text:
        assert width_of(text, 9) > room
        start, _, end = short.partition(ELLIPSIS)
        assert text.startswith(start)
        assert text.endswith(end)
        assert width_of(short, 9) <= max(room, width_of(ELLIPSIS, 9))


@settings(max_examples=40)
@given(text=names, room=st.floats(30, 200), lines=st.integers(1, 4))
def test_wrapped_lines_fit_and_say_the_same(text: str, room: float, lines: int) -> None:
    out = wrap(text, room, 9, lines)
    assert 1 <= len(out) <= lines
    assert all(width_of(line, 9) <= room for line in out)
    if ELLIPSIS not in "".join(out):
        assert "".join("".join(out).split()) == "".join(text.split())


@settings(max_examples=20)
@given(texts=st.lists(names, min_size=1, max_size=5), room=st.floats(80, 400))
def test_texts_share_their_room(texts: list[str], room: float) -> None:
    out = shorten_all(texts, room, 8)
    if sum(width_of(text, 8) for text in texts) <= room:
        assert out == texts
    assert sum(width_of(text, 8) for text in out) <= room * (1 + 1e-9)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition("a", ">=", 127.5), "≥ 127.5"),
        (Condition("a", "<", 30.0), "< 30"),
        (Condition("a", "==", "yes"), "= yes"),
        (Condition("a", "!=", ""), "≠ ''"),
        (Condition("a", "in", ["b", "a"]), "in {a, b}"),
        (Condition("a", "is missing"), "is missing"),
        (Condition("a", ">=", np.datetime64("2024-03-01")), "≥ 2024-03-01"),
    ],
)
def test_a_condition_asks_in_signs(condition: Condition, text: str) -> None:
    assert asks(condition) == text


def test_of_a_long_condition_the_test_has_a_line_of_its_own() -> None:
    condition = Condition("a rather long name of a feature", ">=", 12345.678)
    lines = condition_lines(condition, 90, 9, before="and ")
    assert lines[0].startswith("and a")
    assert lines[1] == "≥ 12345.678"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("", "''"),
        (" x", "' x'"),
        (2.0, "2"),
        (True, "True"),
        (np.datetime64("2024-03-01"), "2024-03-01"),
    ],
)
def test_values_are_shown_on_one_line(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("label", "text"),
    [("ill", "ill"), (1, "class 1"), ("1", "class 1"), ("y", "class y"), (True, "class True")],
)
def test_a_class_is_called_one_where_its_name_says_little(label: object, text: str) -> None:
    assert class_text(label) == text


def test_numbers_are_written_for_people() -> None:
    assert [count(n) for n in (0, -0.0, 1234, -12, 2.5, float("inf"))] == [
        "0",
        "0",
        "1,234",
        "−12",
        "2.5",
        "∞",
    ]
    assert [share(*p) for p in ((1, 2), (9999, 10000), (1, 10000), (0, 5), (0, 0))] == [
        "50.0 %",
        "> 99.9 %",
        "< 0.1 %",
        "0.0 %",
        "–",
    ]
    assert [rows_text(n) for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    assert [seconds_text(s) for s in (0.0123, 3, 75, 7500)] == [
        "12.3 ms",
        "3.0 s",
        "1 min 15 s",
        "2 h 5 min",
    ]


def test_as_many_names_as_fit_are_listed() -> None:
    assert and_more(["age", "bmi"], 500, 9) == "age, bmi"
    some = and_more(["age", "bmi", "height", "weight"], 70, 9)
    assert some.startswith("age")
    assert some.endswith((", +1", ", +2", ", +3"))
    assert and_more(["a name that is too long for any box"], 40, 9).count(ELLIPSIS) == 1
