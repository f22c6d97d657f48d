"""Limits on a rule: what they say, whether they are met, and which of them could give way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdt.analysis.ranking import has_classes
from opdt.problem.segments import Parity, PerSegment
from opdt.report.formats import format_cell, format_count, format_share
from opdt.rules import Rule
from opdt.rules.counting import of_class
from opdt.solution import Solution
from opdt.studio.tables import RowPart
from opdt.studio.work import Work
from opdt.table import Plan

MOST_LINES = 12  # segments that are listed, those nearest to their limit first
_SLACK = 1e-9  # of shares that are equal but for rounding
_PARITY_WORDS = {"coverage": "coverage", "recall": "opportunity (recall)"}

Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class WorkLimit:
    """One limit of a work.

    Attributes
    ----------
    says : str
        The limit in words: "at most 200 rows covered".
    loosen : str
        What to do where it is too narrow: "allow more than 200 rows".
    without : Work
        The work without it.
    asked : PerSegment, Parity or str
        The limit itself; a name where it is one number of the work.
    """

    says: str
    loosen: str
    without: Work
    asked: PerSegment | Parity | str


@dataclass(frozen=True)
class SegmentLine:
    """What a rule does in one segment or group: its name, numbers as text, and whether it may."""

    name: str
    numbers: str
    met: bool


@dataclass(frozen=True)
class LimitCheck:
    """Whether a rule meets a limit on some rows.

    Attributes
    ----------
    says : str
        As in `WorkLimit`.
    numbers : str
        What the rule does: "187 rows".
    met : bool or None
        None on held-out rows where the limit is a number of training rows.
    lines : tuple of SegmentLine
        Segment by segment, those nearest to the limit first; at most `MOST_LINES`.
    more : int
        Segments that are not listed.
    """

    says: str
    numbers: str
    met: bool | None
    lines: tuple[SegmentLine, ...] = ()
    more: int = 0


def limits_of(work: Work) -> list[WorkLimit]:
    """All limits on the rows of the rule, in the order in which they are shown."""
    found = []
    if work.min_coverage:
        amount = _amount(work.min_coverage)
        found.append(
            WorkLimit(f"at least {amount} covered", f"ask for less coverage than {amount}",
                      work.change(min_coverage=0), "min_coverage")
        )  # fmt: skip
    if work.max_coverage is not None:
        amount = _amount(work.max_coverage)
        found.append(
            WorkLimit(f"at most {amount} covered", f"allow a coverage of more than {amount}",
                      work.change(max_coverage=None), "max_coverage")
        )  # fmt: skip
    if work.min_precision:
        share = format_share(work.min_precision)
        found.append(
            WorkLimit(f"precision at least {share}", f"ask for less precision than {share}",
                      work.change(min_precision=0.0), "min_precision")
        )  # fmt: skip
    if work.max_errors is not None:
        count = format_count(work.max_errors)
        found.append(
            WorkLimit(f"at most {count} errors", f"allow more than {count} errors",
                      work.change(max_errors=None), "max_errors")
        )  # fmt: skip
    for segment in work.segments:
        rest = tuple(each for each in work.segments if each is not segment)
        says = f"in every {segment.column}: {_of_segment(segment)}"
        loosen = f"ask for less in every {segment.column}"
        found.append(WorkLimit(says, loosen, work.change(segments=rest), segment))
    for parity in work.parities:
        left = tuple(each for each in work.parities if each is not parity)
        says = f"{_PARITY_WORDS[parity.of]} of the groups of {parity.column}: {_of_parity(parity)}"
        loosen = f"let the groups of {parity.column} differ more"
        found.append(WorkLimit(says, loosen, work.change(parities=left), parity))
    return found


def too_narrow(work: Work, find: Callable[[Work], Solution]) -> tuple[WorkLimit, ...]:
    """The limits without any one of which there is a rule; `find` searches."""
    return tuple(each for each in limits_of(work) if find(each.without).rule is not None)


def check_limits(
    work: Work, rule: Rule, part: RowPart, plan: Plan, *, new: bool = False
) -> tuple[LimitCheck, ...]:
    """Whether a rule meets the limits of its work on some rows, with numbers.

    `plan` says how the cells of a column are read, `new` that these rows are held out.
    """
    fires = rule.covers(part.source)
    right = of_class(part.labels, rule.label) if has_classes(work.objective) else None
    found = []
    for limit in limits_of(work):
        check = _check(limit, fires, right, part, plan, work)
        found.append(replace(check, met=None) if new and _counts(limit, work) else check)
    return tuple(found)


def _counts(limit: WorkLimit, work: Work) -> bool:
    """Whether a limit is a number of training rows, which says nothing about others."""
    if isinstance(limit.asked, str):
        given = getattr(work, limit.asked)
        return limit.asked == "max_errors" or isinstance(given, int)
    if isinstance(limit.asked, Parity):
        return False
    asked = limit.asked
    return asked.max_errors is not None or isinstance(asked.max_coverage, int)


def _check(
    limit: WorkLimit, fires: Masks, right: Masks | None, part: RowPart, plan: Plan, work: Work
) -> LimitCheck:
    asked, covered = limit.asked, int(fires.sum())
    if isinstance(asked, PerSegment):
        return _check_segments(limit, asked, fires, right, _segments(part, plan, asked.column))
    if isinstance(asked, Parity):
        return _check_parity(limit, asked, fires, right, _segments(part, plan, asked.column))
    rows = f"{covered:,} rows, {format_share(covered / len(fires))}"
    if asked == "min_coverage":
        least = _rows(work.min_coverage, len(fires))
        return LimitCheck(limit.says, rows, covered >= least - _SLACK)
    if asked == "max_coverage":
        assert work.max_coverage is not None
        return LimitCheck(limit.says, rows, covered <= _rows(work.max_coverage, len(fires)))
    assert right is not None
    errors = int((fires & ~right).sum())
    if asked == "max_errors":
        assert work.max_errors is not None
        return LimitCheck(limit.says, f"{errors:,} errors", errors <= work.max_errors)
    precision = 1 - errors / covered if covered else float("nan")
    met = covered - errors >= work.min_precision * covered - _SLACK
    return LimitCheck(limit.says, format_share(precision), met)


def _check_segments(
    limit: WorkLimit, asked: PerSegment, fires: Masks, right: Masks | None, segments: Any
) -> LimitCheck:
    lines = []
    for value, rows in segments:
        inside = fires & rows
        covered, total = int(inside.sum()), int(rows.sum())
        errors = 0 if right is None else int((inside & ~right).sum())
        texts, room = [f"{covered:,} of {total:,} rows covered"], [float("inf")]
        if right is not None:
            share = format_share(1 - errors / covered) if covered else "–"
            texts += [f"{errors:,} errors", f"precision {share}"]
        least, most = _given(asked.min_precision, value), _given(asked.max_errors, value)
        if least is not None and covered:
            room.append((covered - errors) / covered - least)
        if most is not None:
            room.append(most - errors)
        if (widest := _given(asked.max_coverage, value)) is not None:
            room.append(_rows(widest, total) - covered)
        near = min(room)
        lines.append((near, SegmentLine(format_cell(value), ", ".join(texts), near >= -_SLACK)))
    lines.sort(key=lambda pair: pair[0])
    broken = sum(not line.met for _, line in lines)
    numbers = f"in {f'{broken:,} of' if broken else 'all'} {len(lines):,} segments"
    shown = tuple(line for _, line in lines[:MOST_LINES])
    return LimitCheck(limit.says, numbers, not broken, shown, len(lines) - len(shown))


def _check_parity(
    limit: WorkLimit, asked: Parity, fires: Masks, right: Masks | None, segments: Any
) -> LimitCheck:
    found = []
    for value, rows in segments:
        counted = rows if asked.of == "coverage" or right is None else rows & right
        total, covered = int(counted.sum()), int((fires & counted).sum())
        if total:
            found.append((covered / total, format_cell(value), covered, total))
    found.sort(reverse=True)
    shares = [share for share, *_ in found] or [0.0]
    apart = max(shares) - min(shares)
    met = asked.max_difference is None or apart <= asked.max_difference + _SLACK
    numbers = f"differ by {100 * apart:.1f} points"
    if asked.min_ratio is not None:
        ratio = min(shares) / max(shares) if max(shares) else 1.0
        met = met and ratio >= asked.min_ratio - _SLACK
        numbers += f", a ratio of {ratio:.2f}"
    of_class = "" if asked.of == "coverage" else " of the class"
    lines = tuple(
        SegmentLine(name, f"{format_share(share)}: {covered:,} of {total:,} rows{of_class}", True)
        for share, name, covered, total in found
    )
    return LimitCheck(limit.says, numbers, met, lines[:MOST_LINES], max(0, len(lines) - MOST_LINES))


def _segments(part: RowPart, plan: Plan, column: str) -> Iterator[tuple[Any, Masks]]:
    """Each value of a column with its rows; rows without one are in no segment."""
    source = part.source
    raw = source.column(list(source.names).index(column))
    cleaning = next((each.cleaning for each in plan if each.name == column), None)
    if cleaning is not None:
        raw = cleaning.apply(raw)[0]
    present = ~raw.mask
    cells: Any = raw.values[present]
    if cells.dtype == object:
        levels = sorted(set(cells.tolist()), key=lambda each: (str(type(each)), each))
    else:
        levels = list(np.unique(cells))
    for value in levels:
        yield value, present & (raw.values == value)


def _given(limit: Any, segment: Any) -> Any:
    return limit.get(segment) if isinstance(limit, dict) else limit


def _rows(limit: float, total: int) -> float:
    """A number of rows, or a share of them."""
    return limit if isinstance(limit, int) else limit * total + _SLACK


def _amount(coverage: float) -> str:
    if isinstance(coverage, int):
        return f"{coverage:,} row" + ("" if coverage == 1 else "s")
    return f"{format_share(coverage)} of the rows"


def _of_segment(asked: PerSegment) -> str:
    said = []
    if asked.min_precision is not None:
        said.append(f"precision at least {_each(asked.min_precision, format_share)}")
    if asked.max_errors is not None:
        said.append(f"at most {_each(asked.max_errors, format_count)} errors")
    if asked.max_coverage is not None:
        said.append(f"at most {_each(asked.max_coverage, _amount)} covered")
    return ", ".join(said)


def _each(limit: Any, show: Callable[[Any], str]) -> str:
    return "what is said of each" if isinstance(limit, dict) else show(limit)


def _of_parity(asked: Parity) -> str:
    said = []
    if asked.max_difference is not None:
        said.append(f"differ by at most {100 * asked.max_difference:g} points")
    if asked.min_ratio is not None:
        said.append(f"a ratio of at least {asked.min_ratio:g}")
    return ", ".join(said)
