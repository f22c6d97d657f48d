"""The cells of a file as a certificate names them: the reader that the checker is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from opdt.certificates.certificate import Certificate
from opdt.certificates.claims import Cells, text_of
from opdt.errors import InputError
from opdt.table import Cleaning, Source


def read_source(certificate: Certificate, source: Source, target: Any = None) -> Cells:
    """The columns that a certificate speaks of, cleaned as they were when it was made.

    `target` is the column of the classes, where the data have another name for it, or the classes
    themselves.
    """
    try:
        problem = certificate.data["problem"]
        features = [(of["name"], of["kind"], of["cleaning"]) for of in problem["features"]]
        name = str(problem["target"])
    except (KeyError, TypeError) as error:
        raise InputError(
            f"the certificate does not say which columns it is about: {error}."
        ) from None
    cells: Cells = {column: _read(source, column, *rest) for column, *rest in features}
    if target is None or isinstance(target, str):
        cells[name] = _read(source, name if target is None else target, "level", {})
    else:
        cells[name] = [text_of(label) for label in np.asarray(target).tolist()]
    return cells


def _read(source: Source, name: str, kind: str, cleaning: Any) -> Any:
    if name not in source.names:
        raise InputError(
            f"the certificate is about a column {name!r}, which the data do not have; "
            "name the column of the classes with 'target' if it has another name."
        )
    raw = source.column(source.names.index(name))
    if cleaning:
        raw, _ = Cleaning.from_dict(cleaning, "the certificate").apply(raw)
    values, missing = raw.values, raw.mask
    if kind == "level":
        return [
            None if gone else text_of(v) for v, gone in zip(values.tolist(), missing, strict=True)
        ]
    if values.dtype.kind == "M":
        return np.where(missing, np.datetime64("NaT"), values)
    if values.dtype.kind == "f":
        return np.where(missing, np.nan, values)
    if not missing.any():
        return values.astype(np.int64) if values.dtype.kind == "b" else values
    return [None if gone else v for v, gone in zip(values.tolist(), missing, strict=True)]
