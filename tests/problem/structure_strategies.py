"""Hypothesis strategies for valid structures and groups."""

from __future__ import annotations

from hypothesis import strategies as st

from opdt.problem.structure import Structure

GROUPS = ("all", "num", "cat", "mixed", "levels only")


@st.composite
def structures(draw: st.DrawFn, max_depth: int = 4, names: tuple[str, ...] = GROUPS) -> Structure:
    """Return any valid structure: the splits grow from the root, targets among reachable leaves."""
    depth = draw(st.integers(1, max_depth))
    n_branch = 2**depth - 1
    split = [True] * n_branch
    for node in range(2, n_branch + 1):
        # Mostly splitting, or deep nodes would hardly ever be reached.
        split[node - 1] = split[node // 2 - 1] and draw(st.integers(0, 3)) > 0
    group = [draw(st.sampled_from(names)) if flag else None for flag in split]
    everywhere = Structure.tree(split=split, group=group)
    chosen = draw(
        st.sets(st.sampled_from(everywhere.target_leaves), min_size=1)
        | st.just(set(everywhere.leaves))
    )
    target = [
        flag and leaf in chosen
        for leaf, flag in zip(everywhere.leaves, everywhere.target, strict=True)
    ]
    return Structure.tree(split=split, group=group, target=target)
