"""The data sheet of a machine: nodes, topology, messages, memory, disks, and what its file defines of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.analytic.queueing.busiest_links import busiest_link
from simcodesign.describe.constants import POWERS
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.memory import Memory
from simcodesign.describe.randomness.noise import Noise
from simcodesign.describe.resources import PREFIX, Component, Resource
from simcodesign.report.common.tables import section, text_table
from simcodesign.report.machines.part_rows import (
    accelerator_rows,
    mapping_text,
    storage_rows,
)
from simcodesign.report.machines.partition_table import partition_tables
from simcodesign.report.results.data_sheets import (
    Rows,
    amount_text,
    bandwidth_text,
    cache_text,
    head,
    parameter_table,
)
from simcodesign.report.results.message_rows import level_tables, message_rows, segment_tables


def machine_sheet(machine: Machine) -> list[RenderableType]:
    """Return the data sheet of a machine."""
    return [
        head("machine", machine),
        section("Nodes", _node_rows(machine)),
        *partition_tables(machine),
        section("Topology", _topology_rows(machine)),
        section("Messages", message_rows(machine)),
        *segment_tables(machine.network),
        *level_tables(machine),
        section("Memory of a node", [*_capacity_rows(machine), *_memory_rows(machine.memory), *_message_rows(machine)]),
        section("Disks", [("disks", "none")] if machine.disk is None else _disk_rows(machine, machine.disk)),
        *_stated_parts(machine),
        *_custom_parts(machine),
    ]


def _stated_parts(machine: Machine) -> Iterator[RenderableType]:
    """Yield the parts that most machines have not."""
    if machine.accelerator is not None:
        yield section("Accelerators", accelerator_rows(machine, machine.accelerator))
    if machine.storage is not None:
        yield section("Storage of all nodes", storage_rows(machine.storage))


def _custom_parts(machine: Machine) -> Iterator[RenderableType]:
    """Yield constructs that the file defines of its own, and its power and costs."""
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
    names = ("name", "count", "static power (W)", "rack units", "die area (m2)", "price", "carbon (kg)")
    table = text_table("Components", *names)
    for name, one in components.items():
        parts = (one.static_power, one.rack_units, one.die_area, one.price, one.embodied_carbon)
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
    if totals.embodied_carbon_kg is not None:
        yield "embodied carbon", f"{float(totals.embodied_carbon_kg):,.6g} kg"
    if (own := machine.custom.ownership) is not None:
        stated = ((own.energy_price, "a kWh costs {:g}"), (own.carbon_intensity, "and emits {:g} g of CO2"))
        texts = [text.format(value) for value, text in stated if value is not None]
        yield "ownership", ", ".join([f"{own.years:g} years", f"PUE {own.pue:g}", *texts])


def _node_rows(machine: Machine) -> Rows:
    processor = machine.processor
    if machine.nodes_by_ranks is not None:
        yield "nodes", "as many as the ranks need (P)"
        yield "processors", f"{machine.processors_per_node} per node"
    else:
        yield "nodes", f"{machine.nodes:,}"
        each = sorted({kind.processors for kind in machine.node_kinds})
        yield "processors", f"{machine.processors:,} ({' or '.join(map(str, each))} per node)"
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
    yield "mapping of ranks", mapping_text(machine)
    if isinstance(machine.noise, Noise):
        yield from machine.noise.texts()
    else:
        yield "noise of computation", f"{machine.noise:.3g} (standard deviation over mean)" if machine.noise else "none"
    if machine.failures is not None:
        yield "failures", machine.failures.text
    if machine.background is not None:
        yield "background", f"{machine.background.nodes} nodes{machine.background.traffic()}"


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
        yield level.name, cache_text(level)
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


def _message_rows(machine: Machine) -> Rows:
    """Use of a node's memory by messages within it."""
    if machine.node_memory is None:
        return
    assumed = " (assumed)" if machine.node_memory.copies_assumed else ""
    copies = f"{amount_text(machine.node_memory.copies, 'count')} times{assumed}"
    yield "messages within the node", f"copied {copies}, {bandwidth_text(machine.message_memory_s_per_byte)}"
    yield "pass through memory", f"if an operation touches more than {amount_text(machine.message_cache_bytes, 'size')}"


def _controller_rows(memory: Memory) -> Rows:
    """Return the memory controllers of a node, if there are several."""
    if memory.controllers == 1:
        return
    yield "memory controllers", f"{memory.controllers}, one for each socket, each of that bandwidth"
    yield "data of a rank", memory.policy.replace("_", " ")
    if memory.remote is not None:
        stated = memory.remote.latency_s, memory.remote.per_byte_s
        latency = "" if stated[0] is None else amount_text(stated[0], "time")
        bandwidth = "" if stated[1] is None else f"{bandwidth_text(stated[1])} between sockets"
        yield "memory of other sockets", ", ".join(filter(None, (latency, bandwidth)))


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
    yield "mean distance (hops)", f"{machine.network.mean_hops:.4g}{machine.network.routing.words}"
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
