"""`opdt studio`: the workbench in the browser."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from opdt.cli.option_groups import spread

SAFETY = "Who may use it"


@dataclass(frozen=True)
class SafetyOptions:
    """Who may use the page."""

    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; any but this machine's own needs a password: "
            "OPDT_STUDIO_PASSWORD, or you are asked for one.",
            rich_help_panel=SAFETY,
        ),
    ] = "127.0.0.1"
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Further name under which browsers reach this machine; may be repeated.",
            rich_help_panel=SAFETY,
        ),
    ] = None
    upload_limit: Annotated[
        int,
        typer.Option(metavar="MB", min=1, help="Largest file to upload.", rich_help_panel=SAFETY),
    ] = 200


@spread
def studio(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="CSV, TSV or Parquet file to begin with."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that holds the class of each row."),
    ] = None,
    *,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=65535, help="Port to listen on (8765, else any free one)."
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open nothing.")
    ] = False,
    safety: SafetyOptions,
) -> None:
    """Open a page on which you say what you know and watch the best rule change.

    Nothing leaves this machine: the page needs no network, and the data stay in memory.
    """
    from opdt.studio.web.app import ServerSettings, is_loopback, serve

    if target is not None and data is None:
        raise typer.BadParameter("'--target' names a column of DATA; give the file too.")
    settings = ServerSettings(
        host=safety.host,
        port=port,
        file=None if data is None else _existing(data),
        target=target,
        password=_password(safety.host),
        names=tuple(safety.name or ()),
        upload_limit=safety.upload_limit * 1_000_000,
    )

    def ready(url: str) -> None:
        typer.echo(f"opdt Studio is at {url} (end with Ctrl-C)")
        if not is_loopback(safety.host):
            _warn(url)
        if not no_browser:
            _open(url)

    serve(settings, ready)


def _existing(data: Path) -> Path:
    from opdt.errors import InputError

    if not data.is_file():
        raise InputError(f"there is no file {str(data)!r}.")
    return data.resolve()


def _password(host: str) -> str | None:
    """The password from the environment, or asked for where others can reach the address."""
    from opdt.studio.web.app import PASSWORD, is_loopback

    # Taken out, so that no process started from here inherits it.
    given = os.environ.pop(PASSWORD, None)
    if given or is_loopback(host) or not sys.stdin.isatty():
        return given or None
    asked: str = typer.prompt("Password for the Studio", hide_input=True, confirmation_prompt=True)
    return asked


def _warn(url: str) -> None:
    """Say what a network may see."""
    import socket

    from opdt.cli.console import stderr

    port = url.rstrip("/").rsplit(":", 1)[1]
    stderr().print(
        f"note: other machines reach it at http://{socket.gethostname()}:{port}/; the password "
        "and the data cross the network as they are unless a proxy adds TLS.",
        style="yellow",
        soft_wrap=True,
    )


def _open(url: str) -> None:
    """Open the browser without waiting for it."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
