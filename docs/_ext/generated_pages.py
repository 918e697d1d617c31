"""Write one page of the reference for each command and for each public name, when a build of the site begins.

The pages are in ``reference/commands`` and ``reference/python`` and are not part of the repository. A page is written
only if its text has changed, so that a further build reads no more than it needs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from sphinx.application import Sphinx

import simcodesign as sc
from simcodesign.cli import app as program

PROGRAM = "simcodesign"
#: Pages that describe more than one public name.
TOGETHER = {"errors": ("SimcodesignError", "InputError", "CapacityError", "DeadlockError"), "rank": ()}
#: Members of a base class that belong on the page of the class.
INHERITED = {"Machine": "Variant"}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its words, ``lesson build``, in alphabetical order."""
    context = click.Context(program)
    for name in sorted(program.list_commands(context)):
        command = program.get_command(context, name)
        assert command is not None
        inner = getattr(command, "commands", {})
        yield from ((f"{name} {word.split()[-1]}", one) for word, one in inner.items())
        if not inner and not command.hidden:
            yield name, command


def __getattr__(name: str) -> click.Command:
    """Return the command ``lesson build`` for the name ``command_lesson_build``, as ``.. click::`` requests it."""
    for words, command in commands():
        if name == f"command_{_slug(words).replace('-', '_')}":
            return command
    raise AttributeError(name)


def command_pages() -> dict[str, str]:
    """Return the text of each command's page by its name: ``lesson-build``."""
    return {
        _slug(words): f".. click:: generated_pages:command_{_slug(words).replace('-', '_')}\n"
        f"   :prog: {PROGRAM} {words}\n   :nested: full\n"
        for words, _ in commands()
    }


def python_pages() -> dict[str, str]:
    """Return the text of each page of the reference of Python by its name: ``Machine``, ``compare``, ``errors``."""
    together = {name for names in TOGETHER.values() for name in names} | {*TOGETHER, "__version__"}
    pages = {name: _headed(name, _described(name)) for name in sc.__all__ if name not in together}
    pages["errors"] = _headed("Errors", "\n".join(_described(name) for name in TOGETHER["errors"]))
    words = f".. automodule:: {sc.rank.__name__}\n   :members:\n   :exclude-members: world\n"
    return pages | {"rank": _headed("Words of programs (rank)", words)}


def _described(name: str) -> str:
    if not isinstance(getattr(sc, name), type):
        return f".. autofunction:: {PROGRAM}.{name}\n"
    inherited = f"   :inherited-members: {INHERITED[name]}\n" if name in INHERITED else ""
    return f".. autoclass:: {PROGRAM}.{name}\n   :members:\n{inherited}"


def _headed(title: str, text: str) -> str:
    return f"{title}\n{'=' * len(title)}\n\n{text}"


def _slug(words: str) -> str:
    return words.replace(" ", "-")


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Write the pages that have changed into ``folder``, and remove the pages of names that are gone."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _write_all(app: Sphinx) -> None:
    reference = Path(app.srcdir) / "reference"
    write_pages(reference / "commands", command_pages())
    write_pages(reference / "python", python_pages())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
