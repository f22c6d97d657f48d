"""The picture of a tree with the group of features of each node."""

from __future__ import annotations

from pathlib import Path

from opdt.plot import structure as draw
from opdt.plot.canvas import matplotlib
from opdt.problem import Structure


def draw_structure(structure: Structure, title: str, path: Path) -> Path:
    """Draw a structure below its title."""
    figure = matplotlib("figure").Figure(figsize=(7, 4.4), dpi=150)
    draw(structure, ax=figure.add_axes((0.01, 0.01, 0.98, 0.87)))
    figure.text(0.5, 0.97, title, ha="center", va="top", fontsize=13)
    figure.savefig(path)
    return path
