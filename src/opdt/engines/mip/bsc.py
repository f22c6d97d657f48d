"""Algorithm 1 of the paper: the Branching Structure Constraints, as bounds on d, a and b.

The fourth part, ``T_obj = {t | L(target)[t] = 1}``, decides for which leaves L_t, q_t and their
rows exist at all; `paper.add_variables` reads it from the structure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.problem.groups import ALL

if TYPE_CHECKING:
    from opdt.engines.mip.paper import Formulation

Fixed = tuple[Any, Any, Any]  # variables, lower, upper


def fix(f: Formulation) -> Iterator[Fixed]:
    """Every bound of Algorithm 1."""
    for node in range(1, f.structure.n_branch + 1):
        yield splits(f, node)
        yield columns_of_group(f, node)
        yield from level_threshold(f, node)


def splits(f: Formulation, node: int) -> Fixed:
    """Line 2: d_t = B(split)[t]."""
    split = f.structure.split[node - 1]
    return f.variables.d[node - 1], split, split


def columns_of_group(f: Formulation, node: int) -> Fixed:
    """Lines 4 to 9: a_pt = 0 for every column p outside the group B(group)[t]."""
    name = f.structure.group[node - 1]
    inside = np.isin(f.columns.feature, f.problem.groups[name]) | (name == ALL)
    return f.variables.a[:, node - 1], 0, inside.astype(np.float64)


def level_threshold(f: Formulation, node: int) -> Iterator[Fixed]:
    """Line 9: b_t = 0.5 where the group holds categorical features only."""
    if f.structure.split[node - 1] and f.problem.groups.is_forced(f.structure.group[node - 1]):
        yield f.variables.b[node - 1], 0.5, 0.5
