"""What every benchmark needs: the machine, a log that survives a kill, medians, tables."""

from __future__ import annotations

import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from opdt.solution import Budget

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
VENVS = HERE / ".venvs"
PACKAGES = ("opdt", "numpy", "numba", "pandas", "scikit-learn", "scipy", "highspy")

Record = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What the command line asks for."""

    quick: bool
    data: Path | None
    datasets: tuple[str, ...]
    threads: int
    w: float
    splits: int
    splits4: int
    limit4: float
    rivals: tuple[str, ...]
    rival_limit: float
    rounds: int
    rows: int
    features: int
    sets: tuple[str, ...]
    large_limit: float
    series: tuple[str, ...]
    scaling_limit: float
    scaling_rows: int
    seeds: int


# -- the machine -----------------------------------------------------------------------------


def machine() -> Record:
    """Processor, cores this process may use, memory, and how busy the machine is."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": _cpu(),
        "cores": Budget().n_threads,
        "memory_gb": round(pages * size / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> dict[str, str]:
    """Versions of the packages that matter, and the commit measured."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    shown = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    if shown.returncode == 0:
        found["commit"] = shown.stdout.strip()
    return found


# -- the log ---------------------------------------------------------------------------------


class Log:
    """Appends records to a file of JSON lines, each on disk before the next is measured."""

    def __init__(self, path: Path, *, quick: bool, command: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.run = path, time.strftime("%Y-%m-%dT%H:%M:%S")
        self.add("run", quick=quick, command=command, machine=machine(), versions=versions())

    def add(self, section: str, **fields: Any) -> None:
        """Write one record."""
        record = {"section": section, "run": self.run, **fields}
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_log(path: Path) -> list[Record]:
    """All whole records; a last line cut off by a kill is passed over."""
    records = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


@dataclass(frozen=True)
class Measured:
    """The records of one section of one run."""

    run: Record
    records: list[Record]
    complete: bool


def latest(log: Sequence[Record], section: str, *, quick: bool = False) -> Measured | None:
    """The last run of a section that came to its end; else the last that was cut short."""
    runs = {r["run"]: r for r in log if r["section"] == "run" and (quick or not r["quick"])}
    mine = [r for r in log if r["section"] == section and r["run"] in runs]
    ended = [r["run"] for r in mine if r.get("end")]
    if not mine:
        return None
    chosen = ended[-1] if ended else mine[-1]["run"]
    records = [r for r in mine if r["run"] == chosen and not r.get("end")]
    return Measured(runs[chosen], records, bool(ended))


# -- time ------------------------------------------------------------------------------------


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """The median of the seconds that some calls take, and what the last one returns."""
    seconds, result = [], None
    for _ in range(repeats):
        started = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), result


def python_child(
    script: Path, *arguments: str, python: str = sys.executable, **environment: str
) -> Record:
    """The record that a script prints as its last line, run in a process of its own."""
    done = subprocess.run(
        [python, str(script), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{script.name} failed:\n{done.stderr}")
    record: Record = json.loads(done.stdout.strip().splitlines()[-1])
    return record


def own_python(name: str, *packages: str) -> str:
    """The interpreter of a virtual environment with these packages, made if it is not there."""
    folder = VENVS / name
    python, stamp = folder / "bin" / "python", folder / ".installed"
    if not stamp.exists() or stamp.read_text() != " ".join(packages):
        print(f"installing {', '.join(packages)} into {folder.relative_to(ROOT)} (once)")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        done = subprocess.run([*install, *packages], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{', '.join(packages)} could not be installed:\n{done.stderr}")
        stamp.write_text(" ".join(packages))
    return str(python)


# -- tables ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """A table of words, for Markdown and CSV."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    n_words: int = 1  # leading columns of words; those of numbers stand to the right

    def markdown(self) -> str:
        """The table for a page."""
        marks = ["---" if i < self.n_words else "---:" for i in range(len(self.header))]
        lines = [self.header, marks, *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def write_csv(self, path: Path) -> None:
        """The table for a spreadsheet."""
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([self.header, *self.rows])


def short(seconds: float) -> str:
    """A time with its unit and three digits."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e6:.3g} µs"


def median(values: Sequence[float]) -> float:
    """The median; NaN of nothing."""
    return statistics.median(values) if values else float("nan")
