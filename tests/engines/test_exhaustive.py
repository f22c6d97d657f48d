"""The oracle against its slow twin, against itself on changed data, and cut short."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from naive import naive, says
from opdt.engines.exhaustive import ExhaustiveEngine, count_batches, count_rules
from opdt.errors import UnsupportedProblem
from opdt.problem import Constraints, Problem, Structure
from opdt.solution import Budget, Clock, Status, StopReason
from opdt.table import Column, Table
from strategies import EMPHASES, describe, small_problems

ENGINE = ExhaustiveEngine()


def table_of(**columns):
    """A table of columns and their labels, given as `labels`."""
    labels = columns.pop("labels")
    return Table.build(columns, labels, warn=False)


def take(table, rows):
    """The table of some rows, each as often as it is named, with the values of the whole."""
    columns = tuple(Column(c.name, c.kind, c.codes[rows], c.values) for c in table.columns)
    weights = None if table.weights is None else table.weights[rows]
    return Table(columns, table.labels[rows], table.classes, weights)


# -- against the slow twin -----------------------------------------------------------------------


@pytest.mark.parametrize("emphasis", EMPHASES)
@settings(max_examples=250)
@given(data=st.data())
def test_the_best_rule_is_that_of_the_slow_twin(emphasis, data):
    problem = data.draw(small_problems(**EMPHASES[emphasis]))
    note(describe(problem))
    solution, answer = ENGINE.solve(problem), naive(problem)
    note(f"{solution.rule} | {answer}")
    assert solution.statistics.evaluations == count_rules(problem) * len(problem.objective.labels)
    if answer.value is None:
        assert solution.status is Status.INFEASIBLE
        assert solution.value == solution.bound == -np.inf
    else:
        assert solution.value == solution.bound == float(answer.value)
    if answer.label is None:
        assert solution.rule is None
        return
    assert solution.status is Status.OPTIMAL
    assert says(solution.rule, answer, problem)
    assert solution.covered == float(answer.covered)
    assert solution.errors == float(answer.errors)


def test_two_subsets_on_left_branches_may_leave_a_single_level():
    table = table_of(level=["a", "b", "c", "d", "a"], labels=[1, 0, 0, 0, 1])
    left = Structure.tree(split=[1, 1, 0], group=["cat", "cat", None], target=[1, 0, 0, 0])
    problem = Problem.build(table, structure=left, constraints=Constraints(subsets=True))
    assert str(ENGINE.solve(problem).rule) == "IF level != 'a' THEN 0"
    targeted = Problem.build(table, structure=left, label=1, constraints=Constraints(subsets=True))
    assert str(ENGINE.solve(targeted).rule) == "IF level == 'a' THEN 1"


def test_a_chain_without_levels_has_the_rule_without_conditions():
    problem = Problem.build(table_of(x=[1, 2, 3], labels=[0, 1, 1]), w=1.5)
    vars(problem)["chains"] = ((),)  # in place of the compiled ones
    solution = ENGINE.solve(problem)
    assert solution.rule.conditions == ()
    assert (solution.rule.label, solution.value, solution.status) == (1, 1.5, Status.OPTIMAL)


def test_features_of_missing_values_only_offer_nothing_but_being_missing():
    table = table_of(x=[None, None, None], labels=[0, 1, 1])
    assert ENGINE.solve(Problem.build(table, w=10)).status is Status.NO_PATTERN
    asked = Constraints(missing_conditions=True, required=["x"])
    solution = ENGINE.solve(Problem.build(table, w=1.5, constraints=asked))
    assert str(solution.rule) == "IF x is missing THEN 1"


# -- against itself on changed data --------------------------------------------------------------


@settings(max_examples=150)
@given(problem=small_problems(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_changes_nothing(problem, seed):
    note(describe(problem))
    rows = np.random.default_rng(seed).permutation(problem.table.n_rows)
    objective = replace(
        problem.objective,
        classes=problem.objective.classes[rows],
        weights=problem.objective.weights[rows],
    )
    shuffled = replace(problem, table=take(problem.table, rows), objective=objective)
    before, after = ENGINE.solve(problem), ENGINE.solve(shuffled)
    assert (after.rule, after.value, after.status) == (before.rule, before.value, before.status)


@settings(max_examples=150)
@given(problem=small_problems(weights=["none"]), seed=st.integers(0, 2**32 - 1))
def test_a_row_of_weight_three_counts_as_three_rows(problem, seed):
    note(describe(problem))
    times = np.random.default_rng(seed).integers(1, 4, size=problem.table.n_rows)
    weighted = rebuilt(problem, replace(problem.table, weights=times.astype(float)))
    repeated = rebuilt(problem, take(problem.table, np.repeat(np.arange(len(times)), times)))
    one, other = ENGINE.solve(weighted), ENGINE.solve(repeated)
    assert (one.rule, one.value, one.status) == (other.rule, other.value, other.status)
    assert (one.covered, one.errors) == (other.covered, other.errors)


@settings(max_examples=100)
@given(problem=small_problems(structures=["free"], max_depth=2))
def test_a_deeper_rule_is_never_worse(problem):
    note(describe(problem))
    deeper = rebuilt(problem, structure=Structure.free(problem.structure.depth + 1))
    assert ENGINE.solve(deeper).value >= ENGINE.solve(problem).value


@settings(max_examples=100)
@given(problem=small_problems())
def test_an_increasing_function_of_a_column_changes_thresholds_only(problem):
    note(describe(problem))
    columns = tuple(
        replace(c, values=c.values * 3 + 7) if c.values.dtype.kind in "if" else c
        for c in problem.table.columns
    )
    mapped = rebuilt(problem, replace(problem.table, columns=columns))
    before, after = ENGINE.solve(problem), ENGINE.solve(mapped)
    assert (after.value, after.status) == (before.value, before.status)
    if before.rule is not None:
        assert mapped.lower(after.rule) == problem.lower(before.rule)


@settings(max_examples=100)
@given(problem=small_problems(structures=["free"], options=["min_precision", "max_errors"]))
def test_the_order_of_the_columns_changes_no_value(problem):
    note(describe(problem))
    turned = rebuilt(problem, replace(problem.table, columns=problem.table.columns[::-1]))
    assert ENGINE.solve(turned).value == ENGINE.solve(problem).value


def rebuilt(problem, table=None, structure=None):
    """The same question put to another table or structure."""
    target = None
    if len(problem.objective.labels) == 1:
        target = problem.table.classes.tolist()[problem.objective.labels[0]]
    return Problem.build(
        table or problem.table,
        structure=structure or problem.structure,
        groups=problem.groups.custom or None,
        w=problem.objective.w,
        label=target,
        constraints=problem.constraints,
    )


# -- ties ----------------------------------------------------------------------------------------


def test_of_equal_rules_the_shorter_wins():
    table = table_of(x=[1, 2, 2, 1], y=[1, 1, 2, 1], z=[5, 6, 7, 5], labels=[0, 1, 1, 0])
    solution = ENGINE.solve(Problem.build(table, label=1))
    assert str(solution.rule) == "IF x >= 1.5 THEN 1"


def test_of_equal_rules_the_one_with_fewer_errors_wins():
    # w = 2: two rows and no error are worth as much as four rows and one error.
    table = table_of(
        x=[1, 1, 1, 1, 0, 0, 0, 0, 0],
        y=[0, 0, 0, 0, 1, 1, 0, 0, 0],
        labels=[1, 1, 1, 0, 1, 1, 0, 0, 0],
    )
    solution = ENGINE.solve(Problem.build(table, structure=Structure.free(1), w=2, label=1))
    assert solution.value == 2
    assert (str(solution.rule), solution.errors) == ("IF y >= 0.5 THEN 1", 0)


def test_of_equal_rules_that_of_the_earlier_feature_wins():
    table = table_of(b=[0, 0, 1, 1], a=[0, 0, 1, 1], labels=[0, 0, 1, 1])
    assert str(ENGINE.solve(Problem.build(table, label=1)).rule) == "IF b >= 0.5 THEN 1"


def test_of_equal_rules_the_looser_threshold_wins():
    weights = [1, 0, 0, 1]
    table = Table.build({"x": [0, 1, 2, 3]}, [0, 0, 1, 1], sample_weight=weights, warn=False)
    assert str(ENGINE.solve(Problem.build(table, label=1)).rule) == "IF x >= 0.5 THEN 1"
    assert str(ENGINE.solve(Problem.build(table, label=0)).rule) == "IF x < 2.5 THEN 0"


def test_of_equal_rules_that_of_the_first_class_wins():
    table = table_of(x=[0, 1], labels=["b", "a"])
    assert str(ENGINE.solve(Problem.build(table)).rule) == "IF x >= 0.5 THEN a"
    same = table_of(x=[0, 0, 1, 1], labels=["b", "a", "b", "a"])
    solution = ENGINE.solve(Problem.build(same, w=1.5, structure=Structure.free(1)))
    assert str(solution.rule) == "IF (any row) THEN a"


# -- limits --------------------------------------------------------------------------------------


@pytest.fixture
def problem():
    """A problem of a few hundred batches."""
    rng = np.random.default_rng(3)
    table = Table.build(rng.integers(0, 6, size=(40, 4)), rng.integers(0, 2, size=40))
    return Problem.build(table, structure=Structure.free(3), w=3)


@pytest.fixture
def best(problem):
    return ENGINE.solve(problem)


def holds(solution, best, reason):
    """Whether a solution that was cut short claims nothing but the truth."""
    return (
        solution.stopped_by is reason
        and solution.value <= best.value <= solution.bound
        and solution.status in (Status.FEASIBLE, Status.UNKNOWN)
    )


def test_no_time_gives_the_empty_rule_and_a_true_bound(problem, best):
    solution = ENGINE.solve(problem, Budget(time_limit=0))
    assert holds(solution, best, StopReason.TIME)
    assert (solution.rule, solution.value, solution.status) == (None, 0.0, Status.FEASIBLE)


def test_no_time_leaves_open_whether_a_rule_exists(problem):
    asked = replace(problem, constraints=Constraints(min_coverage=3))
    solution = ENGINE.solve(asked, Budget(time_limit=0))
    assert (solution.rule, solution.status) == (None, Status.UNKNOWN)
    assert solution.value == -np.inf
    assert solution.gap == np.inf


@pytest.mark.parametrize("nodes", [0, 1, 7, 100])
def test_a_node_limit_gives_the_best_rule_so_far(problem, best, nodes):
    solution = ENGINE.solve(problem, Budget(nodes=nodes))
    assert holds(solution, best, StopReason.NODES)
    assert solution.statistics.nodes == nodes


def test_more_nodes_never_give_a_worse_rule(problem):
    values = [ENGINE.solve(problem, Budget(nodes=n)).value for n in (0, 1, 10, 100, 300)]
    assert values == sorted(values)


def test_an_event_cancels(problem, best):
    event = threading.Event()
    event.set()
    assert holds(ENGINE.solve(problem, Budget(cancel=event)), best, StopReason.CANCELLED)


def test_an_event_set_by_the_callback_cancels_with_the_rule_found_so_far(problem, best):
    event = threading.Event()
    seen = []

    def progress(report):
        seen.append(report)
        if len(seen) == 3:
            event.set()

    solution = ENGINE.solve(problem, Budget(cancel=event, progress=progress))
    assert holds(solution, best, StopReason.CANCELLED)
    assert solution.rule is not None
    assert solution.value >= seen[-1].value


def test_progress_grows_from_nothing_to_nearly_all(problem, best):
    seen = []
    ENGINE.solve(problem, Budget(progress=seen.append))
    assert len(seen) > 3
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert [p.value for p in seen] == sorted(p.value for p in seen)
    assert all(0 <= p.done < 1 and p.value <= best.value <= p.bound for p in seen)
    assert (seen[0].done, seen[0].gap) == (0, seen[0].bound - seen[0].value)


def test_ctrl_c_in_the_callback_gives_the_best_rule_so_far(problem, best):
    seen = []

    def progress(report):
        seen.append(report)
        if len(seen) == 3:
            raise KeyboardInterrupt

    solution = ENGINE.solve(problem, Budget(progress=progress))
    assert holds(solution, best, StopReason.INTERRUPTED)
    assert solution.rule is not None


def test_ctrl_c_anywhere_gives_the_best_rule_so_far(problem, best, monkeypatch):
    calls = iter(range(1000))

    def stop(self, nodes=0):
        if next(calls) == 50:
            raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "stop", stop)
    assert holds(ENGINE.solve(problem), best, StopReason.INTERRUPTED)


def test_too_many_rules_are_refused_with_their_number(problem):
    rules = count_rules(problem)
    assert ExhaustiveEngine(max_rules=rules).refuses(problem) is None
    with pytest.raises(UnsupportedProblem, match=f"it has {rules:,} rules to try, at most 10 are"):
        ExhaustiveEngine(max_rules=10).solve(problem)


def test_rules_and_batches_are_counted_as_they_are_tried(problem, best):
    # Four columns of six values: 4 × 5 thresholds in two directions, or nothing.
    assert count_rules(problem) == 41**3
    assert count_batches(problem) == 41**2 == best.statistics.nodes
    assert best.statistics.evaluations == 2 * 41**3  # for either class


def test_the_trace_ends_with_the_proof(best):
    values = [point.value for point in best.trace]
    assert values == sorted(values)
    last = best.trace[-1]
    assert (last.value, last.bound, last.rule) == (best.value, best.value, best.rule)
