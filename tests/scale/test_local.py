"""Files: what is read, and what is refused with which sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import opdt
from opdt.errors import ColumnWarning, InputError, UnsupportedProblem
from opdt.scale import LocalScanner, PassProgress, discover_partitioned, local
from opdt.scale.lazy import dask_frame
from opdt.scale.schema import agree
from opdt.solution import Budget, Progress, Status, StopReason
from scale.partitions import cut, shown
from scale.test_search_refining import random_rows


def write(folder: Path, table: pa.Table, n_parts: int = 4) -> str:
    """The table as Parquet files, one of them empty."""
    for i, part in enumerate(cut(table, np.random.default_rng(0), n_parts)):
        pq.write_table(part, folder / f"part{i}.parquet", row_group_size=200)
    return str(folder / "*.parquet")


def test_parquet_files_are_solved_as_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "ROWS_PER_PART", 300)  # several pieces of one file
    table = random_rows(1, 2000)
    pattern = write(tmp_path, table)
    expected = shown(opdt.discover(table, "y", w=5))
    for source in (pattern, tmp_path, sorted(tmp_path.iterdir())):
        solution = discover_partitioned(source, "y", w=5, n_jobs=2)
        assert shown(solution) == expected
        assert solution.details.n_rows == 2000
        assert solution.details.bytes_read > 0


def test_csv_files_are_solved_as_one_table(tmp_path: Path) -> None:
    table = random_rows(2, 800).drop_columns(["day"])
    for i, part in enumerate(cut(table, np.random.default_rng(0), 2)):
        pyarrow.csv.write_csv(part, tmp_path / f"{i}.csv")
    whole = tmp_path / "whole"
    whole.mkdir()
    pyarrow.csv.write_csv(table, whole / "all.csv")
    expected = opdt.discover(whole / "all.csv", "y", w=5)
    assert shown(discover_partitioned(str(tmp_path / "*.csv"), "y", w=5)) == shown(expected)


def test_widths_and_levels_may_differ_between_files(tmp_path: Path) -> None:
    one = {"a": pa.array([1, 2, 3], pa.int8()), "t": ["x", "x", "y"], "y": [0, 1, 1]}
    two = {"a": pa.array([2.5, None, 4.0], pa.float32()), "t": ["z", None, "x"], "y": [0, 0, 1]}
    none = {"a": pa.nulls(2), "t": pa.array(["y", "z"]).dictionary_encode(), "y": [1, 0]}
    for i, columns in enumerate((one, two, none)):
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    cells = {"a": [1, 2, 3, 2.5, None, 4, None, None], "t": [*"xxyz", None, *"xyz"]}
    expected = opdt.discover(cells, [0, 1, 1, 0, 0, 1, 1, 0], w=2, roles={"t": "categorical"})
    solution = discover_partitioned(tmp_path, "y", w=2, roles={"t": "categorical"})
    assert shown(solution) == shown(expected)


def test_a_column_of_numbers_and_text_is_refused_naming_both_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"a": ["1", "x"], "y": [0, 1]}), tmp_path / "two.parquet")
    with pytest.raises(
        InputError, match=r"'a' holds numbers in .*one\.parquet.* but text in .*two"
    ):
        discover_partitioned(tmp_path, "y")


def test_a_column_that_a_file_lacks_is_refused_naming_both_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"b": [1, 2], "y": [0, 1]}), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"'a' is in .*one\.parquet.* but not in .*two\.parquet"):
        discover_partitioned(tmp_path, "y")


def test_a_file_that_cannot_be_read_is_named_in_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, random_rows(3, 100))
    (tmp_path / "part9.parquet").write_bytes(b"PAR1 this is no Parquet file")
    with pytest.raises(InputError, match=r"cannot read '.*part9\.parquet': ") as caught:
        discover_partitioned(tmp_path, "y")
    assert "\n" not in str(caught.value)


def test_pages_broken_behind_an_intact_footer_are_named_too(tmp_path: Path) -> None:
    write(tmp_path, random_rows(3, 400), 2)
    broken = tmp_path / "part1.parquet"
    data = bytearray(broken.read_bytes())
    data[4:2000] = b"\xff" * 1996
    broken.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"cannot read '.*part1\.parquet': "):
        discover_partitioned(tmp_path, "y")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, random_rows(3, 400), 2)
    short = tmp_path / "part1.parquet"
    short.write_bytes(short.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"cannot read '.*part1\.parquet': ") as caught:
        discover_partitioned(tmp_path, "y")
    assert "\n" not in str(caught.value)


def test_a_file_deleted_during_the_run_is_named(tmp_path: Path) -> None:
    source = write(tmp_path, random_rows(3, 400), 2)

    def delete(progress: Progress) -> None:
        if isinstance(progress, PassProgress) and progress.passes == 2:
            (tmp_path / "part1.parquet").unlink(missing_ok=True)
        assert progress.bound > 0

    limits = Budget(n_jobs=1, progress=delete)
    with pytest.raises(InputError, match=r"cannot read '.*part1\.parquet': "):
        discover_partitioned(source, "y", budget=limits)


@pytest.mark.filterwarnings("ignore:.*is not in UTF-8 and was read as cp1252")
def test_text_files_are_read_however_each_of_them_is_written(tmp_path: Path) -> None:
    """Separators, decimal marks, encodings and packing are found as for one file in memory."""
    rng = np.random.default_rng(4)
    size, town = rng.integers(0, 40, 300) / 8, rng.choice(["Köln", "Ulm", "Lübeck"], 300)
    y = np.where((size >= 2) & (town == "Köln"), "a", "b")
    frame = pd.DataFrame({"größe": size, "ort": town, "y": y})
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:100].to_csv(folder / "1.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    frame[100:200].to_csv(folder / "2.tsv", index=False, sep="\t")
    frame[200:].to_csv(folder / "3.CSV.gz", index=False, compression="gzip")
    expected = opdt.discover(frame, "y", label="a")
    assert expected.rule is not None
    assert set(expected.rule.features) == {"größe", "ort"}
    assert shown(discover_partitioned(folder, "y", label="a")) == shown(expected)
    schema = agree(LocalScanner(folder).sources(), "y")
    pytest.importorskip("dask.dataframe")
    assert shown(discover_partitioned(dask_frame(folder, schema), "y", label="a")) == shown(
        expected
    )


def test_a_csv_file_with_a_bad_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "odd.csv").write_text("a,y\n1,0\n2,1,7\n")
    with pytest.raises(InputError, match=r"line 3 of '.*odd\.csv' has 3 cells, but") as caught:
        discover_partitioned(tmp_path, "y")
    assert "\n" not in str(caught.value)


def test_a_folder_that_may_not_be_looked_into_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a,y\n1,0\n")
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def closed(path: str) -> object:  # as for anybody but root
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(InputError, match=r"cannot look into the folder '.*closed': Permission den"):
        LocalScanner(tmp_path)


def test_a_limit_holds_while_types_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2,1\n")
    solution = discover_partitioned(tmp_path / "a.csv", "y", time_limit=0)
    assert (solution.rule, solution.stopped_by) == (None, StopReason.TIME)
    assert solution.bound == np.inf


def test_a_forbidden_column_may_have_any_number_of_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opdt.scale.summary.MAX_LEVELS", 3)
    (tmp_path / "a.csv").write_text("id,a,y\n" + "".join(f"p{k},{k},{k // 5}\n" for k in range(10)))
    with pytest.raises(UnsupportedProblem, match="column 'id' has more than 3 levels"):
        discover_partitioned(tmp_path / "a.csv", "y", roles={"id": "categorical"})
    with pytest.warns(ColumnWarning, match="not used: 'id'"):
        found = discover_partitioned(tmp_path / "a.csv", "y", constraints={"forbidden": ["id"]})
    assert found.rule.features == ("a",)


def test_a_value_that_cannot_be_used_is_refused_naming_its_file(tmp_path: Path) -> None:
    for name, cells in (("one", [1.0, 2.0]), ("two", [1.0, np.inf])):
        pq.write_table(pa.table({"a": cells, "y": [0, 1]}), tmp_path / f"{name}.parquet")
    with pytest.raises(InputError, match=r"two\.parquet': column 'a' contains infinity"):
        discover_partitioned(tmp_path, "y")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"y": "z"}, "there is no column 'z'"),
        ({"y": 3}, "'y' must name the column"),
        ({"y": "y", "w": 0}, "'w' must be a finite number >= 1"),
        ({"y": "y", "label": "none"}, "class 'none' does not occur"),
        ({"y": "y", "sample_weight": "text"}, "the weights in column 'text' must be numbers"),
    ],
)
def test_what_cannot_be_used_is_refused(
    tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    source = write(tmp_path, random_rows(4, 60))
    with pytest.raises(InputError, match=message):
        discover_partitioned(source, **settings)  # type: ignore[arg-type]


def test_a_path_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no Parquet or CSV file at"):
        LocalScanner(str(tmp_path / "*.parquet"))


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_limit_on_passes_leaves_a_true_bound(tmp_path: Path, passes: int) -> None:
    table = random_rows(6, 3000)
    best = opdt.discover(table, "y", w=3).value
    solution = discover_partitioned(write(tmp_path, table), "y", w=3, max_passes=passes)
    # A bound may meet the value before the passes are over.
    proven = solution.value == solution.bound
    assert solution.status is (Status.OPTIMAL if proven else Status.FEASIBLE)
    assert proven or solution.stopped_by is StopReason.PASSES
    assert solution.value <= best <= solution.bound
    if solution.rule is not None:  # what is said of the rule is what it does
        fires = solution.rule.covers(table)
        wrong = fires & (table.column("y").to_numpy() != solution.rule.label)
        assert (fires.sum(), wrong.sum()) == (solution.covered, solution.errors)
        assert solution.value == fires.sum() - 3 * wrong.sum()


def test_a_limit_in_the_first_pass_leaves_the_empty_rule_and_a_bound(tmp_path: Path) -> None:
    source = write(tmp_path, random_rows(6, 300))
    solution = discover_partitioned(source, "y", time_limit=0)
    assert (solution.rule, solution.value, solution.bound) == (None, 0, 300)
    assert (solution.status, solution.stopped_by) == (Status.FEASIBLE, StopReason.TIME)
    asked = {"min_coverage": 10}
    solution = discover_partitioned(source, "y", time_limit=0, constraints=asked)
    assert (solution.status, solution.value) == (Status.UNKNOWN, -np.inf)
    with pytest.raises(InputError, match="the first pass over the rows was not finished"):
        opdt.OPDTClassifier(time_limit=0).fit(source, "y")


def test_ctrl_c_in_the_first_pass_is_no_traceback(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    source = write(tmp_path, random_rows(6, 300))
    solution = discover_partitioned(source, "y", budget=Budget(progress=interrupt))
    assert (solution.value, solution.stopped_by) == (0, StopReason.INTERRUPTED)


def test_progress_tells_passes_and_partitions(tmp_path: Path) -> None:
    told: list[Progress] = []
    source = write(tmp_path, random_rows(7, 500))
    solution = discover_partitioned(source, "y", budget=Budget(progress=told.append))
    assert all(isinstance(one, PassProgress) for one in told)
    assert max(one.passes for one in told) <= solution.details.passes
    assert any(one.parts_done == one.parts for one in told)


@pytest.mark.filterwarnings("ignore::opdt.errors.ColumnWarning")
def test_numbers_in_text_are_read_as_in_memory(tmp_path: Path) -> None:
    rows = 60
    cells = {
        "price": [f"€ {n},50" for n in range(rows)],
        "age": [str(n % 40) if n != 7 else "old" for n in range(1, rows + 1)],
        "seen": [["Y", "yes", "n/a", "N"][n % 4] for n in range(rows)],
        "row": list(range(rows)),
    }
    labels = [int(n > 40) for n in range(rows)]
    for part in (slice(0, 25), slice(25, rows)):
        table = pa.table({name: some[part] for name, some in cells.items()} | {"y": labels[part]})
        pq.write_table(table, tmp_path / f"{part.start:02}.parquet")
    roles = {"age": "numeric"}  # one of 60 cells is more than one in a hundred
    here = opdt.discover(cells, labels, w=2, roles=roles)
    there = discover_partitioned(tmp_path, "y", w=2, roles=roles)
    assert (str(there.rule), there.value) == (str(here.rule), here.value)
    assert there.rule == here.rule
    assert [(c.name, c.role, c.cleaning) for c in there.plan] == [
        (c.name, c.role, c.cleaning) for c in here.plan
    ]
    assert there.plan["row"].role == "id"
    assert there.rule.covers(cells).sum() == there.covered


PEAK = """
import sys
import subprocess
import sys
from pathlib import Path
import opdt

solution = opdt.discover(sys.argv[1], "y", w=5, memory_limit=int(sys.argv[2]), n_jobs=4)
status = Path("/proc/self/status").read_text()
peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
print(solution.status, 1024 * peak)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_process_stays_within_its_memory_limit(tmp_path: Path) -> None:
    """Four threads with batches of the usual size would take 300 MB more than this."""
    rng = np.random.default_rng(0)
    for part in range(4):
        x = {f"x{k:02}": rng.normal(size=130_000) for k in range(30)}
        y = (x["x00"] > 0.5) ^ (rng.random(130_000) < 0.05)
        pq.write_table(pa.table({**x, "y": y}), tmp_path / f"{part}.parquet")
    limit = 700_000_000
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path), str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    status, peak = done.stdout.split()
    assert status == "optimal"
    assert int(peak) < limit
