"""Packages of the extra `datasets`, imported only where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opdt.errors import EngineUnavailable


def require(module: str) -> Any:
    """Return an optional module, or say how to install its package."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise EngineUnavailable(
            f"opdt.datasets needs {package}; run: pip install 'opdt[datasets]'"
        ) from error
