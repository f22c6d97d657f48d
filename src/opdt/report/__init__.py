"""What a rule is worth on a table, in numbers and in text."""

from opdt.report.metrics import RuleReport, coverage, precision, rule_report, vi_index
from opdt.report.text import describe_solution

__all__ = [
    "RuleReport",
    "coverage",
    "describe_solution",
    "precision",
    "rule_report",
    "vi_index",
]
