"""Rules as expressions of pandas and polars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import datetime
from functools import reduce
from operator import and_, or_
from typing import Any

from opdt.optional import require
from opdt.rules.condition import Op
from opdt.rules.export.cases import Cases, Form, check_labels
from opdt.rules.export.numbers import EXACT, is_single, nearest_double
from opdt.rules.export.plan import ColumnType, Test, plan
from opdt.rules.export.recorder import CallRecorder


def pandas_source(cases: Cases) -> str:
    """Source of a Series of `df`; needs the names df, np and pd."""
    return str(_Pandas(CallRecorder("df"), CallRecorder("np"), CallRecorder("pd")).result(cases))


def polars_source(cases: Cases) -> str:
    """Source of the expression; needs the name pl."""
    return str(_Polars(CallRecorder("pl")).result(cases))


def polars_expression(cases: Cases) -> Any:
    """The expression itself."""
    return _Polars(require("polars", "polars", "to_polars")).result(cases)


class _Frames(ABC):
    """Builds an expression with a library, or its source with recorders in the library's place."""

    def result(self, cases: Cases) -> Any:
        """The classes of a rule list, the covered rows of anything else."""
        rules = [self.conjunction(tests) for tests in plan(cases.rules, None)]
        if cases.form is Form.LIST:
            check_labels(cases)
            return self.labels([rule.label for rule in cases.rules], rules, cases.default)
        return self.covers(reduce(or_, rules) if rules else self.everywhere(False))

    def conjunction(self, tests: list[Test]) -> Any:
        """All conditions of a rule; a missing answer means no."""
        parts = [self.test(test) for test in tests]
        return reduce(and_, parts) if parts else self.everywhere(True)

    def test(self, test: Test) -> Any:
        """One condition; a missing value gives a missing answer, or no."""
        if test.op is Op.MISSING:
            return self.missing(test)
        if test.op is Op.PRESENT:
            return self.present(test)
        if test.op is Op.IN:
            return self.one_of(test)
        column, value = self.column(test), self.value(test.values[0])
        double = nearest_double(test.values[0])
        if double is not None:
            return self.exactly(test, column, value, double)
        if test.op is Op.GE:
            return column >= value
        if test.op is Op.LT:
            return column < value
        return self.differs(column, test, value)

    def one_of(self, test: Test) -> Any:
        """Whether a column has one of several values."""
        if test.type is ColumnType.TEXT and test.values:
            return self.is_text(self.column(test), [self.value(each) for each in test.values])
        # Each with the column as it is compared with that value.
        single = [replace(test, values=(value,)) for value in test.values]
        return reduce(or_, map(self.equals, single)) if single else self.everywhere(False)

    def equals(self, test: Test) -> Any:
        """Whether a column has the one value of a test."""
        column, double = self.column(test), nearest_double(test.values[0])
        same = column == self.value(test.values[0])
        return same if double is None else same & (column != double)

    def exactly(self, test: Test, column: Any, value: Any, double: int) -> Any:
        """A comparison with a whole number that is no double, for a column that may hold doubles.

        These are compared with the nearest double: it is taken out, or put in.
        """
        below = double < test.values[0]
        if test.op is Op.GE:
            return (column >= value) & (column != double) if below else column >= value
        if test.op is Op.LT:
            return (column < value) | (column == double) if below else column < value
        return self.differs(column, test, value) | (column == double)

    @abstractmethod
    def covers(self, fires: Any) -> Any:
        """The rows on which a condition holds, under the name `covers`."""

    @abstractmethod
    def labels(self, labels: list[Any], rules: list[Any], default: Any) -> Any:
        """The classes, under the name `label`."""

    @abstractmethod
    def everywhere(self, value: Any) -> Any:
        """The same value in every row."""

    @abstractmethod
    def column(self, test: Test) -> Any:
        """The column as it is compared."""

    @abstractmethod
    def value(self, value: Any) -> Any:
        """A value of a test."""

    @abstractmethod
    def differs(self, column: Any, test: Test, value: Any) -> Any:
        """Rows whose value is another one, and not missing."""

    @abstractmethod
    def is_text(self, column: Any, values: list[Any]) -> Any:
        """Rows whose value is one of these texts."""

    @abstractmethod
    def missing(self, test: Test) -> Any:
        """Rows whose value is missing."""

    @abstractmethod
    def present(self, test: Test) -> Any:
        """Rows whose value is not missing."""


class _Pandas(_Frames):
    def __init__(self, df: Any, np: Any, pd: Any) -> None:
        self.df, self.np, self.pd = df, np, pd

    def covers(self, fires: Any) -> Any:
        return self.plain(fires).rename("covers")

    def labels(self, labels: list[Any], rules: list[Any], default: Any) -> Any:
        series = self.everywhere(default)
        for label, rule in reversed(list(zip(labels, rules, strict=True))):
            series = series.mask(self.plain(rule), label)  # the first rule has the last word
        return series.rename("label")

    def plain(self, fires: Any) -> Any:
        """Without the missing answers that pandas' nullable types give."""
        return fires.fillna(False).astype(bool)

    def everywhere(self, value: Any) -> Any:
        options = {} if value is not None else {"dtype": object}
        return self.pd.Series(value, index=self.df.index, **options)

    def column(self, test: Test) -> Any:
        column = self.df[test.feature]
        # Dates of any type, with a time zone or without, which then means UTC.
        return self.pd.to_datetime(column, utc=True) if test.type is ColumnType.DATE else column

    def value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return self.pd.Timestamp(str(value), tz="UTC")
        if isinstance(value, int) and value >= 2**63 and value < 2**64:
            return self.np.uint64(value)  # Arrow reads a plain one as signed
        if not isinstance(value, float):
            return value
        if is_single(value) and abs(value) < EXACT:
            return int(value) if value.is_integer() else value
        # A plain 0.1 would be rounded to single precision beside a column of such floats.
        return self.np.float64(value)

    def differs(self, column: Any, test: Test, value: Any) -> Any:
        if test.type is ColumnType.TEXT:
            return self.present(test) & ~self.is_text(column, [value])
        return (column != value) & self.present(test)

    def is_text(self, column: Any, values: list[Any]) -> Any:
        # `==` of nullable texts gives an answer that pandas cannot join with one of numbers.
        return column.isin(values)

    def missing(self, test: Test) -> Any:
        return self.df[test.feature].isna()

    def present(self, test: Test) -> Any:
        return self.df[test.feature].notna()


class _Polars(_Frames):
    def __init__(self, pl: Any) -> None:
        self.pl = pl

    def covers(self, fires: Any) -> Any:
        return fires.fill_null(False).alias("covers")

    def labels(self, labels: list[Any], rules: list[Any], default: Any) -> Any:
        if not rules:
            return self.everywhere(default).alias("label")
        chain = self.pl
        for label, rule in zip(labels, rules, strict=True):
            chain = chain.when(rule).then(self.pl.lit(label))
        return chain.otherwise(self.pl.lit(default)).alias("label")

    def everywhere(self, value: Any) -> Any:
        return self.pl.repeat(value, self.pl.len())

    def named(self, feature: str) -> Any:
        # A plain name that looks like a pattern would be read as one.
        if feature == "*" or feature.startswith("^"):
            return self.pl.selectors.by_name(feature)
        return self.pl.col(feature)

    def column(self, test: Test) -> Any:
        column = self.named(test.feature)
        if test.type is ColumnType.DATE:
            # With a time zone or without, which then means UTC.
            return column.cast(self.pl.Datetime("us", "UTC"))
        if test.type is not ColumnType.NUMBER:
            return column
        if any(isinstance(value, float) for value in test.values):
            column = column.cast(self.pl.Float64)
        return column.fill_nan(None)  # polars takes a NaN for the largest number

    def value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            parts = [value.year, value.month, value.day, value.hour, value.minute, value.second]
            return self.pl.datetime(*parts, value.microsecond, time_zone="UTC")
        return value

    def differs(self, column: Any, test: Test, value: Any) -> Any:
        return column != value  # a missing value gives a missing answer, which means no

    def is_text(self, column: Any, values: list[Any]) -> Any:
        return column.is_in(values) if len(values) > 1 else column == values[0]

    def missing(self, test: Test) -> Any:
        missing = self.named(test.feature).is_null()
        return missing | self.is_nan(test) if test.type.may_be_nan else missing

    def present(self, test: Test) -> Any:
        present = self.named(test.feature).is_not_null()
        return present & ~self.is_nan(test) if test.type.may_be_nan else present

    def is_nan(self, test: Test) -> Any:
        """Whether a value is a NaN, in a column that need not be one of floats."""
        chosen = self.pl.selectors.by_name(test.feature) & self.pl.selectors.float()
        return self.pl.any_horizontal(self.pl.lit(False), chosen.is_nan())
