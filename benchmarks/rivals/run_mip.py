"""The path model of the same problem in HiGHS, without a warm start."""

from __future__ import annotations

import time

started = time.perf_counter()

from importlib.metadata import version  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from serve import serve  # noqa: E402

from opdt.engines.mip import MIPEngine  # noqa: E402
from opdt.problem import Problem, Structure  # noqa: E402
from opdt.solution import Budget  # noqa: E402
from opdt.table import Table  # noqa: E402


def solve(X: np.ndarray, y: np.ndarray, request: dict[str, Any]) -> dict[str, Any]:
    """Building the model counts; coding the table does not."""
    table = Table.build(X, y)
    structure = Structure.free(request["depth"])
    began = time.perf_counter()
    problem = Problem.build(table, structure=structure, w=request["w"], label=request["label"])
    engine = MIPEngine(solver="highs", formulation="path", warm_start=False)
    solution = engine.solve(problem, Budget(time_limit=request["limit"], n_jobs=2))
    return {
        "seconds": time.perf_counter() - began,
        "value": solution.value,
        "finished": solution.gap == 0,
        "remark": f"bound {solution.bound:g}",
    }


if __name__ == "__main__":
    serve(solve, version("highspy"), started)
