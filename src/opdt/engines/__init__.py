"""Engines: the ways to solve a problem, behind one interface."""

from opdt.engines.base import Engine, Outcome
from opdt.engines.registry import engine_names, get_engine

__all__ = ["Engine", "Outcome", "engine_names", "get_engine"]
