"""The bandwidth of interfaces under load, from an all-to-all on two full nodes.

Pairwise exchange of P = 2 p ranks on two nodes has rounds i = 1 to P - 1, in which ``k_out = min(i, p, P - i)`` ranks
of a node send to the other node and ``k_in = p - k_out`` within it, m bytes each. A round takes the longer of

    outside:  t(m) + max(0, k_out m / R_N - m b)     t, b: a message alone and its time per byte between nodes
    inside:   max(h t_in(m), k_in m / R_m)           h = 2 if messages hold both ends; R_m: the node's memory, if the
                                                     operation touches 2 P m bytes or more than the cache

with the rate R_N of a node's interfaces under load. Their sum falls as R_N rises, so that the measured time has one. A
Sendrecv does not show it: in its chain one rank of a node sends to another node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from simcodesign.analytic.messages.costs_by_size import at_size, local_at_size
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.messages.route_links import modelled_hops
from simcodesign.calibration.benchmarks.levels import PER_NODE
from simcodesign.calibration.benchmarks.samples import NODES, MachineConstant, samples
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.fitting.measurements import FloatArray
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkTable

PATH = "network.interfaces.loaded_per_byte"
OPERATION = "all_to_all"
#: The size of message that counts: the largest up to this one, and not below the other.
MOST_BYTES, LEAST_BYTES = 2.0**20, 2.0**16


def loaded_interfaces(
    tables: Sequence[BenchmarkTable], machine: Machine
) -> tuple[MachineConstant | None, tuple[str, ...]]:
    """Return the time per byte of an interface under load, with what was assumed.

    ``machine``: with all constants of messages that were determined.
    """
    every = samples(tables, OPERATION, by=("bytes", "P", NODES))
    each = machine.processors_per_node
    full = [one for one in every if one.parameters[NODES] == 2 and one.parameters["P"] == 2 * each]
    if not full:
        return None, _unused(tables, machine)
    taken = [one for one in full if LEAST_BYTES <= one.parameters["bytes"] <= MOST_BYTES]
    if not taken:
        sizes = f"of {LEAST_BYTES:g} to {MOST_BYTES:g} bytes"
        return None, (f"all_to_all on two full nodes has no size {sizes}: it does not show loaded interfaces.",)
    one = max(taken, key=lambda sample: sample.parameters["bytes"])
    size = one.parameters["bytes"]
    rounds = PairwiseRounds.of(machine, size)
    note = f"all_to_all of {size:g} bytes is taken to be by pairwise exchange, ranks filling node after node."
    found = rounds.rate(one.median)
    if found is None:
        why = "no longer than without load" if one.median <= rounds.seconds(np.inf) else "longer than any load explains"
        return None, (note, f"It takes {why}: {PATH} is not determined.")
    slow, fast = (rounds.rate(value) or np.nan for value in (max(one.values), min(one.values)))
    interval = (np.nan, np.nan) if slow == fast else (1 / fast, 1 / slow)
    interfaces = machine.network.interfaces.count * machine.network.rails
    how = f"all_to_all of {size:g} bytes on two full nodes"
    value, low, high = (interfaces * per_byte for per_byte in (1 / found, *interval))
    return MachineConstant(PATH, value, low, high, how, one.lines), (note,)


def _unused(tables: Sequence[BenchmarkTable], machine: Machine) -> tuple[str, ...]:
    """Describe rows of all-to-all on several nodes that are not two full ones, or that state no nodes."""
    rows = [row for table in tables for row in table.rows if row.operation == OPERATION and row.quantity == "time"]
    if not rows or machine.processors_per_node < 2 or all(row.parameters.get(NODES) == 1 for row in rows):
        return ()
    each = machine.processors_per_node
    state = f"--given {NODES}=2 --given {PER_NODE}={each}"
    return (f"all_to_all does not show loaded interfaces: no row is of two full nodes of {each} ranks ({state}).",)


@dataclass(frozen=True)
class PairwiseRounds:
    """Times of the rounds of a pairwise exchange on two full nodes.

    Outside alone and inside (R,), and bytes in seconds per (byte/s) that leave a node in each.
    """

    outside_s: float
    per_byte_s: float
    inside_s: FloatArray
    size_bytes: float
    leaving: FloatArray

    @classmethod
    def of(cls, machine: Machine, size_bytes: float) -> PairwiseRounds:
        """Return the rounds of messages of this size on a machine."""
        each = machine.processors_per_node
        turn = np.arange(1, 2 * each, dtype=float)
        leaving = np.minimum(np.minimum(turn, float(each)), 2 * each - turn)
        network = at_size(machine.network, size_bytes)
        alone_s = _alone_s(machine.network, size_bytes, float(np.max(modelled_hops(machine.network, 2.0 * each))))
        per_byte_s = float(np.max(network.message_model.per_byte_s))
        both_ways = 1.0 if machine.network.interfaces.is_full_duplex else 2.0
        return cls(alone_s, per_byte_s, _inside_s(machine, size_bytes, each - leaving), size_bytes, both_ways * leaving)

    def seconds(self, rate: float) -> float:
        """Return the time of all rounds with this rate of a node's interfaces."""
        load_s = np.maximum(self.leaving / rate - self.per_byte_s, 0.0) * self.size_bytes
        return float(np.sum(np.maximum(self.outside_s + load_s, self.inside_s)))

    def rate(self, seconds: float) -> float | None:
        """Return the rate of a node's interfaces with which the rounds take ``seconds``; None if there is none."""
        least, most = 1e-3 / self.per_byte_s, float(np.max(self.leaving)) / self.per_byte_s
        if not self.seconds(most) < seconds < self.seconds(least):
            return None
        # In the logarithm, because rates may differ by orders of magnitude.
        root = brentq(lambda power: self.seconds(float(np.exp(power))) - seconds, np.log(least), np.log(most))
        return float(np.exp(root))


def _alone_s(network: Network, size_bytes: float, hops: float) -> float:
    """Return the time of a message alone, one way."""
    return float(np.max(price(network, 2.0, hops).message(size_bytes).whole_s))


def _inside_s(machine: Machine, size_bytes: float, count: FloatArray) -> FloatArray:
    """Return the time of ``count`` messages within each node in a round, (R,); 0 if there are none."""
    network = machine.node_network
    if network is None:
        local = machine.network.node
        alone_s = _alone_s(machine.network, size_bytes, 0.0)
        if local is not None:
            part = local_at_size(local, size_bytes)
            alone_s = float(np.max(part.startup_s + size_bytes * part.per_byte_s))
        return np.where(count > 0, alone_s, 0.0)
    model = network.message_model
    holds = bool(getattr(model, "holds_receiver", False))
    lone = replace(network, message_model=replace(model, holds_receiver=False)) if holds else network  # type: ignore[call-arg]
    alone_s = (2.0 if holds else 1.0) * _alone_s(lone, size_bytes, float(np.max(modelled_hops(lone, 2.0))))
    footprint_bytes = 2.0 * 2.0 * machine.processors_per_node * size_bytes
    passes_memory = footprint_bytes > np.max(machine.message_cache_bytes)
    memory = machine.memory.controllers if machine.memory is not None else 1
    load = float(np.max(machine.message_memory_s_per_byte)) / memory if passes_memory else 0.0
    return np.where(count > 0, np.maximum(alone_s, count * size_bytes * load), 0.0)
