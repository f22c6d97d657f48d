"""Certificates: true ones are verified, and no other."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdt
from certificate_oracle import Oracle
from opdt import verify
from opdt.certificates import Certificate, cells_of, certificate, certify, scanning
from opdt.certificates.certificate import CertificateMaker
from opdt.certificates.claims import units_of
from opdt.objectives.gains import VolumeImpurity
from opdt.problem import Problem
from opdt.solution import Budget, Status
from strategies import EMPHASES, small_problems

CHECKER = Path(verify.__file__)
WITH_VI = [name for name, asked in EMPHASES.items() if "gains" not in asked]


@pytest.fixture
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two intervals for each axis, so that boxes are needed even on a few rows."""
    for name, value in (("_CELLS", 1), ("_MOST_CELLS", 1), ("_BOX_CELLS", 1), ("_FEWEST_CUTS", 2)):
        monkeypatch.setattr(certificate, name, value)


def certifiable(problem: Problem) -> bool:
    return isinstance(problem.objective, VolumeImpurity) and not problem.objective.rounding


def plain(made: Certificate) -> Any:
    """As it is in a file."""
    return json.loads(json.dumps(made.data))


def accepts(data: Any, cells: Any, units: Any) -> bool:
    try:
        said = verify.verify(data, cells, units)
    except verify.Rejected:
        return False
    assert said.startswith("verified: no allowed rule ")
    return True


def check_problem(problem: Problem) -> None:
    """The certificate of the optimum is verified; that of one unit less is not."""
    solution = opdt.discover(problem, engine="exhaustive")
    data = plain(certify(problem, solution))
    cells, units = cells_of(problem), units_of(problem)
    assert accepts(data, cells, units)
    if solution.rule is not None:
        data["claim"]["bound"] -= 1
        assert not accepts(data, cells, units)


@pytest.mark.property
@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("emphasis", WITH_VI)
def test_the_optimum_is_verified_and_less_is_not(emphasis: str) -> None:
    @given(small_problems(**EMPHASES[emphasis]).filter(certifiable))
    @settings(max_examples=60)
    def holds(problem: Problem) -> None:
        check_problem(problem)

    holds()


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("emphasis", WITH_VI)
def test_very_many_problems(emphasis: str) -> None:
    @given(small_problems(**EMPHASES[emphasis]).filter(certifiable))
    @settings(max_examples=700)
    def holds(problem: Problem) -> None:
        check_problem(problem)

    holds()


# -- certificates that were changed --------------------------------------------------------------


def change(data: Any, cells: Any, rng: random.Random) -> None:
    """Change something in a certificate, or in the data, in place."""
    parts = [data["claim"], data["argument"], data["problem"], data, data["claim"]]
    if rng.random() < 0.1:
        column = cells[rng.choice(sorted(cells))]
        column[rng.randrange(len(column))] = rng.choice([None, column[0], column[-1]])
        return
    if rng.random() < 0.15:
        shift = rng.choice([-3, -1, 1, 2])
        data["claim"]["bound"] = (data["claim"]["bound"] or 0) + shift
        return
    at, key = walk(rng.choice(parts), rng)
    at[key] = changed(at[key], rng)


def walk(at: Any, rng: random.Random) -> tuple[Any, Any]:
    """Some place inside nested lists and objects."""
    while True:
        keys = sorted(at) if isinstance(at, dict) else range(len(at))
        key = rng.choice(list(keys))
        inner = at[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.25:
            return at, key
        at = inner


def changed(value: Any, rng: random.Random) -> Any:
    """Another value of the same kind, or of another."""
    if rng.random() < 0.08:
        return rng.choice([None, -1, "x", [], {}, 1.5, True, 10**30, float("nan"), [[]]])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-2, -1, 1, 2, 5])
    if isinstance(value, list) and value:
        some = rng.randrange(len(value))
        cut = value[:some] + value[some + 1 :]
        return rng.choice([cut, value[::-1], value + value[some : some + 1], value[:some]])
    if isinstance(value, dict) and value:
        return {k: v for k, v in value.items() if k != rng.choice(sorted(value))}
    if isinstance(value, str):
        other = {">=": "<", "<": ">=", "==": "!=", "!=": "==", "10": "9", "all": "num"}
        return other.get(value, value[::-1] + rng.choice(["", "1"]))
    return 1


def check_changes(problem: Problem, rng: random.Random, n_changes: int, seen: list[int]) -> None:
    solution = opdt.discover(problem, engine="exhaustive")
    made = plain(certify(problem, solution))
    whole = {name: list(cells) for name, cells in cells_of(problem).items()}
    units = units_of(problem)
    for _ in range(n_changes):
        data, cells = copy.deepcopy(made), copy.deepcopy(whole)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            with suppress(LookupError, TypeError):  # nothing left of what was to be changed next
                change(data, cells, rng)
        if rng.random() < 0.5:  # whoever changes a certificate can hash anew
            data["fingerprint"] = hashed(data, cells, units)
        seen[0] += 1
        if accepts(data, cells, units):
            seen[1] += 1
            assert Oracle(data, cells, units).is_true(), json.dumps(data)


def hashed(data: Any, cells: Any, units: Any) -> Any:
    """The fingerprint that the changed data have."""
    try:
        features = data["problem"]["features"]
        columns = [verify.RawColumn(of["name"], of["kind"], cells[of["name"]]) for of in features]
        target = verify.RawColumn("", "level", cells[data["problem"]["target"]])
        weights = np.array([1] * len(target.codes) if units is None else units, np.int64)
        return verify.fingerprint(columns, target, weights)
    except Exception:
        return data.get("fingerprint")


@pytest.mark.property
@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("emphasis", ["every option", "no option", "coverage"])
def test_what_is_changed_is_rejected_unless_it_is_true(emphasis: str) -> None:
    seen = [0, 0]

    @given(small_problems(**EMPHASES[emphasis], max_rules=800).filter(certifiable), st.integers(0))
    @settings(max_examples=25)
    def holds(problem: Problem, seed: int) -> None:
        check_changes(problem, random.Random(seed), 8, seen)

    holds()
    assert seen[0] > seen[1] > 0


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("emphasis", WITH_VI)
def test_ten_thousand_changes(emphasis: str) -> None:
    seen = [0, 0]

    @given(small_problems(**EMPHASES[emphasis], max_rules=800).filter(certifiable), st.integers(0))
    @settings(max_examples=130)
    def holds(problem: Problem, seed: int) -> None:
        check_changes(problem, random.Random(seed), 10, seen)

    holds()
    print(f"{emphasis}: {seen[0]} changed certificates, {seen[1]} of them still true")


@pytest.mark.parametrize("keep", [0, 1, 10, 100, -1])
def test_a_file_that_was_cut_off_is_refused(keep: int, tmp_path: Path) -> None:
    path = certify(*solved()).save(tmp_path / "rule.cert")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(opdt.InputError, match="is no certificate"):
        Certificate.load(path)


# -- engines that are wrong ----------------------------------------------------------------------


@pytest.mark.property
@pytest.mark.usefixtures("few_cells")
def test_an_engine_that_prunes_too_much_is_caught_whenever_it_is_wrong() -> None:
    caught = [0, 0]

    @given(small_problems(options=["min_coverage", "min_precision"]).filter(certifiable))
    @settings(max_examples=150)
    def holds(problem: Problem) -> None:
        names = problem.table.names
        if len(names) < 2:
            return
        best = opdt.discover(problem, engine="exhaustive")
        if best.rule is None:
            return
        pruned = Problem.build(  # as if every set of axes with the first feature were dismissed
            problem.table,
            structure=opdt.Structure.free(problem.structure.depth),
            w=problem.objective.w,
            label=None if problem.objective.labels[1:] else best.rule.label,
            constraints=opdt.Constraints(forbidden=[names[0]]),
        )
        found = opdt.discover(pruned, engine="exhaustive")
        if found.rule is None or problem.objection(problem.lower(found.rule)) is not None:
            return
        maker = CertificateMaker(problem, found, "target")
        data = plain(maker.make())
        is_wrong = found.value < best.value
        assert accepts(data, cells_of(problem), units_of(problem)) != is_wrong
        assert bool(maker.unsettled) == is_wrong
        caught[is_wrong] += 1
        if is_wrong:
            with pytest.raises(opdt.EngineFailure, match="claims that no rule is worth more"):
                certify(problem, found)

    holds()
    assert min(caught) > 5


# -- what can be certified -----------------------------------------------------------------------


def solved(**asked: Any) -> tuple[Problem, Any]:
    problem = Problem.of(
        {"age": [25, 31, 47, 52, 60, 22], "smoker": ["no", "no", "yes", "no", None, "yes"]},
        ["well", "well", "ill", "ill", "ill", "well"],
        **asked,
    )
    return problem, opdt.discover(problem)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "has a VI above 3 "),
        ({"objective": "precision", "min_coverage": 4}, "has a precision above 0.75 "),
        ({"objective": "precision", "min_coverage": 2}, "has a VI above 3 "),
        ({"objective": "coverage", "min_precision": 0.6}, "has a coverage above 3 "),
        ({"min_coverage": 7}, "keeps the limits "),
        ({"constraints": {"max_coverage": 2}}, "has a VI above 2 "),
        ({"constraints": {"missing_conditions": True}, "max_depth": 3}, "has a VI above 3 "),
        ({"w": 1.5, "label": "well"}, "has a VI above 3 "),
    ],
)
def test_what_is_said(asked: dict[str, Any], said: str) -> None:
    problem, solution = solved(**asked)
    assert said in certify(problem, solution).verify(problem)


def test_nothing_is_a_pattern_here() -> None:
    problem = Problem.of({"x": [1, 1, 2, 2]}, ["a", "b", "a", "b"], max_depth=1)
    solution = opdt.discover(problem)
    assert solution.status is Status.NO_PATTERN
    assert "has a VI above 0 " in certify(problem, solution).verify(problem)


def test_a_search_that_was_stopped_has_its_bound_certified() -> None:
    rng = np.random.default_rng(0)
    problem = Problem.of(rng.random((400, 8)), rng.integers(0, 2, 400), max_depth=3)
    solution = opdt.discover(problem, budget=Budget(nodes=1))
    assert not solution.status.is_proven
    made = certify(problem, solution)
    assert made.data["claim"]["bound"] >= solution.value
    assert "has a VI above" in made.verify(problem)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"objective": "f1"}, "'vi', 'coverage', 'precision'; for 'f1'"),
        ({"sample_weight": [1 / 3, 1, 1, 1, 1, 1]}, "row weights that are whole numbers"),
        ({"constraints": {"parities": [{"column": "smoker", "max_difference": 0.1}]}}, "parities"),
    ],
)
def test_what_cannot_be_certified_is_refused_before_the_search(
    asked: dict[str, Any], why: str, tmp_path: Path
) -> None:
    data = {"age": [25, 31, 47, 52, 60, 22], "smoker": ["no", "no", "yes", "no", "no", "yes"]}
    labels = ["well", "well", "ill", "ill", "ill", "well"]
    with pytest.raises(opdt.UnsupportedProblem, match=why):
        opdt.discover(data, labels, certificate=tmp_path / "rule.cert", **asked)
    assert not (tmp_path / "rule.cert").exists()


def test_weights_and_dates_and_whole_numbers_that_are_no_doubles() -> None:
    problem = Problem.of(
        {
            "day": np.array(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"], "M8[D]"),
            "code": [2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3],
        },
        [0, 1, 1, 0],
        sample_weight=[0.5, 1.25, 2, 1],
        max_depth=2,
    )
    made = certify(problem, opdt.discover(problem))
    assert made.verify(problem).startswith("verified")
    cells = cells_of(problem)
    cells["code"] = cells["code"] + np.array([0, 0, 1, 1])
    assert not accepts(plain(made), cells, units_of(problem))


# -- files ---------------------------------------------------------------------------------------


def test_the_checker_is_short_and_imports_numpy_alone() -> None:
    source = CHECKER.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else name.name).split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    assert imported - {"numpy"} <= set(sys.stdlib_module_names)


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "patients.csv"
    lines = ["age;city;outcome"]
    for _ in range(200):
        age, city = rng.integers(20, 80), rng.choice(["Ulm", "Bern", "Graz"])
        ill = (age >= 50 and city != "Bern") ^ (rng.random() < 0.1)
        shown = "" if rng.random() < 0.05 else age
        lines.append(f"{shown};{city};{'ill' if ill else 'well'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_file_runs_alone_on_a_csv_file(patients: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "check.py"
    alone.parent.mkdir()
    alone.write_text(CHECKER.read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "rule.cert"
    solution = opdt.discover(patients, "outcome", label="ill", w=2, certificate=path)
    assert solution.status is Status.OPTIMAL

    def run(data: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", str(alone), str(path), str(data)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(patients)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"verified: no allowed rule has a VI above {solution.value:g} ")
    lines = patients.read_text(encoding="utf-8").splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([lines[0], *lines[:0:-1]]), encoding="utf-8")
    assert run(other).returncode == 0  # rows in another order
    other.write_text("\n".join(lines[:-1]), encoding="utf-8")
    failed = run(other)
    assert failed.returncode == 1
    assert "not verified: the data are not those of the certificate" in failed.stderr
    path.write_bytes(gzip.compress(b"[1]"))
    assert run(patients).returncode == 1


def test_columns_that_were_cleaned_are_read_by_the_library(tmp_path: Path) -> None:
    data = tmp_path / "stays.csv"
    rows = [(1.5, "yes"), (2.5, "no"), (3.25, "yes"), (0.5, "no"), (4.0, "yes"), (0.75, "no")]
    lines = ["size;well", *(f"{size} mm;{well}" for size, well in rows * 5)]
    data.write_text("\n".join(lines), encoding="utf-8")
    path = tmp_path / "rule.cert"
    opdt.discover(data, "well", certificate=path)
    made = Certificate.load(path)
    assert made.data["problem"]["features"][0]["cleaning"]["unit"] == "mm"
    with pytest.raises(verify.Rejected, match="'size' was cleaned first: use `opdt verify`"):
        verify.read_cells(data, made.data["problem"]["features"])
    from opdt.certificates import read_source
    from opdt.table import open_source

    assert made.check(read_source(made, open_source(data))).startswith("verified")


def test_a_report_carries_its_certificate(patients: Path, tmp_path: Path) -> None:
    from opdt.report import report

    path = tmp_path / "rule.cert"
    asked = {"label": "ill", "w": 2}
    solution = opdt.discover(patients, "outcome", certificate=path, **asked)
    page = report(solution, patients, "outcome", settings=asked, certificate=path, path=False)
    html = page.html()
    assert "<b>Independently verified</b> (opdt-verify, format 1): no allowed rule has a VI" in html
    assert 'download="rule.cert" href="data:application/gzip;base64,' in html
    fewer = patients.with_name("fewer.csv")
    lines = patients.read_text(encoding="utf-8").splitlines()
    fewer.write_text("\n".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(opdt.InputError, match="does not hold for these rows: the data are not"):
        report(solution, fewer, "outcome", settings=asked, certificate=path, path=False)


def test_more_cells_than_the_checker_counts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (verify, scanning):
        monkeypatch.setattr(module, "MOST_CELLS", 3)
    rng = np.random.default_rng(0)
    problem = Problem.of({"x": rng.random(40), "y": rng.random(40)}, rng.integers(0, 2, 40))
    with pytest.raises(opdt.UnsupportedProblem, match=r"no certificate .* more than 3 cells"):
        certify(problem, opdt.discover(problem))
