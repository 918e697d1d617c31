"""Printing: tables and JSON to standard output, complaints to standard error. Light: imported at every start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from simcodesign.core.to_json import to_json

#: Columns where standard output is no terminal and COLUMNS is not set.
PIPE_WIDTH = 120


@dataclass
class Recording:
    """The parts of reports that would have been printed, and the messages to standard error, in their order."""

    parts: list[RenderableType] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


_RECORDING: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recording() -> Iterator[Recording]:
    """Record what is printed to standard output and standard error.

    Standard output instead of printing it; in this context of execution while this lasts.
    """
    token = _RECORDING.set(made := Recording())
    try:
        yield made
    finally:
        _RECORDING.reset(token)


class Printable:
    """A renderable without the control characters that a file or an argument may have smuggled in."""

    def __init__(self, inner: RenderableType) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in segment.text)
            yield segment if segment.control else Segment(text, segment.style)


def print_all(renderables: Iterable[RenderableType]) -> None:
    """To standard output; square brackets and colons are text, never markup. Raises BrokenPipeError."""
    if (recorded := _RECORDING.get()) is not None:
        recorded.parts.extend(renderables)
        return
    write(printed(renderables))


def printed(renderables: Iterable[RenderableType]) -> str:
    """Return the text that ``print_all`` writes."""
    console = Console(markup=False, highlight=False, emoji=False, width=_width(), force_jupyter=False)
    with console.capture() as capture:  # Rich itself would end with status 1 on a broken pipe
        for renderable in renderables:
            console.print(Printable(renderable))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _width() -> int | None:
    """Return the columns of standard output; None for the terminal's own width.

    Rich would use the width of the terminal that standard error or input is, even when output goes to a file.
    """
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return None if sys.stdout.isatty() else PIPE_WIDTH


def write(text: str) -> None:
    """To standard output as it is."""
    if (recorded := _RECORDING.get()) is not None:
        recorded.parts.append(Text(text.rstrip("\n")))
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def write_json(answer: Any) -> None:
    """To standard output as strict JSON, whatever ``to_json`` takes."""
    write(json_text(answer))


def json_text(answer: Any) -> str:
    """As ``write_json`` prints it."""
    return json.dumps(to_json(answer), indent=2, allow_nan=False) + "\n"


def complain(message: str) -> None:
    """To standard error: wrapped on a terminal, one line elsewhere, never shortened and never read as markup.

    If standard error is closed, nothing happens: the exit status still shows the result.
    """
    if (recorded := _RECORDING.get()) is not None:
        recorded.messages.append(message)
    console = Console(stderr=True, highlight=False)
    with suppress(OSError):
        console.print(Printable(Text(message)), soft_wrap=not sys.stderr.isatty())
