"""The command `opdt`."""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit with its code."""
    from opdt.cli.app import app

    app(prog_name="opdt")


__all__ = ["main"]
