"""HiGHS through highspy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from opdt.engines.mip.model import Model
from opdt.engines.mip.solver import Listener, SolverAnswer, SolverSettings
from opdt.errors import EngineFailure
from opdt.solution import StopReason

HAS_PRIORITIES = False
STARTUP = 2e-6  # HiGHS copies and presolves a model before it looks at a limit


def version() -> str:
    """Name and version of the solver."""
    highspy: Any = import_module("highspy")

    return f"HiGHS {highspy.Highs().version()}"


def load(model: Model, settings: SolverSettings, listener: Listener) -> HighsRun:
    """Load a model into HiGHS."""
    return HighsRun(model, settings, listener)


class HighsRun:
    """One solve by HiGHS; it has no branching priorities."""

    def __init__(self, model: Model, settings: SolverSettings, listener: Listener) -> None:
        highspy: Any = import_module("highspy")

        self._highs = highs = highspy.Highs()
        self._listener = listener
        highs.silent()
        # HiGHS keeps one pool of threads per process, made for the first number asked for.
        highspy.Highs.resetGlobalScheduler(True)
        _set_options(highs, settings)
        _pass_model(highs, model)
        if model.start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = model.start.tolist()
            highs.setSolution(solution)
        highs.HandleUserInterrupt = True
        highs.cbMipImprovingSolution.subscribe(self._improved)
        highs.cbMipLogging.subscribe(self._logged)

    def solve(self) -> SolverAnswer:
        """Solve; highspy releases Python's lock meanwhile."""
        highs, seconds = self._highs, self._listener.clock.remaining()
        if np.isfinite(seconds):
            highs.setOptionValue("time_limit", max(0.0, seconds))
        highs.run()
        status, info = highs.getModelStatus(), highs.getInfo()
        stopped = _reason(status)
        infeasible = "Infeasible" in highs.modelStatusToString(status)
        found = info.primal_solution_status == 2  # feasible point
        x = np.array(highs.getSolution().col_value) if found and not infeasible else None
        bound = -np.inf if infeasible else _finite(info.mip_dual_bound)
        return SolverAnswer(x, bound, max(0, int(info.mip_node_count)), stopped)

    def interrupt(self) -> None:
        """Ask HiGHS to stop."""
        self._highs.cancelSolve()

    def _improved(self, event: Any) -> None:
        data = event.data_out
        self._listener.guard(
            lambda: self._listener.add(np.array(data.mip_solution), _finite(data.mip_dual_bound))
        )

    def _logged(self, event: Any) -> None:
        self._listener.guard(
            lambda: self._listener.add(None, _finite(event.data_out.mip_dual_bound))
        )


def _set_options(highs: Any, settings: SolverSettings) -> None:
    highs.setOptionValue("threads", settings.threads)
    highs.setOptionValue("random_seed", settings.seed)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", settings.gap)
    if settings.nodes is not None:
        highs.setOptionValue("mip_max_nodes", int(settings.nodes))


def _pass_model(highs: Any, model: Model) -> None:
    """Hand the model over as whole arrays, which is quick; single numbers would take minutes."""
    highspy: Any = import_module("highspy")

    highs.passModel(
        model.n_variables,
        model.n_rows,
        model.n_entries,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMaximize),
        0.0,
        model.cost,
        model.lower,
        model.upper,
        model.row_lower,
        model.row_upper,
        model.row_start.astype(np.int32),
        model.column.astype(np.int32),
        model.coefficient,
        model.integer.astype(np.int32),  # 1 is HighsVarType.kInteger
    )


def _reason(status: Any) -> StopReason:
    highspy: Any = import_module("highspy")

    kinds = highspy.HighsModelStatus
    reasons = {
        kinds.kOptimal: StopReason.FINISHED,
        kinds.kInfeasible: StopReason.FINISHED,
        kinds.kUnboundedOrInfeasible: StopReason.FINISHED,  # every variable has bounds
        kinds.kModelEmpty: StopReason.FINISHED,
        kinds.kTimeLimit: StopReason.TIME,
        kinds.kSolutionLimit: StopReason.NODES,  # also what the node limit reports
        kinds.kIterationLimit: StopReason.NODES,
        kinds.kMemoryLimit: StopReason.MEMORY,
        kinds.kInterrupt: StopReason.INTERRUPTED,
    }
    if status not in reasons:
        raise EngineFailure(f"HiGHS ended with the status {status!s}, which is no answer.")
    return reasons[status]


def _finite(bound: float) -> float:
    return float(bound) if abs(bound) < 1e100 else float("inf")
