"""`discover` and `OPDTClassifier` take files and frames of partitions as they take tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import opdt
from opdt.errors import ColumnWarning, InputError, UnsupportedProblem
from opdt.solution import Budget
from opdt.table import Column, Kind
from opdt.table.leaks import leak_of
from scale.partitions import cut, shown
from scale.test_search_refining import random_rows

TABLE = random_rows(11, 600)


@pytest.fixture
def files(tmp_path: Path) -> str:
    """The table as Parquet files, one of them empty."""
    for i, part in enumerate(cut(TABLE, np.random.default_rng(0), 4)):
        pq.write_table(part, tmp_path / f"part{i}.parquet")
    return str(tmp_path / "*.parquet")


@pytest.fixture
def frame() -> Any:
    dd = pytest.importorskip("dask.dataframe", reason="pip install 'opdt[dask]'")
    return dd.from_pandas(TABLE.to_pandas(), npartitions=3)


# -- discover ------------------------------------------------------------------------------------


def test_a_pattern_a_folder_and_a_list_are_one_table(files: str) -> None:
    folder = Path(files).parent
    expected = shown(opdt.discover(TABLE, "y", w=5))
    for source in (files, Path(files), folder, str(folder), sorted(folder.iterdir())):
        solution = opdt.discover(source, "y", w=5)
        assert shown(solution) == expected
        assert solution.details.passes > 1
        assert solution.details.classes == ("bad", "good")
        assert sum(solution.details.weights) == solution.details.n_rows == 600


def test_one_file_is_read_into_memory_unless_memory_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(TABLE, path)
    here = opdt.discover(path, "y", w=5)
    assert here.details is None
    for limit in ("200MB", 200_000_000):
        there = opdt.discover(path, "y", w=5, memory_limit=limit)
        assert shown(there) == shown(here)
        assert there.details.n_rows == 600


def test_a_memory_limit_holds_in_memory_too() -> None:
    told: list[Budget] = []

    class Told(opdt.SearchEngine):
        def _solve(self, problem: Any, clock: Any) -> Any:
            told.append(clock.budget)
            return super()._solve(problem, clock)

    opdt.discover(TABLE, "y", engine=Told(), memory_limit="1GiB", time_limit=60)
    assert told == [Budget(time_limit=60, memory_limit=1 << 30)]


def test_a_dask_frame_is_solved_where_it_lies(frame: Any) -> None:
    assert shown(opdt.discover(frame, "y", w=5)) == shown(opdt.discover(TABLE, "y", w=5))


def test_weights_are_named_by_their_column(tmp_path: Path) -> None:
    weights = np.random.default_rng(3).integers(0, 5, 600) / 4
    table = TABLE.append_column("weight", pa.array(weights))
    for i, part in enumerate(cut(table, np.random.default_rng(1), 2)):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    there = opdt.discover(tmp_path, "y", w=5, sample_weight="weight")
    assert shown(there) == shown(opdt.discover(TABLE, "y", w=5, sample_weight=weights))
    assert sum(there.details.weights) == weights.sum()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"y": TABLE.column("y").to_numpy()},
            InputError,
            "'y' must name the column .* got ndarray",
        ),
        ({"y": None}, InputError, "'y' must name the column .* got None"),
        ({"sample_weight": np.ones(600)}, InputError, "'sample_weight' must name the column"),
        ({"engine": "exhaustive"}, UnsupportedProblem, "engine 'exhaustive' needs the whole table"),
        ({"w": 0.5}, InputError, "'w' must be a finite number >= 1"),
        ({"memory_limit": "lots"}, InputError, "'memory_limit' must be a number of bytes"),
        ({"structure": ["cat", "nun"]}, InputError, "'nun'"),
        ({"groups": {"g": ["nowhere"]}}, InputError, "'nowhere'"),
        ({"constraints": {"required": ["nowhere"]}}, InputError, "'nowhere'"),
        ({"roles": {"nowhere": "numeric"}}, InputError, "'nowhere'"),
        ({"label": "neither"}, InputError, "'neither'"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    files: str, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        opdt.discover(files, **{"y": "y", **settings})
    assert "\n" not in str(caught.value)


def test_nothing_is_read_before_the_wishes_are_checked(
    files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scan(*_: Any) -> None:
        pytest.fail("the rows were read")

    monkeypatch.setattr("opdt.scale.local.LocalScanner.scan", scan)
    with pytest.raises(InputError, match="nowhere"):
        opdt.discover(files, "y", constraints={"forbidden": ["nowhere"]})


def test_dask_objects_that_are_no_frames_are_refused(frame: Any) -> None:
    with pytest.raises(InputError, match=r"'X' must be a dask DataFrame, got .*Series; convert"):
        opdt.discover(frame["wide"], "y")


# -- the estimator -------------------------------------------------------------------------------


def fitted(X: Any, y: Any = "y", **settings: Any) -> opdt.OPDTClassifier:
    return opdt.OPDTClassifier(w=5, **settings).fit(X, y)


def same_model(one: opdt.OPDTClassifier, other: opdt.OPDTClassifier) -> None:
    assert one.rule_ == other.rule_
    assert (one.value_, one.bound_, one.status_) == (other.value_, other.bound_, other.status_)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    assert one.n_features_in_ == other.n_features_in_
    X = TABLE.drop_columns(["y"]).to_pandas()
    assert one.predict(X).tolist() == other.predict(X).tolist()
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


HERE = fitted(TABLE.drop_columns(["y"]).to_pandas(), TABLE.column("y").to_numpy())


def test_the_estimator_learns_the_same_from_files(files: str) -> None:
    same_model(fitted(files), HERE)


def test_the_estimator_learns_the_same_from_one_file(tmp_path: Path) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(TABLE, path)
    same_model(fitted(path), HERE)
    same_model(fitted(str(path), memory_limit="100MB"), HERE)
    assert fitted(path).predict(path).tolist() == HERE.predict(path).tolist()


def test_three_classes_are_counted_inside_and_outside(tmp_path: Path) -> None:
    labels = np.where(TABLE.column("narrow").to_numpy() % 7 == 0, "odd", TABLE.column("y"))
    weights = np.random.default_rng(0).integers(1, 4, len(TABLE)).astype(float)
    table = TABLE.set_column(5, "y", pa.array(labels)).append_column("n", pa.array(weights))
    for i, part in enumerate(cut(table, np.random.default_rng(0), 3)):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    there = opdt.OPDTClassifier(w=3).fit(tmp_path, "y", "n")
    here = opdt.OPDTClassifier(w=3).fit(TABLE.drop_columns(["y"]).to_pandas(), labels, weights)
    assert len(here.classes_) == 3
    same_model(there, here)


def test_rows_of_files_are_marked_in_their_order(files: str) -> None:
    whole = pa.concat_tables([pq.read_table(p) for p in sorted(Path(files).parent.iterdir())])
    assert HERE.covers(files).tolist() == HERE.covers(whole.to_pandas()).tolist()
    assert HERE.predict(files).tolist() == HERE.predict(whole.to_pandas()).tolist()
    scores = HERE.decision_function(Path(files).parent)
    assert scores.tolist() == HERE.decision_function(whole.to_pandas()).tolist()


def test_without_a_rule_no_row_is_marked(files: str, frame: Any) -> None:
    none = fitted(files, constraints={"min_precision": 1.0, "max_errors": 0}, structure=["cat"])
    none.rule_ = None
    assert not none.covers(files).any()
    assert len(none.covers(files)) == 600
    assert not none.covers(frame).compute(scheduler="sync").any()


def test_a_dask_frame_is_answered_with_a_lazy_series(frame: Any) -> None:
    there = fitted(frame)
    same_model(there, HERE)
    rows = frame.compute(scheduler="sync")
    for method in ("covers", "predict", "decision_function"):
        lazy = getattr(there, method)(frame)
        assert type(lazy).__module__.startswith("dask")
        expected = getattr(HERE, method)(rows.drop(columns="y"))
        assert lazy.compute(scheduler="sync").tolist() == expected.tolist()
    assert there.predict(frame).name == "prediction"


def test_three_classes_of_a_dask_frame_are_counted_by_its_workers(frame: Any) -> None:
    rows = frame.compute(scheduler="sync").drop(columns="y")
    labels = rows["narrow"] % 3
    there = fitted(frame.drop(columns="y").assign(label=frame["narrow"] % 3), "label")
    same_model(there, fitted(rows, labels.to_numpy()))


def test_scores_of_three_classes_are_not_lazy(frame: Any) -> None:
    labels = np.arange(600) % 3
    model = fitted(TABLE.drop_columns(["y"]).to_pandas(), labels)
    with pytest.raises(UnsupportedProblem, match="scores of 3 classes are not given for a dask"):
        model.decision_function(frame)


def test_other_estimators_want_their_rows_in_memory(files: str) -> None:
    for estimator in (opdt.OPDTClassifierCV(), opdt.OPDTRuleList(), opdt.OPDTRuleSet()):
        with pytest.raises(InputError, match="needs its rows in memory; OPDTClassifier fits files"):
            estimator.fit(files, "y")


def test_an_estimator_needs_the_first_pass_to_end(files: str) -> None:
    with pytest.raises(InputError, match="the first pass over the rows was not finished"):
        fitted(files, time_limit=0)
    stopped = opdt.discover(files, "y", time_limit=0)
    assert (stopped.rule, stopped.value, stopped.bound) == (None, 0, 600)


def test_a_column_that_the_files_lack_is_named(files: str) -> None:
    model = fitted(pd.DataFrame({"other": [1, 2, 3, 4]}), [0, 0, 1, 1])
    with pytest.raises(InputError, match="there is no column 'other'"):
        model.covers(files)
    with pytest.raises(InputError, match="there is no column 'z'"):
        fitted(files, "z")


def test_csv_files_are_fitted_too(tmp_path: Path) -> None:
    table = TABLE.drop_columns(["day"])
    for i, part in enumerate(cut(table, np.random.default_rng(0), 2)):
        pyarrow.csv.write_csv(part, tmp_path / f"{i}.csv")
    model = fitted(str(tmp_path / "*.csv"))
    assert model.covers(tmp_path).sum() == model.solution_.covered


# -- what is said about columns --------------------------------------------------------------


def test_the_plan_says_the_same_in_pieces(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    age = [str(age) for age in rng.integers(18, 90, 400)]
    age[250] = "n.n."
    columns = {
        "billed": np.where(labels, "X1", "X0"),
        "closed": [f"2024-01-{1 + n % 28:02}" if label else None for n, label in enumerate(labels)],
        "age": age,
        "land": ["DE"] * 400,
    }
    table = pa.table({**columns, "ill": labels})
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, part in zip(paths, (table.slice(0, 200), table.slice(200)), strict=True):
        pyarrow.csv.write_csv(part, path)
    with pytest.warns(ColumnWarning) as warned_here:
        here = opdt.discover(columns, labels, max_depth=1).plan
    with pytest.warns(ColumnWarning) as warned_there:
        there = opdt.discover(paths, "ill", max_depth=1).plan
    assert _told(warned_here) == _told(warned_there)  # the same, and once
    assert len(warned_here) == 2
    assert here is not None
    assert there is not None
    for one, other in zip(here, there, strict=True):
        assert (one.role, one.warnings, one.changes) == (other.role, other.warnings, other.changes)
    assert "it alone tells the class of 100.0 % of the rows" in here["billed"].warnings[0]
    assert "whether it is filled tells the class" in here["closed"].warnings[0]
    assert str(here["age"].unread).endswith("'n.n.' in row 250")
    assert str(there["age"].unread).endswith(f"'n.n.' in line 52 of {str(paths[1])!r}")


def _told(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """What warnings say, whatever the place of the cell that they show."""
    assert {each.filename for each in caught} == {__file__}  # of the caller
    return [str(each.message).partition(" in ")[0] for each in caught]


def test_columns_that_know_too_much_in_a_sample_say_so() -> None:
    labels = np.tile(np.array([0, 1], np.int32), 60)
    column = Column("leak", Kind.NUMERIC, labels, np.array([0, 1]))
    assert leak_of(column, labels, 2) == leak_of(column, labels, 2, 120)
    told = leak_of(column, labels, 2, 5000)
    assert told is not None
    assert "tells the class of 100.0 % of 120 rows drawn from all" in told


def test_a_column_that_is_ignored_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "nested.parquet"
    rows = {"a": [1.5, 2.5] * 20, "tags": [["x"], []] * 20, "y": [0, 1] * 20}
    pq.write_table(pa.table(rows), path)
    for more in ({}, {"memory_limit": "1GB"}):
        found = opdt.discover(path, "y", max_depth=1, roles={"tags": "ignored"}, **more)
        assert found.rule is not None
        assert found.plan is not None
        assert found.plan["tags"].role == "ignored"
        with pytest.raises(InputError, match="column 'tags'"):
            opdt.discover(path, "y", max_depth=1, **more)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("inf,1", "column 'a' contains infinity in 1 row (first in line 42 of {})"),
        ("2.5,", "in 1 row (first in line 42 of {}); drop"),
    ],
)
def test_bad_cells_of_text_files_are_named_by_their_line(
    tmp_path: Path, row: str, message: str
) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{n}.5,{n % 2}" for n in range(60)]
    lines[40] = row
    path.write_text("\n".join(["a,y", *lines]) + "\n")
    for source in (path, [path]):
        with pytest.raises(InputError, match=re.escape(message.format(repr(str(path))))):
            opdt.discover(source, "y", max_depth=1)
