"""Packages that come with an extra, imported only where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opdt.errors import EngineUnavailable


def require(module: str, extra: str, what: str) -> Any:
    """Return a module of an optional package, or say how to install it.

    Parameters
    ----------
    module : str
        With a dot where a part of the package is meant.
    extra : str
        The extra of opdt that installs it.
    what : str
        What needs it, as the beginning of a sentence.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise EngineUnavailable(
            f"{what} needs {package}; run: pip install 'opdt[{extra}]'"
        ) from error
