"""The problem: table, structure and objective, and the only definition of a rule's value."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opdt.errors import InputError
from opdt.objectives import Objective
from opdt.objectives.gains import (
    Gains,
    VolumeImpurity,
    as_written,
    row_gains,
    volume_impurity,
)
from opdt.problem.chains import Chain, Level, compile_chains
from opdt.problem.coded import (
    CodedCondition,
    CodedRule,
    holds,
    is_possible,
    is_wider,
    simplify,
    tightness,
)
from opdt.problem.constraints import Constraints
from opdt.problem.groups import FeatureGroups, check_groups
from opdt.problem.lifting import class_code, label_code, lift_condition, lower_condition
from opdt.problem.segments import RowLimit, check_row_limits, row_limits
from opdt.problem.structure import Structure
from opdt.rules import Op, Rule
from opdt.table import Kind, Plan, Table

if TYPE_CHECKING:
    from opdt.problem.arguments import ObjectiveLike, StructureLike

Conditions = tuple[CodedCondition, ...]

# Which side of a split each operator is, as in the paper's branching constraints; a subset may
# stand on either side.
RIGHT = frozenset({Op.GE, Op.EQ, Op.IN, Op.MISSING})
LEFT = frozenset({Op.LT, Op.NE, Op.IN, Op.PRESENT})

# `in` conditions are enumerated, so their number is kept in hand: 2**12 subsets of one feature. Of
# a feature of more levels they hold the most frequent ones, one fewer: all others are one bin more.
MAX_SUBSET_LEVELS = 12

# A precision is compared by multiplying sums of weights with its denominator in 64 bits.
MAX_PRODUCT = 2**63 - 1


class Measure(NamedTuple):
    """Exact counts of a rule: gain in units of the objective, rows and errors in weight units."""

    gain: int
    covered: int
    errors: int


class RowLimits(NamedTuple):
    """The row constraints in weight units: covered >= min_covered, errors <= max_errors, and
    (covered - errors) >= precision * covered.
    """

    min_covered: int
    max_errors: int
    precision: Fraction


@dataclass(frozen=True, eq=False)
class Problem:
    """Find the conjunction of greatest gain that fits the structure and the constraints.

    Engines maximise over `objective.labels` and over the rules that `chains` describe. The rule
    that covers nothing has gain 0 and is always there, unless a minimum coverage forbids it.
    """

    table: Table
    structure: Structure
    groups: FeatureGroups
    objective: Gains
    constraints: Constraints = field(default_factory=Constraints)
    # The codes that `in` conditions on a feature of many levels may hold; by the rows if left out.
    frequent: Mapping[int, tuple[int, ...]] | None = None
    # What the rule is to be best in: "vi"; "precision", at any price; "coverage", at the price 1;
    # or an objective of its own, which `objective` holds bound to the rows.
    best_in: str | Objective = "vi"

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        *,
        max_depth: int | None = None,
        w: float = 10.0,
        structure: StructureLike = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        label: Any = None,
        objective: ObjectiveLike = "vi",
        min_coverage: float | None = None,
        max_coverage: float | None = None,
        min_precision: float | None = None,
        constraints: Constraints | Mapping[str, Any] | None = None,
        sample_weight: Any = None,
        roles: Mapping[str, str] | Plan | None = None,
        missing: Any = None,
    ) -> Problem:
        """The problem that `opdt.discover` solves with these arguments.

        All functions that search take it in the place of the data: what is asked several times
        is then read and coded once. A problem in the place of the data comes back as it is.

        Parameters
        ----------
        X, y, max_depth, w, structure, groups, label, objective, min_coverage, max_coverage, \
min_precision, constraints, sample_weight, roles, missing
            As in `opdt.discover`; partitions are not taken.

        Examples
        --------
        >>> from opdt import discover, top_rules
        >>> problem = Problem.of({"age": [25, 31, 47, 52]}, ["well", "well", "ill", "ill"],
        ...                      label="ill", max_depth=1)
        >>> print(discover(problem).rule)
        IF age >= 40 THEN ill
        >>> len(top_rules(problem))
        2
        """
        from opdt.problem.arguments import build_problem

        return build_problem(
            X, y, max_depth=max_depth, w=w, structure=structure, groups=groups, label=label,
            objective=objective, min_coverage=min_coverage, max_coverage=max_coverage,
            min_precision=min_precision,
            constraints=constraints, sample_weight=sample_weight, roles=roles, missing=missing,
        )  # fmt: skip

    @classmethod
    def build(
        cls,
        table: Table,
        *,
        structure: Structure | None = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        w: float | Fraction = 10.0,
        label: Any = None,
        constraints: Constraints | None = None,
        gains: Gains | None = None,
    ) -> Problem:
        """The problem of the best VI on this table, or of other gains.

        Parameters
        ----------
        table : Table
        structure : Structure, optional
            Depth 2 with every feature everywhere, if left out.
        groups : mapping of name to features, optional
            Groups the structure refers to, beside `all`, `num` and `cat`.
        w : float
            The price of one error, in rows; at least 1.
        label : class, optional
            The class the rule must have, or "rarest"; the best over all classes if left out.
        constraints : Constraints, optional
        gains : Gains, optional
            What covering each row is worth, in the place of the VI; `w` then does not count.
        """
        constraints = _of_features(table, constraints or Constraints(), groups)
        constraints.check_names(table.names, table.categorical)
        feature_groups = FeatureGroups.of(
            table.names, table.numeric, table.categorical, check_groups(groups)
        )
        code = label_code(table, label)
        if gains is None:
            gains = volume_impurity(
                table.labels, len(table.classes), w, code, table.weights, constraints.max_units
            )
        structure = structure or Structure.free(2)
        problem = cls(table, structure, feature_groups, gains, constraints)
        problem._check()
        return problem

    def with_gains(self, gains: Any, label: int = 0) -> Problem:
        """The same rules with any real gain per row, shape (n_rows,).

        `label` is the code of the class that the rule is said to point to. Coverage, precision
        and errors count rows without their weights; rows of negative gain are the errors.
        """
        if np.shape(gains) != (self.table.n_rows,):
            raise InputError(
                f"'gains' must have one number for each of the {self.table.n_rows} rows, "
                f"got shape {np.shape(gains)}."
            )
        n_classes = len(self.table.classes)
        if label not in range(n_classes):
            raise InputError(f"'label' must be a class code below {n_classes}, got {label!r}.")
        return self.with_objective(row_gains(gains, label))

    def with_objective(self, objective: Gains) -> Problem:
        """The same rules with other gains; whatever does not depend on them is kept."""
        return self._changed("objective", objective)

    def with_limits(self, **limits: Any) -> Problem:
        """The same rules with other limits on the rows they cover.

        Takes `min_coverage`, `min_precision`, `max_errors`, `max_coverage`, `segments` and
        `parities` of `Constraints`; those that are not given stay, and so does whatever does not
        depend on them.
        """
        return self._changed("constraints", replace(self.constraints, **limits))

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """The problem of some rows, as if no other row had been read."""
        return replace(
            self, table=self.table.take(rows), objective=self.objective.take(rows), frequent=None
        )

    def _changed(self, name: str, value: Any) -> Problem:
        other = copy(self)
        for known in ("limits", "n_rules", "_row_limits"):
            other.__dict__.pop(known, None)
        object.__setattr__(other, name, value)
        return other

    def _check(self) -> None:
        needed = len(self.required)
        if needed > self.structure.depth:
            raise InputError(
                f"'required' names {needed} features, but a rule of this structure has at most "
                f"{self.structure.depth} conditions; raise the depth or drop some."
            )
        _ = self.chains  # refuses groups that do not exist or are empty
        _ = self.limits  # refuses a precision of more digits than can be compared
        check_row_limits(self)

    # -- what may be said -------------------------------------------------------------------

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The structure as chains of levels; see `opdt.problem.chains`."""
        return compile_chains(self.structure, self.groups)

    @cached_property
    def subset_features(self) -> frozenset[int]:
        """Categorical features that may take `in` conditions."""
        subsets = self.constraints.subsets
        if isinstance(subsets, bool):
            return frozenset(self.table.categorical if subsets else ())
        return frozenset(self.table.index(name) for name in subsets)

    def subset_levels(self, feature: int) -> tuple[int, ...]:
        """The codes that `in` conditions on a feature may hold, ascending: all, or the frequent."""
        n_values = self.table.columns[feature].n_values
        return self.limited.get(feature, tuple(range(n_values)))

    @cached_property
    def limited(self) -> dict[int, tuple[int, ...]]:
        """The features of too many levels for all subsets, and the codes that these may hold."""
        known, out = self.frequent or {}, {}
        for feature in sorted(self.subset_features):
            column = self.table.columns[feature]
            if column.n_values > MAX_SUBSET_LEVELS:
                out[feature] = known.get(feature) or most_frequent(
                    np.bincount(column.codes[column.codes >= 0], minlength=column.n_values)
                )
        return out

    def noted(self, plan: Plan) -> Plan:
        """The plan of the columns, saying which subsets of levels are proven about."""
        names = {self.table.names[feature]: feature for feature in self.limited}
        columns = []
        for column in plan:
            if column.name in names:
                levels = self.table.columns[names[column.name]].n_values
                note = (
                    f"sets of levels ('in') are made of the {MAX_SUBSET_LEVELS - 1} most frequent "
                    f"of its {levels:,} levels; nothing is proven about sets with others"
                )
                column = replace(column, unproven=note)
            columns.append(column)
        return Plan(tuple(columns))

    @cached_property
    def required(self) -> frozenset[int]:
        """Indices of the features a rule must use."""
        return frozenset(self.table.index(name) for name in self.constraints.required)

    @cached_property
    def forbidden(self) -> frozenset[int]:
        """Indices of the features a rule must not use."""
        return frozenset(self.table.index(name) for name in self.constraints.forbidden)

    def ops_of(self, feature: int, *, right: bool = True, left: bool = True) -> frozenset[Op]:
        """The operators that conditions on a feature may have on these sides of a split."""
        sides = (RIGHT if right else frozenset()) | (LEFT if left else frozenset())
        return self._ops[feature] & sides

    @cached_property
    def _ops(self) -> tuple[frozenset[Op], ...]:
        out = []
        for feature, column in enumerate(self.table.columns):
            ops = {Op.GE, Op.LT} if column.kind is Kind.NUMERIC else {Op.EQ, Op.NE}
            only = self.constraints.directions.get(column.name)
            if only is not None:
                ops = {Op(only)}
            elif feature in self.subset_features:
                ops.add(Op.IN)
            if self.constraints.missing_conditions and column.has_missing:
                ops |= {Op.MISSING, Op.PRESENT}
            out.append(frozenset() if feature in self.forbidden else frozenset(ops))
        return tuple(out)

    def subsets_of(self, feature: int) -> Iterator[tuple[int, ...]]:
        """The sets of levels of `in` conditions: neither one level nor all but one, which `==`
        and `!=` say already.
        """
        levels = self.subset_levels(feature)
        n_values = self.table.columns[feature].n_values
        for size in range(2, min(len(levels), n_values - 2) + 1):
            yield from combinations(levels, size)

    def conditions_of(self, feature: int, *, right: bool, left: bool) -> Iterator[CodedCondition]:
        """Every condition on a feature that a level with these directions may apply."""
        n_values = self.table.columns[feature].n_values
        ops = self.ops_of(feature, right=right, left=left)
        for op in (op for op in Op if op in ops):
            if op.is_threshold:
                yield from (CodedCondition(feature, op, code) for code in range(1, n_values))
            elif op is Op.IN:
                yield from (CodedCondition(feature, op, -1, s) for s in self.subsets_of(feature))
            elif op.needs_value:
                yield from (CodedCondition(feature, op, code) for code in range(n_values))
            else:
                yield CodedCondition(feature, op)

    @cached_property
    def n_rules(self) -> tuple[int, int]:
        """At most so many rules, and so many with one threshold for each feature and direction."""
        from opdt.problem.evidence import count_rules

        return count_rules(self), count_rules(self, n_thresholds=1)

    def conditions_at(self, level: Level) -> list[CodedCondition]:
        """Every condition that a level may apply, in the order of the table."""
        return [
            condition
            for feature in level.features
            for condition in self.conditions_of(feature, right=level.right, left=level.left)
        ]

    def admits(self, level: Level, condition: CodedCondition) -> bool:
        """Whether the level may apply the condition."""
        feature = condition.feature
        return (
            feature in level.features
            and condition.op in self.ops_of(feature, right=level.right, left=level.left)
            and is_possible(condition, self.table.columns[feature].n_values)
            and (condition.op is not Op.IN or self._may_hold(feature, condition.levels))
        )

    def _may_hold(self, feature: int, levels: Iterable[int]) -> bool:
        """Whether subsets of a feature may be made of these levels."""
        return feature not in self.limited or set(levels) <= set(self.limited[feature])

    # -- what a rule is worth ----------------------------------------------------------------

    def cover(self, conditions: Iterable[CodedCondition]) -> NDArray[np.bool_]:
        """Rows on which every condition holds, shape (n_rows,)."""
        fires = np.ones(self.table.n_rows, dtype=bool)
        for condition in conditions:
            fires &= holds(condition, self.table.columns[condition.feature].codes)
        return fires

    def measure(self, rule: CodedRule) -> Measure:
        """Gain, covered rows and errors of a rule, exactly."""
        return self.measure_rows(self.cover(rule.conditions), rule.label)

    def measure_rows(self, fires: NDArray[np.bool_], label: int) -> Measure:
        """The same of covered rows, shape (n_rows,), and a class."""
        objective = self.objective
        covered = int(objective.weights[fires].sum())
        errors = int(objective.weights[fires & objective.wrong(label)].sum())
        if isinstance(objective, VolumeImpurity):  # which needs no gain of every row
            gain = objective.w.denominator * covered - objective.w.numerator * errors
        else:
            gain = int(objective.gains(label)[fires].sum())
        return Measure(gain, covered, errors)

    def gain(self, value: float) -> int:
        """The smallest gain in units whose `value`, a float, is at least `value`."""
        below = Fraction(max(math.nextafter(value, -math.inf), -sys.float_info.max))
        gain = math.ceil((below + Fraction(value)) / 2 / self.objective.unit)
        return gain if self.value(gain) >= value else gain + 1  # half-way between two floats

    @property
    def ceiling(self) -> int:
        """A gain in units that no rule exceeds: all rows of one class and no others."""
        labels = self.objective.labels
        return max(int(np.maximum(self.objective.gains(label), 0).sum()) for label in labels)

    def value(self, gain: int) -> float:
        """A gain in units as a float in the objective's own measure."""
        return float(gain * self.objective.unit)

    @cached_property
    def limits(self) -> RowLimits:
        """The row constraints in weight units; a rule that covers nothing is no rule."""
        total = int(self.objective.weights.sum())
        scale = self.objective.weight_scale
        asked = self.constraints.min_coverage
        rows = as_written(asked) * (scale if isinstance(asked, Integral) else total)
        errors = self.constraints.max_errors
        most = total if errors is None else min(total, math.floor(as_written(errors) * scale))
        precision = as_written(self.constraints.min_precision)
        finest = MAX_PRODUCT // max(1, total)
        if precision.denominator > finest:
            raise InputError(
                f"'min_precision' is {self.constraints.min_precision!r}, which has too many digits "
                f"to be compared exactly beside these row weights; round it to "
                f"{len(str(finest)) - 1} decimals."
            )
        return RowLimits(min(max(1, math.ceil(rows)), total + 1), most, precision)

    @property
    def may_be_empty(self) -> bool:
        """Whether covering nothing is an answer (it is, unless a minimum coverage is asked)."""
        return self.constraints.min_coverage == 0

    def within_limits(self, measure: Measure) -> bool:
        """Whether coverage, errors and precision are as demanded."""
        limits = self.limits
        return (
            measure.covered >= limits.min_covered
            and measure.errors <= limits.max_errors
            and measure.covered - measure.errors >= limits.precision * measure.covered
        )

    def row_limits(self, label: int) -> tuple[RowLimit, ...]:
        """Further limits on the rows of a rule of this class: budgets, segments, parities."""
        if not self.constraints.sums_rows:
            return ()
        if label not in self._row_limits:
            self._row_limits[label] = row_limits(self, label)
        return self._row_limits[label]

    @cached_property
    def _row_limits(self) -> dict[int, tuple[RowLimit, ...]]:
        return {}

    def meets_row_limits(self, rule: CodedRule) -> bool:
        """Whether the rows of a rule meet these further limits."""
        limits = self.row_limits(rule.label)
        if not limits:
            return True
        fires = self.cover(rule.conditions)
        return all(limit.holds(fires) for limit in limits)

    def key(self, rule: CodedRule, measure: Measure) -> tuple[Any, ...]:
        """The order of rules, best first: the documented tie-break of every exact engine.

        Larger gain; fewer conditions; fewer errors; the order of features in the table; the
        looser condition; the first class.
        """
        conditions = rule.conditions
        columns = self.table.columns
        places = [(c.feature, tightness(c, columns[c.feature].n_values)) for c in conditions]
        return rule_order(measure, places, rule.label)

    # -- whether a rule fits -----------------------------------------------------------------

    def objection(self, rule: CodedRule, measure: Measure | None = None) -> str | None:
        """Why the rule is not one of this problem's, or None if it is.

        `measure` is that of the rule, where it is known.
        """
        if rule.label not in self.objective.labels:
            return "its class is not the one asked for"
        used = [c.feature for c in rule.conditions]
        if not self.required <= set(used):
            return "it does not use every required feature"
        if self.constraints.once and len(set(used)) < len(used):
            return "it uses a feature more than once"
        if not any(self.fits(chain, rule.conditions) for chain in self.chains):
            return "it does not fit the structure"
        if not self.within_limits(measure or self.measure(rule)):
            return "its coverage, precision or errors are not as demanded"
        if not self.meets_row_limits(rule):
            return "it does not meet 'max_coverage', 'segments' or 'parities'"
        return None

    def fits(self, chain: Chain, conditions: Conditions) -> bool:
        """Whether the chain's levels can apply exactly these simplified conditions.

        Every condition takes a level of its own (or two, see `spellings`); a level that is left
        over must be one that may be vacuous, or must find something to repeat: a condition that
        the rule implies.
        """

        def idle(level: Level) -> bool:
            return level.vacuous or any(
                self.admits(level, filler) for filler in self.implied(conditions)
            )

        def place(wanted: Conditions, free: Chain) -> bool:
            if not wanted:
                return all(idle(level) for level in free)
            return len(wanted) <= len(free) and any(
                self.admits(level, wanted[0]) and place(wanted[1:], free[:at] + free[at + 1 :])
                for at, level in enumerate(free)
            )

        every = product(*map(self.spellings, conditions))
        return any(place(sum(each, ()), chain) for each in every)

    def spellings(self, condition: CodedCondition) -> Iterator[Conditions]:
        """The ways in which levels can say a condition: as it is, or as two that simplify to it.

        A left branch has no `==`, but two subsets that share a single level say the same.
        """
        yield (condition,)
        feature, op, code, _ = condition
        if op is Op.EQ and feature in self.subset_features:
            others = [c for c in self.subset_levels(feature) if c != code]
            # fewer levels have no subsets beside `==` and `!=`
            if len(others) > 2 and self._may_hold(feature, (code,)):
                yield tuple(
                    CodedCondition(feature, Op.IN, -1, tuple(sorted((code, other))))
                    for other in others[:2]
                )

    def implied(self, conditions: Conditions) -> Iterator[CodedCondition]:
        """Conditions that a level may apply without changing the conjunction."""
        for condition in conditions:
            yield condition
            if not condition.op.is_threshold:  # a wider threshold stands where this one does
                alike = self.conditions_of(condition.feature, right=True, left=True)
                yield from (other for other in alike if is_wider(other, condition))
            if condition.op is not Op.MISSING:
                yield CodedCondition(condition.feature, Op.PRESENT)

    # -- names and thresholds ----------------------------------------------------------------

    def lift(self, rule: CodedRule) -> Rule:
        """The rule with names, readable thresholds and its class."""
        conditions = [lift_condition(self.table, c) for c in rule.conditions]
        return Rule(conditions, self.table.classes[rule.label])

    def lower(self, rule: Rule) -> CodedRule:
        """The coded rule that covers the same rows of the table as `rule`."""
        conditions = tuple(lower_condition(self.table, c) for c in rule.conditions)
        coded = tuple(c for c in conditions if c is not None)
        return CodedRule(simplify(coded), class_code(self.table, rule.label))

    @property
    def is_vi(self) -> bool:
        """Whether the objective is the paper's VI (rather than any row gains)."""
        return isinstance(self.objective, VolumeImpurity)


def rule_order(
    measure: Measure, places: Sequence[tuple[int, tuple[int, ...]]], label: int
) -> tuple[Any, ...]:
    """The order of rules, best first; see `Problem.key`.

    `places` are the feature of each condition and its tightness among those of that feature.
    """
    return (
        -measure.gain,
        len(places),
        measure.errors,
        tuple(feature for feature, _ in places),
        tuple(tightness for _, tightness in places),
        label,
    )


def most_frequent(counts: NDArray[Any]) -> tuple[int, ...]:
    """The codes of the most frequent levels that subsets may hold, ascending."""
    order = np.argsort(-counts, kind="stable")[: MAX_SUBSET_LEVELS - 1]
    return tuple(sorted(order.tolist()))


def _of_features(
    table: Table, constraints: Constraints, groups: Mapping[str, Iterable[str]] | None
) -> Constraints:
    """The constraints without columns that are no features: to forbid them says nothing.

    Any other word about such a column is refused with the reason why it is no feature.
    """
    unused = {column.name for column in table.plan.not_used} - set(table.names)
    if not unused:
        return constraints
    subsets = () if isinstance(constraints.subsets, bool) else constraints.subsets
    members = (name for some in check_groups(groups).values() for name in some)
    for name in (*constraints.directions, *constraints.required, *subsets, *members):
        table.check_used(name)
    return replace(
        constraints, forbidden=tuple(n for n in constraints.forbidden if n not in unused)
    )
