"""scikit-learn estimators: thin wrappers around `opdt.discover`."""

from opdt.estimators.classifier import OPDTClassifier
from opdt.estimators.selection import OPDTClassifierCV

__all__ = ["OPDTClassifier", "OPDTClassifierCV"]
