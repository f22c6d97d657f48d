"""The path model: one conjunction per chain and class, equivalent to the paper's tree.

This formulation is ours. Only the path to one leaf matters, so instead of a tree the model chooses
one condition per level of a chain: u_dc = 1 says that level d applies condition c ("none" where
the level may be left out). A row satisfies level d if the chosen condition holds for it,
s_di = sum of u_dc over the conditions that hold for row i. Covered rows of the rule's class have
z_i <= s_di for every d; errors have z_i >= sum_d s_di - (D - 1). Thresholds are ordered, so that
s_di is written with running sums of u, and z and the sums may be continuous. Rows that agree on
every feature of the chain share their z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from opdt.engines.mip.model import Builder, Floats, Indices, Model
from opdt.engines.mip.side import safe_precision
from opdt.problem import Chain, CodedCondition, CodedRule, Level, Problem, simplify
from opdt.problem.coded import holds
from opdt.rules import Op

Entries = tuple[Indices, Indices, Floats]  # cells, variables, coefficients


@dataclass(frozen=True, eq=False)
class Path:
    """The model of one chain and class, and what its variables mean."""

    problem: Problem
    label: int
    model: Model
    conditions: tuple[tuple[CodedCondition | None, ...], ...]  # per level
    choices: tuple[Indices, ...]  # per level, the variables u of its conditions

    def rule(self, x: Floats) -> CodedRule:
        """The simplified rule of a point."""
        chosen = (
            conditions[int(np.argmax(x[choices]))]
            for conditions, choices in zip(self.conditions, self.choices, strict=True)
        )
        return CodedRule(simplify(tuple(c for c in chosen if c is not None)), self.label)


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows that agree on every feature of a chain, added up.

    Attributes
    ----------
    first : ndarray of int64 of shape (n_cells,)
        A row of each cell.
    gain, weight : ndarray of float64 of shape (2, n_cells)
        Sums over the cell's rows that are right (0) and wrong (1) for the class.
    """

    first: Indices
    gain: Floats
    weight: Floats

    @classmethod
    def of(cls, problem: Problem, chain: Chain, label: int) -> Cells:
        """The cells of a chain's features."""
        objective = problem.objective
        features = sorted({feature for level in chain for feature in level.features})
        codes = np.column_stack([problem.table.columns[feature].codes for feature in features])
        _, first, cell = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        wrong, n_cells = objective.wrong(label), len(first)
        gain, weight = np.zeros((2, n_cells)), np.zeros((2, n_cells))
        place = (wrong.astype(np.int64), cell.ravel())
        np.add.at(gain, place, objective.gains(label) * float(objective.unit))
        np.add.at(weight, place, objective.weights / objective.weight_scale)
        return cls(first.astype(np.int64), gain, weight)


def formulate_path(
    problem: Problem, chain: Chain, label: int, floor: float | None = None
) -> Path | None:
    """The model of the best rule of a chain and a class; None where a level has no condition.

    `floor` is a VI that the rule has to reach: that of the best rule known so far, and a bit.
    """
    menus = [_menu(problem, level, label) for level in chain]
    if not all(menus):
        return None
    build, cells = Builder(), Cells.of(problem, chain, label)
    choices, held = [], []
    for depth, menu in enumerate(menus):
        u = build.variables(f"u_{depth}", range(len(menu)), priority=1)
        build.row("one_condition", (u, 1), lower=1, upper=1)
        choices.append(u)
        held.append(_held(build, problem, depth, menu, u, cells))
    bounded = problem.constraints.bounds_rows
    z = _cover(build, cells, held, both=bounded)
    objective = [(z[side], cells.gain[side]) for side in (0, 1)]
    if floor is not None:
        build.row("beat_incumbent", *objective, lower=floor)
    if bounded:
        _limits(build, problem, cells, z)
    _required(build, problem, menus, choices)
    if problem.constraints.once:
        _once(build, menus, choices)
    model = build.model(f"opdt_path_class{label}", objective)
    return Path(problem, label, model, tuple(map(tuple, menus)), tuple(choices))


def _menu(problem: Problem, level: Level, label: int) -> list[CodedCondition | None]:
    """What a level may apply, None for nothing, without thresholds that cannot be needed."""
    conditions = problem.conditions_at(level)
    if _may_thin(problem, level):
        useful: dict[tuple[int, Op], set[int]] = {}
        kept = []
        for condition in conditions:
            key = condition.feature, condition.op
            if condition.op.is_threshold and key not in useful:
                useful[key] = _useful(problem, *key, label)
            if condition.code in useful.get(key, {condition.code}):
                kept.append(condition)
        conditions = kept
    return [*([None] if level.vacuous else []), *conditions]


def _may_thin(problem: Problem, level: Level) -> bool:
    """Whether a threshold may be moved over rows of one sign without a demand being broken."""
    constraints = problem.constraints
    return level.vacuous and not constraints.bounds_rows and not constraints.required


def _useful(problem: Problem, feature: int, op: Op, label: int) -> set[int]:
    """Thresholds that have a losing row just outside and a gaining row just inside.

    Any other threshold can be moved, outwards over gaining rows or inwards over losing ones,
    until it is one of these, or tests nothing, or covers nothing, and the gain does not fall.
    With missing values "tests nothing" covers more rows than any threshold, so all are kept.
    """
    column = problem.table.columns[feature]
    codes = set(range(1, column.n_values))
    if column.has_missing:
        return codes
    gains = problem.objective.gains(label)
    gaining = np.bincount(column.codes[gains > 0], minlength=column.n_values) > 0
    losing = np.bincount(column.codes[gains < 0], minlength=column.n_values) > 0
    blocks = np.flatnonzero(gaining | losing).tolist()
    pairs = pairwise(blocks)
    if op is Op.GE:
        return {above for below, above in pairs if losing[below] and gaining[above]}
    return {below + 1 for below, above in pairs if gaining[below] and losing[above]}


def _held(
    build: Builder,
    problem: Problem,
    depth: int,
    menu: list[CodedCondition | None],
    u: Indices,
    cells: Cells,
) -> Entries:
    """The sum s_d for every cell, as entries of a matrix."""
    parts: list[Entries] = []
    everywhere = np.arange(len(cells.first), dtype=np.int64)
    families: dict[tuple[int, Op], list[int]] = {}
    for at, condition in enumerate(menu):
        if condition is None:
            parts.append(_constant(everywhere, u[at]))
        else:
            families.setdefault((condition.feature, condition.op), []).append(at)
    for (feature, op), members in families.items():
        codes = problem.table.columns[feature].codes[cells.first]
        values = np.array([menu[at].code for at in members])  # type: ignore[union-attr]
        own = u[members]
        stem = f"{depth}_{feature}"
        if op is Op.GE:
            sums = _running_sums(build, f"ge_{stem}", own)
            rank = np.searchsorted(values, codes, side="right") - 1
            parts.append(_entries(everywhere, sums, rank))
        elif op is Op.LT:
            sums = _running_sums(build, f"lt_{stem}", own[::-1])[::-1]
            rank = np.searchsorted(values, codes, side="right")
            rank = np.where((rank < len(values)) & (codes >= 0), rank, -1)
            parts.append(_entries(everywhere, sums, rank))
        elif op is Op.NE:
            total = build.variables(f"ne_{stem}", integer=False)
            build.row("running_sums", (own, 1), (total, -1), lower=0, upper=0)
            present = everywhere[codes >= 0]
            parts.append(_constant(present, total))
            cells_, variables, ones = _entries(everywhere, own, codes.astype(np.int64))
            parts.append((cells_, variables, -ones))
        else:
            for at in members:
                condition = menu[at]
                assert condition is not None
                here = everywhere[holds(condition, codes)]
                parts.append(_constant(here, u[at]))
    rows, variables, coefficients = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, variables, coefficients


def _constant(cells: Indices, variable: Indices) -> Entries:
    """The same variable in each of the cells."""
    return cells, np.full(len(cells), variable), np.ones(len(cells))


def _entries(cells: Indices, variables: Indices, rank: NDArray[np.int64]) -> Entries:
    """One entry per cell whose rank is not negative: the variable of that rank."""
    there = rank >= 0
    return cells[there], variables[rank[there]], np.ones(int(there.sum()))


def _running_sums(build: Builder, name: str, own: Indices) -> Indices:
    """Variables that are u_0, u_0 + u_1, …: the ordered thresholds passed so far."""
    if len(own) < 2:
        return own
    rest = build.variables(name, range(1, len(own)), integer=False)
    sums, rows = np.concatenate([own[:1], rest]), np.arange(len(rest))
    build.rows(
        "running_sums",
        len(rows),
        (rows, sums[1:], 1),
        (rows, sums[:-1], -1),
        (rows, own[1:], -1),
        lower=0,
        upper=0,
    )
    return sums


def _cover(
    build: Builder, cells: Cells, held: list[Entries], *, both: bool
) -> tuple[Indices, Indices]:
    """Variables z of right and wrong rows of each cell, shape (n_cells,) each, and their rows.

    Right rows are covered only where every level holds; wrong rows at least there, and where a
    coverage is demanded (`both`) nowhere else.
    """
    n_cells = len(cells.first)
    z = tuple(build.variables(name, range(n_cells), integer=False) for name in ("right", "wrong"))
    right, wrong = (np.flatnonzero(cells.gain[s] if not both else cells.weight[s]) for s in (0, 1))
    for name, used, variables in (
        ("covered_if_held", right, z[0]),
        ("wrong_if_held", wrong if both else wrong[:0], z[1]),
    ):
        place = np.full(n_cells, -1)
        place[used] = np.arange(len(used))
        for entries in held:
            build.rows(
                name,
                len(used),
                (place[used], variables[used], 1),
                *_placed(entries, place, -1.0),
                upper=0,
            )
    place = np.full(n_cells, -1)
    place[wrong] = np.arange(len(wrong))
    terms = [term for entries in held for term in _placed(entries, place, -1.0)]
    build.rows(
        "wrong_where_held",
        len(wrong),
        (place[wrong], z[1][wrong], 1),
        *terms,
        lower=1 - len(held),
    )
    return z[0], z[1]


def _placed(
    entries: Entries, place: Indices, factor: float
) -> Iterator[tuple[Indices, Indices, Floats]]:
    """The entries of the cells that have a row."""
    cells, variables, values = entries
    there = place[cells] >= 0
    yield place[cells[there]], variables[there], factor * values[there]


def _limits(build: Builder, problem: Problem, cells: Cells, z: tuple[Indices, Indices]) -> None:
    """Minimum coverage, maximum errors and minimum precision."""
    scale, limits = problem.objective.weight_scale, problem.limits
    right, wrong = cells.weight
    if not problem.may_be_empty:
        build.row("coverage", (z[0], right), (z[1], wrong), lower=limits.min_covered / scale)
    if problem.constraints.max_errors is not None:
        build.row("errors", (z[1], wrong), upper=limits.max_errors / scale)
    if problem.constraints.min_precision > 0:
        share = safe_precision(problem)
        build.row("precision", (z[0], (1 - share) * right), (z[1], -share * wrong), lower=0)


def _required(
    build: Builder,
    problem: Problem,
    menus: list[list[CodedCondition | None]],
    choices: list[Indices],
) -> None:
    """Some level applies a condition on each required feature."""
    for feature in sorted(problem.required):
        users = [
            u[at]
            for menu, u in zip(menus, choices, strict=True)
            for at, condition in enumerate(menu)
            if condition is not None and condition.feature == feature
        ]
        build.row("required", (np.array(users, dtype=np.int64), 1), lower=1)


def _once(build: Builder, menus: list[list[CodedCondition | None]], choices: list[Indices]) -> None:
    """No two levels give a feature two conditions that do not merge into one."""
    for (menu, u), (other, v) in permutations(zip(menus, choices, strict=True), 2):
        for feature in sorted({c.feature for c in menu if c is not None}):
            ge = [u[at] for at, c in enumerate(menu) if c and c[:2] == (feature, Op.GE)]
            lt = [v[at] for at, c in enumerate(other) if c and c[:2] == (feature, Op.LT)]
            if ge and lt:
                build.row("once", (np.array(ge), 1), (np.array(lt), 1), upper=1)
            ne = {c.code: v[at] for at, c in enumerate(other) if c and c[:2] == (feature, Op.NE)}
            for at, condition in enumerate(menu):
                if condition and condition[:2] == (feature, Op.NE):
                    rest = [each for code, each in ne.items() if code != condition.code]
                    if rest:
                        build.row("once", (u[at], 1), (np.array(rest), 1), upper=1)
