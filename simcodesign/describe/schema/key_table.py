"""All keys of description files in a table: what may stand there, with what unit, default and range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.constants import AT_LEAST_ONE, CONSTANTS, POSITIVE, POWERS
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.schema.key_texts import COLLECTIVE, NAME, STEP, KeyText, inner_path, key_text
from simcodesign.describe.schema.probing import machine_node, workload_node
from simcodesign.describe.schema.watched import Node
from simcodesign.describe.yaml.distribution import DISTRIBUTION_KEYS

REQUIRED = "required"
ABOVE_0, FROM_0, FROM_1 = "above 0", "0 or above", "1 or above"
#: Mappings whose keys stand elsewhere: constants by their paths, sizes of kernels, names of caches;
#: and those of the networks inside the nodes of a partition, which are the keys of `node.network`.
_ELSEWHERE = {f"{STEP}.constants", f"{STEP}.memory.sizes", f"{STEP}.memory.hits"}
_ELSEWHERE |= {"partitions[].node.network", "partitions[].socket.network"}


@dataclass(frozen=True)
class Key:
    """A key of a file. ``values``: what may stand there; ``default``: what holds without it, "required" if it must be
    there; ``is_written``: whether anything is written of it."""

    path: str
    about: str
    values: str
    default: str
    range: str
    is_written: bool


@cache
def key_table(kind: str) -> tuple[Key, ...]:
    """All keys of a ``machine`` or ``workload``, a mapping before what is in it."""
    if kind == "machine":
        return tuple(_keys(kind, machine_node(), "", frozenset()))
    root, steps = workload_node()
    every = Node()
    for name in ALGORITHMS:
        every.join(steps.child(name))
    for name in ALGORITHMS:
        steps.children.pop(name)
    steps.keys = ((steps.keys or set()) - {*ALGORITHMS}) | {COLLECTIVE}
    steps.children[COLLECTIVE] = every
    inside = frozenset({id(steps)})
    return (*_keys(kind, root, "", inside), *_keys(kind, steps, STEP, inside))


def _keys(kind: str, node: Node, path: str, inside: frozenset[int]) -> Iterator[Key]:
    """The keys below one node; those in ``inside`` are listed where they stand first."""
    if node.is_mapping and node.is_sequence and node.item is not None and node.item.is_mapping:
        both = Node()  # one mapping, or several alike in a list
        both.join(node.item)
        both.join(node)
        node, both.is_sequence = both, False
    own = (node.keys or set()) - (set(DISTRIBUTION_KEYS) if _is_distribution(node) else set())
    below = [(inner_path(path, key), node.child(key), key in (node.always or ())) for key in sorted(own)]
    if node.any_key is not None and node.keys is None:
        below.append((inner_path(path, NAME), node.any_key, False))
    if node.is_sequence and node.item is not None:
        below.append((f"{path}[]", node.item, False))
    for one, child, is_required in below:
        yield _key(one, child, is_required, key_text(kind, one))
        if id(child) not in inside and one not in _ELSEWHERE:
            yield from _keys(kind, child, one, inside | {id(child)})


def _is_distribution(node: Node) -> bool:
    return node.keys is not None and {*DISTRIBUTION_KEYS} <= node.keys


def _key(path: str, node: Node, is_required: bool, text: KeyText | None) -> Key:
    written = text or KeyText("")
    default = written.default or (REQUIRED if is_required else "")
    return Key(path, written.about, _values(path, node), default, written.range or _range(path, node), text is not None)


def _values(path: str, node: Node) -> str:
    """What may stand there: words, numbers and their units, mappings, lists."""
    if path == f"{STEP}.{COLLECTIVE}.algorithm":
        return "a name"
    forms = [f"`{word}`" for word in sorted(node.words)] if "flag" not in node.asked else ["`true`", "`false`"]
    for dimension in sorted(one.removeprefix("quantity ") for one in node.asked if one.startswith("quantity")):
        unit = DIMENSIONS.get(dimension, "")
        forms.append(f"{dimension.replace('_', ' ')} ({unit})" if unit else "number")
    plain = {"number": "number", "whole": "whole number", "expression": "expression", "text": "text"}
    forms += [word for name, word in plain.items() if name in node.asked and word not in forms]
    if _is_distribution(node):
        forms = [one for one in forms if one not in ("text", "number")] + ["distribution"]
    elif node.is_mapping:
        forms.append("mapping")
    return ", ".join([*forms, "list"] if node.is_sequence else forms)


def _range(path: str, node: Node) -> str:
    """Which numbers, as far as readers and the table of constants say."""
    if "whole" in node.asked and node.low <= (node.high or node.low):
        return f"{node.low} or above" if node.high is None else f"{node.low} to {node.high}"
    if "quantity bandwidth" in node.asked or path in POSITIVE:
        return ABOVE_0
    if path in AT_LEAST_ONE:
        return FROM_1
    return FROM_0 if path in CONSTANTS or path in POWERS else ""
