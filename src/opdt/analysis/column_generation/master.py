"""The linear program over the candidate rules, by HiGHS.

With w_k for choosing rule k and x_i for missing wanted row i (Dash, Günlük and Wei 2018):

    minimise    sum v_i x_i + sum c_k w_k
    subject to  x_i + sum of w_k over the rules that cover i  >=  1     for every wanted row i
                sum w_k <= K,    x, w >= 0.

Its dual is solved, which has one constraint per rule instead of one per row:

    maximise    sum m_i - K s
    subject to  sum of m_i over the rows that k covers  -  s  <=  c_k   for every rule k
                0 <= m_i <= v_i,    s >= 0.

The multipliers m_i, what it is worth to cover row i, are all that is taken from here into a bound,
and any numbers between 0 and v_i give a true one. So tolerances of the solver cost sharpness at
most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from opdt.analysis.column_generation.columns import Covers
from opdt.analysis.column_generation.loss import Floats

# Columns to begin with, and columns to add at a time, where there are many.
FEW = 300
# Reduced costs above minus this share of a row's weight are as good as zero.
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimum of the linear program.

    Attributes
    ----------
    value : float
        In units, as far as the solver's tolerances go.
    multipliers : ndarray of float64 of shape (n_wanted,)
        Whole numbers of units from 0 to what missing the row costs.
    chosen : ndarray of float64 of shape (n_columns,)
        How far each rule is chosen, from 0 to 1.
    """

    value: float
    multipliers: Floats
    chosen: Floats


def relax(
    covers: Covers, costs: Floats, missed: Floats, most: int, hint: Floats | None = None
) -> Relaxation | None:
    """The optimum over these columns; None if the solver fails.

    Where there are many columns, those that matter are found step by step, beginning with
    those of least reduced cost at the multipliers of the `hint`.

    Parameters
    ----------
    covers : ndarray of bool of shape (n_columns, n_wanted)
    costs : ndarray of shape (n_columns,)
    missed : ndarray of shape (n_wanted,)
    most : int
        The number K of rules.
    hint : ndarray of shape (n_wanted,), optional
    """
    if len(costs) <= FEW:
        return _solve(covers, costs, missed, most)
    nets = covers @ (missed if hint is None else hint) - costs
    working = np.argsort(-nets, kind="stable")[:FEW]
    while True:
        found = _solve(covers[working], costs[working], missed, most)
        if found is None:
            return None
        nets = covers @ found.multipliers - costs
        nets[working] = -np.inf
        limit = _price(found, covers[working], costs[working]) + TOLERANCE * missed.max()
        new = np.argsort(-nets, kind="stable")[:FEW]
        new = new[nets[new] > limit]
        if not len(new):
            chosen = np.zeros(len(costs))
            chosen[working] = found.chosen
            return Relaxation(found.value, found.multipliers, chosen)
        working = np.concatenate([working, new])


def _price(found: Relaxation, covers: Covers, costs: Floats) -> float:
    """What the number of rules costs at the optimum: the largest saving of any column."""
    return max(0.0, float((covers @ found.multipliers - costs).max()))


def _solve(covers: Covers, costs: Floats, missed: Floats, most: int) -> Relaxation | None:
    scale = float(missed.max())  # the solver's tolerances are made for numbers near one
    groups, heads = _alike(covers)
    weights = np.bincount(groups, missed, len(heads)) / scale
    # One variable for rows that the same rules cover: the share of their weight.
    matrix = csr_array(covers[:, heads] * weights)
    count = csr_array(np.full((len(costs), 1), -1.0))
    answer = linprog(
        np.append(-weights, most),
        A_ub=hstack([matrix, count]),
        b_ub=costs / scale,
        bounds=[(0, 1)] * len(heads) + [(0, None)],
        method="highs-ds",
    )
    if answer.x is None:
        return None
    shares = np.clip(answer.x[:-1], 0, 1)
    multipliers = np.minimum(np.rint(shares[groups] * missed), missed)
    return Relaxation(-answer.fun * scale, multipliers, np.clip(-answer.ineqlin.marginals, 0, 1))


def _alike(covers: Covers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The group of each row among rows that the same columns cover, and one row of each group."""
    packed = np.ascontiguousarray(np.packbits(covers, axis=0).T)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, heads, groups = np.unique(keys, return_index=True, return_inverse=True)
    return groups, heads
