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

from simcodesign.describe.machine import Network
from simcodesign.describe.topology import balanced_shape
from simcodesign.units import Amount


@dataclass(frozen=True)
class Price:
    """What messages cost among ``ranks`` ranks: s(m) = ``message_s(m)`` for the sender, r = ``receive_s`` for the receiver.

    ``hops`` is what the distance law of the network gives, unless another number is asked for.
    """

    network: Network
    ranks: Amount
    hops: Amount

    @property
    def receive_s(self) -> Amount:
        """Overhead of the receiver."""
        return self.network.receive_overhead_s

    def message_s(self, size_bytes: Amount) -> Amount:
        """Time of a message: startup, latency of the hops, bytes."""
        network = self.network
        relays = np.maximum(self.hops, 1.0) if network.startup_per == "hop" else 1.0
        time = network.startup_s * relays + self.hops * network.hop_latency_s
        if network.switching == "store_and_forward":
            again = np.maximum(self.hops - 1.0, 0.0)
            time = time + again * size_bytes * network.link_occupancy_s_per_byte
        return time + size_bytes * network.per_byte_s


def price(network: Network, ranks: Amount, hops: Amount | None = None) -> Price:
    """The price list of a network by its distance law, or for messages of ``hops`` hops."""
    if hops is None:
        laws: dict[str, Callable[[Amount], Amount]] = {"one": np.ones_like, "log2": np.log2, "sqrt": np.sqrt}
        hops = laws[network.distance](np.asarray(ranks, dtype=np.float64))
    return Price(network, ranks, hops)


@dataclass(frozen=True)
class Cost:
    """Time of one operation of all ranks, and what it sends in total."""

    time_s: Amount
    messages: Amount
    message_bytes: Amount


def floor_log2(count: Amount) -> Amount:
    """Largest k with 2^k <= count, exactly."""
    return np.frexp(count)[1] - 1.0


def ceil_log2(count: Amount) -> Amount:
    """Smallest k with 2^k >= count, exactly."""
    whole = floor_log2(count)
    return whole + (np.exp2(whole) < count)


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
    power = np.exp2(rounds)
    rest = p.ranks - power
    time = (rounds + 2 * (rest > 0)) * (p.message_s(size) + p.receive_s)
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
    """ceil(log2 P) rounds of min(2^k, P - 2^k) blocks."""
    return _rounds(p, lambda bit: np.minimum(bit, p.ranks - bit) * size)


def all_to_all_bruck(size: Amount, p: Price) -> Cost:
    """ceil(log2 P) rounds; in round k go the blocks whose distance 1..P-1 has bit k set."""

    def sent(bit: float) -> Amount:
        whole = np.floor(p.ranks / (2 * bit))
        return (whole * bit + np.maximum(p.ranks - whole * 2 * bit - bit, 0.0)) * size

    return _rounds(p, sent)


def barrier_dissemination(size: Amount, p: Price) -> Cost:
    """ceil(log2 P) rounds of an empty message."""
    return _rounds(p, lambda bit: size)


def _rounds(p: Price, sent: Callable[[float], Amount]) -> Cost:
    """A round with a message of ``sent(2^k)`` bytes of every rank for each 2^k < P."""
    time: Amount = np.zeros(np.shape(p.ranks))
    messages, total = time, time
    for k in range(int(np.max(ceil_log2(p.ranks)))):
        bit = float(2**k)
        here = bit < np.asarray(p.ranks)
        size = np.where(here, sent(bit), 0.0)
        time = time + here * (p.message_s(size) + p.receive_s)
        messages, total = messages + here * p.ranks, total + here * p.ranks * size
    return Cost(time, messages, total)


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
