"""Class labels and row weights, checked and coded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.table.columns import check_finite, code_values
from opdt.table.kinds import Kind
from opdt.table.raw import BadRows, Raw


def code_labels(raw: Raw, *, fixed_width: bool = False) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the class codes of all rows and the sorted distinct classes.

    Parameters
    ----------
    raw : Raw
        The labels as they came, at least one.
    fixed_width : bool
        Whether they came as NumPy's fixed-width text; the classes then have that type too.

    Returns
    -------
    labels : ndarray of int32 of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
        bool, int64, uint64, float64 (whole numbers only) or text.
    """
    if raw.missing is not None:
        raise BadRows("Input y contains NaN or another missing label", raw.missing, "; drop them.")
    kind = raw.values.dtype.kind
    if kind == "M":
        raise InputError("y holds dates; labels must be text, whole numbers or booleans.")
    if kind == "f":
        check_finite(raw.values, "Input y")
        if (raw.values != np.floor(raw.values)).any():
            raise InputError(
                "y has fractions (Unknown label type: continuous), so this looks like a "
                "regression target; cut it into classes first."
            )
    labels, classes = code_values(raw, Kind.CATEGORICAL if kind in "Ob" else Kind.NUMERIC, "y")
    if kind == "b":
        classes = classes.astype(bool)
    elif fixed_width:
        classes = classes.astype(str)
    if len(classes) < 2:
        only = classes.tolist()[0]
        raise InputError(
            f"y has only one class, {only!r}; a rule tells at least two classes apart."
        )
    labels.setflags(write=False)
    classes.setflags(write=False)
    return labels, classes


def one_class(name: str, n_rows: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Codes and classes of rows that have no labels: all are of the class `name`."""
    labels, classes = np.zeros(n_rows, np.int32), np.array([name], dtype=object)
    labels.setflags(write=False)
    classes.setflags(write=False)
    return labels, classes


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return row weights as a read-only float64 copy, or None when none are given."""
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers, one for each row.") from None
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight must have one number for each of the {n_rows} rows of X, "
            f"got the shape {weights.shape}."
        )
    if not np.isfinite(weights).all():
        row = int((~np.isfinite(weights)).argmax())
        raise InputError(f"sample_weight must be finite, got {weights[row]} at row {row}.")
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise InputError(f"sample_weight must not be negative, got {weights[row]} at row {row}.")
    if not weights.any():
        raise InputError("sample_weight is zero in every row; give some rows a positive weight.")
    weights.setflags(write=False)
    return weights
