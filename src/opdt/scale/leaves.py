"""The undecided rows of a box, brought back and settled by the in-memory engine's kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.engines.search.exact import Piece
from opdt.errors import EngineFailure
from opdt.scale.boxes import Box
from opdt.scale.question import Question

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A box with all that is needed to settle it."""

    box: Box
    piece: Piece
    values: tuple[Whole, ...]  # the levels that stand behind the piece's ranks

    def spots(self, gain: int, *, hurry: bool) -> tuple[int, tuple[int, ...]]:
        """Error weight and loosest positions that reach a gain."""
        found = self.piece.positions(gain, hurry=hurry)
        if found is None:
            raise EngineFailure(f"no conditions in {self.box} reach the gain {gain} of the search.")
        errors, local = found
        spots = tuple(
            low + 1 if at < 2 else int(values[at - 2]) + 1
            for low, at, values in zip(self.box.low, local, self.values, strict=True)
        )
        return errors, spots


def make_leaf(
    question: Question, box: Box, levels: Whole, groups: NDArray[np.uint8], weights: Whole,
    always: Whole,
) -> Leaf:  # fmt: skip
    """The leaf of a box: its undecided rows, and the class weights of those always covered."""
    factors, label = question.factors(box.label), box.label
    ranks = np.empty((len(box.rays), len(groups)), np.int32)
    values: list[Whole] = []
    for d, high in enumerate(box.high):
        known = np.unique(np.append(np.minimum(levels[:, d], high), high))
        ranks[d] = np.searchsorted(known, np.minimum(levels[:, d], high)) + 1
        values.append(known)
    limits = question.problem.limits
    covered = int(always.sum())
    piece = Piece(
        levels=ranks,
        tops=np.array([len(known) for known in values], np.int64),
        gains=factors[groups] * weights,
        weights=weights,
        wrong=weights * (groups != label),
        fixed=(int((factors * always).sum()), covered, covered - int(always[label])),
        limits=np.array(
            [limits.min_covered, limits.max_errors, limits.precision.numerator,
             limits.precision.denominator], np.int64,
        ),
        constrained=question.problem.constraints.bounds_rows,
        carries_errors=question.scores.with_errors,
        expired=_never,
    )  # fmt: skip
    return Leaf(box, piece, tuple(values))


def _never() -> bool:
    return False
