"""The problem: what may be said (structure, constraints) and what it is worth (objective)."""

from opdt.objectives.gains import Gains, RowGains, VolumeImpurity
from opdt.problem.chains import Chain, Level, compile_chains
from opdt.problem.coded import CodedCondition, CodedRule, simplify
from opdt.problem.constraints import Constraints
from opdt.problem.groups import FeatureGroups
from opdt.problem.lifting import class_code
from opdt.problem.problem import Measure, Problem, RowLimits
from opdt.problem.segments import Parity, PerSegment, RowLimit
from opdt.problem.structure import Structure
from opdt.problem.structure_file import StructureFile, read_structure, write_structure

__all__ = [
    "Chain",
    "CodedCondition",
    "CodedRule",
    "Constraints",
    "FeatureGroups",
    "Gains",
    "Level",
    "Measure",
    "Parity",
    "PerSegment",
    "Problem",
    "RowGains",
    "RowLimit",
    "RowLimits",
    "Structure",
    "StructureFile",
    "VolumeImpurity",
    "class_code",
    "compile_chains",
    "read_structure",
    "simplify",
    "write_structure",
]
