"""Rules and conditions: frozen data, with text and JSON as views."""

from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule
from opdt.rules.rule_json import read_rule, rule_from_dict, rule_to_dict, write_rule

__all__ = [
    "Condition",
    "Op",
    "Rule",
    "read_rule",
    "rule_from_dict",
    "rule_to_dict",
    "write_rule",
]
