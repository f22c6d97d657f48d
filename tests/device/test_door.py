"""The door to a device: what is chosen, what is said without one, and where it fails."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from device.emulated_cupy import compiler, emulated
from opdt import Money, OPDTClassifier, discover, permutation_test, weight_path
from opdt.cli.app import app
from opdt.device import DeviceSearch, DeviceUse, on_device
from opdt.device.device_run import DeviceTuning
from opdt.device.host_passes import HostPasses
from opdt.engines import get_engine
from opdt.engines.search import SearchEngine, Searcher
from opdt.errors import EngineUnavailable, InputError, OpdtWarning, UnsupportedProblem
from opdt.problem import Problem
from opdt.solution import Budget, Solution

ROWS = 600
rng = np.random.default_rng(5)
X = {name: rng.normal(size=ROWS).round(2) for name in "abc"}
y = ((X["a"] > 0.5) & (X["b"] < 0.3) & (rng.random(ROWS) < 0.8)) | (rng.random(ROWS) < 0.1)
PROBLEM = Problem.of(X, y, w=3, max_depth=2, label=True)
SMALL = DeviceTuning(worth_rows=0)
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def expected() -> Solution:
    return SearchEngine().solve(PROBLEM)


@pytest.fixture
def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture
def card() -> Iterator[Any]:
    if compiler() is None:
        pytest.skip("no C++ compiler")
    with emulated() as made:
        yield made


def agrees(found: Solution, expected: Solution) -> bool:
    parts = ("rule", "value", "bound", "status")
    return all(getattr(found, name) == getattr(expected, name) for name in parts)


def test_cuda_finds_the_same_and_says_where(card: Any, expected: Solution) -> None:
    found = discover(X, y, w=3, max_depth=2, label=True, device="cuda")
    assert agrees(found, expected)
    assert isinstance(found.details, DeviceUse)
    assert (found.details.device, found.details.name) == ("cuda", "emulated")
    assert not found.details.streamed
    assert found.details.passes > 0
    assert found.engine == "search"


def test_auto_leaves_small_tables_to_the_cpu(card: Any, expected: Solution) -> None:
    found = discover(X, y, w=3, max_depth=2, label=True, device="auto")
    assert agrees(found, expected)
    assert found.details is None
    engine = DeviceSearch(device="auto", tuning=SMALL)
    assert isinstance(engine.solve(PROBLEM).details, DeviceUse)


@pytest.mark.usefixtures("no_cupy")
def test_without_cupy_cuda_names_the_extras_and_auto_is_silent(expected: Solution) -> None:
    with pytest.raises(EngineUnavailable, match=r"needs CuPy; run: pip install 'opdt\[cuda12\]'"):
        discover(X, y, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert agrees(DeviceSearch(device="auto", tuning=SMALL).solve(PROBLEM), expected)
        assert OPDTClassifier(w=3, device="auto").fit(X, y).solution_.details is None


def test_without_a_card_the_sentence_says_so(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", staticmethod(lambda: 0))
    with pytest.raises(EngineUnavailable, match="needs an NVIDIA GPU, and CuPy finds none"):
        discover(X, y, device="cuda")

    def broken() -> int:
        raise RuntimeError("driver version is insufficient")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", staticmethod(broken))
    with pytest.raises(EngineUnavailable, match="needs a working NVIDIA driver, but CuPy says"):
        discover(X, y, device="cuda")


def test_what_is_no_device_is_refused() -> None:
    for device in ("gpu", "", 3):
        with pytest.raises(InputError, match="'device' must be 'cuda' or 'auto'"):
            discover(X, y, device=device)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'device' is for the engine 'search', not for 'bsccart'"):
        discover(X, y, engine="bsccart", device="cuda")
    assert on_device(get_engine("bsccart"), "auto").name == "bsccart"


def test_partitions_are_refused(card: Any) -> None:
    with pytest.raises(UnsupportedProblem, match="device 'cuda' needs the whole table in memory"):
        discover("claims/*.parquet", "y", device="cuda")


def test_what_a_device_does_not_search_is_left_to_the_cpu(card: Any) -> None:
    money = Money(benefit=1, cost=2)
    here = discover(X, y, objective=money, label=True)
    with pytest.warns(OpdtWarning, match="device 'cuda' does not search objectives in which rows"):
        found = discover(X, y, objective=money, label=True, device="cuda")
    assert agrees(found, here)
    limits = {"max_coverage": 30}
    with pytest.warns(OpdtWarning, match="under 'max_coverage'"):
        limited = discover(X, y, w=3, constraints=limits, device="cuda")
    assert agrees(limited, discover(X, y, w=3, constraints=limits))


@needs_compiler
@pytest.mark.parametrize("allocations", [0, 5, 30, 60])
def test_where_the_memory_of_the_card_ends_the_answer_is_the_same(
    allocations: int, expected: Solution
) -> None:
    with emulated(allocations_left=allocations), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = DeviceSearch(tuning=SMALL).solve(PROBLEM)
    assert agrees(found, expected)
    if found.details is None:
        assert "does not suffice, and the CPU goes on" in str(said[0].message)


def test_where_memory_ends_once_rows_are_streamed(card: Any, expected: Solution) -> None:
    from opdt.device.cuda_passes import CudaPasses

    opened: list[int | None] = []

    class Scarce(CudaPasses):
        def count(self, part: Any) -> Any:
            if not self.streamed:
                raise MemoryError
            return super().count(part)

    def opens(self: DeviceSearch, question: Any, limit: int | None) -> CudaPasses:
        opened.append(limit)
        return Scarce(question, limit if limit is None else 1 << 14)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceSearch, "open", opens)
        found = DeviceSearch().solve(PROBLEM)
    assert agrees(found, expected)
    assert len(opened) == 2
    assert opened[0] is None
    assert found.details.streamed


def test_a_memory_limit_counts_for_the_card(card: Any, expected: Solution) -> None:
    found = DeviceSearch().solve(PROBLEM, Budget(memory_limit=20_000))
    assert agrees(found, expected)
    assert found.details.streamed


def test_a_card_that_fails_is_an_error_or_a_warning(
    card: Any, expected: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CardError(Exception):
        pass

    CardError.__module__ = "cupy_backends.cuda.api.runtime"

    def fails(*_: Any) -> Any:
        raise CardError("an illegal memory access was encountered")

    monkeypatch.setattr(DeviceSearch, "open", fails)
    with pytest.raises(Exception, match="the CUDA device failed: an illegal memory access"):
        DeviceSearch().solve(PROBLEM)
    with pytest.warns(OpdtWarning, match="failed, and the CPU goes on"):
        found = DeviceSearch(device="auto", tuning=SMALL).solve(PROBLEM)
    assert agrees(found, expected)


def test_progress_and_ctrl_c(expected: Solution) -> None:
    engine = DeviceSearch(device="host", tuning=SMALL)
    seen: list[float] = []
    found = engine.solve(PROBLEM, Budget(progress=lambda p: seen.append(p.bound)))
    assert agrees(found, expected)
    assert seen
    assert all(bound >= expected.value for bound in seen)

    class Interrupted(HostPasses):
        def cut(self, asked: Any) -> Any:
            raise KeyboardInterrupt

        def fetch(self, part: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceSearch, "open", lambda self, question, limit: Interrupted(question))
        stopped = engine.solve(PROBLEM)
    assert stopped.stopped_by == "interrupted"
    assert stopped.value <= expected.value <= stopped.bound


def test_two_threads(card: Any, expected: Solution) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: DeviceSearch().solve(PROBLEM), range(2)))
    assert all(agrees(one, expected) for one in found)


def test_a_time_limit_ends_with_a_true_bound(expected: Solution) -> None:
    found = DeviceSearch(device="host").solve(PROBLEM, Budget(time_limit=1e-6))
    assert found.stopped_by == "time limit"
    assert found.value <= expected.value <= found.bound


def test_a_start_is_taken_and_cancel_is_heard(expected: Solution) -> None:
    cancel = threading.Event()
    cancel.set()
    stopped = DeviceSearch(device="host").solve(PROBLEM, Budget(cancel=cancel))
    assert stopped.stopped_by == "cancelled"
    assert agrees(DeviceSearch(device="host", start=expected.rule).solve(PROBLEM), expected)


@pytest.mark.parametrize("device", ["host", "cuda"])
def test_many_questions_keep_the_codes(device: str, card: Any, expected: Solution) -> None:
    engine = DeviceSearch(device=device)
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        real = DeviceSearch.open
        patch.setattr(
            DeviceSearch, "open",
            lambda self, question, limit: opened.append(1) or real(self, question, limit),
        )  # fmt: skip
        asked, here = engine.many(PROBLEM), Searcher(PROBLEM)
        assert agrees(asked.solve(), expected)
        for seed in range(4):
            classes = np.random.default_rng(seed).permutation(PROBLEM.objective.classes)
            gains = replace(PROBLEM.objective, classes=classes)
            best = here.solve(gains)
            assert agrees(asked.solve(gains), best)
            assert asked.reaches(best.value, gains) is True
            assert asked.reaches(best.value + 1, gains) is False
        heavier = replace(PROBLEM.objective, weights=PROBLEM.objective.weights * 3)
        assert agrees(asked.solve(heavier), here.solve(heavier))
        assert agrees(asked.improve(expected.rule), expected)
        worth = rng.normal(size=ROWS).round(1)  # which the device does not do
        assert asked.reaches(-1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OpdtWarning)
            assert agrees(asked.solve(worth), here.solve(worth))
    assert len(opened) == 1


def test_tests_and_paths_take_the_engine() -> None:
    engine = DeviceSearch(device="host")
    one = permutation_test(PROBLEM, n_permutations=19, seed=0, engine=engine)
    two = permutation_test(PROBLEM, n_permutations=19, seed=0)
    assert one.p_value == two.p_value
    paths = [
        weight_path(X, y, max_depth=1, label=True, engine=chosen) for chosen in (engine, "search")
    ]
    assert paths[0].segments == paths[1].segments


def test_the_most_precise_rule(card: Any) -> None:
    asked: dict[str, Any] = {"objective": "precision", "label": True, "max_depth": 1}
    assert agrees(discover(X, y, device="cuda", **asked), discover(X, y, **asked))


@pytest.mark.usefixtures("no_cupy")
def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "a,y\n" + "\n".join(f"{i % 7},{i % 7 > 4}" for i in range(60)), encoding="utf-8"
    )
    runner = CliRunner()
    refused = runner.invoke(app, ["fit", str(path), "--target", "y", "--device", "cuda"])
    assert refused.exit_code != 0
    assert "needs CuPy" in refused.output
    found = runner.invoke(app, ["fit", str(path), "--target", "y", "--device", "auto", "--quiet"])
    assert found.exit_code == 0, found.output
