"""The data sheet of a machine: what differs between its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from simcodesign.describe.constants import CONSTANTS
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import NodeKind
from simcodesign.describe.partitions import INSIDE, Partition
from simcodesign.describe.randomness.noise import PARTS, Noise
from simcodesign.report.common.tables import text_table
from simcodesign.report.results.data_sheets import Rows, amount_text, bandwidth_text, cache_text

#: Text for a part that nodes do not have.
NONE = "none"


def partition_tables(machine: Machine) -> Iterator[Table]:
    """Yield a table of the partitions, with a row for each property in which they differ."""
    if not machine.partitions:
        return
    kinds = machine.node_kinds
    every = kinds if len(kinds) > 1 else kinds * len(machine.partitions)
    columns = [dict(_rows(machine, one, kind)) for one, kind in zip(machine.partitions, every, strict=True)]
    table = text_table("Partitions", "what differs", *(one.name for one in machine.partitions))
    table.add_row("nodes", *_node_texts(machine))
    for name in dict.fromkeys(name for column in columns for name in column):
        texts = [column.get(name, NONE) for column in columns]
        if len({*texts}) > 1:
            table.add_row(name, *texts)
    yield table


def _node_texts(machine: Machine) -> Iterator[str]:
    """Yield the numbers of the nodes of every partition."""
    first = 0
    for one in machine.partitions:
        yield f"{first:,} to {first + one.nodes - 1:,}" if one.nodes > 1 else f"{first:,}"
        first += one.nodes


def _rows(machine: Machine, one: Partition, kind: NodeKind) -> Rows:
    """All that may differ, as the nodes of a partition have it."""
    yield "processors per node", str(kind.processors)
    common = machine.constants()
    for path in dict.fromkeys(path for other in machine.partitions for path in other.constants):
        value = one.constants.get(path, common.get(path))
        if path.startswith("network."):
            value = one.constants.get(path, machine.network.interface_occupancy_s_per_byte)
        inside = dict(zip(INSIDE, kind.networks, strict=False))
        lacks = any(path.startswith(prefix) and prefix not in inside for prefix in INSIDE)
        lacks = lacks or (path.startswith("accelerator.") and not one.has_accelerator)
        yield _constant_text(path, None if lacks else value)
    if machine.accelerator is not None:
        yield "accelerators of a node", str(machine.accelerator.count) if one.has_accelerator else NONE
    yield "network.interfaces.count", str(kind.interfaces)
    for prefix, network in zip(INSIDE, kind.networks, strict=False):
        yield f"{prefix}topology", network.topology.label
    if machine.memory is not None:
        for level in machine.memory.caches if one.caches is None else one.caches:
            yield f"caches.{level.name}", cache_text(level)
    noise = machine.noise_model if one.noise is None else one.noise
    yield from _noise_rows(noise)


def _constant_text(path: str, value: Any) -> tuple[str, str]:
    """Return a constant by its path; a time per byte as a bandwidth."""
    part, _, key = path.rpartition(".")
    if not key.endswith("per_byte"):
        return path, NONE if value is None else amount_text(value, CONSTANTS[path][2])
    return f"{part}.{key.replace('per_byte', 'bandwidth')}", NONE if value is None else bandwidth_text(value)


def _noise_rows(noise: Noise) -> Rows:
    for part, law in noise.parts.items():
        yield f"noise of {PARTS[part]}", law.text
