"""The engine: arguments, refusals, warm starts, limits, interruption, and what it says."""

from __future__ import annotations

import copy
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clocks import Ending
from opdt import discover
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.engines.mip import MIPEngine, engine, paper, scip, solver, vectors
from opdt.engines.mip.model import Model
from opdt.engines.mip.solver import SolverAnswer
from opdt.engines.tree import SplitTree
from opdt.errors import (
    EngineFailure,
    EngineUnavailable,
    InputError,
    MemoryLimit,
    OpdtWarning,
    UnsupportedProblem,
)
from opdt.problem import Constraints, Problem, Structure
from opdt.rules import Condition, Op, Rule
from opdt.solution import Budget, Progress, Status, StopReason
from opdt.table import Table

PACKAGES = {"scip": "pyscipopt", "highs": "highspy"}


@pytest.fixture(params=PACKAGES)
def name(request: pytest.FixtureRequest) -> str:
    """Each open solver that is installed."""
    pytest.importorskip(PACKAGES[request.param])
    return str(request.param)


@pytest.fixture
def easy() -> Problem:
    """Only x >= 2 and c == 'u' covers the three a without a b."""
    table = Table.build({"x": [0, 1, 2, 3, 4, 5, 2, 3], "c": list("uuuuuvwv")}, list("bbaaabbb"))
    return Problem.build(table, label="a")


BEST = Rule([Condition("x", Op.GE, 2), Condition("c", Op.EQ, "u")], "a")

# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "cplex"}, "'solver' must be 'scip', 'highs' or 'gurobi', got 'cplex'"),
        ({"formulation": "flow"}, "'formulation' must be 'paper' or 'path', got 'flow'"),
        ({"scaling": "z"}, "'scaling' must be 'rank' or 'minmax', got 'z'"),
        ({"warm_start": "cart"}, "'warm_start' must be True, False, 'bsccart', .* or a Rule"),
        ({"warm_start": 1}, "'warm_start' must be"),
        ({"priorities": 1}, "'priorities' must be True or False, got 1"),
        ({"structured": None}, "'structured' must be True or False, got None"),
        ({"structured": False, "formulation": "path"}, "'structured' can be False only with"),
        ({"seed": -1}, "'seed' must be an int >= 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MIPEngine(**options)


def test_engines_are_values() -> None:
    assert MIPEngine(solver="highs") == MIPEngine(solver="highs") != MIPEngine()
    assert copy.deepcopy(MIPEngine(warm_start=BEST)) == MIPEngine(warm_start=BEST)


def test_a_solver_that_is_not_installed_is_named_with_its_extra(
    easy: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = solver.SolverEntry("opdt.engines.mip.gurobi", "no_such_package", "gurobi")
    monkeypatch.setitem(solver.SOLVERS, "gurobi", missing)
    with pytest.raises(EngineUnavailable, match=r"'gurobi' needs no_such_package; .*opdt\[gurobi"):
        MIPEngine(solver="gurobi").solve(easy)


# -- refusals ------------------------------------------------------------------------------------


def test_the_paper_refuses_missing_values_and_the_path_takes_them(name: str) -> None:
    table = Table.build({"x": [0, None, 2, 3]}, list("abba"))
    problem = Problem.build(table)
    with pytest.raises(UnsupportedProblem, match=r"column 'x' has missing values.*'path'"):
        MIPEngine(solver=name).solve(problem)
    solution = MIPEngine(solver=name, formulation="path").solve(problem)
    assert solution.value == ExhaustiveEngine().solve(problem).value


def test_the_paper_refuses_subsets_that_mean_anything() -> None:
    for levels, refused in (("uvwz", True), ("uvw", False)):
        table = Table.build({"c": list(levels) * 2}, [0, 1] * len(levels))
        problem = Problem.build(table, constraints=Constraints(subsets=True))
        assert (MIPEngine().refuses(problem) is not None) == refused
        assert MIPEngine(formulation="path").refuses(problem) is None


def test_the_paper_refuses_row_gains(easy: Problem) -> None:
    problem = easy.with_gains(np.ones(8))
    with pytest.raises(UnsupportedProblem, match="VI as its objective"):
        MIPEngine().solve(problem)
    with pytest.raises(InputError, match=r"there is no model of this problem: .*VI"):
        MIPEngine().models(problem)


# -- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["paper", "path"])
def test_a_solution_says_what_was_done(name: str, formulation: str, easy: Problem) -> None:
    made = MIPEngine(solver=name, formulation=formulation, warm_start=False)
    solution = made.solve(easy)
    assert (solution.value, solution.bound, solution.status) == (3, 3, Status.OPTIMAL)
    assert solution.rule is not None
    assert easy.lower(solution.rule) == easy.lower(BEST)
    details = solution.details
    assert details.formulation == formulation
    assert details.solver.lower().startswith(name)
    assert details.n_rows > 0
    assert details.n_entries > details.n_variables > 0
    assert details.tree.rule(easy) == easy.lower(BEST)
    assert ("highs has no branching priorities; they are left out" in details.notes) == (
        name == "highs"
    )
    assert not MIPEngine(solver=name, priorities=False).solve(easy).details.notes


@pytest.mark.parametrize("w", [10, 2.5, np.pi])
def test_whole_and_fractional_prices_are_proven(name: str, w: float, easy: Problem) -> None:
    problem = Problem.build(easy.table, w=w, label="a")
    best = ExhaustiveEngine().solve(problem)
    solution = MIPEngine(solver=name).solve(problem)
    assert (solution.value, solution.bound, solution.status) == (
        best.value,
        best.value,
        Status.OPTIMAL,
    )


def test_a_negative_optimum_is_no_pattern(name: str) -> None:
    # Every level has both classes, so that every leaf of a forced node loses.
    table = Table.build({"c": list("uuvv")}, list("abab"))
    problem = Problem.build(table, structure=Structure.levels("cat"))
    for formulation in ("paper", "path"):
        solution = MIPEngine(solver=name, formulation=formulation).solve(problem)
        assert solution.status is Status.NO_PATTERN
        assert (solution.rule, solution.value, solution.bound) == (None, 0, 0)
    asked = Problem.build(
        table, structure=Structure.levels("cat"), constraints=Constraints(min_coverage=1)
    )
    for formulation in ("paper", "path"):
        solution = MIPEngine(solver=name, formulation=formulation).solve(asked)
        assert solution.status is Status.OPTIMAL
        assert solution.value == 2 - 10


def test_what_cannot_be_met_is_infeasible(name: str, easy: Problem) -> None:
    problem = replace(easy, constraints=Constraints(min_coverage=8, max_errors=0))
    for formulation in ("paper", "path"):
        solution = MIPEngine(solver=name, formulation=formulation).solve(problem)
        assert (solution.status, solution.rule) == (Status.INFEASIBLE, None)


# -- warm starts ---------------------------------------------------------------------------------


def test_a_start_is_the_first_incumbent(name: str, easy: Problem) -> None:
    for formulation in ("paper", "path"):
        made = MIPEngine(solver=name, formulation=formulation, warm_start=BEST)
        solution = made.solve(easy)
        assert solution.trace[0].value == 3
        assert easy.lower(solution.trace[0].rule) == easy.lower(BEST)
        assert solution.details.start == "rule, VI 3"


def test_bsccart_starts_even_with_a_negative_leaf(name: str) -> None:
    table = Table.build({"c": list("uuvvw"), "d": list("stsst")}, list("ababa"))
    problem = Problem.build(table, structure=Structure.levels("cat"))
    solution = MIPEngine(solver=name).solve(problem)
    assert solution.details.start == "bsccart, VI 1"
    worse = Problem.build(
        Table.build({"c": list("uuvv")}, list("abab")), structure=Structure.levels("cat")
    )
    solution = MIPEngine(solver=name).solve(worse)
    assert solution.details.start == "bsccart, VI -8"
    assert solution.status is Status.NO_PATTERN


def test_a_rule_that_does_not_fit_is_no_start_and_that_is_said(name: str, easy: Problem) -> None:
    problem = replace(easy, structure=Structure.levels("num", "num"))
    for formulation in ("paper", "path"):
        made = MIPEngine(solver=name, formulation=formulation, warm_start=BEST)
        with pytest.warns(OpdtWarning, match="rule cannot be used: it does not fit the structure"):
            solution = made.solve(problem)
        assert solution.details.start == "none: it does not fit the structure"
        assert solution.value == ExhaustiveEngine().solve(problem).value


def test_a_tree_that_breaks_a_demand_is_no_start_and_that_is_said(name: str, easy: Problem) -> None:
    problem = replace(easy, constraints=Constraints(min_coverage=7))
    with pytest.warns(OpdtWarning, match="bsccart cannot be used: it violates .* 'coverage'"):
        MIPEngine(solver=name, warm_start="bsccart").solve(problem)
    quiet = MIPEngine(solver=name).solve(problem)  # by default only the details say so
    assert quiet.details.start.startswith("none: it violates the constraint 'coverage'")


def test_another_engines_rule_is_a_start(name: str, easy: Problem) -> None:
    solution = MIPEngine(solver=name, warm_start="search").solve(easy)
    assert solution.details.start == "search, VI 3"
    assert solution.trace[0].value == 3


def test_no_start_is_none(name: str, easy: Problem) -> None:
    assert MIPEngine(solver=name, warm_start=False).solve(easy).details.start == "none"


# -- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["paper", "path"])
def test_no_time_leaves_the_trivial_bound(name: str, formulation: str, noisy: Problem) -> None:
    solution = MIPEngine(solver=name, formulation=formulation).solve(noisy, Budget(time_limit=0))
    most = int(np.bincount(noisy.table.labels).max())
    assert (solution.stopped_by, solution.bound) == (StopReason.TIME, most)
    assert solution.status is Status.FEASIBLE


@pytest.mark.parametrize("formulation", ["paper", "path"])
def test_the_time_limit_is_kept(name: str, formulation: str, noisy: Problem) -> None:
    made = MIPEngine(solver=name, formulation=formulation)
    solution = made.solve(noisy, Budget(time_limit=0.5))
    assert (solution.stopped_by, solution.status) == (StopReason.TIME, Status.FEASIBLE)
    assert solution.value < solution.bound


@pytest.mark.parametrize("formulation", ["paper", "path"])
@pytest.mark.parametrize("looks", [0, 1, 2, 5, 15])
def test_building_a_model_ends_with_the_time(formulation: str, looks: int, noisy: Problem) -> None:
    pytest.importorskip("highspy")
    made = MIPEngine(solver="highs", formulation=formulation, warm_start="search")
    clock = Ending(looks)
    solution = made.solve(noisy, clock)
    assert clock.looks < 0
    assert solution.stopped_by is StopReason.TIME
    assert solution.rule == discover(noisy.table, w=3).rule  # the start is there
    assert solution.bound == np.bincount(noisy.table.labels).max()
    alone = replace(made, warm_start=False).solve(noisy, Ending(looks))
    assert (alone.rule, alone.value, alone.bound) == (None, 0, solution.bound)


@pytest.mark.parametrize("formulation", ["paper", "path"])
def test_a_model_that_does_not_fit_is_refused(formulation: str, noisy: Problem) -> None:
    made = MIPEngine(solver="highs", formulation=formulation, warm_start=False)
    with pytest.raises(
        MemoryLimit,
        match=r"^the mixed-integer model needs about \S+ [kM]B of memory and 100 kB are free; use ",
    ):
        made.solve(noisy, Budget(memory_limit=100_000))


def test_the_node_limit_is_kept(name: str, noisy: Problem) -> None:
    x = np.column_stack([column.codes[:30] for column in noisy.table.columns])
    problem = Problem.build(Table.build(x, noisy.table.labels[:30]), w=3)
    solution = MIPEngine(solver=name).solve(problem, Budget(nodes=1))
    assert (solution.stopped_by, solution.status) == (StopReason.NODES, Status.FEASIBLE)
    assert solution.value < solution.bound


@pytest.mark.parametrize("formulation", ["paper", "path"])
def test_the_cancel_flag_stops_the_solver(name: str, formulation: str, noisy: Problem) -> None:
    cancel = threading.Event()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    made = MIPEngine(solver=name, formulation=formulation)
    solution = made.solve(noisy, Budget(time_limit=60, cancel=cancel))
    timer.join()
    assert solution.stopped_by is StopReason.CANCELLED
    assert solution.value <= solution.bound


def test_ctrl_c_stops_the_solver_and_keeps_the_best_rule(name: str, noisy: Problem) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    solution = MIPEngine(solver=name).solve(noisy, Budget(time_limit=60))
    timer.join()
    assert solution.stopped_by is StopReason.INTERRUPTED
    assert solution.rule is not None


def test_progress_is_told_in_the_callers_thread(name: str, noisy: Problem) -> None:
    seen: list[tuple[int, Progress]] = []

    def tell(progress: Progress) -> None:
        seen.append((threading.get_ident(), progress))
        if len(seen) == 4:
            raise KeyboardInterrupt

    solution = MIPEngine(solver=name).solve(noisy, Budget(time_limit=60, progress=tell))
    assert solution.stopped_by is StopReason.INTERRUPTED
    assert {thread for thread, _ in seen} == {threading.get_ident()}
    assert all(progress.value <= progress.bound for _, progress in seen)


def test_what_a_callback_raises_is_raised_after_the_solver_stopped(
    name: str, noisy: Problem
) -> None:
    def fail(_: Progress) -> None:
        raise ZeroDivisionError("from the callback")

    with pytest.raises(ZeroDivisionError, match="from the callback"):
        MIPEngine(solver=name).solve(noisy, Budget(time_limit=60, progress=fail))


def test_what_goes_wrong_inside_scips_events_is_raised(
    easy: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyscipopt")

    def fail(_: Any) -> float:
        raise ZeroDivisionError("inside an event")

    monkeypatch.setattr(scip.ScipRun, "_bound", fail)
    with pytest.raises(ZeroDivisionError, match="inside an event"):
        MIPEngine(solver="scip", warm_start=False).solve(easy)


def test_a_stop_that_scip_refuses_between_two_stages_is_no_failure(
    easy: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyscipopt")
    stages: list[str] = []
    solve = scip.ScipRun.solve

    def stop_without_a_problem(run: scip.ScipRun) -> SolverAnswer:
        answer = solve(run)
        run._scip.freeProb()  # as refusing as the moments between two stages
        with pytest.raises(Exception, match="cannot be called at this time"):
            run._scip.interruptSolve()
        stages.append(run._scip.getStageName())
        run.interrupt()
        return answer

    monkeypatch.setattr(scip.ScipRun, "solve", stop_without_a_problem)
    assert MIPEngine(solver="scip", warm_start=False).solve(easy).value == 3
    assert stages == ["INIT"]


# -- a solver that is wrong ----------------------------------------------------------------------


def pretend(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Model], SolverAnswer]) -> None:
    """Put a solver in place that returns what it is told to."""

    def load(model: Model, *_: Any) -> Any:
        return SimpleNamespace(solve=lambda: answer(model), interrupt=lambda: None)

    fake = SimpleNamespace(HAS_PRIORITIES=True, STARTUP=0.0, load=load, version=lambda: "Oracle 0")
    monkeypatch.setattr(engine, "get_adapter", lambda name: fake)


def test_a_claim_of_more_than_the_rule_is_worth_is_an_error(
    easy: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def boast(model: Model) -> SolverAnswer:
        assert model.start is not None
        x = model.start.copy()
        x[model.names.index("I_max")] += 2
        return SolverAnswer(x, 8.0, 1, StopReason.FINISHED)

    pretend(monkeypatch, boast)
    with pytest.raises(EngineFailure, match="Oracle 0 claims a VI of 5 for a rule that is worth 3"):
        MIPEngine(warm_start=BEST).solve(easy)


def test_a_bound_below_a_known_rule_is_an_error(
    easy: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda model: SolverAnswer(model.start, 1.0, 1, StopReason.FINISHED))
    with pytest.raises(EngineFailure, match="bound is a VI of 1, but a rule has 3"):
        MIPEngine(warm_start=BEST).solve(easy)


def test_a_rule_that_breaks_a_demand_is_an_error(
    easy: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = replace(easy, constraints=Constraints(min_coverage=4))
    model, made = paper.formulate(asked)
    tree = SplitTree.around(easy, easy.lower(BEST))
    assert tree is not None
    x = vectors.to_vector(made, model, tree)
    pretend(monkeypatch, lambda _: SolverAnswer(x, 3.0, 1, StopReason.FINISHED))
    with pytest.raises(EngineFailure, match="Oracle 0 returned a rule, but its coverage"):
        MIPEngine(warm_start=False).solve(asked)


# -- Gurobi --------------------------------------------------------------------------------------


def gurobi_works() -> bool:
    try:
        import gurobipy

        gurobipy.Env(params={"OutputFlag": 0}).dispose()
    except Exception:
        return False
    return True


@pytest.mark.skipif(not gurobi_works(), reason="no gurobipy, or no licence")
class TestGurobi:
    """Runs within the limits of the licence that comes with the package."""

    @pytest.mark.parametrize("formulation", ["paper", "path"])
    def test_it_proves_the_same(self, formulation: str, easy: Problem) -> None:
        solution = MIPEngine(solver="gurobi", formulation=formulation).solve(easy)
        assert (solution.value, solution.bound) == (3, 3)
        assert easy.lower(solution.rule) == easy.lower(BEST)

    def test_ctrl_c_and_time(self, noisy: Problem) -> None:
        made = MIPEngine(solver="gurobi", warm_start=False)
        assert made.solve(noisy, Budget(time_limit=0.5)).stopped_by is StopReason.TIME

    def test_a_model_beyond_the_licence_is_refused_with_its_size(self) -> None:
        rng = np.random.default_rng(0)
        problem = Problem.build(Table.build(rng.random((300, 3)), rng.integers(0, 2, 300)))
        with pytest.raises(UnsupportedProblem, match=r"Gurobi does not solve .* rows: .*licen"):
            MIPEngine(solver="gurobi").solve(problem, Budget(time_limit=1))
