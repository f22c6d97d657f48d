"""Table → problem → engine → solution, with every way of saying what is wanted."""

from __future__ import annotations

import math
import re
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from clocks import Ending
from opdt.arguments import resolve_budget
from opdt.discovery import discover
from opdt.engines.exhaustive import ExhaustiveEngine
from opdt.errors import InputError, MemoryLimit
from opdt.problem import Constraints, Structure, write_structure
from opdt.problem.arguments import resolve_constraints, resolve_structure
from opdt.rules import Condition, Rule
from opdt.solution import Budget, Status, StopReason
from opdt.table import Table, read_frame

DATA = {
    "age": [25, 31, 47, 52, 60, 33],
    "smoker": ["no", "no", "yes", "no", "yes", "yes"],
    "bmi": [21.5, 30.0, 25.0, 22.0, 31.0, 24.0],
}
LABELS = ["well", "well", "ill", "ill", "ill", "well"]
OLD = Rule([Condition("age", ">=", 40)], "ill")
EXACT = "exhaustive"


@pytest.fixture
def table():
    return Table.build(DATA, LABELS)


@pytest.mark.parametrize(
    "read",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda data: Table.build(data, LABELS),
    ],
)
def test_the_same_rule_comes_from_any_table(read):
    X = read(DATA)
    solution = discover(X, None if isinstance(X, Table) else LABELS, label="ill", engine=EXACT)
    assert solution.rule == OLD
    assert (solution.value, solution.bound, solution.status) == (3, 3, Status.OPTIMAL)
    assert (solution.covered, solution.errors, solution.precision) == (3, 0, 1)
    assert (solution.engine, solution.stopped_by) == (EXACT, StopReason.FINISHED)


def test_the_default_engine_finds_it_too():
    assert discover(DATA, LABELS, label="ill").rule == OLD


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_read_and_labels_may_be_a_column(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    frame = pl.DataFrame({**DATA, "state": LABELS})
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    assert discover(path, "state", label="ill", engine=EXACT).rule == OLD
    assert discover(str(path), "state", label="ill", engine=EXACT).rule == OLD


def test_an_array_has_numbered_columns():
    X = np.array([[25, 1], [31, 2], [47, 1], [52, 2]])
    solution = discover(X, [0, 0, 1, 1], label=1, max_depth=1, engine=EXACT)
    assert str(solution.rule) == "IF x0 >= 40 THEN 1"


def test_weights_and_kinds_are_passed_on():
    data = {"ward": [1, 2, 2, 1, 3, 3]}
    solution = discover(
        data,
        LABELS,
        label="ill",
        engine=EXACT,
        sample_weight=[1, 1, 5, 1, 1, 1],
        roles={"ward": "categorical"},
        structure=["cat"],
        w=2,
    )
    assert str(solution.rule) == "IF ward == 2 THEN ill"
    assert (solution.covered, solution.errors, solution.value) == (6, 1, 4)


def test_constraints_are_passed_on():
    asked = {"forbidden": ["age"], "max_errors": 0}
    solution = discover(DATA, LABELS, label="ill", engine=EXACT, constraints=asked)
    # Of smokers with bmi >= 24.5 both are ill; no rule without errors covers three.
    assert str(solution.rule) == "IF smoker == 'yes' AND bmi >= 24.5 THEN ill"
    assert solution.value == 2


def test_an_engine_object_is_used_as_it_is():
    engine = ExhaustiveEngine(max_rules=10**9)
    assert discover(DATA, LABELS, label="ill", engine=engine).rule == OLD


def test_a_time_limit_is_kept():
    solution = discover(DATA, LABELS, engine=EXACT, time_limit=0)
    assert (solution.stopped_by, solution.rule) == (StopReason.TIME, None)


@pytest.mark.parametrize("reason", [StopReason.TIME, StopReason.CANCELLED])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, (0, 6, Status.FEASIBLE)),
        ({"sample_weight": [1, 1, 5.5, 1, 1, 1]}, (0, 10.5, Status.FEASIBLE)),
        ({"constraints": {"min_coverage": 2}}, (-math.inf, 6, Status.UNKNOWN)),
    ],
)
def test_a_limit_that_is_reached_before_the_search_leaves_a_true_bound(reason, asked, expected):
    cancel = threading.Event()
    cancel.set()
    budget = Budget(time_limit=0) if reason is StopReason.TIME else Budget(cancel=cancel)
    solution = discover(DATA, LABELS, budget=budget, **asked)
    assert (solution.rule, solution.stopped_by, solution.engine) == (None, reason, "search")
    assert (solution.value, solution.bound, solution.status) == expected


def test_the_time_runs_from_the_call(monkeypatch, tmp_path):
    """Reading and coding count: nothing is searched when they have taken all the time."""
    now = [0.0]
    monkeypatch.setattr("opdt.solution.time.perf_counter", lambda: now[0])

    def slow(path):
        now[0] += 7
        return read_frame(path)

    monkeypatch.setattr("opdt.table.frames.read_frame", slow)
    path = tmp_path / "data.csv"
    pl.DataFrame({**DATA, "state": LABELS}).write_csv(path)
    late = discover(path, "state", engine=EXACT, time_limit=5)
    assert (late.rule, late.bound, late.seconds) == (None, 6, 7)
    assert late.stopped_by is StopReason.TIME
    in_time = discover(path, "state", label="ill", engine=EXACT, time_limit=10)
    assert (in_time.rule, in_time.seconds) == (OLD, 7)


@pytest.mark.parametrize("looks", [0, 1, 2, 3])
def test_coding_ends_with_the_time(looks):
    clock = Ending(looks)
    solution = discover(DATA, LABELS, engine=EXACT, budget=clock)
    assert clock.looks < 0
    assert (solution.rule, solution.bound) == (None, 6)
    assert solution.stopped_by is StopReason.TIME


def test_a_table_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("opdt.problem.arguments.available", lambda: 50)
    monkeypatch.setattr("opdt.problem.arguments.LARGE", 0)  # for which the system is asked
    with pytest.raises(
        MemoryLimit,
        match=r"^coding 6 rows of 3 columns needs about 72 bytes of memory and 50 bytes are free; ",
    ):
        discover(DATA, LABELS)


def test_memory_that_runs_out_while_coding_is_told_in_one_sentence(monkeypatch):
    def build(*_, **__):
        raise MemoryError("Unable to allocate 3 GiB")

    monkeypatch.setattr(Table, "build", build)
    with pytest.raises(
        MemoryLimit,
        match=r"^coding 6 rows of 3 columns needs more memory than there is \(Unable to allocate 3 "
        r"GiB\); take fewer rows or columns, ",
    ):
        discover(DATA, LABELS)


def test_a_clock_in_the_place_of_a_budget_runs_on(monkeypatch, table):
    now = [0.0]
    monkeypatch.setattr("opdt.solution.time.perf_counter", lambda: now[0])
    clock = Budget(time_limit=5).start()
    now[0] = 4.0
    assert discover(table, engine=EXACT, label="ill", budget=clock).seconds == 4
    now[0] = 6.0
    assert discover(table, engine=EXACT, budget=clock).stopped_by is StopReason.TIME


def test_a_budget_is_kept():
    solution = discover(DATA, LABELS, engine=EXACT, budget=Budget(nodes=0))
    assert solution.stopped_by is StopReason.NODES


# -- structures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("structure", "max_depth", "meant"),
    [
        (None, None, Structure.free(2)),
        (None, 3, Structure.free(3)),
        (None, np.int64(1), Structure.free(1)),
        (["cat", "num"], None, Structure.levels("cat", "num")),
        (("cat", "num", "all"), 3, Structure.levels("cat", "num", "all")),
        (Structure.levels("cat"), 1, Structure.levels("cat")),
    ],
)
def test_a_structure_may_be_said_in_many_ways(structure, max_depth, meant):
    assert resolve_structure(structure, max_depth) == (meant, {})


@pytest.mark.parametrize("kind", [str, Path])
def test_a_structure_file_brings_its_groups(tmp_path, kind):
    path = tmp_path / "structure.toml"
    write_structure(path, Structure.levels("cat", "body"), {"body": ["bmi"]})
    structure, groups = resolve_structure(kind(path))
    assert structure == Structure.levels("cat", "body")
    assert {name: list(group) for name, group in groups.items()} == {"body": ["bmi"]}
    solution = discover(DATA, LABELS, label="ill", engine=EXACT, structure=path)
    assert solution.rule.features == ("smoker", "bmi")


def test_groups_given_beside_a_file_come_before_those_in_it(tmp_path):
    path = tmp_path / "structure.toml"
    write_structure(path, Structure.levels("body"), {"body": ["bmi"]})
    solution = discover(
        DATA, LABELS, label="ill", engine=EXACT, structure=path, groups={"body": ["age"]}
    )
    assert solution.rule == OLD


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "exhaustiv"}, "'engine' 'exhaustiv' is not known; did you mean 'exhaustive'?"),
        ({"max_depth": 2.0}, "'max_depth' must be an int >= 1 or None, got 2.0"),
        ({"max_depth": True}, "'max_depth' must be an int >= 1 or None, got True"),
        ({"max_depth": "2"}, "'max_depth' must be an int >= 1 or None, got '2'"),
        ({"max_depth": 0}, "depth must be from 1 to 8, got 0"),
        ({"max_depth": 99}, "depth must be from 1 to 8, got 99"),
        (
            {"max_depth": 3, "structure": ["cat", "num"]},
            "'max_depth' is 3, but the structure has depth 2",
        ),
        ({"structure": 5}, "'structure' must be a Structure, a list of group names or the path"),
        (
            {"structure": {"cat"}},
            "'structure' must be a Structure, a list of group names or the path",
        ),
        ({"structure": []}, "`levels` needs 1 to 8 group names, got 0"),
        ({"structure": ["kat"]}, "there is no group 'kat'; did you mean 'cat'"),
        ({"groups": ["age"]}, "`groups` must map group names to lists of feature names, got list"),
        ({"groups": {"body": "age"}}, "group 'body' must be a list of feature names, got 'age'"),
        ({"label": "dead"}, "class 'dead' does not occur in the labels"),
        ({"w": 0}, "'w' must be a finite number >= 1"),
        (
            {"constraints": ["once"]},
            "'constraints' must be a Constraints object or a mapping of its",
        ),
        (
            {"constraints": {"onces": True}},
            "'constraints' has no 'onces'; it has directions, required",
        ),
        ({"constraints": {3: True}}, "'constraints' has no 3; it has directions, required"),
        ({"constraints": {"once": 3}}, "'once' must be True or False, got 3"),
        (
            {"time_limit": -1},
            "'time_limit' must be a number of seconds >= 0 or None, got -1",
        ),
        ({"n_jobs": 0}, "'n_jobs' must be an int >= 1"),
        ({"budget": 60}, "'budget' must be a Budget object, got int"),
        (
            {"budget": Budget(), "time_limit": 3},
            "'time_limit' and 'n_jobs' cannot be given beside 'budget'",
        ),
        (
            {"budget": Budget(), "n_jobs": 3},
            "'time_limit' and 'n_jobs' cannot be given beside 'budget'",
        ),
        ({"roles": {"agee": "numeric"}}, "there is no column 'agee' in X"),
        ({"sample_weight": [1, 2]}, "sample_weight must have one number for each of the 6 rows"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, message):
    with pytest.raises(InputError, match=re.escape(message)):
        discover(DATA, LABELS, **{"engine": EXACT, **settings})


def test_labels_are_needed():
    with pytest.raises(InputError, match="y"):
        discover(DATA, engine=EXACT)


@pytest.mark.parametrize(
    ("name", "given"),
    [("y", LABELS), ("sample_weight", [1] * 6), ("roles", {"age": "categorical"})],
)
def test_a_table_has_its_own_labels_weights_and_kinds(table, name, given):
    with pytest.raises(InputError, match=f"'{name}' cannot be given beside a Table"):
        discover(table, engine=EXACT, **{name: given})


@pytest.mark.parametrize("path", ["cat", "nowhere.toml", Path("nowhere.json")])
def test_a_structure_file_that_is_not_there_is_refused(path):
    with pytest.raises(InputError, match=re.escape(str(path))):
        resolve_structure(path)


# -- the parts -----------------------------------------------------------------------------------


def test_constraints_may_be_a_mapping_or_nothing():
    assert resolve_constraints(None) == Constraints()
    assert resolve_constraints({"once": True}) == Constraints(once=True)
    asked = Constraints(max_errors=3)
    assert resolve_constraints(asked) is asked


def test_a_budget_may_be_given_in_short():
    assert resolve_budget(None, 5, 2) == Budget(time_limit=5, n_jobs=2)
    budget = Budget(nodes=3)
    assert resolve_budget(budget, None, None) is budget
