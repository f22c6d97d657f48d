"""Models as text: free MPS and LP files, which every solver reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from opdt.engines.mip.model import Model
from opdt.errors import InputError


def write_model(model: Model, path: Path) -> None:
    """Write the model in the format that the suffix names."""
    formats = {".mps": mps_lines, ".lp": lp_lines}
    if path.suffix.lower() not in formats:
        raise InputError(
            f"a model is written to a .mps or .lp file, got {path.name!r}; change the suffix."
        )
    lines = formats[path.suffix.lower()](model)
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def mps_lines(model: Model) -> Iterator[str]:
    """The lines of a free MPS file."""
    names, senses = _row_names(model), _senses(model)
    yield f"NAME {model.name}"
    yield from ("OBJSENSE", "    MAX", "ROWS", " N gain")
    yield from (f" {sense} {name}" for name, (sense, _) in zip(names, senses, strict=True))
    yield "COLUMNS"
    row_of = model.row_of
    order = np.lexsort((row_of, model.column))
    ends = np.searchsorted(model.column[order], np.arange(model.n_variables + 1))
    was_integer = False
    for at, variable in enumerate(model.names):
        if bool(model.integer[at]) != was_integer:
            was_integer = not was_integer
            yield f" MARK 'MARKER' '{'INTORG' if was_integer else 'INTEND'}'"
        # Every variable is named here, even one without entries, so that its place is kept.
        yield f" {variable} gain {_number(model.cost[at])}"
        for entry in order[ends[at] : ends[at + 1]]:
            coefficient = _number(model.coefficient[entry])
            yield f" {variable} {names[row_of[entry]]} {coefficient}"
    if was_integer:
        yield " MARK 'MARKER' 'INTEND'"
    yield "RHS"
    for name, (_, side) in zip(names, senses, strict=True):
        if side:
            yield f" RHS {name} {_number(side)}"
    yield "BOUNDS"
    for variable, low, high in zip(model.names, model.lower, model.upper, strict=True):
        yield f" LO BND {variable} {_number(low)}"
        yield f" UP BND {variable} {_number(high)}"
    yield "ENDATA"


def lp_lines(model: Model) -> Iterator[str]:
    """The lines of a file in the LP format."""
    yield f"\\ {model.name}"
    yield "Maximize"
    used = np.flatnonzero(model.cost)
    yield from _sum("gain", model, used, model.cost[used])
    yield "Subject To"
    relation = {"L": "<=", "G": ">=", "E": "="}
    for row, (name, (sense, side)) in enumerate(
        zip(_row_names(model), _senses(model), strict=True)
    ):
        entries = slice(model.row_start[row], model.row_start[row + 1])
        yield from _sum(name, model, model.column[entries], model.coefficient[entries])
        yield f"   {relation[sense]} {_number(side)}"
    yield "Bounds"
    for variable, low, high in zip(model.names, model.lower, model.upper, strict=True):
        yield f" {_number(low)} <= {variable} <= {_number(high)}"
    yield "General"
    yield from (
        f" {variable}" for variable, whole in zip(model.names, model.integer, strict=True) if whole
    )
    yield "End"


def _sum(name: str, model: Model, variables: np.ndarray, coefficients: np.ndarray) -> Iterator[str]:
    """A labelled sum, a few terms to the line as some readers limit the length of lines."""
    terms = [
        f"{'-' if coefficient < 0 else '+'} {_number(abs(coefficient))} {model.names[variable]}"
        for variable, coefficient in zip(variables, coefficients, strict=True)
    ]
    yield f" {name}: {' '.join(terms[:5])}"
    for at in range(5, len(terms), 5):
        yield "   " + " ".join(terms[at : at + 5])


def _row_names(model: Model) -> list[str]:
    names = [""] * model.n_rows
    seen: dict[str, int] = {}
    for family, first, last in model.families:
        for row in range(first, last):
            seen[family] = seen.get(family, 0) + 1
            names[row] = f"{family}_{seen[family]}"
    return names


def _senses(model: Model) -> list[tuple[str, float]]:
    """The sense (L, G or E) and the side of each row; no row has two different sides."""
    out = []
    for low, high in zip(model.row_lower, model.row_upper, strict=True):
        if low == high:
            out.append(("E", float(low)))
        elif np.isinf(low):
            out.append(("L", float(high)))
        else:
            out.append(("G", float(low)))
    return out


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value))
