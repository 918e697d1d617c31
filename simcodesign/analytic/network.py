"""Closed forms of messages: Hockney's model, one formula per collective algorithm, vectorised over everything.

Formulas hold for any number of ranks P and a receive overhead r; s(m) is the time of a message of m bytes. They assume
that all ranks start together and that no link or interface is shared. Sources: R. Hockney, "The communication challenge
for MPP", Parallel Computing 20 (1994); Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005); distance laws log2 P and sqrt P:
Armstrong and Eigenmann, SPECseis96, section "Modeling Communication".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Network
from simcodesign.describe.topology import balanced_shape
from simcodesign.units import Amount


@dataclass(frozen=True)
class Price:
    """What messages cost among ``ranks`` ranks: s(m) = ``empty_s + m per_byte_s`` for the sender, ``receive_s`` for the
    receiver."""

    ranks: Amount
    empty_s: Amount
    per_byte_s: Amount
    receive_s: Amount

    def message_s(self, size_bytes: Amount) -> Amount:
        """Time of a message: startup, latency of the hops, bytes."""
        return self.empty_s + self.per_byte_s * size_bytes


def price(network: Network, ranks: Amount, hops: Amount | None = None) -> Price:
    """The price list of a network by its distance law, or for messages of ``hops`` hops."""
    h = lawful_hops(network, ranks) if hops is None else hops
    relays = np.maximum(h, 1.0) if network.startup_per == "hop" else 1.0
    empty = network.startup_s * relays + h * network.hop_latency_s
    per_byte = network.per_byte_s
    if network.switching == "store_and_forward":
        per_byte = per_byte + np.maximum(h - 1.0, 0.0) * network.link_occupancy_s_per_byte
    return Price(ranks, empty, per_byte, network.receive_overhead_s)


def lawful_hops(network: Network, ranks: Amount) -> Amount:
    """Hops of every message by the distance law of the network: 1, log2 P, sqrt P, or the topology's mean."""
    if network.distance == "one":
        return 1.0
    if network.distance == "mean":
        return network.topology.mean_hops()
    hops: Amount = np.log2(ranks) if network.distance == "log2" else np.sqrt(ranks)
    return hops


@dataclass(frozen=True)
class Cost:
    """Time of one operation of all ranks, and what it sends in total."""

    time_s: Amount
    messages: Amount
    message_bytes: Amount


def floor_log2(count: Amount) -> NDArray[np.float64]:
    """Largest k with 2^k <= count, exactly."""
    return np.asarray(np.frexp(count)[1] - 1.0)


def ceil_log2(count: Amount) -> NDArray[np.float64]:
    """Smallest k with 2^k >= count, exactly."""
    whole = floor_log2(count)
    return np.where(np.exp2(whole) < count, whole + 1.0, whole)


def broadcast_binomial(size: Amount, p: Price) -> Cost:
    """The root sends ceil(log2 P) times in a row; the longest chain of receivers has floor(log2 P) members."""
    time = ceil_log2(p.ranks) * p.message_s(size) + floor_log2(p.ranks) * p.receive_s
    return Cost(time, p.ranks - 1, (p.ranks - 1) * size)


def broadcast_linear(size: Amount, p: Price) -> Cost:
    """The root sends P - 1 times; the last receiver receives."""
    others = p.ranks - 1
    return Cost(others * p.message_s(size) + np.minimum(others, 1) * p.receive_s, others, others * size)


def allreduce_recursive_doubling(size: Amount, p: Price) -> Cost:
    """floor(log2 P) exchanges, and one message before and one after when P is no power of two."""
    rounds = floor_log2(p.ranks)
    power: Amount = np.exp2(rounds)
    rest = p.ranks - power
    time = (rounds + np.where(rest > 0, 2.0, 0.0)) * (p.message_s(size) + p.receive_s)
    messages = power * rounds + 2 * rest
    return Cost(time, messages, messages * size)


def allreduce_ring(size: Amount, p: Price) -> Cost:
    """2 (P - 1) steps with a P-th of the data."""
    part = allgather_ring(size / p.ranks, p)
    return Cost(2 * part.time_s, 2 * part.messages, 2 * part.message_bytes)


def allreduce_reduce_broadcast(size: Amount, p: Price) -> Cost:
    """Up the binomial tree in floor(log2 P) messages and ceil(log2 P) receives of the root, then a broadcast."""
    down = broadcast_binomial(size, p)
    up = floor_log2(p.ranks) * p.message_s(size) + ceil_log2(p.ranks) * p.receive_s
    return Cost(up + down.time_s, 2 * down.messages, 2 * down.message_bytes)


def allgather_ring(size: Amount, p: Price) -> Cost:
    """P - 1 steps of one message each way."""
    steps = p.ranks - 1
    return Cost(steps * (p.message_s(size) + p.receive_s), p.ranks * steps, p.ranks * steps * size)


def allgather_bruck(size: Amount, p: Price) -> Cost:
    """ceil(log2 P) rounds, in which every rank passes on the P - 1 blocks of the others."""
    return _rounds(p, (p.ranks - 1) * size)


def all_to_all_bruck(size: Amount, p: Price) -> Cost:
    """ceil(log2 P) rounds; in round k go the blocks whose distance 1..P-1 has bit k set."""
    blocks: Amount = 0.0
    for k in range(int(np.max(ceil_log2(p.ranks)))):
        pairs = np.floor(p.ranks / 2 ** (k + 1)) * 2**k
        blocks = blocks + pairs + np.maximum(p.ranks - 2 * pairs - 2**k, 0.0)
    return _rounds(p, blocks * size)


def barrier_dissemination(size: Amount, p: Price) -> Cost:
    """ceil(log2 P) rounds of a message each."""
    return _rounds(p, ceil_log2(p.ranks) * size)


def _rounds(p: Price, sent: Amount) -> Cost:
    """ceil(log2 P) rounds in which every rank sends and receives a message, ``sent`` bytes of each rank in all."""
    rounds = ceil_log2(p.ranks)
    time = rounds * (p.empty_s + p.receive_s) + p.per_byte_s * sent
    return Cost(time, rounds * p.ranks, sent * p.ranks)


def halo(sizes: Sequence[Amount], grid: Sequence[Amount], periodic: bool, p: Price) -> Cost:
    """A message to each neighbour of a rank inside the grid: two per dimension, one if the edge is never far."""
    time: Amount = 0.0
    messages: Amount = 0.0
    total: Amount = 0.0
    for size, extent in zip(sizes, grid, strict=True):
        most = np.where(extent > 1, 2.0 if periodic else np.minimum(extent - 1, 2.0), 0.0)
        sent = 2.0 * np.where(extent > 1, p.ranks if periodic else p.ranks / extent * (extent - 1), 0.0)
        time = time + most * (p.message_s(size) + p.receive_s)
        messages, total = messages + sent, total + sent * size
    return Cost(time, messages, total)


def process_grid(ranks: Amount, dims: int) -> list[Amount]:
    """Extents of the balanced process grid of every number of ranks."""
    several, where = np.unique(ranks, return_inverse=True)
    shapes = np.array([balanced_shape(int(count), dims) for count in several], dtype=np.float64)
    return [shapes[where.reshape(np.shape(ranks)), dim] for dim in range(dims)]


#: (collective, algorithm) -> closed form.
FORMULAS: dict[tuple[str, str], Callable[[Amount, Price], Cost]] = {
    ("broadcast", "binomial"): broadcast_binomial,
    ("broadcast", "linear"): broadcast_linear,
    ("allreduce", "recursive_doubling"): allreduce_recursive_doubling,
    ("allreduce", "ring"): allreduce_ring,
    ("allreduce", "reduce_broadcast"): allreduce_reduce_broadcast,
    ("allgather", "ring"): allgather_ring,
    ("allgather", "bruck"): allgather_bruck,
    ("allgather", "linear"): allgather_ring,
    ("all_to_all", "pairwise"): allgather_ring,
    ("all_to_all", "linear"): allgather_ring,
    ("all_to_all", "bruck"): all_to_all_bruck,
    ("all_broadcast", "linear"): allgather_ring,
    ("barrier", "dissemination"): barrier_dissemination,
}
