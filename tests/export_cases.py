"""Tables with hostile names, levels and missing values, and rules on them, for the exports."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opdt.rules import AnyRule, Condition, Rule, RuleList, RuleSet

NAMES = (
    "age",
    "a b",
    'a"b',
    "a'b",
    "a`b",
    "[x]",
    "]",
    "a.b",
    "x;--",
    "1; DROP TABLE t",
    "select",
    "NULL",
    "größe",
    "名前",
    "🙂",
    "x >= 3",
    "%s",
    "{0}",
    "\\",
    "a\\'b",
    "a\nb",
    "\t",
    "$1",
    ":name",
    "?",
    "/* c */",
    "-- c",
    " x ",
    "<script>",
    "&amp;",
    "a_b^c~d#e$",
    "|",
    "*",
)
TEXTS = (
    "a",
    "A",
    "",
    " ",
    "a ",
    "it's",
    '"q"',
    "\\",
    "\\'",
    "\\n",
    "\n",
    "\r",
    "x'); DROP TABLE t; --",
    "NULL",
    "NaN",
    "nan",
    "null",
    "3",
    "3.0",
    "true",
    "é",
    "e\u0301",
    "🙂",
    "%",
    "_",
    "{}",
    "<b>",
    "&lt;",
    "]]>",
    "a\tb",
    "$1",
    ":a",
    "?",
)
DOUBLES = (
    0.0,
    -0.0,
    0.1,
    -0.1,
    0.3,
    0.1 + 0.2,
    29.9,
    math.nextafter(29.9, 0),
    127.5,
    130.0,
    1e-5,
    1e16,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    -1e300,
    0.12345678901234567,
    123456789.12345678,
    16777216.0,
    16777217.0,
    2.0**53,
    2.0**53 + 2,
    2.0**63,
    1.2345678901234567e17,
    math.inf,
    -math.inf,
)
WHOLES = (0, 1, -1, 3, 127, 16777217, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
UNSIGNED = (0, 1, 3, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1)
# One sort of column for each type that databases have, and what `types` calls it.
SORTS = {
    "double": "float",
    "single": "float",
    "whole": "integer",
    "unsigned": "integer",
    "truth": "boolean",
    "text": "text",
    "date": "date",
}

finite = st.floats(allow_nan=False, allow_infinity=False)
hostile = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=5)
instants = st.datetimes(dt.datetime(2024, 2, 28), dt.datetime(2024, 3, 2))
whole_seconds = instants.map(lambda instant: instant.replace(microsecond=0))
singles = st.sampled_from([np.float32(x) for x in (0.1, -0.1, 29.9, 127.5, 16777216, 1e30)])
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "double": st.sampled_from(DOUBLES) | st.just(math.nan) | finite,
    "single": singles | st.just(np.float32("nan")) | st.floats(width=32).map(np.float32),
    "whole": st.sampled_from(WHOLES) | st.integers(-3, 3),
    "unsigned": st.sampled_from(UNSIGNED),
    "truth": st.booleans(),
    "text": st.sampled_from(TEXTS) | hostile,
    "date": instants | whole_seconds | st.just(dt.datetime(2024, 3, 1)),
}


@dataclass(frozen=True)
class Case:
    """A table, a rule on it, and the types of the columns as far as the rule is to know them."""

    columns: dict[str, list[Any]]
    sorts: dict[str, str]
    rule: AnyRule
    types: dict[str, str] | None

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The cells row by row."""
        return list(zip(*self.columns.values(), strict=True))


@st.composite
def cases(
    draw, sorts=tuple(SORTS), *, exact_dates=False, typed=None, forms=("rule", "list", "set")
):
    """A case whose columns are of these sorts.

    Parameters
    ----------
    sorts : collection of str
    exact_dates : bool
        Whether dates in conditions are whole seconds in thresholds only.
    typed : bool, optional
        Whether the types are known; either where it is not said.
    forms : collection of str
    """
    names = draw(st.lists(_names(), min_size=1, max_size=4, unique_by=str.casefold))
    of = {name: draw(st.sampled_from(sorts)) for name in names}
    n_rows = draw(st.integers(1, 6))
    columns = {
        name: draw(st.lists(st.none() | CELLS[sort], min_size=n_rows, max_size=n_rows))
        for name, sort in of.items()
    }
    typed = draw(st.booleans()) if typed is None else typed
    bodies = st.lists(_conditions(columns, of, typed=typed, exact_dates=exact_dates), max_size=4)
    rule = draw(_rules(bodies, draw(st.sampled_from(forms))))
    return Case(columns, of, rule, {n: SORTS[s] for n, s in of.items()} if typed else None)


def _names():
    return st.sampled_from(NAMES) | hostile.filter(lambda name: name.strip())


@st.composite
def _rules(draw, bodies, form):
    labels = draw(
        st.sampled_from([("ill", "it's \\ é", ""), (0, 1, 2**60), (True, False, True), (0.1, 1, 2)])
    )
    if form == "rule":
        return Rule(draw(bodies), labels[0])
    default = draw(st.sampled_from([labels[1], None]))
    if form == "set":
        rules = [Rule(body, labels[0]) for body in draw(st.lists(bodies, max_size=3))]
        return RuleSet(rules, labels[0], default)
    rules = [
        Rule(body, draw(st.sampled_from(labels))) for body in draw(st.lists(bodies, max_size=3))
    ]
    return RuleList(rules, default)


@st.composite
def _conditions(draw, columns, sorts, *, typed, exact_dates):
    """A condition that suits its column, mostly with values that occur in it."""
    name = draw(st.sampled_from(sorted(sorts)))
    sort = sorts[name]
    ops = ["is missing", "is present", "==", "!=", "in", ">=", "<", ">=", "<"]
    if sort == "text" or (sort == "truth" and not typed):
        ops = ops[:5]
    elif sort == "date" and exact_dates:
        ops = [op for op in ops if op not in ("==", "!=", "in")]
    op = draw(st.sampled_from(ops))
    if op.startswith("is"):
        return Condition(name, op)
    present = [cell for cell in columns[name] if cell is not None and cell == cell]
    values = _values(sort, op, typed=typed, exact_dates=exact_dates)
    if present and sort != "truth" and not (sort == "date" and exact_dates):
        values = st.sampled_from(present).map(_value).filter(_is_finite) | values
    if op == "in":
        return Condition(name, op, draw(st.lists(values, min_size=1, max_size=4)))
    return Condition(name, op, draw(values))


def _values(sort, op, *, typed, exact_dates):
    """Values that a column of this sort may be compared with."""
    is_level = op in ("==", "!=", "in")
    if sort == "date":
        return (whole_seconds if exact_dates else instants).map(np.datetime64)
    if sort == "text":
        return CELLS["text"]
    if sort == "truth":
        return (
            st.booleans()
            if not typed
            else st.sampled_from([0, 1, 2] if is_level else [0, 1, 0.5, 1.5, -1])
        )
    small = st.integers(-3, 3) | st.sampled_from([0.1, 0.5, 29.9, 16777217.0, 16777217, 1e-5])
    if sort in ("whole", "unsigned"):
        # Doubles that are whole numbers, and numbers beside those that a double can hold.
        return small | st.sampled_from([*WHOLES, *UNSIGNED, 2.0**53, 2.0**63, 2**70, 1e300])
    if typed:
        return small | finite | st.sampled_from(WHOLES)
    doubles = st.sampled_from(DOUBLES).filter(math.isfinite) | finite
    if (
        sort == "single"
    ):  # where a database does not know better, it reads these in single precision
        doubles = doubles.filter(lambda value: abs(value) < 2**53 or abs(value) >= 2**64)
    return small | doubles


def _value(cell):
    return np.datetime64(cell) if isinstance(cell, dt.datetime) else cell


def _is_finite(value):
    return not isinstance(value, (float, np.floating)) or math.isfinite(value)
