"""The data sheet of a machine: its partitions and the ranks on them, accelerators, storage, and messages by size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from rich.table import Table

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import CONSTANTS
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.levels import PATHS
from simcodesign.describe.machine_parts.network import LocalMessages, Network
from simcodesign.describe.machine_parts.size_segments import KEYS, SizeSegment
from simcodesign.describe.machine_parts.storage import Storage
from simcodesign.describe.partitions import partitions_of
from simcodesign.report.common.tables import text_table
from simcodesign.report.results.data_sheets import Rows, amount_text, bandwidth_text

#: Of ranks that are listed, so many runs on one partition are shown.
MOST_RUNS = 8


def accelerator_rows(machine: Machine, accelerator: Accelerator) -> Rows:
    """How many there are, what they do, and how they are joined to their hosts."""
    ranks = accelerator.ranks_on_busiest(machine.placement)
    sharing = f"; {ranks} ranks share one where all processors are in use" if ranks > 1 else ""
    yield "accelerators of a node", f"{accelerator.count}{sharing}"
    yield "rate", amount_text(accelerator.rate_flop_per_s, "rate")
    yield "launch of a kernel", amount_text(accelerator.launch_s, "time")
    if accelerator.memory_per_byte_s is not None:
        bandwidth = bandwidth_text(accelerator.memory_per_byte_s)
        yield "memory", f"{bandwidth}, latency {amount_text(accelerator.memory_latency_s, 'time')}"
        yield "flops of a byte at the ridge point", _ridge_text(accelerator)
    if accelerator.capacity_bytes is not None:
        each = machine.rank_accelerator_bytes
        share = f" ({amount_text(each, 'size')} a rank)" if ranks > 1 and each is not None else ""
        yield "capacity", f"{amount_text(accelerator.capacity_bytes, 'size')}{share}"
    if accelerator.link_per_byte_s is not None:
        duplex = "in each direction" if accelerator.is_full_duplex else "in one direction at a time"
        yield "link to the host", f"{bandwidth_text(accelerator.link_per_byte_s)} {duplex}"
        yield "latency of a copy", amount_text(accelerator.link_latency_s, "time")


def _ridge_text(accelerator: Accelerator) -> str:
    """Where a kernel needs as long for its flops as for its bytes (the roofline)."""
    assert accelerator.memory_per_byte_s is not None
    return amount_text(accelerator.rate_flop_per_s * accelerator.memory_per_byte_s, "count")


def storage_rows(storage: Storage) -> Rows:
    """Its servers, and how files are laid out on them."""
    yield "servers", f"{storage.servers:,}"
    if storage.write_per_byte_s is None:
        yield "bandwidth of a server", bandwidth_text(storage.per_byte_s)
    else:
        reads, writes = bandwidth_text(storage.per_byte_s), bandwidth_text(storage.write_per_byte_s)
        yield "bandwidth of a server", f"{reads} for reads, {writes} for writes"
    yield "latency of an access", amount_text(storage.latency_s, "time")
    stripe = f"{storage.stripe_bytes / 1024:g} KiB"
    yield "stripes", f"{stripe}, over {storage.stripe_count} of the servers ({storage.allocation.replace('_', ' ')})"
    if storage.metadata_rate_per_s is not None:
        latency = amount_text(storage.metadata_latency_s, "time")
        yield "metadata", f"{amount_text(storage.metadata_rate_per_s, 'operation_rate')}, latency {latency}"


def startup_text(part: Network | LocalMessages) -> str:
    """The startup of a message, or that it depends on its size."""
    return "the startup of its size" if part.segments else amount_text(part.startup_s, "time")


def bytes_text(part: Network | LocalMessages) -> str:
    """What the m bytes of a message take."""
    if part.segments:
        return "m / (the bandwidth of its size)"
    return f"m / ({bandwidth_text(part.per_byte_s)})" if np.any(np.asarray(part.per_byte_s)) else "0"


def segment_tables(network: Network) -> Iterator[Table]:
    """A table of the segments of messages over the network, within nodes and between sockets, where these have any."""
    every = (
        ("Messages over the network, by size", network),
        ("Messages within a node, by size", network.node),
        ("Messages between sockets, by size", network.socket),
    )
    for title, part in every:
        if part is None or not part.segments:
            continue
        if network.model == "loggop":
            yield _loggop_table(title, part.segments)
        else:
            yield _hockney_table(title, part.segments, network.receive_overhead_s)


def level_tables(machine: Machine) -> Iterator[Table]:
    """A table of the networks between and inside nodes, outermost first, where there are several."""
    if not machine.has_levels:
        return
    columns = ("network", "joins", "topology", "longest way (hops)", "message of m bytes", "a hop", "link", "interface")
    table = text_table("Levels", *columns)
    joined = ["nodes", "processors of a node", "processors of a socket"]
    joined[1] = "sockets of a node" if machine.socket_network is not None else joined[1]
    for path, what, network in zip(PATHS, joined, machine.levels, strict=False):
        table.add_row(
            path,
            f"{network.topology.node_count:,} {what}",
            network.topology.kind,
            f"{network.topology.diameter:,}",
            f"{_first_text(network)} + {bytes_text(network)}",
            amount_text(network.longest_hop_latency_s, "time"),
            bandwidth_text(network.link_occupancy_s_per_byte),
            bandwidth_text(network.interface_occupancy_s_per_byte),
        )
    yield table


def _first_text(network: Network) -> str:
    """What a message takes before its bytes."""
    return startup_text(network) if network.model == "hockney" else "2o + L"


def _hockney_table(title: str, segments: Sequence[SizeSegment], receive_s: FloatOrArray) -> Table:
    table = text_table(title, "size", "startup", "bandwidth", "charged to the receiver", "sender waits")
    for size, segment in zip(_sizes(segments), segments, strict=True):
        overhead_s = receive_s if segment.receive_overhead_s is None else segment.receive_overhead_s
        table.add_row(
            size,
            amount_text(segment.startup_s, "time"),
            bandwidth_text(segment.per_byte_s),
            amount_text(overhead_s, "time"),
            _waits(segment),
        )
    return table


def _loggop_table(title: str, segments: Sequence[SizeSegment]) -> Table:
    table = text_table(title, "size", *KEYS["loggop"], "sender waits")
    for size, segment in zip(_sizes(segments), segments, strict=True):
        texts = [amount_text(getattr(segment, name), dimension) for name, dimension in KEYS["loggop"].values()]
        table.add_row(size, *texts, _waits(segment))
    return table


def _sizes(segments: Sequence[SizeSegment]) -> Iterator[str]:
    """The sizes of messages of each segment."""
    below = "0 B"
    for segment in segments:
        if np.all(np.isinf(segment.up_to_bytes)):
            yield "all" if len(segments) == 1 else f"above {below}"
        else:
            below = amount_text(segment.up_to_bytes, "size")
            yield f"up to {below}"


def _waits(segment: SizeSegment) -> str:
    return "for its receiver" if segment.rendezvous else "no"


def partition_rows(machine: Machine) -> Rows:
    """The nodes of every partition, and what is its own."""
    first = 0
    for one in machine.partitions:
        own = [f"{path} {amount_text(value, CONSTANTS[path][2])}" for path, value in one.constants.items()]
        own += [] if one.has_accelerator else ["no accelerators"]
        nodes = f"nodes {first:,} to {first + one.nodes - 1:,}" if one.nodes > 1 else f"node {first:,}"
        yield f"partition {one.name}", f"{nodes}: {', '.join(own) or 'as stated for all nodes'}"
        first += one.nodes


def mapping_text(machine: Machine) -> str:
    """The mapping by its name; of a list the nodes, or how many ranks after one another are on each partition."""
    if not isinstance(machine.mapping, tuple):
        return str(machine.mapping)
    if machine.partitions:
        runs = itertools.groupby(partitions_of(machine.partitions, np.array(machine.mapping)).tolist())
        texts = [f"{len([*run]):,} on {machine.partitions[number].name}" for number, run in runs]
        if len(texts) <= MOST_RUNS:
            return f"ranks: {', '.join(texts)}"
    return f"nodes {', '.join(map(str, machine.mapping))}"
