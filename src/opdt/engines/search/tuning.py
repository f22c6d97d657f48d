"""What can be switched off, and where one way of working takes over from another.

None of it changes an answer. The numbers were found by measurement. Tests draw others, so small
that every step is taken on a few rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Sizes = tuple[int, ...]  # one for 1, 2, … conditions, or axes, or sides of a box


@dataclass(frozen=True)
class Tuning:
    """The thresholds of the search."""

    # few rows
    worth_threads: int = 1_000_000  # pairs × rows from which starting threads pays
    worth_seeding: int = 300_000  # pairs of rays × rows from which a beam pays
    worth_noting: float = 0.02  # seconds after which rules are worked out on the way
    merged_rows: int = 2_000  # rows of a table in which equal ones may be merged
    merged_worth: float = 2  # rows that must become one then, on average
    # cells
    ladder: tuple[Sizes, ...] = (
        (250,), (64, 250), (22, 56), (11, 16), (7, 10), (5, 7), (4,), (4,),
    )  # fmt: skip  # bins of an ordered axis: coarse ones first, then finer
    intervals: tuple[Sizes, ...] = (
        (), (), (64, 250), (24, 48), (12, 18), (9,), (6,), (4,),
    )  # fmt: skip  # the same where both ends of an interval share an axis
    levels: Sizes = (250, 250, 60, 20, 12, 8, 6, 6)  # of an axis without order; more get several
    many_levels: int = 64  # single rays from which ordered ones are weighed by themselves
    strips: tuple[int, int] = (64, 8)  # bins of an axis and parts of each, where both tell
    batch: int = 20_000_000  # steps (rows and cells) of one call of a kernel
    # bits
    wide: int = 100  # axes from which pairs are bounded by bits first
    coarse: tuple[tuple[int, int], ...] = ((256, 4), (4_096, 6))  # rows, bins of many values
    tried: int = 64  # pairs counted at once, the best first, before the others are seen again
    # boxes
    leaf_rows: Sizes = (60_000, 6_000, 3_000, 300, 100, 100, 100, 100)  # left to exact kernels
    leaf_steps: int = 10_000_000  # or rows times positions on the shortest of three rays
    few_rows: int = 2_000  # and when the loosest of several equal rules is looked for
    few_positions: int = 64  # or so few positions on two rays, as many combinations on more
    inner_bins: Sizes = (512, 160, 40, 16, 9, 6, 5, 4)  # of a side when a box is cut
    most_alive: int = 4_096  # cells alive of a box being cut; with more it is halved
    at_once: int = 64  # parts of a box that are settled with it, at most
    # positions
    records: int = 4_096  # of one call of a kernel, at least
    steps: int = 100_000  # rows and nodes between two looks at the clock
    kept_blocks: int = 50_000  # of rules, before those that cannot matter are thrown out
    many_sets: int = 20_000  # sets of rays gathered before their rules are listed
    price_searches: int = 20  # that look for good prices of further limits
    # partitions
    many_boxes: int = 3  # large boxes of a set of axes that is counted once more, at least
    fetched_rows: int = 60_000  # undecided rows of a box that are brought back
    sample_rows: int = 20_000  # rows of the sample that are solved in memory


@dataclass(frozen=True)
class Switches:
    """The accelerators; each can be turned off, and none changes the answer.

    Attributes
    ----------
    seeding : bool
        Start from the rules of a greedy beam.
    reduction : bool
        Keep only positions between a loss and a gain (and above the mass that is needed).
    intervals : bool
        Bound the positions between two settled ones, instead of settling all.
    canonical : bool
        Visit a set of rays in one order only.
    exclusion : bool
        Bound what rays can drop at all: see `kernels.rest`.
    prices : bool
        Price limits on rows, so that bounds know of them: see `pricing`.
    bits : bool
        Count rows of two-valued rays by bits.
    merging : bool
        Put rows together that no condition tells apart.
    spans : bool
        Find the best interval of one feature in one pass over the rows, and bound an interval
        beside other rays with one axis for both of its ends.
    alone : bool
        Bound an ordered ray beside excluded levels by what it gains alone.
    strips : bool
        Bound a box by what each of its sides can add alone, and two ordered rays by what
        thresholds inside a bin can add: see `strip_kernels`.
    pairs : bool
        Over partitions, bound three rays and more by the counts of pairs: see `pair_bounds`.
    large_rows, large_rays : int
        Tables with more rows, or with more rays, are searched by counting cells of binned
        features first; so are those with more than a third as many single rays.
    tuning : Tuning
        The finer thresholds.
    """

    seeding: bool = True
    reduction: bool = True
    intervals: bool = True
    canonical: bool = True
    exclusion: bool = True
    prices: bool = True
    bits: bool = True
    merging: bool = True
    spans: bool = True
    alone: bool = True
    strips: bool = True
    pairs: bool = True
    large_rows: int = 20_000
    large_rays: int = 600
    tuning: Tuning = field(default_factory=Tuning)
