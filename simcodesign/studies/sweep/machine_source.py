"""The machine of a sweep, with the tree of its file, in which anything can be changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.scenario import MachineSource
from simcodesign.describe.topology.base import TOPOLOGIES
from simcodesign.describe.variants import split_variant
from simcodesign.describe.yaml.constants import OTHER_NAMES
from simcodesign.describe.yaml.files import check_parts, in_file, machine_changes, machine_tree, with_changes
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import Entry, merged, nested
from simcodesign.studies.sweep.content_digest import REMARKS
from simcodesign.studies.sweep.points import Value

#: Keys that determine how the nodes of a network are arranged.
SHAPED = {"network.topology", *(f"network.topology.{key}" for key in ("shape", "dims", "file"))}


@dataclass(frozen=True)
class MachineFile:
    """A machine and, if it was read from a file, the tree of that file, in which anything can be changed."""

    machine: Machine
    tree: Entry | None = field(default=None, repr=False)
    folder: Path = Path()

    def changed(self, changes: Mapping[str, Value]) -> Machine:
        """Return the machine with changes in its file. Raises InputError for invalid changes."""
        if not changes:
            return self.machine
        if self.tree is None:
            what = "only constants and parameters of a machine that was read from no file can be varied"
            raise InputError(what, Place("--vary"), value=list(changes))
        tree = self.tree
        if reshaped(tree, changes):
            dimension_count = len(_shape(tree))
            tree = merged(_without_shape(tree), nested({"network.topology.dims": dimension_count}, "--vary"))
        check_parts(tree, changes, "--vary")
        changed = machine_from(merged(tree, nested(changes, "--vary"), OTHER_NAMES), self.folder)
        return replace(changed, changes=self.machine.changes)

    def content(self, whole: bool) -> object:
        """Return the content of a key; ``whole``: including the parts of the file that only changes make effective."""
        return [self.machine, _tree_content(self.tree) if whole and self.tree is not None else None]


def reshaped(tree: Entry, changes: Mapping[str, Value]) -> bool:
    """Whether the nodes are changed and the network shape is not: the shape is then chosen again."""
    if "nodes" not in changes or SHAPED & changes.keys():
        return False
    shape = _shape(tree)
    return bool(shape) and math.prod(shape) != changes["nodes"]


def _shape(tree: Entry) -> list[int]:
    """Return the shape of the network in the file, empty if it has none, or one of routers."""
    topology = tree.mapping()["network"].mapping()["topology"].mapping()
    kind = TOPOLOGIES.get(topology["kind"].text())
    if "shape" not in topology or kind is None or "dims" not in [option.name for option in kind.options]:
        return []
    return [item.whole(low=1) for item in topology["shape"].sequence()]


def _without_shape(tree: Entry) -> Entry:
    items = tree.mapping()
    network = items["network"].mapping()
    topology = {key: entry for key, entry in network["topology"].mapping().items() if key != "shape"}
    remaining = {**network, "topology": Entry(topology, network["topology"].place)}
    return Entry({**items, "network": Entry(remaining, items["network"].place)}, tree.place)


def source_of(machine: MachineSource, changes: Mapping[str, object] | None = None) -> MachineFile:
    """Return a machine object, shipped name or path of a file, with fixed changes in that file (``--set``)."""
    if isinstance(machine, Machine):
        if changes:
            raise InputError("a machine object has no file in which to set", value=list(changes))
        return MachineFile(machine)
    all_changes = machine_changes(machine, changes)
    tree, folder = machine_tree(split_variant(machine)[0], in_file(all_changes))
    return MachineFile(with_changes(machine_from(tree, folder), all_changes), tree, folder)


def _tree_content(tree: Entry) -> object:
    """Return the texts of a file's tree, without remarks."""
    if isinstance(tree.content, dict):
        items = {key: _tree_content(entry) for key, entry in tree.content.items() if key not in REMARKS}
        return items
    if isinstance(tree.content, list):
        return [_tree_content(entry) for entry in tree.content]
    return tree.content
