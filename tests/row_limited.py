"""Problems with limits on sums of rows, and the slow twin that checks them one by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from naive import Answer, Naive
from opdt import Parity, PerSegment, Table
from opdt.errors import InputError
from opdt.objectives.gains import as_written
from opdt.problem import Problem
from strategies import EMPHASES

DRAWN = [name for name in EMPHASES if name != "gains"]
REGIONS = ["north", "south", "west", None]


def share(value: float) -> Fraction:
    return as_written(value)


class Limited(Naive):
    """The slow twin with sums over rows checked one by one, on the raw segments."""

    def __init__(self, problem: Problem, regions: list[str | None]) -> None:
        super().__init__(problem)
        self.regions = regions

    def weight(self, rows: Any) -> Fraction:
        return sum(self.weights[row] for row in rows) * self.units[1]

    def keeps(self, rows: frozenset[int], label: int) -> bool:
        """Whether the covered rows are within all limits."""
        demands = self.demands
        if demands.max_coverage is not None:
            everything = range(len(self.weights))
            if self.weight(rows) > self.most(demands.max_coverage, everything):
                return False
        return all(self.fits(rows, label, each) for each in demands.segments) and all(
            self.is_fair(rows, label, each) for each in demands.parities
        )

    def most(self, given: float, rows: Any) -> Fraction:
        return Fraction(given) if isinstance(given, int) else share(given) * self.weight(rows)

    def groups(self) -> dict[str, list[int]]:
        return {
            region: [row for row, own in enumerate(self.regions) if own == region]
            for region in sorted({own for own in self.regions if own is not None})
        }

    def fits(self, rows: frozenset[int], label: int, asked: PerSegment) -> bool:
        for region, members in self.groups().items():
            inside = [row for row in members if row in rows]
            wrong = self.weight([row for row in inside if self.wrong[label][row]])
            covered = self.weight(inside)

            def limit(given: Any, region: str = region) -> Any:
                return given.get(region) if isinstance(given, dict) else given

            least, errors = limit(asked.min_precision), limit(asked.max_errors)
            if least is not None and covered - wrong < share(least) * covered:
                return False
            if errors is not None and wrong > share(errors):
                return False
            most = limit(asked.max_coverage)
            if most is not None and covered > self.most(most, members):
                return False
        return True

    def is_fair(self, rows: frozenset[int], label: int, asked: Parity) -> bool:
        shares = []
        for members in self.groups().values():
            counted = [
                row for row in members if asked.of == "coverage" or not self.wrong[label][row]
            ]
            inside = [row for row in counted if row in rows]
            shares.append(self.weight(inside) / self.weight(counted))
        for one, two in permutations(shares, 2):
            if asked.max_difference is not None and one - two > share(asked.max_difference):
                return False
            if asked.min_ratio is not None and one < share(asked.min_ratio) * two:
                return False
        return True

    def best_within(self) -> Answer:
        may_be_empty = self.demands.min_coverage == 0
        best_key, best = None, Answer(Fraction(0)) if may_be_empty else Answer(None)
        for tests, rows in self.rules():
            for label in self.labels:
                value, covered, errors = self.count(rows, label)
                if (may_be_empty and value <= 0) or not self.enough(covered, errors):
                    continue
                if best_key is not None and -value > best_key[0]:
                    continue
                short = self.simplify(tests)
                if not self.allowed(short) or not self.keeps(rows, label):
                    continue
                key = (-value, len(short), errors, *self.order(short), label)
                if best_key is None or key < best_key:
                    best_key, best = key, Answer(value, short, label, covered, errors)
        return best


@st.composite
def limits(draw: st.DrawFn) -> dict[str, Any]:
    """Some limits on sums of rows."""
    given: dict[str, Any] = {}
    kinds = draw(st.sets(st.sampled_from(["budget", "segments", "parity"]), min_size=1))
    if "budget" in kinds:
        given["max_coverage"] = draw(st.sampled_from([0, 1, 3, 6, 0.1, 0.25, 0.5]))
    if "segments" in kinds:
        asked = draw(
            st.sets(st.sampled_from(["min_precision", "max_errors", "max_coverage"]), min_size=1)
        )
        values = {
            "min_precision": st.sampled_from([0.4, 0.5, 2 / 3, 0.9, 1.0]),
            "max_errors": st.sampled_from([0, 0.5, 1, 2]),
            "max_coverage": st.sampled_from([1, 2, 0.3, 0.5]),
        }
        chosen: dict[str, Any] = {name: draw(values[name]) for name in sorted(asked)}
        given["segments"] = [PerSegment("region", **chosen)]
    if "parity" in kinds:
        of = draw(st.sampled_from(["coverage", "recall"]))
        if draw(st.booleans()):
            difference = draw(st.sampled_from([0, 0.1, 0.25, 1 / 3, 0.5]))
            given["parities"] = [Parity("region", of=of, max_difference=difference)]
        else:
            ratio = draw(st.sampled_from([0.5, 0.8, 1.0]))
            given["parities"] = [Parity("region", of=of, min_ratio=ratio)]
    return given


def limited(problem: Problem, given: dict[str, Any], seed: int) -> tuple[Problem, list[Any]]:
    """The problem with these limits, and the region of each row; passed over if it is refused."""
    rng = np.random.default_rng(seed)
    regions = [REGIONS[i] for i in rng.integers(0, rng.integers(2, 5), problem.table.n_rows)]
    cells = {"region": regions, "x": list(range(len(regions)))}
    labels = ["a", "b"] * len(regions)
    if len(regions) < 2:
        assume(False)
    side = Table.build(
        cells,
        labels[: len(regions)],
        keep=["region"],
        warn=False,
        roles={"region": "ignored", "x": "numeric"},
    )
    table = replace(problem.table, kept=side.kept)
    demands = replace(problem.constraints, **given)
    labels_asked = problem.objective.labels
    single = len(labels_asked) == 1 and len(table.classes) > 1
    try:
        made = Problem.build(
            table, structure=problem.structure, groups=dict(problem.groups.custom),
            w=problem.objective.w, constraints=demands,
            label=table.classes.tolist()[labels_asked[0]] if single else None,
        )  # fmt: skip
    except InputError as error:
        assume("has no rows" not in str(error) and "2 to 20" not in str(error))
        assume("has no values" not in str(error))
        raise
    return made, regions
