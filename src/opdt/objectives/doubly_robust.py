"""Doubly robust scores: what a treatment changes, estimated once for every row.

The score of a row is its predicted effect, corrected by what the row itself says
(augmented inverse propensity weighting):

    m1(x) - m0(x) + T (Y - m1(x)) / e(x) - (1 - T) (Y - m0(x)) / (1 - e(x))

T is 1 in the treated arm, Y the outcome, m1 and m0 the expected outcomes with and without
treatment, e the propensity, the chance of being treated. The mean score of any group of rows
estimates the group's mean effect, and stays consistent if either the outcome models or the
propensities are right. The models that score a row have never seen it (cross-fitting): see
S. Athey and S. Wager, Policy Learning With Observational Data, Econometrica 89 (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError, first_line
from opdt.table.columns import Column
from opdt.table.kinds import Kind

# Estimated propensities are kept within these, so that no single row decides; known ones never.
CLIP = 0.01
# Beyond these a row has hardly any counterpart in the other arm.
POOR_OVERLAP = 0.05
# Levels of one column that a boosted tree tells apart; rarer ones are one more level.
MOST_LEVELS = 250
# One column for each of so many levels, where a learner of the user's own is fitted.
MOST_INDICATORS = 50
# Cells of a table below which models are fitted by one thread.
SMALL = 1_000_000

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Trial:
    """Who was treated, and what came of it.

    Attributes
    ----------
    treated : ndarray of bool, shape (n_rows,)
    outcome : ndarray of float64, shape (n_rows,)
        Finite numbers.
    propensity : ndarray of float64, shape (n_rows,), or None
        The known chance of each row to be treated; None where it has to be estimated.
    """

    treated: Bools
    outcome: Floats
    propensity: Floats | None = None

    def take(self, rows: NDArray[Any]) -> Trial:
        """The trial on some rows."""
        known = None if self.propensity is None else self.propensity[rows]
        return Trial(self.treated[rows], self.outcome[rows], known)

    @property
    def is_binary(self) -> bool:
        """Whether the outcome is 0 or 1."""
        return bool(np.isin(self.outcome, (0.0, 1.0)).all())


@dataclass(frozen=True, eq=False)
class EffectScores:
    """The score of each row, and the propensity that it was made with.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows,)
        In the outcome's own unit.
    propensity : ndarray of float64, shape (n_rows,)
        Estimated ones before they are clipped.
    """

    values: Floats
    propensity: Floats

    @property
    def poor_overlap(self) -> float:
        """The share of rows with hardly any counterpart in the other arm."""
        return float(np.mean(np.abs(self.propensity - 0.5) > 0.5 - POOR_OVERLAP))

    @property
    def clipped(self) -> float:
        """The share of rows whose propensity lies beyond `CLIP`."""
        return float(np.mean(np.abs(self.propensity - 0.5) > 0.5 - CLIP))

    def overlap_warning(self) -> str | None:
        """One sentence where rows lack a counterpart in the other arm; None where all have one."""
        share = self.poor_overlap
        if share == 0:
            return None
        shown = "fewer than 0.1%" if share < 0.001 else f"{share:.1%}"
        return (
            f"{shown} of the rows have a propensity below {POOR_OVERLAP:.0%} or above "
            f"{1 - POOR_OVERLAP:.0%}: rows like these are nearly all in one arm, so that their "
            "effect rests on the models."
        )


@dataclass(frozen=True)
class Learners:
    """Who predicts the outcome and the propensity; gradient boosting where nothing is said.

    Attributes
    ----------
    outcome : scikit-learn regressor or classifier, optional
        Fitted to each arm. A classifier is asked for the probability of outcome 1.
    propensity : scikit-learn classifier, optional
        Fitted to who was treated, unless the propensities are known.
    """

    outcome: Any = None
    propensity: Any = None

    def __post_init__(self) -> None:
        for name, learner in (
            ("outcome_learner", self.outcome),
            ("propensity_learner", self.propensity),
        ):
            if learner is not None and (isinstance(learner, type) or not hasattr(learner, "fit")):
                raise InputError(
                    f"'{name}' must be a scikit-learn estimator such as LinearRegression(), "
                    f"got {learner!r}."
                )
        if self.propensity is not None and not hasattr(self.propensity, "predict_proba"):
            raise InputError(
                "'propensity_learner' must be a classifier with predict_proba, "
                f"got {self.propensity!r}."
            )


class FeatureMatrix:
    """The features of a table as learners want them, shape (n_rows, n_inputs)."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def coded(self) -> tuple[Floats, list[int]]:
        """Numbers, and levels as codes; which columns are codes. NaN where a value is missing."""
        out = np.empty((self.columns[0].n_rows, len(self.columns)))
        levels = []
        for j, column in enumerate(self.columns):
            if column.kind is Kind.NUMERIC:
                out[:, j] = _numbers(column)
            else:
                out[:, j] = _few_levels(column)
                levels.append(j)
        return out, levels

    def indicators(self) -> Floats:
        """Numbers, NaN where one is missing; for each level 1 where a row has it, else 0."""
        parts = []
        for column in self.columns:
            if column.kind is Kind.NUMERIC:
                parts.append(_numbers(column)[:, None])
            else:
                parts.append(column.codes[:, None] == _frequent(column, MOST_INDICATORS))
        return np.concatenate(parts, axis=1, dtype=np.float64)


def _numbers(column: Column) -> Floats:
    values = column.values
    if values.dtype.kind == "M":
        values = values.astype("datetime64[s]").astype(np.int64)
    held = np.append(values.astype(np.float64), np.nan)
    return held[column.codes]  # code -1 is the last


def _frequent(column: Column, most: int) -> NDArray[np.int64]:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=column.n_values)
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def _few_levels(column: Column) -> Floats:
    frequent = _frequent(column, MOST_LEVELS)
    place = np.full(column.n_values + 1, float(len(frequent)))
    place[frequent] = np.arange(len(frequent))
    place[-1] = np.nan
    return place[column.codes]


def cross_fitted_scores(
    columns: Sequence[Column],
    trial: Trial,
    *,
    learners: Learners | None = None,
    folds: int = 5,
    seed: int = 0,
    watch: Callable[[], object] | None = None,
) -> EffectScores:
    """The scores of all rows, each by models that have not seen the row.

    Parameters
    ----------
    columns : sequence of Column
        The features of the rows.
    trial : Trial
        At least `folds` rows in each arm.
    learners : Learners, optional
    folds : int
        Rows are divided into so many parts, each arm evenly.
    seed : int
        Of the division and of the default learners.
    watch : callable, optional
        Called before each model is fitted; what it raises ends the work.
    """
    check_arms(trial, folds)
    models = _Models(columns, trial, learners or Learners(), seed, watch)
    n_rows = len(trial.outcome)
    values, propensity = np.empty(n_rows), np.empty(n_rows)
    with _few_threads(n_rows * len(columns)):
        for fitted, scored in _split(trial.treated, folds, seed):
            values[scored], propensity[scored] = models.score(fitted, scored)
    return EffectScores(values, propensity)


@contextmanager
def _few_threads(cells: int) -> Iterator[None]:
    """One thread for small tables: more would mostly wait for one another."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1 if cells < SMALL else None, user_api="openmp"):
        yield


def check_arms(trial: Trial, least: int) -> None:
    """Refuse an arm of fewer rows than `least`."""
    n_treated = int(trial.treated.sum())
    for words, rows in (
        ("treated", n_treated),
        ("not treated", len(trial.treated) - n_treated),
    ):
        if rows < least:
            found = {0: "no row is", 1: "only 1 row is"}.get(rows, f"only {rows} rows are")
            raise InputError(
                f"{found} {words}; scores need at least {least} rows in each arm (one for each "
                "fold): give rows of both arms, or fewer 'folds'."
            )


def _split(treated: Bools, folds: int, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    from sklearn.model_selection import StratifiedKFold

    yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(treated, treated)


class _Models:
    """Fits the models to some rows, and scores others by them."""

    def __init__(
        self,
        columns: Sequence[Column],
        trial: Trial,
        learners: Learners,
        seed: int,
        watch: Callable[[], object] | None = None,
    ) -> None:
        self.trial, self.learners, self.seed = trial, learners, seed
        self.watch = watch or (lambda: None)
        features = FeatureMatrix(columns)
        needs_codes = learners.outcome is None or (
            learners.propensity is None and trial.propensity is None
        )
        self.coded: Floats | None = None
        self.levels: list[int] = []
        if needs_codes:
            self.coded, self.levels = features.coded()
        own = learners.outcome is not None or learners.propensity is not None
        self.indicators = features.indicators() if own else None

    def score(self, fitted: NDArray[Any], scored: NDArray[Any]) -> tuple[Floats, Floats]:
        """Scores and propensities of the rows `scored`, by models of the rows `fitted`."""
        trial = self.trial
        treated, outcome = trial.treated[scored], trial.outcome[scored]
        with_it = self._outcome(fitted[trial.treated[fitted]], scored)
        without = self._outcome(fitted[~trial.treated[fitted]], scored)
        if trial.propensity is None:
            raw = self._propensity(fitted, scored)
            chance = np.clip(raw, CLIP, 1 - CLIP)
        else:
            raw = chance = trial.propensity[scored]
        correction = np.where(
            treated, (outcome - with_it) / chance, -(outcome - without) / (1 - chance)
        )
        return with_it - without + correction, raw

    def _outcome(self, fitted: NDArray[Any], scored: NDArray[Any]) -> Floats:
        target = self.trial.outcome[fitted]
        if (target == target[0]).all():  # classifiers want two classes
            return np.full(len(scored), target[0])
        given = self.learners.outcome
        binary = self.trial.is_binary
        learner = self._boosting(binary) if given is None else given
        inputs = self.coded if given is None else self.indicators
        as_class = hasattr(learner, "predict_proba")
        if as_class and not binary:
            raise InputError(
                f"'outcome_learner' is the classifier {type(learner).__name__}, but the outcome is "
                "not 0 or 1 everywhere; give a regressor."
            )
        goal = target.astype(int) if as_class else target
        self.watch()
        return _predict(learner, "outcome_learner", inputs, fitted, goal, scored)

    def _propensity(self, fitted: NDArray[Any], scored: NDArray[Any]) -> Floats:
        given = self.learners.propensity
        learner = self._boosting(True) if given is None else given
        inputs = self.coded if given is None else self.indicators
        goal = self.trial.treated[fitted].astype(int)
        self.watch()
        return _predict(learner, "propensity_learner", inputs, fitted, goal, scored)

    def _boosting(self, is_class: bool) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
        # Few small trees: a propensity near 0 or 1 that is overfitted costs more than one that is
        # a little too near the middle.
        return kind(
            max_iter=50,
            max_leaf_nodes=8,
            early_stopping=False,
            categorical_features=self.levels or None,
            random_state=self.seed,
        )


def _predict(
    learner: Any,
    name: str,
    inputs: Floats | None,
    fitted: NDArray[Any],
    goal: NDArray[Any],
    scored: NDArray[Any],
) -> Floats:
    """What a fresh copy of the learner, fitted to some rows, says about others."""
    from sklearn.base import clone

    assert inputs is not None
    try:
        model = clone(learner).fit(inputs[fitted], goal)
        if hasattr(model, "predict_proba"):
            said = model.predict_proba(inputs[scored])[:, 1]
        else:
            said = model.predict(inputs[scored])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"'{name}' cannot be fitted to these features: {first_line(error)}; levels are columns "
            "of 0 and 1, and missing numbers are NaN."
        ) from None
    return np.asarray(said, dtype=np.float64)
