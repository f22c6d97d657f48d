"""Tables larger than memory: the best rule over partitions, still proven.

`opdt.discover` comes here with patterns, folders, lists of paths, dask and Spark data frames. A
`Scanner` runs a `ScanTask` on every partition and adds up what it returns; the search is written
once, against that interface.
"""

from opdt.scale.driver import PassProgress
from opdt.scale.front import Passes, discover_partitioned, open_scanner
from opdt.scale.local import LocalScanner
from opdt.scale.scanner import PartitionSource, Parts, Scanner, ScanTask, Watch

__all__ = [
    "LocalScanner",
    "PartitionSource",
    "Parts",
    "PassProgress",
    "Passes",
    "ScanTask",
    "Scanner",
    "Watch",
    "discover_partitioned",
    "open_scanner",
]
