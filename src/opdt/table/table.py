"""The validated, rank-coded input that everything else works on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.columns import Column, code_matrix, code_values, tiles
from opdt.table.frames import (
    Source,
    check_names,
    check_rows,
    find_column,
    from_values,
    has_names,
    open_source,
)
from opdt.table.kinds import Kind, unknown_column
from opdt.table.labels import check_weights, code_labels, one_class
from opdt.table.leaks import MOST_COLUMNS, leak_of
from opdt.table.lines import line_of
from opdt.table.origin import file_of
from opdt.table.parallel import run
from opdt.table.places import shown
from opdt.table.planning import Planned, plan_block, plan_coded, plan_raw, plan_unread
from opdt.table.raw import BadRows, Raw
from opdt.table.remarks import remark
from opdt.table.roles import (
    ColumnPlan,
    NotUsed,
    Plan,
    Wish,
    check_missing,
    check_roles,
    kind_of,
)
from opdt.table.sparse import SparseSource, code_entries, code_flags, mostly_zeros
from opdt.table.typed import Held, decide_typed

# Cells from which on it pays to code columns on several cores.
_LARGE = 1 << 20
_TOGETHER = 32


@dataclass(frozen=True, eq=False)
class Table:
    """Features, labels and row weights, validated, rank-coded and read-only.

    Attributes
    ----------
    columns : tuple of Column, length n_features
    labels : ndarray of int32 of shape (n_rows,)
        The code of each row's class in `classes`.
    classes : ndarray of shape (n_classes,)
        The sorted distinct labels; one word for all rows where an objective needs no classes.
    weights : ndarray of float64 of shape (n_rows,), or None
        Row weights; None means that every row counts one.
    plan : Plan
        What each column of the data was taken for, also those that are no features.
    kept : tuple of Column
        Columns that are no features and were kept as segments, categorical whatever they hold.

    Examples
    --------
    >>> table = Table.build({"age": [31, 64, 58], "smoker": ["no", "yes", "yes"]}, [0, 1, 1])
    >>> table.names, table.n_rows
    (('age', 'smoker'), 3)
    >>> table.columns[0].codes.tolist()
    [0, 2, 1]
    """

    columns: tuple[Column, ...]
    labels: NDArray[np.int32]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    plan: Plan = field(default_factory=Plan)
    kept: tuple[Column, ...] = ()

    def of_one_class(self, name: str) -> Table:
        """The same features, where rows have no classes; `name` is that of all."""
        labels, classes = one_class(name, self.n_rows)
        return replace(self, labels=labels, classes=classes)

    def take(self, rows: NDArray[np.int64]) -> Table:
        """The table of some rows, all classes kept, as if no other row had been read."""
        weights = None if self.weights is None else self.weights[rows]
        columns = tuple(column.take(rows) for column in self.columns)
        kept = tuple(column.take(rows) for column in self.kept)
        return Table(columns, self.labels[rows], self.classes, weights, kept=kept)

    @classmethod
    def build(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        roles: Mapping[str, str] | Plan | None = None,
        missing: Any = None,
        keep: Sequence[str] = (),
        apart: Sequence[str] = (),
        only_class: str | None = None,
        warn: bool = True,
        watch: Callable[[], object] | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Return the table of some data and its labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), data frame, mapping of columns, or path
            NumPy array (columns x0, x1, …), list of rows, sparse matrix of SciPy, pandas, polars
            or pyarrow table, anything else narwhals reads, or the path of a CSV or Parquet file.
            Sparse matrices and sparse columns of pandas stay sparse.
        y : array-like of shape (n_rows,), or str
            Labels of at least two classes, or the name of the column of `X` that holds them;
            that column is then no feature.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights, finite, not negative, not all zero.
        roles : mapping of column name to role, optional
            What to take a column for, where its content suggests otherwise; see `Role`. A `Plan`
            is kept as it is: other rows of the same table are read as those that it was made of.
        missing : list of values, or mapping of column name to such lists, optional
            Cells that mean that there is no value, such as 9999.
        keep : sequence of column names
            Columns to keep even if they are no features: limits per segment ask for them.
        apart : sequence of column names
            Columns beside the target that are no features, because an objective reads them.
        only_class : str, optional
            The class of all rows, where there are no labels; `y` is then not looked at, but the
            column that it names is no feature.
        warn : bool
            Whether to warn of columns that are not used and of cells that cannot be read.
        watch : callable, optional
            Called without arguments between blocks of columns, and of a large table at least
            every 0.1 s. What it raises ends the work and passes through.
        n_jobs : int, optional
            The most that code a large table; all cores that the process may use if left out.

        Raises
        ------
        InputError
            If the data cannot be used; the message names the column and the cure.
        """
        source = open_source(X)
        try:
            table = cls._built(
                source, y, sample_weight, roles, missing, apart, only_class, warn, watch, n_jobs
            )
            return replace(table, kept=_kept(source, table, keep)) if keep else table
        except BadRows as error:
            raise in_file(error, source, y) from None

    @classmethod
    def _built(
        cls,
        source: Source,
        y: Any,
        sample_weight: Any,
        roles: Mapping[str, str] | Plan | None,
        missing: Any,
        apart: Sequence[str],
        only_class: str | None,
        warn: bool,
        watch: Callable[[], object] | None,
        threads: int | None,
    ) -> Self:
        names = source.names
        check_names(names)
        target = [y] if isinstance(y, str) else []
        no_features = {find_column(source, name) for name in (*target, *apart)}
        features = [j for j in range(len(names)) if j not in no_features]
        check_rows(source, y, "y")
        check_rows(source, sample_weight, "sample_weight")
        if only_class is None:
            raw_labels = _raw_labels(source, y)
            _check_shape(source, len(features), len(raw_labels.values))
            labels, classes = code_labels(raw_labels, fixed_width=_is_fixed_width(y))
        else:
            _check_shape(source, len(features), source.n_rows)
            labels, classes = one_class(only_class, source.n_rows)
        wanted = [names[j] for j in features]
        named = has_names(source) and not isinstance(roles, Plan)
        asked = AskedOfColumns(check_roles(roles, wanted), check_missing(missing, wanted), named)
        planned = _code(source, features, asked, watch, threads)
        weights = check_weights(sample_weight, source.n_rows)
        columns = tuple(column for _, column in planned if column is not None)
        plans = with_lines([plan for plan, _ in planned], source)
        if not columns:
            raise NotUsed(plans[0], "no column is left to make rules of: ")
        plan = Plan(tuple(_with_leaks(plans, columns, labels, len(classes))))
        table = cls(columns, labels, classes, weights, plan)
        if warn:
            remark(plan)
        return table

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Positions of the numeric features, ascending."""
        return tuple(j for j, c in enumerate(self.columns) if c.kind is Kind.NUMERIC)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the categorical features, ascending."""
        return tuple(j for j, c in enumerate(self.columns) if c.kind is Kind.CATEGORICAL)

    def index(self, name: str) -> int:
        """Return a feature's position; an unknown name is refused with the closest ones."""
        try:
            return self._positions[name]
        except KeyError:
            self.check_used(name)
            raise unknown_column(name, self.names) from None

    def segments(self, name: str) -> Column:
        """The column whose values are segments: a feature, or one that was kept."""
        if name in self._positions:
            return self.columns[self._positions[name]]
        for column in self.kept:
            if column.name == name:
                return column
        if any(column.name == name for column in self.plan.not_used):
            raise InputError(
                f"column {name!r} is no feature and was not kept as segments; build the table with "
                f"Table.build(..., keep=[{name!r}])."
            )
        raise unknown_column(name, self.names)

    def check_used(self, name: str) -> None:
        """Refuse a column of the data that is no feature, saying why it is none."""
        for column in self.plan.not_used:
            if column.name == name and name not in self._positions:
                raise NotUsed(column)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}


def _kept(source: Source, table: Table, names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of these names that are no features, as segments."""
    out = []
    for name in dict.fromkeys(names):
        if name in table.names:
            continue
        if name not in source.names:
            raise unknown_column(name, source.names)
        raw = source.column(source.names.index(name))
        out.append(
            Column(name, Kind.CATEGORICAL, *code_values(raw, Kind.CATEGORICAL, f"column {name!r}"))
        )
    return tuple(out)


def with_lines(plans: Sequence[ColumnPlan], source: Source) -> list[ColumnPlan]:
    """The plans, with the lines of cells that cannot be read, where a text file has any."""
    file = file_of(source)
    out = []
    for plan in plans:
        unread = plan.unread
        if file is not None and unread is not None and unread.row is not None:
            line = line_of(file, unread.row, plan.name, unread.cell)
            plan = replace(plan, unread=replace(unread, line=line))
        out.append(plan)
    return out


def in_file(error: BadRows, source: Source, y: Any) -> InputError:
    """The error with the line of the text file that the table came from, where it has one."""
    file = file_of(source)
    own = isinstance(y, str) or error.before.startswith("column")  # labels may come from elsewhere
    line = None if file is None or not own else line_of(file, error.row)
    return error if file is None or line is None else error.in_file(line, shown(file.path))


def _raw_labels(source: Source, y: Any) -> Raw:
    if isinstance(y, str):
        return source.column(find_column(source, y))
    if y is None:
        raise InputError(
            "a table requires y to be passed, but the target y is None; give one label a row."
        )
    return from_values(y, "y")


def _is_fixed_width(y: Any) -> bool:
    return isinstance(y, np.ndarray) and y.dtype.kind == "U"


def _check_shape(source: Source, n_features: int, n_labels: int) -> None:
    shape = f"(shape=({source.n_rows}, {n_features})) while a minimum of 1 is required"
    if has_names(source) and n_features and source.n_rows == 0:
        raise InputError("the table has no rows; a rule needs some.")
    if n_features == 0:  # of arrays scikit-learn asks for words of its own
        raise InputError(f"X has no columns to make rules of: 0 feature(s) {shape}.")
    if source.n_rows == 0:
        raise InputError(f"X has no rows: Found array with 0 sample(s) {shape}.")
    if source.n_rows != n_labels:
        raise InputError(
            f"X and y must have the same number of rows, got {source.n_rows} and {n_labels}."
        )


class AskedOfColumns(NamedTuple):
    """What the user says about columns: their roles, and cells that mean no value."""

    roles: Mapping[str, Wish]
    missing: Mapping[str, tuple[Any, ...]]
    named: bool  # whether names and content decide where the user says nothing


def _code(
    source: Source,
    features: list[int],
    asked: AskedOfColumns,
    watch: Callable[[], object] | None,
    threads: int | None,
) -> list[Planned]:
    names = source.names
    plain = [j for j in features if names[j] not in asked.roles] if asked.roles else features
    jobs: list[Callable[[], Iterable[Planned]]] = []
    order: list[int] = []
    for block, matrix in source.blocks(plain):
        order += block
        code = code_flags if mostly_zeros(matrix) else code_matrix
        for part in tiles(matrix):
            some = [names[j] for j in block[part]]
            jobs.append(partial(_code_block, code, some, matrix[:, part], asked))
    large = source.n_rows * len(features) >= _LARGE
    if isinstance(source, SparseSource):
        run([lambda: source.by_column], large=large, watch=watch, threads=threads)
    rest = sorted(set(features).difference(order))
    order += rest
    # Columns of few stored cells are coded so quickly that a job of its own would cost more.
    step = _TOGETHER if isinstance(source, SparseSource) else 1
    for start in range(0, len(rest), step):
        jobs.append(partial(_code_apart, source, rest[start : start + step], asked))
    done = chain.from_iterable(run(jobs, large=large, watch=watch, threads=threads))
    planned = dict(zip(order, done, strict=True))
    return [planned[j] for j in features]


def _code_block(
    code: Callable[[Sequence[str], NDArray[Any]], Iterable[Column]],
    names: list[str],
    matrix: NDArray[Any],
    asked: AskedOfColumns,
) -> list[Planned]:
    declared = [asked.missing.get(name, ()) for name in names]
    return plan_block(code(names, matrix), matrix.dtype, declared, asked.named)


def _code_apart(source: Source, some: list[int], asked: AskedOfColumns) -> list[Planned]:
    out: list[Planned] = []
    for j in some:
        name = source.names[j]
        wish, declared = asked.roles.get(name), asked.missing.get(name, ())
        unread = plan_unread(name, wish)
        if unread is not None:
            out.append((unread, None))
            continue
        entries = source.entries(j)
        if entries is None:
            out.append(plan_raw(name, source.column(j), wish, declared, named=asked.named))
        else:
            kind = Kind.NUMERIC if wish is None else kind_of(wish.role, Kind.NUMERIC)
            column = code_entries(name, entries, kind)
            known = None if wish is None else wish.known
            plan = decide_typed(name, Held("number"), wish) if known is None else known
            out.append(plan_coded(plan, column, named=asked.named))
    return out


def _with_leaks(
    plans: Sequence[ColumnPlan],
    columns: Sequence[Column],
    labels: NDArray[np.int32],
    n_classes: int,
) -> Iterator[ColumnPlan]:
    """The plans, with a warning where a column alone tells the class."""
    few = len(columns) <= MOST_COLUMNS
    coded = {column.name: column for column in columns if few and not column.is_sparse}
    for plan in plans:
        column = coded.get(plan.name)
        leak = None if column is None else leak_of(column, labels, n_classes)
        yield plan if leak is None else replace(plan, warnings=(*plan.warnings, leak))
