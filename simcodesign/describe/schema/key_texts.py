"""What the keys of description files say, in words: of each its meaning, its default, and its range.

The words stand in ``machine_keys.yaml`` and ``workload_keys.yaml``; which keys there are, the readers say
(``probing``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import yaml

from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.topology.base import TOPOLOGIES

#: What a path has for any name, for a step of a program, and for any collective operation.
NAME, STEP, COLLECTIVE = "NAME", "STEP", "COLLECTIVE"
_TOPOLOGY = "network.topology."
#: What the path of a key of a partition begins with.
_PARTITION = "partitions[]."
#: Paths below the networks inside nodes and sockets.
_INNER = ("node.network.", "socket.network.")


@dataclass(frozen=True)
class KeyText:
    """``about``: what a key says; ``default``: what holds without it, "" if nothing does; ``range``: which values may
    stand there, "" if the readers know."""

    about: str
    default: str = ""
    range: str = ""


def inner_path(path: str, key: str) -> str:
    """The path of a key of the mapping at a path; collective operations are all alike."""
    key = COLLECTIVE if path == STEP and key in ALGORITHMS else key
    return f"{path}.{key}" if path else key


@cache
def key_texts(kind: str) -> Mapping[str, KeyText]:
    """By path, of the keys of a ``machine`` or ``workload``."""
    text = files(__package__).joinpath(f"{kind}_keys.yaml").read_text(encoding="utf-8")
    every = yaml.load(text, Loader=yaml.BaseLoader)
    texts = {path: KeyText(*([words] if isinstance(words, str) else words)) for path, words in every.items()}
    options = {one.key: one.about for topology in TOPOLOGIES.values() for one in topology.options}
    return {
        path: KeyText(one.about or options[path.removeprefix(_TOPOLOGY)], one.default, one.range)
        for path, one in texts.items()
    }


def key_text(kind: str, path: str) -> KeyText | None:
    """What a key says; None where nothing is written of it. The networks inside nodes and sockets say what the network
    between nodes does, and partitions what the machine does, unless something else is written of them."""
    texts = key_texts(kind)
    found = next((texts[one] for one in (path, *_ways_of(path)) if one in texts), None)
    if found is None and path.startswith(_PARTITION):
        common = path.removeprefix(_PARTITION)
        text = key_text(kind, common)
        return None if text is None else replace(text, default=f"as `{common}`")
    return found


def _ways_of(path: str) -> Iterator[str]:
    """Other paths at which what a key of a network inside a node or socket says may be written."""
    if path.startswith(_INNER):
        key = path.partition(".")[2]
        yield f"node.{key}"
        yield key
