"""Measures the search on a CUDA device beside the CPU: `python benchmarks/gpu.py`.

Each row of the table is a coded table, a depth and the same search on the device and on all cores,
from the coded table to the audited answer; the time in which codes are sent to the device is given
apart. Every figure goes at once into results/gpu.jsonl. What is there already for the same commit
is not measured again, so that a run may be ended and `--only` may take the rows one by one. With
--publish the table goes into docs/guides/gpu.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import RESULTS, ROOT, Grid, Log, Record, machine, read_log, short, versions
from publish import replaced

from opdt import discover, permutation_test
from opdt.device import DeviceSearch, DeviceUse
from opdt.device.card import card_name, why_no_card
from opdt.engines import Engine, get_engine
from opdt.solution import Solution
from opdt.table import Column, Kind, Table

LOG = RESULTS / "gpu.jsonl"
PAGE = ROOT / "docs" / "guides" / "gpu.md"
BATCH = 1 << 22  # rows that are drawn at a time


@dataclass(frozen=True)
class Case:
    """A row of the table: how its rows are drawn, and what is asked of them."""

    shown: str
    n_rows: int
    n_features: int
    draw: Callable[[Case, np.random.Generator], Table]
    depths: tuple[int, ...]
    w: float
    permutations: int = 0


def ranks(n_rows: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The codes of a column of different numbers in any order."""
    return rng.permutation(n_rows).astype(np.int32)


def numeric(
    case: Case, rng: np.random.Generator, shares: list[float], rate: float, base: float
) -> Table:
    """Columns of different numbers; in a corner of the first ones, class 1 is more frequent."""
    n = case.n_rows
    values = np.arange(n, dtype=np.float64)
    columns, inside = [], np.ones(n, bool)
    for f in range(case.n_features):
        codes = ranks(n, rng)
        if f < len(shares):
            inside &= codes >= n * (1 - shares[f])
        columns.append(Column(f"x{f}", Kind.NUMERIC, codes, values))
    return labelled(columns, (inside & (rng.random(n) < rate)) | (rng.random(n) < base))


def planted(case: Case, rng: np.random.Generator) -> Table:
    return numeric(case, rng, [0.3, 0.5, 0.6], 0.8, 0.1)


def weak(case: Case, rng: np.random.Generator) -> Table:
    return numeric(case, rng, [0.16], 0.12, 0.1)


def rare(case: Case, rng: np.random.Generator) -> Table:
    """Columns of 250 values, and one row of the class 1 in a thousand."""
    n = case.n_rows
    values = np.arange(250, dtype=np.float64)
    columns, inside = [], np.ones(n, bool)
    for f in range(case.n_features):
        codes = rng.integers(0, 250, n, dtype=np.uint8).astype(np.int32)
        if f < 3:
            inside &= codes >= 225
        columns.append(Column(f"x{f}", Kind.NUMERIC, codes, values))
    hit = np.empty(n, bool)
    for at in range(0, n, BATCH):
        own = slice(at, min(n, at + BATCH))
        size = own.stop - own.start
        hit[own] = (inside[own] & (rng.random(size) < 0.3)) | (rng.random(size) < 0.0007)
    return labelled(columns, hit)


def binary(case: Case, rng: np.random.Generator) -> Table:
    n = case.n_rows
    values = np.array([0.0, 1.0])
    columns, inside = [], np.ones(n, bool)
    for f in range(case.n_features):
        codes = (rng.random(n, dtype=np.float32) < 0.3).astype(np.int32)
        if f < 3:
            inside &= codes == 1
        columns.append(Column(f"x{f}", Kind.NUMERIC, codes, values))
    return labelled(columns, (inside & (rng.random(n) < 0.7)) | (rng.random(n) < 0.1))


def labelled(columns: list[Column], hit: np.ndarray[Any, np.dtype[np.bool_]]) -> Table:
    return Table(tuple(columns), hit.astype(np.int32), np.array([0, 1]))


CASES: dict[str, Case] = {
    "planted": Case("planted pattern", 10_000_000, 50, planted, (2, 3), 3),
    "weak": Case("weak pattern", 10_000_000, 50, weak, (2, 3), 8),
    "rare": Case("0.1 % positives, 250 values", 64_000_000, 300, rare, (2, 3), 2),
    "short": Case("numeric", 100, 20_000, planted, (2,), 3),
    "wide": Case("numeric", 1_000, 20_000, planted, (2,), 3),
    "binary": Case("binary", 500_000, 2_000, binary, (2, 3), 3),
    "permutations": Case("planted pattern, 99 permutations", 1_000_000, 50, planted, (2,), 3, 99),
}


def scaled(case: Case, share: float) -> Case:
    n_rows = max(64, int(case.n_rows * share))
    return Case(
        case.shown, n_rows, max(3, int(case.n_features * min(1, 10 * share))), case.draw,
        case.depths, case.w, case.permutations,
    )  # fmt: skip


# -- measuring -------------------------------------------------------------------------------------


def engine_of(backend: str) -> Engine:
    return get_engine("search") if backend == "cpu" else DeviceSearch(device=backend)


def solve(case: Case, table: Table, depth: int, backend: str, limit: float) -> Record:
    """One solve: seconds, those of the upload, and what was proven."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asked = {"max_depth": depth, "w": case.w, "label": 1, "time_limit": limit}
        engine = engine_of(backend)
        if case.permutations:
            test = permutation_test(
                table, n_permutations=case.permutations, early_stop=False, engine=engine, **asked
            )
            found = {"value": test.p_value, "bound": test.p_value, "status": "tested"}
            use = None
        else:
            solution = discover(table, engine=engine, **asked)
            found, use = shown(solution), solution.details
    seconds = time.perf_counter() - began
    own = use if isinstance(use, DeviceUse) else None
    return {
        **found, "seconds": seconds, "upload": own.upload_seconds if own else 0.0,
        "device": own.name if own else "", "streamed": bool(own and own.streamed),
        "said": [str(one.message) for one in said][:2],
    }  # fmt: skip


def shown(solution: Solution) -> Record:
    return {
        "value": solution.value, "bound": solution.bound, "status": str(solution.status),
        "rule": str(solution.rule),
    }  # fmt: skip


def measure(log: Log, known: set[tuple[Any, ...]], options: argparse.Namespace) -> None:
    """Every figure that is missing."""
    commit = options.commit or versions().get("commit", "unknown")
    for name in options.only:
        case = CASES[name] if options.scale == 1 else scaled(CASES[name], options.scale)
        for seed in range(options.seeds):
            wanted = [
                key for key in keys(case, name, seed, commit, options)
                if options.again or key not in known
            ]  # fmt: skip
            if not wanted:
                continue
            began = time.perf_counter()
            table = case.draw(case, np.random.default_rng(seed))
            print(f"{name}: drawn in {time.perf_counter() - began:.1f} s", flush=True)
            for key in wanted:
                _, depth, backend, *_ = key
                for turn in range(1 if backend == "cpu" else options.rounds + 1):
                    limit = options.cpu_limit if backend == "cpu" else options.limit
                    record = solve(case, table, depth, backend, limit)
                    log.add(
                        "gpu", case=name, depth=depth, backend=backend, seed=seed, turn=turn,
                        commit=commit, scale=options.scale, n_rows=case.n_rows,
                        n_features=case.n_features, **record,
                    )  # fmt: skip
                    print(
                        f"{name} depth {depth} {backend} seed {seed} turn {turn}: "
                        f"{record['seconds']:.3f} s, upload {record['upload']:.3f} s, "
                        f"{record['status']} {record['value']:g} <= {record['bound']:g} "
                        f"{' '.join(record['said'])}",
                        flush=True,
                    )
            del table


def keys(
    case: Case, name: str, seed: int, commit: str, options: argparse.Namespace
) -> Iterator[tuple[Any, ...]]:
    for depth in case.depths:
        if options.depth is None or depth == options.depth:
            for backend in options.backends:
                yield name, depth, backend, seed, commit, options.scale


# -- the table -------------------------------------------------------------------------------------


def grid(records: list[Record]) -> Grid:
    """One row for each table and depth: medians, the first turn on a device apart."""
    rows = []
    for name, case in CASES.items():
        for depth in case.depths:
            own = [r for r in records if (r["case"], r["depth"]) == (name, depth)]
            device = [r for r in own if r["backend"] != "cpu" and r["turn"]]
            cpu = [r for r in own if r["backend"] == "cpu"]
            if not device and not cpu:
                continue
            net = median(r["seconds"] - r["upload"] for r in device)
            all_cores = median(r["seconds"] for r in cpu)
            rows.append((
                f"{own[0]['n_rows']:,} × {own[0]['n_features']:,}, {case.shown}", str(depth),
                time_of(net, device), time_of(median(r["upload"] for r in device), device[:0]),
                time_of(all_cores, cpu),
                f"{all_cores / net:.3g}" if net and all_cores else "",
            ))  # fmt: skip
    header = ("table", "depth", "device", "upload", "CPU, all cores", "CPU / device")
    return Grid(header, rows)


def median(values: Any) -> float | None:
    found = list(values)
    return statistics.median(found) if found else None


def time_of(seconds: float | None, records: list[Record]) -> str:
    """A time; that of a search without a proof with the bound it left."""
    if seconds is None:
        return "not measured"
    left = [
        r for r in records if r["status"] not in ("optimal", "no pattern", "no_pattern", "tested")
    ]
    return short(seconds) + (f" (left: bound {left[0]['bound']:g})" if left else "")


def machine_line(runs: list[Record]) -> str:
    """Where and with what the figures were taken."""
    last = runs[-1]
    own, used = last["machine"], last["versions"]
    shown = ", ".join(f"{k} {v}" for k, v in used.items())
    return (
        f"*Measured on {last['run'][:10]}: {last['card']}; {own['cpu']}, {own['cores']} cores, "
        f"{own['memory_gb']:g} GB, {own['system']}; Python {own['python']}, {shown}; medians of "
        "all turns but the first.*"
    )


def card() -> str:
    """The device and its driver, in words."""
    if why_no_card() is not None:
        return "no CUDA device"
    import cupy

    driver, runtime = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
    memory = cupy.cuda.Device().mem_info[1] / 2**30
    return (
        f"{card_name()}, {memory:.0f} GiB, driver for CUDA {driver // 1000}.{driver % 1000 // 10}, "
        f"runtime {runtime // 1000}.{runtime % 1000 // 10}, CuPy {cupy.__version__}"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    names = ", ".join(CASES)
    add("--only", default=",".join(CASES), help=f"rows of the table: {names}")
    add("--depth", type=int, help="this depth only")
    add("--backends", default="cuda,cpu", help="cuda, cpu, or host for the device's twin")
    add("--rounds", type=int, default=3, help="turns on the device after the first")
    add("--seeds", type=int, default=1, help="tables of each kind, with seeds 0, 1, …")
    add("--limit", type=float, default=120.0, help="seconds of a search on the device")
    add("--cpu-limit", type=float, default=120.0, help="seconds of a search on the CPU")
    add("--scale", type=float, default=1.0, help="share of rows and columns; never published")
    add("--commit", help="where git does not tell")
    add("--again", action="store_true", help="measure what is there already")
    add("--publish", action="store_true", help="put the table into docs/guides/gpu.md")
    return parser


def main() -> None:
    options = arguments().parse_args()
    options.only = [name.strip() for name in options.only.split(",")]
    options.backends = [name.strip() for name in options.backends.split(",")]
    unknown = [name for name in options.only if name not in CASES]
    if unknown:
        raise SystemExit(f"no {unknown[0]!r}; there are {', '.join(CASES)}")
    if "cuda" in options.backends and (why := why_no_card()) is not None:
        raise SystemExit(why)
    print(card(), machine(), versions(), sep="\n", flush=True)
    log = Log(LOG, quick=options.scale != 1, command=" ".join(sys.argv[1:]))
    log.add("card", card=card(), machine=machine(), versions=versions())
    names = ("case", "depth", "backend", "seed", "commit", "scale")
    known = {tuple(r[n] for n in names) for r in read_log(LOG) if r["section"] == "gpu"}
    measure(log, known, options)
    records = [r for r in read_log(LOG) if r["section"] == "gpu" and r["scale"] == options.scale]
    table = grid(records)
    runs = [r for r in read_log(LOG) if r["section"] == "card"]
    print(table.markdown(), machine_line(runs), sep="\n\n")
    if options.publish:
        if options.scale != 1:
            raise SystemExit("a smaller table is not published")
        text = f"{table.markdown()}\n\n{machine_line(runs)}"
        PAGE.write_text(replaced(PAGE.read_text(), "gpu", text))


if __name__ == "__main__":
    main()
