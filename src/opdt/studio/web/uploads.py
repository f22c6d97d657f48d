"""Files that a browser sends: counted as they come, kept in the temporary folder, never run."""

from __future__ import annotations

import gzip
import re
import secrets
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nicegui import Client, run, ui
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from opdt.errors import InputError
from opdt.studio.web.security import UPLOADS

TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".pq")
_CHUNK = 1 << 20
_LONGEST_NAME = 120
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

Handler = Callable[[Path, str], Awaitable[None]]
Complaint = Callable[[str], None]


@dataclass
class Uploads:
    """Where uploads go, how large they may be, and who waits for one.

    Attributes
    ----------
    folder : Path
        The temporary folder, which the server removes when it ends.
    limit : int
        Bytes of a file, packed or unpacked.
    """

    folder: Path
    limit: int
    _waiting: dict[str, _Waiting] = field(default_factory=dict)

    def expect(self, endings: tuple[str, ...], handler: Handler, complain: Complaint) -> str:
        """Wait for files for the present page; return the address to send them to."""
        client = ui.context.client
        token = secrets.token_urlsafe(24)
        self._waiting[token] = _Waiting(client, endings, handler, complain)
        client.on_delete(lambda: self._waiting.pop(token, None))
        return UPLOADS + token

    async def receive(self, request: Request) -> Response:
        """Store one file, hand it on, and remove it."""
        waiting = self._waiting.get(request.path_params["token"])
        if waiting is None:
            return PlainTextResponse("That page is closed; open it again.\n", 404)
        name = shown_name(request.query_params.get("name", ""))
        ending = next((end for end in waiting.endings if name.lower().endswith(end)), None)
        if ending is None:
            waiting.say(f"{name!r} is no file that can be opened here; send {_all(waiting)}.")
            return JSONResponse({"done": False})
        with self._stored(ending) as path:
            try:
                with path.open("wb") as file:
                    async for chunk in request.stream():
                        file.write(chunk)
                await run.io_bound(self._check_unpacked, path, name)
            except ClientDisconnect:
                return Response(status_code=400)
            except InputError as error:
                waiting.say(str(error))
                return JSONResponse({"done": False})
            with waiting.client.content:
                await waiting.handler(path, name)
        return JSONResponse({"done": True})

    def too_large(self, name: str, size: float | None = None) -> str:
        """The sentence for a file over the limit."""
        has = "more" if size is None else f"{size / 1e6:,.1f} MB, more"
        needed = max(int((size or 2 * self.limit) / 1e6) + 1, 1)
        return (
            f"{shown_name(name)!r} has {has} than the {self.limit / 1e6:,.0f} MB that may be "
            f"uploaded; restart with 'opdt studio --upload-limit {needed}' to allow it."
        )

    @contextmanager
    def _stored(self, ending: str) -> Iterator[Path]:
        path = self.folder / f"{secrets.token_hex(16)}{ending}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _check_unpacked(self, path: Path, name: str) -> None:
        """Hold what a file unpacks to within the limit: a small file may hold a very large one."""
        with path.open("rb") as file:
            start = file.read(4)
        if start == b"PAR1":
            self._check_parquet(path, name)
        elif start.startswith(b"\x1f\x8b"):
            self._unpack(path, name)

    def _check_parquet(self, path: Path, name: str) -> None:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata

        try:
            known = read_metadata(path)
        except (ArrowException, OSError):
            return  # whoever reads the table says what is wrong with it
        groups = (known.row_group(k) for k in range(known.num_row_groups))
        size = max(
            known.num_rows * known.num_columns, sum(group.total_byte_size for group in groups)
        )
        if size > self.limit:
            raise InputError(self.too_large(name, size))

    def _unpack(self, path: Path, name: str) -> None:
        plain = path.with_suffix(".unpacked")
        try:
            with gzip.open(path) as packed, plain.open("wb") as unpacked:
                while chunk := packed.read(_CHUNK):
                    unpacked.write(chunk)
                    if unpacked.tell() > self.limit:
                        raise InputError(self.too_large(name))
            plain.replace(path)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"cannot unpack {name!r}: {str(error).rstrip('.')}.") from None
        finally:
            plain.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Waiting:
    """A page that waits for a file, and what becomes of the file."""

    client: Client
    endings: tuple[str, ...]
    handler: Handler
    complain: Complaint

    def say(self, sentence: str) -> None:
        with self.client.content:
            self.complain(sentence)


def upload_button(
    uploads: Uploads,
    label: str,
    *,
    testid: str,
    endings: tuple[str, ...],
    handler: Handler,
    complain: Complaint,
    drop: bool = False,
    icon: str = "upload_file",
) -> ui.button:
    """A button that asks for a file and sends it; with `drop`, files may fall anywhere on the page.

    The hidden input has the test id `<testid>-input`.
    """
    url = uploads.expect(endings, handler, complain)
    accept = ",".join(sorted({end[end.rindex(".") :] for end in endings}))
    field = ui.element("input").classes("studio-file")
    field.props["type"] = "file"
    field.props["accept"] = accept
    field.props["tabindex"] = "-1"
    field.props["aria-hidden"] = "true"
    field.props["data-testid"] = f"{testid}-input"
    field.props["data-url"] = url
    field.props["data-limit"] = str(uploads.limit)
    if drop:
        field.props["data-drop"] = "true"

    def refused(event: Any) -> None:
        detail = event.args.get("detail") or {}
        complain(uploads.too_large(str(detail.get("name", "")), detail.get("size")))

    def failed(_: Any) -> None:
        complain("the file did not arrive; check the connection and send it again.")

    field.on("change", js_handler="(event) => studio.send(event.target)")
    field.on("refused", refused, args=["detail"])
    field.on("failed", failed, args=["detail"])
    button = ui.button(label, icon=icon).props("flat no-caps").classes("studio-button")
    button.props["data-testid"] = testid
    button.on("click", js_handler=f"() => getHtmlElement({field.id}).click()")
    return button


def shown_name(name: str) -> str:
    """The last part of a file name, without what could mislead a reader."""
    last = re.split(r"[/\\]", _CONTROL.sub("", name))[-1].strip()
    if len(last) > _LONGEST_NAME:
        last = last[: _LONGEST_NAME // 2] + "…" + last[-_LONGEST_NAME // 2 :]
    return last or "file"


def _all(waiting: _Waiting) -> str:
    return ", ".join(waiting.endings[:-1]) + f" or {waiting.endings[-1]}"
