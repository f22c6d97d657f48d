"""How often `significant_rules` lists a rule where there is none: tables of pure chance.

    python benchmarks/false_rules.py --tables 1000

Numeric and categorical columns, classes of different sizes, all drawn independently. At the level
alpha a list is not empty in at most a share alpha of such tables. Prints the share with its exact
(Clopper–Pearson) interval, and the interval in which it falls in 95 of 100 runs if the share is
alpha."""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import binom, binomtest

from opdt import significant_rules


def table(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A table in which nothing depends on the class."""
    n_rows = int(rng.integers(60, 201))
    columns = {f"x{j}": rng.normal(size=n_rows).round(1) for j in range(3)}
    columns |= {f"c{j}": rng.choice(list("abcd"), n_rows) for j in range(2)}
    share = rng.uniform(0.15, 0.5)
    labels = rng.random(n_rows) < share
    labels[:2] = True, False  # two classes in every table
    return columns, np.where(labels, "ill", "well")


def main() -> None:
    """Count the tables with a significant rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    false, started = 0, time.perf_counter()
    for number in range(asked.tables):
        X, y = table(np.random.default_rng([asked.seed, number]))
        n_others = int((y == "well").sum())
        found = significant_rules(
            X, y, label="ill", w=len(y) / n_others, alpha=asked.alpha, max_depth=asked.depth,
            n_permutations=asked.permutations, seed=number, limit=10, n_jobs=1,
        )  # fmt: skip
        false += len(found) > 0
        if (number + 1) % 50 == 0:
            print(f"{number + 1} tables, {false} with a rule", flush=True)
    low, high = binomtest(false, asked.tables).proportion_ci(method="exact")
    ends = binom.ppf([0.025, 0.975], asked.tables, asked.alpha) / asked.tables
    print(
        f"{false} of {asked.tables} tables of chance have a significant rule: "
        f"{false / asked.tables:.2%} (95 % interval {low:.2%} to {high:.2%}); "
        f"at exactly {asked.alpha:.0%} it would be from {ends[0]:.2%} to {ends[1]:.2%}; "
        f"{time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
