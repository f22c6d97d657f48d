"""Reading text files: `python benchmarks/reading.py [--megabytes 88] [--repeats 5] [--publish]`.

Five tables of random cells (seed 0) are written as CSV and read by opdt, whose columns have the
type that all of their cells allow, and by polars and pandas as they read by default. Readers take
turns, so that a busy moment of the machine meets all of them; a time is the median. Records go to
results/reading.jsonl, the table to results/reading.md, and with --publish into
docs/performance.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd
import polars as pl
from common import PACKAGES, RESULTS, Grid, Log, Record, latest, median, read_log, short
from publish import PAGE, machine_line, replaced

from opdt.scale.local import LocalScanner
from opdt.table import read_frame

LOG = RESULTS / "reading.jsonl"
SEED = 0
common.PACKAGES = (*PACKAGES, "polars", "pyarrow")  # what this one compares


def numbers(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {f"x{k}": rng.normal(size=n) for k in range(6)}


def whole(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {f"k{k}": rng.integers(0, 10 ** (k % 6 + 1), n) for k in range(12)}


def mixed(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {
        **{f"x{k}": rng.normal(size=n) for k in range(2)},
        **{f"k{k}": rng.integers(0, 10 ** (k + 1), n) for k in range(3)},
        "level": rng.choice(["alpha", "beta", "gamma", "delta"], n),
        "day": np.datetime64("2020-01-01") + rng.integers(0, 1000, n),
        "moment": np.datetime64("2020-01-01T00:00:00", "ms") + 1000 * rng.integers(0, 10**8, n),
        "y": rng.choice(["yes", "no"], n),
    }


def late(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """The last row says that the columns are not what all rows before say."""
    table = mixed(rng, n)
    table["k0"] = [*map(str, table["k0"][:-1]), "none given"]
    table["k1"] = [*map(str, table["k1"][:-1]), "0.5"]
    return table


def slashes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    days = pl.Series(np.datetime64("2020-01-01") + rng.integers(0, 1000, n))
    return {**mixed(rng, n), "day": days.dt.strftime("%d/%m/%Y")}


TABLES: dict[str, tuple[str, Callable[[np.random.Generator, int], dict[str, Any]]]] = {
    "numbers": ("6 columns of decimals", numbers),
    "whole": ("12 columns of whole numbers", whole),
    "mixed": ("numbers, text, dates, times", mixed),
    "late": ("the same; its last row changes two types", late),
    "slashes": ("the same with dates such as 31/12/2024", slashes),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "opdt": read_frame,
    "opdt, types in pieces": lambda path: LocalScanner(path, 2).sources(),
    "polars": pl.read_csv,
    "polars, all rows, dates": lambda path: pl.read_csv(
        path, infer_schema_length=None, try_parse_dates=True
    ),
    "pandas": pd.read_csv,
}


def write_table(name: str, folder: Path, n_bytes: int) -> Path:
    """A file of about so many bytes."""
    path = folder / f"{name}.csv"
    make = TABLES[name][1]
    pl.DataFrame(make(np.random.default_rng(SEED), 10_000)).write_csv(path)
    n_rows = round(10_000 * n_bytes / path.stat().st_size)
    pl.DataFrame(make(np.random.default_rng(SEED), n_rows)).write_csv(path)
    return path


def measure(path: Path, repeats: int, slow: bool) -> dict[str, list[float]]:
    """Seconds of each reader, in turns; empty where a reader refuses the file."""
    seconds: dict[str, list[float]] = {name: [] for name in READERS}
    from opdt.scale import texts

    for turn in range(repeats + 1):
        for name, read in READERS.items():
            if name == "polars, all rows, dates" and (not slow or turn > 1):
                continue  # takes a minute
            texts._known.clear()
            started = time.perf_counter()
            try:
                read(path)
            except pl.exceptions.PolarsError:
                continue
            if turn:  # the first fills the file cache
                seconds[name].append(time.perf_counter() - started)
    return seconds


def grid(records: Sequence[Record]) -> Grid:
    """One line for each table."""

    def cell(record: Record, name: str) -> str:
        seconds = record["seconds"][name]
        return short(median(seconds)) if seconds else "refused"

    rows = []
    for record in records:
        ours, plain = (median(record["seconds"][name]) for name in ("opdt", "polars"))
        ratio = f"{ours / plain:.1f} ×" if record["seconds"]["polars"] else "–"
        times = [cell(record, name) for name in READERS if record["seconds"].get(name) is not None]
        rows.append((record["what"], f"{record['bytes'] / 1e6:.0f} MB", *times, ratio))
    return Grid(("table", "file", *READERS, "opdt / polars"), rows)


def run(asked: argparse.Namespace) -> None:
    """Measure and log."""
    log = Log(LOG, quick=asked.megabytes < 20, command=" ".join(sys.argv))
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.tables:
            path = write_table(name, Path(folder), round(asked.megabytes * 1e6))
            seconds = measure(path, asked.repeats, asked.slow)
            log.add(
                "reading", table=name, what=TABLES[name][0], seed=SEED, seconds=seconds,
                bytes=path.stat().st_size,
            )  # fmt: skip
            print(name, {reader: round(median(s), 3) for reader, s in seconds.items()}, flush=True)
            path.unlink()
    log.add("reading", end=True)


def page() -> str:
    """The table of the last run, and where it was taken."""
    measured = latest(read_log(LOG), "reading", quick=True)
    if measured is None:
        raise SystemExit("there are no figures yet")
    text = f"{grid(measured.records).markdown()}\n\n{machine_line(measured)}"
    machine = measured.run["machine"]
    if machine["load"] > machine["cores"]:
        text += (
            f" *Other work kept the machine busy (load {machine['load']:.0f} on "
            f"{machine['cores']} cores): compare the columns with each other only.*"
        )
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=88)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--slow", action="store_true", help="also the readers that take minutes")
    parser.add_argument("--last", action="store_true", help="show the last run, measure nothing")
    parser.add_argument("--publish", action="store_true", help="rewrite docs/performance.md")
    asked = parser.parse_args()
    if not asked.slow:
        READERS.pop("polars, all rows, dates")
    if not asked.last:
        run(asked)
    text = page()
    (RESULTS / "reading.md").write_text(text + "\n")
    if asked.publish:
        PAGE.write_text(replaced(PAGE.read_text(), "reading", text))
    print(text)


if __name__ == "__main__":
    main()
