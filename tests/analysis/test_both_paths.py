"""Every analysis on both sides of the thresholds of the search: few rows, and cells of many.

The search looks at rows again and again where they are few, and counts cells where they are many.
Small tables are put on either side by moving the threshold, and whatever is asked of them has the
same answer, which is that of trying every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import EAGER, examples, make_default
from opdt import OPDTClassifierCV, OPDTRuleList, OPDTRuleSet
from opdt.analysis import repeats
from opdt.analysis.alternatives import diverse_rules, rashomon_set, top_rules
from opdt.analysis.claims import claim
from opdt.analysis.column_generation import pricing
from opdt.analysis.frontier import pareto_frontier
from opdt.analysis.path import weight_path
from opdt.analysis.permutation import permutation_test
from opdt.analysis.stability import stability
from opdt.engines.search import Searcher, Switches
from opdt.problem import Problem
from opdt.table import Table

SEEDS = st.integers(0, 2**32 - 1)
Question = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def eager() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        make_default(patch, tuning=EAGER)
        yield


def put_above(patch: pytest.MonkeyPatch) -> None:
    """Make every table one of many rows."""
    make_default(patch, large_rows=0)
    patch.setattr(repeats, "ONE_AT_A_TIME", 0)
    patch.setattr(pricing, "FEW_ROWS", 0)


def draw(rng: np.random.Generator, classes: int = 2) -> dict[str, Any]:
    """A small table with numbers, missing values and levels, and often weights."""
    n = int(rng.integers(12, 30))
    numbers = rng.integers(0, 5, size=n).astype(float)
    numbers[rng.random(n) < 0.1] = np.nan
    X = pd.DataFrame(
        {
            "a": numbers,
            "b": rng.integers(0, 4, size=n),
            "c": rng.choice(["red", "green", "blue"], size=n),
        }
    )
    y = rng.integers(0, classes, size=n)
    y[:classes] = np.arange(classes)
    weights = rng.choice([0.5, 1, 2], size=n) if rng.random() < 0.5 else None
    return {"X": X, "y": y, "sample_weight": weights}


def ask_path(given: dict[str, Any], **settings: Any) -> Any:
    return weight_path(**given, **settings).segments


def ask_frontier(given: dict[str, Any], **settings: Any) -> Any:
    return pareto_frontier(**given, **settings).points


def ask_permutations(given: dict[str, Any], **settings: Any) -> Any:
    tests = [
        permutation_test(
            **given, w=2, n_permutations=19, keep_values=keep, early_stop=False, **settings
        )
        for keep in (False, True)
    ]
    counted, valued = tests
    assert (counted.hits, counted.p_value) == (valued.hits, valued.p_value)
    assert valued.null_values is not None
    return valued.hits, valued.null_values.tolist(), claim(test=valued)


def ask_stability(given: dict[str, Any], **settings: Any) -> Any:
    found = stability(**given, w=2, n_bootstrap=6, **settings)
    return found.rules, found.same_form, found.overlap.tolist(), found.n_unproven


def ask_list(given: dict[str, Any], **settings: Any) -> Any:
    found = OPDTRuleList(w=2, alpha=0.5, n_permutations=19, **settings)
    found.fit(given["X"], given["y"], sample_weight=given["sample_weight"])
    return found.rule_list_


def ask_cv(given: dict[str, Any], **settings: Any) -> Any:
    found = OPDTClassifierCV(cv=2, n_repeats=1, max_depths=(1, 2), **settings)
    found.fit(given["X"], given["y"], sample_weight=given["sample_weight"])
    return found.rule_, found.best_params_


ENGINES: dict[str, Question] = {
    "path": ask_path,
    "frontier": ask_frontier,
    "permutations": ask_permutations,
    "stability": ask_stability,
    "rule list": ask_list,
    "cross-validation": ask_cv,
}


def ask_top(given: dict[str, Any]) -> Any:
    rows = top_rules(**given, limit=6, w=2)
    conditions = top_rules(**given, limit=6, w=2, distinct="conditions")
    return rows.rules, conditions.rules


def ask_near(given: dict[str, Any]) -> Any:
    return rashomon_set(**given, w=2, within=0.4).rules


def ask_apart(given: dict[str, Any]) -> Any:
    return diverse_rules(**given, limit=3, w=2).rules


def ask_set(given: dict[str, Any]) -> Any:
    found = OPDTRuleSet(max_rules=2, max_depth=2, label=1, condition_price=0.25)
    found.fit(given["X"], given["y"], sample_weight=given["sample_weight"])
    return found.solution_.value, found.solution_.bound  # ties between sets are open


SEARCHES: dict[str, Question] = {
    "top rules": ask_top,
    "near rules": ask_near,
    "diverse rules": ask_apart,
    "rule set": ask_set,
}


def show(answer: Any) -> str:
    """As text, in which NaN is NaN."""
    return repr(answer)


@pytest.mark.parametrize("name", ENGINES)
def test_an_analysis_has_the_answer_of_trying_every_rule(name: str) -> None:
    @given(seed=SEEDS, classes=st.sampled_from([2, 3]))
    @examples(6)
    def agrees(seed: int, classes: int) -> None:
        asked = draw(np.random.default_rng(seed), classes)
        wanted = show(ENGINES[name](asked, engine="exhaustive"))
        assert show(ENGINES[name](asked)) == wanted
        with pytest.MonkeyPatch.context() as patch:
            put_above(patch)
            assert show(ENGINES[name](asked)) == wanted

    agrees()


@pytest.mark.parametrize("name", SEARCHES)
def test_rules_beside_the_best_are_the_same_on_both_sides(name: str) -> None:
    @given(seed=SEEDS)
    @examples(6)
    def agrees(seed: int) -> None:
        asked = draw(np.random.default_rng(seed))
        wanted = show(SEARCHES[name](asked))
        with pytest.MonkeyPatch.context() as patch:
            put_above(patch)
            assert show(SEARCHES[name](asked)) == wanted

    agrees()


def test_the_threshold_is_really_moved() -> None:
    with pytest.MonkeyPatch.context() as patch:
        put_above(patch)
        assert Switches().large_rows == 0
    assert Switches().large_rows > 0


@pytest.mark.slow
def test_shuffled_labels_of_very_many_rows() -> None:
    """Beyond the threshold as it is: what is counted are the labels of the objective."""
    rng = np.random.default_rng(5)
    n = 21_000
    columns = {"a": rng.integers(0, 6, size=n), "b": rng.integers(0, 5, size=n)}
    problem = Problem.build(Table.build(columns, rng.integers(0, 2, size=n)), w=1.9)
    searcher, few = Searcher(problem), Searcher(problem, Switches(large_rows=10**9))
    for _ in range(3):
        classes = rng.permutation(problem.objective.classes)  # type: ignore[attr-defined]
        other = problem.objective.__class__(
            classes, problem.objective.w, problem.objective.labels,  # type: ignore[attr-defined]
            problem.objective.weights, 1,
        )  # fmt: skip
        best = few.solve(other)
        assert searcher.solve(other).value == best.value
        assert searcher.reaches(best.value, other)
        assert not searcher.reaches(best.value + 0.1, other)
