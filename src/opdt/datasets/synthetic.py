"""Tables with a planted rule, whose answer is known before the search begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.optional import require
from opdt.rules import Condition, Op, Rule

TARGET, OTHER = "target", "other"
# Streams of random numbers that are not columns; column j uses the stream (seed, j + 1, 0).
_RULE_STREAM, _LABEL_STREAM = (0, 1), (0, 2)


@dataclass(frozen=True, eq=False)
class Planted:
    """A table and the rule that was planted in it.

    Attributes
    ----------
    X : pandas.DataFrame or ndarray of float64, shape (n_rows, n_features)
        Features "x0", "x1", …: the numeric ones first. In an array a level is its number and a
        missing value is NaN.
    y : pandas.Series of str, or ndarray of int64, shape (n_rows,)
        "target" and "other", or 1 and 0.
    rule : Rule
        The planted rule; it covers exactly the rows of `covered`.
    covered : ndarray of bool, shape (n_rows,)
        Rows of the planted region.
    numeric, categorical : tuple of str
        Names of the features of each kind.
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    rule: Rule
    covered: NDArray[np.bool_] = field(repr=False)
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]


@dataclass(frozen=True)
class _Plan:
    """What is wanted of a table, checked."""

    n_rows: int
    n_numeric: int
    n_categorical: int
    n_levels: int
    missing: float
    noise: float
    balance: float
    depth: int
    strength: float
    coverage: float
    seed: int

    def __post_init__(self) -> None:
        at_least = {"n_rows": 1, "n_numeric": 0, "n_categorical": 0, "n_levels": 2, "depth": 1}
        for name, least in {**at_least, "seed": 0}.items():
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < least:
                raise _wrong(name, f"an int >= {least}", value)
        if self.depth > self.n_features:
            raise _wrong("depth", f"at most the number of features, {self.n_features}", self.depth)
        for name, most in (("missing", 0.9), ("noise", 0.5), ("balance", 1), ("strength", 1)):
            if not 0 <= getattr(self, name) <= most:
                raise _wrong(name, f"between 0 and {most}", getattr(self, name))
        present = (1 - self.missing) ** self.depth
        if not 0 < self.coverage < present:
            limit = f"more than 0 and less than (1 - missing)**depth = {present:.3g}"
            raise _wrong("coverage", limit, self.coverage)
        if not 0 <= self.chance_outside <= 1:
            low = self.coverage * self.strength
            limit = f"between coverage*strength = {low:.3g} and {low + 1 - self.coverage:.3g}"
            raise _wrong("balance", limit, self.balance)

    @property
    def n_features(self) -> int:
        return self.n_numeric + self.n_categorical

    @property
    def share(self) -> float:
        """Share of the present values that satisfy one planted condition."""
        return float(self.coverage ** (1 / self.depth) / (1 - self.missing))

    @property
    def chance_outside(self) -> float:
        """Probability of the target class outside the region that gives `balance` overall."""
        return (self.balance - self.coverage * self.strength) / (1 - self.coverage)


def planted_rule(
    n_rows: int,
    n_numeric: int,
    n_categorical: int = 0,
    *,
    n_levels: int = 5,
    missing: float = 0.0,
    noise: float = 0.0,
    balance: float = 0.5,
    depth: int = 2,
    strength: float = 0.9,
    coverage: float = 0.2,
    seed: int = 0,
    as_numpy: bool = False,
) -> Planted:
    """Return a random table in which one rule is better than chance.

    Numeric features are uniform on 0..1. The rule has `depth` conditions on different features,
    one of them categorical where there are both kinds. Everything but the labels inside the
    region is independent noise. Columns are drawn one by one, each from its own stream of random
    numbers, so a column does not depend on how many others there are.

    Parameters
    ----------
    n_rows, n_numeric, n_categorical : int
        Size of the table.
    n_levels : int
        Levels of each categorical feature.
    missing : float
        Probability that a cell is missing. A row with a missing value in a planted feature lies
        outside the region.
    noise : float
        Probability that a label is flipped, inside and outside the region alike.
    balance : float
        Expected share of the target class before noise; a small one gives an imbalanced table.
    depth : int
        Conditions of the planted rule.
    strength : float
        Expected precision of the planted rule before noise.
    coverage : float
        Expected share of rows in the region.
    seed : int
        Same seed, same table.
    as_numpy : bool
        Return float64 and int64 arrays instead of a frame and text; 8 bytes per cell and little
        beyond that, for tables of millions of rows.

    Returns
    -------
    Planted

    Examples
    --------
    >>> data = planted_rule(1000, 3, seed=1, as_numpy=True)
    >>> data.X.shape
    (1000, 3)
    >>> len(data.rule.conditions)
    2
    """
    plan = _Plan(
        n_rows=n_rows,
        n_numeric=n_numeric,
        n_categorical=n_categorical,
        n_levels=n_levels,
        missing=missing,
        noise=noise,
        balance=balance,
        depth=depth,
        strength=strength,
        coverage=coverage,
        seed=seed,
    )
    pandas = None if as_numpy else require("pandas", "datasets", "opdt.datasets")
    codes = np.empty((plan.n_rows, plan.n_features), dtype=np.float64, order="F")
    planted = _choose(plan)
    covered = np.ones(plan.n_rows, dtype=bool)
    conditions = []
    for j in range(plan.n_features):
        column = codes[:, j]
        _draw(plan, j, column, planted[j][1] if j in planted and j >= n_numeric else None)
        if j in planted:
            op, value = planted[j]
            covered &= _satisfied(column, op, value)
            shown = _level(int(value)) if op is Op.EQ and pandas is not None else value
            conditions.append(Condition(f"x{j}", op, shown))
    labels = _labels(plan, covered)
    names = tuple(f"x{j}" for j in range(plan.n_features))
    return Planted(
        X=codes if pandas is None else _frame(pandas, plan, codes, names),
        y=labels if pandas is None else pandas.Series(np.array([OTHER, TARGET])[labels], name="y"),
        rule=Rule(tuple(conditions), 1 if pandas is None else TARGET),
        covered=covered,
        numeric=names[:n_numeric],
        categorical=names[n_numeric:],
    )


def _wrong(name: str, wanted: str, got: object) -> InputError:
    return InputError(f"{name!r} of planted_rule must be {wanted}, got {got!r}.")


def _stream(plan: _Plan, *key: int) -> np.random.Generator:
    return np.random.default_rng((plan.seed, *key))


def _choose(plan: _Plan) -> dict[int, tuple[Op, float]]:
    """Return the planted condition of each chosen feature."""
    random = _stream(plan, *_RULE_STREAM)
    numeric = [int(j) for j in random.permutation(plan.n_numeric)]
    categorical = [int(j) + plan.n_numeric for j in random.permutation(plan.n_categorical)]
    # One categorical condition first, so that a deeper rule on a mixed table uses both kinds.
    order = categorical[:1] + numeric + categorical[1:] if plan.depth > 1 else numeric + categorical
    planted: dict[int, tuple[Op, float]] = {}
    for j in sorted(order[: plan.depth]):
        if j >= plan.n_numeric:
            planted[j] = (Op.EQ, float(random.integers(plan.n_levels)))
        elif random.random() < 0.5:
            planted[j] = (Op.GE, round(1 - plan.share, 3))
        else:
            planted[j] = (Op.LT, round(plan.share, 3))
    return planted


def _draw(plan: _Plan, j: int, column: NDArray[np.float64], level: float | None) -> None:
    """Fill one column in place: numbers, or level numbers, and NaN for missing.

    `level` is the planted level of the column, if it has one.
    """
    random = _stream(plan, j + 1, 0)
    if j < plan.n_numeric:
        column[:] = random.random(plan.n_rows)
    else:
        column[:] = random.integers(plan.n_levels, size=plan.n_rows)
    if level is not None:
        # The planted level gets the share it needs; the other levels share the rest equally.
        others = random.integers(1, plan.n_levels, size=plan.n_rows)
        chosen = random.random(plan.n_rows) < plan.share
        column[:] = np.where(chosen, level, (level + others) % plan.n_levels)
    if plan.missing:
        column[random.random(plan.n_rows) < plan.missing] = np.nan


def _satisfied(column: NDArray[np.float64], op: Op, value: float) -> NDArray[np.bool_]:
    """Rows of a column that satisfy a planted condition; NaN satisfies none."""
    if op is Op.GE:
        return column >= value
    return column < value if op is Op.LT else column == value


def _labels(plan: _Plan, covered: NDArray[np.bool_]) -> NDArray[np.int64]:
    random = _stream(plan, *_LABEL_STREAM)
    chance = np.where(covered, plan.strength, plan.chance_outside)
    labels = random.random(plan.n_rows) < chance
    if plan.noise:
        labels ^= random.random(plan.n_rows) < plan.noise
    return labels.astype(np.int64)


def _level(code: int) -> str:
    return f"level {code}"


def _frame(pandas: Any, plan: _Plan, codes: NDArray[np.float64], names: tuple[str, ...]) -> Any:
    """Return the codes as a frame with words for levels and None for missing levels."""
    words = np.array([*map(_level, range(plan.n_levels)), None], dtype=object)
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        column = codes[:, j]
        if j >= plan.n_numeric:
            column = words[np.where(np.isnan(column), plan.n_levels, column).astype(np.int64)]
        columns[name] = column
    return pandas.DataFrame(columns)
