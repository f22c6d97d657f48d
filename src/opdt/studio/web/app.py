"""The server: one process, one address, one temporary folder, and a clean end."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opdt.errors import EngineUnavailable, InputError
from opdt.studio.web.memory import hold_little

PASSWORD = "OPDT_STUDIO_PASSWORD"
PORT = 8765
UPLOAD_LIMIT = 200_000_000  # bytes
GRACE = 120.0  # seconds for which a closed tab can be opened again
# A browser that lost its connection has so many seconds to come back to the very same page.
_RECONNECT = 5.0
# A page on a busy machine may be slow to answer; one that is closed says so at once.
_PATIENCE = 30.0


@dataclass(frozen=True)
class ServerSettings:
    """What a server is told at its start.

    Attributes
    ----------
    host, port : str, int or None
        Where to listen; None is `PORT`, or any free port where that one is taken.
    file : Path or None
        Data that every new tab shows.
    target : str or None
        The column of `file` that holds the class of each row.
    password : str or None
        Asked of everyone; without one only this machine may be listened to.
    names : tuple of str
        Further names under which browsers reach the server.
    upload_limit : int
        Bytes of an upload.
    grace : float
        Seconds for which the session of a closed tab is kept.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    file: Path | None = None
    target: str | None = None
    password: str | None = None
    names: tuple[str, ...] = ()
    upload_limit: int = UPLOAD_LIMIT
    grace: float = GRACE


def serve(settings: ServerSettings, ready: Callable[[str], None]) -> None:
    """Run the Studio until Ctrl-C.

    Parameters
    ----------
    settings : ServerSettings
    ready : callable
        Called once with the address, when pages can be opened.
    """
    if settings.password is None and not is_loopback(settings.host):
        raise InputError(
            f"'--host' {settings.host!r} can be reached from other machines and needs a password; "
            f"set {PASSWORD}."
        )
    hold_little()
    with _temporary_folder() as folder, _listening(settings.host, settings.port) as listener:
        try:
            application = _application(settings, folder, listener.getsockname()[1])
        except ModuleNotFoundError as error:
            raise EngineUnavailable(
                f"opdt studio needs {error.name}; run: pip install 'opdt[studio]'"
            ) from error
        url = _address(settings.host, listener.getsockname()[1])
        _run(application, listener, lambda: ready(url))


def _application(settings: ServerSettings, folder: Path, port: int) -> Any:
    """The application behind its guard; NiceGUI is imported here and nowhere earlier."""
    # Read by NiceGUI when it is imported: it must not leave a folder where the user happens to be.
    os.environ["NICEGUI_STORAGE_PATH"] = str(folder)
    from fastapi import FastAPI
    from nicegui import core, ui

    from opdt.studio.web.login import Gate
    from opdt.studio.web.security import UPLOADS, Guard, names_of
    from opdt.studio.web.tabs import Tabs
    from opdt.studio.web.theme import serve_static
    from opdt.studio.web.uploads import Uploads

    local = is_loopback(settings.host)
    gate = None if settings.password is None else Gate(settings.password, port)
    uploads = Uploads(folder, settings.upload_limit)
    tabs = Tabs(settings, uploads, gate)
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    outer.add_api_route(UPLOADS + "{token}", uploads.receive, methods=["POST"])
    serve_static()
    ui.page("/", response_timeout=30)(tabs.build)
    core.app.on_startup(_be_patient)
    core.app.on_startup(tabs.warm_up)
    core.app.on_shutdown(tabs.close)
    # The guard has looked at the origin; this says the same to those who bypass it.
    core.sio.eio.cors_allowed_origins = []
    ui.run_with(
        outer,
        title="opdt Studio",
        language="en-GB",
        dark=None,
        tailwind=False,
        reconnect_timeout=_RECONNECT,
        show_welcome_message=False,
    )
    return Guard(
        outer,
        names=names_of(settings.host, settings.names, local=local),
        local=local,
        gate=gate,
        upload_limit=settings.upload_limit,
    )


def _be_patient() -> None:
    """Give pages longer to answer than NiceGUI would; it sets its own limit just before this."""
    from nicegui import core

    core.sio.eio.ping_timeout = _PATIENCE


def _run(application: Any, listener: socket.socket, ready: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        application,
        log_level="warning",
        ws="wsproto",
        ws_max_size=2 << 20,
        # What a proxy would say of an address is what anyone could say of theirs.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = Server(config)
    with _ending(server):
        server.run(sockets=[listener])


@contextmanager
def _ending(server: Any) -> Iterator[None]:
    """End the server cleanly, whichever signal asks for it.

    The server itself ends at Ctrl-C and at SIGTERM, and then raises the signal again.
    """

    def leave(*_: Any) -> None:
        server.should_exit = True

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handlers = {signal.SIGTERM: interrupt}
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = leave
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for this process alone, and for whatever else in it writes temporary files."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="opdt-studio-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before


@contextmanager
def _listening(host: str, port: int | None) -> Iterator[socket.socket]:
    """A socket that listens, so that a taken port is found before anything is started."""
    tried = (PORT, 0) if port is None else (port,)
    for number in tried:
        try:
            family = socket.getaddrinfo(host.strip("[]"), number, type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server((host.strip("[]"), number), family=family)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            sentence = f"cannot listen on {host!r}, port {number}: {reason}; choose another."
            continue
        with listener:
            yield listener
        return
    raise InputError(sentence)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address `host`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _address(host: str, port: int) -> str:
    """What to open in a browser on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name and not name.startswith('[') else name}:{port}/"
