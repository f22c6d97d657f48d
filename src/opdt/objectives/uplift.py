"""Whom to treat: the rule whose rows gain most from a treatment, less what it costs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opdt.checks import check_choice, check_int, is_finite
from opdt.errors import InputError, OpdtWarning
from opdt.objectives.doubly_robust import Learners, Trial, check_arms, cross_fitted_scores
from opdt.objectives.effect import Effect, EffectSplit, effect_split
from opdt.objectives.estimate import Estimate, welch_p_value
from opdt.objectives.gains import ObjectiveGains
from opdt.objectives.objective import Objective, TargetKind
from opdt.objectives.rows import BoundRows, Numbers, called
from opdt.objectives.words import Account, Words, plain, with_unit
from opdt.table.raw import BadRows, Raw

DIRECTIONS = ("high", "low")
# The share of rows without a counterpart in the other arm from which on it is said.
WORTH_SAYING = 0.01


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Uplift(Objective):
    """Whom to treat: the largest sum of effects, less the cost of treating, over the rows covered.

    The effect of each row is its doubly robust score, by models that have not seen the row; see
    S. Athey and S. Wager, Policy Learning With Observational Data, Econometrica 89 (2021). The
    rule is for "treat". Scores are estimates: the proof is that no rule has a larger sum of them.

    Parameters
    ----------
    treatment : str or array-like of shape (n_rows,)
        The column that says who was treated, or its values: two arms, 0 and 1, False and True, or
        any two values together with `treated`.
    outcome : str or array-like of shape (n_rows,)
        What came of it: finite numbers, or 0 and 1.
    treated : value, optional
        The arm of `treatment` that was treated, where it is not 1 or True.
    propensity : float, str or array-like of shape (n_rows,), optional
        The known chance of each row to be treated, between 0 and 1, as in a randomised trial;
        estimated from the features if left out.
    cost : float, str or array-like of shape (n_rows,)
        What it costs to treat a row, in units of the outcome.
    direction : "high" or "low"
        Whether a large outcome is good, or a small one.
    outcome_learner, propensity_learner : scikit-learn estimators, optional
        In the place of gradient boosting. They are given numbers, with NaN where one is missing,
        and a column of 0 and 1 for each level.
    folds : int
        The rows are divided into so many parts; the scores of each come from models of the others.
    seed : int
        Of the division and of the models.
    unit : str
        That of the outcome, for texts: "USD", "days".

    Examples
    --------
    >>> from opdt import discover
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> age, given = rng.integers(20, 80, 400), rng.random(400) < 0.5
    >>> gain = np.where(age >= 50, 3.0, -1.0) * given + rng.normal(size=400)
    >>> found = discover({"age": age}, max_depth=1,
    ...                  objective=Uplift(treatment=given, outcome=gain, propensity=0.5))
    >>> print(found.rule)
    IF age >= 49.5 THEN treat
    """

    kind: ClassVar[str] = "uplift"
    target: ClassVar[TargetKind] = TargetKind.NOTHING
    reads: ClassVar[tuple[str, ...]] = ("treatment", "outcome", "propensity", "cost")
    counts_errors: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True
    headline: ClassVar[tuple[str, ...]] = ("effect inside", "effect outside")

    treatment: Any
    outcome: Any
    treated: Any = None
    propensity: Any = None
    cost: Any = 0
    direction: str = "high"
    outcome_learner: Any = None
    propensity_learner: Any = None
    folds: int = 5
    seed: int = 0
    unit: str = ""

    def __post_init__(self) -> None:
        check_choice("direction", self.direction, DIRECTIONS)
        check_int("folds", self.folds, 2)
        check_int("seed", self.seed, 0)
        if not isinstance(self.unit, str):
            raise InputError(f"'unit' must be text, got {self.unit!r}.")
        _ = self.learners  # refuses what is no estimator
        if is_finite(self.propensity) and not 0 < self.propensity < 1:
            raise InputError(
                f"'propensity' must be between 0 and 1, got {self.propensity!r}: where all rows, "
                "or none, are treated, there is nothing to compare with."
            )

    @property
    def sign(self) -> int:
        """1 where large outcomes are wanted, else -1."""
        return 1 if self.direction == "high" else -1

    @property
    def learners(self) -> Learners:
        """Who predicts outcomes and propensities."""
        return Learners(self.outcome_learner, self.propensity_learner)

    @property
    def rule_label(self) -> str:
        """What is done with the rows covered."""
        return "treat"

    def then(self, target: str | None = None) -> str:
        """What is done with the rows covered."""
        return "treat"

    @property
    def words(self) -> Words:
        """Uplift, in the outcome's unit."""
        return Words("uplift", "a larger uplift", "an uplift", self.show, self.show)

    def show(self, value: float) -> str:
        """A number of the outcome with its unit."""
        return with_unit(self.unit)(value)

    def bind(self, rows: BoundRows) -> UpliftGains:
        """Scores in the direction wanted, less the cost, of each row."""
        if rows.table.weights is not None:
            raise InputError(
                "'sample_weight' cannot be given beside Uplift, whose scores count every row once; "
                "drop it."
            )
        trial = self.trial(rows)
        check_arms(trial, self.folds)
        cost = rows.numbers("cost", self.cost)
        scores = cross_fitted_scores(
            rows.table.columns, trial, learners=self.learners, folds=self.folds, seed=self.seed,
            watch=rows.watch,
        )  # fmt: skip
        if scores.poor_overlap >= WORTH_SAYING:
            warnings.warn(str(scores.overlap_warning()), OpdtWarning, stacklevel=2)
        return UpliftGains.of(
            self.sign * scores.values - cost, None, name="outcome", objective=self,
            scores=scores.values, treated=trial.treated, propensity=scores.propensity,
        )  # fmt: skip

    def trial(self, rows: BoundRows) -> Trial:
        """Who was treated, what came of it, and known propensities."""
        treated = self._arms(rows.cells("treatment", self.treatment))
        outcome = rows.numbers("outcome", self.outcome)
        if self.propensity is None:
            return Trial(treated, outcome)
        chance = rows.numbers("propensity", self.propensity)
        bad = (chance <= 0) | (chance >= 1)
        if bad.any():
            raise BadRows(
                f"{called('propensity', self.propensity)} is not between 0 and 1 but "
                f"{chance[bad.argmax()]:g}",
                bad,
                ": such rows are always in the same arm, and cannot be compared; drop them.",
            )
        return Trial(treated, outcome, chance)

    def _arms(self, raw: Raw) -> NDArray[np.bool_]:
        """Which rows were treated."""
        what = called("treatment", self.treatment)
        if raw.missing is not None:
            raise BadRows(f"{what} is missing", raw.missing, "; drop the rows.")
        arms = sorted(set(raw.values.tolist()), key=lambda arm: (str(type(arm)), arm))
        shown = ", ".join(map(repr, arms[:4])) + (", …" if len(arms) > 4 else "")
        if len(arms) > 2:
            raise InputError(
                f"{what} has {len(arms):,} arms ({shown}), but two are compared; keep the rows of "
                "two of them."
            )
        if len(arms) < 2:
            raise InputError(
                f"{what} has one arm only, {shown}; an effect is a difference of two arms."
            )
        if self.treated is not None:
            meant = [arm for arm in arms if arm == self.treated or str(arm) == self.treated]
            if len(meant) != 1:
                raise InputError(f"'treated' must be one of {shown}, got {self.treated!r}.")
            return np.asarray(raw.values == meant[0], dtype=bool)
        if arms != [0, 1]:  # which False and True are, too
            raise InputError(
                f"{what} has the arms {shown}; say by 'treated' which of them was treated."
            )
        return raw.values.astype(bool)

    def estimate(
        self, gains: ObjectiveGains, fires: NDArray[np.bool_], level: float = 0.95
    ) -> Estimate:
        """The effects inside and outside on held-out rows, scored among themselves."""
        assert isinstance(gains, UpliftGains)
        split = effect_split(gains.scores, gains.treated, fires, level)
        inside, n_rows = split.inside, len(fires)
        p_value = welch_p_value(gains.values[fires], gains.values[~fires])
        interval = (inside.low, inside.high)
        said = f"{inside.rows:,} of {n_rows:,} held-out rows"
        if not inside.rows:
            sentence = f"covers none of the {n_rows:,} held-out rows"
        elif inside.empty_arm is not None:
            sentence = f"covers {said}, but {self._lacking(inside)}"
            interval, p_value = (math.nan, math.nan), 1.0
        else:
            sentence = f"{self.told(split, level)}, on {said}"
        return Estimate(
            n_rows, inside.rows, inside.mean, split.outside.mean, interval, level, p_value,
            sentence, numbers_of(split), self.sign,
        )  # fmt: skip

    def told(self, split: EffectSplit, level: float) -> str:
        """Both effects and their difference, in words."""
        within, beyond = split.inside, split.outside
        parts = [f"effect {self._signed(within.mean)} inside{self._ends(within, level)}"]
        if beyond.rows:
            parts.append(f"{self._signed(beyond.mean)} outside{self._ends(beyond, level)}")
        if not math.isnan(split.low):
            parts.append(
                f"a difference of {self._signed(split.difference)} "
                f"({_sign(split.low)} to {_sign(split.high)})"
            )
        return ", ".join(parts)

    def _signed(self, value: float) -> str:
        return f"{_sign(value)} {self.unit}".rstrip()

    def _ends(self, effect: Effect, level: float) -> str:
        if math.isnan(effect.low):
            return " (too few rows for an interval)"
        return f" ({level:.0%} interval {_sign(effect.low)} to {_sign(effect.high)})"

    def _lacking(self, effect: Effect) -> str:
        return (
            f"none of these rows is {effect.empty_arm}, so that their effect is only what the "
            "models make of other rows"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class UpliftGains(ObjectiveGains):
    """What treating each row gains, with the scores it is made of."""

    per_row: ClassVar[tuple[str, ...]] = ("worth", "scores", "treated", "propensity")

    objective: Uplift
    scores: Numbers  # (n_rows,) effect of the treatment on each row, in the outcome's unit
    treated: NDArray[np.bool_]
    propensity: Numbers

    def told(self, mean: float, overall: float, covered: int) -> str:
        """What treating a covered row and any row gains, in words."""
        show, rows = self.objective.show, "row" if covered == 1 else "rows"
        return f"uplift of {show(mean)} a row in {covered:,} {rows}, {show(overall)} overall"

    def account(self, fires: NDArray[np.bool_], label: int) -> Account:
        """The effects inside and outside, by the scores that the rule was chosen by."""
        split = effect_split(self.scores, self.treated, fires)
        told = self.objective.told(split, 0.95)
        sentence = (
            f"covers {split.inside.rows:,} of {len(fires):,} rows: {told}, by the scores that it "
            "was chosen by, which flatter it"
        )
        if split.inside.empty_arm is not None:
            sentence += f"; {self.objective._lacking(split.inside)}"
        return Account(sentence, numbers_of(split), self.objective.unit)


def _sign(value: float) -> str:
    return ("+" if value > 0 else "") + plain(value)


def numbers_of(split: EffectSplit) -> dict[str, float]:
    """The numbers of both effects, by name."""
    out: dict[str, float] = {}
    for where, effect in (("inside", split.inside), ("outside", split.outside)):
        out |= {
            f"effect {where}": effect.mean,
            f"effect {where} from": effect.low,
            f"effect {where} to": effect.high,
            f"treated {where}": effect.treated,
            f"untreated {where}": effect.controls,
        }
    return out | {
        "difference": split.difference,
        "difference from": split.low,
        "difference to": split.high,
    }
