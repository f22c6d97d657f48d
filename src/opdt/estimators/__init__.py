"""scikit-learn estimators: thin wrappers around `opdt.discover`."""

from opdt.estimators.classifier import OPDTClassifier
from opdt.estimators.rule_list import OPDTRuleList
from opdt.estimators.rule_set import OPDTRuleSet
from opdt.estimators.selection import OPDTClassifierCV

__all__ = ["OPDTClassifier", "OPDTClassifierCV", "OPDTRuleList", "OPDTRuleSet"]
