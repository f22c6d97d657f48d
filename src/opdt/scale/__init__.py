"""Tables larger than memory: the best rule over partitions, still proven.

`opdt.discover` comes here with patterns, folders, lists of paths, dask and Spark data frames. A
`Scanner` runs a `Task` on every partition and adds up what it returns; the search is written once,
against that interface.
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
