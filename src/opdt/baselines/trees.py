"""Rules from trees: the leaves of CART, and SkopeRules by the package imodels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opdt.baselines.base import Baseline, seeded
from opdt.checks import check_int_or_none
from opdt.errors import InputError
from opdt.problem import CodedCondition, simplify
from opdt.problem.lifting import lift_condition
from opdt.rules import Op, Rule
from opdt.table import Kind, Table


class TreeSplit(NamedTuple):
    """A step down a tree: the column of the matrix, its threshold, and the branch above it."""

    column: int
    threshold: float
    above: bool


class TreeInput(NamedTuple):
    """A table as a matrix for trees: ranks of numeric features, one column per level of others.

    Trees that compare with thresholds are the same on ranks as on values, and ranks are exact in
    the single precision that scikit-learn's trees work in. A feature of two levels has one
    column. Rows with a missing value are left out.
    """

    table: Table
    matrix: NDArray[np.float64]  # (n_complete_rows, n_columns)
    labels: NDArray[np.int32]  # (n_complete_rows,)
    columns: tuple[tuple[int, int], ...]  # feature, and level code or -1

    @classmethod
    def of(cls, table: Table) -> Self:
        """The matrix of the rows without missing values."""
        complete = np.all([column.codes >= 0 for column in table.columns], axis=0)
        labels = table.labels[complete]
        if len(np.unique(labels)) < 2:
            raise InputError(
                "trees need rows of two classes without missing values; fill in missing values "
                "or drop the columns that have many."
            )
        columns: list[tuple[int, int]] = []
        for feature, column in enumerate(table.columns):
            if column.kind is Kind.NUMERIC:
                columns.append((feature, -1))
            else:
                shown = 1 if column.n_values == 2 else column.n_values
                columns += [(feature, level) for level in range(shown)]
        matrix = np.empty((len(labels), len(columns)))
        for at, (feature, level) in enumerate(columns):
            codes = table.columns[feature].codes[complete]
            matrix[:, at] = codes if level < 0 else codes == level
        return cls(table, matrix, labels, tuple(columns))

    def rule(self, path: list[TreeSplit], label: Any) -> Rule:
        """The rule of a path, without what a later split makes needless."""
        coded = simplify(tuple(self._condition(split) for split in path))
        return Rule((lift_condition(self.table, each) for each in coded), label)

    def _condition(self, split: TreeSplit) -> CodedCondition:
        feature, level = self.columns[split.column]
        if level >= 0:
            return CodedCondition(feature, Op.EQ if split.above else Op.NE, level)
        code = int(np.floor(split.threshold)) + 1  # the first rank above the threshold
        return CodedCondition(feature, Op.GE if split.above else Op.LT, code)


@dataclass(frozen=True)
class CART(Baseline):
    """The leaves of scikit-learn's decision tree, each a rule of its most frequent class.

    Rows with a missing value take no part.

    Parameters
    ----------
    max_depth : int or None
        The largest number of conditions.
    seed : int
        Decides between splits of equal impurity.
    """

    name: ClassVar[str] = "cart"

    max_depth: int | None = 2
    seed: int = 0

    def __post_init__(self) -> None:
        check_int_or_none("max_depth", self.max_depth)

    def _fit(self, table: Table) -> list[Rule]:
        from sklearn.tree import DecisionTreeClassifier

        data = TreeInput.of(table)
        model = DecisionTreeClassifier(max_depth=self.max_depth, random_state=self.seed)
        model.fit(data.matrix, data.labels)
        found: list[Rule] = []
        stack: list[tuple[int, list[TreeSplit]]] = [(0, [])]
        tree = model.tree_
        while stack:
            node, path = stack.pop()
            column, threshold = int(tree.feature[node]), float(tree.threshold[node])
            if tree.children_left[node] < 0:
                code = model.classes_[int(np.argmax(tree.value[node][0]))]
                found.append(data.rule(path, table.classes[code]))
                continue
            for above, child in ((True, tree.children_right), (False, tree.children_left)):
                stack.append((int(child[node]), [*path, TreeSplit(column, threshold, above)]))
        return found


@dataclass(frozen=True)
class SkopeRules(Baseline):
    """Rules of bagged trees that are precise on the rows their tree has not seen (SkopeRules).

    Each class in turn is the target. Rows with a missing value take no part.

    Parameters
    ----------
    max_depth : int
        The largest number of conditions.
    precision_min, recall_min : float
        What a rule must reach on the rows its tree has not seen.
    n_estimators : int
        Number of trees.
    seed : int
        For the rows and columns of each tree.
    """

    name: ClassVar[str] = "skope"
    needs: ClassVar[tuple[str, ...]] = ("imodels", "six")

    max_depth: int = 2
    precision_min: float = 0.5
    recall_min: float = 0.01
    n_estimators: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        check_int_or_none("max_depth", self.max_depth)
        check_int_or_none("n_estimators", self.n_estimators)

    def _fit(self, table: Table) -> list[Rule]:
        data = TreeInput.of(table)
        found: dict[Rule, None] = {}
        for code in np.unique(data.labels):
            model = self._model()
            with seeded(self.seed):
                model.fit(data.matrix, (data.labels == code).astype(int))
            for rule in model.rules_without_feature_names_:
                found[data.rule(_path(rule.agg_dict), table.classes[code])] = None
        return list(found)

    def _model(self) -> Any:
        from imodels import SkopeRulesClassifier

        return SkopeRulesClassifier(
            max_depth=self.max_depth,
            precision_min=self.precision_min,
            recall_min=self.recall_min,
            n_estimators=self.n_estimators,
            random_state=self.seed,
        )


_PREFIX = "X_"  # what the package calls columns: X_0, X_1, …


def _path(terms: dict[tuple[str, str], str]) -> list[TreeSplit]:
    """The splits of a rule of the package, which holds (column, "<=" or ">") -> threshold.

    Of a tree that did not split the package says that a column equals itself: no split.
    """
    return [
        TreeSplit(int(column.removeprefix(_PREFIX)), float(value), symbol == ">")
        for (column, symbol), value in terms.items()
        if symbol != "=="
    ]
