"""The slow twin of the oracle: every rule of every leaf, row by row, in plain Python.

It knows nothing of codes, units and chains. A rule is a set of conditions on raw values, found by
walking from the root of the structure's tree to each target leaf; its VI is a sum of fractions.
Of the library it reads plain data only: the table's values, the structure's arrays, the groups,
the constraints, and the gains and weights of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

Rows = frozenset[int]

OPERATORS = (">=", "<", "==", "!=", "in", "is missing", "is present")


class Test(NamedTuple):
    """One condition: a feature's position, an operator, and a raw value or a set of levels."""

    __test__ = False  # not a class of tests

    feature: int
    op: str
    value: Any = None

    def holds(self, cell: Any) -> bool:
        """Whether a cell, None where it is missing, satisfies the condition."""
        if self.op == "is missing":
            return cell is None
        if cell is None:
            return False
        match self.op:
            case ">=":
                return bool(cell >= self.value)
            case "<":
                return bool(cell < self.value)
            case "==":
                return bool(cell == self.value)
            case "!=":
                return bool(cell != self.value)
            case "in":
                return cell in self.value
            case _:
                return True


class Answer(NamedTuple):
    """The best rule; no tests and no label where the empty rule is best, or none is allowed."""

    value: Fraction | None  # None: no rule meets the constraints
    tests: tuple[Test, ...] = ()
    label: int | None = None
    covered: Fraction = Fraction(0)
    errors: Fraction = Fraction(0)


class Naive:
    """All rules of one problem."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.demands = problem.constraints
        table = problem.table
        self.names = [column.name for column in table.columns]
        self.columns = [_cells(column) for column in table.columns]
        self.numeric = [str(column.kind) == "numeric" for column in table.columns]
        self.distinct = [
            sorted({cell for cell in cells if cell is not None}) for cells in self.columns
        ]
        objective = problem.objective
        self.labels = objective.labels
        self.gains = {label: list(map(int, objective.gains(label))) for label in self.labels}
        self.weights = list(map(int, objective.weights))
        self.units = Fraction(objective.unit), Fraction(1, objective.weight_scale)
        self.wrong = {label: objective.wrong(label).tolist() for label in self.labels}
        self.counts: dict[tuple[Rows, int], tuple[Fraction, Fraction, Fraction]] = {}
        self.shorter: dict[frozenset[Test], tuple[Test, ...]] = {}
        self.least = _exact(self.demands.min_coverage)
        if isinstance(self.demands.min_coverage, float):
            self.least *= sum(self.weights) * self.units[1]
        self.precision = _exact(self.demands.min_precision)
        most = self.demands.max_errors
        self.most_errors = None if most is None else _exact(most)
        self.sides = {
            (feature, right): [(test, self.passing(test)) for test in self.tests(feature, right)]
            for feature in range(len(self.names))
            for right in (False, True)
        }

    def best(self) -> Answer:
        """The best rule in the documented order."""
        may_be_empty = self.demands.min_coverage == 0
        best_key, best = None, Answer(Fraction(0)) if may_be_empty else Answer(None)
        for tests, rows in self.rules():
            for label in self.labels:
                value, covered, errors = self.count(rows, label)
                if may_be_empty and value <= 0:
                    continue  # covering nothing is as good, and shorter
                if best.value is not None and value < best.value:
                    continue
                if not self.enough(covered, errors):
                    continue
                if not self.allowed(short := self.simplify(tests)):
                    continue
                key = (-value, len(short), errors, *self.order(short), label)
                if best_key is None or key < best_key:
                    best_key, best = key, Answer(value, short, label, covered, errors)
        return best

    def most_precise(self) -> Answer:
        """The most precise rule; of equals the one with the most correct rows, then as always."""
        best_key, best = None, Answer(None)
        for tests, rows in self.rules():
            for label in self.labels:
                _, covered, errors = self.count(rows, label)
                if not self.enough(covered, errors):
                    continue
                if not self.allowed(short := self.simplify(tests)):
                    continue
                precision, correct = 1 - errors / covered, covered - errors
                key = (-precision, -correct, len(short), errors, *self.order(short), label)
                if best_key is None or key < best_key:
                    best_key, best = key, Answer(precision, short, label, covered, errors)
        return best

    def count(self, rows: Rows, label: int) -> tuple[Fraction, Fraction, Fraction]:
        """Value, covered weight and weight of the errors; remembered, as fractions are slow."""
        if (rows, label) not in self.counts:
            gains, weights, wrong = self.gains[label], self.weights, self.wrong[label]
            self.counts[rows, label] = (
                sum(gains[row] for row in rows) * self.units[0],
                sum(weights[row] for row in rows) * self.units[1],
                sum(weights[row] for row in rows if wrong[row]) * self.units[1],
            )
        return self.counts[rows, label]

    # -- which rules there are ---------------------------------------------------------------

    def rules(self) -> Iterator[tuple[tuple[Test, ...], Rows]]:
        """Every choice of conditions along every path to a target leaf, with the rows it covers."""
        structure = self.problem.structure
        everything = frozenset(range(len(self.problem.table.labels)))
        for position, wanted in enumerate(structure.target):
            if wanted:
                path = bin(2**structure.depth + position)[3:]  # after the root: 0 left, 1 right
                yield from self.walk(1, path, (), everything)

    def walk(
        self, node: int, path: str, tests: tuple[Test, ...], rows: Rows
    ) -> Iterator[tuple[tuple[Test, ...], Rows]]:
        """Go on from a node of the tree, with the rows that have come so far."""
        if not rows:
            return  # covers nothing, which is no rule
        if not path:
            yield tests, rows
            return
        right = path[0] == "1"
        after = 2 * node + right
        if not self.problem.structure.split[node - 1]:
            if right:
                yield from self.walk(after, path[1:], tests, rows)
            return
        group = self.problem.structure.group[node - 1]
        features = dict(self.problem.groups.members)[group]
        forced = group != "all" and not any(self.numeric[f] for f in features)
        if right and not forced:
            yield from self.walk(after, path[1:], tests, rows)
        for feature in features:
            for test, passing in self.sides[feature, right]:
                yield from self.walk(after, path[1:], (*tests, test), rows & passing)

    def tests(self, feature: int, right: bool) -> Iterator[Test]:
        """Every condition on a feature that sends a row to this side."""
        name, values = self.names[feature], self.distinct[feature]
        if name in self.demands.forbidden:
            return
        if self.numeric[feature]:
            op = ">=" if right else "<"
            possible = [Test(feature, op, value) for value in values[1:]]
        else:
            op = "==" if right else "!="
            possible = [Test(feature, op, value) for value in values]
            subsets = self.demands.subsets
            if subsets is True or (subsets and name in subsets):
                possible += [
                    Test(feature, "in", frozenset(some))
                    for size in range(2, len(values) - 1)
                    for some in combinations(values, size)
                ]
        only = self.demands.directions.get(name)
        yield from (test for test in possible if only is None or test.op == only)
        if self.demands.missing_conditions and None in self.columns[feature]:
            yield Test(feature, "is missing" if right else "is present")

    def passing(self, test: Test) -> Rows:
        """The rows that satisfy a condition."""
        cells = self.columns[test.feature]
        return frozenset(row for row, cell in enumerate(cells) if test.holds(cell))

    # -- what is demanded of a rule ----------------------------------------------------------

    def enough(self, covered: Fraction, errors: Fraction) -> bool:
        """Whether coverage, errors and precision are as demanded."""
        return (
            covered > 0
            and covered >= self.least
            and (self.most_errors is None or errors <= self.most_errors)
            and covered - errors >= self.precision * covered
        )

    def allowed(self, tests: tuple[Test, ...]) -> bool:
        """Whether the features used are as demanded."""
        used = [self.names[test.feature] for test in tests]
        return set(self.demands.required) <= set(used) and (
            not self.demands.once or len(set(used)) == len(used)
        )

    # -- shorter rules and their order -------------------------------------------------------

    def simplify(self, tests: tuple[Test, ...]) -> tuple[Test, ...]:
        """The same conjunction with nothing said twice, in the order of the table; remembered."""
        said_at_all = frozenset(tests)
        if said_at_all not in self.shorter:
            self.shorter[said_at_all] = self._simplified(said_at_all)
        return self.shorter[said_at_all]

    def _simplified(self, tests: frozenset[Test]) -> tuple[Test, ...]:
        short: list[Test] = []
        for feature in sorted({test.feature for test in tests}):
            of = [(t.op, t.value) for t in tests if t.feature == feature]
            said = {op for op, _ in of}
            if ">=" in said:
                short.append(Test(feature, ">=", max(v for op, v in of if op == ">=")))
            if "<" in said:
                short.append(Test(feature, "<", min(v for op, v in of if op == "<")))
            if "==" in said or "in" in said:
                left = [v for v in self.distinct[feature] if _may_be(v, of)]
                if len(left) == 1:
                    short.append(Test(feature, "==", left[0]))
                else:
                    short.append(Test(feature, "in", frozenset(left)))
            else:
                excluded = {v for op, v in of if op == "!="}
                short += [Test(feature, "!=", v) for v in self.distinct[feature] if v in excluded]
            if "is missing" in said:
                short.append(Test(feature, "is missing"))
            if "is present" in said and said <= {"is missing", "is present"}:
                short.append(Test(feature, "is present"))
        return tuple(short)

    def order(self, tests: tuple[Test, ...]) -> tuple[Any, ...]:
        """The features in the order of the table, then how loose each condition is."""
        return tuple(test.feature for test in tests), tuple(map(self.tightness, tests))

    def tightness(self, test: Test) -> tuple[int, ...]:
        """Small for the conditions of a feature that come first: the looser, the earlier."""
        values, place = self.distinct[test.feature], OPERATORS.index(test.op)
        match test.op:
            case "<":
                return place, -values.index(test.value)
            case "in":
                return (
                    place,
                    -len(test.value),
                    *(i for i, v in enumerate(values) if v in test.value),
                )
            case "is missing" | "is present":
                return (place,)
            case _:
                return place, values.index(test.value)


def naive(problem: Any) -> Answer:
    """The best rule of a problem, found the slow way."""
    return Naive(problem).best()


def says(rule: Any, answer: Answer, problem: Any) -> bool:
    """Whether a rule, with names and readable thresholds, is the one that was found here."""
    twin = Naive(problem)
    if len(rule.conditions) != len(answer.tests):
        return False
    if problem.table.classes.tolist()[answer.label] != rule.label:
        return False
    return all(
        any(_same(twin, condition, test) for condition in rule.conditions) for test in answer.tests
    )


def _same(twin: Naive, condition: Any, test: Test) -> bool:
    if (condition.feature, str(condition.op)) != (twin.names[test.feature], test.op):
        return False
    if test.op not in (">=", "<"):
        return bool(condition.value == test.value)
    values = twin.distinct[test.feature]
    below = values[values.index(test.value) - 1]
    return bool(below < condition.value <= test.value)


def _cells(column: Any) -> list[Any]:
    values = list(column.values) if column.values.dtype.kind == "M" else column.values.tolist()
    return [None if code < 0 else values[code] for code in column.codes.tolist()]


def _may_be(value: Any, said: list[tuple[str, Any]]) -> bool:
    """Whether a level passes every condition on it."""
    return all(Test(0, op, other).holds(value) for op, other in said)


def _exact(number: float) -> Fraction:
    """A number as it was meant: a decimal, or a simple fraction such as 5 / 6."""
    return Fraction(number).limit_denominator(2**20)
