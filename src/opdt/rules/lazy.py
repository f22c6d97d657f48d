"""Rules on data frames that are computed only when asked for: those of Dask and of Spark.

What comes back is lazy as well: a dask Series, or a Spark Column for `withColumn` and `filter`.
Nothing of either library is imported before one of its frames is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.rules.condition import Op
from opdt.table.kinds import unknown_column

if TYPE_CHECKING:
    from opdt.rules.export.plan import Test
    from opdt.rules.rule import Rule
    from opdt.rules.rule_set import RuleSet

COVERS = "covers"  # what the column is called
_LAZY = {"dask": "dask", "dask_expr": "dask", "pyspark": "Spark"}
_WHOLE, _FLOAT = ("byte", "short", "integer", "long"), ("float", "double", "decimal")
_DATE, _TEXT = ("date", "timestamp", "timestamp_ntz"), ("string", "varchar", "char")
_BEYOND = 1e19  # larger than any 64-bit whole number


def lazy_kind(X: Any) -> str | None:
    """Return "dask" or "Spark" for an object of theirs, None for anything else."""
    return _LAZY.get(type(X).__module__.partition(".")[0])


def check_lazy(X: Any) -> None:
    """Refuse what Dask and Spark have beside their plain data frames."""
    module, name = type(X).__module__, type(X).__name__
    if name != "DataFrame" or module.startswith("pyspark.pandas"):
        raise InputError(
            f"'X' must be a {lazy_kind(X)} DataFrame, got {module}.{name}; convert it first."
        )


def lazy_covers(rule: Rule | RuleSet, X: Any) -> Any:
    """Rows on which a rule (or any of a rule set) fires, as lazy as `X`; never missing."""
    check_lazy(X)
    names = {str(name): name for name in X.columns}
    for feature in rule.features:
        if feature not in names:
            raise unknown_column(feature, tuple(names))
    if lazy_kind(X) == "Spark":
        return _spark_covers(rule, X)
    frame = X[[names[feature] for feature in rule.features]]
    return frame.map_partitions(_part_covers, rule, meta=(COVERS, bool))


def lazy_choice(fires: Any, values: NDArray[Any], name: str) -> Any:
    """The first of two values where `fires` is false and the second where it is true.

    Parameters
    ----------
    fires : dask Series or Spark Column
        What `lazy_covers` returned.
    values : ndarray of shape (2,)
    name : str
        What the result is called.
    """
    if lazy_kind(fires) == "Spark":
        f = import_module("pyspark.sql.functions")
        outside, inside = values.tolist()
        return f.when(fires, f.lit(inside)).otherwise(f.lit(outside)).alias(name)
    meta = _part_choice(fires._meta, values, name)
    return fires.map_partitions(_part_choice, values, name, meta=meta)


def _part_covers(frame: Any, rule: Rule | RuleSet) -> Any:
    pandas = import_module("pandas")
    return pandas.Series(rule.covers(frame), index=frame.index, name=COVERS, dtype=bool)


def _part_choice(fires: Any, values: NDArray[Any], name: str) -> Any:
    pandas = import_module("pandas")
    return pandas.Series(values[fires.to_numpy().astype(np.intp)], index=fires.index, name=name)


def _spark_covers(rule: Rule | RuleSet, X: Any) -> Any:
    from opdt.rules.export.plan import plan

    f = import_module("pyspark.sql.functions")
    spark_types = {field.name: field.dataType.typeName() for field in X.schema.fields}
    types = {feature: _type_of(feature, spark_types[feature]) for feature in rule.features}
    rules = [
        [_spark_test(test, spark_types[test.feature], f) for test in tests]
        for tests in plan(rule._cases().rules, types)
    ]
    fires = [reduce(and_, tests, f.lit(True)) for tests in rules]
    return f.coalesce(reduce(or_, fires, f.lit(False)), f.lit(False)).alias(COVERS)


def _type_of(feature: str, spark_type: str) -> str:
    for kind, names in (
        ("boolean", ("boolean",)), ("integer", _WHOLE), ("float", _FLOAT), ("date", _DATE),
        ("text", _TEXT),
    ):  # fmt: skip
        if spark_type in names:
            return kind
    raise InputError(
        f"column {feature!r} has the Spark type {spark_type}, which is neither number, date nor "
        "text; convert it."
    )


def _spark_test(test: Test, spark_type: str, f: Any) -> Any:
    """One test as a Column; a missing value gives no or a missing answer."""
    column = f.col(f"`{test.feature.replace('`', '``')}`")
    present = column.isNotNull()
    if test.type.may_be_nan:
        present &= ~f.isnan(column.cast("double"))  # for Spark a NaN is the largest number
    if test.op is Op.MISSING:
        return ~present
    if test.op is Op.PRESENT:
        return present
    if spark_type in ("decimal", "float"):
        column = column.cast("double")
    elif spark_type == "date":
        column = column.cast("timestamp_ntz")
    values = [_spark_value(value, spark_type, f) for value in test.values]
    if test.op is Op.GE:
        return present & (column >= values[0])
    if test.op is Op.LT:
        return present & (column < values[0])
    if test.op is Op.NE:
        return present & (column != values[0])
    return present & _any_of(column, values, f)


def _any_of(column: Any, values: Sequence[Any], f: Any) -> Any:
    return reduce(or_, [column == value for value in values], f.lit(False))


def _spark_value(value: Any, spark_type: str, f: Any) -> Any:
    if spark_type == "timestamp":  # an instant, whatever the time zone of the session
        return f.timestamp_micros(f.lit(int(np.datetime64(value, "us").astype(np.int64))))
    if spark_type in _DATE:
        return f.lit(str(np.datetime64(value, "us"))).cast("timestamp_ntz")
    if spark_type in _WHOLE and not -(2**63) <= value < 2**63:
        return f.lit(_BEYOND if value > 0 else -_BEYOND)
    return f.lit(value)
