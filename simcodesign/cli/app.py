"""The application: its errors turned into messages and exit statuses."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simcodesign.core.errors import SimcodesignError
from simcodesign.report.common.terminal import complain, write

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


class _Commands(TyperGroup):
    """The commands, with every error that is not Typer's own turned into a message and an exit status."""

    def invoke(self, ctx: Any) -> object:  # a context of the Click that this release of Typer has
        try:
            return super().invoke(ctx)
        except SimcodesignError as error:
            complain(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Else the interpreter complains when it flushes standard output at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            complain(f"error: {where}{error.strerror or error}")
            raise typer.Exit(BAD_INPUT) from None


app = typer.Typer(
    name="simcodesign",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the program; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    warnings.showwarning = _note
    try:
        _program()(arguments, prog_name="simcodesign")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


@cache
def _program() -> Callable[..., object]:
    """All commands, read off their functions once."""
    return typer.main.get_command(app)


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """A warning of the package, without the line of code that Python would show."""
    complain(f"note: {message}")


def _print_version(wanted: bool) -> None:
    if wanted:
        from simcodesign import __version__  # looked up in the metadata of the installation, which takes its time

        write(f"{__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Analytic performance models of parallel machines, compared with a discrete-event simulation."""
