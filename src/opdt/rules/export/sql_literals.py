"""Values as SQL literals that read back as the very same value."""

from __future__ import annotations

import math
import re
from datetime import datetime
from fractions import Fraction
from typing import Any

from opdt.errors import EngineUnavailable, InputError
from opdt.rules.condition import Op
from opdt.rules.export.dialects import Dialect
from opdt.rules.export.numbers import EXACT, is_single
from opdt.rules.export.plan import Test

try:
    from sqlglot import exp
except ImportError as error:
    raise EngineUnavailable("SQL needs sqlglot; run: pip install 'opdt[sql]'") from error

Tree = Any  # a tree of sqlglot, whose base class has another name in every version

_NOT_IN_SQL = re.compile("[\x00\ud800-\udfff]")


class Literals:
    """Literals, names and casts of one dialect, as sqlglot's trees."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def column(self, feature: str) -> Tree:
        """A column by its exact name."""
        if not feature and self.dialect.name != "sqlite":
            raise InputError(f"{self.dialect.name} has no columns without a name; rename it.")
        return exp.column(exp.Identifier(this=_checked(feature, "name"), quoted=True))

    def label(self, label: Any) -> Tree:
        """A class, or NULL for none."""
        if label is None:
            return exp.null()
        if isinstance(label, bool):
            return self.boolean(label)
        return self.text(label) if isinstance(label, str) else self.number(label)

    def value(self, value: Any, test: Test) -> Tree:
        """A value that a test compares its column with."""
        if isinstance(value, datetime):
            return self.instant(value, test)
        return self.label(value)

    def text(self, text: str) -> Tree:
        """A text, quoted."""
        text = _checked(text, "text")
        if self.dialect.name == "tsql" and not text.isascii():
            return exp.National(this=text)
        return exp.Literal.string(text)

    def boolean(self, value: bool) -> Tree:
        """A value of a boolean column."""
        return exp.Boolean(this=value) if self.dialect.booleans else exp.Literal.number(int(value))

    def constant(self, value: bool) -> Tree:
        """A condition that always holds, or never."""
        if self.dialect.booleans:
            return exp.Boolean(this=value)
        return exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(int(value)))

    def instant(self, value: datetime, test: Test) -> Tree:
        """A date, with its time where it is not midnight."""
        midnight = value == datetime(value.year, value.month, value.day)
        text = value.date().isoformat() if midnight else value.isoformat(sep=" ")
        if self.dialect.name == "sqlite":
            if value.microsecond or test.op not in (Op.GE, Op.LT):
                raise InputError(
                    f"a date of column {test.feature!r} cannot be compared in SQLite, which knows "
                    "dates to the second and no equality of them."
                )
            text = value.isoformat(sep=" ")
        elif test.zone:  # or the database would take the zone of its session
            text = f"{value.isoformat(sep=' ')}+00:00"
        kind = self.dialect.zoned if test.zone else self.dialect.instant
        literal = exp.Literal.string(text)
        return self.cast(literal, kind) if kind else literal

    def nan(self) -> Tree:
        """A NaN."""
        return self.cast(exp.Literal.string("NaN"), self.dialect.double)

    def cast(self, value: Tree, to: str) -> Tree:
        """A value as one of sqlglot's types."""
        # TryCast is how sqlglot reads a plain CAST of Spark.
        kind = exp.TryCast if self.dialect.name == "spark" else exp.Cast
        return kind(this=value, to=exp.DataType(this=exp.DataType.Type(to), nested=False))

    def number(self, value: float) -> Tree:
        """A number that reads back as the same double, or the same whole number."""
        if isinstance(value, int) and (abs(value) < EXACT or value not in self.dialect.whole):
            value = float(value)
        if isinstance(value, int):
            return _signed(str(abs(value)), value < 0)
        text = repr(abs(value)).removesuffix(".0")
        if not self.dialect.reads_decimals and not _is_surely_read(text, abs(value)):
            return _fraction(value)
        if self.dialect.exponents and "e" not in text and not is_single(value):
            text += "e0"
        return _signed(text, value < 0)


def _signed(text: str, negative: bool) -> Tree:
    literal = exp.Literal.number(text)
    return exp.Neg(this=literal) if negative else literal


def _is_surely_read(text: str, value: float) -> bool:
    """Whether even a careless reader makes the right double of a decimal.

    Up to 15 digits and a small power of ten are doubles, whose quotient needs one rounding. A
    reader that rounds twice, first to a longer type, errs only near the middle of two doubles.
    """
    n_digits = sum(map(str.isdigit, text.partition("e")[0].strip("0.")))
    off = abs(Fraction(text) - Fraction(value)) / Fraction(math.ulp(value))
    return value == 0 or (n_digits <= 15 and 1e-7 <= value < 1e22 and off < Fraction(511, 1024))


def _fraction(value: float) -> Tree:
    """A double as a whole number times or over powers of two, which no reader rounds."""
    top, bottom = abs(value).as_integer_ratio()
    shift = max(0, top.bit_length() - 53)
    tree = _signed(str(top >> shift), value < 0)
    for join, bits in ((_times, shift), (_over, bottom.bit_length() - 1)):
        for step in [62] * (bits // 62) + [bits % 62] * (bits % 62 > 0):
            tree = join(tree, exp.Literal.number(f"{2**step}.0"))
    return tree


def _times(left: Tree, right: Tree) -> Tree:
    return exp.Mul(this=left, expression=right)


def _over(left: Tree, right: Tree) -> Tree:
    return exp.Div(this=left, expression=right, typed=True, safe=True)


def _checked(text: str, what: str) -> str:
    if _NOT_IN_SQL.search(text):
        raise InputError(
            f"the {what} {text!r} holds a character that SQL has no way to write; rename it."
        )
    return text
