"""Tables and queries of SQLite and DuckDB files, which are opened to be read only."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from opdt.errors import InputError, first_line
from opdt.optional import require
from opdt.table.places import is_remote, shown
from opdt.table.textfile import readable, too_large
from opdt.table.untyped import check_names, typed_table

_ROWS = 1 << 16  # that are fetched at once
# All that a query may do: select, read a column, call a function, recur.
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


def load(path: str, inside: str | None, order: str | None) -> pa.Table:
    """A table or view of a database, or the result of a query.

    Parameters
    ----------
    inside : str, optional
        The name, or a query that begins with SELECT or WITH; may be left out where the database
        has one table.
    order : "dmy" or "mdy", optional
        The order of days and months in dates of SQLite, which are text.
    """
    if is_remote(path):
        raise InputError(f"a database is read from this machine only; copy {shown(path)} here.")
    with open(path, "rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3"):
        return _from_sqlite(path, inside, order)
    if head[8:12] == b"DUCK":
        return _from_duckdb(path, inside)
    raise InputError(f"{shown(path)} is neither a database of SQLite nor one of DuckDB.")


def _from_sqlite(path: str, inside: str | None, order: str | None) -> pa.Table:
    address = f"file:{quote(os.path.abspath(path))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        listed = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        query = _query(path, inside, [name for (name,) in listed])
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
        )
        try:
            cursor = connection.execute(query)
            names = [column[0] for column in cursor.description]
            return typed_table(path, names, _fetched(cursor), order)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _failed(path, inside, error) from error


def _fetched(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(_ROWS):
        yield from rows


def _from_duckdb(path: str, inside: str | None) -> pa.Table:
    duckdb = require("duckdb", "duckdb", f"reading {shown(path)}")
    # without a way to other files, to the network and to further settings
    settings = {"enable_external_access": "false", "lock_configuration": "true"}
    try:
        connection = duckdb.connect(os.path.abspath(path), read_only=True, config=settings)
    except duckdb.Error as error:
        raise InputError(f"cannot read {shown(path)}: {first_line(error)}.") from error
    with closing(connection):
        listed = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' "
            "ORDER BY table_name"
        ).fetchall()
        query = _query(path, inside, [name for (name,) in listed])
        found = None
        try:
            statements = duckdb.extract_statements(query)
            if [s.type for s in statements] != [duckdb.StatementType.SELECT]:
                raise InputError(f"the query of {shown(path)} must be one SELECT.")
            found = connection.sql(query)
            check_names(path, found.columns)
            # the newer name first
            name = "to_arrow_reader" if hasattr(found, "to_arrow_reader") else "fetch_arrow_reader"
            return _collected(path, getattr(found, name)(_ROWS))
        except duckdb.Error as error:
            raise _failed(path, inside, error) from error
        finally:
            # An exception keeps its frames, and what it kept of the file would block the next.
            del found


def _collected(path: str, reader: Any) -> pa.Table:
    """All batches, as long as they fit into memory."""
    most, size, batches = readable(), 0, []
    try:
        for batch in reader:
            size += batch.nbytes
            if 2 * size > most:
                raise too_large(path)
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)
    finally:
        reader.close()


def _query(path: str, inside: str | None, names: list[str]) -> str:
    """The query that a table, a view or the user means."""
    some = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    if inside is None and len(names) != 1:
        raise InputError(
            f"{shown(path)} has {len(names)} tables; name one as '{path}::TABLE'"
            + (f": {some}." if names else ".")
        )
    wanted = names[0] if inside is None else inside
    if wanted in names:
        return 'SELECT * FROM "' + wanted.replace('"', '""') + '"'
    if wanted.strip().upper().startswith(("SELECT ", "SELECT\n", "WITH ", "WITH\n")):
        return wanted
    close = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {some or 'none'}."
    raise InputError(f"there is no table {wanted!r} in {shown(path)}; {hint}")


def _failed(path: str, inside: str | None, error: Exception) -> InputError:
    what = "" if inside is None else f" with {inside!r}"
    return InputError(f"cannot read {shown(path)}{what}: {first_line(error)}.")
