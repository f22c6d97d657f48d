from __future__ import annotations

import pytest

from opdt.datasets import load
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.experiments import solves
from opdt.experiments.cell import measure
from opdt.experiments.data import train_test
from opdt.experiments.experiment import ExperimentSettings
from opdt.experiments.solves import (
    LIMIT,
    MEDIUM,
    PAPER,
    PATH,
    QUICK,
    SMALL,
    better,
    mip_cell,
    mip_datasets,
    mip_limit,
    mip_programs,
    mip_splits,
    mip_words,
    search_cell,
    skipped_mip,
    training_table,
)
from opdt.problem import Problem, Structure
from opdt.solution import Solution, Status, TracePoint

pytest.importorskip("pandas")
# The small stand-ins for raw files are not those of the archive.
pytestmark = pytest.mark.filterwarnings("ignore:.*differs from the file of the archive")


def optimum(dataset: str, split: int = 0) -> float:
    problem = Problem.build(train_test(dataset, split).table, structure=Structure.free(2))
    return ExhaustiveEngine().solve(problem).value


@pytest.mark.parametrize("dataset", ["blood_transfusion", "pima"])
def test_the_search_engine_proves_the_optimum_of_a_split(dataset, small_data):
    record = measure(search_cell(dataset, 0))
    assert record["proven"]
    assert record["vi"] == record["bound"] == optimum(dataset)
    assert 0 < record["seconds_to_best"] <= record["seconds"]
    assert record["steps"][-1] == [record["seconds_to_best"], record["vi"]]
    assert record["rule"].startswith("IF ")


@pytest.mark.parametrize(("warm_start", "priorities"), [(True, True), (False, False)])
def test_the_program_is_stopped_with_a_true_bound(warm_start, priorities, small_data):
    pytest.importorskip("pyscipopt")
    cell = mip_cell(
        "pima", 1, 0.5, warm_start=warm_start, priorities=priorities, structured=warm_start
    )
    record = measure(cell)
    assert record["vi"] <= optimum("pima", 1) <= record["bound"]
    assert record["proven"] == (record["vi"] == record["bound"])
    assert record["solver"].startswith("SCIP")
    assert ("bsccart" in record["start"].lower()) == warm_start
    assert 0 <= record["seconds_to_best"] <= record["seconds"]
    assert record["clock_seconds"] > 0


def test_no_better_rule_is_no_step():
    def trace(*points):
        return tuple(TracePoint(seconds, value, 9.0) for seconds, value in points)

    solution = Solution(None, 0.0, 0.0, Status.NO_PATTERN, trace=trace((0.1, 0.0)))
    assert better(solution) == []
    rising = trace((0.1, 0.0), (0.2, 3.0), (0.3, 3.0), (0.4, 5.0), (0.9, 5.0))
    solution = Solution(None, 5.0, 5.0, Status.OPTIMAL, trace=rising)
    assert better(solution) == [[0.2, 3.0], [0.4, 5.0]]


def test_a_run_may_set_limit_splits_and_datasets():
    assert mip_limit(ExperimentSettings()) == LIMIT
    assert (
        mip_limit(ExperimentSettings(time_limit=7))
        == mip_limit(ExperimentSettings(time_limit=7, quick=True))
        == 7
    )
    assert list(mip_splits(ExperimentSettings(splits=2))) == [0, 1]
    assert list(mip_splits(ExperimentSettings(splits=10))) == [0, 1, 2]
    assert list(mip_splits(ExperimentSettings(mip_splits=5, quick=True))) == [0, 1, 2, 3, 4]
    assert mip_words(ExperimentSettings(splits=1), PAPER) == (
        "the paper's formulation, SCIP, 30 s, split 0"
    )


def test_a_run_may_set_the_program():
    assert mip_programs(ExperimentSettings(), PAPER, PATH) == [PAPER, PATH]
    assert mip_programs(ExperimentSettings(formulation="path"), PAPER) == [PATH]
    assert mip_programs(ExperimentSettings(solver="highs"), PAPER, PATH) == [("paper", "highs")]
    both = ExperimentSettings(solver="gurobi", formulation="path")
    assert mip_programs(both, PAPER) == [("path", "gurobi")]


def test_without_its_solver_the_program_is_left_out_with_a_sentence(monkeypatch):
    monkeypatch.setattr(solves, "find_spec", lambda name: None)
    assert mip_datasets(ExperimentSettings(), PAPER) == []
    why, other = skipped_mip(ExperimentSettings(), PAPER, PATH)
    assert "needs pyscipopt; run: pip install 'opdt[mip]'" in why
    assert "needs highspy" in other
    monkeypatch.setattr(solves, "find_spec", lambda name: object())
    assert skipped_mip(ExperimentSettings(), PAPER) == []
    assert mip_datasets(ExperimentSettings(), PAPER) == list(SMALL)
    assert mip_datasets(ExperimentSettings(), PATH) == list(MEDIUM)
    assert mip_datasets(ExperimentSettings(quick=True), PATH) == list(QUICK)
    chosen = ExperimentSettings(datasets=("hepatitis", "german"), quick=True)
    assert mip_datasets(chosen, PAPER) == ["german", "hepatitis"]


def test_a_row_with_its_name_is_the_same_row(uci_folder, monkeypatch):
    monkeypatch.setenv("OPDT_DATA", str(uci_folder))
    plain = training_table("parkinsons", 3)
    named = training_table("parkinsons", 3, keep_id=True)
    assert set(named.names) - set(plain.names) == {
        *load("parkinsons", folder=uci_folder, keep_id=True).categorical
    }
    assert (named.labels == plain.labels).all()
    for column in plain.columns:
        assert (named.columns[named.index(column.name)].codes == column.codes).all()
