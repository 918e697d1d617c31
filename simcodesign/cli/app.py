"""The application: its commands, each loaded when it is called, and its errors as messages and exit statuses."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import click
from click.exceptions import Exit

from simcodesign.cli.sections import write_sections
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.files.input_files import allow_programs, confine
from simcodesign.core.registry import import_modules_of, load_entry_points
from simcodesign.report.common.terminal import complain, write

#: The package of the commands, each of which imports this module: they are found by their names.
COMMANDS = f"{__package__}.commands"
#: Commands of other packages.
ENTRY_POINTS = "simcodesign.commands"
#: Objects that are made before garbage among them is looked for.
COLLECTED_AFTER = 20_000
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Every error that is not Click's own becomes a message and an exit status."""
    try:
        yield
    except click.UsageError as error:
        if hint := _how_to_set(error):
            raise click.UsageError(f"{error.format_message().rstrip('.')}. {hint}", error.ctx) from None
        raise
    except SimcodesignError as error:
        complain(f"error: {error}")
        raise Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        raise Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise Exit(BROKEN_PIPE) from None
    except MemoryError as error:
        complain(f"error: out of memory{f': {error}' if str(error) else ''}")
        raise Exit(BAD_INPUT) from None
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        complain(f"error: {where}{error.strerror or error}")
        raise Exit(BAD_INPUT) from None


def _how_to_set(error: click.UsageError) -> str:
    """Correct form of ``n=200`` and ``-p n=200``, as other programs have it, if a command sets values."""
    takes_values = error.ctx is not None and any("--set" in one.opts for one in error.ctx.command.params)
    is_guess = getattr(error, "option_name", "") in ("-p", "--param", "--parameter") or (
        "extra argument" in error.message and "=" in error.message
    )
    return "Values are set with --set NAME=VALUE." if takes_values and is_guess else ""


def _discard_output() -> None:
    """Discard output that standard output does not accept: otherwise the interpreter fails with it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Commands(click.Group):
    """The commands, loaded on use: of this package and, by their entry points, of others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        import_modules_of(COMMANDS)
        load_entry_points(ENTRY_POINTS)
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = cmd_name.replace("-", "_")
        for module in walk_packages([str(Path(__file__).with_name("commands"))], f"{COMMANDS}."):
            last = module.name.rpartition(".")[2]
            if last == own or own in last.split("_"):  # a module of several is called by all of them
                import_module(module.name)
        if cmd_name not in self.commands:  # registered by a module of another name
            import_modules_of(COMMANDS)
        if cmd_name not in self.commands:  # of another package, or nowhere: the message then names what comes near
            load_entry_points(ENTRY_POINTS)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        commands = ((name, self.get_command(ctx, name)) for name in names)
        write_sections(formatter, ((name, one) for name, one in commands if one is not None))

    def make_context(self, *arguments: Any, **keywords: Any) -> click.Context:
        with _errors_as_messages():
            return super().make_context(*arguments, **keywords)

    def invoke(self, ctx: click.Context) -> object:
        with _errors_as_messages():
            return super().invoke(ctx)


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from simcodesign import __version__  # looked up in the metadata of the installation, which takes its time

        write(f"{__version__}\n")
        raise Exit


@click.group("simcodesign", cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option(
    "--confine",
    "confined_to",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Before the command: refuse every file outside DIR that a description names (extends, file, profile, include, "
    "import), for descriptions that others have written.",
)
@click.option(
    "--programs",
    is_flag=True,
    help="Before the command: execute programs in Python that a lesson or a study names as its workload. Without this "
    "option, such a lesson or study is refused; a program that the command itself names is always executed.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Before the command: let a simulation take this much memory, for example 40GB (default: 70 % of physical "
    "memory, or of a lower limit of the control group or of ulimit -v).",
)
@click.pass_context
def app(context: click.Context, confined_to: Path | None, programs: bool, memory: str | None) -> None:
    """Analytic performance models of parallel machines, compared with a discrete-event simulation."""
    if confined_to is not None:
        context.with_resource(confine(confined_to))
    if programs:
        context.with_resource(allow_programs())
    if memory is not None:
        from simcodesign.core.memory_limit import allow_memory
        from simcodesign.core.units import parse_quantity

        size_bytes = parse_quantity(memory, "size", Place("--memory"))
        if not size_bytes > 0:
            raise InputError("not a size", Place("--memory"), value=memory, allowed="above 0, for example 40GB")
        context.with_resource(allow_memory(size_bytes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the program; the exit status."""
    if not _open_streams():
        complain("error: standard output is closed (allowed: a file, a pipe, or /dev/null)")
        return BAD_INPUT
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    # Imports make objects that stay: looking for garbage among them a hundred times takes a tenth of a small command.
    gc.set_threshold(max(gc.get_threshold()[0], COLLECTED_AFTER), *gc.get_threshold()[1:])
    warnings.showwarning = _note
    try:
        app.main(arguments, prog_name="simcodesign")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _open_streams() -> bool:
    """Put the null device instead of closed standard streams, whose numbers files would get; False without output."""
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


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of the package, without the line of code that Python would show."""
    complain(f"note: {message}")
