"""Feature groups from the data themselves, for where no expert names them.

The paper's structures need groups of features. Its appendix takes them from the importance that
LightGBM gives the features; further sources are SHAP values, Boruta and clusters of correlated
features. Every function returns `FeatureGroups`; `groups.custom` is what `discover` takes::

    groups = importance_groups(X, y, limit=6)
    discover(X, y, groups=groups.custom, structure=["important_cat", "important_num"])

Importance and Boruta look at the labels. A rule found within such groups is still the proven best
of its structure on these rows, but a p-value or an estimate of precision computed on the same rows
is not honest, because the choice of features has already used their labels: choose groups on some
rows and test on others, or repeat the choice inside every permutation and every fold. Clusters do
not look at the labels and need no such care.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdt.analysis.groups_association import (
    associations,
    clusters,
    columns_of,
    representative,
)
from opdt.analysis.groups_boruta import CONFIRMED, REJECTED, TENTATIVE, Boruta, table_boruta
from opdt.analysis.groups_importance import (
    DEFAULT_ITERATIONS,
    METRICS,
    FeatureImportance,
    table_importance,
)
from opdt.checks import check_choice, check_int, check_share, check_share_or_end
from opdt.errors import InputError
from opdt.problem import FeatureGroups
from opdt.problem.arguments import resolve_table
from opdt.problem.groups import CATEGORICAL, NUMERIC
from opdt.table import Column, Kind

__all__ = [
    "Boruta",
    "FeatureImportance",
    "boruta",
    "boruta_groups",
    "correlation_groups",
    "feature_importance",
    "importance_groups",
]


def feature_importance(
    X: Any,
    y: Any = None,
    *,
    metric: str = "gain",
    iterations: int = DEFAULT_ITERATIONS,
    seed: int = 0,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
) -> FeatureImportance:
    """Return how much LightGBM leans on each feature to tell the classes apart.

    Parameters
    ----------
    X, y, sample_weight, roles
        As for `opdt.discover`; missing values and categories are used as they are.
    metric : {"gain", "split", "shap"}
        The total gain of the splits on a feature, the number of splits, or the mean over rows
        (and classes) of the absolute value of its exact TreeSHAP contribution.
    iterations : int
        Boosting iterations; 1,000 as in the paper. Everything else is LightGBM's default, but a
        leaf asks for at most a tenth of the rows of a table of fewer than 200.
    seed : int
        Of LightGBM's random choices.

    Examples
    --------
    >>> found = feature_importance(X, y, metric="shap")  # doctest: +SKIP
    >>> found.top(3)  # doctest: +SKIP
    ('checking_account', 'duration', 'credit_amount')
    """
    check_choice("metric", metric, METRICS)
    table = resolve_table(X, y, sample_weight, roles)
    rounds = check_int("iterations", iterations)
    return table_importance(table, [metric], rounds, check_int("seed", seed, 0))[0]


def importance_groups(
    X: Any,
    y: Any = None,
    *,
    limit: int = 6,
    metric: str = "both",
    iterations: int = DEFAULT_ITERATIONS,
    seed: int = 0,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
) -> FeatureGroups:
    """Return the features most important to LightGBM as a group, and the rest as another.

    Parameters
    ----------
    X, y, sample_weight, roles, iterations, seed
        As for `feature_importance`.
    limit : int
        The number of best features to take by each metric; one that no split uses is not taken.
    metric : {"both", "gain", "split", "shap"}
        What ranks the features; "both" takes the best by gain together with the best by split
        count, as the paper's appendix does.

    Returns
    -------
    FeatureGroups
        ``important`` and ``rest``, which part the features between them, and ``important_num``,
        ``important_cat``, ``rest_num``, ``rest_cat``. An empty group is left out.

    Notes
    -----
    The groups are chosen with the labels: see `opdt.analysis.groups` before reporting a p-value
    or a precision on the same rows.

    Examples
    --------
    >>> groups = importance_groups(X, y, limit=6)  # doctest: +SKIP
    >>> opdt.discover(X, y, groups=groups.custom,
    ...               structure=["important_cat", "important_num"])  # doctest: +SKIP
    """
    check_choice("metric", metric, ("both", *METRICS))
    number = check_int("limit", limit)
    table = resolve_table(X, y, sample_weight, roles)
    metrics = ("gain", "split") if metric == "both" else (metric,)
    rounds = check_int("iterations", iterations)
    found = table_importance(table, metrics, rounds, check_int("seed", seed, 0))
    chosen = {name for each in found for name in each.top(number)}
    if not chosen:
        raise InputError(
            f"no feature helps LightGBM to tell the classes of these {table.n_rows} rows apart, "
            "so none is important; use more rows, or groups of your own."
        )
    rest = [name for name in table.names if name not in chosen]
    return _groups(table.columns, {"important": sorted(chosen), "rest": rest})


def boruta(
    X: Any,
    y: Any = None,
    *,
    rounds: int = 100,
    trees: int = 100,
    alpha: float = 0.05,
    seed: int = 0,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
) -> Boruta:
    """Return which features matter at all to a random forest, by Boruta.

    In every round a LightGBM forest is grown on the features and on shadows, copies of them with
    the rows permuted; a feature hits when its total gain exceeds that of every shadow. Hits are
    tested against even odds by a two-sided binomial test at level alpha / (features × rounds),
    so that the chance of confirming any feature that hits at even odds or less, over all rounds,
    is at most alpha.

    Parameters
    ----------
    X, y, sample_weight, roles
        As for `opdt.discover`; missing values and categories are used as they are.
    rounds : int
        The most rounds; a feature undecided after them is tentative.
    trees : int
        Trees of each forest.
    alpha : float
        Level of significance, between 0 and 1.
    seed : int
        Of the permutations and the forests.

    Returns
    -------
    Boruta
        Decision, hits and rounds of every feature.
    """
    check_share("alpha", alpha)
    table = resolve_table(X, y, sample_weight, roles)
    return table_boruta(
        table,
        rounds=check_int("rounds", rounds),
        trees=check_int("trees", trees),
        alpha=float(alpha),
        seed=check_int("seed", seed, 0),
    )


def boruta_groups(
    X: Any,
    y: Any = None,
    *,
    rounds: int = 100,
    trees: int = 100,
    alpha: float = 0.05,
    seed: int = 0,
    sample_weight: Any = None,
    roles: Mapping[str, str] | None = None,
) -> FeatureGroups:
    """Return the features that Boruta confirms, rejects and leaves open as groups.

    Parameters
    ----------
    X, y, rounds, trees, alpha, seed, sample_weight, roles
        As for `boruta`.

    Returns
    -------
    FeatureGroups
        ``confirmed``, ``tentative`` and ``rejected``, which part the features among them, and
        the numeric and categorical features of each, as ``confirmed_num`` and ``confirmed_cat``.
        An empty group is left out.

    Notes
    -----
    The groups are chosen with the labels: see `opdt.analysis.groups` before reporting a p-value
    or a precision on the same rows. Boruta's own test is of a feature's use to a forest, not of
    any rule.
    """
    table = resolve_table(X, y, sample_weight, roles)
    found = boruta(table, rounds=rounds, trees=trees, alpha=alpha, seed=seed)
    decisions = (CONFIRMED, TENTATIVE, REJECTED)
    return _groups(table.columns, {decision: found.of(decision) for decision in decisions})


def correlation_groups(
    X: Any, *, threshold: float = 0.7, roles: Mapping[str, str] | None = None
) -> FeatureGroups:
    """Return clusters of features that go together, found without the labels.

    Two conditions on features of one cluster say nearly the same thing; a structure that takes
    its levels from different clusters avoids that, and ``representatives`` is a smaller table
    that keeps one feature of each.

    Parameters
    ----------
    X : Table, or data as for `opdt.discover`
        Features only: leave the column of labels out.
    threshold : float
        Every two features of a cluster are associated at least this much, from 0 to 1: by
        Spearman's rank correlation in absolute value (two numeric features), corrected Cramér's
        V (two categorical ones), or the root of epsilon squared (one of each). Rows with a
        missing value in either feature are left out of a pair.
    roles : mapping of column to role, optional

    Returns
    -------
    FeatureGroups
        ``cluster_1``, ``cluster_2``, … in the order of their first features, which part the
        features among them, and ``representatives``: of each cluster the feature most
        associated with the others.

    Examples
    --------
    >>> groups = correlation_groups({"cm": [1, 2, 3, 4], "inch": [0.4, 0.8, 1.2, 1.6],
    ...                              "kg": [3, 1, 4, 2]})
    >>> groups.custom["cluster_1"], groups.custom["representatives"]
    (('cm', 'inch'), ('cm', 'kg'))
    """
    check_share_or_end("threshold", threshold)
    columns = columns_of(X, roles)
    matrix = associations(columns)
    found = clusters(matrix, float(threshold))
    named = {
        f"cluster_{number}": [columns[j].name for j in cluster]
        for number, cluster in enumerate(found, start=1)
    }
    named["representatives"] = [columns[representative(matrix, c)].name for c in found]
    return _groups(columns, named, by_kind=False)


def _groups(
    columns: Sequence[Column], named: Mapping[str, Sequence[str]], *, by_kind: bool = True
) -> FeatureGroups:
    """Groups by name, each followed by its numeric and categorical members; no empty ones."""
    kind = {column.name: column.kind for column in columns}
    groups: dict[str, Sequence[str]] = {}
    for group, members in named.items():
        groups[group] = members
        if by_kind:
            for suffix, wanted in ((NUMERIC, Kind.NUMERIC), (CATEGORICAL, Kind.CATEGORICAL)):
                groups[f"{group}_{suffix}"] = [m for m in members if kind[m] is wanted]
    return FeatureGroups.of(
        list(kind),
        [j for j, column in enumerate(columns) if column.kind is Kind.NUMERIC],
        [j for j, column in enumerate(columns) if column.kind is Kind.CATEGORICAL],
        {group: members for group, members in groups.items() if members},
    )
