"""The search on rows of a device, against the oracle: on this machine, and on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.search.support import ORACLE, examples, switches
from opdt.device.device_run import DeviceTuning
from opdt.device.device_search import DeviceSearch
from opdt.device.host_passes import HostPasses
from opdt.device.passes import CountedCells, SetsAsked
from opdt.device.table_question import TableQuestion
from opdt.engines.search import Switches
from opdt.engines.search.boxes import Box
from opdt.engines.search.records import group_classes
from opdt.engines.search.run import Prepared
from opdt.problem import Problem
from opdt.scale.layers import PartitionLayer
from opdt.scale.passes import CountCells, FetchRows, SiftBoxes
from opdt.scale.scanner import Parts
from opdt.solution import Budget
from strategies import EMPHASES, describe, small_problems


def has_gpu() -> bool:
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:
        return False


GPU = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="no CuPy, or no CUDA device")],
)
DEVICES = pytest.mark.parametrize("device", ["host", GPU])


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
        patch.setattr(DeviceSearch, "_open", lambda self, question: Counted(question))
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


@pytest.mark.gpu
@pytest.mark.skipif(not has_gpu(), reason="no CuPy, or no CUDA device")
@given(problem=small_problems(), data=st.data())
@examples(60)
def test_every_part_of_a_pass_is_that_of_its_twin(problem: Problem, data: st.DataObject) -> None:
    from opdt.device.cuda_passes import CudaPasses

    question = TableQuestion(problem, Prepared(problem))
    if not question.prepared.rays.rays:
        return
    here, there = HostPasses(question), CudaPasses(question)
    seed = data.draw(st.integers(0, 2**32 - 1))
    for part in random_parts(question, np.random.default_rng(seed)):
        one, two = here.answer(part), there.answer(part)
        if isinstance(part, CountCells):
            places = np.arange(len(part.sets))
            assert np.array_equal(one["cells"].take(places), two["cells"].take(places))
            asked = asked_of(question, part)
            assert np.array_equal(one["cells"].bounds(asked), two["cells"].bounds(asked))
        elif isinstance(part, SiftBoxes):
            assert np.array_equal(one["boxes"].bounds(), two["boxes"].bounds())
            places = np.arange(len(part.boxes))
            sums = one["boxes"].take(places), two["boxes"].take(places)
            assert all(np.array_equal(sums[0][name], sums[1][name]) for name in sums[0])
        else:
            assert one.keys() == two.keys()
            for name in one:
                assert np.array_equal(in_order(one)[name], in_order(two)[name])


def in_order(parts: Parts) -> Parts:
    """A result whose rows, where there are any, stand in one order."""
    if "box" not in parts:
        return parts
    keys = (*parts["levels"].T, parts["groups"], parts["weights"], parts["box"])
    order = np.lexsort(keys)
    rows = ("box", "levels", "groups", "weights")
    return parts | {name: parts[name][order] for name in rows}


def random_parts(
    question: TableQuestion, rng: np.random.Generator
) -> Iterator[CountCells | SiftBoxes | FetchRows]:
    """Sets of axes to be counted, and boxes to be cut and brought back."""
    group_of, _ = group_classes(question.objective.labels, question.ratio, question.n_classes)
    sample = question.sample_keys()
    for size in (1, 2, 3):
        layer = PartitionLayer.of(question, sample, size, 4, 6)
        sets = rng.integers(0, len(layer.axes), (5, size)).astype(np.int64)
        yield CountCells(layer.binnings, layer.extents, sets, group_of)
    boxes, edges = [], []
    rays = question.prepared.rays.rays
    for _ in range(4):
        own = tuple(sorted(rng.choice(len(rays), min(2, len(rays)), replace=False).tolist()))
        low = tuple(int(rng.integers(-3, 1)) for _ in own)
        high = tuple(at + int(rng.integers(1, 4)) for at in low)
        boxes.append(Box(0, question.objective.labels[0], own, low, high))
        edges.append(tuple(np.arange(a, b + 1) for a, b in zip(low, high, strict=True)))
    label = question.objective.labels[0]
    yield SiftBoxes(tuple(boxes), tuple(edges), {label: question.factors(label)})
    yield FetchRows(tuple(boxes), question.n_classes)


def asked_of(question: TableQuestion, part: CountCells) -> SetsAsked:
    """All sets of a part, on axes that all count as ordered."""
    _, groups = group_classes(question.objective.labels, question.ratio, question.n_classes)
    missing = np.array([question.absent[axis.feature] for axis in part.axes])
    ordered = np.array([axis.edges is not None for axis in part.axes])
    return SetsAsked(0, len(part.sets), part.extents - missing, ordered, groups)
