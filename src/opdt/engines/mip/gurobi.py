"""Gurobi through gurobipy, where a licence is present."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from opdt.engines.mip.model import Model
from opdt.engines.mip.solver import Listener, SolverAnswer, SolverSettings
from opdt.errors import UnsupportedProblem
from opdt.solution import StopReason

HAS_PRIORITIES = True
STARTUP = 0.0


def version() -> str:
    """Name and version of the solver."""
    gurobipy: Any = import_module("gurobipy")

    return "Gurobi " + ".".join(map(str, gurobipy.gurobi.version()))


def load(model: Model, settings: SolverSettings, listener: Listener) -> GurobiRun:
    """Load a model into Gurobi."""
    return GurobiRun(model, settings, listener)


class GurobiRun:
    """One solve by Gurobi."""

    def __init__(self, model: Model, settings: SolverSettings, listener: Listener) -> None:
        gurobipy: Any = import_module("gurobipy")

        self._listener, self._size = listener, (model.n_variables, model.n_rows)
        self._environment = gurobipy.Env(params={"OutputFlag": 0})
        self._gurobi = gurobi = gurobipy.Model(model.name, env=self._environment)
        _set_parameters(gurobi, settings)
        self._variables = gurobi.addMVar(
            model.n_variables,
            lb=model.lower,
            ub=model.upper,
            vtype=np.where(model.integer, "I", "C"),
        )
        gurobi.setObjective(model.cost @ self._variables, gurobipy.GRB.MAXIMIZE)
        _load_rows(gurobi, model, self._variables)
        if settings.priorities:
            self._variables.BranchPriority = model.priority
        if model.start is not None:
            self._variables.Start = model.start

    def solve(self) -> SolverAnswer:
        """Solve; a model beyond the licence is refused with Gurobi's own words."""
        gurobipy: Any = import_module("gurobipy")

        gurobi, codes = self._gurobi, gurobipy.GRB
        seconds = self._listener.clock.remaining()
        if np.isfinite(seconds):
            gurobi.Params.TimeLimit = max(0.0, seconds)
        try:
            gurobi.optimize(self._called)
        except gurobipy.GurobiError as error:
            n_variables, n_rows = self._size
            raise UnsupportedProblem(
                f"Gurobi does not solve this model of {n_variables:,} variables and {n_rows:,} "
                f"rows: {error}; use solver='scip' or 'highs', or another licence."
            ) from error
        reasons = {
            codes.OPTIMAL: StopReason.FINISHED,
            codes.INFEASIBLE: StopReason.FINISHED,
            codes.INF_OR_UNBD: StopReason.FINISHED,
            codes.TIME_LIMIT: StopReason.TIME,
            codes.NODE_LIMIT: StopReason.NODES,
            codes.MEM_LIMIT: StopReason.MEMORY,
        }
        infeasible = gurobi.Status in (codes.INFEASIBLE, codes.INF_OR_UNBD)
        x = self._variables.X if gurobi.SolCount else None
        bound = -np.inf if infeasible else _finite(gurobi.ObjBound)
        stopped = reasons.get(gurobi.Status, StopReason.INTERRUPTED)
        return SolverAnswer(x, bound, int(gurobi.NodeCount), stopped)

    def interrupt(self) -> None:
        """Ask Gurobi to stop."""
        self._gurobi.terminate()

    def _called(self, gurobi: Any, where: int) -> None:
        gurobipy: Any = import_module("gurobipy")

        codes = gurobipy.GRB.Callback
        if where == codes.MIPSOL:
            self._listener.guard(
                lambda: self._listener.add(
                    np.asarray(gurobi.cbGetSolution(self._variables)),
                    _finite(gurobi.cbGet(codes.MIPSOL_OBJBND)),
                )
            )


def _set_parameters(gurobi: Any, settings: SolverSettings) -> None:
    gurobi.Params.Threads = settings.threads
    gurobi.Params.Seed = settings.seed
    gurobi.Params.MIPGap = 0.0
    gurobi.Params.MIPGapAbs = settings.gap
    if settings.nodes is not None:
        gurobi.Params.NodeLimit = settings.nodes
    if settings.memory is not None:
        gurobi.Params.SoftMemLimit = settings.memory / 1e9


def _load_rows(gurobi: Any, model: Model, variables: Any) -> None:
    from scipy.sparse import csr_array

    gurobipy: Any = import_module("gurobipy")

    matrix = csr_array(
        (model.coefficient, model.column, model.row_start), (model.n_rows, model.n_variables)
    )
    equal = model.row_lower == model.row_upper
    for rows, sense, sides in (
        (equal, gurobipy.GRB.EQUAL, model.row_lower),
        (~equal & np.isfinite(model.row_lower), gurobipy.GRB.GREATER_EQUAL, model.row_lower),
        (~equal & np.isfinite(model.row_upper), gurobipy.GRB.LESS_EQUAL, model.row_upper),
    ):
        if rows.any():
            gurobi.addMConstr(matrix[rows], variables, sense, sides[rows])


def _finite(bound: float) -> float:
    return float(bound) if abs(bound) < 1e100 else float("inf")
