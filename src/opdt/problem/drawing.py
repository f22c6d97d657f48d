"""A structure drawn as a text tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdt.problem.structure import Structure

TARGET_MARK = "★"


def draw(structure: Structure) -> str:
    """Return the tree as text, one line for each splitting node and each leaf that can hold rows.

    A node that does not split is passed through: ``2 → leaf 5`` says that all rows of node 2 end
    in leaf 5. Target leaves carry a star.
    """
    return "\n".join(_lines(structure, 1))


def _lines(structure: Structure, node: int) -> list[str]:
    """Return the lines of the subtree at a node, without indentation."""
    passed = []
    while node <= structure.n_branch and not structure.split[node - 1]:
        passed.append(f"{node} → ")
        node = 2 * node + 1
    way = "".join(passed)
    if node > structure.n_branch:
        mark = f" {TARGET_MARK}" if structure.target[node - structure.n_leaves] else ""
        return [f"{way}leaf {node}{mark}"]
    return [
        f"{way}{node} {_shown(structure.group[node - 1])}",
        *_hang(_lines(structure, 2 * node), "├─ <  ", "│     "),
        *_hang(_lines(structure, 2 * node + 1), "└─ >= ", "      "),
    ]


def _hang(lines: list[str], first: str, rest: str) -> list[str]:
    return [first + lines[0], *(rest + line for line in lines[1:])]


def _shown(name: str) -> str:
    """Return a group name as it is, or quoted where it would break the drawing."""
    return name if name.isprintable() and name == name.strip() else repr(name)
