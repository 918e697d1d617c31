"""The data sheet of a machine on its messages: what they cost by their model, and how they pass the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import PATHS
from simcodesign.describe.network.interfaces import DIRECTION, NEAREST, RANK, ROUND_ROBIN
from simcodesign.describe.network.message_models.base import MessageModel, SizeSegment
from simcodesign.describe.network.message_models.hockney import BLOCKING, HOP, NONBLOCKING, Hockney, HockneySegment
from simcodesign.describe.network.message_models.loggops import LogGOPS
from simcodesign.describe.network.network import LocalMessages, Network
from simcodesign.report.common.tables import text_table
from simcodesign.report.results.data_sheets import Rows, amount_text, bandwidth_text

#: Which of several interfaces messages take.
ASSIGNMENT_TEXTS = {
    RANK: "each rank its own",
    NEAREST: "each rank its own of its socket",
    ROUND_ROBIN: "taken round robin",
    DIRECTION: "taken by the direction of the first and last link",
}
HOP_LAWS = {"one": "1", "log2": "log2(P)", "sqrt": "sqrt(P)", "mean": "the mean of the topology", "none": "0"}


def message_rows(machine: Machine) -> Rows:
    """All of it."""
    network = machine.network
    yield from _ROWS.get(type(network.message_model), _plain_rows)(network)
    yield "hops where routes are not looked at", HOP_LAWS[network.distance]
    yield "switching", network.switching.replace("_", "-")
    yield "links are shared", network.sharing.sheet_words
    per_byte_s = reversed(_of_links(network, network.links_s_per_byte))
    yield "bandwidth of a link", _range_text([bandwidth_text(value) for value in per_byte_s])
    if network.saturation < 1:
        yield "links saturate", f"at {network.saturation:.0%} of the time, in forecasts of open streams"
    yield "interfaces of a node", _interfaces_text(machine)
    yield "bandwidth of an interface", _interface_text(network)
    half = network.message_model.half_performance_bytes
    if half is not None and not network.message_model.segments:
        yield "half-performance size", f"{amount_text(half, 'size')} (startup takes as long as the bytes)"


def _interfaces_text(machine: Machine) -> str:
    """How many, whether they send and receive concurrently, and which of them messages take."""
    interfaces = machine.network.interfaces
    if interfaces.count == 1:
        return f"1, {interfaces.duplex} duplex"
    differ = [f"{count} ({name})" for name, count in machine.interfaces_by_partition.items()]
    count = ", ".join(differ) or str(interfaces.count)
    return f"{count}, {interfaces.duplex} duplex, {ASSIGNMENT_TEXTS[machine.interface_assignment]}"


def _interface_text(network: Network) -> str:
    """Return the bandwidth of an interface, and what several messages share of it if that is stated."""
    alone = bandwidth_text(network.interface_occupancy_s_per_byte)
    if network.interfaces.loaded_per_byte_s is None:
        return alone
    return f"{alone}, shared by several messages: {bandwidth_text(network.loaded_interface_s_per_byte)}"


def _of_links(network: Network, values: tuple[FloatOrArray, ...]) -> list[FloatOrArray]:
    """Return the different values of the groups of links that there are, the least first."""
    groups = network.topology.link_groups
    there = [value for value, group in zip(values, groups, strict=True) if group.links or len(groups) == 1]
    return sorted({float(value) for value in there}) or [values[0]]


def _range_text(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _latency_text(network: Network) -> str:
    """Return the latency of a hop."""
    return _range_text([amount_text(value, "time") for value in _of_links(network, network.link_latencies_s)])


#: Texts by ``Network.sends``.
_SENDS = {
    BLOCKING: "blocking: each holds it as long as it would take if it were alone",
    NONBLOCKING: "nonblocking: each holds it for its startup, their bytes flow side by side",
}


def _hockney_rows(network: Network) -> Rows:
    model = network.message_model
    assert isinstance(model, Hockney)
    yield "model", _message_model(network, model)
    yield "startup", f"{_startup_text(model)} per {model.startup_per}"
    if not model.segments:
        yield "bandwidth", bandwidth_text(model.per_byte_s)
    yield "latency of a hop", _latency_text(network)
    if model.bytes_hold_sender:
        yield "hops hold the sender", "yes" if model.flight_holds_sender else "no: they delay the arrival alone"
    yield "sends of a rank", _SENDS[BLOCKING if model.bytes_hold_sender else NONBLOCKING]
    for name, part in (("within a node", network.node), ("between sockets", network.socket)):
        if part is not None:
            yield f"messages {name}", f"{_startup_text(part)} + {_bytes_text(part)}, no hops"
    if network.socket is not None:
        yield "sockets of a node", str(network.sockets_per_node)
    if model.holds_receiver:
        yield "receiver", "held as long as the sender, from when it receives"
    if not model.segments:
        yield "charged to the receiver", amount_text(model.receive_overhead_s, "time")
    limit = model.rendezvous_above_bytes
    if limit is not None:
        yield "rendezvous above S", amount_text(limit, "size")
    yield from _processing_rows(network)


def _plain_rows(network: Network) -> Rows:
    """Yield the constants and choices of any other model, by their keys."""
    model = network.message_model
    yield "model", model.title
    if not model.segments:
        for key, (name, dimension) in model.constants().items():
            yield key, amount_text(getattr(model, name), dimension)
    for key in (*model.choices, *model.flags):
        yield key, str(getattr(model, key)).lower()
    yield "latency of a hop", _latency_text(network)
    if model.rendezvous_above_bytes is not None:
        yield "rendezvous above S", amount_text(model.rendezvous_above_bytes, "size")
    yield from _processing_rows(network)


def _processing_rows(network: Network) -> Rows:
    if network.reduction_per_byte_s is not None:
        yield "operators of reductions", bandwidth_text(network.reduction_per_byte_s)
    if network.combines_in_switches:
        yield "messages combined in switches", f"{_switch_text(network)} longer"
    if network.matching_s is not None:
        yield "search past a waiting message", amount_text(network.matching_s, "time")
    if network.packing_s is not None:
        yield "copy of a block to pack or unpack", amount_text(network.packing_s, "time")
    if network.packing_per_byte_s is not None:
        yield "bytes copied to pack or unpack", bandwidth_text(network.packing_per_byte_s)


def _loggops_rows(network: Network) -> Rows:
    """Return the constants of LogGOPS by their letters."""
    model = network.message_model
    assert isinstance(model, LogGOPS)
    limit = model.rendezvous_above_bytes
    way = " + ".join(["L", *_hop_parts(network), *_slow_link_parts(network)])
    yield (
        "model",
        f"LogGOPS: m bytes, x = max(m - 1, 0), occupy sender and receiver for o + x O and fly for {way} + x G",
    )
    if model.segments:
        yield "L, o, g, G, O", "by the message's size; sends, and receives, of a rank begin g + x G apart"
    else:
        yield "latency L", amount_text(model.latency_s, "time")
        yield "overhead o", amount_text(model.overhead_s, "time")
        yield "gap g", f"{amount_text(model.gap_s, 'time')} (sends, and receives, of a rank begin g + x G apart)"
        yield "time per byte G", f"{amount_text(model.per_byte_s, 'per_byte')} ({bandwidth_text(model.per_byte_s)})"
        yield "overhead per byte O", amount_text(model.overhead_per_byte_s, "per_byte")
    yield "rendezvous above S", "never" if limit is None else amount_text(limit, "size")
    yield from _processing_rows(network)


def _message_model(network: Network, model: Hockney) -> str:
    startup, bytes_ = _startup_text(model), _bytes_text(model)
    if not model.bytes_hold_sender:
        parts = [part for part in (_way(network, model), bytes_) if part != "0"]
        return f"m bytes occupy the sender for {startup} and arrive {' + '.join(parts) or '0'} later, over h hops"
    if not model.flight_holds_sender:
        way = _way(network, model)
        return f"m bytes occupy the sender for {startup} + {bytes_} and arrive {way} later, over h hops"
    times = "max(h, 1) x " if model.startup_per == HOP else ""
    parts = [f"{times}{startup}", *_hop_parts(network), bytes_, *_slow_link_parts(network)]
    return f"m bytes over h hops occupy the sender for {' + '.join(parts)}"


def _way(network: Network, model: Hockney) -> str:
    """Time that the hops of a message add without holding its sender."""
    parts = [f"max(h - 1, 0) x {_startup_text(model)}"] if model.startup_per == HOP else []
    return " + ".join([*parts, *_hop_parts(network), *_slow_link_parts(network)]) or "0"


def _hop_parts(network: Network) -> list[str]:
    latency = f"({_latency_text(network)})" if network.links_differ else _latency_text(network)
    parts = [f"h x {latency}"] if network.longest_hop_latency_s else []
    if network.is_stored:
        stored = (
            "m"
            if np.isinf(network.sharing.stored_bytes)
            else f"min(m, {amount_text(network.sharing.stored_bytes, 'size')})"
        )
        parts.append(f"max(h - 1, 0) x {stored} / ({bandwidth_text(network.link_occupancy_s_per_byte)})")
    return parts


def _slow_link_parts(network: Network) -> list[str]:
    """Additional time of bytes on links that are slower than messages."""
    slower = np.any(np.asarray(network.link_occupancy_s_per_byte) > network.message_model.least_s_per_byte)
    return ["what m takes longer on the slowest link of the route"] if network.has_own_links and slower else []


def _startup_text(part: MessageModel | LocalMessages) -> str:
    """Return the startup of a message, or that it depends on its size."""
    return "the startup of its size" if part.segments else amount_text(part.startup_s, "time")


def _bytes_text(part: MessageModel | LocalMessages) -> str:
    """Time of the m bytes of a message."""
    if part.segments:
        return "m / (the bandwidth of its size)"
    return f"m / ({bandwidth_text(part.per_byte_s)})" if np.any(np.asarray(part.per_byte_s)) else "0"


def segment_tables(network: Network) -> Iterator[Table]:
    """Yield a table of the segments of messages over the network, within nodes and between sockets.

    If these have any.
    """
    model = network.message_model
    if model.segments:
        yield _segment_table("Messages over the network, by size", model, model.segments)
    for title, part in (
        ("Messages within a node, by size", network.node),
        ("Messages between sockets, by size", network.socket),
    ):
        if part is not None and part.segments:
            yield _segment_table(title, model, part.segments)


def _segment_table(title: str, model: MessageModel, segments: Sequence[SizeSegment]) -> Table:
    if isinstance(model, Hockney):
        return _hockney_table(title, [one for one in segments if isinstance(one, HockneySegment)], model)
    table = text_table(title, "size", *model.constants_by_size(), "sender waits")
    for size, segment in zip(_sizes(segments), segments, strict=True):
        texts = [
            amount_text(getattr(segment, name), dimension) for name, dimension in model.constants_by_size().values()
        ]
        table.add_row(size, *texts, _waits(segment))
    return table


def _hockney_table(title: str, segments: Sequence[HockneySegment], model: Hockney) -> Table:
    table = text_table(title, "size", "startup", "bandwidth", "charged to the receiver", "sender waits")
    for size, segment in zip(_sizes(segments), segments, strict=True):
        own_s = segment.receive_overhead_s
        table.add_row(
            size,
            amount_text(segment.startup_s, "time"),
            bandwidth_text(segment.per_byte_s),
            amount_text(model.receive_overhead_s if own_s is None else own_s, "time"),
            _waits(segment),
        )
    return table


def level_tables(machine: Machine) -> Iterator[Table]:
    """Yield a table of the networks between and inside nodes, outermost first, if there are several."""
    if not machine.has_levels:
        return
    columns = ("network", "joins", "topology", "longest way (hops)", "message of m bytes", "a hop", "link", "interface")
    table = text_table("Levels", *columns)
    kinds = zip(machine.node_kinds, machine.partitions, strict=False) if len(machine.node_kinds) > 1 else ()
    names = {kind.first_node: one.name for kind, one in kinds}
    for level in machine.numbered_levels:
        network, path = level.network, PATHS[level.depth]
        what = ("nodes", "processors of a node", "processors of a socket")[level.depth]
        what = "sockets of a node" if level.depth == 1 and level.kind.socket_network is not None else what
        if level.depth and names:
            path = f"partitions.{names[level.kind.first_node]}.{path}"
        table.add_row(
            path,
            f"{network.topology.node_count:,} {what}",
            network.topology.kind,
            f"{network.topology.diameter:,}",
            message_text(network),
            amount_text(network.longest_hop_latency_s, "time"),
            bandwidth_text(network.link_occupancy_s_per_byte),
            bandwidth_text(network.interface_occupancy_s_per_byte),
        )
    yield table


def message_text(network: Network) -> str:
    """Time of a message of m bytes on a network."""
    ends = ", at both ends" if network.message_model.holds_both_ends else ""
    switches = f"; in switches + {_switch_text(network)}" if network.combines_in_switches else ""
    return f"{_first_text(network)} + {_bytes_text(network.message_model)}{ends}{switches}"


def _switch_text(network: Network) -> str:
    """Time that switches take to combine messages of m bytes."""
    assert network.switch_latency_s is not None
    latency, per_byte_s = amount_text(network.switch_latency_s, "time"), network.switch_per_byte_s
    return latency if per_byte_s is None else f"{latency} + m / {bandwidth_text(per_byte_s)}"


def _first_text(network: Network) -> str:
    """Time of a message before its bytes."""
    return "2o + L" if isinstance(network.message_model, LogGOPS) else _startup_text(network.message_model)


def _sizes(segments: Sequence[SizeSegment]) -> Iterator[str]:
    """Yield the sizes of messages of each segment."""
    below = "0 B"
    for segment in segments:
        if np.all(np.isinf(segment.up_to_bytes)):
            yield "all" if len(segments) == 1 else f"above {below}"
        else:
            below = amount_text(segment.up_to_bytes, "size")
            yield f"up to {below}"


def _waits(segment: SizeSegment) -> str:
    return "for its receiver" if segment.rendezvous else "no"


#: Class of a model of messages -> its rows; others have plain ones.
_ROWS: dict[Any, Callable[[Network], Rows]] = {Hockney: _hockney_rows, LogGOPS: _loggops_rows}
