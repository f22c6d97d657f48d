"""A report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from opdt.errors import EngineUnavailable


def render(context: dict[str, Any]) -> str:
    """The page of these values; every one of them is escaped.

    The style and the script are part of the package. The page may run that one script, known by
    its checksum, and load nothing: its own policy says so.
    """
    script = _part("page.js")
    digest = hashlib.sha256(script.encode()).digest()
    return str(
        _template().render(
            **context,
            style=_trusted(_part("page.css")),
            script=_trusted(script),
            script_hash=base64.b64encode(digest).decode(),
        )
    )


@cache
def _template() -> Any:
    if find_spec("jinja2") is None:
        raise EngineUnavailable("a report needs jinja2; run: pip install 'opdt[report]'")
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_part("page.html.j2"))


def _trusted(text: str) -> Any:
    """Text of our own that is not escaped."""
    from markupsafe import Markup

    return Markup(text)


def _part(name: str) -> str:
    return files("opdt.report").joinpath(name).read_text(encoding="utf-8")
