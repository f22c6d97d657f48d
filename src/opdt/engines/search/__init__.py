"""The exact search engine."""

from opdt.engines.search.engine import SearchEngine, Searcher
from opdt.engines.search.run import Switches

__all__ = ["SearchEngine", "Searcher", "Switches"]
