"""What scikit-learn may hand to an estimator, checked by scikit-learn's own rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from opdt.errors import InputError
from opdt.problem import class_code
from opdt.problem.arguments import is_partitioned
from opdt.problem.lifting import RAREST
from opdt.table import Table, column_names, read_frame
from opdt.table.frames import check_rows, from_values
from opdt.table.kinds import unknown_column
from opdt.table.labels import check_weights, code_labels
from opdt.table.origin import pass_on


def is_frame(X: Any) -> bool:
    """Whether X is a data frame that is read by column, rather than turned into an array."""
    return bool(nw.dependencies.is_into_dataframe(X))


def check_fit(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """X and y for a fit; frames and sparse matrices stay, anything else becomes a 2-D array.

    Sets `n_features_in_`, and `feature_names_in_` where X has names. What the values may be is
    checked by the table, which allows more than scikit-learn does.
    """
    if is_partitioned(X):
        raise InputError(
            f"{type(estimator).__name__} needs its rows in memory; OPDTClassifier fits files, dask "
            "and Spark frames."
        )
    X = as_rows(X)
    check_rows(X, y, "y")
    validate_data(estimator, X, y, skip_check_array=True)
    if not is_frame(X):
        X = check_array(X, input_name="X", estimator=estimator, **_ARRAY)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    return X, y


def check_predict(estimator: Any, X: Any, needed: Sequence[str]) -> tuple[Any, bool]:
    """X for a prediction, and whether its columns go by name rather than by position.

    scikit-learn wants every column of the fit in its order. A rule is content with its own
    columns, so a frame is refused (with scikit-learn's message) only when one of those is
    missing, or when all columns of the fit are there in another order.
    """
    X = as_rows(X)
    if not is_frame(X):
        return validate_data(estimator, X, reset=False, **_ARRAY), False
    fitted = getattr(estimator, "feature_names_in_", None)
    names = set(column_names(X))
    by_name = fitted is not None and names.issuperset(needed)
    if fitted is None or not by_name or names == set(fitted):
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return X, by_name


def read_rows(path: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """The features of a file, and labels and weights by the names of their columns."""
    whole = read_frame(path)
    frame = nw.from_native(whole, eager_only=True)
    columns = []
    for name in (y, sample_weight):
        if isinstance(name, str) and name not in frame.columns:
            raise unknown_column(name, tuple(frame.columns))
        columns.append(frame[name].to_numpy() if isinstance(name, str) else name)
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    features = frame.drop(named).to_native()
    pass_on(whole, features)
    return features, *columns


def weighed(
    estimator: Any, y: NDArray[Any], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64] | None, Any]:
    """Row weights times those of the classes, and the class that the estimator's label means.

    The rarest class is that of the rows as they came: balanced classes all weigh the same.
    """
    asked, label = estimator.class_weight, estimator.label
    if asked is None:
        return weights, label
    if not isinstance(asked, Mapping) and not (isinstance(asked, str) and asked == "balanced"):
        raise InputError(
            "'class_weight' must be 'balanced', a mapping of class to weight, or None, "
            f"got {asked!r}."
        )
    if isinstance(label, str) and label == RAREST:
        labels, classes = code_labels(from_values(y, "y"), fixed_width=y.dtype.kind == "U")
        label = classes[class_code(Table((), labels, classes, weights), RAREST)]
    factors = _balanced(y, weights) if isinstance(asked, str) else _given(asked, y)
    return check_weights(factors if weights is None else factors * weights, len(y)), label


def _balanced(y: NDArray[Any], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Factors with which all classes weigh the same, and all rows together what they did.

    Unlike scikit-learn's, they know the weights of the rows: one of weight two is two rows.
    """
    known, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weights, len(known))
    share = totals.sum() / np.count_nonzero(totals)
    factors: NDArray[np.float64] = np.divide(
        share, totals, out=np.zeros(len(known)), where=totals > 0
    )[codes]
    return factors


def _given(asked: Mapping[Any, float], y: NDArray[Any]) -> NDArray[np.float64]:
    """The factor of each row's class; classes that are not named have one."""
    values = y.tolist()
    for label in asked:
        if label not in set(values):
            raise InputError(f"'class_weight' names class {label!r}, which is not in y.")
    try:
        return np.array([asked.get(label, 1.0) for label in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"'class_weight' must map classes to numbers, got {dict(asked)!r}."
        ) from None


def take_rows(X: Any, keep: NDArray[np.bool_]) -> Any:
    """The rows of X, a frame, an array or a sparse matrix, where `keep` is true."""
    if is_frame(X):
        return nw.from_native(X, eager_only=True).filter(keep.tolist()).to_native()
    return (X.tocsr() if issparse(X) else X)[keep]


def as_rows(X: Any) -> Any:
    """Lists of rows with text as an array of objects; NumPy would make text of the numbers.

    A mapping of columns becomes a data frame, which is what scikit-learn can check.
    """
    if isinstance(X, Mapping) and not issparse(X):  # one kind of sparse matrix is a mapping, too
        return _as_frame(X)
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        return np.array(X, dtype=object)
    return X


def _as_frame(X: Mapping[str, Any]) -> Any:
    for package in ("pandas", "polars", "pyarrow"):
        if find_spec(package) is not None:
            columns = {str(name): _cells(values) for name, values in X.items()}
            return nw.from_dict(columns, backend=package).to_native()
    raise InputError(
        "X is a mapping of columns, which an estimator can only take as a data frame; install "
        "pandas, polars or pyarrow, or pass an array."
    )


def _cells(values: Any) -> Any:
    """Cells as a list; pandas' own arrays as they are, which know whole numbers with gaps."""
    array = getattr(values, "array", values)  # of a series, without its index
    return array if hasattr(array, "isna") else np.asarray(values).tolist()


# Text, missing values and sparse matrices are welcome; infinite values and 1-D input are not.
_ARRAY: dict[str, Any] = {
    "dtype": None,
    "ensure_all_finite": "allow-nan",
    "accept_sparse": ["csr", "csc", "coo"],
}
