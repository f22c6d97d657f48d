"""Budgets, limits per segment and parity, against all rules of small tables, row by row."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from engines.search.support import examples
from naive import Answer, Naive, says
from opdt import (
    Parity,
    PerSegment,
    Table,
    discover,
    pareto_frontier,
    permutation_test,
    stability,
    top_rules,
    weight_path,
)
from opdt.engines import engine_names, get_engine
from opdt.errors import InputError, UnsupportedProblem
from opdt.objectives.gains import as_written
from opdt.problem import Constraints, Problem
from opdt.solution import Budget, Status
from strategies import EMPHASES, describe, small_problems

DRAWN = [name for name in EMPHASES if name != "gains"]
REGIONS = ["north", "south", "west", None]


def share(value: float) -> Fraction:
    return as_written(value)


class Limited(Naive):
    """The slow twin with sums over rows checked one by one, on the raw segments."""

    def __init__(self, problem: Problem, regions: list[str | None]) -> None:
        super().__init__(problem)
        self.regions = regions

    def weight(self, rows: Any) -> Fraction:
        return sum(self.weights[row] for row in rows) * self.units[1]

    def keeps(self, rows: frozenset[int], label: int) -> bool:
        """Whether the covered rows are within all limits."""
        demands = self.demands
        if demands.max_coverage is not None:
            everything = range(len(self.weights))
            if self.weight(rows) > self.most(demands.max_coverage, everything):
                return False
        return all(self.fits(rows, label, each) for each in demands.segments) and all(
            self.is_fair(rows, label, each) for each in demands.parities
        )

    def most(self, given: float, rows: Any) -> Fraction:
        return Fraction(given) if isinstance(given, int) else share(given) * self.weight(rows)

    def groups(self) -> dict[str, list[int]]:
        return {
            region: [row for row, own in enumerate(self.regions) if own == region]
            for region in sorted({own for own in self.regions if own is not None})
        }

    def fits(self, rows: frozenset[int], label: int, asked: PerSegment) -> bool:
        for region, members in self.groups().items():
            inside = [row for row in members if row in rows]
            wrong = self.weight([row for row in inside if self.wrong[label][row]])
            covered = self.weight(inside)

            def limit(given: Any, region: str = region) -> Any:
                return given.get(region) if isinstance(given, dict) else given

            least, errors = limit(asked.min_precision), limit(asked.max_errors)
            if least is not None and covered - wrong < share(least) * covered:
                return False
            if errors is not None and wrong > share(errors):
                return False
            most = limit(asked.max_coverage)
            if most is not None and covered > self.most(most, members):
                return False
        return True

    def is_fair(self, rows: frozenset[int], label: int, asked: Parity) -> bool:
        shares = []
        for members in self.groups().values():
            counted = [
                row for row in members if asked.of == "coverage" or not self.wrong[label][row]
            ]
            inside = [row for row in counted if row in rows]
            shares.append(self.weight(inside) / self.weight(counted))
        for one, two in permutations(shares, 2):
            if asked.max_difference is not None and one - two > share(asked.max_difference):
                return False
            if asked.min_ratio is not None and one < share(asked.min_ratio) * two:
                return False
        return True

    def best_within(self) -> Answer:
        may_be_empty = self.demands.min_coverage == 0
        best_key, best = None, Answer(Fraction(0)) if may_be_empty else Answer(None)
        for tests, rows in self.rules():
            for label in self.labels:
                value, covered, errors = self.count(rows, label)
                if (may_be_empty and value <= 0) or not self.enough(covered, errors):
                    continue
                if best_key is not None and -value > best_key[0]:
                    continue
                short = self.simplify(tests)
                if not self.allowed(short) or not self.keeps(rows, label):
                    continue
                key = (-value, len(short), errors, *self.order(short), label)
                if best_key is None or key < best_key:
                    best_key, best = key, Answer(value, short, label, covered, errors)
        return best


@st.composite
def limits(draw: st.DrawFn) -> dict[str, Any]:
    """Some limits on sums of rows."""
    given: dict[str, Any] = {}
    kinds = draw(st.sets(st.sampled_from(["budget", "segments", "parity"]), min_size=1))
    if "budget" in kinds:
        given["max_coverage"] = draw(st.sampled_from([0, 1, 3, 6, 0.1, 0.25, 0.5]))
    if "segments" in kinds:
        asked = draw(
            st.sets(st.sampled_from(["min_precision", "max_errors", "max_coverage"]), min_size=1)
        )
        values = {
            "min_precision": st.sampled_from([0.4, 0.5, 2 / 3, 0.9, 1.0]),
            "max_errors": st.sampled_from([0, 0.5, 1, 2]),
            "max_coverage": st.sampled_from([1, 2, 0.3, 0.5]),
        }
        chosen: dict[str, Any] = {name: draw(values[name]) for name in sorted(asked)}
        given["segments"] = [PerSegment("region", **chosen)]
    if "parity" in kinds:
        of = draw(st.sampled_from(["coverage", "recall"]))
        if draw(st.booleans()):
            difference = draw(st.sampled_from([0, 0.1, 0.25, 1 / 3, 0.5]))
            given["parities"] = [Parity("region", of=of, max_difference=difference)]
        else:
            ratio = draw(st.sampled_from([0.5, 0.8, 1.0]))
            given["parities"] = [Parity("region", of=of, min_ratio=ratio)]
    return given


def limited(problem: Problem, given: dict[str, Any], seed: int) -> tuple[Problem, list[Any]]:
    """The problem with these limits, and the region of each row; passed over if it is refused."""
    rng = np.random.default_rng(seed)
    regions = [REGIONS[i] for i in rng.integers(0, rng.integers(2, 5), problem.table.n_rows)]
    cells = {"region": regions, "x": list(range(len(regions)))}
    labels = ["a", "b"] * len(regions)
    if len(regions) < 2:
        assume(False)
    side = Table.build(
        cells,
        labels[: len(regions)],
        keep=["region"],
        warn=False,
        roles={"region": "ignored", "x": "numeric"},
    )
    table = replace(problem.table, kept=side.kept)
    demands = replace(problem.constraints, **given)
    labels_asked = problem.objective.labels
    single = len(labels_asked) == 1 and len(table.classes) > 1
    try:
        made = Problem.build(
            table, structure=problem.structure, groups=dict(problem.groups.custom),
            w=problem.objective.w, constraints=demands,
            label=table.classes.tolist()[labels_asked[0]] if single else None,
        )  # fmt: skip
    except InputError as error:
        assume("has no rows" not in str(error) and "2 to 20" not in str(error))
        assume("has no values" not in str(error))
        raise
    return made, regions


def check(problem: Problem, regions: list[Any], engine: str) -> None:
    note(describe(problem) + f"\nregions: {regions}")
    solution = get_engine(engine).solve(problem, Budget(n_jobs=1))
    answer = Limited(problem, regions).best_within()
    note(f"{solution!r} | {answer}")
    if answer.value is None:
        assert solution.status is Status.INFEASIBLE
    elif answer.label is None:
        assert solution.status is Status.NO_PATTERN
    else:
        assert solution.status is Status.OPTIMAL
        assert solution.value == solution.bound == float(answer.value)
        assert says(solution.rule, answer, problem)


@pytest.mark.parametrize("engine", ["search", "exhaustive"])
@given(data=st.data())
@examples(100)
def test_the_best_rule_within_limits_is_that_of_the_slow_twin(engine, data):
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=400))
    check(*limited(problem, data.draw(limits()), data.draw(st.integers(0, 9999))), engine)


@pytest.mark.slow
@given(data=st.data())
@examples(3000)
def test_the_best_rule_within_limits_is_that_of_the_slow_twin_on_many_tables(data):
    emphasis = data.draw(st.sampled_from(DRAWN))
    problem = data.draw(small_problems(**EMPHASES[emphasis], max_rules=1500, max_rows=24))
    check(*limited(problem, data.draw(limits()), data.draw(st.integers(0, 9999))), "search")


@given(data=st.data())
@examples(60)
def test_a_limit_on_nodes_leaves_a_true_bound(data):
    problem = data.draw(small_problems(max_rules=400))
    problem, regions = limited(problem, data.draw(limits()), data.draw(st.integers(0, 9999)))
    budget = Budget(nodes=data.draw(st.integers(0, 6)), n_jobs=1)
    solution = get_engine("search").solve(problem, budget)
    answer = Limited(problem, regions).best_within()
    best = -math.inf if answer.value is None else float(answer.value)
    assert solution.value <= best <= solution.bound


TABLE = {
    "age": [20, 25, 31, 38, 47, 52, 60, 66],
    "region": ["n", "s", "n", "s", "n", "s", "n", "s"],
}
ILL = ["well", "well", "ill", "well", "ill", "ill", "ill", "ill"]


def test_a_budget_of_alerts():
    found = discover(TABLE, ILL, label="ill", constraints={"max_coverage": 2})
    assert found.covered == 2
    assert found.status is Status.OPTIMAL
    share = discover(TABLE, ILL, label="ill", constraints={"max_coverage": 0.25})
    assert share.rule == found.rule


def test_limits_speak_of_columns_that_are_no_features():
    demands = {"segments": [{"column": "region", "max_coverage": 1}]}
    found = discover(
        TABLE, ILL, label="ill", constraints=demands, roles={"region": "ignored"}, max_depth=1
    )
    fires = found.rule.covers(TABLE)
    assert found.rule.features == ("age",)
    assert (
        max(sum(f for f, r in zip(fires, TABLE["region"], strict=True) if r == own) for own in "ns")
        == 1
    )


def test_a_segment_may_have_a_limit_of_its_own():
    asked = PerSegment("region", max_coverage={"n": 0})
    found = discover(TABLE, ILL, label="ill", constraints=Constraints(segments=[asked]))
    fires = found.rule.covers(TABLE)
    assert not any(f for f, r in zip(fires, TABLE["region"], strict=True) if r == "n")


def test_measures_precision_and_the_frontier_take_limits_too():
    demands = Constraints(max_coverage=3, parities=[Parity("region", max_difference=0.25)])
    for objective in ("f1", "chi2", "precision", "lift"):
        given = {"min_coverage": 0.2} if objective in ("precision", "lift") else {}
        found = discover(TABLE, ILL, label="ill", objective=objective, constraints=demands, **given)
        assert found.status is Status.OPTIMAL
        assert found.covered <= 3
        slow = discover(
            TABLE, ILL, label="ill", objective=objective, constraints=demands, engine="exhaustive",
            **given,
        )  # fmt: skip
        assert (slow.rule, slow.value) == (found.rule, found.value)
    frontier = pareto_frontier(TABLE, ILL, label="ill", constraints=demands)
    assert frontier.complete
    assert all(point.covered <= 3 for point in frontier)


def refused(message: str, error: type[Exception] = InputError, **demands: Any) -> None:
    with pytest.raises(error, match=message):
        discover(TABLE, ILL, label=demands.pop("label", "ill"), constraints=Constraints(**demands))


def test_bad_limits_get_a_sentence():
    refused("'max_coverage' as a float is a share from 0 to 1, got 1.5", max_coverage=1.5)
    refused("'max_coverage' must be a number of rows .*got -1", max_coverage=-1)
    with pytest.raises(InputError, match=r"'max_difference' must be a difference .*got 1.2"):
        Parity("region", max_difference=1.2)
    with pytest.raises(InputError, match=r"'min_ratio' must be a ratio .*got 0"):
        Parity("region", min_ratio=0)
    with pytest.raises(InputError, match=r"Parity\('region'\) limits nothing"):
        Parity("region")
    with pytest.raises(InputError, match=r"PerSegment\('region'\) limits nothing"):
        PerSegment("region")
    with pytest.raises(InputError, match=r"'of' must be 'coverage' or 'recall', got 'errors'"):
        Parity("region", of="errors", max_difference=0.1)
    with pytest.raises(InputError, match=r"'min_precision' of 'n' must be a share"):
        PerSegment("region", min_precision={"n": 2})
    refused("'reigon'.*region", segments=[PerSegment("reigon", max_errors=1)])
    refused(
        "names segment 'e', which has no rows; the column has 'n', 's'",
        segments=[PerSegment("region", max_coverage={"e": 3})],
    )
    refused("'segments': PerSegment has no 'size'", segments=[{"column": "region", "size": 1}])
    refused("'parities': Parity needs a 'column'", parities=[{"max_difference": 0.1}])
    refused("'segments' must be a list of PerSegment, got 'region'", segments="region")


def test_a_group_without_rows_of_the_class_has_no_recall():
    data = {"x": [1, 2, 3, 4], "g": ["a", "a", "b", "b"]}
    demands = Constraints(parities=[Parity("g", of="recall", max_difference=0.1)])
    with pytest.raises(InputError, match=r"group 'b' has no rows of class 'ill'"):
        discover(data, ["ill", "well", "well", "well"], label="ill", constraints=demands)
    one = {"x": [1, 2, 3, 4], "g": ["a"] * 4}
    with pytest.raises(InputError, match=r"a column of 2 to 20 values, got 1"):
        discover(
            one, ["ill", "well"] * 2, roles={"g": "ignored"},
            constraints={"parities": [Parity("g", min_ratio=0.8)]},
        )  # fmt: skip


def test_what_cannot_take_limits_says_so(tmp_path):
    demands = Constraints(max_coverage=2)
    for name in engine_names():
        if name not in ("search", "exhaustive"):
            with pytest.raises(UnsupportedProblem, match=r"does not take 'max_coverage'"):
                get_engine(name).solve(Problem.of(TABLE, ILL, constraints=demands))
    with pytest.raises(UnsupportedProblem, match=r"lists of rules do not take 'max_coverage'"):
        top_rules(TABLE, ILL, constraints=demands)
    (tmp_path / "a.csv").write_text("age,state\n1,ill\n2,well\n")
    with pytest.raises(UnsupportedProblem, match=r"need the whole table in memory"):
        discover(str(tmp_path / "*.csv"), "state", constraints=demands)
    table = Table.build(TABLE, ILL, roles={"region": "ignored"}, warn=False)
    with pytest.raises(InputError, match=r"Table.build\(..., keep=\['region'\]\)"):
        discover(table, constraints={"segments": [PerSegment("region", max_errors=1)]})


def test_tests_and_bootstraps_keep_the_limits():
    rng = np.random.default_rng(0)
    X = {"a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80), "g": rng.choice(["x", "y"], 80)}
    y = np.where((X["a"] > 5) ^ (rng.random(80) < 0.1), "ill", "well")
    demands = Constraints(max_coverage=12, parities=[Parity("g", max_difference=0.1)])
    asked: dict[str, Any] = {
        "label": "ill", "w": 2, "constraints": demands, "roles": {"g": "ignored"}, "n_jobs": 1,
    }  # fmt: skip
    best = discover(X, y, **asked)
    assert best.covered <= 12
    test = permutation_test(X, y, **asked, n_permutations=19)
    assert test.value == best.value
    assert test.p_value == 0.05
    found = stability(X, y, **asked, n_bootstrap=5)
    assert found.solution.rule == best.rule
    path = weight_path(X, y, **{k: v for k, v in asked.items() if k != "w"})
    assert all(piece.covered <= 12 for piece in path)


def test_limits_in_words():
    assert str(PerSegment("region", min_precision=0.8, max_errors=3)) == (
        "in every region: precision >= 0.8, errors <= 3"
    )
    assert str(Parity("sex", of="recall", min_ratio=0.8)) == "recall by sex: ratio >= 0.8"
