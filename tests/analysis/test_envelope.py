from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from opdt.analysis.envelope import Ceiling, piece_at, upper_envelope
from opdt.engines.prices import Line

counts = st.builds(
    lambda errors, correct: Line(errors + correct, errors), st.integers(0, 12), st.integers(0, 12)
)
prices = st.fractions(1, 15, max_denominator=12)


@given(lines=st.lists(counts, min_size=1, max_size=12), w=prices)
def test_the_envelope_is_the_largest_line_at_every_price(lines, w):
    pieces = upper_envelope(lines)
    assert pieces[0].w_from == 1
    for price in (w, *(piece.w_from for piece in pieces)):
        largest = max(line.value(price) for line in lines)
        assert piece_at(pieces, price).line.value(price) == largest
    for one, two in pairwise(pieces):
        assert one.w_from < two.w_from
        assert one.line.errors > two.line.errors
    fewest = min(line.errors for line in lines)
    assert piece_at(pieces, None).line.errors == fewest


def test_a_line_that_only_touches_is_left_out():
    corner = [Line(8, 2), Line(5, 1), Line(2, 0)]  # all three have the value 2 at w = 3
    assert [piece.line for piece in upper_envelope(corner)] == [Line(8, 2), Line(2, 0)]


@given(
    lines=st.lists(counts, min_size=1, max_size=8),
    asked=st.lists(st.tuples(prices, st.integers(0, 3)), min_size=1, max_size=6),
    w=prices,
)
def test_a_ceiling_is_never_below_the_envelope(lines, asked, w):
    """Whatever the prices at which bounds are known, and however loose these are."""

    def largest(price: Fraction) -> Fraction:
        return max(line.value(price) for line in lines)

    points = [(Fraction(1), largest(Fraction(1)))]
    points += [(price, largest(price) + slack) for price, slack in asked]
    ceiling = Ceiling(points)
    assert ceiling.at(w) >= largest(w)
    assert ceiling.at(None) == min(bound for _, bound in points)
    for price, bound in points:
        assert ceiling.at(price) <= bound
