"""The fifteen datasets of the paper, in the order of its dataset table."""

from __future__ import annotations

from difflib import get_close_matches

from opdt.datasets import clinic, finance, health
from opdt.datasets.source import DatasetSource
from opdt.errors import InputError

SOURCES: dict[str, DatasetSource] = {
    source.name: source
    for source in (
        finance.AUSTRALIAN,
        finance.GERMAN,
        health.BLOOD_TRANSFUSION,
        health.BREAST_CANCER,
        health.CHRONIC_KIDNEY,
        health.EARLY_STAGE_DIABETES,
        clinic.ECHOCARDIOGRAM,
        health.FERTILITY,
        clinic.HEART_DISEASE,
        clinic.HEART_FAILURE,
        clinic.HEPATITIS,
        health.INDIAN_LIVER,
        health.PARKINSONS,
        clinic.PIMA,
        clinic.THORACIC_SURGERY,
    )
}


def names() -> list[str]:
    """Return the names of the fifteen datasets in the order of the paper's table."""
    return list(SOURCES)


def find(name: str) -> DatasetSource:
    """Return the declaration of dataset `name`; InputError if there is none."""
    if name in SOURCES:
        return SOURCES[name]
    close = get_close_matches(str(name), SOURCES, n=2, cutoff=0.4)
    hint = " or ".join(map(repr, close)) if close else ", ".join(SOURCES)
    raise InputError(
        f"'name' of a dataset must be one of opdt.datasets.names(), got {name!r}; "
        f"did you mean {hint}?"
    )
