"""The data sheet of a machine: the ranks on partitions, accelerators, storage, and messages by size."""

from __future__ import annotations

import itertools

import numpy as np

from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.efficiency import Efficiency
from simcodesign.describe.machine_parts.storage import Storage
from simcodesign.describe.partitions import partitions_of
from simcodesign.report.results.data_sheets import Rows, amount_text, bandwidth_text

#: Maximum number of runs of listed ranks shown for one partition.
MOST_RUNS = 8


def accelerator_rows(machine: Machine, accelerator: Accelerator) -> Rows:
    """How many there are, what they do, and how they are joined to their hosts."""
    ranks = machine.ranks_of_an_accelerator
    sharing = f"; {ranks} ranks share one if all processors are in use" if ranks > 1 else ""
    yield "accelerators of a node", f"{accelerator.count}{sharing}"
    if accelerator.rate_flop_per_s is not None:
        yield "rate", amount_text(accelerator.rate_flop_per_s, "rate")
    for name, rate in accelerator.rates.stated().items():
        yield f"rate in {name}", amount_text(rate, "rate")
    if np.any(np.not_equal(accelerator.efficiency, 1)):
        yield "efficiency of kernels", amount_text(accelerator.efficiency, "count")
    if accelerator.efficiency_by_shape is not None:
        yield "efficiency by shape", _table_text(accelerator.efficiency_by_shape)
    if (of_attention := accelerator.attention_efficiency) is not None:
        table = accelerator.attention_efficiency_by_shape
        if table is None or np.any(np.not_equal(of_attention, 1)):
            yield "efficiency of attention", amount_text(of_attention, "count")
        if table is not None:
            yield "efficiency of attention by shape", _table_text(table)
    yield "launch of a kernel", amount_text(accelerator.launch_s, "time")
    if accelerator.memory_per_byte_s is not None:
        bandwidth = bandwidth_text(accelerator.memory_per_byte_s)
        yield "memory", f"{bandwidth}, latency {amount_text(accelerator.memory_latency_s, 'time')}"
        yield from _ridge_rows(accelerator)
    if accelerator.capacity_bytes is not None:
        each = machine.rank_accelerator_bytes
        is_less = ranks > 1 or accelerator.reserved_bytes
        share = f" ({amount_text(each, 'size')} a rank)" if is_less and each is not None else ""
        yield "capacity", f"{amount_text(accelerator.capacity_bytes, 'size')}{share}"
    if accelerator.link_per_byte_s is not None:
        duplex = "in each direction" if accelerator.is_full_duplex else "in one direction at a time"
        yield "link to the host", f"{bandwidth_text(accelerator.link_per_byte_s)} {duplex}"
        yield "latency of a copy", amount_text(accelerator.link_latency_s, "time")


def _table_text(by_shape: Efficiency) -> str:
    """Return the formula, and the number of points over it if there are any."""
    over = f"a table of {len(by_shape.points)} points over " if by_shape.points else ""
    return f"{over}{by_shape.formula.text}"


def _ridge_rows(accelerator: Accelerator) -> Rows:
    """Where a kernel needs as long for its flops as for its bytes (the roofline), at each rate."""
    assert accelerator.memory_per_byte_s is not None
    ridge = "flops of a byte at the ridge point"
    if accelerator.rate_flop_per_s is not None:
        yield ridge, amount_text(accelerator.rate_flop_per_s * accelerator.memory_per_byte_s, "count")
    for name, rate in accelerator.rates.stated().items():
        yield f"{ridge} in {name}", amount_text(rate * accelerator.memory_per_byte_s, "count")


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


def mapping_text(machine: Machine) -> str:
    """Return the mapping by its name.

    For a list, the nodes, or how many ranks after one another are on each partition.
    """
    if not isinstance(machine.mapping, tuple):
        return str(machine.mapping)
    if machine.partitions:
        runs = itertools.groupby(partitions_of(machine.partitions, np.array(machine.mapping)).tolist())
        texts = [f"{len([*run]):,} on {machine.partitions[number].name}" for number, run in runs]
        if len(texts) <= MOST_RUNS:
            return f"ranks: {', '.join(texts)}"
    return f"nodes {', '.join(map(str, machine.mapping))}"
