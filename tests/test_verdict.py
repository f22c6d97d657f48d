"""The verdict beside the proof: its levels, its statistics, and how often it is wrong."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import opdt
from opdt.analysis.alternatives import rashomon_set, top_rules
from opdt.analysis.column_generation import best_rule_set
from opdt.analysis.covering import sequential_covering
from opdt.analysis.intervals import holdout_report
from opdt.analysis.permutation import permutation_test
from opdt.counts import RuleCounts
from opdt.problem import Problem
from opdt.verdict import (
    LEVEL,
    Evidence,
    Verdict,
    VerdictLevel,
    fisher_p_value,
    judge,
    least_share,
)
from strategies import small_problems


def counted(n_rows: int, n_class: int, covered: int, correct: int) -> RuleCounts:
    return RuleCounts(n_rows, n_class, covered, covered - correct)


STRONG = Evidence(counted(500, 250, 100, 98), n_rules=10**6, n_forms=200)
MIDDLE = Evidence(counted(500, 250, 15, 15), n_rules=10**6, n_forms=200)
FEW = Evidence(counted(500, 250, 4, 4), n_rules=10**6, n_forms=200)


def chance(p_value, hits=5):
    return SimpleNamespace(p_value=p_value, hits=hits)


# -- levels ----------------------------------------------------------------------------------------

GOOD, LEVEL_WITH, BAD = (
    counted(200, 100, 40, 38),
    counted(200, 100, 40, 24),
    counted(200, 100, 40, 18),
)
FADED, MUTE = counted(2000, 1000, 400, 260), counted(200, 100, 2, 2)
RARE, COMMON, CUT = chance(0.01, 0), chance(0.4), chance(2 / 9, 0)


@pytest.mark.parametrize(
    ("training", "held_out", "test", "level"),
    [
        (STRONG, None, None, "supported"),
        (MIDDLE, None, None, "weak"),
        (FEW, None, None, "not supported"),
        (None, None, None, "weak"),
        (MIDDLE, None, RARE, "supported"),
        (STRONG, None, COMMON, "not supported"),
        (STRONG, None, CUT, "supported"),  # a test that was ended at once says nothing
        (MIDDLE, None, CUT, "weak"),
        (MIDDLE, GOOD, None, "supported"),
        (FEW, GOOD, None, "supported"),
        (STRONG, LEVEL_WITH, None, "weak"),
        (MIDDLE, LEVEL_WITH, None, "not supported"),
        (STRONG, BAD, None, "not supported"),
        (STRONG, FADED, None, "weak"),
        (STRONG, MUTE, None, "weak"),
        (FEW, MUTE, None, "not supported"),
        (STRONG, counted(0, 0, 0, 0), None, "weak"),
        (STRONG, GOOD, RARE, "supported"),
        (STRONG, GOOD, COMMON, "weak"),
        (MIDDLE, LEVEL_WITH, RARE, "weak"),
        (STRONG, BAD, RARE, "not supported"),
        (STRONG, BAD, COMMON, "not supported"),
        (FEW, MUTE, RARE, "supported"),
        (None, GOOD, RARE, "supported"),
    ],
)
def test_all_that_can_speak_must_speak_for_the_rule(training, held_out, test, level):
    verdict = judge(training, held_out=held_out, test=test)
    assert str(verdict.level) == level
    assert verdict.reason
    assert verdict.cure.endswith(".")
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_the_cure_names_what_would_be_enough():
    assert "min_coverage=30" in judge(FEW).cure
    assert "opdt test" in judge(MIDDLE).cure
    frequent = Evidence(counted(500, 450, 20, 20), n_rules=10**6, n_forms=200)
    needed = frequent.needed
    assert f"min_coverage={needed}" in judge(frequent).cure
    enough = Evidence(counted(100_000, 90_000, needed, needed), frequent.n_rules, frequent.n_forms)
    assert judge(enough).level is VerdictLevel.SUPPORTED
    assert "too few" in judge(Evidence(counted(20, 18, 5, 5), 10**6, 200)).cure


@pytest.mark.parametrize("data", [None, "weak", {}, {"level": "true"}, {"level": ["weak"]}, [1]])
def test_what_is_no_verdict_is_read_as_none(data):
    assert Verdict.from_dict(data) is None


def test_a_verdict_that_is_read_takes_one_line():
    found = Verdict.from_dict({"level": "weak", "reason": "a\nb", "cure": 5})
    assert (str(found), found.cure) == ("weak: a b", "5")


# -- statistics ------------------------------------------------------------------------------------


@given(st.data())
def test_fishers_test_is_that_of_scipy(data):
    n_rows = data.draw(st.integers(1, 400))
    n_class, covered = data.draw(st.integers(0, n_rows)), data.draw(st.integers(0, n_rows))
    least = max(0, covered - (n_rows - n_class))
    correct = data.draw(st.integers(least, min(covered, n_class)))
    expected = hypergeom.sf(correct - 1, n_rows, n_class, covered)
    found = fisher_p_value(counted(n_rows, n_class, covered, correct))
    assert math.isclose(found, expected, rel_tol=1e-8, abs_tol=1e-300)


def test_fishers_test_of_very_many_rows_ends():
    assert fisher_p_value(counted(10**9, 5 * 10**8, 10**8, 5 * 10**7 + 10**5)) < 1e-60
    assert fisher_p_value(counted(10**9, 5 * 10**8, 10**8, 5 * 10**7)) > 0.4


@given(st.integers(1, 200), st.integers(0, 200), st.integers(1, 10**9))
def test_the_least_share_is_refuted_and_a_larger_one_is_not(whole, part, n_rules):
    part = min(part, whole)
    least = least_share(part, whole, n_rules)
    assert 0 <= least <= part / whole
    tail = sum(
        math.comb(whole, k) * least**k * (1 - least) ** (whole - k) for k in range(part, whole + 1)
    )
    assert n_rules * tail <= LEVEL * (1 + 1e-6) or least == 0


@given(small_problems(max_rules=1500))
@settings(max_examples=40)
def test_no_fewer_rules_are_counted_than_there_are(problem):
    rules = set()
    for chain in problem.chains:
        choices = [[None, *problem.conditions_at(level)] for level in chain]
        if math.prod(map(len, choices)) > 20_000:
            return
        rules |= {frozenset(each) - {None} for each in itertools.product(*choices)}
    n_rules, n_forms = problem.n_rules
    assert len(rules) * len(problem.objective.labels) <= n_rules
    assert n_forms >= 1


def test_rules_are_counted_as_the_structure_allows():
    table = opdt.Table.build({"a": [1, 2, 3, 4], "c": ["x", "y", "x", "y"]}, [0, 0, 1, 1])
    one = Problem.build(table, structure=opdt.Structure.free(1), label=1)
    assert one.n_rules == (1 + 2 * 3 + 2 * 2, 1 + 2 + 2 * 2)
    both = Problem.build(table, structure=opdt.Structure.free(1))
    assert both.n_rules[0] == 2 * one.n_rules[0]


# -- how often it is wrong -------------------------------------------------------------------------


def noise(seed, n_rows=80):
    draw = np.random.default_rng(seed)
    X = {f"x{at}": draw.integers(0, 12, n_rows) for at in range(4)}
    return X, draw.random(n_rows) < draw.uniform(0.2, 0.8)


def test_chance_is_seldom_called_supported():
    """By each kind of evidence at most 5 %: of 40 tables more than 6 once in 300 times."""
    counted = dict.fromkeys(("training", "held out", "test"), 0)
    for seed in range(40):
        X, y = noise(seed)
        solution = opdt.discover(X, y, w=3, n_jobs=1)
        if solution.rule is None:
            continue
        new = holdout_report(solution.rule, *noise(10_000 + seed))
        test = permutation_test(X, y, w=3, n_permutations=19, n_jobs=1)
        found = {
            "training": solution.verdict,
            "held out": judge(solution.evidence, held_out=new),
            "test": test.verdict,
        }
        for name, verdict in found.items():
            counted[name] += verdict.level is VerdictLevel.SUPPORTED
    assert counted["training"] == 0  # far more cautious than its level
    assert counted["held out"] <= 6
    assert counted["test"] <= 6


def test_a_strong_pattern_is_usually_called_supported():
    counted = dict.fromkeys(("training", "held out", "test"), 0)
    for seed in range(12):
        X, _ = noise(seed, 300)
        fires = (X["x0"] >= 6) & (X["x1"] < 8)
        y = np.where(np.random.default_rng(seed).random(300) < 0.05, ~fires, fires)
        train, rest = ({name: values[part] for name, values in X.items()}
                       for part in (slice(200), slice(200, None)))  # fmt: skip
        solution = opdt.discover(train, y[:200], w=3, label=True)
        new = holdout_report(solution.rule, rest, y[200:])
        test = permutation_test(train, y[:200], w=3, label=True, n_permutations=19, n_jobs=1)
        for name, verdict in (
            ("training", solution.verdict),
            ("held out", judge(solution.evidence, held_out=new)),
            ("test", test.verdict),
        ):
            counted[name] += verdict.level is VerdictLevel.SUPPORTED
    assert min(counted.values()) >= 11


@pytest.mark.parametrize(("rows", "share"), [(2, 0.1), (4, 0.26), (4, 0.5)])
def test_a_few_rows_without_an_error_are_not_supported(rows, share):
    """Proven the best of its kind, and worth nothing: minutes of a clock, a level of a test."""
    draw = np.random.default_rng(3)
    n = 400
    X = {f"x{at}": draw.permutation(n) for at in range(6)}
    y = np.where(X["x0"] < rows, True, (X["x0"] % round(1 / share)) == 1)
    only = {"directions": {"x0": "<"}, "required": ["x0"], "max_errors": 0}
    solution = opdt.discover(X, y, label=True, max_depth=1, constraints=only)
    assert (solution.status, solution.covered) == ("optimal", rows)
    assert solution.verdict.level is VerdictLevel.NOT_SUPPORTED


def test_a_rule_for_all_rows_says_nothing():
    solution = opdt.discover({"a": [1, 2, 3, 4, 5]}, [0, 1, 1, 1, 1], w=1.5, max_depth=1, label=1)
    assert judge(Evidence(counted(5, 4, 5, 4), 10, 10)).reason.endswith("so that it says nothing")
    assert solution.verdict.level is VerdictLevel.NOT_SUPPORTED


# -- where it is shown -----------------------------------------------------------------------------


def test_a_solution_shows_its_verdict_and_nothing_green_without_support():
    weak = opdt.discover({"<b>": [1, 2, 3, 4, 5, 6]}, [0, 0, 0, 1, 1, 1])
    assert f"verdict='{weak.verdict.level}'" in repr(weak)
    assert weak.verdict.level is not VerdictLevel.SUPPORTED
    assert "proven optimal" in str(weak)
    assert f"verdict: {weak.verdict}" in str(weak)
    page = weak._repr_html_()
    assert str(weak.verdict.level) in page
    assert "#0a6a47" not in page
    assert "&lt;b&gt;" in page
    assert "IF <b>" not in page
    strong = opdt.discover({"a": range(7, 107)}, [k >= 50 for k in range(100)])
    assert "#0a6a47" in strong._repr_html_()


def test_without_a_rule_there_is_no_verdict():
    nothing = opdt.discover({"a": [1, 1, 2, 2]}, [0, 1, 0, 1])
    assert nothing.rule is None
    assert nothing.verdict is None
    assert "verdict" not in str(nothing) + repr(nothing) + nothing._repr_html_()
    assert (
        permutation_test({"a": [1, 1, 2, 2]}, [0, 1, 0, 1], n_permutations=19, n_jobs=1).verdict
        is None
    )


def test_rows_count_once_whatever_they_weigh():
    X, y = {"a": [1, 2, 3, 4]}, [0, 0, 1, 1]
    heavy = opdt.discover(X, y, sample_weight=[1000.0, 1000.0, 1000.0, 0.0], max_depth=1)
    counts = heavy.evidence.counts
    assert counts == counted(3, 2, 2, 2)


def test_partitions_say_the_same(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": range(7, 407), "y": [k >= 250 for k in range(400)]})
    frame[:200].write_parquet(tmp_path / "1.parquet")
    frame[200:].write_parquet(tmp_path / "2.parquet")
    here = opdt.discover(frame.drop("y"), frame["y"])
    there = opdt.discover(str(tmp_path / "*.parquet"), "y")
    assert there.evidence.counts == here.evidence.counts
    assert there.evidence.n_rules >= here.evidence.n_rules
    assert there.verdict.level is here.verdict.level is VerdictLevel.SUPPORTED


# -- several rules ---------------------------------------------------------------------------------


def noisy(n_rows=200, seed=0):
    """Rows with a pattern for large `a`, and one for small `b` among the others."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 50, n_rows), rng.integers(0, 50, n_rows)
    y = np.where((a >= 35) | (b < 10), "ill", "well")
    flipped = rng.random(n_rows) < 0.03
    return {"a": a.tolist(), "b": b.tolist()}, np.where(flipped, "ill", y)


@pytest.mark.parametrize("weights", [None, [1.0, 2.5] * 100])
def test_every_alternative_has_the_evidence_of_its_own_rows(weights):
    X, y = noisy()
    found = top_rules(X, y, limit=5, w=3, sample_weight=weights, max_equivalents=0)
    best = opdt.discover(X, y, w=3, sample_weight=weights)
    assert found[0].evidence == best.evidence
    for each in found:
        fires, right = each.rule.covers(X), y == each.rule.label
        some = (fires | True, right, fires, fires & right)
        assert each.evidence.counts == counted(*(int(rows.sum()) for rows in some))
        assert each.lift == pytest.approx(right[fires].mean() / right.mean())
        assert str(each.verdict.level) in str(found)
    assert found.columns()["verdict"] == [str(each.verdict.level) for each in found]
    near = rashomon_set(X, y, w=3, sample_weight=weights)
    assert near.rules[0].verdict == best.verdict
    assert near.columns()["lift"][0] == near.rules[0].lift


def test_a_later_rule_of_a_list_answers_for_the_choice_of_those_before():
    X, y = noisy()
    found = sequential_covering(X, y, w=3, max_rules=3, label="ill")
    assert len(found.steps) > 1
    assert found.steps[0].verdict == opdt.discover(X, y, w=3, label="ill").verdict
    table = opdt.Table.build(X, y)
    free = opdt.Structure.free(2)
    n_rules, n_forms = Problem.build(table, structure=free, w=3, label="ill").n_rules
    for place, step in enumerate(found.steps, 1):
        assert step.evidence.n_rules == n_rules**place
        assert step.evidence.n_forms == n_forms**place
        assert step.evidence.counts.n_rows == step.n_rows
        assert f"{step.rule}\n    {step.verdict}".partition("IF ")[2] in str(found)


def test_a_rule_set_is_judged_as_one_of_all_sets():
    X, y = noisy()
    found = best_rule_set(X, y, label="ill", max_rules=2)
    assert len(found.rule_set.rules) == len(found.verdicts) == 2
    first = found.of_rules[0]
    assert found.evidence.n_rules == first.n_rules**2
    fires = found.rule_set.covers(X)
    right = y == "ill"
    some = (fires | True, right, fires, fires & right)
    assert found.evidence.counts == counted(*(int(rows.sum()) for rows in some))
    assert found.verdict.level is VerdictLevel.SUPPORTED
    assert f"verdict: {found.verdict}" in str(found)


def test_lists_of_very_many_rules_can_be_judged():
    many = STRONG.among(10**400, 10**300)
    assert judge(many).level is VerdictLevel.NOT_SUPPORTED
    assert "10^400" in judge(many).reason
    assert 0 <= many.least_precision < 1
