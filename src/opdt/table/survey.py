"""A column of text in a few counts, from which its role is decided.

The counts of parts of a column add up to those of the whole, so that a table in memory and the
same table in pieces come to the same roles.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from opdt.table.cleaning import ISO, read_date, read_whole
from opdt.table.missing_words import MAYBE_MISSING, MISSING_WORDS
from opdt.table.numbers_in_text import shape_of
from opdt.table.slash_dates import cell_orders

MAX_LEVELS = 20_000  # different cells that are counted; more are no levels
YES = frozenset("yes y ja j true t wahr oui si sí sim tak evet on".split())  # noqa: SIM905
NO = frozenset("no n nein false f falsch non não nao nie hayır off".split())  # noqa: SIM905
_LONG, _WORDS = 60, 5  # letters and spaces from which on a cell is a sentence
MISSING, MAYBE, TRUTH, OTHER = "missing", "maybe missing", "yes/no", "other"
LONG = "long"  # a whole number of more digits than a double holds, and of 64 bits
ZONED = "date zoned"  # an ISO date and time with an offset from UTC


@lru_cache(maxsize=1 << 16)
def class_of(text: str) -> tuple[str, str, str]:
    """Return what a cell looks like, with the sign before and the unit beside a number.

    One of the shapes of numbers or `LONG`, a form of dates ("date d/m/y", where it could be either
    "date ?/?/y"; `ZONED`), a word for missing or for yes or no, or "other".
    """
    word = text.strip().casefold()
    if word in MISSING_WORDS:
        return MISSING, "", ""
    shape = shape_of(text)
    if shape is not None:
        return (LONG, "", "") if shape[0] == "code" and read_whole(text) is not None else shape
    if word in MAYBE_MISSING:
        return MAYBE, "", ""
    if word in YES or word in NO:
        return TRUTH, "", ""
    return _date_class(text) or OTHER, "", ""


def _date_class(text: str) -> str | None:
    text = text.strip()
    orders = cell_orders(text)
    if orders is None:
        if read_date(text, ISO) is not None:
            return f"date {ISO}"
        return ZONED if read_date(text, ISO, zoned=True) is not None else None
    if "." in text[:3] and orders.day_first:
        return "date d.m.y"
    if orders.day_first and orders.month_first:
        return "date ?/?/y"
    return "date d/m/y" if orders.day_first else "date m/d/y"


@dataclass
class Survey:
    """Counts of the cells of a text column.

    Attributes
    ----------
    rows, absent : int
        Cells, and those without a value.
    classes, units : Counter
        Rows by `class_of`, and rows of numbers by their unit.
    limits, sentences : int
        Rows with a number behind `<` or `>`, and rows of free text.
    words : Counter
        Cells that look missing, as they are written.
    levels : Counter or None
        Rows of each different cell; None where there are more than `MAX_LEVELS`.
    examples : dict of class to cell
        The smallest cell of each class, so that it does not depend on the order of the parts.
    """

    rows: int = 0
    absent: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    limits: int = 0
    sentences: int = 0
    words: Counter[str] = field(default_factory=Counter)
    levels: Counter[Any] | None = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Iterable[Any], declared: Iterable[Any] = ()) -> Survey:
        """The counts of some cells; None has no value, `declared` cells count as missing."""
        counts = Counter(cells)
        absent = counts.pop(None, 0)
        return cls.of_counts(counts, absent, declared)

    @classmethod
    def of_counts(
        cls, counts: Mapping[Any, int], absent: int, declared: Iterable[Any] = ()
    ) -> Survey:
        """The counts of the different cells with the rows of each."""
        known = frozenset(declared)
        out = cls(rows=absent + sum(counts.values()), absent=absent)
        for cell, count in counts.items():
            text = cell if isinstance(cell, str) else _number_text(cell)
            what, limit, unit = (MISSING, "", "") if cell in known else class_of(text)
            out.classes[what] += count
            if what in (MISSING, MAYBE):
                out.words[text] += count
            elif what not in (TRUTH, OTHER) and not what.startswith("date"):
                out.units[unit] += count
                out.limits += count if limit else 0
            out.sentences += count if _is_sentence(text) else 0
            if what not in out.examples or text < out.examples[what]:
                out.examples[what] = text
        out.levels = Counter(counts) if len(counts) <= MAX_LEVELS else None
        return out

    def __add__(self, other: Survey) -> Survey:
        levels = None
        if self.levels is not None and other.levels is not None:
            levels = self.levels + other.levels
            levels = levels if len(levels) <= MAX_LEVELS else None
        examples = dict(self.examples)
        for what, text in other.examples.items():
            examples[what] = min(text, examples.get(what, text))
        return Survey(
            self.rows + other.rows,
            self.absent + other.absent,
            self.classes + other.classes,
            self.units + other.units,
            self.limits + other.limits,
            self.sentences + other.sentences,
            self.words + other.words,
            levels,
            examples,
        )

    def to_bytes(self) -> bytes:
        """The counts of cells of text, to travel."""
        return json.dumps(vars(self), ensure_ascii=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Survey:
        """The counts that `to_bytes` wrote."""
        found = json.loads(data)
        for name in ("classes", "units", "words", "levels"):
            found[name] = None if found[name] is None else Counter(found[name])
        return cls(**found)

    def distinct(self, without: Iterable[Any] = ()) -> int:
        """The number of different cells, those in `without` aside; at most `MAX_LEVELS` + 1."""
        if self.levels is None:
            return MAX_LEVELS + 1
        return len(set(self.levels).difference(without))


def _is_sentence(text: str) -> bool:
    return len(text) > _LONG or text.count(" ") >= _WORDS


def _number_text(cell: Any) -> str:
    """A cell that is no text, among text: numbers as text, anything else as no number."""
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    return f"{cell!r}" if is_number else f"\0{cell!r}"
