"""Where the nodes of a binary tree go on a sheet, and the boxes and lines that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opdt.plot.canvas import SHAPES, Theme, matplotlib
from opdt.plot.text import shorten_all, width_of, wrap, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches that a figure made for a tree gives each of its leaves and levels.
LEAF_WIDTH, LEVEL_HEIGHT = 1.6, 1.25
MAX_WIDTH = 14.0
# Points: letters never get smaller than the first nor larger than the second.
SMALLEST, LARGEST = 4.5, 9.0
# Points of a leaf's slot for which the largest letters are right.
_ROOMY = 96.0
_GAP = 0.07  # of a slot, left free on each side of a box
_LEADING = 1.35  # height of a line, in sizes of its letters


@dataclass(frozen=True)
class NodeLine:
    """One line of text in a box; `parts` are pieces of text, each with a colour or None."""

    parts: tuple[tuple[str, str | None], ...]
    weight: str = "normal"
    soft: bool = False

    @classmethod
    def of(cls, text: str, *, weight: str = "normal", soft: bool = False) -> NodeLine:
        """A line of a single piece."""
        return cls(((text, None),), weight, soft)


@dataclass
class NodeBox:
    """A node as it is drawn.

    `left` and `right` are the branches, with the texts of their edges; a leaf has none. What
    `lines` says depends on the room, in points, the size of the letters, and the colours.
    """

    number: int
    lines: Callable[[float, float, Theme], list[NodeLine]]
    left: NodeBox | None = None
    right: NodeBox | None = None
    edges: tuple[str, str] = ("", "")
    chosen: bool = False
    pale: bool = False
    on_path: bool = False
    x: float = field(default=0.0, init=False)
    depth: int = field(default=0, init=False)

    @property
    def children(self) -> tuple[NodeBox, ...]:
        """The branches, left and right; none at a leaf."""
        return () if self.left is None or self.right is None else (self.left, self.right)

    def walk(self) -> Iterator[NodeBox]:
        """The box and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def figure_size(root: NodeBox) -> tuple[float, float]:
    """Width and height in inches of a figure that suits a tree."""
    leaves, levels = place(root)
    return min(MAX_WIDTH, max(4.2, LEAF_WIDTH * leaves)), LEVEL_HEIGHT * levels + 0.35


def place(root: NodeBox) -> tuple[int, int]:
    """Set every box's depth and its x in slots of one leaf; return the leaves and levels."""
    leaves = 0

    def settle(box: NodeBox, depth: int) -> int:
        nonlocal leaves
        box.depth = depth
        if not box.children:
            box.x, leaves = leaves + 0.5, leaves + 1
            return depth + 1
        levels = max(settle(child, depth + 1) for child in box.children)
        box.x = sum(child.x for child in box.children) / 2
        return levels

    levels = settle(root, 0)
    return leaves, levels


def draw_tree(
    ax: Axes, root: NodeBox, theme: Theme, sheet: tuple[float, float], key: list[tuple[str, str]]
) -> None:
    """Draw the boxes, the edges between them, and below them the key: shapes and what they mean.

    `sheet` is the size of the axes in points, in which they are measured; `key` holds pairs of
    text and colour.
    """
    leaves, levels = place(root)
    foot, slot = 22.0, sheet[0] / leaves
    size = min(LARGEST, LARGEST * (slot / _ROOMY) ** 0.7, (sheet[1] - foot) / levels / 7)
    size = max(SMALLEST, size)
    # Half a box of four lines above the middle of the first row and below that of the last.
    half = 2.25 * _LEADING * size + 3
    row = (sheet[1] - foot - 2 * half) / max(1, levels - 1)
    pen = _Pen(ax, theme, slot, row, sheet[1] - half, size)
    for box in root.walk():
        pen.edges(box)
    for box in root.walk():
        pen.box(box)
    draw_key(ax, key, sheet[0])


@dataclass(frozen=True)
class _Pen:
    """Draws boxes and edges; all lengths in points."""

    ax: Axes
    theme: Theme
    slot: float
    row: float
    top: float
    size: float

    def centre(self, box: NodeBox) -> tuple[float, float]:
        return box.x * self.slot, self.top - box.depth * self.row

    def room(self, box: NodeBox) -> float:
        """The width of a box: a slot, or up to two and a half of a node that stands alone."""
        slots = 1.0 if not box.children else min(2.2, 1.0 + 0.6 * (_leaves(box) - 1))
        return min(slots * self.slot * (1 - 2 * _GAP), 190.0)

    def texts(self, box: NodeBox) -> list[NodeLine]:
        return box.lines(self.room(box) - 2 * self.size, self.size, self.theme)

    def height(self, box: NodeBox) -> float:
        return (len(self.texts(box)) + 0.5) * _LEADING * self.size

    def box(self, box: NodeBox) -> None:
        """Draw a box with its lines, centred; at its upper left corner the node's number."""
        theme, (x, y) = self.theme, self.centre(box)
        lines, height = self.texts(box), self.height(box)
        widths = [sum(width_of(t, self.size, ln.weight) for t, _ in ln.parts) for ln in lines]
        width = min(self.room(box), max(widths) + 2.2 * self.size)
        colour = theme.rule if box.chosen else theme.line if box.pale else theme.soft
        patch = matplotlib("patches").FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={0.45 * self.size}",
            fc=theme.rule_tint if box.chosen else theme.paper,
            ec=colour,
            lw=2.2 if box.chosen else 1.0,
            ls=(0, (3, 2)) if box.pale else "-",
            zorder=3,
        )
        patch.set_gid(f"node-{box.number}")
        self.ax.add_patch(patch)
        for at, line in enumerate(lines):
            middle = y + height / 2 - (at + 0.75) * _LEADING * self.size
            self._line(line, x, widths[at], middle, pale=box.pale)

    def _line(self, line: NodeLine, x: float, width: float, y: float, *, pale: bool) -> None:
        """Write a line about x; its pieces one after the other, from the width they should have."""
        ink = self.theme.soft if line.soft or pale else self.theme.ink
        style: dict[str, Any] = {"size": self.size, "weight": line.weight, "zorder": 4}
        y -= 0.36 * self.size  # a common baseline, whatever letters the pieces have
        if len(line.parts) == 1:
            write(self.ax, x, y, line.parts[0][0], color=ink, ha="center", **style)
            return
        x -= width / 2
        for text, colour in line.parts:
            write(self.ax, x, y, text, color=colour or ink, **style)
            x += width_of(text, self.size, line.weight)

    def edges(self, box: NodeBox) -> None:
        """Draw the two edges below a box and write on them what leads there."""
        if not box.children:
            return
        x, y = self.centre(box)
        foot = y - self.height(box) / 2
        for child, text in zip(box.children, box.edges, strict=True):
            to_x, to_y = self.centre(child)
            head = to_y + self.height(child) / 2
            taken = child.on_path
            style: dict[str, Any] = {
                "color": self.theme.rule if taken else self.theme.line,
                "lw": 2.4 if taken else 1.2,
                "zorder": 2 if taken else 1,
                "solid_capstyle": "round",
            }
            self.ax.plot([x, to_x], [foot, head], **style)
            share = 0.55
            self._edge_text(text, x + share * (to_x - x), foot + share * (head - foot), taken, box)

    def _edge_text(self, text: str, x: float, y: float, taken: bool, box: NodeBox) -> None:
        """Write on an edge, on a ground of paper that keeps the line out of the letters."""
        if not text:
            return
        size = 0.95 * self.size
        apart = abs(box.children[0].x - box.children[1].x) * self.slot * 0.55
        room = max(apart - 0.6 * size, 2.5 * size)
        weight = "bold" if taken else "normal"
        write(
            self.ax,
            x,
            y,
            "\n".join(wrap(text, room, size, 2, weight)),
            size=size,
            weight=weight,
            color=self.theme.rule if taken else self.theme.ink,
            ha="center",
            va="center",
            zorder=2.5,
            bbox={"boxstyle": "square,pad=0.15", "fc": self.theme.paper, "ec": "none"},
        )


def _leaves(box: NodeBox) -> int:
    return sum(not each.children for each in box.walk())


def draw_key(ax: Axes, key: list[tuple[str, str]], width: float) -> None:
    """Write the key on one line, centred; long entries are shortened where there is no room."""
    size, gap = 8.0, 12.0
    texts = shorten_all([text for text, _ in key], width - 8 - gap * (len(key) - 1), size)
    x = (width - sum(width_of(text, size) + gap for text in texts) + gap) / 2
    for text, (_, colour) in zip(texts, key, strict=True):
        write(ax, x, 6, text, size=size, color=colour)
        x += width_of(text, size) + gap


def class_counts(counts: Iterable[float], theme: Theme, text: Callable[[float], str]) -> NodeLine:
    """A line such as ``● 12  ◆ 3``: the rows of each class in its shape and colour."""
    parts: list[tuple[str, str | None]] = []
    for at, number in enumerate(counts):
        parts += [("  " if at else "", None), (f"{SHAPES[at]} ", theme.classes[at])]
        parts.append((text(number), None))
    return NodeLine(tuple(part for part in parts if part[0]))
