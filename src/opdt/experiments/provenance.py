"""On what a run was measured: machine, versions, data and settings, in `run.json`."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from opdt.datasets.fetch import raw_bytes
from opdt.datasets.registry import find
from opdt.errors import InputError
from opdt.experiments.cell import Cell
from opdt.experiments.experiment import ExperimentSettings
from opdt.experiments.registry import FIXED_DATASETS

FILE = "run.json"
_PACKAGES = (
    "opdt",
    "numpy",
    "pandas",
    "scikit-learn",
    "numba",
    "wittgenstein",
    "imodels",
    "highspy",
    "pyscipopt",
    "lightgbm",
)


def note_run(
    out: Path, settings: ExperimentSettings, names: Iterable[str], jobs: int, cells: Iterable[Cell]
) -> None:
    """Add this run to `run.json`; a folder measured on other data is refused.

    The checksum of every raw file is kept, because the name of a dataset alone does not say what
    a cell was measured on.
    """
    path = out / FILE
    known = read_runs(out)
    data = dict(known.get("data", {}))
    names_of_cells = (c.get("dataset", FIXED_DATASETS.get(c.kind)) for c in cells)
    for name in filter(None, dict.fromkeys(names_of_cells)):
        found = sha256(raw_bytes(find(name), None)).hexdigest()
        if data.setdefault(name, found) != found:
            raise InputError(
                f"{str(out)!r} holds cells that were measured on another file of dataset "
                f"{name!r}; choose another folder."
            )
    this = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "experiments": list(names),
        "settings": asdict(settings),
        "jobs": jobs,
        "machine": machine(),
        "versions": versions(),
    }
    draft = path.with_name(path.name + ".part")
    content = {"runs": [*known.get("runs", []), this], "data": data}
    draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def read_runs(out: Path) -> dict[str, Any]:
    """The content of `run.json`: `runs`, oldest first, and the checksums `data`; empty if none."""
    path = out / FILE
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content["runs"], list) or not isinstance(content["data"], dict):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{str(path)!r} is damaged; remove it if the data have not changed since, or choose "
            "another folder."
        ) from None
    return dict(content)


def machine() -> dict[str, Any]:
    """Processor, its number of cores, system and Python."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Versions of the packages that have a say in the results."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
