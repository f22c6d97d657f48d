"""Turns formulas into MathML while the pages are built: readers need no script and no network."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves in the page for `\( … \)` and `\[ … \]`.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*\\[(\[](?P<tex>.*?)\\[)\]]\s*</(?P=tag)>', re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    """Return the page with every formula as MathML; called by MkDocs."""
    return FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    display = "block" if match["tag"] == "div" else "inline"
    return convert(html.unescape(match["tex"]).strip(), display=display)
