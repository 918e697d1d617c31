"""Tables of the reference, made of what the program registers, so that nothing is missing: ``{registered} effects``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click
from click.testing import CliRunner
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import simcodesign as sc
from simcodesign.cli import app
from simcodesign.core.units import DIMENSIONS, units_with_dimension
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.effects import ladder
from simcodesign.describe.formulas.symbols import SYMBOLS
from simcodesign.describe.schema.key_table import Key, key_table
from simcodesign.describe.schema.key_texts import STEP
from simcodesign.describe.topology.base import TOPOLOGIES

Rows = Iterable[tuple[str, ...]]


def _effects() -> Rows:
    yield "effect", "what it adds", "brings with it"
    for effect in ladder():
        yield f"`{effect.name}`", effect.adds, ", ".join(f"`{name}`" for name in effect.implies)


def _symbols() -> Rows:
    yield "symbol", "meaning", "unit", "of machines in the model"
    for name, symbol in SYMBOLS.items():
        yield f"`{name}`", symbol.meaning, symbol.unit, symbol.model or "every"


def _units() -> Rows:
    yield "dimension", "unit without a name", "units"
    units = units_with_dimension()
    for dimension, base in DIMENSIONS.items():
        names = [f"`{unit}`" for unit, its in units.items() if its == dimension]
        yield dimension.replace("_", " "), f"`{base}`" if base else "", " ".join(names)


def _topologies() -> Rows:
    yield "kind", "what it is"
    for name, kind in sorted(TOPOLOGIES.items()):
        yield f"`{name}`", _first_sentence(kind)


def _algorithms() -> Rows:
    yield "operation", "algorithms"
    for operation, names in sorted(ALGORITHMS.items()):
        yield f"`{operation}`", ", ".join(f"`{name}`" for name in names)


def _shipped(folder: str, load: Callable[[str], Any]) -> Rows:
    yield "name", "what it is", "source"
    for name in sc.available(folder):
        described = load(name)
        yield f"`{name}`", described.about, described.source


def _public_names() -> Rows:
    yield "name", "what it does"
    for name in sc.__all__:
        if name != "__version__":
            yield f"{{py:obj}}`simcodesign.{name}`", _first_sentence(getattr(sc, name))


def _json_commands() -> Rows:
    yield "command", "what it does"
    yield from _with_json(app, click.Context(app), "")


def _with_json(group: click.Group, context: click.Context, before: str) -> Iterator[tuple[str, str]]:
    """Commands of a group, and of groups in it, that have ``--json``."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _with_json(command, click.Context(command), f"{before}{name} ")
        elif command is not None and any("--json" in one.opts for one in command.params):
            yield f"`{before}{name}`", _sentence(command.help or "")


def _sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def _first_sentence(documented: object) -> str:
    return _sentence(documented.__doc__ or "").replace("``", "`")


TABLES: dict[str, Callable[[], Rows]] = {
    "effects": _effects,
    "symbols": _symbols,
    "units": _units,
    "topologies": _topologies,
    "algorithms": _algorithms,
    "machines": lambda: _shipped("machines", sc.load_machine),
    "workloads": lambda: _shipped("workloads", sc.load_workload),
    "public-names": _public_names,
    "json-commands": _json_commands,
}


class Registered(SphinxDirective):
    """The table of this name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        head, *rows = TABLES[self.arguments[0]]()
        lines = [_row(head), _row(("---",) * len(head)), *map(_row, rows)]
        return _parsed(self, lines)


def keys_of(kind: str, section: str) -> list[Key]:
    """The keys of one part of a file, as ``network`` and all below it.

    ``plain``: those of the top that have none below; ``STEP``: those of a block.
    """
    every = key_table(kind)
    if section == "plain":
        inner = {_part(key.path) for key in every if "." in key.path or "[" in key.path}
        return [key for key in every if key.path not in inner and _part(key.path) == key.path]
    if section == STEP:
        demands = {_step(key.path) for key in every if key.path.removeprefix(f"{_step(key.path)}").startswith(".")}
        return [key for key in every if _step(key.path) and _step(key.path) not in demands]
    return [key for key in every if section in (_part(key.path), _step(key.path))]


def _part(path: str) -> str:
    return re.split(r"[.\[]", path)[0]


def _step(path: str) -> str:
    """``STEP.send`` of ``STEP.send.to``; ``STEP`` of the keys of a block, which have no keys of their own."""
    return ".".join(re.split(r"[.\[]", path)[:2]) if path.startswith("STEP.") else ""


class Keys(SphinxDirective):
    """The keys of one part of a kind of file: ``{keys} machine network``."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        kind, section = self.arguments
        found = keys_of(kind, section)
        if not found:
            raise self.error(f"no keys: {kind} {section}")
        rows = [
            (f"`{key.path.removeprefix('STEP.')}`", _linked(key.about), key.values, key.default, key.range)
            for key in found
        ]
        head = ("key", "what it says", "may be", "default", "range")
        return _parsed(self, [_row(head), _row(("---",) * 5), *map(_row, rows)])


def _linked(text: str) -> str:
    """Names of pages as links."""
    text = re.sub(r"docs/([\w-]+)\.md", r"[\1](../\1.md)", text)
    return text.replace("(networks-and-algorithms.md)", "([list](networks-and-algorithms.md))").replace("``", "`")


class JsonKeys(SphinxDirective):
    """The keys of what a command prints with ``--json``, each with an example: it is run."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        done = CliRunner().invoke(app, [*self.arguments[0].split(), "--json"], catch_exceptions=False)
        if done.exit_code:
            raise self.error(done.output)
        rows = _keys(json.loads(done.stdout), "")
        return _parsed(self, ["| key | example |", "|---|---|", *dict.fromkeys(map(_row, rows))])


def _keys(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each key as a path; of a list, its first item stands for all."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _keys(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        yield from _keys(value[0], f"{path}[]")
    else:
        yield f"`{path}`", f"`{json.dumps(value)}`"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    holder = nodes.container()
    directive.state.nested_parse(StringList(lines, "registered"), 0, holder)
    return holder.children


def _without_empty_defaults(_app: Sphinx, _context: object, lines: list[str]) -> None:
    """An option that may be given several times has none by default, of which sphinx-click makes a row of backticks."""
    lines[:] = [
        line for line in lines if line.strip() not in (":default: ````", ":default: ``''``", ":default: ``()``")
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.setup_extension("sphinx_click")  # whose event this is
    app.connect("sphinx-click-process-options", _without_empty_defaults)
    app.add_directive("registered", Registered)
    app.add_directive("json-keys", JsonKeys)
    app.add_directive("keys", Keys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
