"""Hypothesis strategies for small problems with every option, and text that explains one.

An example costs about a millisecond: hypothesis draws a seed and a few knobs, and a NumPy
generator of that seed fills in the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from hypothesis import strategies as st

from naive import Naive, Test
from opdt.problem import CodedCondition, Constraints, Problem, Structure
from opdt.rules import Op
from opdt.table import Kind, Table

OPTIONS = (
    "directions",
    "required",
    "forbidden",
    "once",
    "min_coverage",
    "min_precision",
    "max_errors",
    "subsets",
    "missing_conditions",
)
ROW_LIMITS = ("min_coverage", "min_precision", "max_errors")
STRUCTURES = ("free", "levels", "tree")
WEIGHTS = ("none", "integers", "decimals", "thirds")
PRICES = (10, 2.5, 10.0, 1.1, 5, float(np.pi), 7.25, 1, 4 / 3, 20)
# Arguments of `small_problems` that put one part of the library to the test.
EMPHASES: dict[str, dict[str, Any]] = {
    "every option": {},
    "no option": {"options": ()},
    "trees": {"structures": ["tree"], "options": ["subsets", "missing_conditions"]},
    "row limits": {"always": ["min_precision", "max_errors"], "options": ROW_LIMITS},
    "coverage": {"always": ["min_coverage"]},
    "features": {"always": ["required", "once"]},
    "directions": {"always": ["directions", "forbidden"]},
    "levels": {"always": ["subsets", "missing_conditions"], "options": ["once"]},
    "gains": {"gains": True},
}
# Names whose alphabetical order is not that of the table, which decides ties.
NAMES = ("delta", "alpha", "gamma", "beta")
# Rules that the slow twin has to try; keeps an example at a few milliseconds.
MAX_RULES = 6000


@st.composite
def small_problems(
    draw: st.DrawFn,
    *,
    structures: Collection[str] = STRUCTURES,
    weights: Collection[str] = WEIGHTS,
    always: Collection[str] = (),
    options: Collection[str] = OPTIONS,
    gains: bool = False,
    max_depth: int = 3,
    max_rows: int = 16,
    max_rules: int = MAX_RULES,
) -> Problem:
    """Any small problem.

    Parameters
    ----------
    structures, weights : collections of str
        What to choose from; see `STRUCTURES` and `WEIGHTS`.
    always, options : collections of str
        Constraints that every problem has, and those that a quarter of the problems have too.
    gains : bool
        Whether rows have gains of their own in place of the VI.
    max_depth, max_rows, max_rules : int
        Limits on the size.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    depths = [depth for depth in (2, 3, 1) if depth <= max_depth]
    depth = draw(st.sampled_from(depths), label="depth")
    n_rows = 1 + _few(rng, max_rows - 1)
    shape = draw(st.sampled_from(sorted(structures)), label="structure")
    weighted = draw(st.sampled_from(sorted(weights)), label="weights")
    w = draw(st.sampled_from(PRICES), label="w")
    chosen = {*always, *(name for name in options if rng.random() < 0.25)}

    table = random_table(rng, n_rows, weighted, n_conditions=_affordable(depth, max_rules))
    groups = random_groups(rng, table)
    structure = random_structure(rng, shape, depth, group_names(table, groups))
    constraints = random_constraints(rng, table, chosen, structure.depth)
    target = rng.choice(table.classes.tolist()) if rng.random() < 0.4 else None
    problem = Problem.build(
        table, structure=structure, groups=groups, w=w, label=target, constraints=constraints
    )
    if gains:
        return problem.with_gains(random_gains(rng, n_rows), int(rng.integers(len(table.classes))))
    return problem


def _affordable(depth: int, max_rules: int) -> int:
    """How many conditions a node may choose from if all rules are to be tried."""
    return int(max_rules ** (1 / depth))


def random_table(
    rng: np.random.Generator, n_rows: int, weighted: str = "none", n_conditions: int = 60
) -> Table:
    """A table of one to four features that offer no more than about so many conditions."""
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, str] = {}
    for name in NAMES[: int(rng.choice([1, 2, 3, 4], p=[0.1, 0.2, 0.3, 0.4]))]:
        if n_conditions < 2:
            break
        maker = _MAKERS[int(rng.integers(len(_MAKERS)))]
        kind, values = maker(rng, max(1, min(4, n_conditions // 2)))
        n_conditions -= 2 * len(values)
        cells = [values[i] for i in rng.integers(len(values), size=n_rows)]
        if rng.random() < 0.35:
            gone = _gone(rng, n_rows)
            cells = [None if out else cell for cell, out in zip(cells, gone, strict=True)]
        columns[name], kinds[name] = cells, str(kind)
    rows = np.arange(n_rows)
    if rng.random() < 0.3:  # duplicated rows, with labels that may differ
        rows = np.sort(rng.integers(max(1, n_rows // 2), size=n_rows))
    data = {name: [cells[i] for i in rows] for name, cells in columns.items()}
    labels = random_labels(rng, n_rows) if rng.random() < 0.3 else planted_labels(rng, data)
    weights = random_weights(rng, n_rows, weighted)
    return Table.build(
        data, labels, sample_weight=weights, roles=_readable(data, kinds), warn=False
    )


def planted_labels(rng: np.random.Generator, data: dict[str, list[Any]]) -> list[Any]:
    """One class inside a conjunction and a mixture outside it, so that long rules are worth it."""
    columns = list(data.values())
    fires = np.ones(len(columns[0]), dtype=bool)
    for _ in range(int(rng.integers(2, 5))):
        cells = columns[int(rng.integers(len(columns)))]
        seen = sorted({cell for cell in cells if cell is not None})
        if len(seen) == 4 and rng.random() < 0.5:
            seen = [seen[i] for i in rng.permutation(4)[:2]]
            fires &= [cell in seen for cell in cells]
        elif seen:
            end, only = seen[-int(rng.integers(2))], rng.random() < 0.15
            fires &= [cell is not None and (cell == end) == only for cell in cells]
    codes = fires | (rng.random(len(fires)) < 0.4)
    if codes.all() or not codes.any():
        codes[rng.integers(len(codes))] ^= True
    classes = ["no", "yes"] if rng.random() < 0.5 else ["yes", "no"]
    return [classes[int(code)] for code in codes]


def _readable(data: dict[str, list[Any]], kinds: dict[str, str]) -> dict[str, str]:
    """Kinds to ask for; a column of missing values only is what it is."""
    return {k: v for k, v in kinds.items() if any(c is not None for c in data[k])}


def _gone(rng: np.random.Generator, n_rows: int) -> list[bool]:
    return (rng.random(n_rows) < rng.choice([0.15, 0.5, 1.0], p=[0.6, 0.35, 0.05])).tolist()


def _few(rng: np.random.Generator, most: int) -> int:
    return int(rng.integers(1, most + 1, size=2).max())


def _floats(rng: np.random.Generator, n_values: int) -> tuple[Kind, list[Any]]:
    return Kind.NUMERIC, (rng.integers(-8, 9, size=n_values + 1) / 4).tolist()


def _integers(rng: np.random.Generator, n_values: int) -> tuple[Kind, list[Any]]:
    return Kind.NUMERIC, rng.integers(-3, 4, size=n_values + 1).tolist()


def _booleans(rng: np.random.Generator, n_values: int) -> tuple[Kind, list[Any]]:
    return Kind.NUMERIC, [True, False]


def _dates(rng: np.random.Generator, n_values: int) -> tuple[Kind, list[Any]]:
    days = np.datetime64("2024-02-27") + rng.integers(0, 5, size=n_values).astype("timedelta64[D]")
    return Kind.NUMERIC, list(days)


def _texts(rng: np.random.Generator, n_values: int) -> tuple[Kind, list[Any]]:
    return Kind.CATEGORICAL, ["low", "high", "Mid", ""][: _few(rng, n_values)]


def _codes(rng: np.random.Generator, n_values: int) -> tuple[Kind, list[Any]]:
    return Kind.CATEGORICAL, [10, 2, -1, 7][: _few(rng, n_values)]


_Maker = Callable[[np.random.Generator, int], tuple[Kind, list[Any]]]
_MAKERS: tuple[_Maker, ...] = (
    _floats,
    _floats,
    _integers,
    _booleans,
    _dates,
    _texts,
    _texts,
    _codes,
)


def random_labels(rng: np.random.Generator, n_rows: int) -> list[Any]:
    """Labels of two to four classes, each of which occurs."""
    kinds: tuple[list[Any], ...] = (["no", "yes", "maybe", "Never"], [0, 1, 2, 3], [False, True])
    classes = kinds[int(rng.integers(len(kinds)))]
    n_classes = int(rng.integers(2, min(len(classes), n_rows) + 1))
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
    return [classes[code] for code in rng.permutation(codes)]


def random_weights(rng: np.random.Generator, n_rows: int, weighted: str) -> list[float] | None:
    """Row weights of a sort, zeros among them, not all zero."""
    if weighted == "none":
        return None
    menu = {
        "integers": [0, 1, 2, 3],
        "decimals": [0, 0.1, 0.2, 0.3, 0.57, 1.5, 2.25],
        "thirds": [0, 1 / 3, 2 / 3, 1, 1 / 7],
    }[weighted]
    weights = rng.choice(menu, size=n_rows)
    weights[rng.integers(n_rows)] = menu[1]
    out: list[float] = weights.tolist()
    return out


def random_gains(rng: np.random.Generator, n_rows: int) -> list[float]:
    """Gains per row: whole numbers, short decimals, or any floats."""
    sort = int(rng.integers(3))
    if sort == 0:
        return [float(g) for g in rng.integers(-4, 5, size=n_rows)]
    if sort == 1:
        return rng.choice([-1.1, -0.57, 0.0, 0.29, 0.3, 2.25], size=n_rows).tolist()
    return rng.normal(size=n_rows).tolist()


def random_groups(rng: np.random.Generator, table: Table) -> dict[str, list[str]] | None:
    """Up to two groups of features, which may overlap."""
    names = list(table.names)
    groups = {}
    for name in ("first", "second")[: int(rng.integers(0, 3))]:
        size = int(rng.integers(1, len(names) + 1))
        groups[name] = [names[i] for i in rng.permutation(len(names))[:size]]
    return groups or None


def group_names(table: Table, groups: dict[str, list[str]] | None) -> list[str]:
    """The groups that a node may use: those that hold a feature."""
    predefined = ["all", *["num"] * bool(table.numeric), *["cat"] * bool(table.categorical)]
    return [*predefined, *(groups or {})]


def random_structure(
    rng: np.random.Generator, shape: str, depth: int, names: list[str]
) -> Structure:
    """A structure of this depth: free, one group per level, or any tree."""
    if shape == "free":
        return Structure.free(depth)
    if shape == "levels":
        return Structure.levels(*rng.choice(names, size=depth).tolist())
    n_branch = 2**depth - 1
    split = [True] * n_branch
    for node in range(2, n_branch + 1):
        split[node - 1] = bool(split[node // 2 - 1] and rng.random() < 0.7)
    group = [str(rng.choice(names)) if flag else None for flag in split]
    open_leaves = list(Structure.tree(split=split, group=group).target_leaves)
    some = rng.permutation(open_leaves)[: int(rng.integers(1, len(open_leaves) + 1))]
    target = [leaf in some for leaf in range(2**depth, 2 ** (depth + 1))]
    return Structure.tree(split=split, group=group, target=target)


def random_constraints(
    rng: np.random.Generator, table: Table, chosen: Collection[str], depth: int
) -> Constraints:
    """Constraints of the chosen sorts, none of which the library refuses."""
    names = list(table.names)
    shuffled = [names[i] for i in rng.permutation(len(names))]
    n_required = int(rng.integers(1, min(depth, len(names)) + 1)) if "required" in chosen else 0
    required = shuffled[:n_required]
    n_forbidden = min(1, max(0, len(names) - max(n_required, 1))) if "forbidden" in chosen else 0
    given: dict[str, Any] = {
        "required": required,
        "forbidden": shuffled[len(shuffled) - n_forbidden :],
        "once": "once" in chosen,
        "missing_conditions": "missing_conditions" in chosen,
    }
    if "directions" in chosen:
        given["directions"] = {
            column.name: str(
                rng.choice([">=", "<"] if column.kind is Kind.NUMERIC else ["==", "!="])
            )
            for column in table.columns
            if rng.random() < 0.6
        }
    if "subsets" in chosen:
        levels = [names[i] for i in table.categorical]
        given["subsets"] = True if rng.random() < 0.6 else levels[:1]
    if "min_coverage" in chosen:
        count, share = int(rng.integers(0, table.n_rows + 1)), float(rng.choice([0.1, 0.3, 0.5, 1]))
        given["min_coverage"] = count if rng.random() < 0.5 else share
    if "min_precision" in chosen:
        given["min_precision"] = float(rng.choice([0.5, 2 / 3, 0.75, 0.9, 1.0]))
    if "max_errors" in chosen:
        given["max_errors"] = float(rng.choice([0, 0.3, 1, 1.5, 2]))
    return Constraints(**given)


def describe(problem: Problem) -> str:
    """The problem as text to put beside a failure."""
    table = problem.table
    cells = {
        column.name: [None if c < 0 else column.values.tolist()[c] for c in column.codes]
        for column in table.columns
    }
    labels = [table.classes.tolist()[code] for code in table.labels]
    gains = {label: problem.objective.gains(label).tolist() for label in problem.objective.labels}
    lines = [f"{c.name} ({c.kind}): {cells[c.name]}" for c in table.columns]
    lines += [
        f"labels: {labels}",
        f"weights: {None if table.weights is None else table.weights.tolist()}",
        f"gains in units of {problem.objective.unit}: {gains}",
        f"groups: {problem.groups.custom}",
        f"structure: {problem.structure!r}",
        f"{problem.constraints}",
    ]
    return "\n".join(lines)


def coded(twin: Naive, test: Test) -> CodedCondition:
    """A condition of the slow twin, on codes."""
    values, op = twin.distinct[test.feature], Op(test.op)
    if op is Op.IN:
        levels = tuple(code for code, value in enumerate(values) if value in test.value)
        return CodedCondition(test.feature, op, -1, levels)
    return CodedCondition(test.feature, op, values.index(test.value) if op.needs_value else -1)
