"""Problems that several tests of the search share."""

from __future__ import annotations

import numpy as np
import pytest

from opdt.problem import Problem, Structure
from opdt.table import Table


@pytest.fixture
def noise() -> Problem:
    """Labels that have nothing to do with the features, so that very many rules are good."""
    rng = np.random.default_rng(1)
    table = Table.build(rng.random((200, 6)), rng.integers(0, 2, size=200), warn=False)
    return Problem.build(table, structure=Structure.free(3), w=2)
