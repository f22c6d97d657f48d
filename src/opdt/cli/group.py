"""One sentence for every error, and the exit codes."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from opdt.errors import EngineFailure, OpdtError

BUG, BAD_INPUT, NO_RULE, INTERRUPTED = 1, 2, 3, 130

_REPORT = "This is a bug; please report it with what 'opdt --debug …' shows."


class Group(TyperGroup):
    """The commands; each returns its exit code (None is 0), and errors become one sentence."""

    debug: ClassVar[bool] = False

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and exit."""
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except EngineFailure as error:
            if self.debug:
                raise
            code = complain(f"{error} {_REPORT}", BUG)
        except OpdtError as error:
            code = complain(getattr(error, "for_terminal", str(error)), BAD_INPUT)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except OSError as error:
            where = f" {str(error.filename)!r}" if error.filename else ""
            code = complain(f"cannot use the file{where}: {error.strerror}.", BAD_INPUT)
        except Exception as error:
            # What the command line itself finds wrong has a `format_message` of its own.
            if hasattr(error, "format_message"):
                code = complain(_usage(error), BAD_INPUT)
            elif self.debug:
                raise
            else:
                code = complain(f"{type(error).__name__}: {_one_line(error)}. {_REPORT}", BUG)
        sys.exit(code or 0)


def complain(sentence: str, code: int) -> int:
    """Write one sentence to the standard error and return the exit code."""
    from opdt.cli.console import stderr

    stderr().print(sentence, style="red", soft_wrap=True)
    return code


def examples(*commands: str) -> str:
    """The end of a help text: commands to copy."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    return "\n".join([title, *(f"$ {command}" for command in commands)])


def _usage(error: Any) -> str:
    message = error.format_message().rstrip(".")
    path = error.ctx.command_path if getattr(error, "ctx", None) else "opdt"
    return f"{message}; see '{path} --help'."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or "no message"
