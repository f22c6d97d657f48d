"""Engines by name, listed without importing any of them."""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from opdt.checks import check_kind
from opdt.engines.base import Engine
from opdt.errors import EngineUnavailable, InputError


class EngineEntry(NamedTuple):
    """Where an engine lives, what it needs, and what it promises."""

    place: str  # "module:Class"
    proves: bool
    summary: str
    needs: tuple[str, ...] = ()
    extra: str = ""


ENGINES: dict[str, EngineEntry] = {
    "search": EngineEntry(
        "opdt.engines.search:SearchEngine",
        proves=True,
        summary="specialised branch and bound; the default",
    ),
    "mip": EngineEntry(
        "opdt.engines.mip:MIPEngine",
        proves=True,
        summary="the paper's mixed-integer program, by SCIP, HiGHS or Gurobi",
        needs=("pyscipopt",),
        extra="mip",
    ),
    "bsccart": EngineEntry(
        "opdt.engines.bsccart:BSCCARTEngine",
        proves=False,
        summary="the paper's CART within the structure; fast, no proof",
    ),
    "rscrules": EngineEntry(
        "opdt.engines.rscrules:RSCRULESEngine",
        proves=False,
        summary="the paper's RULES within the structure, on binned features; no proof",
    ),
    "exhaustive": EngineEntry(
        "opdt.engines.exhaustive:ExhaustiveEngine",
        proves=True,
        summary="tries every rule; for small tables and for checking the others",
    ),
}


def engine_names(*, installed: bool = False) -> tuple[str, ...]:
    """Names of all engines, or of those whose packages are installed."""
    return tuple(
        name
        for name, entry in ENGINES.items()
        if not installed or all(find_spec(package) is not None for package in entry.needs)
    )


def get_engine(engine: str | Engine) -> Engine:
    """The engine of this name with default settings, or the configured engine itself."""
    if isinstance(engine, Engine):
        return engine
    check_kind("engine", engine, str, "a name or an Engine object")
    if engine not in ENGINES:
        close = difflib.get_close_matches(engine, ENGINES, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(ENGINES)}."
        raise InputError(f"'engine' {engine!r} is not known; {hint}")
    entry = ENGINES[engine]
    for package in entry.needs:
        if find_spec(package) is None:
            raise EngineUnavailable(
                f"engine {engine!r} needs {package}; run: pip install 'opdt[{entry.extra}]'"
            )
    module, _, name = entry.place.partition(":")
    built: Engine = getattr(import_module(module), name)()
    return built
