"""What another thread may do at an awkward moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engines.search.support import ORACLE
from opdt.engines.search import SearchEngine, Switches, kernels
from opdt.engines.search.scan import Scan
from opdt.engines.search.sweep import Sweep
from opdt.engines.search.tuning import Tuning
from opdt.problem import Problem, Structure
from opdt.solution import Budget
from opdt.table import Table


@pytest.mark.parametrize(("method", "large_rows"), [(Scan, 0), (Sweep, 20_000)])
def test_a_better_value_found_while_a_rule_is_worked_out_does_no_harm(
    method: type[Scan | Sweep], large_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    table = Table.build(rng.integers(0, 5, size=(40, 3)), rng.integers(0, 2, size=40), warn=False)
    problem = Problem.build(table, structure=Structure.free(2), w=2)
    locate = method.locate
    hurried = []

    def while_the_best_rises(self: Any, *args: Any, quick: bool) -> Any:
        best = self.run.best
        if quick:
            hurried.append(best)
            self.run.control[kernels.BEST] = best + 1
        try:
            return locate(self, *args, quick=quick)
        finally:
            self.run.control[kernels.BEST] = best

    monkeypatch.setattr(method, "locate", while_the_best_rises)
    engine = SearchEngine(
        switches=Switches(seeding=False, large_rows=large_rows, tuning=Tuning(worth_noting=0))
    )
    found, best = engine.solve(problem, Budget(n_jobs=1)), ORACLE.solve(problem)
    assert hurried
    assert (found.value, found.rule) == (best.value, best.rule)
