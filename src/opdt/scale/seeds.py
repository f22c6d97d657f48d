"""Rules of the sample, found in memory: a strong incumbent once they are measured on all rows."""

from __future__ import annotations

from opdt.engines.search.boxes import Box
from opdt.engines.search.seeding import good_rules
from opdt.rules import Condition, Op, Rule
from opdt.scale.keys import key_of
from opdt.scale.partition_run import PartitionRun

SECONDS = 10.0  # that this may take
N_SEEDS = 9


def seeds(run: PartitionRun) -> tuple[Box, ...]:
    """The best rules of the sample, as boxes of one position."""
    problem = run.question.sample_problem(run.switches.tuning.sample_rows)
    if problem is None:
        return ()
    rules = good_rules(problem, run.driver.clock, SECONDS, N_SEEDS)
    boxes = [_box_of(run, rule) for rule in rules]
    return tuple(box for box in boxes if box is not None)


def _box_of(run: PartitionRun, rule: Rule) -> Box | None:
    """The box that holds just this rule; None where the rule is not one of the problem's."""
    spots: dict[int, int] = {}
    for condition in rule.conditions:
        spots.update(_spots_of(run, condition))
    rays = tuple(sorted(spots))
    if len(rays) < len(rule.conditions) or not run.question.prepared.fits(rays) or not rays:
        return None
    classes = run.problem.table.classes.tolist()
    high = tuple(spots[ray] for ray in rays)
    low = tuple(at - 1 for at in high)
    return Box(0, classes.index(rule.label), rays, low, high)


def _spots_of(run: PartitionRun, condition: Condition) -> dict[int, int]:
    """The ray of a condition, and its position there."""
    schema = run.question.schema
    feature = [layout.name for layout in schema.features].index(condition.feature)
    levels = run.problem.table.columns[feature].values.tolist()
    for index, ray in enumerate(run.rays):
        if (ray.feature, ray.op) != (feature, condition.op):
            continue
        if ray.op.is_threshold:
            key = key_of(condition.value, schema.features[feature])
            return {index: key if ray.op is Op.GE else 1 - key}
        if ray.op in (Op.EQ, Op.NE):
            same = levels[ray.code] == condition.value
        elif ray.op is Op.IN:
            same = {levels[c] for c in ray.levels} == condition.value
        else:
            same = True
        if same:
            return {index: 1}
    return {}
