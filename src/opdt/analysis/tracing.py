"""Traces the optimum over all prices of an error by solving where lines cross."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from opdt.analysis.envelope import Ceiling, EnvelopePiece, crossing, piece_at, upper_envelope
from opdt.engines.prices import EMPTY, Answer, Line, Pricer
from opdt.rules import Rule

NOTHING = float("-inf")


@dataclass(frozen=True, eq=False)
class Trace:
    """What is known about the optimum; values and bounds are in weight units.

    A price of None stands for infinity, the limit of all large prices.
    """

    pieces: tuple[EnvelopePiece, ...]  # of the lines found; none where no rule was found
    solved: Mapping[Fraction, Line]  # proven best lines at some prices, ties decided
    ceiling: Ceiling
    last: Line | None  # proven the best at every price from the last point of the ceiling on
    w_end: Fraction | None
    infeasible: bool = False

    def line_at(self, w: Fraction | None) -> Line:
        """The best line found at a price; where that was solved, the one that ties prefer."""
        if w is not None and w in self.solved:
            return self.solved[w]
        return piece_at(self.pieces, w).line

    def bound_at(self, w: Fraction | None) -> Fraction | float:
        """A VI that no rule exceeds at a price."""
        if self.infeasible:
            return NOTHING
        if self.last is not None and (w is None or w >= self.ceiling.points[-1][0]):
            return value_at(self.last, w)
        return self.ceiling.at(w)

    def end_of(self, index: int) -> Fraction | None:
        """The price at which a piece ends."""
        return self.pieces[index + 1].w_from if index + 1 < len(self.pieces) else self.w_end

    def is_proven(self, index: int) -> bool:
        """Whether a piece is the optimum from end to end: as this is convex, both ends suffice."""
        w_from, line = self.pieces[index]
        ends: tuple[Fraction | None, ...] = (w_from, self.end_of(index))
        return all(value_at(line, w) == self.bound_at(w) for w in ends)


def value_at(line: Line, w: Fraction | None) -> Fraction | float:
    """The VI of a line; where an error costs infinitely much, only lines without errors count."""
    if w is not None:
        return line.value(w)
    return NOTHING if line.errors else Fraction(line.covered)


class Tracer:
    """Solves at both ends, then where the lines of two neighbours cross, widest gap first."""

    def __init__(self, pricer: Pricer, w_end: Fraction | None) -> None:
        self.pricer, self.w_end = pricer, w_end
        self.answers: dict[Fraction, Answer] = {}
        self._open: list[tuple[Fraction, Fraction, Fraction]] = []  # minus gap, two prices

    def run(self) -> Trace:
        """Everything that is found and proven within the budget."""
        pricer = self.pricer
        lowest = pricer.lowest
        last = pricer.highest if self.w_end is None else min(self.w_end, pricer.highest)
        first = self._ask(lowest, None)
        if first.line is not None and last > lowest and not pricer.halted():
            self._ask(last, first.line.rule)
            self._push(lowest, last)
        while self._open and not pricer.halted():
            self._settle(*heapq.heappop(self._open)[1:])
        if first.line is not None and not pricer.halted():
            self._ask(Fraction(1), first.line.rule)  # decides the ties there
        return self._trace(last)

    def _ask(self, w: Fraction, start: Rule | None) -> Answer:
        self.answers[w] = self.pricer.solve(w, start)
        return self.answers[w]

    def _push(self, left: Fraction, right: Fraction) -> None:
        """Put a stretch between two solved prices on the list, unless nothing is open there."""
        one, two = self.answers[left], self.answers[right]
        if one.line is None or two.line is None or not (one.proven and two.proven):
            return
        if one.line.errors == two.line.errors:
            return  # one line at both ends
        w = crossing(one.line, two.line)
        if left < w < right:
            low, high = one.line.value(left), two.line.value(right)
            chord = low + (high - low) * (w - left) / (right - left)
            heapq.heappush(self._open, (one.line.value(w) - chord, left, right))

    def _settle(self, left: Fraction, right: Fraction) -> None:
        """Solve where the lines of both ends cross; a better rule there opens both sides."""
        one, two = self.answers[left].line, self.answers[right].line
        assert one is not None
        assert two is not None
        w = crossing(one, two)
        found = self._ask(w, one.rule)
        if found.proven and found.line is not None and found.line.value(w) > one.value(w):
            self._push(left, w)
            self._push(w, right)

    def _trace(self, last: Fraction) -> Trace:
        solved = {w: a.line for w, a in self.answers.items() if a.proven and a.line is not None}
        found = [a.line for a in self.answers.values() if a.line is not None]
        if self.pricer.problem.may_be_empty:
            found.append(EMPTY)
        pieces = upper_envelope([*solved.values(), *found])
        if self.w_end is not None:
            pieces = [p for p in pieces if p.w_from < self.w_end] or pieces[:1]
        first = self.answers[self.pricer.lowest]
        return Trace(
            pieces=tuple(pieces),
            solved=solved,
            ceiling=Ceiling(self._bounds()),
            last=solved.get(last) if last == self.pricer.highest else None,
            w_end=self.w_end,
            infeasible=first.line is None and first.proven,
        )

    def _bounds(self) -> list[tuple[Fraction, Fraction]]:
        """Bounds at the solved prices, and at 1."""
        points = []
        for w, answer in self.answers.items():
            if answer.bound is not None:
                points.append((w, answer.bound))
            elif answer.line is not None:
                points.append((w, answer.line.value(w)))
        lowest, first = self.pricer.lowest, self.answers[self.pricer.lowest]
        if first.bound is not None:
            points.append((Fraction(1), first.bound + (lowest - 1) * self.pricer.total))
        elif first.line is not None:  # no crossing lies between
            points.append((Fraction(1), first.line.value(Fraction(1))))
        return points
