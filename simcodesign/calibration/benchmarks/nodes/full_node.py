"""Constants that messages of a full node show and messages alone do not.

Whether both ends are held, and the node's memory.

A round in which all k ranks of a node send and receive m bytes takes ``max(2 t(m), k m / R_m)`` with the time t of a
message alone, 2 only if a message holds both of its ends, and the rate R_m of the memory, if the operation touches more
bytes than a rank's share C of the last cache. ``copies`` of ``node.memory`` is STREAM / (2 R_m): what a message loads
the memory with, over its bytes read and written. Source: the max-rate model of Gropp, Olson, Samfass, EuroMPI 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simcodesign.calibration.benchmarks.levels import NODE, OUTSIDE, level_of
from simcodesign.calibration.benchmarks.samples import Lines, MachineConstant, Sample, samples, united
from simcodesign.describe.machine import Machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

COPIES, CACHE = "node.memory.copies", "node.memory.cache"
HOLDS_RECEIVER = f"{NODE}.holds_receiver"
#: Concurrent operations of all ranks of a node, best first: quantity, and messages in flight per rank.
LOADED = {
    "sendrecv": ("time", 1.0),
    "multi_pair_window_both_ways": ("bandwidth", 1.0),
    "multi_pair_window": ("bandwidth", 1.0),
    "multi_pair_ping_pong": ("time", 0.5),
}
#: Messages both ways that take more than this many times as long as one way hold both of their ends: 2, otherwise 1.
BOTH = 1.5
#: The largest messages whose ends are compared if no cache is known: below, memory is not what limits them.
SMALL_BYTES = 64 * 1024.0
#: Bytes over time that rise by more than this at the largest size are not yet limited by memory.
RISING = 0.05
#: A full node that takes less than this many times as long as its messages alone does not show its memory.
NOT_LIMITED = 1.05


@dataclass(frozen=True)
class FullNode:
    """``holds_receiver``: None if nothing shows it, and ``lines`` the rows that do.

    ``copies``: None where no row determines it.
    """

    holds_receiver: bool | None = None
    lines: Lines = field(default_factory=dict)
    copies: MachineConstant | None = None
    notes: tuple[str, ...] = ()


def has_full_node(tables: Sequence[BenchmarkTable], machine: Machine) -> bool:
    """Return whether some row is of messages among all ranks of a node."""
    return any(_taken(tables, operation, machine) for operation in LOADED)


def full_node(
    tables: Sequence[BenchmarkTable], machine: Machine, memory: MachineConstant | None, cache: float | None = None
) -> FullNode:
    """Return what messages of a full node show.

    ``memory``: the time per byte by STREAM, None for the machine's own; ``cache``: a rank's share of the last cache,
    None for the machine's own.
    """
    cache = _cache_bytes(machine) if cache is None else cache
    holds, words, lines = _holds_receiver(tables, machine, cache)
    notes = [words] if words else []
    partly = _partly_filled(tables, machine)
    notes += [partly] if partly else []
    for operation in LOADED:
        taken = _taken(tables, operation, machine)
        if taken:
            why = _why_not(operation, taken, cache) or _no_memory(machine)
            if not why and _is_as_alone(operation, taken, tables, machine, bool(holds)):
                why = "ranks of a full node take as long as two ranks alone: the memory does not limit them"
            copies = None if why else _copies(operation, max(taken, key=_size), machine, memory)
            note = f"{COPIES} is not determined by {operation} on a full node: {why}." if why else ""
            notes += [note] if note else []
            return FullNode(holds, lines, copies, tuple(notes))
    return FullNode(holds, lines, None, tuple(notes))


def _in_node(
    tables: Sequence[BenchmarkTable], operation: str, machine: Machine, quantity: str = "time"
) -> list[Sample]:
    """Return samples of one node, of host memory and messages that have bytes."""
    rows = [
        replace(table, rows=tuple(row for row in table.rows if level_of(row, machine) not in ("", OUTSIDE)))
        for table in tables
    ]
    return [one for one in samples(rows, operation, quantity) if one.parameters["bytes"] > 0]


def _taken(tables: Sequence[BenchmarkTable], operation: str, machine: Machine) -> list[Sample]:
    """Return samples of an operation of all ranks of one node."""
    quantity, _ = LOADED[operation]
    every = _in_node(tables, operation, machine, quantity)
    return [one for one in every if _ranks(one) == machine.processors_per_node > 1]


def _ranks(one: Sample) -> float:
    return one.parameters.get("P", 0.0) * one.parameters.get("groups", 1.0)


def _partly_filled(tables: Sequence[BenchmarkTable], machine: Machine) -> str:
    """Describe the rows of some ranks of a node, which show nothing of a full one."""
    ranks = {_ranks(one) for name, (kind, _) in LOADED.items() for one in _in_node(tables, name, machine, kind)}
    other = sorted(ranks - {float(machine.processors_per_node)})
    if not other:
        return ""
    numbers = ", ".join(f"{one:g}" if one else "an unknown number of" for one in other)
    each = machine.processors_per_node
    return f"Messages among {numbers} ranks of a node are not used: a full node of {machine.name} has {each} ranks."


def _cache_bytes(machine: Machine) -> float | None:
    """Return a rank's share of the last cache, if the machine states it."""
    if machine.node_memory is not None:
        return float(np.max(machine.message_cache_bytes))
    caches = () if machine.memory is None else machine.memory.caches
    return caches[-1].size_bytes / caches[-1].shared_by if caches else None


def _holds_receiver(
    tables: Sequence[BenchmarkTable], machine: Machine, cache: float | None
) -> tuple[bool | None, str, Lines]:
    """Return whether messages hold both ends, by how much longer both ways take than one way.

    Also return the words for it, and the rows that show it.
    """
    largest = SMALL_BYTES if cache is None else cache / 2  # a Sendrecv touches twice its bytes
    both, alone = _taken(tables, "sendrecv", machine), _in_node(tables, "ping_pong", machine)
    one_way = _slowest(alone)
    pairs = [(one, one_way[_size(one)]) for one in both if _size(one) <= largest and _size(one) in one_way]
    ratios = [two.median / one.median for two, one in pairs]
    what = "Sendrecv on a full node takes"
    if not pairs:
        pairs, what = _windows(tables, machine), "Windows both ways within a node take"
        ratios = [2 * one.median / two.median for two, one in pairs]
    if not pairs:
        why = "there are no ping-pongs within a node of the same sizes as Sendrecv on a full node"
        missing = f"Whether messages within a node hold their receivers is not shown: {why}, up to {largest:g} bytes."
        return None, missing if both else "", {}
    ratio = float(np.median(ratios))
    words = (
        f"{what} {ratio:.3g} times as long as one way (median of {len(ratios)} sizes): messages "
        f"{'hold' if ratio > BOTH else 'do not hold'} their receivers."
    )
    return ratio > BOTH, words, united(one.lines for some in pairs for one in some)


def _slowest(taken: Sequence[Sample]) -> dict[float, Sample]:
    """Return the samples by size: of several of one size, the slowest."""
    return {_size(one): one for one in sorted(taken, key=lambda one: one.median)}


def _windows(tables: Sequence[BenchmarkTable], machine: Machine) -> list[tuple[Sample, Sample]]:
    """Windows both ways and one way between two ranks of a node, of the same size."""
    one_way, both = (_slowest(_in_node(tables, name, machine, "bandwidth")) for name in ("window", "window_both_ways"))
    return [(both[size], one_way[size]) for size in sorted(one_way.keys() & both.keys())]


def _size(one: Sample) -> float:
    return one.parameters["bytes"]


def _copies(operation: str, largest: Sample, machine: Machine, memory: MachineConstant | None) -> MachineConstant:
    """Return ``copies`` by the largest size."""
    assert machine.memory is not None
    per_byte = memory.value if memory is not None else float(np.max(machine.memory.per_byte_s))
    stream = machine.memory.controllers / per_byte
    rates = [_rate(operation, largest, value) for value in largest.values]
    rate = _rate(operation, largest, largest.median)
    by = "STREAM" if memory is not None else f"the memory of {machine.name}"
    what = f"{operation} of {_size(largest):g} bytes on a full node"
    how = f"{what}, {rate / 1e9:.4g} GB/s of messages; {by}, {stream / 1e9:.4g} GB/s"
    lines = united([largest.lines, *([memory.lines] if memory is not None else [])])
    ends = (stream / (2 * max(rates)), stream / (2 * min(rates))) if len(rates) > 1 else (np.nan, np.nan)
    return MachineConstant(COPIES, stream / (2 * rate), *ends, how, lines)


def _rate(operation: str, one: Sample, value: float) -> float:
    """Bytes of messages per second of all ranks together, by one of the values."""
    quantity, per_rank = LOADED[operation]
    return value if quantity == "bandwidth" else per_rank * _ranks(one) * _size(one) / value


def _no_memory(machine: Machine) -> str:
    return "" if machine.memory is not None else f"{machine.name} states no memory, which messages would load"


def _why_not(operation: str, taken: Sequence[Sample], cache: float | None) -> str:
    """Return why the largest size does not show the memory; empty if it may."""
    *before, largest = sorted(taken, key=_size)
    at = f"{_size(largest):g} bytes, the largest size,"
    if cache is None:
        return f"nothing states a rank's share of the last cache; state caches, or --fix {CACHE}=1MiB"
    if _size(largest) <= cache:
        return f"{at} fit the cache of {cache:g} bytes per rank; measure up to {4 * cache:g} bytes or more"
    if not before:
        return f"{at} are the only one, so that nothing shows whether bytes over time still rise; measure more sizes"
    if _rate(operation, largest, largest.median) > (1 + RISING) * _rate(operation, before[-1], before[-1].median):
        return f"bytes over time still rise at {at} by more than {RISING:.0%}; measure larger messages"
    return ""


def _is_as_alone(
    operation: str, taken: Sequence[Sample], tables: Sequence[BenchmarkTable], machine: Machine, holds: bool
) -> bool:
    """Return whether the largest messages of a full node take as long as messages alone of the same size."""
    largest = max(taken, key=_size)
    alone = [one.median for one in _in_node(tables, "ping_pong", machine) if _size(one) == _size(largest)]
    if not alone or operation not in ("sendrecv", "multi_pair_ping_pong"):
        return False
    ends = 2.0 if holds and operation == "sendrecv" else 1.0
    return largest.median < NOT_LIMITED * ends * alone[0]
