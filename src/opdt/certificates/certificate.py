"""Making certificates, and the file they are kept in."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from opdt import verify
from opdt.certificates.claims import (
    TARGET,
    cells_of,
    describe_claim,
    describe_problem,
    free_name,
    kind_of,
    price,
    units_of,
)
from opdt.certificates.cuts import cut_positions
from opdt.certificates.scanning import find_open_sets
from opdt.errors import EngineFailure, InputError, UnsupportedProblem
from opdt.problem import Problem
from opdt.solution import Solution

_CELLS = 32_000_000  # of all sets of axes together, unless rows take longer than cells
_MOST_CELLS = 1 << 16  # of one set
_BOX_CELLS = 1 << 12
_FEWEST_CUTS = 3

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Certificate:
    """A claim about the best rule of a table, with its proof, as plain data.

    Attributes
    ----------
    data : dict
        The content, as JSON; the format is described in [certificates](certificates.md).
    """

    data: dict[str, Any]

    @property
    def n_boxes(self) -> int:
        """How many cells of the common cuts had to be cut again."""
        return len(self.data["argument"]["boxes"])

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it to a file of compressed JSON; the same content gives the same bytes."""
        path = Path(path)
        try:
            path.write_bytes(self.to_bytes())
        except OSError as error:
            raise InputError(
                f"the certificate cannot be written to {str(path)!r}: {error}."
            ) from None
        return path

    def to_bytes(self) -> bytes:
        """The content of the file."""
        text = json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)
        return gzip.compress(text.encode(), mtime=0)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read it from a file."""
        try:
            return cls(json.loads(gzip.decompress(Path(path).read_bytes())))
        except FileNotFoundError:
            raise InputError(f"there is no certificate {str(path)!r}.") from None
        except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
            raise InputError(f"{str(path)!r} is no certificate: {error}.") from None

    def verify(self, problem: Problem) -> str:
        """Let the independent checker count everything on the rows of a problem's table.

        Returns what is verified, in a sentence; raises `opdt.verify.Rejected` otherwise. A file is
        checked by `opdt verify` or `opdt-verify`.
        """
        return self.check(cells_of(problem, self.target), units_of(problem))

    def check(self, cells: Mapping[str, Any], units: Sequence[int] | None = None) -> str:
        """The same on cells: column name to cells, the target's too, and row weights in units."""
        return str(verify.verify(self.data, cells, units))

    @property
    def target(self) -> str:
        """What the column of the classes is called."""
        return str(self.data["problem"]["target"])


def certify(problem: Problem, solution: Solution, *, target: str = TARGET) -> Certificate:
    """The certificate of a solution: no rule of the problem is worth more than its bound.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        Of this problem, by any engine, proven or stopped.
    target : str
        What the column of the classes is called.

    Raises
    ------
    UnsupportedProblem
        Where the objective or a constraint is one that certificates do not know, or levels make
        more cells than the checker counts.
    EngineFailure
        If the claim is wrong.
    """
    maker = CertificateMaker(problem, solution, target)
    try:
        certificate = maker.make()
    except verify.Rejected as error:  # the checker could not count it either
        raise UnsupportedProblem(f"there is no certificate of this problem: {error}") from None
    if maker.unsettled:
        raise EngineFailure(
            f"engine {solution.engine!r} claims that no rule is worth more than "
            f"{solution.bound:g}, but there is one: {maker.unsettled[0]}."
        )
    return certificate


class CertificateMaker:
    """Puts a certificate together; `unsettled` says which rules are better than claimed."""

    def __init__(self, problem: Problem, solution: Solution, target: str) -> None:
        self.unsettled: list[str] = []
        self._target = free_name(target, problem.table.names)
        priced = price(problem, solution)
        self._described = describe_problem(problem, self._target, priced)
        cells = cells_of(problem, self._target)
        self._columns = [
            verify.RawColumn(column.name, kind_of(column), cells[column.name])
            for column in problem.table.columns
        ]
        self._classes = verify.RawColumn("", "level", cells[self._target])
        self._units = problem.objective.weights
        self._rules = verify.AllowedRules(self._described, self._columns)
        self._claim = describe_claim(problem, solution, priced, self._rules)

    def make(self) -> Certificate:
        """Settle all rules, cutting wherever the bound is not enough."""
        rules = self._rules
        limit = self._n_intervals(rules)
        cuts: list[dict[str, Any]] = []
        boxes: list[dict[str, Any]] = []
        for label in self._labels():
            gains, limits = verify.sums_of(
                self._described, self._units, self._classes.codes != label
            )
            bound = self._claim["bound"]
            cut, most = limits[0] if bound is None else (gains, bound)
            starts = {}
            for number, axis in enumerate(rules.axes):
                if axis.is_threshold:
                    starts[label, number] = found = cut_positions(
                        axis.levels, cut, 1, axis.top, most, limit
                    )
                    cuts.append({"label": label, "axis": number, "starts": found})
            argument = _MadeArgument(rules, label, gains, limits, bound, starts, {})
            argument.settle()
            boxes += argument.made
            self.unsettled += argument.unsettled
        return Certificate(
            {
                "format": "opdt certificate",
                "version": verify.VERSION,
                "fingerprint": verify.fingerprint(self._columns, self._classes, self._units),
                "problem": self._described,
                "claim": self._claim,
                "argument": {"cuts": cuts, "boxes": boxes},
            }
        )

    def _n_intervals(self, rules: Any) -> int:
        """Into how many intervals to cut an axis: cells are to take as long as rows, or little."""
        n_sets = comb(len(rules.axes), rules.depth) * len(self._labels())
        n_cells = min(max(_CELLS // max(1, n_sets), len(self._units)), _MOST_CELLS)
        return max(_FEWEST_CUTS, int(n_cells ** (1 / rules.depth)))

    def _labels(self) -> Sequence[int]:
        label, texts = self._described["label"], self._classes.values
        return range(len(texts)) if label is None else [texts.index(label)]


class _MadeArgument(verify.Argument):
    """The checker's own argument, which makes the cuts that it asks for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.made: list[dict[str, Any]] = []
        self.unsettled: list[str] = []

    def settle(self) -> None:
        """Cut all cells that are open: found by compiled code, if no axis is of sets of levels."""
        everything = [np.arange(len(gains)) for gains, _ in self.sums]
        sets = find_open_sets(self)
        if sets is None:
            self.check((), everything)
            return
        if self.rules.complete(()):
            self.settle_set((), everything)
        for axes in sets:
            rows = [np.flatnonzero((codes[list(axes)] > 0).all(axis=0)) for codes in self.codes]
            self.settle_set(axes, rows)

    def check_box(self, axes: tuple[int, ...], ranges: Ranges) -> None:
        """Cut the box and go on, or note the single rule that it holds."""
        free = sum(low < high for low, high in ranges)
        if free == 0:
            on = [(self.rules.axes[a], low) for a, (low, _) in zip(axes, ranges, strict=True)]
            said = (f"{axis.column.name!r} {axis.op} at position {low}" for axis, low in on)
            self.unsettled.append(" and ".join(said) or "the rule without conditions")
            return
        limit = max(_FEWEST_CUTS, int(_BOX_CELLS ** (1 / free)))
        cuts = self._cut(axes, ranges, limit)
        self.boxes[self.label, axes, ranges] = cuts
        self.made.append(
            {
                "label": self.label,
                "axes": list(axes),
                "ranges": [list(of) for of in ranges],
                "cuts": cuts,
            }
        )
        super().check_box(axes, ranges)

    def _cut(self, axes: tuple[int, ...], ranges: Ranges, limit: int) -> list[list[int]]:
        on = [self.rules.axes[a] for a in axes]
        rows = np.flatnonzero(
            np.all([axis.covers(low) for axis, (low, _) in zip(on, ranges, strict=True)], axis=0)
        )
        gains, most = self.sums[0]
        cuts = [
            [low]
            if low == high
            else cut_positions(axis.levels[rows], gains[rows], low, high, most, limit)
            for axis, (low, high) in zip(on, ranges, strict=True)
        ]
        if max(map(len, cuts)) == 1:  # no row tells the positions apart: halves will do
            widest = int(np.argmax([high - low for low, high in ranges]))
            low, high = ranges[widest]
            cuts[widest] = [low, (low + high + 1) // 2]
        return cuts
