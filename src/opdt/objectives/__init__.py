"""What a rule is to be best in, and what that makes a covered row worth."""

from opdt.objectives.estimate import Estimate
from opdt.objectives.gains import Gains, ObjectiveGains, RowGains, VolumeImpurity
from opdt.objectives.mean import Mean
from opdt.objectives.money import Money
from opdt.objectives.objective import Objective, TargetKind
from opdt.objectives.registry import KINDS, read_objective
from opdt.objectives.rows import BoundRows
from opdt.objectives.vi import VI
from opdt.objectives.words import Account, Words, words_of

__all__ = [
    "KINDS",
    "VI",
    "Account",
    "BoundRows",
    "Estimate",
    "Gains",
    "Mean",
    "Money",
    "Objective",
    "ObjectiveGains",
    "RowGains",
    "TargetKind",
    "VolumeImpurity",
    "Words",
    "read_objective",
    "words_of",
]
