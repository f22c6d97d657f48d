"""The picture of two trees of one problem side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opdt.plot import split_tree
from opdt.plot.canvas import matplotlib
from opdt.problem import Problem
from opdt.solution import Solution


def draw_trees(problem: Problem, solutions: Mapping[str, Solution], path: Path) -> Path:
    """Draw the tree of each solution with its rows and VI; the leaf of its rule stands out.

    A class has the same shape in all of them: the first is that of the last rule, the optimum's.
    """
    rules = [each.rule for each in solutions.values() if each.rule is not None]
    first = rules[-1].label if rules else None
    figure = matplotlib("figure").Figure(figsize=(7 * len(solutions), 5.2), dpi=150)
    width = 1 / len(solutions)
    for at, (name, solution) in enumerate(solutions.items()):
        ax = figure.add_axes((at * width + 0.01, 0.01, width - 0.02, 0.87))
        tree = solution.details if solution.engine == "bsccart" else solution
        split_tree(tree, problem, ax=ax, first=first)
        middle, words = (at + 0.5) * width, f"{name}: VI {solution.value:g}"
        figure.text(middle, 0.97, words, ha="center", va="top", fontsize=13)
        figure.text(middle, 0.915, str(solution.rule), ha="center", va="top", fontsize=8)
    figure.savefig(path)
    return path
