"""Commands of a page, which are run when the site is built: ``{console}``, and files that they read: ``{file} NAME``.

All blocks of a page share one empty folder. A command that fails fails the build.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH = 80
#: Pictures that commands wrote, beside the pages: Sphinx takes images from its sources alone.
PICTURES = "_pictures"


class File(SphinxDirective):
    """Write this file into the folder of the page, and show it."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        text = "\n".join(self.content) + "\n"
        (_folder(self) / name).write_text(text, encoding="utf-8")
        block = nodes.literal_block(
            text, text, language={".py": "python", ".yaml": "yaml"}.get(Path(name).suffix, "text")
        )
        return [nodes.caption("", "", nodes.literal("", name)), block]


class Console(SphinxDirective):
    """Run each line, which begins with ``$``, and show it with what it prints.

    ``from``: what it prints from the line on that has these words. ``lines``: at most so many lines. ``picture``: a
    file that a command wrote, shown below; ``alt`` says what it shows.
    """

    has_content = True
    option_spec = {  # noqa: RUF012
        "from": directives.unchanged_required,
        "lines": directives.positive_int,
        "picture": directives.unchanged_required,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        folder = _folder(self)
        shown = [line for command in self.content for line in self._run(command.removeprefix("$ "), folder)]
        text = "\n".join(shown)
        block = nodes.literal_block(text, text, language="console")
        return [block, *self._picture(folder)]

    def _run(self, command: str, folder: Path) -> list[str]:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,  # a few seconds, except on a machine that is busy with other work
            env=os.environ | {"COLUMNS": str(WIDTH), "PATH": path},
        )
        if done.returncode:
            raise self.error(f"{command}: exit status {done.returncode}\n{done.stderr}")
        printed = done.stdout.rstrip().splitlines()
        first = self._first(printed)
        last = min(first + self.options.get("lines", len(printed)), len(printed))
        cut = (["..."] if first else [], ["..."] if last < len(printed) else [])
        return [f"$ {command}", *cut[0], *printed[first:last], *cut[1]]

    def _first(self, printed: list[str]) -> int:
        """Return the number of the line at which the shown output begins."""
        if "from" not in self.options:
            return 0
        found = [number for number, line in enumerate(printed) if self.options["from"] in line]
        if not found:
            raise self.error(f"no line has: {self.options['from']}")
        return found[0]

    def _picture(self, folder: Path) -> list[nodes.Node]:
        if "picture" not in self.options:
            return []
        name = f"{self.env.docname.replace('/', '-')}-{self.options['picture']}"
        into = Path(self.env.srcdir) / PICTURES
        into.mkdir(exist_ok=True)
        shutil.copy(folder / self.options["picture"], into / name)
        image = nodes.image(uri=f"/{PICTURES}/{name}", alt=self.options.get("alt", ""))
        return [image]


def _folder(directive: SphinxDirective) -> Path:
    """Return the folder of the page, which its blocks share."""
    held = directive.env.temp_data.setdefault("console_folder", tempfile.TemporaryDirectory())
    return Path(held.name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("console", Console)
    app.add_directive("file", File)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
