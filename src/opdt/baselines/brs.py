"""BRS, Bayesian rule sets (Wang and others 2017), by the package imodels."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from imodels import BayesianRuleSetClassifier
from numpy.typing import NDArray

from opdt.baselines.base import Baseline, cover, seeded
from opdt.checks import check_int_or_none
from opdt.engines.bins import DEFAULT_BINS, BinnedTable, check_bins
from opdt.rules import Condition, Op, Rule
from opdt.table import Kind, Table

MAX_CONDITIONS = 2


@dataclass(frozen=True)
class BRS(Baseline):
    """The rule set of greatest posterior that simulated annealing finds, for each class in turn.

    Features are binarised: a numeric one into ``x >= edge`` for the inner edges of its bins, a
    categorical one into its levels, each with its opposite. Candidates are all rules of at most
    two such conditions with enough support in the class, as in the authors' own program; the
    package would sample them from thousands of random trees, and its other way fails on current
    versions of its mining package. The screening by information and the annealing are the
    package's; its prior counts the possible rules anew, because the package counts opposites
    twice, and where the rules make no error its annealing breaks down and is kept in place.

    The package ignores the `random_state` it is given and draws from the global generators of
    NumPy and Python. They are seeded for the fit and put back afterwards.

    Parameters
    ----------
    seed : int
        For the annealing.
    n_rules : int
        Candidates that are kept for the annealing.
    min_support : float
        The share of the class's rows that a candidate must cover, in per cent.
    n_iterations, n_chains : int
        Length and number of annealing runs.
    bins : int
        Bins of equal width per numeric feature, whose inner edges become conditions.
    """

    name: ClassVar[str] = "brs"
    needs: ClassVar[tuple[str, ...]] = ("imodels", "six")

    seed: int = 0
    n_rules: int = 500
    min_support: float = 5.0
    n_iterations: int = 500
    n_chains: int = 2
    bins: int = DEFAULT_BINS

    def __post_init__(self) -> None:
        check_bins(self.bins)
        for name in ("n_rules", "n_iterations", "n_chains"):
            check_int_or_none(name, getattr(self, name))

    def _fit(self, table: Table) -> list[Rule]:
        items = Items.of(table, self.bins)
        if not items.names:
            return []
        found: list[Rule] = []
        for code, label in enumerate(table.classes):
            model = self.model(items, table.labels == code)
            for names in model.rules_:
                conditions = [items.conditions[at] for at in sorted(map(items.names.index, names))]
                found.append(Rule(conditions, label))
        return found

    def model(self, items: Items, wanted: NDArray[np.bool_]) -> BayesianRuleSetClassifier:
        """The package's classifier, fitted to one class; `rules_` are lists of names of items."""
        model = _FrequentRuleSets(
            n_rules=self.n_rules,
            supp=self.min_support,
            maxlen=MAX_CONDITIONS,
            num_iterations=self.n_iterations,
            num_chains=self.n_chains,
        )
        model.random_state = self.seed  # the constructor drops what it is given
        model.items = items
        with seeded(self.seed), suppress(_TooFew):
            model.fit(items.frame(), wanted.astype(int))
        return model


class Items(NamedTuple):
    """The conditions that binarised features offer: first as they are, then their opposites."""

    conditions: tuple[Condition, ...]
    names: tuple[str, ...]  # i0, i1, … and i0_neg, i1_neg, …, as the package calls them
    holds: NDArray[np.float32]  # (n_items, n_rows), 0 or 1; single for quick products

    @classmethod
    def of(cls, table: Table, bins: int) -> Self:
        """The conditions of a table; a missing value satisfies neither one nor its opposite."""
        plain: list[Condition] = []
        for each in BinnedTable.of(table, bins).bins:
            column = table.columns[each.feature]
            first = each.conditions[0]
            # The level of a two-level feature that comes second is the first one's opposite.
            second = column.kind is Kind.CATEGORICAL and each.coded[0].code == 1
            if first.op is Op.GE or (
                first.op is Op.EQ and column.n_values > 1 and not (second and column.n_values == 2)
            ):
                plain.append(first)
        opposite = {Op.GE: Op.LT, Op.EQ: Op.NE}
        other = [replace(c, op=opposite[c.op]) for c in plain]
        names = [f"i{at}" for at in range(len(plain))]
        holds = [cover(Rule([c], None), table) for c in (*plain, *other)]
        return cls(
            (*plain, *other),
            (*names, *(f"{name}_neg" for name in names)),
            np.array(holds, dtype=np.float32).reshape(-1, table.n_rows),
        )

    def frame(self) -> pd.DataFrame:
        """The conditions without their opposites, as 0 and 1, one column each."""
        half = len(self.names) // 2
        return pd.DataFrame(self.holds[:half].T.astype(int), columns=list(self.names[:half]))


class _TooFew(Exception):
    """There are too few candidates to choose from."""


class _FrequentRuleSets(BayesianRuleSetClassifier):  # type: ignore[misc]
    """The package's classifier with candidates that are mined, in an order that never varies."""

    items: Items

    def _set_pattern_space(self) -> None:
        """Count the rules of each length that there could be, for the prior."""
        n = len(self.items.names)
        self.pattern_space = np.array([0.0, n, n * (n - 1) / 2])

    def _generate_rules(self, X: Any, y: NDArray[Any], verbose: bool) -> None:
        """Keep the rules that leave least entropy, the best of them last."""
        items, wanted = self.items.holds, np.asarray(y) == 1
        total = (items @ items.T).astype(np.int64)
        right = (items[:, wanted] @ items[:, wanted].T).astype(np.int64)
        alone = np.diag(total)
        first, second = np.triu_indices(len(items))
        # A pair that covers what one of the two covers says no more than that one.
        says_more = total < np.minimum(alone[:, None], alone)
        np.fill_diagonal(says_more, True)
        enough = right >= max(1.0, self.supp * wanted.sum() / 100)
        keep = (says_more & enough)[first, second]
        first, second = first[keep], second[keep]
        entropy = _entropy(right[first, second], total[first, second], wanted.sum(), len(wanted))
        order = np.argsort(-entropy, kind="stable")[-self.n_rules :]
        pairs = [(int(first[at]), int(second[at])) for at in order]
        self.rules_ = [[self.items.names[at] for at in dict.fromkeys(pair)] for pair in pairs]
        covers = [items[i] * items[j] for i, j in pairs]
        self.RMatrix = np.array(covers, dtype=np.int8).reshape(len(pairs), len(wanted)).T.copy()
        if len(pairs) < 2:
            raise _TooFew

    def _propose(
        self, rules_curr: list[int], rules_norm: list[int], q: float, y: NDArray[Any]
    ) -> tuple[list[int], list[int]]:
        """The package's proposal, or no change where the rules make no error."""
        predicted = self.RMatrix[:, rules_curr].any(axis=1)
        if np.array_equal(predicted, y == 1):
            return rules_curr, rules_norm
        proposed: tuple[list[int], list[int]] = super()._propose(rules_curr, rules_norm, q, y)
        return proposed


def _entropy(
    right: NDArray[np.int64], covered: NDArray[np.int64], n_wanted: int, n_rows: int
) -> NDArray[np.float64]:
    """The entropy of the class given whether a rule fires, in nats, shape (n_rules,)."""

    def spread(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
        share = part / np.maximum(whole, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            nats = -share * np.log(share) - (1 - share) * np.log(1 - share)
        return np.where((share > 0) & (share < 1), whole * nats, 0.0)

    inside = spread(right, covered)
    return (inside + spread(n_wanted - right, n_rows - covered)) / n_rows
