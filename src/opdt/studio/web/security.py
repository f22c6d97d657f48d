"""What stands before every request: names, origins, the login, sizes and headers.

::

    Host      a name this server goes by; another one is a page of a stranger that had its name
              point to this machine (DNS rebinding)
    Origin    where there is one it is the page's own; a socket and a change must have one
    login     when there is a password, nothing but the login page is served without it
    size      counted while a body arrives, whatever its header says
    headers   no other site may be loaded, frame the page or read from it
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opdt.studio.web.login import Gate

UPLOADS = "/upload/"
# What a page sends is events: a megabyte is what its socket takes, and the rest is room.
_SMALL_BODY = 2 << 20
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# NiceGUI compiles templates in the browser and writes scripts into the page, hence the two words
# in quotes; that nothing of the data becomes a script is the page's own task.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-src 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # "no-referrer" would take the origin from forms, too
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def names_of(host: str, further: Iterable[str] = (), *, local: bool) -> frozenset[str]:
    """Names by which a browser may call a server that listens on `host`.

    Addresses need not be among them: no one can make an address point elsewhere.
    """
    names = {"localhost", host.lower(), *(name.lower() for name in further)}
    if not local:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


class _TooLarge(Exception):
    """More bytes have come than may."""


class _Counted:
    """The body of a request, which ends with `_TooLarge` once it is over the limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit

    @property
    def is_over(self) -> bool:
        """Whether more has come than may."""
        return self._left < 0

    async def __call__(self) -> Message:
        """The next part."""
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self.is_over:
            raise _TooLarge
        return message


class Guard:
    """The outermost application: lets through what may pass, and answers the rest itself.

    Parameters
    ----------
    app : ASGI application
    names : frozenset of str
        What the Host of a request may be, without its port; see `names_of`.
    local : bool
        Whether the server listens on this machine alone; then no other address may be named.
    gate : Gate or None
        The login; None lets everyone in.
    upload_limit : int
        Bytes of an upload.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: frozenset[str],
        local: bool,
        gate: Gate | None,
        upload_limit: int,
    ) -> None:
        self.app = app
        self._names = names
        self._local = local
        self._gate = gate
        self._upload_limit = upload_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, a socket or the start and end of the server."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        send = send if scope["type"] == "websocket" else _with_headers(send)
        if refusal := self._refusal(scope, headers):
            await _refuse(*refusal, scope, receive, send)
        elif self._gate is not None and not self._gate.admits(headers):
            await self._turn_away(self._gate, scope, receive, send)
        elif self._gate is not None and scope["path"] in self._gate.paths:
            await self._gate(scope, receive, send)
        else:
            await self._pass(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Status and sentence for a request that must not pass, else None."""
        host = headers.get("host", "")
        if not self._knows(host):
            return 400, "This Studio does not go by that name; see 'opdt studio --help'."
        origin = headers.get("origin")
        if origin is not None:
            if urlsplit(origin).netloc.lower() != host.lower():
                return 403, "Another page may not use this Studio."
        elif scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS:
            return 403, "A browser must say from which page a request comes."
        elif _is_foreign(headers):
            return 403, "Another page may not use this Studio."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limit(scope["path"]):
            return 413, self._too_large(scope["path"])
        return None

    def _knows(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._local

    async def _turn_away(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        """Who is not logged in sees the login page alone."""
        if scope["type"] == "http" and scope["path"] in gate.paths:
            await gate(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET":
            await gate.redirect(scope, receive, send)
        else:
            await _refuse(401, "Log in first.", scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Nobody stands before this server, so nobody may say on whose behalf or under which path.
        scope["headers"] = [
            pair for pair in scope["headers"] if not pair[0].lower().startswith(b"x-forwarded-")
        ]
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        counted = _Counted(receive, self._limit(scope["path"]))
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            # What the application says of the interruption is not what should be said.
            if started or not counted.is_over:
                started = True
                await send(message)

        try:
            await self.app(scope, counted, watched)
        except _TooLarge:
            if not started:
                await _refuse(413, self._too_large(scope["path"]), scope, receive, send)

    def _limit(self, path: str) -> int:
        return self._upload_limit if path.startswith(UPLOADS) else _SMALL_BODY

    def _too_large(self, path: str) -> str:
        return f"A file may have {self._limit(path) / 1e6:,.0f} MB here, and this one has more."


def _is_foreign(headers: Headers) -> bool:
    """Whether another site's page asks for a part of this one; a link to the page is welcome."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    return headers.get("sec-fetch-mode") != "navigate"


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sent


async def _refuse(status: int, sentence: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": sentence})
        return
    answer = PlainTextResponse(f"{sentence}\n", status, {"Cache-Control": "no-store"})
    await answer(scope, receive, send)
