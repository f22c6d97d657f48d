"""A table of eight rows, on which everything is tried once before anybody waits for it."""

from __future__ import annotations

from opdt.optional import require
from opdt.studio.tables import Loaded, loaded_frame
from opdt.studio.work import Work


def small_table() -> Loaded:
    """Eight patients."""
    frame = require("pandas", "studio", "opdt studio").DataFrame(
        {
            "age": [31, 35, 40, 44, 52, 57, 61, 70],
            "pulse": [61.5, 70.0, 64.0, 90.0, 88.0, 60.0, 95.0, 72.0],
            "smoker": ["no", "no", "yes", "no", "yes", "yes", "no", "yes"],
            "state": ["well", "well", "well", "ill", "well", "ill", "ill", "ill"],
        }
    )
    return loaded_frame(frame, "sample")


def small_work() -> Work:
    """The question which of them are ill."""
    return Work(target="state", label="ill", w=2.0, held_out=0.25)
