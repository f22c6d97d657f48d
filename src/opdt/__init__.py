"""Find the single best rule in a table, and prove that it is the best."""

from __future__ import annotations

import importlib
import typing

from opdt.counts import RuleCounts
from opdt.discovery import discover
from opdt.engines import Engine, engine_names
from opdt.errors import (
    EngineFailure,
    EngineUnavailable,
    InputError,
    MemoryLimit,
    OpdtError,
    OpdtWarning,
    UnsupportedProblem,
)
from opdt.objectives import VI, Mean, Money, Objective, Survival, Uplift
from opdt.problem import (
    Constraints,
    FeatureGroups,
    Parity,
    PerSegment,
    Problem,
    Structure,
    read_structure,
    write_structure,
)
from opdt.report import RuleReport, rule_report, vi_index
from opdt.rules import Condition, Op, Rule, RuleList, RuleSet, read_rule, write_rule
from opdt.solution import Budget, Progress, Solution, Status
from opdt.table import Plan, Role, Table
from opdt.verdict import Verdict

if typing.TYPE_CHECKING:
    from opdt import baselines, datasets, plot
    from opdt.analysis.alternatives import diverse_rules, rashomon_set, top_rules
    from opdt.analysis.claims import Claim, claim
    from opdt.analysis.demands import DemandPath, coverage_path, precision_path
    from opdt.analysis.frontier import ParetoFrontier, pareto_frontier
    from opdt.analysis.groups import boruta_groups, correlation_groups, importance_groups
    from opdt.analysis.intervals import HoldoutReport, holdout_report
    from opdt.analysis.path import WeightPath, weight_path
    from opdt.analysis.permutation import PermutationTest, permutation_test
    from opdt.analysis.significant import SignificantRules, significant_rules
    from opdt.analysis.stability import Stability, stability
    from opdt.analysis.worth_frontier import WorthFrontier, worth_frontier
    from opdt.analysis.worth_path import WorthPath, worth_path
    from opdt.certificates import Certificate, certify
    from opdt.device.device_search import DeviceSearch, DeviceUse
    from opdt.engines.bsccart import BSCCARTEngine
    from opdt.engines.exhaustive import ExhaustiveEngine
    from opdt.engines.mip import MIPEngine
    from opdt.engines.rscrules import RSCRULESEngine
    from opdt.engines.search import SearchEngine, Searcher
    from opdt.estimators import (
        OPDTClassifier,
        OPDTClassifierCV,
        OPDTRegressor,
        OPDTRuleList,
        OPDTRuleSet,
    )

__version__ = "0.1.0"

__all__ = [
    "VI",
    "BSCCARTEngine",
    "Budget",
    "Certificate",
    "Claim",
    "Condition",
    "Constraints",
    "DemandPath",
    "DeviceSearch",
    "DeviceUse",
    "Engine",
    "EngineFailure",
    "EngineUnavailable",
    "ExhaustiveEngine",
    "FeatureGroups",
    "HoldoutReport",
    "InputError",
    "MIPEngine",
    "Mean",
    "MemoryLimit",
    "Money",
    "OPDTClassifier",
    "OPDTClassifierCV",
    "OPDTRegressor",
    "OPDTRuleList",
    "OPDTRuleSet",
    "Objective",
    "Op",
    "OpdtError",
    "OpdtWarning",
    "ParetoFrontier",
    "Parity",
    "PerSegment",
    "PermutationTest",
    "Plan",
    "Problem",
    "Progress",
    "RSCRULESEngine",
    "Role",
    "Rule",
    "RuleCounts",
    "RuleList",
    "RuleReport",
    "RuleSet",
    "SearchEngine",
    "Searcher",
    "SignificantRules",
    "Solution",
    "Stability",
    "Status",
    "Structure",
    "Survival",
    "Table",
    "UnsupportedProblem",
    "Uplift",
    "Verdict",
    "WeightPath",
    "WorthFrontier",
    "WorthPath",
    "__version__",
    "baselines",
    "boruta_groups",
    "certify",
    "claim",
    "correlation_groups",
    "coverage_path",
    "datasets",
    "discover",
    "diverse_rules",
    "engine_names",
    "holdout_report",
    "importance_groups",
    "pareto_frontier",
    "permutation_test",
    "plot",
    "precision_path",
    "rashomon_set",
    "read_rule",
    "read_structure",
    "rule_report",
    "significant_rules",
    "stability",
    "top_rules",
    "vi_index",
    "weight_path",
    "worth_frontier",
    "worth_path",
    "write_rule",
    "write_structure",
]

# scikit-learn and Numba take most of a second to import, so they wait until they are asked for.
_LATER = {
    "BSCCARTEngine": "opdt.engines.bsccart",
    "Certificate": "opdt.certificates",
    "Claim": "opdt.analysis.claims",
    "DemandPath": "opdt.analysis.demands",
    "DeviceSearch": "opdt.device.device_search",
    "DeviceUse": "opdt.device.device_search",
    "ExhaustiveEngine": "opdt.engines.exhaustive",
    "HoldoutReport": "opdt.analysis.intervals",
    "MIPEngine": "opdt.engines.mip",
    "OPDTClassifier": "opdt.estimators",
    "OPDTClassifierCV": "opdt.estimators",
    "OPDTRegressor": "opdt.estimators",
    "OPDTRuleList": "opdt.estimators",
    "OPDTRuleSet": "opdt.estimators",
    "ParetoFrontier": "opdt.analysis.frontier",
    "PermutationTest": "opdt.analysis.permutation",
    "RSCRULESEngine": "opdt.engines.rscrules",
    "SearchEngine": "opdt.engines.search",
    "Searcher": "opdt.engines.search",
    "SignificantRules": "opdt.analysis.significant",
    "Stability": "opdt.analysis.stability",
    "WeightPath": "opdt.analysis.path",
    "WorthFrontier": "opdt.analysis.worth_frontier",
    "WorthPath": "opdt.analysis.worth_path",
    "boruta_groups": "opdt.analysis.groups",
    "certify": "opdt.certificates",
    "claim": "opdt.analysis.claims",
    "correlation_groups": "opdt.analysis.groups",
    "coverage_path": "opdt.analysis.demands",
    "diverse_rules": "opdt.analysis.alternatives",
    "holdout_report": "opdt.analysis.intervals",
    "importance_groups": "opdt.analysis.groups",
    "pareto_frontier": "opdt.analysis.frontier",
    "permutation_test": "opdt.analysis.permutation",
    "precision_path": "opdt.analysis.demands",
    "rashomon_set": "opdt.analysis.alternatives",
    "significant_rules": "opdt.analysis.significant",
    "stability": "opdt.analysis.stability",
    "top_rules": "opdt.analysis.alternatives",
    "weight_path": "opdt.analysis.path",
    "worth_frontier": "opdt.analysis.worth_frontier",
    "worth_path": "opdt.analysis.worth_path",
}
_MODULES = ("baselines", "datasets", "plot")


def __getattr__(name: str) -> typing.Any:
    if name in _MODULES:
        return importlib.import_module(f"opdt.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'opdt' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
