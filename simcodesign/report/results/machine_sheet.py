"""The data sheet of a machine: nodes, topology, messages, memory, disks, and what its file defines of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.analytic.queueing.busiest_links import busiest_link
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.constants import POWERS
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.interfaces import DIRECTION, NEAREST, RANK, ROUND_ROBIN
from simcodesign.describe.machine_parts.memory import CacheLevel, Memory
from simcodesign.describe.machine_parts.network import BLOCKING, BY_LATENCY, NONBLOCKING, Network
from simcodesign.describe.randomness.noise import Noise
from simcodesign.describe.resources import PREFIX, Component, Resource
from simcodesign.describe.topology.base import ECMP, UGAL, VALIANT
from simcodesign.report.common.tables import section, text_table
from simcodesign.report.results.data_sheets import Rows, amount_text, bandwidth_text, head, parameter_table
from simcodesign.report.results.part_rows import (
    accelerator_rows,
    bytes_text,
    level_tables,
    mapping_text,
    partition_rows,
    segment_tables,
    startup_text,
    storage_rows,
)

#: Which of several interfaces messages take.
ASSIGNMENT_TEXTS = {
    RANK: "each rank its own",
    NEAREST: "each rank its own of its socket",
    ROUND_ROBIN: "taken in turn",
    DIRECTION: "taken by the direction of the first and last link",
}
HOP_LAWS = {"one": "1", "log2": "log2(P)", "sqrt": "sqrt(P)", "mean": "the mean of the topology", "none": "0"}


def machine_sheet(machine: Machine) -> list[RenderableType]:
    """The data sheet of a machine."""
    return [
        head("machine", machine),
        section("Nodes", _node_rows(machine)),
        section("Topology", _topology_rows(machine)),
        section("Messages", _message_rows(machine)),
        *segment_tables(machine.network),
        *level_tables(machine),
        section("Memory of a node", [*_capacity_rows(machine), *_memory_rows(machine.memory)]),
        section("Disks", [("disks", "none")] if machine.disk is None else _disk_rows(machine, machine.disk)),
        *_stated_parts(machine),
        *_custom_parts(machine),
    ]


def _stated_parts(machine: Machine) -> Iterator[RenderableType]:
    """The parts that most machines have not."""
    if machine.accelerator is not None:
        yield section("Accelerators", accelerator_rows(machine, machine.accelerator))
    if machine.storage is not None:
        yield section("Storage of all nodes", storage_rows(machine.storage))


def _custom_parts(machine: Machine) -> Iterator[RenderableType]:
    """What the file defines of its own, and what it says of power and costs."""
    custom = machine.custom
    if custom.parameters:
        yield parameter_table(replace(one, name=f"{PREFIX}{one.name}") for one in custom.parameters.values())
    if custom.properties and machine.nodes_by_ranks is None:
        values = machine.properties()
        texts = ((name, f"{float(values[name]):.6g} = {it.text}") for name, it in custom.properties.items())
        yield section("Properties", texts)
    if custom.constants:
        yield section("Constants by formula (SI units)", ((path, one.text) for path, one in custom.constants.items()))
    if custom.resources:
        yield _resource_table(custom.resources)
        groups = [("never at the same time", ", ".join(group)) for group in custom.conflicts]
        yield section("Conflicts", [("of a resource with itself", "always"), *groups])
    if custom.components:
        yield _component_table(custom.components)
    if rows := list(_power_rows(machine)):
        yield section("Power and costs", rows)


def _resource_table(resources: Mapping[str, Resource]) -> Table:
    table = text_table(
        "Resources (seconds of an item)", "name", "time", "instances", "traits", "dynamic power", "energy"
    )
    for name, one in resources.items():
        traits = [
            f"{title}{f'({trait.argument})' if trait.argument else ''}: {trait.change.text}"
            for title, trait in one.traits.items()
        ]
        texts = ("" if part is None else part.text for part in (one.dynamic_power, one.energy))
        table.add_row(f"{name}({one.argument})", one.time.text, one.instances.text, "\n".join(traits), *texts)
    return table


def _component_table(components: Mapping[str, Component]) -> Table:
    names = ("name", "count", "static power (W)", "rack units", "die area (m2)", "price")
    table = text_table("Components", *names)
    for name, one in components.items():
        parts = (one.static_power, one.rack_units, one.die_area, one.price)
        table.add_row(name, one.count.text, *("" if part is None else part.text for part in parts))
    return table


def _power_rows(machine: Machine) -> Rows:
    for path, value in machine.powers().items():
        yield path, amount_text(value, POWERS[path][2])
    if machine.nodes_by_ranks is not None:
        return
    totals = machine.totals()
    if totals.static_power_w is not None:
        yield "static power", amount_text(totals.static_power_w, "power")
    if totals.rack_units is not None:
        yield "rack units", f"{float(totals.rack_units):,.6g}"
    if totals.die_area_m2 is not None:
        yield "area of dies", f"{1e6 * float(totals.die_area_m2):,.6g} mm2"
    if totals.price is not None:
        yield "price", f"{float(totals.price):,.2f}"


def _node_rows(machine: Machine) -> Rows:
    processor = machine.processor
    if machine.nodes_by_ranks is not None:
        yield "nodes", "as many as the ranks need (P)"
        yield "processors", f"{machine.processors_per_node} per node"
    else:
        yield "nodes", f"{machine.nodes:,}"
        yield "processors", f"{machine.processors:,} ({machine.processors_per_node} per node)"
    yield "rate of a processor", amount_text(processor.rate_flop_per_s, "rate")
    if processor.clock_hz is not None:
        clock, cycles = (
            amount_text(processor.clock_hz, "frequency"),
            amount_text(processor.cycles_per_instruction, "count"),
        )
        yield "clock", f"{clock}, {cycles} cycles per instruction"
    if processor.speeds is not None:
        low, high = min(processor.speeds), max(processor.speeds)
        yield "speeds by that rate", f"{low:.4g} to {high:.4g}, of {len(processor.speeds):,} parts of the nodes"
    yield from partition_rows(machine)
    yield "mapping of ranks", mapping_text(machine)
    if isinstance(machine.noise, Noise):
        yield from machine.noise.texts()
    else:
        yield "noise of computation", f"{machine.noise:.3g} (standard deviation over mean)" if machine.noise else "none"
    if machine.failures is not None:
        yield "failures", machine.failures.text
    if machine.background is not None:
        yield "background", f"{machine.background.nodes} nodes{machine.background.traffic}"


def _capacity_rows(machine: Machine) -> Rows:
    if machine.capacity_bytes is not None:
        each = machine.rank_capacity_bytes
        share = "" if each == machine.capacity_bytes or each is None else f" ({amount_text(each, 'size')} a rank)"
        yield "capacity", f"{amount_text(machine.capacity_bytes, 'size')}{share}"


def _memory_rows(memory: Memory | None) -> Rows:
    if memory is None:
        yield "memory", "not described"
        return
    for level in memory.caches:
        ways = "fully associative" if level.ways is None else f"{level.ways} ways"
        size = (
            format_quantity(level.size_bytes, "size")
            if level.size_bytes % 1024
            else f"{level.size_bytes // 1024:,} KiB"
        )
        cycles = "" if level.clock_hz is None else f" ({float(level.latency_cycles(level.clock_hz)):.6g} cycles)"
        shared = f", shared by {level.shared_by} processors" if level.shared_by > 1 else ""
        yield (
            level.name,
            f"{size}, {ways}, {amount_text(level.latency_s, 'time')}{cycles}{_bandwidth_of(level)}{shared}",
        )
    yield "memory", f"{amount_text(memory.latency_s, 'time')}, {bandwidth_text(memory.per_byte_s)}"
    yield from _controller_rows(memory)
    if memory.prefetch is not None:
        streams, depth = (amount_text(value, "count") for value in (memory.prefetch.streams, memory.prefetch.depth))
        yield "prefetch", f"{streams} streams, {depth} lines under way"
    if any(level.per_byte_s is not None for level in memory.caches):
        yield "transfers between levels", memory.transfers.replace("_", " ")
    if np.any(np.asarray(memory.outstanding) != 1):
        yield "accesses under way", amount_text(memory.outstanding, "count")
    yield "lines", f"{memory.line_bytes} bytes"
    yield "hits by method", memory.hits


def _controller_rows(memory: Memory) -> Rows:
    """The memory controllers of a node, where there are several."""
    if memory.controllers == 1:
        return
    yield "memory controllers", f"{memory.controllers}, one for each socket, each of that bandwidth"
    yield "data of a rank", memory.policy.replace("_", " ")
    if memory.remote is not None:
        stated = memory.remote.latency_s, memory.remote.per_byte_s
        latency = "" if stated[0] is None else amount_text(stated[0], "time")
        bandwidth = "" if stated[1] is None else f"{bandwidth_text(stated[1])} between sockets"
        yield "memory of other sockets", ", ".join(filter(None, (latency, bandwidth)))


def _bandwidth_of(level: CacheLevel) -> str:
    """What a cache delivers towards the core, where that is stated."""
    if level.per_byte_s is None:
        return ""
    own_hz = level.bandwidth_clock_hz
    cycles = "" if own_hz is None else f" ({float(1 / (level.per_byte_s * own_hz)):.6g} B/cycle)"
    return f", {bandwidth_text(level.per_byte_s)}{cycles}"


def _topology_rows(machine: Machine) -> Rows:
    topology = machine.network.topology
    yield "kind", topology.kind
    if machine.nodes_by_ranks is not None:
        yield from ((name, str(value)) for name, value in machine.nodes_by_ranks.options.items())
        return
    yield from topology.facts()
    rails = machine.network.rails
    if rails > 1:
        yield "rails", f"{rails}, each of them such a network"
    yield "links", f"{machine.network.link_count:,} (one-way)"
    yield "diameter (hops)", f"{topology.diameter:,}"
    yield "mean distance (hops)", f"{machine.network.mean_hops:.4g}{_routing_text(machine.network)}"
    yield (
        "bisection width (two-way links)",
        f"{'' if topology.bisection_exact else 'at most '}{rails * topology.bisection_width:,}",
    )
    law = busiest_link(topology)
    if law is not None:
        yield (
            "busiest link, of one message a host",
            f"{law.uniform / rails:.4g} to any other, {law.adverse / rails:.4g} {law.pattern}"
            + ("" if law.valiant is None else f"; {law.valiant / rails:.4g} through random ones"),
        )


def _routing_text(network: Network) -> str:
    """How routes are chosen, unless they are the one of each pair."""
    words = {
        ECMP: ", by any minimal route",
        VALIANT: ", through random nodes",
        UGAL: ", or through random nodes if busy",
    }
    return words.get(network.routing, "")


def _message_rows(machine: Machine) -> Rows:
    network = machine.network
    yield from _loggop_rows(network) if network.model == "loggop" else _hockney_rows(network)
    yield "hops where routes are not looked at", HOP_LAWS[network.distance]
    yield "switching", network.switching.replace("_", "-")
    yield "links are shared", _sharing_text(network)
    per_byte_s = reversed(_of_links(network, network.links_s_per_byte))
    yield "bandwidth of a link", _range_text([bandwidth_text(value) for value in per_byte_s])
    if network.saturation < 1:
        yield "links saturate", f"at {network.saturation:.0%} of the time, in forecasts of open streams"
    yield "interfaces of a node", _interfaces_text(machine)
    yield "bandwidth of an interface", bandwidth_text(network.interface_occupancy_s_per_byte)
    if network.model == "hockney" and network.per_byte_s and not network.segments:
        half = amount_text(network.startup_s / network.per_byte_s, "size")
        yield "half-performance size", f"{half} (startup takes as long as the bytes)"


def _interfaces_text(machine: Machine) -> str:
    """How many, whether they send and receive at once, and which of them messages take."""
    interfaces = machine.network.interfaces
    if interfaces.count == 1:
        return f"1, {interfaces.duplex} duplex"
    return f"{interfaces.count}, {interfaces.duplex} duplex, {ASSIGNMENT_TEXTS[machine.interface_assignment]}"


def _of_links(network: Network, values: tuple[FloatOrArray, ...]) -> list[FloatOrArray]:
    """The different values of the groups of links that there are, the least first."""
    groups = network.topology.link_groups
    there = [value for value, group in zip(values, groups, strict=True) if group.links or len(groups) == 1]
    return sorted({float(value) for value in there}) or [values[0]]


def _range_text(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _latency_text(network: Network) -> str:
    """The latency of a hop."""
    return _range_text([amount_text(value, "time") for value in _of_links(network, network.link_latencies_s)])


#: By ``Network.sends``.
_SENDS = {
    BLOCKING: "blocking: each holds it as long as it would take if it were alone",
    NONBLOCKING: "nonblocking: each holds it for its startup, their bytes flow side by side",
}


def _hockney_rows(network: Network) -> Rows:
    yield "model", _message_model(network)
    yield "startup", f"{startup_text(network)} per {network.startup_per}"
    if not network.segments:
        yield "bandwidth", bandwidth_text(network.per_byte_s)
    yield "latency of a hop", _latency_text(network)
    if network.bytes_hold_sender:
        yield "hops hold the sender", "yes" if network.hops_hold_sender else "no: they delay the arrival alone"
    yield "sends of a rank", _SENDS[network.sends]
    for name, part in (("within a node", network.node), ("between sockets", network.socket)):
        if part is not None:
            yield f"messages {name}", f"{startup_text(part)} + {bytes_text(part)}, no hops"
    if network.socket is not None:
        yield "sockets of a node", str(network.sockets_per_node)
    if not network.segments:
        yield "charged to the receiver", amount_text(network.receive_overhead_s, "time")
    limit = network.rendezvous_above_bytes
    if limit is not None:
        yield "rendezvous above S", amount_text(limit, "size")
    yield from _reduction_rows(network)


def _reduction_rows(network: Network) -> Rows:
    if network.reduction_per_byte_s is not None:
        yield "operators of reductions", bandwidth_text(network.reduction_per_byte_s)


def _loggop_rows(network: Network) -> Rows:
    """The constants of LogGOPS by their letters."""
    limit = network.rendezvous_above_bytes
    way = " + ".join(["L", *_hop_parts(network), *_slow_link_parts(network)])
    yield (
        "model",
        f"LogGOPS: m bytes, x = max(m - 1, 0), occupy sender and receiver for o + x O and fly for {way} + x G",
    )
    if network.segments:
        yield "L, o, g, G, O", "those of the message's size; sends, and receives, of a rank begin g + x G apart"
    else:
        yield "latency L", amount_text(network.latency_s, "time")
        yield "overhead o", amount_text(network.overhead_s, "time")
        yield "gap g", f"{amount_text(network.gap_s, 'time')} (sends, and receives, of a rank begin g + x G apart)"
        yield "time per byte G", f"{amount_text(network.per_byte_s, 'per_byte')} ({bandwidth_text(network.per_byte_s)})"
        yield "overhead per byte O", amount_text(network.overhead_per_byte_s, "per_byte")
    yield "rendezvous above S", "never" if limit is None else amount_text(limit, "size")
    yield from _reduction_rows(network)


def _message_model(network: Network) -> str:
    startup, bytes_ = startup_text(network), bytes_text(network)
    if not network.bytes_hold_sender:
        parts = [part for part in (_way(network), bytes_) if part != "0"]
        return f"m bytes occupy the sender for {startup} and arrive {' + '.join(parts) or '0'} later, over h hops"
    if not network.hops_hold_sender:
        return f"m bytes occupy the sender for {startup} + {bytes_} and arrive {_way(network)} later, over h hops"
    times = "" if network.startup_per == "message" else "max(h, 1) x "
    parts = [f"{times}{startup}", *_hop_parts(network), bytes_, *_slow_link_parts(network)]
    return f"m bytes over h hops occupy the sender for {' + '.join(parts)}"


def _way(network: Network) -> str:
    """What the hops of a message add that do not hold its sender."""
    parts = [f"max(h - 1, 0) x {startup_text(network)}"] if network.startup_per == "hop" else []
    return " + ".join([*parts, *_hop_parts(network), *_slow_link_parts(network)]) or "0"


def _hop_parts(network: Network) -> list[str]:
    latency = f"({_latency_text(network)})" if network.links_differ else _latency_text(network)
    parts = [f"h x {latency}"] if network.longest_hop_latency_s else []
    if network.switching == "store_and_forward":
        stored = "m" if np.isinf(network.stored_bytes) else f"min(m, {amount_text(network.stored_bytes, 'size')})"
        parts.append(f"max(h - 1, 0) x {stored} / ({bandwidth_text(network.link_occupancy_s_per_byte)})")
    return parts


def _sharing_text(network: Network) -> str:
    if network.sharing == "round_robin":
        return f"by messages in turn, packets of {amount_text(network.packet_bytes, 'size')}"
    if network.sharing == "max_min":
        shares = "shares in proportion to 1 / latency" if network.shares == BY_LATENCY else "max-min shares"
        return f"fairly, by all messages at once ({shares})"
    return "by one message after another"


def _slow_link_parts(network: Network) -> list[str]:
    """What bytes take longer on links that are slower than messages."""
    slower = np.any(np.asarray(network.link_occupancy_s_per_byte) > network.least_s_per_byte)
    return ["what m takes longer on the slowest link of the route"] if network.has_own_links and slower else []


def _disk_rows(machine: Machine, disk: Disk) -> Rows:
    yield "startup of a read", amount_text(disk.read_startup_s, "time")
    yield "startup of a write", amount_text(disk.write_startup_s, "time")
    yield "bandwidth", bandwidth_text(disk.per_byte_s)
    sized = machine.nodes_by_ranks
    if sized is not None and sized.shared_disk:
        yield "disks", "1, of all nodes"
    elif sized is not None:
        yield "nodes of a disk", f"{disk.shared_by:,}"
    else:
        yield "disks", f"{-(-machine.nodes // disk.shared_by):,}, nodes on each: {disk.shared_by:,}"
    yield "accesses served at a time", str(disk.spindles)
