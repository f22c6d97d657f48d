"""The exact search engine. What is not named here is its inside; nothing else imports it."""

from opdt.engines.search.agenda import run_tasks
from opdt.engines.search.collect import RuleListing
from opdt.engines.search.engine import SearchEngine, Searcher
from opdt.engines.search.tuning import Switches
from opdt.problem import RowLimit

__all__ = ["RowLimit", "RuleListing", "SearchEngine", "Searcher", "Switches", "run_tasks"]
