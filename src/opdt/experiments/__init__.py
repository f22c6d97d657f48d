"""The paper's tables and figures: run again, beside the numbers it prints.

`EXPERIMENTS` lists them by name and `get_experiment` loads one; `run` measures what is missing in
a folder and `write_pages` writes its tables. `opdt reproduce` does both.
"""

from opdt.experiments.cell import Cell
from opdt.experiments.experiment import Experiment, ExperimentSettings, Results
from opdt.experiments.output import write_pages
from opdt.experiments.registry import EXPERIMENTS, get_experiment
from opdt.experiments.runner import read_results, run

__all__ = [
    "EXPERIMENTS",
    "Cell",
    "Experiment",
    "ExperimentSettings",
    "Results",
    "get_experiment",
    "read_results",
    "run",
    "write_pages",
]
