"""Ranks of numbers: the place of every cell among the distinct values of its column.

A block holds one column in each of its rows, so that a column lies in one piece of memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Cells ranked in one go: large enough to hide the cost per call, small enough for the cache.
_BLOCK_CELLS = 1 << 18
# Below this, what takes the fewest calls is quickest.
_FEW_CELLS = 1 << 14
# Rows turned at a time, so that the lines of memory they share are still in the cache.
_TURNED_ROWS = 4096
# Cells of a column that show whether it is worth asking all of them.
_HEAD = 64
_TOP = np.uint64(1 << 63)


def turned(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the columns of an array as the rows of a block, each in one piece of memory.

    Half precision becomes single, anything wider than double becomes double; other types stay.
    """
    n_rows, n_features = matrix.shape
    dtype = matrix.dtype.newbyteorder("=")
    if dtype.kind == "f":
        dtype = np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    block = np.empty((n_features, n_rows), dtype)
    for start in range(0, n_rows, _TURNED_ROWS):
        part = slice(start, start + _TURNED_ROWS)
        if dtype.kind == "f":
            # Adding zero turns -0.0 into 0.0, so that equal values also look equal.
            np.add(matrix[part].T, dtype.type(0), out=block[:, part], casting="same_kind")
        else:
            block[:, part] = matrix[part].T
    return block


def rank_rows(
    block: NDArray[Any], codes: NDArray[np.int32], absent: NDArray[np.bool_] | None = None
) -> list[NDArray[Any]]:
    """Fill `codes` with the ranks of each row of `block` and return each row's distinct values.

    Parameters
    ----------
    block : ndarray of shape (n_features, n_rows)
        Of a bool, integer, float32, float64 or datetime64 type, in one piece; no infinities,
        no -0.0, no NaT.
    codes : ndarray of int32 of shape (n_features, n_rows)
    absent : ndarray of bool of shape (n_features, n_rows), optional
        Where the block is NaN, if anywhere; these cells get the code -1.

    Returns
    -------
    list of ndarray
        The sorted distinct values of each row, of the block's type.
    """
    if block.dtype.kind == "b":
        return [values.view(bool) for values in rank_rows(block.view(np.uint8), codes)]
    step = max(1, _BLOCK_CELLS // max(1, block.shape[1]))
    values: list[NDArray[Any]] = []
    for start in range(0, len(block), step):
        part = slice(start, start + step)
        gone = None if absent is None else absent[part]
        values += _rank(block[part], codes[part], gone)
        if gone is not None:
            codes[part][gone] = -1
    return values


def _rank(
    block: NDArray[Any], codes: NDArray[np.int32], absent: NDArray[np.bool_] | None
) -> list[NDArray[Any]]:
    """Rank a few rows: by counting where values are whole and close together, else by sorting."""
    if block.size < _FEW_CELLS:
        return _by_argsort(block, codes, absent)
    counted, whole, scale = _as_whole(block, absent)
    values: dict[int, NDArray[Any]] = {}
    if len(counted):
        low = whole.min(axis=1)
        # Both differences wrap around alike, so that the unsigned one is right.
        span = whole.max(axis=1).astype(np.uint64) - low.astype(np.uint64)
        narrow = span < max(1 << 16, 2 * block.size) // len(block)
        if not narrow.all():
            counted, whole, scale = counted[narrow], whole[narrow], scale[narrow]
            low, span = low[narrow], span[narrow]
    if len(counted):
        every = len(counted) == len(block)
        ranks, distinct = _by_counting(whole, low, span)
        codes[slice(None) if every else counted] = ranks
        for j, row, by in zip(counted.tolist(), distinct, scale.tolist(), strict=True):
            values[j] = row if by == 1 else row / by
    rest = [j for j in range(len(block)) if j not in values]
    if not values:
        return _by_sorting(block, codes, rest, absent)
    if rest:
        values.update(zip(rest, _by_sorting(block, codes, rest, absent), strict=True))
    return [values[j].astype(block.dtype, copy=False) for j in range(len(block))]


def _as_whole(
    block: NDArray[Any], absent: NDArray[np.bool_] | None
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    """Return the rows that are whole numbers, or are if multiplied by a power of ten.

    Returns
    -------
    rows : ndarray of shape (n_found,)
    whole : ndarray of shape (n_found, n_rows)
        Integers; divided by their row's scale they are exactly the values. A missing cell holds
        any of its row's values.
    scale : ndarray of shape (n_found,)
    """
    every = np.arange(len(block))
    if block.dtype.kind in "iu":
        return every, block, np.ones(len(block))
    if block.dtype.kind != "f" or block.shape[1] < 4 * _HEAD:
        return every[:0], block, np.ones(0)
    if absent is not None:
        block = np.where(absent, block[every, absent.argmin(axis=1), None], block)
    head = block[:, :_HEAD]
    rows = every[_decimals(head, 1000.0)[1]]
    if not len(rows):
        return rows, block, np.ones(0)
    head = head[rows]
    scale = np.full(len(rows), 1000.0)
    for fewer in (100.0, 10.0, 1.0):
        scale[_decimals(head, fewer)[1]] = fewer
    whole, exact = _decimals(block if len(rows) == len(block) else block[rows], scale[:, None])
    return (rows, whole, scale) if exact.all() else (rows[exact], whole[exact], scale[exact])


def _decimals(
    cells: NDArray[Any], scale: float | NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the nearest multiples of 1 / scale, and for which rows they are the cells exactly."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond all whole ones, and NaN
        whole = np.multiply(cells, scale, dtype=np.float64)
        np.rint(whole, out=whole)
        same = ((whole / scale).astype(cells.dtype, copy=False) == cells).all(axis=1)
        same &= np.abs(whole).max(axis=1) < 2**53
        return whole.astype(np.int64), same


def _by_counting(
    whole: NDArray[Any], low: NDArray[Any], span: NDArray[np.uint64]
) -> tuple[NDArray[np.integer[Any]], list[NDArray[Any]]]:
    """Return ranks and distinct values of rows of integers from `low` to `low + span`."""
    width = int(span.max()) + 1
    small = np.int32 if width <= 2 else np.intp
    offsets = np.subtract(whole, low[:, None], dtype=small, casting="unsafe")
    if width <= 2:
        seen = np.arange(width) <= span[:, None].astype(np.intp)
        ranks: NDArray[Any] = offsets
    else:
        offsets += np.arange(0, len(whole) * width, width)[:, None]
        counts = np.bincount(offsets.reshape(-1), minlength=len(whole) * width)
        seen = counts.reshape(-1, width) > 0
        ranks = (np.cumsum(seen, axis=1, dtype=np.int32) - 1).reshape(-1)[offsets]
    at, places = np.nonzero(seen)
    distinct = low[at] + places.astype(low.dtype)
    return ranks, _cut(distinct, np.count_nonzero(seen, axis=1))


def _by_argsort(
    block: NDArray[Any], codes: NDArray[np.int32], absent: NDArray[np.bool_] | None
) -> list[NDArray[Any]]:
    """Rank by `argsort`, which takes the fewest calls and so is best for few cells."""
    # Positions in the flat block, so that one plain index serves to take and to put.
    order = np.argsort(block, axis=1)
    order += np.arange(0, block.size, block.shape[1])[:, None]
    ordered = block.reshape(-1)[order]
    fresh = np.zeros(block.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
    codes.reshape(-1)[order] = np.cumsum(fresh, axis=1, dtype=np.int32)
    fresh[:, :1] = True
    if absent is not None:  # NaN comes last and counts as a fresh value each time
        fresh &= ~np.isnan(ordered)
    return _cut(ordered[fresh], np.count_nonzero(fresh, axis=1))


def _by_sorting(
    block: NDArray[Any],
    codes: NDArray[np.int32],
    some: list[int],
    absent: NDArray[np.bool_] | None,
) -> list[NDArray[Any]]:
    """Rank some rows by one sort of whole numbers, each of which is a value's key and its place.

    Sorting such numbers is faster than `argsort`. The key has the bits that the place leaves;
    where these are too few, values that share a key are put in order afterwards.
    """
    n_rows = block.shape[1]
    cells = block[some]
    if absent is not None:
        cells[absent[some]] = np.nan  # not its negative, which would come first
    keys = _keys(cells).view(np.uint64)
    low = keys.view(np.int64).min(axis=1, keepdims=True).view(np.uint64)
    keys -= low
    place_bits = n_rows.bit_length()
    lost = max(0, int(keys.max()).bit_length() + place_bits - 64)
    if lost:
        keys >>= np.uint64(lost)
    keys <<= np.uint64(place_bits)
    keys |= np.arange(n_rows, dtype=np.uint64)
    keys.sort(axis=1)
    # Positions in the flat block, so that one plain index serves to take and to put.
    order = (keys & np.uint64((1 << place_bits) - 1)).view(np.int64)
    order += np.array(some)[:, None] * n_rows
    if lost:
        keys = block.reshape(-1)[order]
        if (keys[:, 1:] < keys[:, :-1]).any():
            again = np.argsort(keys, axis=1, kind="stable")
            order = np.take_along_axis(order, again, axis=1)
            keys = np.take_along_axis(keys, again, axis=1)
    else:
        keys >>= np.uint64(place_bits)
    fresh = np.zeros(keys.shape, dtype=bool)
    np.not_equal(keys[:, 1:], keys[:, :-1], out=fresh[:, 1:])
    codes.reshape(-1)[order] = np.cumsum(fresh, axis=1, dtype=np.int32)
    fresh[:, :1] = True
    counts = np.count_nonzero(fresh, axis=1)
    distinct = keys[fresh]
    if not lost:
        distinct += np.repeat(low[:, 0], counts)
        distinct = _values(distinct.view(np.int64), block.dtype)
    values = _cut(distinct, counts)
    return values if absent is None else [row[~np.isnan(row)] for row in values]


def _cut(values: NDArray[Any], counts: NDArray[np.intp]) -> list[NDArray[Any]]:
    """Return the first, the next, … so many values."""
    ends = np.cumsum(counts).tolist()
    return [values[i:j] for i, j in zip([0, *ends[:-1]], ends, strict=True)]


def _keys(cells: NDArray[Any]) -> NDArray[np.int64]:
    """Return whole numbers in the same order as the values, NaN last; overwrites the values."""
    if cells.dtype.kind == "f":
        return _turn_negative(cells.view(f"i{cells.itemsize}")).astype(np.int64, copy=False)
    if cells.dtype == np.uint64:
        cells ^= _TOP
    elif cells.dtype.kind != "M":
        return cells.astype(np.int64, copy=False)
    return cells.view(np.int64)


def _values(keys: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values that have these keys."""
    if dtype.kind == "f":
        return _turn_negative(keys.astype(f"i{dtype.itemsize}", copy=False)).view(dtype)
    if dtype == np.uint64:
        return keys.view(np.uint64) ^ _TOP
    return keys.view(dtype) if dtype.kind == "M" else keys.astype(dtype, copy=False)


def _turn_negative(bits: NDArray[Any]) -> NDArray[Any]:
    """Turn over all bits but the sign of negative numbers, in place.

    The bits of a negative float, read as an integer, grow as it falls; turned they fall with it.
    """
    sign = bits >> (8 * bits.itemsize - 1)
    sign &= np.iinfo(bits.dtype).max
    bits ^= sign
    return bits
