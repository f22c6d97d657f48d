"""Other rule learners, to compare with."""

from opdt.baselines.rules import rrules, rscrules, rules

__all__ = ["rrules", "rscrules", "rules"]
