"""Data that are read in pieces: which they are, and what is known before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opdt.cli.source import STDIN, missing_of, roles_of
from opdt.errors import InputError
from opdt.machine import format_size
from opdt.optional import require
from opdt.problem.arguments import is_partitioned
from opdt.solution import Solution
from opdt.table import Plan, Table
from opdt.table.labels import one_class

if TYPE_CHECKING:  # what needs pyarrow is imported where there are pieces
    from opdt.scale import Passes
    from opdt.scale.schema import Layout


@dataclass(frozen=True)
class Pieces:
    """What `discover` takes, the names of the columns, what is said about them, and the target."""

    source: Any
    names: tuple[str, ...]
    roles: Mapping[str, str]
    missing: Mapping[str, Sequence[str]] | None
    target: Layout

    def class_of(self, text: str) -> Any:
        """The class that `text` spells, by the type of the target column."""
        family = "truth" if self.target.truth else self.target.family
        read: dict[str, Callable[[str], Any]] = {"truth": _truth, "int": int, "float": float}
        try:
            return read.get(family, str)(text)
        except ValueError:
            raise InputError(
                f"'--label' {text!r} is none of the classes: column {self.target.name!r} holds "
                f"{'true and false' if self.target.truth else 'numbers'}."
            ) from None


@contextmanager
def open_pieces(
    data: Sequence[str],
    target: str,
    role: Sequence[str] | None = None,
    missing: Sequence[str] | None = None,
    *,
    dask: str | None = None,
    written: Mapping[str, Any] | None = None,
) -> Iterator[Pieces]:
    """The files, here or with the workers of a Dask scheduler until the context ends.

    `written` says how text files are, as far as the user does: arguments of `read_frame`.
    """
    if STDIN in data:
        raise InputError("the standard input cannot be read in pieces; name files.")
    from opdt.machine import cores
    from opdt.scale.local import LocalScanner
    from opdt.scale.schema import agree
    from opdt.table.roles import unread_columns

    scanner = LocalScanner(data, cores(), **(written or {}))
    sources = scanner.sources()
    names = tuple(name for name in sources[0].schema.names if name != target)
    roles, gone = roles_of(names, role), missing_of(names, missing)
    schema = agree(sources, target, unread=unread_columns(roles))
    if dask is None:
        yield Pieces(scanner, names, roles, gone, schema.target)
        return
    from opdt.scale.lazy import dask_frame

    with _client(dask):
        yield Pieces(dask_frame(scanner, schema), names, roles, gone, schema.target)


def in_pieces(
    data: Sequence[str], memory_limit: str | None = None, dask: str | None = None
) -> bool:
    """Whether the data are read in pieces rather than into memory."""
    several = len(data) > 1 or is_partitioned(data[0])
    return several or memory_limit is not None or dask is not None


def class_table(solution: Solution) -> Table:
    """One row for each class, with the weight of all its rows: enough for shares.

    Without a row where a limit ended the first pass, when there is no rule either.
    """
    seen: Passes = solution.details
    if not seen.classes:
        return Table((), np.zeros(0, np.int32), np.zeros(0))
    if len(seen.classes) == 1:  # an objective that says what rows are worth
        return Table((), *one_class(seen.classes[0], 1), weights=np.array(seen.weights))
    rows = {"class": list(range(len(seen.classes)))}
    return Table.build(
        rows, list(seen.classes), sample_weight=seen.weights, roles=Plan(), warn=False
    )


def reading(solution: Solution) -> tuple[str, str]:
    """The fact that tells how much was read."""
    seen: Passes = solution.details
    words = f"{seen.passes} pass{'' if seen.passes == 1 else 'es'} over {seen.n_rows:,} rows"
    return "read", words + (f", {format_size(seen.bytes_read)}" if seen.bytes_read else "")


def _truth(text: str) -> bool:
    if text.casefold() not in ("true", "false", "1", "0"):
        raise ValueError(text)
    return text.casefold() in ("true", "1")


@contextmanager
def _client(address: str) -> Iterator[None]:
    distributed = require("distributed", "dask", "'--dask'")
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise InputError(
            f"'--dask' {address!r} is not the address of a Dask scheduler that answers; it looks "
            "like tcp://host:8786."
        ) from error
    with client:
        yield
