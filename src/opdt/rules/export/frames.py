"""Rules as expressions of pandas and polars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from functools import reduce
from operator import and_, or_
from typing import Any

from opdt.optional import require
from opdt.rules.condition import Op
from opdt.rules.export.cases import Cases, Form, check_labels
from opdt.rules.export.numbers import is_single
from opdt.rules.export.plan import ColumnType, Test, plan
from opdt.rules.export.recorder import Recorder


def pandas_source(cases: Cases) -> str:
    """Source of a Series of `df`; needs the names df, np and pd."""
    return str(_Pandas(Recorder("df"), Recorder("np"), Recorder("pd")).result(cases))


def polars_source(cases: Cases) -> str:
    """Source of the expression; needs the name pl."""
    return str(_Polars(Recorder("pl")).result(cases))


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
        values = [self.value(value) for value in test.values]
        column = self.column(test)
        if test.op is Op.GE:
            return column >= values[0]
        if test.op is Op.LT:
            return column < values[0]
        if test.op is Op.NE:
            return self.differs(column, test, values[0])
        if test.type is ColumnType.TEXT and values:
            return self.is_text(column, values)
        return reduce(or_, [column == value for value in values] or [self.everywhere(False)])

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
        return self.df[test.feature]

    def value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return self.pd.Timestamp(str(value))
        if not isinstance(value, float):
            return value
        if is_single(value):
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
        if test.type is not ColumnType.NUMBER:
            return column
        if any(isinstance(value, float) for value in test.values):
            column = column.cast(self.pl.Float64)
        return column.fill_nan(None)  # polars takes a NaN for the largest number

    def value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            parts = [value.year, value.month, value.day, value.hour, value.minute, value.second]
            return self.pl.datetime(*parts, value.microsecond)
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
