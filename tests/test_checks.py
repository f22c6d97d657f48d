"""Each check says in one sentence what was expected."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from opdt import checks
from opdt.errors import InputError


@pytest.mark.parametrize(
    ("value", "whole", "number", "finite"),
    [
        (1, True, True, True),
        (np.int64(1), True, True, True),
        (10**400, True, True, True),  # beyond all floats
        (1.5, False, True, True),
        (Fraction(1, 3), False, True, True),
        (math.inf, False, True, False),
        (math.nan, False, False, False),
        (True, False, False, False),
        (np.bool_(True), False, False, False),
        ("1", False, False, False),
        (None, False, False, False),
    ],
)
def test_what_is_a_number(value, whole, number, finite):
    found = checks.is_whole(value), checks.is_number(value), checks.is_finite(value)
    assert found == (whole, number, finite)


@pytest.mark.parametrize(
    ("check", "arguments", "sentence"),
    [
        (checks.check_int, (0,), "'x' must be an int >= 1, got 0."),
        (checks.check_int, (1.0, 0), "'x' must be an int >= 0, got 1.0."),
        (checks.check_int_or_none, (True,), "'x' must be an int >= 1 or None, got True."),
        (checks.check_share, (1,), "'x' must be a number between 0 and 1, got 1."),
        (checks.check_share_or_end, (math.nan,), "'x' must be a number from 0 to 1, got nan."),
        (checks.check_bool, (1,), "'x' must be True or False, got 1."),
        (checks.check_choice, ("c", ("a", "b")), "'x' must be 'a' or 'b', got 'c'."),
        (checks.check_choice, ([], ("a", "b", "d")), "'x' must be 'a', 'b' or 'd', got []."),
        (checks.check_kind, (3, str, "a name"), "'x' must be a name, got int."),
        (checks.check_kind, (3, str, "a name", "say it"), "'x' must be a name, got int; say it."),
        (checks.check_text, (3,), "'x' must be a text, got 3."),
        (checks.check_list, ("ab",), "'x' must be a list, got 'ab'."),
        (checks.check_list, (3, "two names"), "'x' must be two names, got 3."),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(check, arguments, sentence):
    with pytest.raises(InputError) as error:
        check("x", *arguments)
    assert str(error.value) == sentence


def test_an_upper_end_is_named():
    assert checks.check_int("x", np.int64(3), 1, most=3) == 3
    with pytest.raises(InputError, match=r"'x' must be an int from 1 to 3, got 4\."):
        checks.check_int("x", 4, 1, most=3)


def test_a_phrase_has_its_own_quotes():
    with pytest.raises(InputError, match=r"^'rules' of the file must be a list, got 3"):
        checks.check_list("'rules' of the file", 3)


def test_what_fits_is_returned():
    assert checks.check_list("x", (1, 2)) == [1, 2]
    assert checks.check_kind("x", "a", str, "a name") == "a"
    assert checks.check_share_or_end("x", 1) == 1.0
    assert checks.check_int_or_none("x", None) is None
    assert checks.check_number("x", Fraction(1, 2), "a half", lambda n: n == 0.5) == Fraction(1, 2)
