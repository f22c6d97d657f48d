"""Whole columns of dates such as 29/02/2024, read by Arrow as `slash_dates` reads one cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opdt.table.slash_dates import CLOCK, MARKS, Orders

_PATTERN = f"^(?:{MARKS}){CLOCK}$"
Whole = NDArray[np.int64]


class SlashColumn(NamedTuple):
    """The numbers in the different cells; `clock` in microseconds. `at` is the cell of each row."""

    at: NDArray[np.int64]  # -1 where the row has none
    one: Whole
    two: Whole
    year: Whole
    clock: Whole
    has_clock: NDArray[np.bool_]
    dotted: bool  # all of them

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> SlashColumn | None:
        """The numbers of all cells; None where one is not written so."""
        coded = column.dictionary_encode().combine_chunks()  # the same dates occur again and again
        if isinstance(coded, pa.ChunkedArray):
            coded = pa.concat_arrays(coded.unify_dictionaries().chunks)
        cells = coded.dictionary
        if not pc.all(pc.match_substring_regex(cells, _PATTERN), min_count=0).as_py():
            return None
        at = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy()
        days = pc.replace_substring_regex(cells, "[ T].*$", "")
        numbers = pc.split_pattern_regex(days, "[/.-]").flatten().cast(pa.int64()).to_numpy()
        one, two, year = numbers.reshape(-1, 3).T
        dotted = pc.all(pc.match_substring_regex(days, r"\."), min_count=0).as_py()
        return cls(at, one, two, year, *_clock(cells), dotted)

    def orders(self) -> Orders | None:
        """The orders in which all cells can be read; None where one is a date in neither."""
        day_first = _is_date(self.one, self.two, self.year)
        month_first = _is_date(self.two, self.one, self.year)
        if not (day_first | month_first).all():
            return None
        return Orders(
            bool(day_first.all()), bool(month_first.all()), not self.has_clock.any(), self.dotted
        )

    def moments(self, *, day_first: bool) -> pa.Array:
        """The dates, in an order that is one of `orders`; microseconds, without a zone."""
        day, month = (self.one, self.two) if day_first else (self.two, self.one)
        start = _month(self.year, month).astype("datetime64[us]")
        days = (day - 1) * np.timedelta64(1, "D").astype("timedelta64[us]")
        ticks = start + days + self.clock.astype("timedelta64[us]")
        return pa.array(np.append(ticks, np.datetime64("NaT", "us"))[self.at], pa.timestamp("us"))


def _is_date(day: Whole, month: Whole, year: Whole) -> NDArray[np.bool_]:
    fits = (month >= 1) & (month <= 12)
    start = _month(year, np.where(fits, month, 1))
    length = ((start + 1).astype("datetime64[D]") - start.astype("datetime64[D]")).astype(np.int64)
    return np.asarray(fits & (day >= 1) & (day <= length))


def _month(year: Whole, month: Whole) -> NDArray[np.datetime64]:
    return np.asarray(((year - 1970) * 12 + month - 1).astype("datetime64[M]"))


def _clock(cells: pa.Array) -> tuple[Whole, NDArray[np.bool_]]:
    """The time of day in microseconds, 0 where there is none, and where there is one."""
    has_clock = pc.match_substring(cells, ":").to_numpy(zero_copy_only=False)
    clock = np.zeros(len(cells), np.int64)
    if not has_clock.any():
        return clock, has_clock
    times = pc.replace_substring_regex(cells.filter(pa.array(has_clock)), "^[^ T]*[ T]", "")
    short = pc.equal(pc.count_substring(times, ":"), 1)
    times = pc.if_else(short, pc.binary_join_element_wise(times, "0", ":"), times)
    parts = pc.split_pattern(times, ":").flatten().cast(pa.float64()).to_numpy().reshape(-1, 3)
    seconds = np.rint(parts[:, 2] * 1e6).astype(np.int64)  # at most six decimals
    clock[has_clock] = (parts[:, 0] * 60 + parts[:, 1]).astype(np.int64) * 60_000_000 + seconds
    return clock, has_clock
