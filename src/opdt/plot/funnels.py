"""The rule as a funnel: what each condition leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.plot.canvas import HATCHES, Theme, axes_for, blank, matplotlib, theme_of
from opdt.plot.rows import RuleRows
from opdt.plot.text import (
    condition_lines,
    count,
    rows_text,
    share,
    shorten,
    shorten_all,
    width_of,
    write,
)
from opdt.rules.counting import Stage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of a new figure.
_WIDTH, _STAGE, _FRAME = 7.6, 0.6, 0.8
# Points, at the top for the headings and at the bottom for the key.
_HEAD, _FOOT = 22.0, 24.0
_TALL = 30.0  # points of a stage that leave room for a second line of numbers


def funnel(model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how many rows, and of which classes, are left after each condition of a rule.

    On the left one bar for each stage, as long as its number of rows and divided by class; on
    the right the share of the rule's class among them, which after the last condition is the
    rule's precision. A line marks the share among all rows.

    Parameters
    ----------
    model : fitted model, Solution or Rule
    X : data frame, mapping of columns, 2-D array or path
        Only the rule's own columns are needed.
    y : array-like of shape (n_rows,), or str
        Labels, or the name of the column of `X` that holds them.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of a fitting size if left out.

    Returns
    -------
    matplotlib Axes
    """
    rows = RuleRows.of(model, X, y)
    stages = rows.stages()
    ax = axes_for(ax, _WIDTH, _STAGE * len(stages) + _FRAME, sheet=True)
    _Sheet(ax, theme_of(ax), rows, stages, *blank(ax)).draw()
    return ax


@dataclass(frozen=True)
class _Sheet:
    """Draws the funnel on a sheet that is measured in points."""

    ax: Axes
    theme: Theme
    rows: RuleRows
    stages: tuple[Stage, ...]
    width: float
    height: float

    @cached_property
    def size(self) -> float:
        return float(np.clip(self.width / 50, 5.5, 9.0))

    @cached_property
    def step(self) -> float:
        return (self.height - _HEAD - _FOOT) / len(self.stages)

    @cached_property
    def label_end(self) -> float:
        """Where the names of the stages end."""
        lines = [self._label(at, np.inf)[0] for at in range(len(self.stages))]
        longest = max(width_of(text, self.size, "bold") for text in (*lines, self.rows.verdict))
        return float(min(1.04 * longest + 6, 0.34 * self.width))

    @cached_property
    def shares(self) -> tuple[float, float]:
        """Where the bars of the shares begin and end."""
        stop = self.width - width_of("> 99.9 %", self.size, "bold") - 8
        return stop - 0.16 * self.width, stop

    @cached_property
    def bars(self) -> tuple[float, float]:
        """Where the bars of the rows begin, and where that of all rows ends."""
        start = self.label_end + 8
        texts = [rows_text(self.rows.n_rows), *(map(self._mix, self.stages) if self.mixed else ())]
        room = max(width_of(text, self.size, "bold") for text in texts)
        return start, self.shares[0] - room - 12

    @cached_property
    def mixed(self) -> bool:
        """Whether there is room to write the rows of each class beside the bars."""
        room = max(width_of(self._mix(stage), self.size, "bold") for stage in self.stages)
        left = self.shares[0] - self.label_end - 20 - room
        return self.step >= _TALL and left >= 0.2 * self.width

    def draw(self) -> None:
        """Draw headings, stages and the key."""
        label = self.rows.classes[0]
        self._heading(4, self.rows.verdict, self.label_end - 4)
        self._heading(self.bars[0], "rows left", np.inf)
        self._heading(self.shares[0], f"share of {label}", self.width - self.shares[0] - 4)
        for at in range(len(self.stages)):
            self._stage(at, self.height - _HEAD - (at + 0.5) * self.step)
        self._base_rate()
        self._key()

    def _label(self, at: int, room: float, weight: str = "normal") -> list[str]:
        condition = self.stages[at].condition
        if condition is None:
            return [shorten("all rows", room, self.size, weight)]
        before = "if " if at == 1 else "and "
        return condition_lines(condition, room, self.size, weight, before)

    def _mix(self, stage: Stage) -> str:
        """`348 good, 46 bad`; of more than two classes, `348 good, 46 other`."""
        first, *others = self.rows.classes
        other = others[0] if len(others) == 1 else "other"
        return f"{count(stage.together[0])} {first}, {count(sum(stage.together[1:]))} {other}"

    def _heading(self, x: float, text: str, room: float) -> None:
        size = self.size - 0.5
        text = shorten(text, room, size)
        write(self.ax, x, self.height - 14, text, size=size, color=self.theme.soft)

    def _stage(self, at: int, y: float) -> None:
        stage, last = self.stages[at], 0 < at == len(self.stages) - 1
        thick = min(22.0, 0.6 * self.step)
        weight = "bold" if last else "normal"
        style: dict[str, Any] = {"size": self.size, "va": "center", "weight": weight}
        style["color"] = self.theme.rule if last else self.theme.ink
        label = self._label(at, 0.96 * (self.label_end - 4), weight)
        write(self.ax, self.label_end, y, "\n".join(label), ha="right", **style)
        end = self._bar(stage, y, thick) + 6
        if self.mixed:
            soft = {"size": self.size - 1, "color": self.theme.soft, "va": "center"}
            write(self.ax, end, y - 0.75 * self.size, self._mix(stage), **soft)
            write(self.ax, end, y + 0.65 * self.size, rows_text(stage.covered), **style)
        else:
            write(self.ax, end, y, rows_text(stage.covered), **style)
        start, stop = self.shares
        part = stage.together[0] / stage.covered if stage.covered else 0.0
        fill = self.theme.rule if last else self.theme.classes[0]
        self._block("track", start, y, stop - start, thick, fc=self.theme.track)
        self._block("share", start, y, part * (stop - start), thick, fc=fill)
        write(self.ax, stop + 5, y, share(stage.together[0], stage.covered), **style)

    def _bar(self, stage: Stage, y: float, thick: float) -> float:
        """Draw the stacked bar of a stage and return where it ends."""
        x, stop = self.bars
        scale = (stop - x) / max(1, self.rows.n_rows)
        for at, number in enumerate(stage.together):
            if number:
                self._block("rows", x, y, number * scale, thick, **self._fill(at))
                x += number * scale
        return x

    def _fill(self, at: int) -> dict[str, Any]:
        """How the bars of a class are filled: the rule's class plain, the others hatched."""
        colour = self.theme.classes[at]
        return {"fc": self.theme.paper if at else colour, "ec": colour, "hatch": HATCHES[at]}

    def _block(
        self, name: str, x: float, y: float, length: float, thick: float, **style: Any
    ) -> None:
        patch = matplotlib("patches").Rectangle(
            (x, y - thick / 2), length, thick, lw=0.8, zorder=2, **style
        )
        patch.set_gid(name)
        self.ax.add_patch(patch)

    def _base_rate(self) -> None:
        """Mark the share among all rows, for the eye to compare with."""
        first, (start, stop) = self.stages[0], self.shares
        if first.covered:
            x = start + first.together[0] / first.covered * (stop - start)
            ends = [_FOOT, self.height - _HEAD]
            self.ax.plot([x, x], ends, color=self.theme.ink, lw=1, ls=(0, (3, 2)), zorder=3)

    def _key(self) -> None:
        """Tell below the bars which filling is which class."""
        size, box, gap = self.size - 0.5, 14.0, 14.0
        n = len(self.rows.classes)
        texts = shorten_all(self.rows.classes, self.width - 8 - n * (box + 4 + gap), size)
        x = self.bars[0]
        total = sum(width_of(text, size) + box + 4 + gap for text in texts)
        x = max(4.0, min(x, self.width - total))
        for at, text in enumerate(texts):
            self._block("key", x, 9, box, 8, **self._fill(at))
            write(self.ax, x + box + 4, 9, text, size=size, va="center", color=self.theme.ink)
            x += width_of(text, size) + box + 4 + gap
