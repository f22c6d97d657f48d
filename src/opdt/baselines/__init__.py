"""Other rule learners, to compare with.

`BASELINES` lists them by name, `get_baseline` builds one, and `best_rule` takes the best of its
rules by VI. `pysubgroup` is not among them: it demands an older NumPy than this library does.
"""

from opdt.baselines.base import Baseline, best_rule
from opdt.baselines.registry import BASELINES, available_baselines, get_baseline
from opdt.baselines.rules import rrules, rscrules, rules

__all__ = [
    "BASELINES",
    "Baseline",
    "available_baselines",
    "best_rule",
    "get_baseline",
    "rrules",
    "rscrules",
    "rules",
]
