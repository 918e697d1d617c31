"""Formulas of what a network is built of: keys of its topology, and its rails, over parameters of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, FileIn
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import COUNTS, PREFIX, Custom, evaluated
from simcodesign.describe.yaml.constants import formula_over
from simcodesign.describe.yaml.network import network_from, nodes_by_ranks, topology_section
from simcodesign.describe.yaml.tree import Entry

#: The paths in ``network`` that may be formulas.
_TOPOLOGY, _RAILS = "topology", "rails"


@dataclass(frozen=True)
class TopologyFormulas:
    """The part ``network`` of a machine file, some keys of which are formulas.

    ``entry``: with these formulas, and numbers instead of all others; ``folder``: of the files that it names;
    ``formulas``: by path in the part and place in a list (-1 outside of one).
    """

    entry: Entry
    folder: Path
    parameters: frozenset[str]
    formulas: Mapping[tuple[str, int], Expression]

    def rebuilt(self, machine: Machine) -> Machine:
        """Return the machine with the topology and rails that its parameters give now, and with all else as it is.

        Raises InputError for parameters that are arrays, and for a network that cannot be.
        """
        entry = self.evaluated(machine.custom, _counts_of(machine))
        follows = machine.nodes_by_ranks
        if follows is not None:
            follows = nodes_by_ranks(entry, follows.shared_disk, self.folder)
        built = network_from(entry, follows or machine.nodes, self.folder)
        interfaces = replace(machine.network.interfaces, count=built.interfaces.count)
        network = replace(machine.network, topology=built.topology, rails=built.rails, interfaces=interfaces)
        return replace(machine, network=network, nodes_by_ranks=follows)

    def evaluated(self, custom: Custom, counts: Mapping[str, FloatOrArray]) -> Entry:
        """Return the entry with numbers instead of its formulas."""
        names = custom.names(counts, custom.names_over(counts))
        for name in sorted(self.parameters):
            if np.ndim(names[name]):
                what = f"{PREFIX}{name} shapes the network, so that it cannot be an array"
                raise InputError(what, self.entry.place, value=names[name], allowed="one number; explore or sweep")

        def read(path: str, entry: Entry, at: int = -1) -> Entry:
            if isinstance(entry.content, list):
                return replace(entry, content=[read(path, item, at) for at, item in enumerate(entry.content)])
            formula = self.formulas.get((path, at))
            if formula is None:
                return entry
            value = float(evaluated(formula, names, formula.text, entry.place))
            return replace(entry, content=_number_text(value), plain=True)

        return _with_structure(self.entry, {path: read(path, item) for path, item in _structure(self.entry).items()})


def topology_formulas(
    entry: Entry, custom: Custom, counts: Mapping[str, FloatOrArray], folder: Path
) -> TopologyFormulas | None:
    """Return the formulas of the part ``network`` of a machine file; None if it has none.

    They use parameters, ``counts`` and the properties that do not depend on the network. Raises InputError for other
    names.
    """
    known = custom.names_over(counts)
    after = {*custom.properties, *custom.network_counts} - known
    for _, item in _scalars(entry):
        if isinstance(item.content, str) and item.content in after:
            raise item.error("it follows from the network, and cannot shape it", nearest(str(item.content), known))
    formulas = {where: formula for where, item in _scalars(entry) if (formula := formula_over(item, known)) is not None}
    if not formulas:
        return None
    used = set[str]().union(*(one.names for one in formulas.values()))
    for name in reversed(custom.order):  # a property comes after those that it depends on
        if name in used:
            used |= custom.properties[name].names
    return TopologyFormulas(entry, folder, frozenset(used & custom.parameters.keys()), formulas)


def _counts_of(machine: Machine) -> dict[str, FloatOrArray]:
    return {name: value for name, value in machine.counts().items() if name in COUNTS}


def _structure(entry: Entry) -> dict[str, Entry]:
    """Return the entries that may be formulas, or lists of them, by their paths in ``network``.

    Anything that is no word or file.
    """
    if not isinstance(entry.content, dict):
        return {}
    found = {_RAILS: entry.content[_RAILS]} if _RAILS in entry.content else {}
    topology = entry.content.get(_TOPOLOGY)
    if topology is None or not isinstance(topology.content, dict):
        return found
    keys = topology_section().by_name
    for name, item in topology.content.items():
        if name in keys and not isinstance(keys[name].form, Choice | FileIn):
            found[f"{_TOPOLOGY}.{name}"] = item
    return found


def _with_structure(entry: Entry, changed: Mapping[str, Entry]) -> Entry:
    content = dict(entry.mapping())
    topology = dict(content[_TOPOLOGY].mapping()) if _TOPOLOGY in content else {}
    for path, item in changed.items():
        part, _, name = path.partition(".")
        (topology if name else content)[name or part] = item
    if _TOPOLOGY in content:
        content[_TOPOLOGY] = replace(content[_TOPOLOGY], content=topology)
    return replace(entry, content=content)


def _scalars(entry: Entry) -> Iterator[tuple[tuple[str, int], Entry]]:
    """Yield the values that may be formulas, each with its path in ``network`` and its place in a list.

    The place is -1 outside of a list.
    """
    for path, item in _structure(entry).items():
        if isinstance(item.content, list):
            yield from (((path, at), one) for at, one in enumerate(item.content))
        else:
            yield (path, -1), item


def _number_text(value: float) -> str:
    """Return a number as a file has it: a whole one without a point."""
    return str(int(value)) if value.is_integer() else repr(value)
