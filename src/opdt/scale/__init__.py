"""Tables larger than memory: the best rule over partitions, still proven.

Files can be used. Dask and Spark are in the making: they have not been seen to finish reliably, and
`discover` does not know any of this yet.
"""

from opdt.scale.driver import PassProgress
from opdt.scale.front import Passes, discover_partitioned, open_scanner
from opdt.scale.local import LocalScanner
from opdt.scale.scanner import Parts, Scanner, Source, Task, Watch

__all__ = [
    "LocalScanner",
    "Parts",
    "PassProgress",
    "Passes",
    "Scanner",
    "Source",
    "Task",
    "Watch",
    "discover_partitioned",
    "open_scanner",
]
