"""Packages of the extra `datasets`, imported only where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opdt.errors import EngineUnavailable


def require(package: str) -> Any:
    """Return an optional package, or say how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise EngineUnavailable(
            f"opdt.datasets needs {package}; run: pip install 'opdt[datasets]'"
        ) from error
