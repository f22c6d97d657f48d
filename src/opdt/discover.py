"""The one function in which the steps meet: table → problem → engine → solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from opdt.engines import Engine, get_engine
from opdt.errors import InputError
from opdt.problem import Constraints, Problem, Structure, read_structure
from opdt.problem.groups import check_groups
from opdt.solution import Budget, Solution
from opdt.table import Table

StructureLike = Structure | Sequence[str] | str | Path | None
Groups = Mapping[str, Iterable[str]]


def discover(
    X: Any,
    y: Any = None,
    *,
    max_depth: int | None = None,
    w: float = 10.0,
    structure: StructureLike = None,
    groups: Groups | None = None,
    target: Any = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    kinds: Mapping[str, str] | None = None,
    engine: str | Engine = "search",
    time_limit: float | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
) -> Solution:
    """The best rule of a table, with what is proven about it.

    Parameters
    ----------
    X : data frame, 2-D array, mapping of columns, path of a CSV or Parquet file, or Table
        One row per case. pandas, polars and Arrow tables are read as they are; text and
        category columns become categorical features, everything else numeric.
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them. Left out when X is a Table.
    max_depth : int, optional
        The largest number of conditions; the structure's depth, or 2, if left out.
    w : float
        The price of one error, in rows: VI = rows covered - w × errors among them.
    structure : Structure, sequence of group names, or path, optional
        Which features may be used where: `["cat", "num"]`, a `Structure`, or a structure file.
    groups : mapping of name to features, optional
        Groups that the structure refers to, beside `all`, `num` and `cat`.
    target : class, optional
        The class to find a rule for; the best over all classes if left out.
    constraints : Constraints or mapping of its arguments, optional
    sample_weight : array-like of shape (n_rows,), optional
    kinds : mapping of column to "numeric" or "categorical", optional
    engine : str or Engine
        See `opdt.engine_names()`.
    time_limit : float, optional
        Seconds after which the best rule so far is returned, with a true bound.
    n_jobs : int, optional
        Threads; all cores if left out.
    budget : Budget, optional
        Further limits and a progress callback; `time_limit` and `n_jobs` then belong in it.

    Returns
    -------
    Solution

    Examples
    --------
    >>> solution = discover({"age": [25, 31, 47, 52], "smoker": ["no", "no", "yes", "no"]},
    ...                     ["well", "well", "ill", "ill"], target="ill")
    >>> print(solution.rule, "| VI", solution.value, "|", solution.status)
    IF age >= 40 THEN ill | VI 2.0 | optimal
    """
    chosen = get_engine(engine)
    table = resolve_table(X, y, sample_weight, kinds)
    shape, file_groups = resolve_structure(structure, max_depth)
    problem = Problem.build(
        table,
        structure=shape,
        groups={**file_groups, **check_groups(groups)},
        w=w,
        target=target,
        constraints=resolve_constraints(constraints),
    )
    return chosen.solve(problem, resolve_budget(budget, time_limit, n_jobs))


def resolve_table(X: Any, y: Any, sample_weight: Any, kinds: Mapping[str, str] | None) -> Table:
    """The table of the data, or the table given, which nothing may be added to."""
    if not isinstance(X, Table):
        return Table.build(X, y, sample_weight=sample_weight, kinds=kinds)
    for name, given in (("y", y), ("sample_weight", sample_weight), ("kinds", kinds)):
        if given is not None:
            raise InputError(
                f"'{name}' cannot be given beside a Table, which has its own; "
                "put it into Table.build."
            )
    return X


def resolve_structure(
    structure: StructureLike, max_depth: int | None = None
) -> tuple[Structure, Groups]:
    """The structure meant by any of its spellings, and the groups a structure file brings."""
    groups: Groups = {}
    if isinstance(structure, (str, Path)):
        content = read_structure(structure)
        structure, groups = content.structure, content.groups or {}
    if max_depth is not None and (
        isinstance(max_depth, bool) or not isinstance(max_depth, Integral)
    ):
        raise InputError(f"'max_depth' must be an int >= 1 or None, got {max_depth!r}.")
    if structure is None:
        return Structure.free(2 if max_depth is None else int(max_depth)), groups
    if not isinstance(structure, Structure):
        if not isinstance(structure, Sequence):
            raise InputError(
                "'structure' must be a Structure, a list of group names or the path of a "
                f"structure file, got {type(structure).__name__}."
            )
        structure = Structure.levels(*structure)
    if max_depth is not None and max_depth != structure.depth:
        raise InputError(
            f"'max_depth' is {max_depth}, but the structure has depth {structure.depth}; "
            "leave 'max_depth' out or make them agree."
        )
    return structure, groups


def resolve_constraints(constraints: Constraints | Mapping[str, Any] | None) -> Constraints:
    """Constraints from a mapping of their arguments, as they stand in files and grids."""
    if constraints is None or isinstance(constraints, Constraints):
        return constraints or Constraints()
    if not isinstance(constraints, Mapping):
        raise InputError(
            "'constraints' must be a Constraints object or a mapping of its arguments, "
            f"got {type(constraints).__name__}."
        )
    known = Constraints.__dataclass_fields__
    unknown = [name for name in constraints if name not in known]
    if unknown:
        raise InputError(f"'constraints' has no {unknown[0]!r}; it has {', '.join(known)}.")
    return Constraints(**constraints)


def resolve_budget(budget: Budget | None, time_limit: float | None, n_jobs: int | None) -> Budget:
    """One budget from the short and the long way of giving it."""
    if budget is None:
        return Budget(seconds=time_limit, threads=n_jobs)
    if not isinstance(budget, Budget):
        raise InputError(f"'budget' must be a Budget object, got {type(budget).__name__}.")
    if time_limit is not None or n_jobs is not None:
        raise InputError(
            "'time_limit' and 'n_jobs' cannot be given beside 'budget'; put them into it as "
            "Budget(seconds=…, threads=…)."
        )
    return budget
