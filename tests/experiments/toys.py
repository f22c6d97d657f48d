"""Measurements that take no time and have known answers, and small stand-ins for raw files."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from opdt.errors import InputError
from opdt.experiments.cell import Cell
from opdt.experiments.experiment import Experiment, Results
from opdt.experiments.tables import Entry, PaperComparison, TableColumn

DONE: list[int] = []  # what was measured, in this order
BROKEN: set[int] = set()  # what fails


def measure(cell):
    if cell["x"] in BROKEN:
        raise InputError(f"there is no double of {cell['x']}.")
    DONE.append(cell["x"])
    return {"double": 2 * cell["x"]}


def divide(cell):
    return {"quotient": 1 / cell["x"]}


def interrupted(cell):
    """Like an engine, answers Ctrl-C with what it has so far."""
    if cell["x"] == 3:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            return {"double": -1}
    return measure(cell)


def toy(n=5, kind="toy", name="toys"):
    def tables(results: Results):
        entries = {
            str(cell["x"]): [
                Entry("", "", "double", (results.record(kind, x=cell["x"]) or {}).get("double"))
            ]
            for cell in results.cells
        }
        return [PaperComparison("Doubles", (TableColumn("double", 0),), entries, corner="x")]

    cells = [Cell.of(kind, x=x) for x in range(n)]
    return Experiment(name, "Doubles of numbers", "Table 0", lambda settings: cells, tables)


def write_small_data(folder: Path, n_rows: int = 40) -> Path:
    """Files like those of two datasets: few rows, and classes that a rule of two conditions tells.

    In Blood Transfusion "yes" is `months_since_last < 5 and donations >= 4`, but for every
    eleventh row; in Pima, "diabetic" is `glucose >= 120 and bmi >= 30` without exception.
    """
    folder.mkdir(parents=True, exist_ok=True)
    blood, pima = ["a,b,c,d,e"], []
    for i in range(n_rows):
        months, donations, weight, age = i * 7 % 13, i * 5 % 11, i % 3, i * 3 % 17
        yes = (months < 5 and donations >= 4) != (i % 11 == 10)
        blood.append(f"{months},{donations},{weight},{age},{int(yes)}")
        glucose, bmi = 80 + i * 37 % 90, 20 + i * 11 % 23
        ill = glucose >= 120 and bmi >= 30
        pima.append(f"{i % 4},{glucose},70,20,{i % 5},{bmi},0.5,{30 + i % 9},{int(ill)}")
    (folder / "transfusion.data").write_text("\n".join(blood) + "\n")
    (folder / "pima-indians-diabetes.data").write_text("\n".join(pima) + "\n")
    return folder


def stop(cell):
    """Ctrl-C after the first measurement."""
    if DONE:
        raise KeyboardInterrupt
    DONE.append(1)
    return {"double": 2}
