"""Tables with and without a pattern, for tests by permutations."""

from __future__ import annotations

import numpy as np


def noise(seed: int, n_rows: int = 40, n_classes: int = 2):
    """Features and labels that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    columns = {
        "size": rng.integers(12, size=n_rows),
        "age": rng.random(n_rows).round(3),
        "colour": rng.choice(["red", "green", "blue"], n_rows),
    }
    return columns, rng.permutation(np.arange(n_rows) % n_classes)


def planted(seed: int = 0, n_rows: int = 120):
    """A rule of two conditions that is right in nine of ten rows it covers."""
    columns, labels = noise(seed, n_rows)
    inside = (columns["age"] > 0.4) & (columns["colour"] != "red")
    right = np.random.default_rng(seed + 1).random(n_rows) < 0.95
    return columns, np.where(inside & right, 1, labels)
