"""The path model: one conjunction per chain and class, equivalent to the paper's tree.

This formulation is ours. Only the path to one leaf matters, so instead of a tree the model chooses
one condition per level of a chain: u_dc = 1 says that level d applies condition c ("none" where
the level may be left out). A row satisfies level d if the chosen condition holds for it,
s_di = sum of u_dc over the conditions that hold for row i. Covered rows of the rule's class have
z_i <= s_di for every d; errors have z_i >= sum_d s_di - (D - 1). Thresholds are ordered, so that
s_di is written with running sums of u; z may be continuous. So may the sums, but as whole numbers
they are better to branch on: a sum says on which side of a threshold the condition lies, and halves
what is left, where a u takes one threshold out. Rows that agree on every feature of the chain share
their z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from opdt.engines.mip.model import Builder, Floats, Indices, Model
from opdt.engines.mip.side import safe_precision
from opdt.problem import Chain, CodedCondition, CodedRule, Level, Problem, simplify
from opdt.problem.coded import holds
from opdt.rules import Op
from opdt.solution import Budget, Clock

Entries = tuple[Indices, Indices, Floats]  # rows, variables, coefficients
Held = Callable[[Indices], Iterator[Entries]]  # of some cells, each of which has a row
BLOCK_CELLS = 1 << 13  # whose rows are added at once
LOOK_EVERY = 1 << 14  # conditions after which the clock is looked at


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
class GridCells:
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
    def of(cls, problem: Problem, chain: Chain, label: int, clock: Clock) -> GridCells:
        """The cells of a chain's features, in the order of their codes."""
        objective = problem.objective
        first, cell = np.zeros(1, np.int64), np.zeros(problem.table.n_rows, np.int64)
        for feature in sorted({feature for level in chain for feature in level.features}):
            clock.check()
            column = problem.table.columns[feature]
            finer = cell * (column.n_values + 1) + (column.codes + 1)
            _, first, cell = np.unique(finer, return_index=True, return_inverse=True)
            if len(first) == problem.table.n_rows:
                break  # every row is a cell of its own
        wrong, n_cells = objective.wrong(label), len(first)
        gain, weight = np.zeros((2, n_cells)), np.zeros((2, n_cells))
        place = (wrong.astype(np.int64), cell)
        np.add.at(gain, place, objective.gains(label) * float(objective.unit))
        np.add.at(weight, place, objective.weights / objective.weight_scale)
        return cls(first.astype(np.int64), gain, weight)


def formulate_path(
    problem: Problem,
    chain: Chain,
    label: int,
    floor: float | None = None,
    clock: Clock | None = None,
) -> Path | None:
    """The model of the best rule of a chain and a class; None where a level has no condition.

    `floor` is a VI that the rule has to reach: that of the best rule known so far, and a bit. The
    limits of the clock end the building with `LimitReached` or `MemoryLimit`.
    """
    clock = clock or Budget().start()
    build = Builder(clock)
    known: dict[Level, list[CodedCondition | None]] = {}
    for level in chain:
        if level not in known:
            known[level] = _menu(build, problem, level, label)
    menus = [known[level] for level in chain]
    if not all(menus):
        return None
    cells = GridCells.of(problem, chain, label, clock)
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


def _menu(
    build: Builder, problem: Problem, level: Level, label: int
) -> list[CodedCondition | None]:
    """What a level may apply, None for nothing, without thresholds that cannot be needed."""
    menu: list[CodedCondition | None] = [None] if level.vacuous else []
    thin = _may_thin(problem, level)
    for feature in level.features:
        useful: dict[Op, set[int]] = {}
        conditions = problem.conditions_of(feature, right=level.right, left=level.left)
        for at, condition in enumerate(conditions):
            op = condition.op
            if at % LOOK_EVERY == 0:
                build.expect(variables=len(menu))
            if thin and op.is_threshold and op not in useful:
                useful[op] = _useful(problem, feature, op, label)
            if op not in useful or condition.code in useful[op]:
                menu.append(condition)
    return menu


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
    cells: GridCells,
) -> Held:
    """The sum s_d of some cells, as entries of a matrix with a row for each of them."""
    families: dict[tuple[int, Op], list[int]] = {}
    for at, condition in enumerate(menu):
        if condition is not None:
            families.setdefault((condition.feature, condition.op), []).append(at)
    sums: dict[tuple[int, Op], Indices] = {}
    for (feature, op), members in families.items():
        own, stem = u[members], f"{depth}_{feature}"
        if op is Op.GE:
            sums[feature, op] = _running_sums(build, f"ge_{stem}", own)
        elif op is Op.LT:
            sums[feature, op] = _running_sums(build, f"lt_{stem}", own[::-1])[::-1]
        elif op is Op.NE:
            sums[feature, op] = total = build.variables(f"ne_{stem}", integer=False)
            build.row("running_sums", (own, 1), (total, -1), lower=0, upper=0)
    free = [u[at] for at, condition in enumerate(menu) if condition is None]
    values = {
        key: np.array([menu[at].code for at in members])  # type: ignore[union-attr]
        for key, members in families.items()
    }

    def entries(here: Indices) -> Iterator[Entries]:
        rows = np.arange(len(here))
        for variable in free:
            yield rows, np.full(len(rows), variable), np.ones(len(rows))
        for (feature, op), members in families.items():
            codes = problem.table.columns[feature].codes[cells.first[here]]
            if op is Op.GE:
                rank = np.searchsorted(values[feature, op], codes, side="right") - 1
                yield _ranked(rows, sums[feature, op], rank)
            elif op is Op.LT:
                rank = np.searchsorted(values[feature, op], codes, side="right")
                rank = np.where((rank < len(members)) & (codes >= 0), rank, -1)
                yield _ranked(rows, sums[feature, op], rank)
            elif op is Op.NE:
                present = rows[codes >= 0]
                yield present, np.full(len(present), sums[feature, op]), np.ones(len(present))
                there, variables, ones = _ranked(rows, u[members], codes.astype(np.int64))
                yield there, variables, -ones
            else:
                for at in members:
                    condition = menu[at]
                    assert condition is not None
                    there = rows[holds(condition, codes)]
                    yield there, np.full(len(there), u[at]), np.ones(len(there))

    return entries


def _ranked(rows: Indices, variables: Indices, rank: NDArray[np.int64]) -> Entries:
    """One entry per row whose rank is not negative: the variable of that rank."""
    there = rank >= 0
    return rows[there], variables[rank[there]], np.ones(int(there.sum()))


def _running_sums(build: Builder, name: str, own: Indices) -> Indices:
    """Variables that are u_0, u_0 + u_1, …: the ordered thresholds passed so far."""
    if len(own) < 2:
        return own
    rest = build.variables(name, range(1, len(own)), priority=2)
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
    build: Builder, cells: GridCells, held: list[Held], *, both: bool
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
        for entries in held:
            for here in _blocks(used):
                own = (np.arange(len(here)), variables[here], 1)
                build.rows(name, len(here), own, *_negated(entries(here)), upper=0)
    for here in _blocks(wrong):
        own = (np.arange(len(here)), z[1][here], 1)
        terms = (term for entries in held for term in _negated(entries(here)))
        build.rows("wrong_where_held", len(here), own, *terms, lower=1 - len(held))
    return z[0], z[1]


def _blocks(cells: Indices) -> Iterator[Indices]:
    """The cells, so many at a time that adding their rows takes a fraction of a second."""
    yield from (cells[at : at + BLOCK_CELLS] for at in range(0, len(cells), BLOCK_CELLS))


def _negated(entries: Iterator[Entries]) -> Iterator[Entries]:
    for rows, variables, values in entries:
        yield rows, variables, -values


def _limits(build: Builder, problem: Problem, cells: GridCells, z: tuple[Indices, Indices]) -> None:
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
