"""Use of a node's memory by messages within the node: the ``memory`` of a node's inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, Constant
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section
from simcodesign.describe.machine_parts.memory import Memory

#: Where it is in a machine file.
PATH = "node.memory"
#: Copies of a message if none are stated: the median of eight systems with measured full nodes, and their range.
COPIES, LEAST_COPIES, MOST_COPIES = 1.4, 1.1, 2.2


@dataclass(frozen=True)
class MessageMemory:
    """Messages within a node that pass through its memory.

    Messages of operations whose footprint (``Demand`` with ``footprint_bytes``) is above ``cache_bytes``, a rank's
    share of the last cache; None: as the machine's ``caches`` state it.

    A message of m bytes loads the memory controller of the node with ``2 copies m`` bytes: it is read and written, and
    ``copies`` is how many times, counted in bytes of the memory's bandwidth (STREAM). Between two controllers, each has
    ``copies m`` of them. ``copies_assumed``: the file states none, so that times under load are predicted from the data
    sheet alone.

    Source: the max-rate model of W. Gropp, L. Olson, P. Samfass, "Modeling MPI communication performance on SMP nodes",
    EuroMPI 2016, with the memory of the machine as the rate.
    """

    copies: FloatOrArray = COPIES
    cache_bytes: FloatOrArray | None = None
    copies_assumed: bool = False


def check_message_memory(messages: MessageMemory, memory: Memory | None, has_levels: bool, place: Place) -> None:
    """InputError without a network inside the nodes, a memory that messages load, or a cache that holds them."""
    if not has_levels:
        what = f"{PATH} is for the messages of a network inside nodes, and there is none"
        raise InputError(what, place, allowed="node.network as well")
    if memory is None:
        what = f"{PATH}: messages load the memory of the machine, and there is none"
        raise InputError(what, place, allowed="memory: {bandwidth: ..., latency: ...} as well")
    if messages.cache_bytes is None and not memory.caches:
        what = f"{PATH}.cache is missing, and no caches are stated from which a rank's share of the last one follows"
        raise InputError(what, place, allowed=f"{PATH}.cache: 1 MiB, or caches")


def cache_share_bytes(messages: MessageMemory, memory: Memory) -> FloatOrArray:
    """Return the bytes of the last cache that a rank has.

    As stated, otherwise the cache divided by its number of ranks.
    """
    if messages.cache_bytes is not None:
        return messages.cache_bytes
    last = memory.caches[-1]
    return last.size_bytes / last.shared_by


def message_load_s_per_byte(messages: MessageMemory, memory: Memory) -> FloatOrArray:
    """Return the seconds for which a byte of a message within a node occupies the node's memory: one over R_m."""
    return np.multiply(2.0 * memory.per_byte_s, messages.copies)


#: Keys of ``node.memory``.
MESSAGE_MEMORY = Section(
    Key(
        "copies",
        Constant("count", ABOVE_0),
        "times that a message is copied: it loads the memory with 2 x copies x its bytes",
        "1.4",
    ),
    Key(
        "cache",
        Constant("size"),
        "footprint of an operation, in bytes of a rank, above which its messages pass through memory",
        "size of the last of `caches` over `shared_by`",
        field="cache_bytes",
    ),
)
