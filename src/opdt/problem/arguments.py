"""The arguments that say what is searched, in all their spellings, as the objects they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from opdt.checks import check_choice, is_number, is_whole
from opdt.errors import InputError, MemoryLimit, first_line
from opdt.machine import available, cores, refuse_beyond
from opdt.objectives import KINDS, VI, BoundRows, Objective, read_objective
from opdt.objectives.measures import MEASURES, measure_named
from opdt.problem.constraints import Constraints
from opdt.problem.groups import check_groups
from opdt.problem.lifting import label_code
from opdt.problem.problem import Problem
from opdt.problem.structure import Structure
from opdt.problem.structure_file import read_structure
from opdt.rules.lazy import lazy_kind
from opdt.table import Plan, Source, Table, open_source
from opdt.table.places import is_remote
from opdt.table.read import split_inside
from opdt.table.sparse import SparseSource

StructureLike = Structure | Sequence[str] | str | Path | None
ObjectiveLike = str | Objective | Mapping[str, Any]
Groups = Mapping[str, Iterable[str]]

# Bytes of each cell of a coded table at least, and of each row of a column while it is coded; what
# is smaller than the last is not worth a look at the memory.
CODE_BYTES, WORKING_BYTES, LARGE = 4, 32, 1 << 26
TOO_LARGE = "take fewer rows or columns, or let files be read in pieces by 'memory_limit'"

# What a rule is to be best in, where a name says it all.
OBJECTIVES = ("vi", "precision", "coverage", *MEASURES)
# The price of an error where none is given.
USUAL_PRICE = 10.0
# The least coverage of the most precise rule where none is given: without one it would be a row.
LEAST_COVERAGE = 0.05


class Watch(Protocol):
    """Ends the coding of data; see `opdt.solution.Clock`."""

    def check(self) -> None:
        """Raise where a limit is reached."""

    @property
    def n_threads(self) -> int:
        """Threads to use."""


def resolve_table(
    X: Any,
    y: Any,
    sample_weight: Any,
    roles: Mapping[str, str] | Plan | None,
    clock: Watch | None = None,
    missing: Any = None,
    objective: Objective | None = None,
    keep: Sequence[str] = (),
) -> Table:
    """The table of the data, or the table given, which nothing may be added to.

    The clock's limits end the coding of the data with `LimitReached`; what does not fit into
    memory is refused. Columns that the objective names are no features.
    """
    if is_partitioned(X):
        raise InputError(
            "'X' lies in partitions, but this needs all rows in memory; only discover and "
            "OPDTClassifier take partitions."
        )
    word = None if objective is None else objective.rule_label
    if not isinstance(X, Table):
        asked = {"sample_weight": sample_weight, "roles": roles, "missing": missing, "keep": keep}
        if objective is not None:
            asked |= {"apart": tuple(objective.columns.values()), "only_class": word}
        return _coded(open_source(X), y, asked, clock)
    for name, given in (
        ("y", y), ("sample_weight", sample_weight), ("roles", roles), ("missing", missing)
    ):  # fmt: skip
        if given is not None and not (name == "y" and word is not None):
            raise InputError(
                f"'{name}' cannot be given beside a Table, which has its own; "
                "put it into Table.build."
            )
    return X if word is None else X.of_one_class(word)


def _coded(source: Source, y: Any, asked: Mapping[str, Any], clock: Watch | None) -> Table:
    n_rows, n_columns = source.n_rows, len(source.names)
    threads = cores() if clock is None else clock.n_threads
    what = f"coding {n_rows:,} rows of {n_columns:,} columns"
    dense = 0 if isinstance(source, SparseSource) else n_rows * n_columns * CODE_BYTES
    working = n_rows * threads * WORKING_BYTES  # a column for each thread

    def watch() -> None:
        if clock is not None:
            clock.check()
        if dense > LARGE:
            refuse_beyond(working, _free(), what, TOO_LARGE)

    if dense > LARGE:  # asking the system takes longer than coding a small table
        refuse_beyond(dense, _free(), what, TOO_LARGE)
    try:
        return Table.build(source, y, watch=watch, n_jobs=threads, **asked)
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
    if max_depth is not None and not is_whole(max_depth):  # the structure knows the ends
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


def resolve_objective(objective: Any, w: Any = USUAL_PRICE) -> tuple[str | Objective, Any]:
    """The objective by its name or as an object, and the price of an error.

    Mappings are what `Objective.to_dict` has written. A `VI` is the name "vi" with its price.
    """
    if isinstance(objective, Mapping):
        objective = read_objective(objective)
    if isinstance(objective, type) and issubclass(objective, Objective):
        raise InputError(
            f"'objective' must be an object, got the class; write {objective.__name__}(...)."
        )
    if not isinstance(objective, Objective):
        if isinstance(objective, str) and objective in KINDS and objective not in OBJECTIVES:
            made = KINDS[objective].__name__
            raise InputError(
                f"objective {objective!r} needs arguments of its own; give opdt.{made}(...)."
            )
        if measure_named(objective) is None:
            check_choice("objective", objective, OBJECTIVES)
        return objective, w
    if is_number(w) and w == USUAL_PRICE:  # not given
        return ("vi", objective.w) if isinstance(objective, VI) else (objective, w)
    if isinstance(objective, VI):
        raise InputError(f"'w' is given twice, in {objective!r} too; drop one.")
    raise InputError(
        f"'w' is the price of an error for the VI, which is not used by {objective!r}; drop it."
    )


def resolve_demands(
    objective: Any,
    constraints: Constraints | Mapping[str, Any] | None,
    min_coverage: float | None = None,
    min_precision: float | None = None,
    max_coverage: float | None = None,
) -> Constraints:
    """The constraints of a search for this objective, with the short way of giving three."""
    objective, _ = resolve_objective(objective)
    demands = resolve_constraints(constraints)
    given = {
        "min_coverage": min_coverage, "min_precision": min_precision, "max_coverage": max_coverage
    }  # fmt: skip
    for name, value in given.items():
        if value is None:
            continue
        if getattr(demands, name):
            raise InputError(f"'{name}' is given twice, in 'constraints' too; drop one.")
        changed: dict[str, Any] = {name: value}
        demands = replace(demands, **changed)
    if isinstance(objective, Objective) and not objective.counts_errors:
        _refuse_errors(objective, demands)
    if _is_ratio(objective) and not demands.min_coverage:
        if min_coverage is not None:
            best = "the most precise rule"
            if isinstance(objective, Objective):
                best = f"the rule of the best {objective.words.name}"
            raise InputError(
                f"'min_coverage' must be above 0 to ask for {best}, got {min_coverage!r}."
            )
        demands = replace(demands, min_coverage=LEAST_COVERAGE)
    needed = demands.min_precision or demands.sums_rows
    if objective == "coverage" and not needed and demands.max_errors is None:
        raise InputError(
            "objective 'coverage' needs a 'min_precision' above 0 or 'max_errors', or else the "
            "rule that covers all rows is the best; give one."
        )
    return demands


def _is_ratio(objective: str | Objective) -> bool:
    """Whether a single row could be best, so that a minimum coverage is needed."""
    if isinstance(objective, Objective):
        return objective.needs_coverage
    return objective in ("precision", "lift")


def _refuse_errors(objective: Objective, demands: Constraints) -> None:
    counted = {name: getattr(demands, name) for name in ("min_precision", "max_errors")}
    for each in demands.segments:
        counted |= {f"{name} of {each!r}": getattr(each, name) for name in tuple(counted)[:2]}
    counted |= {
        f"of={each.of!r} of {each!r}": 1 for each in demands.parities if each.of == "recall"
    }
    for name, given in counted.items():
        if given not in (0, None):
            raise InputError(
                f"'{name}' counts rows of another class as errors, and {objective!r} has no "
                "classes; drop it."
            )


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


def build_problem(
    X: Any,
    y: Any = None,
    *,
    max_depth: int | None = None,
    w: float = USUAL_PRICE,
    structure: StructureLike = None,
    groups: Groups | None = None,
    label: Any = None,
    objective: ObjectiveLike = "vi",
    min_coverage: float | None = None,
    max_coverage: float | None = None,
    min_precision: float | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    roles: Mapping[str, str] | Plan | None = None,
    missing: Any = None,
    clock: Watch | None = None,
) -> Problem:
    """See `Problem.of`; the clock's limits end the coding of the data."""
    if isinstance(X, Problem):
        given = {name: value for name, value in locals().items() if name not in ("X", "clock")}
        return _alone(X, given)
    demands = resolve_demands(objective, constraints, min_coverage, min_precision, max_coverage)
    best_in, w = resolve_objective(objective, w)
    shape, file_groups = resolve_structure(structure, max_depth)
    own = best_in if isinstance(best_in, Objective) else None
    source = X if isinstance(X, Table) else open_source(X) if own is not None else X
    kept = demands.segment_columns
    table = resolve_table(source, y, sample_weight, roles, clock, missing, own, kept)
    return problem_on(
        table,
        None if isinstance(source, Table) else source,
        y,
        structure=shape,
        groups={**file_groups, **check_groups(groups)},
        label=label,
        objective=best_in,
        w=w,
        demands=demands,
        watch=None if clock is None else clock.check,
    )


def problem_on(
    table: Table,
    source: Source | None,
    y: Any,
    *,
    structure: Structure,
    groups: Groups,
    label: Any,
    objective: str | Objective,
    w: Any,
    demands: Constraints,
    watch: Callable[[], object] | None = None,
) -> Problem:
    """The problem of a table that is coded, with all arguments resolved.

    Parameters
    ----------
    source, y
        What the columns that the objective names, and the numbers of its target, are read from.
    watch : callable, optional
        Called without arguments while an objective is bound to the rows; raises at a limit.
    """
    own = objective if isinstance(objective, Objective) else None
    gains = None
    if own is not None:
        gains = own.bind(BoundRows(table, source, y, own_label(table, label, own), watch))
    problem = Problem.build(
        table,
        structure=structure,
        groups=groups,
        w=w if objective == "vi" else 1,  # at the price 1 the VI is the number of correct rows
        label=label if own is None or own.rule_label is None else own.rule_label,
        constraints=demands,
        gains=gains,
    )
    return replace(problem, best_in=objective)


def own_label(table: Table, label: Any, objective: Objective) -> int | None:
    """The code of the class that rules are for; an objective without classes has its own."""
    word = objective.rule_label
    if word is None:
        return label_code(table, label)
    if label is not None and label != word:
        raise InputError(
            f"'label' must be left out for {objective!r}, whose rules are for {word!r}, "
            f"got {label!r}."
        )
    return 0


def _alone(problem: Problem, given: Mapping[str, Any]) -> Problem:
    """A problem that is given as it is, which nothing may be added to."""
    usual = {"w": USUAL_PRICE, "objective": "vi"}
    for name, value in given.items():
        if value is not None and not (name in usual and value == usual[name]):
            raise InputError(
                f"'{name}' cannot be given beside a Problem, which has its own; "
                "put it into Problem.of."
            )
    return problem
