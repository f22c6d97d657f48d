"""From the rules that reach the best value to the first in the documented order, audited."""

from __future__ import annotations

from typing import Any

from opdt.engines.base import Outcome, conclude
from opdt.engines.search.boxes import Box
from opdt.errors import EngineFailure
from opdt.problem import Measure
from opdt.problem.coded import OP_ORDER
from opdt.problem.problem import rule_order
from opdt.rules import Condition, Op, Rule
from opdt.rules.thresholds import readable_threshold
from opdt.scale import keys
from opdt.scale.driver import Stopped
from opdt.scale.partition_run import Found, PartitionRun
from opdt.scale.passes import FetchRows, FindNeighbours
from opdt.solution import Solution, StopReason

# ray and position → the levels next to it: the largest below and the smallest not below
Next = dict[tuple[int, int], tuple[int, int]]


def answer(search: PartitionRun) -> Solution:
    """The solution of a search, its rule measured once more on all rows."""
    found, measure = search.found, None
    beside: Next = {}
    if search.stopped_by is None:
        try:
            found, measure, beside = first_of(search, search.candidates())
        except Stopped as stop:
            search.stopped_by = stop.reason
        except KeyboardInterrupt:
            search.stopped_by = StopReason.INTERRUPTED
    if search.stopped_by is not None and found is not None:
        measure = _stated(search, found)
    outcome = Outcome(
        None,
        None if search.stopped_by is None else _bound(search),
        search.stopped_by or StopReason.FINISHED,
        tuple(search.recorder.points),
        search.statistics,
    )
    rule = None if found is None else _rule(search, found, beside)
    seconds = search.driver.clock.elapsed()
    return conclude("search", search.problem, rule, measure, outcome, seconds)


def _bound(search: PartitionRun) -> int:
    """A gain that no rule exceeds; where only ties were still to be decided, that of the best."""
    bound = search.bound()
    return search.scores.gain_of(search.reached) if bound is None else bound


def first_of(
    search: PartitionRun, candidates: list[Found]
) -> tuple[Found | None, Measure | None, Next]:
    """The first of the best rules, with its counts, from one more pass."""
    if not candidates:
        return None, None, {}
    spots = tuple(sorted({
        (ray, at)
        for found in candidates
        for ray, at in zip(found.rays, found.spots, strict=True)
        if search.rays[ray].op.is_threshold
    }))  # fmt: skip
    boxes = tuple(
        Box(0, f.label, f.rays, tuple(at - 1 for at in f.spots), f.spots) for f in candidates
    )
    covers, near = search.ask(FetchRows(boxes, search.question.n_classes), FindNeighbours(spots))
    beside = {
        spot: (int(near["below"][at]), int(near["above"][at])) for at, spot in enumerate(spots)
    }
    ranked = []
    for found, cover in zip(candidates, covers["always"], strict=True):
        factors = search.factors[found.label]
        value = int((factors * cover).sum()) + search.scores.offset(len(found.rays))
        if value != found.value:
            raise EngineFailure(
                f"a rule counted as {found.value} on boxes has the value {value} on the rows."
            )
        covered = int(cover.sum())
        errors = covered - int(cover[found.label])
        measure = Measure(search.scores.gain_of(value + errors - search.scores.offset(
            len(found.rays))) if search.scores.with_errors else value, covered, errors)  # fmt: skip
        ranked.append((_key(search, found, measure, beside), found, measure))
    _, first, measure = min(ranked, key=lambda item: item[0])
    if not search.problem.within_limits(measure):
        raise EngineFailure(f"a rule of {measure} was found, which is outside the limits.")
    return first, measure, beside


def _key(search: PartitionRun, found: Found, measure: Measure, beside: Next) -> tuple[Any, ...]:
    """`Problem.key`, with levels of rows in the place of codes: both are in the same order."""
    rays = [search.rays[ray] for ray in found.rays]
    places: list[tuple[int, tuple[int, ...]]] = []
    for index, ray, at in zip(found.rays, rays, found.spots, strict=True):
        rank = OP_ORDER[ray.op]
        if ray.op.is_threshold:
            places.append((ray.feature, (rank, beside[index, at][1])))
        elif ray.op is Op.IN:
            places.append((ray.feature, (rank, -len(ray.levels), *ray.levels)))
        else:
            places.append((ray.feature, (rank, ray.code)))
    return rule_order(measure, places, found.label)


def _stated(search: PartitionRun, found: Found) -> Measure:
    """Gain, coverage and errors of the incumbent, worked out from its value.

    Without errors in the value, only the gain is known: then nothing is said of the others.
    """
    scores, ratio = search.scores, search.question.ratio
    sums = found.value - scores.offset(len(found.rays))
    if not scores.with_errors:
        return Measure(sums, 0, 0)
    gain = scores.gain_of(sums)
    errors = gain * scores.scale - sums
    right = (gain - (ratio.denominator - ratio.numerator) * errors) // ratio.denominator
    return Measure(gain, right + errors, errors)


def _rule(search: PartitionRun, found: Found, beside: Next) -> Rule:
    """The rule with names and readable thresholds.

    Where a limit cut the search short, the values next to a threshold are not known, and it is
    shown as it was used.
    """
    table = search.problem.table
    conditions = []
    for index, at in zip(found.rays, found.spots, strict=True):
        ray = search.rays[index]
        name, values = table.names[ray.feature], table.columns[ray.feature].values
        layout = search.question.schema.features[ray.feature]
        clean = layout.cleaning
        if ray.op.is_threshold:
            below, above = beside.get((index, at), (at - 1, at))
            ends = (below, above) if ray.op is Op.GE else (-above, -below)
            low, high = (keys.value_of(end, layout) for end in ends)
            conditions.append(Condition(name, ray.op, readable_threshold(low, high), clean))
        elif ray.op in (Op.EQ, Op.NE):
            conditions.append(Condition(name, ray.op, values[ray.code], clean))
        elif ray.op is Op.IN:
            levels = [values[code] for code in ray.levels]
            conditions.append(Condition(name, ray.op, levels, clean))
        else:
            conditions.append(Condition(name, ray.op, cleaning=clean))
    return Rule(conditions, table.classes[found.label])
