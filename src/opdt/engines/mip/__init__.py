"""The paper's mixed-integer program, and the path model, solved by SCIP, HiGHS or Gurobi."""

from opdt.engines.mip.engine import MIPDetails, MIPEngine
from opdt.engines.mip.model import Model

__all__ = ["MIPDetails", "MIPEngine", "Model"]
