"""What a rule is worth on a table, in numbers and in text."""

from opdt.report.metrics import RuleReport, coverage, precision, rule_report, vi_index
from opdt.report.report import Report, report
from opdt.report.text import describe_solution

__all__ = [
    "Report",
    "RuleReport",
    "coverage",
    "describe_solution",
    "precision",
    "report",
    "rule_report",
    "vi_index",
]
