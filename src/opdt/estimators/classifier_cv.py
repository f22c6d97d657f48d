"""The best rule as a classifier that chooses its own price, depth and structure."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.choosing import best_lines, most_correct, price_grid
from opdt.analysis.counts import counts_on
from opdt.analysis.path import trace_path
from opdt.arguments import start_clock
from opdt.discovery import discover
from opdt.engines import Engine
from opdt.engines.precision import most_precise
from opdt.engines.prices import Pricer, as_price
from opdt.errors import InputError
from opdt.estimators.classifier import OPDTClassifier
from opdt.estimators.folds import FoldRows, FoldScores, drawn_folds, given_folds, scaled
from opdt.estimators.inputs import check_fit, weighed
from opdt.objectives.gains import as_written
from opdt.problem import Constraints, class_code
from opdt.problem.arguments import StructureLike, build_problem, resolve_constraints, resolve_table
from opdt.problem.lifting import RAREST
from opdt.rules import Rule
from opdt.solution import Clock, Solution, Status
from opdt.table import Table, column_names
from opdt.table.labels import check_weights

# Shares of the time limit after which the prices and the folds are done; the rest is for the rule.
FOR_PRICES, FOR_FOLDS = 0.25, 0.75


class Shape(NamedTuple):
    """A depth or a structure to choose, with the prices to train with; None is a wish."""

    max_depth: int | None
    structure: StructureLike
    prices: tuple[float | None, ...] = (None,)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of a search."""
        return {"max_depth": self.max_depth, "structure": self.structure}


class OPDTClassifierCV(OPDTClassifier):
    """A classifier of one rule that chooses the price of an error, the depth and the structure.

    There are two ways to choose.

    *By cross-validation.* An error really costs `scoring_w` rows: that is yours to say, and it is
    never varied, because scores at different prices cannot be compared. What is varied is the
    price `w` that a rule is *trained* with, beside depth and structure. A rule that only just pays
    on the rows it was found on often does not on others, so that a higher price may be the better
    one to train with. Each candidate is scored by the VI at `scoring_w` of its rules on held-out
    rows, per row. Of all candidates within one standard error of the best, the simplest is taken:
    no rule at all, whose VI is 0; then the smaller depth; then the structure that is named first;
    then the highest price, which claims least.

    *By what is wanted of the rule.* With `min_precision` or `max_errors` the rule is the one that
    covers the most rows of its class of all rules that meet them; with `min_coverage` alone it is
    the most precise one that covers so much. That is exact, over all depths or structures that are
    named, on the training rows. Cross-validation then chooses nothing: it says in `cv_results_`
    what such rules are worth on other rows, which is less.

    Parameters
    ----------
    ws : sequence of float, optional
        Prices to train with. If left out, one for each segment of the weight path of the training
        rows, and `scoring_w`: no other price has another rule there.
    max_depths : sequence of int
        Depths to choose from.
    structures : sequence of structures, optional
        Structures to choose from, simplest first, in place of `max_depths`.
    min_precision, max_errors, min_coverage : float, optional
        What is wanted, as in `Constraints`.
    cv : int, cross-validation generator or iterable
        An int k stands for k stratified folds, drawn `n_repeats` times.
    n_repeats : int
        How often the folds are drawn; one round of folds says little about a single rule.
    scoring : str or callable
        "vi", or a scorer of scikit-learn. Precision alone, or coverage alone, is no aim: the first
        has tiny rules, the second rules that cover everything.
    scoring_w : float
        What an error really costs, in rows.
    one_standard_error : bool
        Take the simplest candidate within one standard error of the best, or else the best.
    random_state : int, RandomState or None
        How the folds are drawn; the same ones every time by default.
    groups, label, class_weight, constraints, roles, missing, engine, time_limit, n_jobs
        As in `OPDTClassifier`; the engine must prove its answers. The time limit is that of the
        whole call: a quarter is for the prices to try, the next half for the folds, the rest for
        the rule. Where it ends before the last fold, the folds that were done choose, with a
        warning.

    Attributes
    ----------
    rule_ : Rule or None
        The rule, found on all training rows; None where no rule is worth it on held-out rows.
    best_params_ : dict or None
        The `w`, `max_depth` and `structure` chosen; `w` is None for a wish, and the whole None
        for no rule.
    best_index_, best_score_ : int or None, float
        The place of the chosen candidate in `cv_results_`, and its mean score; None and 0 for no
        rule.
    cv_results_ : dict of arrays
        One entry per candidate, simplest first: `params`, `param_…`, `split…_test_score`,
        `mean_test_score`, `std_test_score`, `se_test_score`, `rank_test_score`, and the precision
        and coverage of all held-out rows together, `test_precision` and `test_coverage`.
    n_splits_ : int
        Number of folds, repeats included.
    solution_, value_, bound_, status_, classes_, n_features_in_, feature_names_in_
        As in `OPDTClassifier`, for the search on all training rows. For no rule the solution is
        that of covering nothing, and its bound says what a rule might gain on the training rows.
    declined_ : Solution or None
        What the search found that held-out rows spoke against; None where there is a rule.

    Notes
    -----
    Folds overlap in the rows they train on, so their scores are not independent; the standard
    error is corrected for that as Nadeau and Bengio (2003) propose.

    Examples
    --------
    >>> X = [[age] for age in range(200)]
    >>> y = [int(age >= 100 and age not in (103, 130)) for age in range(200)]
    >>> model = OPDTClassifierCV(max_depths=[1], label=1, scoring_w=3).fit(X, y)
    >>> print(model.rule_)
    IF x0 >= 103.5 THEN 1
    >>> print(OPDTClassifierCV(max_depths=[1], label=1, min_precision=1.0).fit(X, y).rule_)
    IF x0 >= 130.5 THEN 1
    """

    def __init__(
        self,
        *,
        ws: Sequence[float] | None = None,
        max_depths: Sequence[int] = (1, 2),
        structures: Sequence[StructureLike] | None = None,
        min_precision: float | None = None,
        max_errors: float | None = None,
        min_coverage: float | None = None,
        cv: Any = 5,
        n_repeats: int = 5,
        scoring: Any = "vi",
        scoring_w: float = 10.0,
        one_standard_error: bool = True,
        random_state: Any = 0,
        groups: Mapping[str, Iterable[str]] | None = None,
        label: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
        constraints: Constraints | Mapping[str, Any] | None = None,
        roles: Mapping[str, str] | None = None,
        missing: Any = None,
        engine: str | Engine = "search",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.ws = ws
        self.max_depths = max_depths
        self.structures = structures
        self.min_precision = min_precision
        self.max_errors = max_errors
        self.min_coverage = min_coverage
        self.cv = cv
        self.n_repeats = n_repeats
        self.scoring = scoring
        self.scoring_w = scoring_w
        self.one_standard_error = one_standard_error
        self.random_state = random_state
        self.groups = groups
        self.label = label
        self.class_weight = class_weight
        self.constraints = constraints
        self.roles = roles
        self.missing = missing
        self.engine = engine
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose, and find the rule on all rows.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            Row weights, in the search and in the scores; a row of weight zero counts as if it
            were not there.
        """
        clock = start_clock(None, self.time_limit, self.n_jobs)
        X, y = check_fit(self, X, y)
        weights, self._label = weighed(self, y, check_weights(sample_weight, len(y)))
        every = FoldRows(X, y, weights)
        whole = every.where(np.ones(len(y), dtype=bool))
        table = resolve_table(whole.X, whole.y, whole.weights, self.roles, missing=self.missing)
        if isinstance(self._label, str) and self._label == RAREST:
            self._label = table.classes[class_code(table, RAREST)]  # the same one in all folds
        demands = self._demands()
        menu = self._menu(table, demands, _until(clock, FOR_PRICES))
        scores = self._cross_validate(every, whole, table, menu, demands, _until(clock, FOR_FOLDS))
        candidates = [(shape, w) for shape in menu for w in shape.prices]
        chosen, solution = self._choose(table, candidates, scores, demands, clock)
        params = [{"w": price, **each.settings} for each, price in candidates]
        self.cv_results_: dict[str, Any] = scores.table(params)
        self.n_splits_ = scores.values.shape[1]
        self.best_index_ = chosen
        self.best_score_ = 0.0 if chosen is None else float(scores.mean[chosen])
        self.best_params_ = None if chosen is None else params[chosen]
        self.declined_: Solution | None = None
        if chosen is None:
            self.declined_, solution = solution, _nothing(solution)
        self._keep(solution)
        self._take(solution.rule, table, whole.X)
        return self

    def _choose(
        self,
        table: Table,
        candidates: Sequence[tuple[Shape, float | None]],
        scores: FoldScores,
        demands: Constraints,
        clock: Clock,
    ) -> tuple[int | None, Solution]:
        """The place of the candidate to take, None for no rule, and what a search then finds."""
        if self._wishes:
            parts = _shares(clock, len(candidates))
            found = [
                self._solve(table, *candidate, demands, part)
                for candidate, part in zip(candidates, parts, strict=True)
            ]
            place = max(range(len(found)), key=lambda at: (*self._worth(found[at]), -at))
            return place, found[place]
        nothing = 0.0 if self.scoring == "vi" else None
        chosen = scores.choose(one_standard_error=self.one_standard_error, nothing=nothing)
        shown = int(scores.mean.argmax()) if chosen is None else chosen
        return chosen, self._solve(table, *candidates[shown], demands, clock)

    def _worth(self, solution: Solution) -> tuple[float, float]:
        """How well a rule meets the wishes: by correct rows, or by precision and covered rows."""
        if solution.rule is None:
            return -math.inf, 0.0
        if self._asks_coverage:
            return solution.precision, solution.covered
        return solution.covered - solution.errors, 0.0

    def _take(self, rule: Rule | None, table: Table, X: Any) -> None:
        """Become the classifier of this rule, which was found on this table of X."""
        self.rule_ = rule
        self.classes_ = table.classes
        self._names = column_names(X)
        self._learn_parts(table, self.covers(X))

    # -- what to choose from -------------------------------------------------------------------

    @property
    def _wishes(self) -> dict[str, Any]:
        """What is wanted of the rule."""
        names = ("min_precision", "max_errors", "min_coverage")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def _asks_coverage(self) -> bool:
        """Whether a coverage is all that is wanted, so that precision is what to look for."""
        return set(self._wishes) == {"min_coverage"}

    def _demands(self) -> Constraints:
        """The constraints, and the wishes with them."""
        constraints, wishes = resolve_constraints(self.constraints), self._wishes
        for name in wishes:
            if getattr(constraints, name) != getattr(Constraints(), name):
                raise InputError(f"'{name}' is given twice, in 'constraints' too; drop one.")
        if wishes and self.ws is not None:
            raise InputError(
                f"'ws' cannot be given beside '{next(iter(wishes))}', which takes the place of a "
                "price; drop one."
            )
        if wishes == {"min_coverage": 0}:
            raise InputError("'min_coverage' must be above 0 to ask for the most precise rule.")
        return replace(constraints, **wishes)

    def _menu(self, table: Table, demands: Constraints, clock: Clock) -> list[Shape]:
        """Everything to choose from, simplest first."""
        if not isinstance(self.scoring, str) and not callable(self.scoring):
            raise InputError(f"'scoring' must be 'vi' or a scorer, got {self.scoring!r}.")
        as_price("scoring_w", self.scoring_w)
        shapes = self._shapes()
        if self._wishes:
            return shapes
        priced = []
        for shape, part in zip(shapes, _shares(clock, len(shapes)), strict=True):
            prices = sorted({*self._prices(table, shape, demands, part)}, reverse=True)
            priced.append(shape._replace(prices=tuple(prices)))
        return priced

    def _shapes(self) -> list[Shape]:
        if self.structures is None:
            depths = _listed("max_depths", self.max_depths)
            return [Shape(depth, None) for depth in sorted(depths)]
        structures = _listed("structures", self.structures)
        if all(isinstance(s, str) and not s.endswith((".toml", ".json")) for s in structures):
            raise InputError(
                "'structures' must be a list of structures, got a list of names; for one "
                f"structure write [{structures!r}]."
            )
        return [Shape(None, structure) for structure in structures]

    def _prices(
        self, table: Table, shape: Shape, demands: Constraints, clock: Clock
    ) -> list[float]:
        if self.ws is None:
            path = trace_path(self._pricer(table, shape, demands, clock))
            return [*price_grid(path), float(self.scoring_w)]
        prices = _listed("ws", self.ws)
        for w in prices:
            as_price("ws", w)
        return [float(w) for w in prices]

    # -- rules and scores ----------------------------------------------------------------------

    def _pricer(self, table: Table, shape: Shape, demands: Constraints, clock: Clock) -> Pricer:
        problem = build_problem(
            table,
            None,
            w=1,
            groups=self.groups,
            label=self._label,
            constraints=demands,
            **shape.settings,
        )
        return Pricer(problem, self.engine, clock)

    def _solve(
        self, table: Table, shape: Shape, w: float | None, demands: Constraints, clock: Clock
    ) -> Solution:
        """The rule of one candidate."""
        if w is None:
            return self._wished(self._pricer(table, shape, demands, clock))
        return discover(
            table,
            w=w,
            groups=self.groups,
            label=self._label,
            constraints=demands,
            engine=self.engine,
            budget=clock,
            **shape.settings,
        )

    def _wished(self, pricer: Pricer) -> Solution:
        """The rule that the wishes ask for."""
        return (most_precise if self._asks_coverage else most_correct)(pricer)

    def _rules(
        self, table: Table, shape: Shape, demands: Constraints, clock: Clock
    ) -> Iterator[Rule | None]:
        """The rules of all candidates of one shape."""
        pricer = self._pricer(table, shape, demands, clock)
        if self._wishes:
            yield self._wished(pricer).rule
            return
        prices = [as_written(w) for w in shape.prices if w is not None]
        lines = best_lines(pricer, prices)
        for price in prices:
            line = lines[price]
            yield None if line is None else line.rule

    def _cross_validate(
        self,
        every: FoldRows,
        whole: FoldRows,
        table: Table,
        menu: Sequence[Shape],
        demands: Constraints,
        clock: Clock,
    ) -> FoldScores:
        """The counts and scores of all candidates on held-out rows."""
        if isinstance(self.cv, Integral) and not isinstance(self.cv, bool):
            drawn = (int(self.cv), self.n_repeats, self.random_state)
            rows, pairs = whole, drawn_folds(table, *drawn, label=self._label)
        else:  # made for all rows, those of weight zero included
            rows, pairs = every, given_folds(every.X, every.y, self.cv)
        parts, folds = [], list(pairs)
        for number, (train, test) in enumerate(folds):
            if number and clock.stop():
                warnings.warn(
                    f"'time_limit' was reached after {number} of {len(folds)} folds; these choose.",
                    stacklevel=3,
                )
                break
            own = next(_shares(clock, len(folds) - number))
            known, unseen = rows.where(train), rows.where(test)
            part = Table.build(
                known.X, known.y, sample_weight=known.weights, roles=table.plan, warn=False
            )
            fewer = scaled(demands, known.total / whole.total)
            rules = [
                rule
                for shape, share in zip(menu, _shares(own, len(menu)), strict=True)
                for rule in self._rules(part, shape, fewer, share)
            ]
            counts = np.array(list(counts_on(rules, unseen.X, unseen.y, unseen.weights)))
            values = self._values(rules, counts, part, known, unseen)
            parts.append((counts[:, 0], counts[:, 1], values, unseen.total, known.total))
        covered, errors, values, tested, trained = (
            np.array(part) for part in zip(*parts, strict=True)
        )
        return FoldScores(covered.T, errors.T, values.T, tested, trained)

    def _values(
        self,
        rules: Sequence[Rule | None],
        counts: NDArray[np.float64],
        table: Table,
        known: FoldRows,
        unseen: FoldRows,
    ) -> NDArray[np.float64]:
        """The scores of rules on held-out rows: VI per row, or what a scorer says."""
        if self.scoring == "vi":
            covered, errors, total = counts.T
            return np.asarray((covered - float(self.scoring_w) * errors) / total)
        from sklearn.metrics import get_scorer

        scorer = get_scorer(self.scoring)
        weights = {} if unseen.weights is None else {"sample_weight": unseen.weights}
        values = {}
        for rule in set(rules):
            model = copy(self)
            model._take(rule, table, known.X)
            values[rule] = float(scorer(model, unseen.X, unseen.y, **weights))
        return np.array([values[rule] for rule in rules])


def _until(clock: Clock, share: float) -> Clock:
    """A clock that ends with this share of the whole time."""
    limit = clock.budget.time_limit
    seconds = None if limit is None else max(0.0, limit * share - clock.elapsed())
    return replace(clock.budget, time_limit=seconds).start()


def _shares(clock: Clock, parts: int) -> Iterator[Clock]:
    """A clock for each part of a work: an equal share of the time that is then left."""
    for left in range(parts, 0, -1):
        limit = clock.budget.time_limit
        seconds = None if limit is None else max(0.0, clock.remaining()) / left
        yield replace(clock.budget, time_limit=seconds).start()


def _nothing(found: Solution) -> Solution:
    """Covering nothing, beside what could be gained on the training rows."""
    return replace(
        found, rule=None, value=0.0, covered=0.0, errors=0.0,
        bound=max(0.0, found.bound), status=Status.FEASIBLE,
    )  # fmt: skip


def _listed(name: str, values: Any) -> list[Any]:
    """The values of a grid, which must not be empty."""
    if isinstance(values, str) or not isinstance(values, Iterable) or not len(list(values)):
        raise InputError(f"'{name}' must be a list of values to choose from, got {values!r}.")
    return list(values)
