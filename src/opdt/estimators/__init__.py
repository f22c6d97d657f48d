"""scikit-learn estimators: thin wrappers around `opdt.discover`."""

from opdt.estimators.classifier import OPDTClassifier

__all__ = ["OPDTClassifier"]
