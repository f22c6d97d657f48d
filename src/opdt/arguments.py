"""Arguments that several functions take, in all their spellings, as the objects they mean."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

from opdt.errors import InputError, MemoryLimit, first_line
from opdt.machine import available, refuse_beyond
from opdt.problem import Constraints, Structure, read_structure
from opdt.rules.lazy import lazy_kind
from opdt.solution import Budget, Clock
from opdt.table import Plan, Source, Table, open_source
from opdt.table.places import is_remote
from opdt.table.read import split_inside
from opdt.table.sparse import SparseSource

StructureLike = Structure | Sequence[str] | str | Path | None
Groups = Mapping[str, Iterable[str]]

# Bytes of each cell of a coded table at least, and of each row of a column while it is coded; what
# is smaller than the last is not worth a look at the memory.
CODE_BYTES, WORKING_BYTES, LARGE = 4, 32, 1 << 26
TOO_LARGE = "take fewer rows or columns, or let files be read in pieces by 'memory_limit'"

# What a rule is to be best in.
OBJECTIVES = ("vi", "precision", "coverage")
# The least coverage of the most precise rule where none is given: without one it would be a row.
LEAST_COVERAGE = 0.05

_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b", re.IGNORECASE)


def resolve_table(
    X: Any,
    y: Any,
    sample_weight: Any,
    roles: Mapping[str, str] | Plan | None,
    clock: Clock | None = None,
    missing: Any = None,
) -> Table:
    """The table of the data, or the table given, which nothing may be added to.

    The clock's limits end the coding of the data with `Expired`; what does not fit into memory is
    refused.
    """
    if is_partitioned(X):
        raise InputError(
            "'X' lies in partitions, but this needs all rows in memory; only discover and "
            "OPDTClassifier take partitions."
        )
    if not isinstance(X, Table):
        asked = {"sample_weight": sample_weight, "roles": roles, "missing": missing}
        return _coded(open_source(X), y, asked, clock or Budget().start())
    for name, given in (
        ("y", y), ("sample_weight", sample_weight), ("roles", roles), ("missing", missing)
    ):  # fmt: skip
        if given is not None:
            raise InputError(
                f"'{name}' cannot be given beside a Table, which has its own; "
                "put it into Table.build."
            )
    return X


def _coded(source: Source, y: Any, asked: Mapping[str, Any], clock: Clock) -> Table:
    n_rows, n_columns, threads = source.n_rows, len(source.names), clock.budget.n_threads
    what = f"coding {n_rows:,} rows of {n_columns:,} columns"
    dense = 0 if isinstance(source, SparseSource) else n_rows * n_columns * CODE_BYTES
    working = n_rows * threads * WORKING_BYTES  # a column for each thread

    def watch() -> None:
        clock.check()
        if dense > LARGE:
            refuse_beyond(working, _free(), what, TOO_LARGE)

    refuse_beyond(dense, _free(), what, TOO_LARGE)
    try:
        return Table.build(source, y, watch=watch, threads=threads, **asked)
    except MemoryLimit:
        raise
    except MemoryError as error:
        said = first_line(error)
        raise MemoryLimit(
            f"{what} needs more memory than there is ({said}); {TOO_LARGE}."
        ) from None


def _free() -> float:
    free = available()
    return float("inf") if free is None else free


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


def resolve_demands(
    objective: Any,
    constraints: Constraints | Mapping[str, Any] | None,
    min_coverage: float | None = None,
    min_precision: float | None = None,
) -> Constraints:
    """The constraints of a search for this objective, with the short way of giving two of them."""
    if objective not in OBJECTIVES:
        raise InputError(f"'objective' must be 'vi', 'precision' or 'coverage', got {objective!r}.")
    demands = resolve_constraints(constraints)
    for name, value in (("min_coverage", min_coverage), ("min_precision", min_precision)):
        if value is None:
            continue
        if getattr(demands, name):
            raise InputError(f"'{name}' is given twice, in 'constraints' too; drop one.")
        changed: dict[str, Any] = {name: value}
        demands = replace(demands, **changed)
    if objective == "precision" and not demands.min_coverage:
        if min_coverage is not None:
            raise InputError(
                f"'min_coverage' must be above 0 to ask for the most precise rule, "
                f"got {min_coverage!r}."
            )
        demands = replace(demands, min_coverage=LEAST_COVERAGE)
    if objective == "coverage" and not demands.min_precision and demands.max_errors is None:
        raise InputError(
            "objective 'coverage' needs a 'min_precision' above 0 or 'max_errors', or else the "
            "rule that covers all rows is the best; give one."
        )
    return demands


def resolve_budget(
    budget: Budget | None,
    time_limit: float | None,
    n_jobs: int | None,
    memory_limit: int | str | None = None,
) -> Budget:
    """One budget from the short and the long way of giving it."""
    memory = None if memory_limit is None else resolve_size(memory_limit)
    if budget is None:
        return Budget(seconds=time_limit, threads=n_jobs, memory=memory)
    if not isinstance(budget, Budget):
        raise InputError(f"'budget' must be a Budget object, got {type(budget).__name__}.")
    if time_limit is not None or n_jobs is not None:
        raise InputError(
            "'time_limit' and 'n_jobs' cannot be given beside 'budget'; put them into it as "
            "Budget(seconds=…, threads=…)."
        )
    if memory is None:
        return budget
    if budget.memory is not None:
        raise InputError("'memory_limit' is given twice: the budget has a 'memory' of its own.")
    return replace(budget, memory=memory)


def start_clock(
    budget: Budget | Clock | None,
    time_limit: float | None,
    n_jobs: int | None,
    memory_limit: int | str | None = None,
) -> Clock:
    """The running clock of what `resolve_budget` takes; one that is given runs on.

    The first thing a function does that takes a time limit: the time is that from the call.
    """
    if isinstance(budget, Clock):
        return budget
    return resolve_budget(budget, time_limit, n_jobs, memory_limit).start()


def resolve_size(size: int | str, name: str = "'memory_limit'") -> int:
    """The number of bytes that a size means: 2_000_000, "500MB", "1.5 GiB".

    Examples
    --------
    >>> resolve_size("2GB"), resolve_size("1.5 GiB"), resolve_size("4096")
    (2000000000, 1610612736, 4096)
    """
    if isinstance(size, Integral) and not isinstance(size, bool) and size > 0:
        return int(size)
    text = str(size).strip() if isinstance(size, str) else ""
    spelt = _SIZE.fullmatch(text if not text.isdecimal() else f"{text}B")
    if spelt is not None:
        number, prefix, binary = spelt.groups()
        power = " kmgt".index(prefix.lower() or " ")
        n_bytes = int(float(number) * (1024 if binary else 1000) ** power)
        if n_bytes > 0 and (power or not binary):
            return n_bytes
    raise InputError(f"{name} must be a number of bytes above 0 such as '2GB', got {size!r}.")


def is_partitioned(X: Any) -> bool:
    """Whether the rows lie in several places: a pattern, a folder, a list of paths, Dask, Spark.

    A path that is a file is one file, whatever letters it is spelt with. A `Scanner` of
    `opdt.scale` is known by its methods.
    """
    if isinstance(X, (str, os.PathLike)):
        path, inside = split_inside(os.fspath(X))
        if inside is not None:
            return False
        if is_remote(path):  # where '?' begins what is asked for
            return "*" in path or path.endswith("/")
        return os.path.isdir(path) or (
            not os.path.exists(path) and any(letter in path for letter in "*?[")
        )
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(path, (str, os.PathLike)) for path in X)
    if callable(getattr(type(X), "scan", None)) and hasattr(type(X), "sources"):
        return True
    return lazy_kind(X) is not None
