"""Find the single best rule in a table, and prove that it is the best."""

from __future__ import annotations

import importlib
import typing

from opdt.discover import discover
from opdt.engines import engine_names
from opdt.errors import (
    EngineFailure,
    EngineUnavailable,
    InputError,
    OpdtError,
    OpdtWarning,
    UnsupportedProblem,
)
from opdt.problem import Constraints, FeatureGroups, Structure, read_structure, write_structure
from opdt.report import RuleReport, rule_report, vi_index
from opdt.rules import Condition, Rule, read_rule, write_rule
from opdt.solution import Budget, Solution, Status
from opdt.table import Table

if typing.TYPE_CHECKING:
    from opdt.engines.bsccart import BSCCARTEngine
    from opdt.engines.exhaustive import ExhaustiveEngine
    from opdt.engines.mip import MIPEngine
    from opdt.engines.rscrules import RSCRULESEngine
    from opdt.engines.search import SearchEngine, Searcher
    from opdt.estimators import OPDTClassifier

__version__ = "0.1.0"

__all__ = [
    "BSCCARTEngine",
    "Budget",
    "Condition",
    "Constraints",
    "EngineFailure",
    "EngineUnavailable",
    "ExhaustiveEngine",
    "FeatureGroups",
    "InputError",
    "MIPEngine",
    "OPDTClassifier",
    "OpdtError",
    "OpdtWarning",
    "RSCRULESEngine",
    "Rule",
    "RuleReport",
    "SearchEngine",
    "Searcher",
    "Solution",
    "Status",
    "Structure",
    "Table",
    "UnsupportedProblem",
    "__version__",
    "discover",
    "engine_names",
    "read_rule",
    "read_structure",
    "rule_report",
    "vi_index",
    "write_rule",
    "write_structure",
]

# scikit-learn and Numba take most of a second to import, so they wait until they are asked for.
_LATER = {
    "BSCCARTEngine": "opdt.engines.bsccart",
    "ExhaustiveEngine": "opdt.engines.exhaustive",
    "MIPEngine": "opdt.engines.mip",
    "OPDTClassifier": "opdt.estimators",
    "RSCRULESEngine": "opdt.engines.rscrules",
    "SearchEngine": "opdt.engines.search",
    "Searcher": "opdt.engines.search",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'opdt' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
