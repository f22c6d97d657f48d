"""Which tests go to one worker of pytest-xdist, and which begin; `--dist loadfile` asks here.

Tests stay with their file, but for three things. There is one Studio with its browser and one
Spark, which take long to start. Random cases and pages of the documentation take long as well and
share nothing, so each goes where there is room.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

SPARK = ("tests/scale/test_spark.py", "tests/rules/test_lazy.py")


def group_of(nodeid: str, alone: Collection[str]) -> str:
    """The name of the group that a test is in; `alone` are files whose tests share nothing."""
    path = nodeid.partition("::")[0]
    if path.startswith("tests/studio/web/"):
        return "studio"
    if path in SPARK:
        return "spark"
    return nodeid if path in alone else path


def rank_of(group: str) -> int:
    """0 for what must begin, as all else would wait for it; files come last, as they are short."""
    return 0 if group in ("studio", "spark") else 1 if "::" in group else 2


class Groups(LoadScopeScheduling):
    """Gives each group to a worker that has nothing left to do."""

    def __init__(self, config: pytest.Config, log: Any, alone: Collection[str]) -> None:
        super().__init__(config, log)
        self.alone = alone

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid, self.alone)
