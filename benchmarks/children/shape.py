"""Run in a process of its own: make one table, find its best rule, tell time, memory and bounds.

The order is one JSON object: `kind` and `size` (a generator below and its arguments), `seed`,
`arguments` (of `discover`), `limit` (seconds), `threads`, `memory` (bytes of address space), `warm`
(whether the second of two calls is measured). The answer is one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event
from numpy.typing import NDArray

import opdt
from opdt.engines import get_engine
from opdt.errors import OpdtError, OpdtWarning
from opdt.solution import Budget, Progress, Solution

SAMPLES = (1, 2, 5, 10, 20, 60)  # seconds after the call at which value and bound are told
Labels = NDArray[np.int64]

# -- the tables ------------------------------------------------------------------------------


def planted(
    seed: int, rows: int, columns: int, conditions: int, coverage: float, inside: float,
    outside: float, dtype: str = "float64",
) -> tuple[Any, Labels]:  # fmt: skip
    """Normal columns; the first `conditions` of them are large together in a share of the rows.

    `inside` and `outside` are the shares of class 1 among these rows and among the others.
    """
    random = np.random.default_rng(seed)
    X = np.empty((rows, columns), dtype)
    for j in range(columns):
        X[:, j] = random.standard_normal(rows, np.float32 if dtype == "float32" else np.float64)
    covered = np.ones(rows, bool)
    for j in range(conditions):
        covered &= X[:, j] > np.quantile(X[:, j], 1 - coverage ** (1 / conditions))
    return X, (random.random(rows) < np.where(covered, inside, outside)).astype(np.int64)


def classes(
    seed: int, rows: int, columns: int, n_classes: int, coverage: float, inside: float
) -> tuple[Any, Labels]:
    """As `planted` with two conditions; outside, all classes are equally likely."""
    X, hit = planted(seed, rows, columns, 2, coverage, inside, 0.0)
    others = np.random.default_rng([seed, 1]).integers(0, n_classes, rows)
    return X, np.where(hit == 1, 1, others)


def binary(
    seed: int, rows: int, columns: int, most: float, pairs: list[float], sparse: bool
) -> tuple[Any, Labels]:
    """Zeros and ones, in each column a share of ones between 0 and `most`; 5 % of class 1.

    The rows in which both columns of a pair are 1 are of class 1 with the probability in `pairs`;
    these columns have 0.8 × `most` ones.
    """
    random = np.random.default_rng(seed)
    shares = random.uniform(0, most, columns)
    shares[: 2 * len(pairs)] = 0.8 * most
    ones = [np.unique(random.integers(0, rows, round(s * rows), np.int32)) for s in shares]
    chance = np.full(rows, 0.05)
    for k, precision in enumerate(pairs):
        chance[np.intersect1d(ones[2 * k], ones[2 * k + 1])] = precision
    chance[chance == 0.05] -= (chance.mean() - 0.05) * rows / (chance == 0.05).sum()
    y = (random.random(rows) < chance).astype(np.int64)
    if not sparse:
        X = np.zeros((rows, columns), np.uint8)
        for j, mine in enumerate(ones):
            X[mine, j] = 1
        return X, y
    from scipy.sparse import csc_matrix

    ends = np.cumsum([0, *map(len, ones)])
    entries = (np.ones(ends[-1], np.uint8), np.concatenate(ones), ends)
    return csc_matrix(entries, (rows, columns)).tocsr(), y


def levels(seed: int, rows: int, n_levels: list[int], base: float) -> tuple[Any, Labels]:
    """One text column for each number of levels, all equally frequent, and two normal ones.

    Where the last text column has its first level and the first number is above 0, 95 % are of
    class 1; elsewhere the share `base`.
    """
    import pandas as pd

    random = np.random.default_rng(seed)
    X, codes = pd.DataFrame(), np.empty(0, np.int64)
    for j, count in enumerate(n_levels):
        codes = random.integers(0, count, rows)
        X[f"text{j}"] = np.array([f"level {i}" for i in range(count)], object)[codes]
    for j in range(2):
        X[f"number{j}"] = random.standard_normal(rows)
    covered = (codes == 0) & (X["number0"].to_numpy() > 0)
    return X, (random.random(rows) < np.where(covered, 0.95, base)).astype(np.int64)


def classification(seed: int, rows: int, columns: int, **drawn: Any) -> tuple[Any, Labels]:
    """The table of scikit-learn's `make_classification`, rounded to two digits."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows, columns, random_state=seed, **drawn)
    return X.round(2), y


def dataset(seed: int, name: str, folder: str | None) -> tuple[Any, Any]:
    """The 80 % of the rows of one of the paper's datasets that a stratified split trains on."""
    from sklearn.model_selection import train_test_split

    from opdt.datasets import load

    data = load(name, folder=folder)
    X, _, y, _ = train_test_split(
        data.X, data.y, train_size=0.8, random_state=seed, stratify=data.y
    )
    return X, y


KINDS = {f.__name__: f for f in (planted, classes, binary, levels, classification, dataset)}


def n_bytes(data: Any) -> int:
    """What the data themselves take in memory."""
    if hasattr(data, "indptr"):
        return int(data.data.nbytes + data.indices.nbytes + data.indptr.nbytes)
    if hasattr(data, "memory_usage"):
        return int(np.sum(data.memory_usage(deep=True)))
    return int(data.nbytes)


# -- the measurement -------------------------------------------------------------------------


def peak(*, reset: bool = False) -> int:
    """The largest resident size of this process, in bytes; since the last reset where Linux can."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size if sys.platform == "darwin" else size * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class Watch:
    """Notes value and bound while an engine works."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.points: list[tuple[float, float, float]] = []

    def __call__(self, now: Progress) -> None:
        """Note a change."""
        if not self.points or self.points[-1][1:] != (now.value, now.bound):
            self.points.append((time.perf_counter() - self.started, now.value, now.bound))

    def samples(self, solution: Solution | None, seconds: float) -> dict[str, list[float]]:
        """Value and bound at each second of `SAMPLES` before the end, as far as they were told."""
        points = list(self.points)
        if solution is not None:
            late = max(0.0, seconds - solution.seconds)  # where the trace begins after coding
            points += [(p.seconds + late, p.value, p.bound) for p in solution.trace]
        found = {}
        for second in SAMPLES:
            told = [point for point in points if point[0] <= second]
            if told and second < seconds:
                found[str(second)] = [max(p[1] for p in told), min(p[2] for p in told)]
        return found


def measure(order: dict[str, Any]) -> dict[str, Any]:
    """Make the table, call `discover`, and tell what it took."""
    get_engine("search")  # imports are not measured; loading compiled kernels is, unless `warm`
    warnings.simplefilter("ignore", OpdtWarning)  # of constant columns
    X, y = KINDS[order["kind"]](order["seed"], **order["size"])
    arguments, limits = order["arguments"], {"seconds": order["limit"], "threads": order["threads"]}
    if order["warm"]:
        opdt.discover(X, y, budget=Budget(**limits), **arguments)
    record: dict[str, Any] = {
        "shape": X.shape,
        "largest_class": int(np.unique(np.asarray(y), return_counts=True)[1].max()),
        "data": n_bytes(X) + n_bytes(y),
        "before": peak(reset=True),
        "source": str(Path(opdt.__file__).parent),
    }
    timer = event.TimingListener()  # type: ignore[no-untyped-call]
    with event.install_listener("numba:compile", timer):
        watch, solution, processor = Watch(), None, time.process_time()
        try:
            solution = opdt.discover(X, y, budget=Budget(**limits, progress=watch), **arguments)
        except Exception as error:  # told as what it is; the run goes on with the next table
            kinds = {OpdtError: "refused", MemoryError: "out of memory", Exception: "failed"}
            status = next(words for kind, words in kinds.items() if isinstance(error, kind))
            place = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
            record |= {"status": status, "message": words}
        seconds, cpu = time.perf_counter() - watch.started, time.process_time() - processor
    if solution is not None:
        record |= told(solution)
    return record | {
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak(),
        "compiling": timer.duration if timer.done else 0.0,
        "samples": watch.samples(solution, seconds),
    }


def told(solution: Solution) -> dict[str, Any]:
    """What a solution says."""
    return {
        "value": solution.value,
        "bound": solution.bound,
        "gap": solution.gap,
        "status": str(solution.status),
        "stopped_by": str(solution.stopped_by),
        "rule": str(solution.rule),
        "evaluations": solution.statistics.evaluations,
    }


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (asked["memory"], asked["memory"]))
    print(json.dumps(measure(asked)))
