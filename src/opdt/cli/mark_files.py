"""Many files with one column more, all of them or none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opdt.cli.mark import SEPARATORS, check_marked, write_marked
from opdt.errors import InputError, first_line
from opdt.rules import Rule, RuleSet
from opdt.table import column_names, read_frame
from opdt.table.places import is_remote
from opdt.table.read import PARQUET

BATCH_ROWS = 1 << 17


def mark_files(
    rule: Rule | RuleSet,
    data: Sequence[str],
    column: str,
    out: Path | None,
    written: Mapping[str, str | None],
) -> tuple[int, int]:
    """Write the files of folders and patterns into a new folder, marked by a rule.

    They keep their names and their places below the folder they have in common. The new folder
    has another name until all is written, so that nothing is ever half there.

    Returns
    -------
    covered, n_rows : int
    """
    from opdt.scale.local import find_files

    paths = find_files(data)
    if any(is_remote(path) for path in paths):
        raise InputError(
            "files at an address are not marked in pieces; copy them here, or name one."
        )
    files = [Path(path) for path in paths]
    out = _checked(out)
    root = Path(os.path.commonpath([file.parent.absolute() for file in files]))
    draft = out.with_name(f"{out.name}.{os.getpid()}.part")
    draft.mkdir()
    covered = n_rows = 0
    try:
        for file in files:
            place = draft / file.absolute().relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix.lower() in PARQUET:
                fired, rows = _mark_parquet(rule, file, column, place)
            else:
                fired, rows = _mark_text(rule, file, column, place, written)
            covered, n_rows = covered + fired, n_rows + rows
        os.replace(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return covered, n_rows


def _checked(out: Path | None) -> Path:
    if out is None:
        raise InputError("several files are marked into a folder; name a new one with '--out'.")
    if out.suffix.lower() in (*SEPARATORS, *PARQUET):
        raise InputError(
            f"'--out' {str(out)!r} is the name of a file, but several files are marked into a "
            "folder; leave the ending out."
        )
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"'--out' {str(out)!r} is already there; name a new folder.")
    if not out.absolute().parent.is_dir():
        raise InputError(f"'--out' {str(out)!r} is in a folder that does not exist; make it.")
    return out


def _mark_parquet(rule: Rule | RuleSet, file: Path, column: str, place: Path) -> tuple[int, int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    covered = n_rows = 0
    with _opened(file) as source:
        schema = source.schema_arrow
        check_marked(schema.empty_table(), column, None)
        marked = schema.append(pa.field(column, pa.bool_()))
        with pq.ParquetWriter(place, marked) as writer:
            for batch in _batches(file, source):
                fires = _covers(rule, file, batch)
                writer.write_table(
                    pa.Table.from_arrays([*batch.columns, pa.array(fires)], schema=marked)
                )
                covered, n_rows = covered + int(fires.sum()), n_rows + len(fires)
    return covered, n_rows


def _mark_text(
    rule: Rule | RuleSet, file: Path, column: str, place: Path, written: Mapping[str, str | None]
) -> tuple[int, int]:
    texts = {name for each in rule._cases().rules for name in each.as_text}
    frame = read_frame(file, **written, as_text=texts)
    check_marked(frame, column, None)
    fires = _covers(rule, file, frame)
    if place.suffix not in SEPARATORS:
        place = place.with_name(f"{place.name}.csv")
    write_marked(str(file), frame, column, fires, place, written)
    return int(fires.sum()), len(fires)


def _covers(rule: Rule | RuleSet, file: Path, rows: Any) -> Any:
    gone = [name for name in rule.features if name not in column_names(rows)]
    if gone:
        raise InputError(f"{str(file)!r} has no column {gone[0]!r}, which the rule needs.")
    return rule.covers(rows)


def _opened(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(file, error) from error


def _batches(file: Path, source: Any) -> Iterator[Any]:
    import pyarrow as pa

    batches = source.iter_batches(batch_size=BATCH_ROWS)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(file, error) from error
        if batch is None:
            return
        yield pa.Table.from_batches([batch])


def _unreadable(file: Path, error: Exception) -> InputError:
    return InputError(f"cannot read {str(file)!r}: {first_line(error)}.")
