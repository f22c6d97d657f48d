"""`opdt studio` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SOCKET = "_nicegui_ws/socket.io/?EIO=4&transport="
PASSWORD = "correct horse battery"
_RUN = "import sys; from opdt.cli import main; sys.argv[0] = 'opdt'; main()"


class Server:
    """A running `opdt studio`."""

    def __init__(self, process: subprocess.Popen[str], url: str, folder: Path) -> None:
        self.process = process
        self.url = url
        self.port = int(url.rstrip("/").rsplit(":", 1)[1])
        self.folder = folder  # where it puts its temporary folder

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=20)


@contextmanager
def running(folder: Path, *arguments: str, password: str | None = None) -> Iterator[Server]:
    """Start the command line on a free port and wait until it says where it is."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    environment.pop("OPDT_STUDIO_PASSWORD", None)
    if password is not None:
        environment["OPDT_STUDIO_PASSWORD"] = password
    with (folder / "stderr.txt").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN, "studio", "--port", "0", "--no-browser", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+/", line)
        assert found, f"no address in {line!r}: {(folder / 'stderr.txt').read_text()}"
        yield Server(process, found[0], temporary)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()


def ask(server: Server, path: str = "", method: str = "GET", **options: Any) -> Any:
    """The answer to a request."""
    import httpx

    return httpx.request(method, server.url + path, timeout=20, **options)


def own_origin(server: Server) -> dict[str, str]:
    """The header by which a page of the server is known."""
    return {"Origin": server.url.rstrip("/")}


def dial(server: Server, **options: Any) -> Any:
    """Open a socket as a page does; its first message names the session."""
    import websocket

    address = server.url.replace("http", "ws") + SOCKET + "websocket"
    return websocket.create_connection(address, timeout=20, **options)
