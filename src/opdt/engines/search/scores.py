"""Values that carry the tie-break: gain first, then fewer conditions, then fewer errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdt.problem import Problem

# Sums of values stay below this in absolute value.
LIMIT = 2**60


@dataclass(frozen=True)
class Scores:
    """value = scale × gain - price × conditions - errors, all whole numbers.

    The scale exceeds anything the other two can add up to, so comparing values compares gains
    first, then numbers of conditions, then errors. Where such numbers would overflow 64 bits
    (very fine row weights) the value is the gain alone, and ties are settled afterwards.
    """

    scale: int
    price: int
    with_errors: bool

    @classmethod
    def of(cls, problem: Problem) -> Scores:
        """The finest scores that fit into 64 bits."""
        objective = problem.objective
        sums = [int(np.abs(objective.gains(label)).sum()) for label in objective.labels]
        return cls.of_sums(int(objective.weights.sum()), max(1, *sums), problem.structure.depth)

    @classmethod
    def of_sums(cls, weight: int, largest: int, depth: int) -> Scores:
        """The same, from the weight of all rows and the largest sum of absolute gains."""
        price = weight + 1
        scale = price * depth + weight + 1
        if largest * scale < LIMIT:
            return cls(scale, price, True)
        return cls(1, 0, False)

    def gains(self, problem: Problem, label: int) -> NDArray[np.int64]:
        """The value each row adds when covered, shape (n_rows,)."""
        gains = problem.objective.gains(label) * self.scale
        if self.with_errors:
            gains -= problem.objective.weights * problem.objective.wrong(label)
        return gains

    def offset(self, n_conditions: int) -> int:
        """What a rule of so many conditions has besides the sum over its rows."""
        return -self.price * n_conditions

    def gain_of(self, value: int) -> int:
        """The gain that a value stands for; for a bound, the gain it allows at most."""
        return -(-value // self.scale)

    def least_value(self, gain: int) -> int:
        """The smallest value of a rule with at least this gain."""
        return (gain - 1) * self.scale + 1
