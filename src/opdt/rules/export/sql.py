"""Rules as SQL, built as sqlglot's expression trees so that every name and text is quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from opdt.errors import InputError
from opdt.rules.condition import Op
from opdt.rules.export.cases import Cases, check_labels
from opdt.rules.export.dialects import NaN, find_dialect
from opdt.rules.export.numbers import is_single, nearest_double
from opdt.rules.export.plan import ColumnType, Test, plan
from opdt.rules.export.sql_literals import Literals, Tree

# After the module above, which says what to install where there is no sqlglot.
from sqlglot import exp  # isort: skip

# The names that databases have for types whose columns may hold a NaN.
_FLOAT_TYPES = {
    "databricks": ("float", "double"),
    "duckdb": ("FLOAT", "DOUBLE"),
    "postgres": ("real", "double precision", "numeric"),
    "snowflake": ("DOUBLE",),
    "spark": ("float", "double"),
}


def sql_condition(cases: Cases, dialect: str, types: Mapping[str, str] | None = None) -> str:
    """The expression that is true where any of the rules fires, else false, never NULL."""
    return str(condition_tree(cases, dialect, types).sql(dialect=find_dialect(dialect).name))


def sql_case(cases: Cases, dialect: str, types: Mapping[str, str] | None = None) -> str:
    """The expression that gives the class of the first rule that fires, else the default."""
    return str(case_tree(cases, dialect, types).sql(dialect=find_dialect(dialect).name))


def sql_predicts(
    cases: Cases, label: Any, dialect: str, types: Mapping[str, str] | None = None
) -> str:
    """The expression that is true where the class that comes out is `label`, never NULL."""
    writer = _Writer(find_dialect(dialect))
    marks = Cases(
        cases.form,
        tuple(type(rule)(rule.conditions, int(rule.label == label)) for rule in cases.rules),
        int(cases.default is not None and bool(cases.default == label)),
    )
    tree = exp.EQ(this=writer.case(marks, types), expression=writer.number(1))
    return str(tree.sql(dialect=writer.dialect.name))


def condition_tree(cases: Cases, dialect: str, types: Mapping[str, str] | None = None) -> Tree:
    """The tree of `sql_condition`."""
    writer = _Writer(find_dialect(dialect))
    return writer.any_of([writer.conjunction(tests) for tests in plan(cases.rules, types)])


def case_tree(cases: Cases, dialect: str, types: Mapping[str, str] | None = None) -> Tree:
    """The tree of `sql_case`."""
    check_labels(cases)
    return _Writer(find_dialect(dialect)).case(cases, types)


class _Writer(Literals):
    """Builds the conditions of one dialect."""

    def case(self, cases: Cases, types: Mapping[str, str] | None) -> Tree:
        """`CASE WHEN` with one branch for each rule; without rules the default alone."""
        if not cases.rules:
            return self.label(cases.default)
        branches = [
            exp.If(this=self.conjunction(tests), true=self.label(rule.label))
            for rule, tests in zip(cases.rules, plan(cases.rules, types), strict=True)
        ]
        default = None if cases.default is None else self.label(cases.default)
        return exp.Case(ifs=branches, default=default)

    def any_of(self, parts: list[Tree]) -> Tree:
        """True where any part is."""
        if not parts:
            return self.constant(False)
        if len(parts) == 1:
            return parts[0]
        return _joined(exp.Or, [_enclosed(part, exp.Connector) for part in parts])

    def conjunction(self, tests: list[Test]) -> Tree:
        """All tests, and then what makes the whole two-valued: no test of a missing value."""
        parts = [self.test(test) for test in tests]
        for feature in dict.fromkeys(test.feature for test in tests):
            parts += self.guards([test for test in tests if test.feature == feature])
        parts = list(dict.fromkeys(parts))
        if not parts:
            return self.constant(True)
        if len(parts) == 1:
            return parts[0]
        return _joined(exp.And, [_enclosed(part, exp.Or) for part in parts])

    def guards(self, tests: list[Test]) -> list[Tree]:
        """What holds for a value that is not missing, as far as the tests do not imply it."""
        feature, of = tests[0].feature, tests[0].type
        ops = {test.op for test in tests} - {Op.MISSING}
        if not ops:
            return []
        guards = [exp.Not(this=self.is_null(feature))]
        if not of.may_be_nan:
            return guards
        # A NaN is above every threshold and different from every level, but never below or equal.
        largest = self.dialect.nan is NaN.LARGEST and not ops & {Op.LT, Op.IN}
        unequal = self.dialect.nan is NaN.UNEQUAL and ops <= {Op.NE, Op.PRESENT}
        if largest or unequal:
            guards.append(self.is_not_nan(feature, of))
        return guards

    def test(self, test: Test) -> Tree:
        """One condition; NULL where the value is missing, unless the test asks for that."""
        if test.op is Op.MISSING:
            return self.is_missing(test.feature, test.type)
        if test.op is Op.PRESENT:
            return exp.Not(this=self.is_null(test.feature))
        column = self.operand(test)
        if test.op is Op.IN:
            return self.one_of(column, test)
        (value,) = (self.value(each, test) for each in test.values)
        compare = {Op.GE: exp.GTE, Op.LT: exp.LT, Op.NE: exp.NEQ}[test.op]
        tree = compare(this=column, expression=value)
        # Doubles are compared with the nearest double, which is taken out, or put in.
        double = nearest_double(test.values[0]) if test.type is ColumnType.NUMBER else None
        if double is None or (test.op is not Op.NE and double > test.values[0]):
            return tree
        join, same = (exp.And, exp.NEQ) if test.op is Op.GE else (exp.Or, exp.EQ)
        return join(this=tree, expression=same(this=column.copy(), expression=self.number(double)))

    def one_of(self, column: Tree, test: Test) -> Tree:
        """Whether a column has one of several values, each compared for itself where it matters.

        In a list, PostgreSQL would round all numbers to the precision of the column.
        """
        near = {
            v: nearest_double(v) if test.type is ColumnType.NUMBER else None for v in test.values
        }
        alone = [
            v
            for v in test.values
            if near[v] is not None or (isinstance(v, float) and not is_single(v))
        ]
        listed = [v for v in test.values if v not in alone]
        if len(listed) == 1:
            alone, listed = [*listed, *alone], []
        parts: list[Tree] = []
        if listed:
            values = [self.value(value, test) for value in listed]
            parts.append(exp.In(this=column.copy(), expressions=values))
        for value in alone:
            tree: Tree = exp.EQ(this=column.copy(), expression=self.value(value, test))
            double = near[value]
            if double is not None:
                not_it = exp.NEQ(this=column.copy(), expression=self.number(double))
                tree = exp.Paren(this=exp.And(this=tree, expression=not_it))
            parts.append(tree)
        return _joined(exp.Or, parts) if parts else self.constant(False)

    def operand(self, test: Test) -> Tree:
        """The column as it is compared."""
        column = self.column(test.feature)
        if test.type is ColumnType.TEXT and self.dialect.collation:
            return exp.Collate(this=column, expression=exp.var(self.dialect.collation))
        if test.type is ColumnType.DATE and self.dialect.name == "sqlite":
            # SQLite keeps dates as text, with a T or a space before the time, or without a time.
            return exp.Anonymous(this="DATETIME", expressions=[column])
        return column

    def is_null(self, feature: str) -> Tree:
        return exp.Is(this=self.column(feature), expression=exp.null())

    def is_missing(self, feature: str, of: ColumnType) -> Tree:
        null = self.is_null(feature)
        if not of.may_be_nan or self.dialect.nan is NaN.NEVER:
            return null
        return exp.Or(this=null, expression=_enclosed(self.is_nan(feature, of), exp.And))

    def is_nan(self, feature: str, of: ColumnType) -> Tree:
        if of is ColumnType.UNKNOWN:
            return exp.And(this=self.is_float(feature), expression=self.reads_nan(feature, exp.EQ))
        if self.dialect.nan is NaN.UNEQUAL:
            return exp.IsNan(this=self.column(feature))
        return exp.EQ(this=self.column(feature), expression=self.nan())

    def is_not_nan(self, feature: str, of: ColumnType) -> Tree:
        if of is ColumnType.UNKNOWN:
            return exp.Or(
                this=exp.Not(this=self.is_float(feature)),
                expression=self.reads_nan(feature, exp.NEQ),
            )
        if self.dialect.nan is NaN.UNEQUAL:
            return exp.Not(this=exp.IsNan(this=self.column(feature)))
        return exp.LT(this=self.column(feature), expression=self.nan())

    def is_float(self, feature: str) -> Tree:
        """Whether a column whose type is not known can hold a NaN."""
        name, column = self.dialect.name, self.column(feature)
        if name not in _FLOAT_TYPES:
            raise InputError(
                f"{name} has no way to ask for the type of column {feature!r}, which is tested "
                f"for being missing only; say what it holds: types={{{feature!r}: 'float'}}."
            )
        if name == "postgres":
            of = self.cast(exp.Anonymous(this="PG_TYPEOF", expressions=[column]), "TEXT")
        elif name == "snowflake":
            of = exp.Typeof(this=exp.ToVariant(this=column))
        else:
            of = exp.Typeof(this=column)
        return exp.In(this=of, expressions=[self.text(each) for each in _FLOAT_TYPES[name]])

    def reads_nan(self, feature: str, compare: Any) -> Tree:
        read = self.cast(self.column(feature), self.dialect.text)
        return compare(
            this=read, expression=self.text("nan" if self.dialect.name == "duckdb" else "NaN")
        )


def _joined(kind: Any, parts: Iterable[Tree]) -> Tree:
    return reduce(lambda left, right: kind(this=left, expression=right), parts)


def _enclosed(part: Tree, kind: Any) -> Tree:
    return exp.Paren(this=part) if isinstance(part, kind) else part
