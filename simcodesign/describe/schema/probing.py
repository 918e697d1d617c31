"""All that the readers of machines and workloads would read: shipped files, and every further key, tried one by one.

A reader says by what it asks of a value what may stand there. So each file is read with entries that note it, and then
again with a key more, for every key that a reader would take and no file has: with a value that nobody expects, it is
refused, but by then its reader has said what it wants. What a new key may be need not be written a second time.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simcodesign.core.errors import Place, SimcodesignError
from simcodesign.describe.schema.watched import Node, content_of, watched
from simcodesign.describe.yaml.demands import demand_keys
from simcodesign.describe.yaml.files import available, machine_tree, shipped
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import Entry, read_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.locality.streams.kernels import KERNELS

#: Values that are tried: a word, a mapping, a sequence of words or mappings. Nothing is called so.
_UNEXPECTED = "unexpected value"
_TRIED: tuple[Any, ...] = (_UNEXPECTED, {}, [_UNEXPECTED], [{}])
#: Files in which a key is tried, of those that have the mapping in which it would stand; and how often at most, since
#: what stands beside it may have to be found out first.
_FILES, _ROUNDS = 4, 5
#: What no shipped machine may have, and no probe would come upon: its keys are several together.
_FIRST = {"up_to": "1", "startup": "1", "per_byte": "1"}
_SEGMENTS: tuple[Any, ...] = (
    [_FIRST | {"receive_overhead": "1", "rendezvous": "true"}, {"startup": "1", "bandwidth": "1"}],
    [_FIRST, {"startup": "1", "bandwidth": "1"}],
)
_COSTS = {"startup": "1", "bandwidth": "1"}
_NETWORKS: tuple[Any, ...] = (
    {
        "segments": _SEGMENTS[0],
        "node": {"segments": _SEGMENTS[1]},
        "socket": {"segments": _SEGMENTS[1], "per_node": "2"},
    },
    _COSTS | {"node": _COSTS, "socket": _COSTS | {"per_node": "2"}},
)
_MACHINE: Any = {"simcodesign": "1", "name": "x", "nodes": "4", "processor": {"rate": "1"}}
_CROSSBAR: Any = {"topology": {"kind": "crossbar"}}
_TORUS: Any = {"topology": {"kind": "torus"}}
_PLAIN: Any = _MACHINE | {"network": _CROSSBAR | _COSTS}
_WAYS: tuple[Any, ...] = ({"count": "0"}, {"fraction": "0"}, {"nodes": ["0"]})
_INSIDE: Any = {"network": {"topology": {"kind": "crossbar"}, "startup": "1", "bandwidth": "1"}}
_SLOW: Any = [(nodes, {"slow_nodes": {"factor": "2"} | way}) for nodes in ("4", "5") for way in _WAYS]
_PARTITIONS: Any = [{"name": "all", "nodes": "4"}]
#: What a partition may have of its own, several keys together.
_OWN: Any = (
    {"processors_per_node": "4", "node": _INSIDE, "socket": _INSIDE | {"per_node": "2"}},
    {"network": {"interfaces": {"count": "2", "bandwidth": "1"}}, "noise": "0"},
    {"caches": {"L1": {"size": "64", "latency": "1"}}, "disk": {"bandwidth": "1"}},
)
_WITH_DISK: Any = {
    "memory": {"latency": "1", "bandwidth": "1"},
    "disk": {"read_startup": "1", "write_startup": "1", "bandwidth": "1"},
}
_MACHINES: tuple[Any, ...] = (
    *(_MACHINE | {"network": _CROSSBAR | network, "processors_per_node": "2"} for network in _NETWORKS),
    _PLAIN | {"processors_per_node": "4", "node": _INSIDE, "socket": _INSIDE | {"per_node": "2"}},
    *(_PLAIN | {"mapping": {"kind": kind}} for kind in ("random", "grid")),
    _PLAIN | {"network": _TORUS | _COSTS, "mapping": {"kind": "folded", "job": ["1"], "axes": [["X"]]}},
    *(_PLAIN | {"nodes": nodes, "noise": noise} for nodes, noise in _SLOW),
    *(_PLAIN | {"partitions": _PARTITIONS, "mapping": {"partitions": on}} for on in (["all"], {"all": "4"})),
    *(_PLAIN | _WITH_DISK | {"partitions": [_PARTITIONS[0] | own]} for own in _OWN),
)
_WORKLOAD: Any = {"simcodesign": "1", "name": "x"}
_VALUE = {"value": "1", "low": "1", "high": "1", "n": "1", "interval": "x"}
_DEMANDS: tuple[Any, ...] = (
    {"read": {"from": "storage", "bytes": "1", "file": "own", "stripe_count": "1"}},
    {"compute": {"on": "accelerator", "flops": "1", "times": "1"}},
    {"arrivals": {"to": "disk", "rate": "1", "requests": "1", "bytes": "1", "next": [["0"]]}},
    {"wavefront": {"grid": "1", "planes": "1", "bytes": "1", "corners": "1"}},
    {"memory": {"hits": {"l1": "1"}, "accesses": "1"}},
    {"memory": {"profile": "x"}},
    *({"memory": {"kernel": kernel, "sizes": {}}} for kernel in KERNELS),
)
_WORKLOADS: tuple[Any, ...] = (
    *(_WORKLOAD | {"program": [demand]} for demand in _DEMANDS),
    *(
        _WORKLOAD | {"program": [{"barrier": {}}], "measured": [one]}
        for one in ({"file": "x"}, {"phases": {"a": _VALUE}})
    ),
    _WORKLOAD | {"program": [{"barrier": {}}], "formulas": {"a": "1"}, "measured": [{"components": {"a": _VALUE}}]},
)
#: A program for each kind of step.
_STEPS: tuple[Any, ...] = ({}, {"do": [{"compute": {"flops": "1"}}]}, {"start": {"compute": {"flops": "1"}}, "as": "a"})
#: Steps that are no demand.
_OTHER_STEPS = {"overlap", "start", "as"}

Where = tuple[str | int, ...]


def machine_node() -> Node:
    """What may stand in a machine file, whether or not it extends another."""
    folder = next(iter(shipped("topologies"))).parent
    contents = [content_of(machine_tree(name)[0]) for name in available("machines")]
    node = _Probe(lambda entry: machine_from(entry, folder), contents, _MACHINES).root
    node.keys = (node.keys or set()) | {"extends"}
    node.children["extends"] = Node(asked={"text"})
    return node


def workload_node() -> tuple[Node, Node]:
    """What may stand in a workload file, and in a step of its program."""
    contents = [content_of(read_yaml(path)) for path in shipped("workloads")]
    probe = _Probe(workload_from, contents, _WORKLOADS, has_steps=True)
    return probe.root, probe.steps


class _Probe:
    """Files that are read again and again, ``more`` where no other has a mapping.

    ``places``: by the node of a mapping, contents that have it, and where.
    """

    def __init__(
        self, read: Callable[[Entry], object], contents: list[Any], more: Sequence[Any], has_steps: bool = False
    ) -> None:
        self.read, self.root, self.steps = read, Node(), Node()
        self.places: dict[int, list[tuple[Any, Where]]] = defaultdict(list)
        if not has_steps:
            _share_networks(self.root)
        for content in (*contents, *more):
            self._read(content)
        self.root.collapse()
        if has_steps:
            self.steps.keys = (self.steps.keys or set()) | {*demand_keys()} | _OTHER_STEPS
            for step in _STEPS:
                content = {"simcodesign": "1", "name": "x", "program": [step]}
                self.places[id(self.steps)].append((content, ("program", 0)))
        for content in (*sorted(contents, key=lambda content: len(str(content))), *more):
            self._index(content, (), content, self.root)
        for _ in range(_ROUNDS):
            for node, key in [*self._keys()]:
                if not node.child(key).is_seen:
                    self._probe(node, key)
        self._probe_other_forms()

    def _read(self, content: Any) -> None:
        try:
            self.read(watched(content, self.root, self.steps, Place("probe")))
        except SimcodesignError:  # what was asked until then has been noted
            return

    def _index(self, content: Any, path: Where, value: Any, node: Node) -> None:
        """Note where the mappings of a content are."""
        if isinstance(value, dict):
            if len(self.places[id(node)]) < _FILES:
                self.places[id(node)].append((content, path))
            for key, one in value.items():
                self._index(content, (*path, key), one, node.child(key))
        elif isinstance(value, list) and node.item is not None:
            for number, one in enumerate(value):
                self._index(content, (*path, number), one, node.item)

    def _probe_other_forms(self) -> None:
        """What files have in one form alone, as a number, may be allowed in others too, as a mapping."""
        done = set[int]()
        for _ in range(_ROUNDS):
            for node, key in [*self._keys()]:
                child = node.child(key)
                if not child.is_seen:
                    self._probe(node, key)
                elif id(child) not in done and "." not in key:  # constants by their paths are all alike
                    done.add(id(child))
                    self._probe(node, key, all_forms=True)

    def _keys(self) -> Iterator[tuple[Node, str]]:
        """All keys that are known, with the node of their mapping."""
        todo, known = [self.root, self.steps], set[int]()
        while todo:
            node = todo.pop()
            if id(node) in known:
                continue
            known.add(id(node))
            yield from ((node, key) for key in sorted(node.keys or ()))
            todo += [one for one in (*node.children.values(), node.any_key, node.item) if one is not None]

    def _probe(self, node: Node, key: str, all_forms: bool = False) -> None:
        """Read the files that have this mapping with one more key in it, and what must stand beside it; ``all_forms``:
        with one file, also those forms in which no file has it."""
        child = node.child(key)
        for content, path in self.places[id(node)][: 1 if all_forms else _FILES]:
            for value in _TRIED:
                changed = copy.deepcopy(content)
                inner = changed
                for step in path:
                    inner = inner[step]
                beside = {name: _sample(node.child(name)) for name in node.always or () if name not in inner}
                inner |= beside | {key: copy.deepcopy(value)}
                self._read(changed)
                if child.is_mapping and value == {}:
                    self._index(changed, (*path, key), inner[key], child)
                if child.item is not None and child.item.is_mapping and value == [{}]:
                    self._index(changed, (*path, key), inner[key], child)
            if child.is_seen:
                return


def _share_networks(machine: Node) -> None:
    """The networks inside the nodes of a partition may say what those inside the nodes of a machine may."""
    partition = Node()
    machine.child("partitions").item = partition
    for level in ("node", "socket"):
        partition.child(level).children["network"] = machine.child(level).child("network")


def _sample(node: Node) -> Any:
    """A value that a reader would take, as far as is known what it asks for."""
    if node.words:
        return min(node.words)
    if node.asked:
        return "x" if node.asked == {"text"} else str(max(node.low, 1)) if "whole" in node.asked else "1"
    if node.is_mapping:
        return {name: _sample(node.child(name)) for name in node.always or ()}
    if node.is_sequence:
        return [_sample(node.item)] if node.item is not None else []
    return _UNEXPECTED
