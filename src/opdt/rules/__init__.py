"""Rules and conditions: frozen data, with text, JSON and other languages as views."""

from opdt.rules.condition import Condition, Op
from opdt.rules.rule import Rule
from opdt.rules.rule_json import AnyRule, read_rule, rule_from_dict, rule_to_dict, write_rule
from opdt.rules.rule_list import RuleList
from opdt.rules.rule_set import RuleSet

__all__ = [
    "AnyRule",
    "Condition",
    "Op",
    "Rule",
    "RuleList",
    "RuleSet",
    "read_rule",
    "rule_from_dict",
    "rule_to_dict",
    "write_rule",
]
