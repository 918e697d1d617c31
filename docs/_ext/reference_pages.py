"""Tables of the reference, made of what the program registers, so that nothing is missing: ``{registered} effects``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from docutils import nodes
from docutils.statemachine import StringList
from generated_pages import commands
from json_fields import JsonObject, read_objects
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import simcodesign as sc
from simcodesign.analytic.longest_path.event_graph import MOST_OPERATIONS
from simcodesign.analytic.machine_metrics import CARBON, OWNERSHIP_COST, RUN_COST
from simcodesign.cli import app
from simcodesign.cli.sections import Heading
from simcodesign.core.units import DIMENSIONS, units_with_dimension
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.design_point import MOST_RANKS
from simcodesign.describe.effects import ladder
from simcodesign.describe.formulas.symbols import SYMBOLS
from simcodesign.describe.python_programs.recording import MOST_YIELDED
from simcodesign.describe.schema.key_table import STEP, KeyRow, key_table
from simcodesign.describe.topology.base import MAX_HOSTS, TOPOLOGIES
from simcodesign.describe.topology.graph import MAX_VERTICES
from simcodesign.describe.yaml.tree import MAX_BYTES
from simcodesign.engine.failure_time import MOST_FAILURES
from simcodesign.lab.asked import MOST_RANKS as MOST_LAB_RANKS
from simcodesign.studies.explore.metric_meanings import meaning_of
from simcodesign.studies.explore.models import aspen_model, machine_model, native_model
from simcodesign.studies.explore.models.serving_metrics import SERVING_METRICS
from simcodesign.studies.replication.stopping import LIMIT as MOST_REPLICATIONS
from simcodesign.studies.sweep.design.grid import MOST_POINTS
from simcodesign.studies.sweep.design.ranges import MOST_VALUES

Rows = Iterable[tuple[str, ...]]


def _effects() -> Rows:
    yield "effect", "what it adds", "brings with it"
    for effect in ladder():
        yield f"`{effect.name}`", effect.adds, ", ".join(f"`{name}`" for name in effect.implies)


def _symbols() -> Rows:
    yield "symbol", "meaning", "unit", "of machines in the model", "for example"
    machines = [sc.Machine.load(name) for name in sorted(sc.bundled()["machines"], key="torus-cluster".__ne__)]
    for name, symbol in SYMBOLS.items():
        having = next((one for one in machines if symbol.path in one.constants()), None)
        example = f"{symbol.value(having.constants()):g} on {having.name}" if having else ""
        yield f"`{name}`", symbol.meaning, symbol.unit, symbol.model or "every", example


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
    for name in sc.bundled()[folder]:
        described = load(name)
        yield f"`{name}`", described.about, described.source


def _public_names() -> Rows:
    yield "name", "what it does"
    for name in sc.__all__:
        if name != "__version__":
            yield f"{{py:obj}}`~simcodesign.{name}`", _first_sentence(getattr(sc, name))
    for name in sc.rank.__all__:
        yield f"{{py:obj}}`rank.{name} <{sc.rank.__name__}.{name}>`", _first_sentence(getattr(sc.rank, name))


def _commands() -> Rows:
    yield "command", "what it does"
    for words, command in commands():
        yield f"[`{words}`](commands/{words.replace(' ', '-')}.rst)", _sentence(command.help or "")


def _written_files() -> Rows:
    yield "word", "of", "suffixes", "what is written"
    of: dict[tuple[str, str, str], list[str]] = {}
    for words, command in commands():
        outputs = getattr(command, "outputs", None)
        for one in outputs.outputs.values() if outputs else ():
            of.setdefault((one.word, one.names, one.about), []).append(f"`{words}`")
    for word, suffixes, about in sorted(of):
        yield f"`{word}`", ", ".join(of[word, suffixes, about]), " ".join(f"`{one}`" for one in suffixes.split()), about


#: Units of metrics that no table of units has.
_UNITS_OF_METRICS = {"carbon": "kg", "embodied_carbon": "kg", "die_area": "m2"}


def _metrics(*names: str, **dimensions: str) -> Callable[[], Rows]:
    """Return the table of metrics with these dimensions; ``names`` are counts or have a unit of their own."""

    def rows() -> Rows:
        yield "metric", "unit", "what it is"
        for name, dimension in {**dimensions, **dict.fromkeys(names, "count")}.items():
            yield f"`{name}`", _UNITS_OF_METRICS.get(name, DIMENSIONS.get(dimension, "")), meaning_of(name)

    return rows


def _limits() -> Rows:
    yield "what", "at most"
    yield "ranks of a design point", f"{MOST_RANKS:,}"
    yield "hosts of a topology; vertices of a graph from a file", f"{MAX_HOSTS:,}; {MAX_VERTICES:,}"
    yield "operations that a program in Python may yield", f"{MOST_YIELDED:,}"
    yield "operations of programs whose ranks differ, in the longest path of a forecast", f"{MOST_OPERATIONS:,}"
    yield "points of a sweep; values of an axis", f"{MOST_POINTS:,}; {MOST_VALUES:,}"
    yield "bytes of a machine or workload file", f"{MAX_BYTES:,}"
    yield "failures of one simulated run", f"{MOST_FAILURES:,}"
    yield "replications", f"{MOST_REPLICATIONS:,}"
    yield "ranks in the laboratory (`simcodesign lab`)", f"{MOST_LAB_RANKS:,}"


def _json_commands() -> Rows:
    yield "command", "what it does", "what it prints"
    objects, commands = read_objects()
    for name, kind in commands.items():
        yield f"`{name}`", _sentence(_command(name.partition(" --")[0]).help or ""), _type_text(kind, objects)


def _command(name: str) -> click.Command:
    """Return the command of one word or two."""
    found: click.Command = app
    for word in name.split():
        found = found.get_command(click.Context(found), word)  # type: ignore[attr-defined]
    return found


def _sentence(text: str) -> str:
    # The full stop of an initial, as in "F. Petrini", or of "et al." ends no sentence.
    return re.split(r"(?<!\b[A-Z])(?<!\bal)\. ", " ".join(text.split("\n\n")[0].split()))[0].rstrip(".")


def _first_sentence(documented: object) -> str:
    return _sentence(documented.__doc__ or "").replace("``", "`")


TABLES: dict[str, Callable[[], Rows]] = {
    "effects": _effects,
    "symbols": _symbols,
    "units": _units,
    "topologies": _topologies,
    "algorithms": _algorithms,
    "machines": lambda: _shipped("machines", sc.Machine.load),
    "workloads": lambda: _shipped("workloads", sc.Workload.load),
    "public-names": _public_names,
    "commands": _commands,
    "written-files": _written_files,
    "json-commands": _json_commands,
    "limits": _limits,
    "metrics-of-workloads": _metrics(
        *(OWNERSHIP_COST, RUN_COST, CARBON, "slowdown"),
        **native_model.METRICS,
        **dict.fromkeys(("footprint", "capacity", "accelerator_footprint", "accelerator_capacity"), "size"),
        energy="energy",
        peak_power="power",
        failures="count",
        time_with_failures="time",
        **native_model.LIMITED,
        **native_model.PROCESSOR_LIMITED,
    ),
    "metrics-of-servers": _metrics(**SERVING_METRICS),
    "metrics-of-machines": _metrics(
        *("rack_units", "die_area", "price", "embodied_carbon", OWNERSHIP_COST),
        **machine_model.MACHINE_METRICS,
        static_power="power",
        full_power="power",
    ),
    "metrics-of-aspen-models": _metrics(**aspen_model.METRICS),
}


class Registered(SphinxDirective):
    """The table of this name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        head, *rows = TABLES[self.arguments[0]]()
        lines = [_row(head), _row(("---",) * len(head)), *map(_row, rows)]
        return _parsed(self, lines)


def keys_of(kind: str, section: str) -> list[KeyRow]:
    """Return the keys of one part of a file, as ``network`` and all below it.

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


class JsonObjects(SphinxDirective):
    """The fields of every object that commands print, a section for each."""

    def run(self) -> list[nodes.Node]:
        objects, _ = read_objects()
        return [self._section(one, objects) for one in objects.values() if one.is_printed]

    def _section(self, one: JsonObject, objects: Mapping[str, JsonObject]) -> nodes.Node:
        anchor = _anchor(one.name)
        section = nodes.section("", nodes.title("", one.name), ids=[anchor], names=[anchor])
        section += nodes.paragraph("", one.about.replace("`", ""))
        head = ("field", "type", "unit", "what it is")
        rows = [
            (
                f"`{field.name}`" + ("" if field.always else " *"),
                _type_text(field.type_text, objects),
                field.unit,
                field.meaning,
            )
            for field in one.fields.values()
        ]
        section += _parsed(self, [_row(head), _row(("---",) * len(head)), *map(_row, rows)])
        self.state.document.note_explicit_target(section)
        return section


def _type_text(text: str, objects: Mapping[str, JsonObject]) -> str:
    """With links to the objects that it names."""

    def linked(found: re.Match[str]) -> str:
        return f"{{ref}}`{found[0]} <{_anchor(found[0])}>`" if found[0] in objects else found[0]

    return re.sub(r"[A-Z]\w+", linked, text)


def _anchor(name: str) -> str:
    return f"json-{name.lower()}"


def _row(cells: Iterable[str]) -> str:
    """Cells with nothing to say have a dash."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") or "\N{EN DASH}" for cell in cells) + " |"


def _parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    holder = nodes.container()
    directive.state.nested_parse(StringList(lines, "registered"), 0, holder)
    return holder.children


def _readable_defaults(_app: Sphinx, _context: object, lines: list[str]) -> None:
    """As they are written at the command line. A flag, and an option that may be given several times, have none."""
    lines[:] = [
        re.sub(r"(:default: ``)(?:\w+Path\()?'(.*)'\)?``", r"\1\2``", line)
        for line in lines
        if line.strip() not in {f":default: ``{value}``" for value in ("", "''", "()", "False", "Sentinel.UNSET")}
    ]


def _grouped_options(_app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Put options under the headings that ``--help`` has, if the command has groups of options."""
    options = (one for one in context.command.params if isinstance(one, click.Option) and not one.hidden)
    heading_of = getattr(context.command, "heading_of", lambda _: None)
    blocks: dict[Heading, list[str]] = {heading: [] for heading in Heading}
    block: list[str] = []
    for line in lines:
        if line.startswith(".. option::"):
            if not (heading := heading_of(next(options))):
                return
            block = blocks[heading]
        block.append(line)
    if any(blocks.values()):
        lines[:] = [
            line for heading, block in blocks.items() if block for line in (f".. rubric:: {heading.value}", "", *block)
        ]


def _readable_signature(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, *texts: str | None
) -> tuple[str | None, ...]:
    """Defaults that are objects, or made anew each time, are ``...``; docstrings say what they are."""
    return tuple(
        text
        and re.sub(
            r"<factory>|frozenset\(\)|(?:(?<==)|(?<== ))[A-Z]\w*\((?:[^()]|\([^()]*\))*\)|<[^<>]* object[^<>]*>",
            "...",
            text,
        )
        for text in texts
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.setup_extension("sphinx_click")  # whose event this is
    app.connect("sphinx-click-process-options", _readable_defaults)
    app.connect("sphinx-click-process-options", _grouped_options)
    app.connect("autodoc-process-signature", _readable_signature)
    app.add_directive("registered", Registered)
    app.add_directive("json-objects", JsonObjects)
    app.add_directive("keys", Keys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
