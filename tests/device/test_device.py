"""The search on rows of a device, against the oracle: on this machine, and on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.emulated_cupy import compiler, emulated
from engines.search.support import ORACLE, examples, switches
from opdt.device.box_arrays import BoxArrays, BoxesToCut, CellParts, sizes_of
from opdt.device.device_run import DeviceTuning, loosest_run
from opdt.device.device_search import DeviceSearch
from opdt.device.host_passes import HostPasses
from opdt.device.passes import NO_RUN, CountedCells, DevicePasses, SetJobs, SetsAsked
from opdt.device.table_question import TableQuestion
from opdt.engines.search import Switches
from opdt.engines.search.boxes import Box
from opdt.engines.search.records import group_classes
from opdt.engines.search.run import Prepared
from opdt.problem import Problem
from opdt.scale.layers import PartitionLayer
from opdt.scale.passes import CountCells, FetchRows
from opdt.scale.scanner import Parts
from opdt.solution import Budget
from strategies import EMPHASES, describe, small_problems


def has_gpu() -> bool:
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:
        return False


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no CuPy, or no CUDA device")
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
GPU = pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])
EMULATED = pytest.param("emulated", marks=needs_compiler)
DEVICES = pytest.mark.parametrize("device", ["host", GPU])
CARDS = pytest.mark.parametrize("card", [EMULATED, GPU])


@contextmanager
def on(card: str) -> Iterator[None]:
    """With a card, or with the emulation of one."""
    with emulated() if card == "emulated" else nullcontext():
        yield


# Few bins and few rows at a time, so that small tables take every step.
EAGER = DeviceTuning(
    bins=((3,), (2, 4), (2, 3), (2,)), cells=9, fetched_rows=3, least_rows=5, boxes=3,
    first_boxes=2, sets=2, again=3, jobs=8,
)  # fmt: skip


def agree(problem: Problem, engine: DeviceSearch) -> None:
    best = ORACLE.solve(problem)
    found = engine.solve(problem, Budget(n_jobs=1))
    true = (
        (found.status, found.value, found.rule) == (best.status, best.value, best.rule)
        and found.bound == best.value
        and all(point.value <= best.value <= point.bound for point in found.trace)
    )
    assert true, f"{describe(problem)}\n{found}\n{best}"


@DEVICES
@pytest.mark.parametrize("emphasis", EMPHASES)
def test_small_problems(device: str, emphasis: str) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), chosen=switches())
    @examples(30)
    def agrees(problem: Problem, chosen: Switches) -> None:
        agree(problem, DeviceSearch(device=device, switches=chosen, tuning=EAGER))

    agrees()


def test_a_pass_is_ended_by_a_limit_with_a_true_bound() -> None:
    rng = np.random.default_rng(3)
    X = {name: rng.normal(size=3_000).round(2) for name in "abc"}
    problem = Problem.of(X, (X["a"] > 0.5) & (rng.random(3_000) < 0.8), w=3, max_depth=2)
    cancel = threading.Event()
    engine = DeviceSearch(device="host", tuning=EAGER)
    best = engine.solve(problem)
    assert best.status == "optimal"

    class Counted(HostPasses):
        def count(self, part: CountCells) -> CountedCells:
            cancel.set()  # in the middle of the first pass
            return super().count(part)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceSearch, "open", lambda self, question, limit: Counted(question))
        found = engine.solve(problem, Budget(cancel=cancel))
    assert found.stopped_by == "cancelled"
    assert found.value <= best.value <= found.bound


@pytest.mark.slow
@DEVICES
@pytest.mark.parametrize("emphasis", EMPHASES)
def test_very_many_small_problems(device: str, emphasis: str) -> None:
    @given(problem=small_problems(**EMPHASES[emphasis]), chosen=switches())
    @examples(400)
    def agrees(problem: Problem, chosen: Switches) -> None:
        agree(problem, DeviceSearch(device=device, switches=chosen, tuning=EAGER))

    agrees()


@CARDS
def test_small_problems_on_a_card(card: str) -> None:
    @given(problem=small_problems(), chosen=switches(), least_memory=st.booleans())
    @examples(40)
    def agrees(problem: Problem, chosen: Switches, least_memory: bool) -> None:
        tuning = replace(EAGER, memory_limit=1 if least_memory else None)
        agree(problem, DeviceSearch(device="cuda", switches=chosen, tuning=tuning))

    with on(card), pytest.MonkeyPatch.context() as patch:
        patch.setattr("opdt.device.cuda_passes.N_LAYERS", 2)  # so that some are thrown out
        agrees()


@CARDS
def test_every_part_of_a_pass_is_that_of_its_twin(card: str) -> None:
    from opdt.device.cuda_passes import CudaPasses

    @given(problem=small_problems(), seed=st.integers(0, 2**32 - 1), most=st.sampled_from([3, 99]))
    @examples(60)
    def agrees(problem: Problem, seed: int, most: int) -> None:
        question = TableQuestion(problem, Prepared(problem))
        if not question.prepared.rays.rays:
            return
        rng = np.random.default_rng(seed)
        # the rows in one block, or in several that are sent again for each pass
        limit = None if rng.random() < 0.5 else 1
        here, there = HostPasses(question), CudaPasses(question, memory_limit=limit)
        here.most_alive = there.most_alive = most
        compare_counts(question, here, there, rng)
        compare_boxes(question, here, there, rng)
        compare_runs(question, here, there)

    with on(card):
        agrees()


def compare_counts(
    question: TableQuestion, here: DevicePasses, there: DevicePasses, rng: np.random.Generator
) -> None:
    labels = question.objective.labels
    group_of, groups = group_classes(labels, question.ratio, question.n_classes)
    for size in (1, 2, 3):
        layer = PartitionLayer.of(question, question.sample_keys(), size, 4, 6)
        sets = rng.integers(0, len(layer.axes), (5, size)).astype(np.int64)
        part = CountCells(layer.binnings, layer.extents, sets, group_of)
        one, two = here.count(part), there.count(part)
        places = np.arange(len(sets))
        assert np.array_equal(one.take(places), two.take(places))
        ordered = np.array([a.edges is not None and not a.singles for a in layer.axes])
        grid = layer.grid
        asked = SetsAsked(0, len(sets), grid.n_bins, grid.lone, ordered, groups)
        assert np.array_equal(one.bounds(asked), two.bounds(asked))
        own = np.flatnonzero(ordered[sets].all(axis=1))
        jobs = SetJobs(
            own, rng.integers(0, 1 << size, len(own)), rng.integers(0, len(labels), len(own)),
            rng.integers(-5, 20, len(own)), layer.grid.n_bins, layer.grid.lone, groups,
        )  # fmt: skip
        same(one.part(jobs), two.part(jobs))


def compare_boxes(
    question: TableQuestion, here: DevicePasses, there: DevicePasses, rng: np.random.Generator
) -> None:
    rays, label = question.prepared.rays.rays, question.objective.labels[0]
    boxes = []
    size = min(2, len(rays))
    for _ in range(5):
        own = tuple(sorted(rng.choice(len(rays), size, replace=False).tolist()))
        low = tuple(int(rng.integers(-6, 3)) for _ in own)
        high = tuple(at + int(rng.integers(1, 9)) for at in low)
        boxes.append(Box(0, label, own, low, high))
    arrays = BoxArrays.of(boxes)
    factors = np.tile(question.factors(label), (len(boxes), 1))
    sizes = sizes_of(arrays.low, arrays.high, int(rng.integers(4, 40)))
    goals = rng.integers(-5, 20, len(boxes)) * question.scores.scale
    asked = BoxesToCut(arrays, sizes, factors, goals)
    one, two = here.cut(asked), there.cut(asked)
    same(one.parts, two.parts)
    assert np.array_equal(one.reached, two.reached)
    assert np.array_equal(one.corners, two.corners)
    fetch = FetchRows((*boxes, Box(0, label, (), (), ())), question.n_classes)
    found, other = in_order(here.fetch(fetch)), in_order(there.fetch(fetch))
    assert found.keys() == other.keys()
    assert all(np.array_equal(found[name], other[name]) for name in found)


def compare_runs(question: TableQuestion, here: DevicePasses, there: DevicePasses) -> None:
    features = sorted({ray.feature for ray in question.prepared.rays.rays})
    for label in question.objective.labels:
        factors = question.factors(label)
        best = here.best_runs(features, factors)
        assert np.array_equal(best, there.best_runs(features, factors))
        for feature, value in zip(features, best.tolist(), strict=True):
            sums = here.sums_by_code(feature, factors)
            assert np.array_equal(sums, there.sums_by_code(feature, factors))
            if value != NO_RUN:
                ends = range(1, len(sums) - 1)
                runs = [(a, b) for a in ends for b in ends if a <= b]
                worth = {run: int(sums[run[0] : run[1] + 1].sum()) for run in runs}
                assert value == max(worth.values())
                first = min((r for r in runs if worth[r] == value), key=lambda r: (r[0], -r[1]))
                assert loosest_run(sums, value) == first


def same(one: CellParts, two: CellParts) -> None:
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def in_order(parts: Parts) -> Parts:
    """A result whose rows stand in one order."""
    keys = (*parts["levels"].T, parts["groups"], parts["weights"], parts["box"])
    order = np.lexsort(keys)
    rows = ("box", "levels", "groups", "weights")
    return parts | {name: parts[name][order] for name in rows}
