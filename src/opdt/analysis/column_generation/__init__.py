"""Rule sets by column generation, with the exact search as the pricing oracle."""

from opdt.analysis.column_generation.solution import RuleSetSolution, best_rule_set

__all__ = ["RuleSetSolution", "best_rule_set"]
