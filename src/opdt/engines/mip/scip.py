"""SCIP through PySCIPOpt."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

import numpy as np

from opdt.engines.mip.model import Floats, Model
from opdt.engines.mip.solver import Listener, SolverAnswer, SolverSettings
from opdt.solution import Clock, StopReason

HAS_PRIORITIES = True
STARTUP = 0.0
LOOK_EVERY = 1000  # variables or rows that are loaded: at most some hundredths of a second
_INFINITY = 1e19  # what SCIP reports for "no bound" is at least this

_REASONS = {
    "optimal": StopReason.FINISHED,
    "infeasible": StopReason.FINISHED,
    "gaplimit": StopReason.FINISHED,
    "timelimit": StopReason.TIME,
    "nodelimit": StopReason.NODES,
    "totalnodelimit": StopReason.NODES,
    "memlimit": StopReason.MEMORY,
    "userinterrupt": StopReason.INTERRUPTED,
}


def version() -> str:
    """Name and version of the solver."""
    pyscipopt: Any = import_module("pyscipopt")

    scip = pyscipopt.Model()
    numbers = f"{scip.getMajorVersion()}.{scip.getMinorVersion()}.{scip.getTechVersion()}"
    return f"SCIP {numbers} (PySCIPOpt {pyscipopt.__version__})"


def load(model: Model, settings: SolverSettings, listener: Listener) -> ScipRun:
    """Load a model into SCIP."""
    return ScipRun(model, settings, listener)


class ScipRun:
    """One solve by SCIP."""

    def __init__(self, model: Model, settings: SolverSettings, listener: Listener) -> None:
        pyscipopt: Any = import_module("pyscipopt")

        self._listener = listener
        self._scip = scip = pyscipopt.Model(model.name)
        scip.hideOutput()
        self._variables = _load_variables(scip, model, settings.priorities, listener.clock)
        _load_rows(scip, model, self._variables, listener.clock)
        _set_parameters(scip, settings)
        if model.start is not None:
            _set_start(scip, model.start, self._variables)
        handler = _event_handler(self)
        scip.includeEventhdlr(handler, "opdt", "records incumbents and bounds")

    def solve(self) -> SolverAnswer:
        """Solve without holding Python's lock, so that another thread can interrupt."""
        scip, seconds = self._scip, self._listener.clock.remaining()
        if np.isfinite(seconds):
            scip.setParam("limits/time", max(0.0, seconds))
        scip.optimizeNogil()
        status = scip.getStatus()
        x = self._point() if scip.getNSols() else None
        bound = -np.inf if status == "infeasible" else self._bound()
        stopped = _REASONS.get(status, StopReason.INTERRUPTED)
        return SolverAnswer(x, bound, int(scip.getNTotalNodes()), stopped)

    def interrupt(self) -> None:
        """Ask SCIP to stop.

        Between two of its stages SCIP refuses to be asked, with a bare `Exception`. Whoever
        asks does so again and again until the run has ended, so that a refusal is no failure.
        """
        with contextlib.suppress(Exception):
            self._scip.interruptSolve()

    def _point(self) -> Floats:
        scip = self._scip
        best = scip.getBestSol()
        return np.array([scip.getSolVal(best, variable) for variable in self._variables])

    def _bound(self) -> float:
        bound = float(self._scip.getDualbound())
        return bound if abs(bound) < _INFINITY else float("inf")


def _load_variables(scip: Any, model: Model, priorities: bool, clock: Clock) -> list[Any]:
    variables = []
    for at, name in enumerate(model.names):
        if at % LOOK_EVERY == 0:
            clock.check()
        whole = bool(model.integer[at])
        binary = whole and model.lower[at] >= 0 and model.upper[at] <= 1
        variable = scip.addVar(
            name,
            vtype="B" if binary else "I" if whole else "C",
            lb=float(model.lower[at]),
            ub=float(model.upper[at]),
            obj=float(model.cost[at]),
        )
        if priorities and model.priority[at]:
            scip.chgVarBranchPriority(variable, int(model.priority[at]))
        variables.append(variable)
    scip.setMaximize()
    return variables


def _load_rows(scip: Any, model: Model, variables: list[Any], clock: Clock) -> None:
    scip_types: Any = import_module("pyscipopt.scip")
    terms = [scip_types.Term(variable) for variable in variables]
    for row in range(model.n_rows):
        if row % LOOK_EVERY == 0:
            clock.check()
        entries = slice(model.row_start[row], model.row_start[row + 1])
        pairs = zip(model.column[entries], model.coefficient[entries].tolist(), strict=True)
        expression = scip_types.Expr({terms[column]: value for column, value in pairs})
        low, high = float(model.row_lower[row]), float(model.row_upper[row])
        scip.addCons(
            scip_types.ExprCons(
                expression,
                lhs=None if np.isinf(low) else low,
                rhs=None if np.isinf(high) else high,
            )
        )


def _set_parameters(scip: Any, settings: SolverSettings) -> None:
    scip.setParam("misc/catchctrlc", False)  # Python's own handler stops the run
    scip.setParam("timing/clocktype", 2)  # wall clock
    scip.setParam("limits/gap", 0.0)
    scip.setParam("limits/absgap", settings.gap)
    scip.setParam("randomization/randomseedshift", settings.seed)
    if settings.nodes is not None:
        scip.setParam("limits/totalnodes", settings.nodes)
    if settings.memory is not None:
        scip.setParam("limits/memory", settings.memory / 1e6)


def _set_start(scip: Any, start: Floats, variables: list[Any]) -> None:
    solution = scip.createSol()
    for variable, value in zip(variables, start.tolist(), strict=True):
        scip.setSolVal(solution, variable, value)
    scip.addSol(solution)


def _event_handler(run: ScipRun) -> Any:
    pyscipopt: Any = import_module("pyscipopt")
    found, raised = (
        pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND,
        pyscipopt.SCIP_EVENTTYPE.DUALBOUNDIMPROVED,
    )

    class Handler(pyscipopt.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(found | raised, self)

        def eventexit(self) -> None:
            self.model.dropEvent(found | raised, self)

        def eventexec(self, event: Any) -> None:
            is_point = event.getType() == found
            # SCIP turns an exception here into "unspecified error": it is kept for later.
            run._listener.guard(
                lambda: run._listener.add(run._point() if is_point else None, run._bound())
            )

    return Handler()
