"""Pictures of rules, structures and searches, drawn with matplotlib.

Every function draws on the axes given as `ax`, or on those of a new figure, and returns them.
Pictures suit the ground they are drawn on, light or dark. Names from data are shown as they are.
"""

from opdt.plot.funnels import funnel
from opdt.plot.regions import region
from opdt.plot.survival_curves import survival
from opdt.plot.traces import progress
from opdt.plot.trade_offs import trade_off
from opdt.plot.trees import split_tree, structure

__all__ = ["funnel", "progress", "region", "split_tree", "structure", "survival", "trade_off"]
