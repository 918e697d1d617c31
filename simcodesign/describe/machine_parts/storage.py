"""The storage that all nodes share: a parallel file system of striped files."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, Bytes, Choice, Constant, OneOf, Whole
from simcodesign.describe.keys.key import Form, Key, Schema
from simcodesign.describe.keys.section import Section, bandwidth
from simcodesign.describe.yaml.tree import Entry

#: On which server a file begins: each on those after the servers of the file before it, or on any.
ROUND_ROBIN, RANDOM = "round_robin", "random"
ALLOCATIONS = (ROUND_ROBIN, RANDOM)


@dataclass(frozen=True)
class Storage:
    """``servers`` alike, over ``stripe_count`` of which a file is striped in pieces of ``stripe_bytes``.

    Piece i is at server (first of the file + i mod stripe_count) mod servers. ``allocation`` determines on which server
    a file begins.

    An access takes ``latency_s``, in which it occupies no server, and then the time that its bytes need at their
    servers, ``per_byte_s`` each, or ``write_per_byte_s`` for a write, if that differs. A metadata operation takes
    ``metadata_latency_s`` and one over ``metadata_rate_per_s`` of the metadata server, which all nodes share.
    ``nodes``: of the network, on which the servers are: then reads and writes are messages to them; none if the storage
    has a network of its own.
    """

    servers: int
    stripe_bytes: int
    per_byte_s: FloatOrArray
    stripe_count: int = 1
    write_per_byte_s: FloatOrArray | None = None
    latency_s: FloatOrArray = 0.0
    metadata_rate_per_s: FloatOrArray | None = None
    metadata_latency_s: FloatOrArray = 0.0
    allocation: str = ROUND_ROBIN
    nodes: tuple[int, ...] = ()

    def nodes_of(self, server: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nodes of servers: server i is on node i mod n of the n that are stated."""
        return np.array(self.nodes, dtype=np.int64)[server % len(self.nodes)]

    def per_byte_of(self, kind: str) -> FloatOrArray:
        """Seconds per byte of a ``read`` or ``write`` at a server."""
        differs = kind == "write" and self.write_per_byte_s is not None
        return self.write_per_byte_s if differs and self.write_per_byte_s is not None else self.per_byte_s


def needed_storage(storage: Storage | None, machine: str, place: Place) -> Storage:
    """Return the storage for a demand at ``place``. InputError where the machine has none."""
    if storage is None:
        what = f"this needs storage, which {machine} has not"
        raise InputError(what, place, allowed="a machine with 'storage: {servers: ..., stripe: ..., bandwidth: ...}'")
    return storage


def needed_metadata_rate(storage: Storage, machine: str, place: Place) -> FloatOrArray:
    """Return the rate of metadata operations. InputError where the machine does not state it."""
    if storage.metadata_rate_per_s is None:
        what = f"this needs storage.metadata_rate, which {machine} does not state"
        raise InputError(what, place, allowed="storage: {..., metadata_rate: ...}")
    return storage.metadata_rate_per_s


class NodeNumbers(Form):
    """Numbers of nodes, as a list or as ``FIRST:END`` or ``FIRST:END:STEP``."""

    _RANGE = re.compile(r"(\d+):(\d+)(?::([1-9]\d*))?")

    def read(self, entry: Entry) -> tuple[int, ...]:
        if not isinstance(entry.content, str):
            return tuple(one.whole() for one in entry.sequence())
        match = self._RANGE.fullmatch(entry.content.strip())
        numbers = () if match is None else tuple(range(int(match[1]), int(match[2]), int(match[3] or 1)))
        if not numbers:
            raise entry.error("no nodes", "a list of nodes, or FIRST:END, as 60:64")
        return numbers

    def schemas(self) -> list[Schema]:
        return [{"type": "array", "items": {"type": "integer", "minimum": 0}}, {"type": "string"}]

    def words(self) -> list[str]:
        return ["list of whole numbers", "FIRST:END"]


ALL = "all"
MAX_SERVERS = 1_000_000
#: Keys of ``storage``.
STORAGE = Section(
    Key("servers", Whole(1, MAX_SERVERS), "number of servers", required=True),
    Key(
        "stripe",
        Bytes(),
        "bytes of a piece of a file",
        range="whole bytes above 0",
        required=True,
        field="stripe_bytes",
    ),
    Key("stripe_count", OneOf(Choice((ALL,)), Whole(1)), "servers over which a file is striped, or `all`", "1"),
    Key("allocation", Choice(ALLOCATIONS), "at which server a file begins", ROUND_ROBIN),
    Key(
        "nodes",
        NodeNumbers(),
        "nodes of the network on which the servers are, one after another: reads and writes are messages to them",
        "none: the storage has a network of its own",
    ),
    Key("latency", Constant("time"), "time of an access without the servers' work", "0 s", field="latency_s"),
    *bandwidth(
        "bandwidth",
        "per_byte",
        "per_byte_s",
        "bytes per second of a server; of reads alone if there is a `write_bandwidth`",
        required=True,
    ),
    *bandwidth("write_bandwidth", "write_per_byte", "write_per_byte_s", "bytes per second of writes", "as `bandwidth`"),
    Key(
        "metadata_rate",
        Constant("operation_rate", ABOVE_0),
        "operations per second of the metadata server",
        field="metadata_rate_per_s",
    ),
    Key(
        "metadata_latency",
        Constant("time"),
        "time of a metadata operation without its service",
        "0 s",
        field="metadata_latency_s",
    ),
)
