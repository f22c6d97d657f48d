"""Experiments and measurements by name, listed without importing any of them."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from opdt.errors import InputError
from opdt.experiments.experiment import Experiment

# In the order of the paper. The value is "module:NAME" of an Experiment.
EXPERIMENTS: dict[str, str] = {
    "trees": "opdt.experiments.trees:EXPERIMENT",
    "datasets": "opdt.experiments.dataset_table:EXPERIMENT",
    "structures": "opdt.experiments.structures:EXPERIMENT",
    "improvement": "opdt.experiments.improvement:EXPERIMENT",
    "enhancements": "opdt.experiments.enhancements:EXPERIMENT",
    "training": "opdt.experiments.comparison:TRAINING",
    "solution_time": "opdt.experiments.solution_time:EXPERIMENT",
    "test": "opdt.experiments.comparison:TEST",
    "sensitivity": "opdt.experiments.sensitivity:EXPERIMENT",
    "appendix": "opdt.experiments.comparison:APPENDIX",
    "importance": "opdt.experiments.importance:EXPERIMENT",
}

# The function of each kind of cell: "module:function", which takes the cell and returns a record.
MEASURES: dict[str, str] = {
    "dataset": "opdt.experiments.dataset_table:measure",
    "tree": "opdt.experiments.trees:measure",
    "structure": "opdt.experiments.structures:measure",
    "improvement": "opdt.experiments.improvement:measure",
    "rule": "opdt.experiments.measure_rule:measure",
    "sensitivity": "opdt.experiments.sensitivity:measure",
    "importance": "opdt.experiments.importance:measure",
}

# The dataset of kinds whose cells all use the same one, and so do not name it.
FIXED_DATASETS = {
    "tree": "hepatitis",
    "improvement": "german",
    "sensitivity": "hepatitis",
    "importance": "german",
}


def get_experiment(name: str) -> Experiment:
    """The experiment of this name; InputError if there is none."""
    if name not in EXPERIMENTS:
        close = get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(EXPERIMENTS)}."
        raise InputError(f"experiment {name!r} is not known; {hint}")
    module, _, attribute = EXPERIMENTS[name].partition(":")
    experiment: Experiment = getattr(import_module(module), attribute)
    return experiment
