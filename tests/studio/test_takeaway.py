from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from opdt import Condition, Parity, PerSegment, Rule, Structure, read_rule
from opdt.certificates import Certificate
from opdt.errors import InputError
from opdt.studio.code import script
from opdt.studio.solver import Solver
from opdt.studio.tables import Loaded, load_dataset, load_file
from opdt.studio.takeaway import KINDS, make
from opdt.studio.work import DataSource, Pinned, Work
from studio.works import HOSTILE, first, patients, works


def hostile_file(folder: Path) -> Path:
    """A file in which every name and every level could break a script that quotes badly."""
    random = np.random.default_rng(0)
    number = random.integers(0, 50, 80)
    columns: dict[str, Any] = {name: random.choice(HOSTILE, 80) for name in HOSTILE[:3]}
    columns[HOSTILE[3]] = number
    columns[HOSTILE[6]] = random.normal(size=80).round(2)
    columns[HOSTILE[7]] = "constant"
    hit = (columns[HOSTILE[1]] == HOSTILE[2]) | (columns[HOSTILE[1]] == HOSTILE[3]) | (number > 44)
    columns[HOSTILE[4]] = np.where(hit, HOSTILE[6], HOSTILE[5])
    path = folder / 'it\'s "my" dat{a}.parquet'
    pd.DataFrame(columns).to_parquet(path)
    return path


def hostile_work(loaded: Loaded) -> Work:
    group = "g'\"\\\n"
    return Work(source=loaded.source, target=HOSTILE[4]).change(
        label=HOSTILE[6],
        w=3.0,
        groups={group: (HOSTILE[0], HOSTILE[1], HOSTILE[3])},
        structure=Structure.tree(split=[1, 0, 1], group=[group, None, "all"], target=[0, 0, 1, 1]),
        roles={HOSTILE[7]: "ignored"},
        directions={HOSTILE[3]: ">="},
        forbidden=(HOSTILE[2],),
        min_coverage=0.05,
        seed=3,
    )


def run(source: bytes, folder: Path) -> str:
    """What a fresh process prints."""
    path = folder / "again.py"
    path.write_bytes(source)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=folder,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_script_finds_the_same_rule_whatever_names_are_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hostile_file(tmp_path)
    solver = Solver(load_file(path))
    work = hostile_work(solver.loaded)
    outcome = solver.solve(work)
    assert outcome.rule is not None
    assert set(outcome.rule.features) & set(HOSTILE)
    taken = make("script", solver, work, outcome)
    assert taken.name == "it-s-my-dat-a.py"
    printed = run(taken.content, tmp_path)
    assert printed.startswith(f"{outcome.rule}\nstatus: optimal | VI: {outcome.solution.value}\n")
    assert str(outcome.train) in printed
    assert str(outcome.held_out) in printed
    moved = tmp_path / "moved.parquet"
    path.rename(moved)
    monkeypatch.setattr(sys, "argv", ["again.py", str(moved)])
    exec(compile(taken.content, "script", "exec"), {})
    assert capsys.readouterr().out == printed


def test_the_script_of_a_dataset_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    solver = Solver(load_dataset("irises"))
    work = first(solver.loaded, held_out=0.0, w=2.0)
    outcome = solver.solve(work)
    exec(compile(make("script", solver, work, outcome).content, "script", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith(f"{outcome.rule}\n")
    assert "Held-out" not in printed


@settings(max_examples=15)
@given(works())
def test_the_script_calls_discover_with_the_arguments_of_the_work(work: Work) -> None:
    try:
        expected = work.arguments()
    except InputError:
        return
    calls: list[Any] = []
    source = script(work).split("print(solution")[0]
    source = "\n".join(line for line in source.splitlines() if not line.startswith("from "))
    scope = {
        "Structure": Structure,
        "Parity": Parity,
        "PerSegment": PerSegment,
        "load_dataset": lambda name: patients(),
        "discover": lambda X, y, **given: calls.append((X, y, given)),
    }
    exec(compile(source, "script", "exec"), scope)
    (X, y, given) = calls[0]
    assert given.pop("roles") == patients().plan_for(expected.pop("roles", {}))
    assert given == {
        name: value if name != "groups" else {k: list(v) for k, v in value.items()}
        for name, value in plain(expected).items()
    }
    train = Solver(patients()).split(work).train
    assert X.equals(train.X)
    assert y.equals(train.y)


def plain(value: Any) -> Any:
    """Tuples of names as lists, which the script writes."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def test_a_script_needs_data_and_a_label() -> None:
    with pytest.raises(InputError, match="needs data"):
        script(Work())


@pytest.fixture
def solver() -> Solver:
    return Solver(patients())


def test_the_rule_as_json_is_read_back(solver: Solver, tmp_path: Path) -> None:
    outcome = solver.solve(first(solver.loaded, w=2.0))
    taken = make("json", solver, outcome.work, outcome)
    path = tmp_path / taken.name
    path.write_bytes(taken.content)
    assert read_rule(path) == outcome.rule
    info = json.loads(taken.content)["info"]
    assert info["value"] == outcome.solution.value
    assert info["train"]["covered"] == outcome.train.covered
    assert [each["column"] for each in info["columns"]] == ["age", "pulse", "ward", "drug"]


def test_the_rule_in_sql_selects_the_same_rows(solver: Solver) -> None:
    outcome = solver.solve(first(solver.loaded, w=2.0))
    taken = make("sql", solver, outcome.work, outcome, dialect="duckdb")
    data = solver.loaded.frame.astype({"ward": object, "drug": object, "state": object})  # noqa: F841
    found = duckdb.sql(f"SELECT {taken.content.decode()} AS hit FROM data").fetchall()
    assert [hit is not None for (hit,) in found] == outcome.rule.covers(
        solver.loaded.frame
    ).tolist()
    with pytest.raises(InputError, match="dialect"):
        make("sql", solver, outcome.work, outcome, dialect="klingon")


@pytest.mark.filterwarnings("ignore:Glyph")  # the font of the pictures has no Chinese
def test_the_report_has_both_parts_of_the_rows_and_escapes_names(tmp_path: Path) -> None:
    solver = Solver(load_file(hostile_file(tmp_path)))
    outcome = solver.solve(hostile_work(solver.loaded))
    page = make("report", solver, outcome.work, outcome, title="<b>Mine</b>").content.decode()
    assert "<script>alert" not in page
    assert "<b>Mine" not in page
    assert "rows it has not seen" in page
    assert f"{outcome.held_out.covered:,} of {outcome.held_out.n_rows:,} rows" in page


def test_the_certificate_was_checked_and_can_be_checked_again(
    solver: Solver, tmp_path: Path
) -> None:
    outcome = solver.solve(first(solver.loaded, w=2.0))
    taken = make("certificate", solver, outcome.work, outcome)
    assert taken.name == "patients.cert"
    assert taken.said.startswith(
        f"verified: no allowed rule has a VI above {outcome.solution.value:g} "
    )
    path = tmp_path / taken.name
    path.write_bytes(taken.content)
    problem = solver.problem(outcome.work)
    assert Certificate.load(path).verify(problem) == taken.said


def test_the_project_is_what_can_be_opened(solver: Solver) -> None:
    pinned = (Pinned(Rule([Condition("age", "<", 30)], "well"), "n"),)
    work = first(solver.loaded, pinned=pinned)
    taken = make("project", solver, work, None)
    assert taken.name == "patients.opdt.json"
    assert Work.from_json(taken.content) == work


def test_without_a_rule_there_is_nothing_to_take(solver: Solver) -> None:
    work = first(solver.loaded, required=("age",), directions={"age": "<"}, min_precision=1.0)
    outcome = solver.solve(work.change(min_coverage=0.9))
    assert outcome.rule is None
    assert "No rule meets" in make("report", solver, work, outcome).content.decode()
    for what in ("json", "sql"):
        with pytest.raises(InputError, match="no rule to take away"):
            make(what, solver, work, outcome)
        with pytest.raises(InputError, match="no rule yet"):
            make(what, solver, work, None)
    with pytest.raises(InputError, match="'what' must be 'report"):
        make("pickle", solver, work, outcome)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("../../etc/passwd", "passwd"),
        ("a b.csv.gz", "a-b"),
        ("名.csv", "opdt"),
        ("x" * 99, "x" * 60),
    ],
)
def test_the_names_of_files_are_harmless(solver: Solver, name: str, stem: str) -> None:
    work = Work(source=DataSource("file", name, "00", 1, 2), target="y")
    assert make("project", solver, work, None).name == f"{stem}.opdt.json"
    assert set(KINDS) >= {"report", "json", "sql", "script", "project"}
