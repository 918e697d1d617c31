"""The application: its commands, each loaded when it is called, and its errors as messages and exit statuses."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simcodesign.cli import commands
from simcodesign.core.errors import SimcodesignError
from simcodesign.core.files.input_files import confine
from simcodesign.core.jit import listeners
from simcodesign.core.registry import import_modules_of
from simcodesign.report.common.terminal import complain, write

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


class _Commands(TyperGroup):
    """The commands, loaded on use, with every error that is not Typer's own made a message and an exit status."""

    def list_commands(self, ctx: Any) -> list[str]:
        import_modules_of(commands.__name__)
        self._read_registered()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            module = cmd_name.replace("-", "_")
            if module in (each.name for each in iter_modules(commands.__path__)):
                import_module(f"{commands.__name__}.{module}")
            else:  # registered by a module of another name, or nowhere: the message then names what comes near
                import_modules_of(commands.__name__)
            self._read_registered()
        return super().get_command(ctx, cmd_name)

    def _read_registered(self) -> None:
        """Read the commands off their functions."""
        self.commands.update(typer.main.get_group(app).commands)

    def invoke(self, ctx: Any) -> object:  # a context of the Click that this release of Typer has
        try:
            return super().invoke(ctx)
        except SimcodesignError as error:
            complain(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _discard_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except MemoryError as error:
            complain(f"error: out of memory{f': {error}' if str(error) else ''}")
            raise typer.Exit(BAD_INPUT) from None
        except OSError as error:
            _discard_output()
            where = f"{error.filename}: " if error.filename else ""
            complain(f"error: {where}{error.strerror or error}")
            raise typer.Exit(BAD_INPUT) from None


def _discard_output() -> None:
    """What standard output does not take goes nowhere: else the interpreter fails with it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    if not _open_streams():
        complain("error: standard output is closed (allowed: a file, a pipe, or /dev/null)")
        return BAD_INPUT
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    warnings.showwarning = _note
    listeners[:] = [_note]
    try:
        _program()(arguments, prog_name="simcodesign")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _open_streams() -> bool:
    """Put the null device in place of closed standard streams, whose numbers files would get; False without output."""
    has_output = sys.stdout is not None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
    # These stay open until the program ends.
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    return has_output


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
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    confined_to: Annotated[
        Path | None,
        typer.Option(
            "--confine",
            metavar="DIR",
            help="Before the command: refuse every file outside DIR that a description names (extends, file, profile, "
            "include, import), for descriptions that others have written.",
        ),
    ] = None,
) -> None:
    """Analytic performance models of parallel machines, compared with a discrete-event simulation."""
    if confined_to is not None:
        context.with_resource(confine(confined_to))
