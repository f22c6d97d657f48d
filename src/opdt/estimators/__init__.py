"""scikit-learn estimators: thin wrappers around `opdt.discover`."""

from opdt.estimators.classifier import OPDTClassifier
from opdt.estimators.classifier_cv import OPDTClassifierCV
from opdt.estimators.regressor import OPDTRegressor
from opdt.estimators.rule_list import OPDTRuleList
from opdt.estimators.rule_set import OPDTRuleSet

__all__ = ["OPDTClassifier", "OPDTClassifierCV", "OPDTRegressor", "OPDTRuleList", "OPDTRuleSet"]
