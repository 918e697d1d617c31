"""The messages of collective algorithms in the order in which every rank sends and receives them, step by step.

They list senders, receivers and sizes, for the loads of links and for bounds. Closed forms need no order if all
messages of a round cost the same. If some ranks share a node and others do not, ranks reach a round at different
times, and are followed through these steps (``rank_by_rank.alike_ranks``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Step:
    """A message from each source to its target.

    No rank sends or receives two of them; a rank that does both sends first. ``blocks``: of the bytes of the operation,
    divided by ``parts``, in a message; ``reduced``: of these blocks, how many its receiver combines with its own;
    ``owner``: whose bytes these are, where bytes differ by rank, of the source if None. ``packed``, ``unpacked``:
    blocks that every rank copies before and after. ``combined_by``: a network whose switches combine the messages,
    which then arrive later; ``signals``: there are no messages, the target only waits for the source.
    """

    source: Ints
    target: Ints
    blocks: FloatOrArray = 1.0
    reduced: FloatOrArray = 0.0
    parts: int = 1
    owner: Ints | None = None
    packed: int = 0
    unpacked: int = 0
    combined_by: Network | None = None
    signals: bool = False

    def size_bytes(self, size_bytes: FloatOrArray) -> FloatOrArray:
        """Compute the bytes of the messages of an operation of this size, or of (P,) bytes by rank."""
        if np.ndim(size_bytes):
            return np.asarray(size_bytes)[self.source if self.owner is None else self.owner]
        return size_bytes * self.blocks / self.parts

    def scaled(self, blocks: float) -> Step:
        """Return the step with ``blocks`` times the blocks."""
        return replace(self, blocks=self.blocks * blocks, reduced=self.reduced * blocks)

    def among(self, members: Ints) -> Step:
        """Return the step in several groups, ``members`` (groups, n)."""

        def each(values: FloatOrArray) -> FloatOrArray:
            return np.tile(values, len(members)) if np.ndim(values) else values

        source, target = (members[:, side].ravel() for side in (self.source, self.target))
        return replace(self, source=source, target=target, blocks=each(self.blocks), reduced=each(self.reduced))


@dataclass(frozen=True)
class Burst:
    """Messages of which each of n ranks sends n - 1, in this order (n - 1, n), and then receives as many.

    Received in the order of their sources (n - 1, n). Nothing follows it.
    """

    target: Ints
    source: Ints

    @property
    def messages(self) -> Iterator[Step]:
        """All messages, one of each rank at a time."""
        return (Step(np.arange(self.target.shape[1]), target) for target in self.target)


@dataclass(frozen=True)
class Joint:
    """Messages of several ``parts`` that ranks post together.

    A rank sends its message of each part, in order, then receives one of each, in order, and combines what a part has
    ``reduced``; in the end it combines ``reduced`` blocks of ``parts_of_bytes`` with its own.
    """

    parts: tuple[Step, ...]
    reduced: float = 0.0
    parts_of_bytes: int = 1

    def among(self, members: Ints) -> Joint:
        """Return the step in several groups, ``members`` (groups, n)."""
        return replace(self, parts=tuple(part.among(members) for part in self.parts))

    def scaled(self, blocks: float) -> Joint:
        """Return the step with ``blocks`` times the blocks."""
        return replace(self, parts=tuple(part.scaled(blocks) for part in self.parts), reduced=self.reduced * blocks)


Steps = Iterator[Step | Burst | Joint]


def bits(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [2**place for place in range(32) if 2**place < count]


def tree(count: int, up: bool = False, in_blocks: bool = False, reduced: float = 0.0, parts: int = 1) -> Steps:
    """Return a binomial tree in which a child has its parent's number and one more of the lowest bits.

    Down, the farthest child first; up, the nearest one. ``in_blocks``: a message has the blocks of a subtree.
    """
    for bit in bits(count) if up else reversed(bits(count)):
        parent = np.arange(0, count - bit, 2 * bit)
        blocks = np.minimum(bit, count - parent - bit).astype(np.float64) if in_blocks else 1.0
        yield _edges(parent, parent + bit, up, blocks, reduced, parts)


def near_tree(count: int, up: bool = False, in_blocks: bool = False, reduced: float = 0.0) -> Steps:
    """Return the binomial tree in which a child has one more of the highest bits: down, the nearest child first.

    Up, the farthest one.
    """
    for bit in reversed(bits(count)) if up else bits(count):
        child = np.arange(bit, min(2 * bit, count))
        blocks = ((count - 1 - child) // (2 * bit) + 1).astype(np.float64) if in_blocks else 1.0
        yield _edges(child - bit, child, up, blocks, reduced)


def binary_tree(count: int, up: bool = False, reduced: float = 0.0) -> Steps:
    """Rank r has the children 2 r + 1 and 2 r + 2: down, the left one first; up, the right one."""
    several = []
    for bit in [1, *(2 * each for each in bits(count))]:
        parent = np.arange(bit - 1, min(2 * bit - 1, count))
        several += [(parent, 2 * parent + 1), (parent, 2 * parent + 2)]
    for parent, child in reversed(several) if up else several:
        there = child < count
        yield _edges(parent[there], child[there], up, 1.0, reduced)


def interleaved_tree(count: int, up: bool = False, reduced: float = 0.0) -> Steps:
    """Rank r, one of the 2^l ranks from 2^l - 1 on, has the children r + 2^l and r + 2^(l + 1), in this order."""
    levels = [1, *(2 * each for each in bits(count))]
    for bit in reversed(levels) if up else levels:
        parent = np.arange(bit - 1, min(2 * bit - 1, count))
        for child in (parent + bit, parent + 2 * bit):
            there = child < count
            yield _edges(parent[there], child[there], up, 1.0, reduced)


def _bine_distance(digits: int) -> int:
    """1 - 2 + 4 - ... of so many terms."""
    return (1 - int((-2) ** digits)) // 3


def bine_tree(count: int, up: bool = False, reduced: float = 0.0) -> Steps:
    """Return a Bine tree of 2^s ranks; a binomial tree if P is no power of two.

    In step i, all ranks that have the data send it on, even ones 1 - 2 + 4 - ... of s - i terms to the right, odd ones
    as far to the left.
    """
    if count & (count - 1):
        yield from tree(count, up, reduced=reduced)
        return
    reached, several = np.zeros(1, np.int64), list[tuple[Ints, Ints]]()
    for digits in range(count.bit_length() - 1, 0, -1):
        child = (reached + np.where(reached % 2, -1, 1) * _bine_distance(digits)) % count
        several.append((reached, child))
        reached = np.concatenate([reached, child])
    for parent, child in reversed(several) if up else several:
        yield _edges(parent, child, up, 1.0, reduced)


def bine_exchange(count: int) -> Steps:
    """Between pairs at distance 1, 1, 3, 5, 11, ... of a Bine butterfly; as a hypercube if P is no power of two."""
    if count & (count - 1):
        yield from hypercube(count)
        return
    rank = np.arange(count)
    for digits in range(1, count.bit_length()):
        yield Step(rank, (rank + np.where(rank % 2, -1, 1) * _bine_distance(digits)) % count, 1.0, 1.0)


def _edges(parent: Ints, child: Ints, up: bool, blocks: FloatOrArray, reduced: FloatOrArray, parts: int = 1) -> Step:
    source, target = (child, parent) if up else (parent, child)
    return Step(source, target, blocks, reduced, parts)


def chain(count: int, back: bool = False, reduced: float = 0.0) -> Steps:
    """From each rank to the next; or ``back``, from the last rank on to the previous one."""
    for place in range(count - 1):
        source, target = (count - 1 - place, count - 2 - place) if back else (place, place + 1)
        yield Step(np.array([source]), np.array([target]), 1.0, reduced)


def chains(count: int, several: int) -> Steps:
    """From rank 0 to the heads of chains, as even as can be, and down each."""
    lengths = (count - 1 + np.arange(several - 1, -1, -1)) // several
    head, length = 1 + np.cumsum(lengths) - lengths, lengths
    for one in head[length > 0]:
        yield Step(np.array([0]), np.array([one]))
    for place in range(int(lengths.max()) - 1):
        source = head[length > place + 1] + place
        yield Step(source, source + 1)


def star(count: int, up: bool = False, reduced: float = 0.0) -> Steps:
    """From rank 0 to ranks 1, 2, 3, ..., or back; if bytes differ by rank, the other rank's bytes."""
    for rank in range(1, count):
        root, other = np.array([0]), np.array([rank])
        yield replace(_edges(root, other, up, 1.0, reduced), owner=other)


def synchronised_star(count: int, segments: int = 1) -> Steps:
    """Rank 0 asks ranks 1, 2, 3, ... for their first parts, one after another; then they send the rest, if any."""
    root = np.array([0])
    for rank in range(1, count):
        yield Step(root, np.array([rank]), 0.0)
        yield Step(np.array([rank]), root, 1.0 / segments)
    for rank in range(1, count) if segments > 1 else ():
        yield Step(np.array([rank]), root, 1.0 - 1.0 / segments)


def shift(count: int, distance: int, blocks: float = 1.0, reduced: float = 0.0, parts: int = 1) -> Step:
    """Every rank sends to the one so far to its right."""
    rank = np.arange(count)
    return Step(rank, (rank + distance) % count, blocks, reduced, parts)


def ring(count: int, reduced: float = 0.0, parts: int = 1) -> Steps:
    """P - 1 times: every rank passes on to the right what came last."""
    for place in range(count - 1):
        owner = (np.arange(count) - place) % count
        yield replace(shift(count, 1, 1.0, reduced, parts), owner=owner)


def pairwise(count: int, reduced: float = 0.0, parts: int = 1) -> Steps:
    """To the first, second, ... on the right."""
    for distance in range(1, count):
        yield shift(count, distance, 1.0, reduced, parts)


def dissemination(count: int) -> Steps:
    """To the right at distance 1, 2, 4, ..."""
    for bit in bits(count):
        yield shift(count, bit)


def in_switches(count: int, network: Network, blocks: float = 1.0) -> Steps:
    """All wait for one another, send to the right what switches combine, and wait for one another again."""
    signals = [replace(shift(count, bit, 0.0), signals=True) for bit in bits(count)]
    yield from signals
    if count > 1:
        yield replace(shift(count, 1, blocks), combined_by=network)
    yield from signals


def bruck_exchange(count: int) -> Steps:
    """Return the steps of an exchange with the rank to the right at distance 1, 2, 4, ...

    Every block whose remaining distance has that bit is packed, sent and unpacked; all blocks are copied before and
    after.
    """
    blocks = [int(np.count_nonzero(np.arange(count) & bit)) for bit in bits(count)]
    for bit, each in zip(bits(count), blocks, strict=True):
        is_last = 2 * bit >= count
        one = shift(count, bit, float(each))
        yield replace(one, packed=each + (count if bit == 1 else 0), unpacked=each + (count if is_last else 0))


def bruck_gather(count: int) -> Steps:
    """To the left at distance 1, 2, 4, ...: all blocks that were gathered so far, in the last round those missing.

    Then all are copied.
    """
    for bit in bits(count):
        one = shift(count, -bit, float(min(bit, count - bit)))
        yield replace(one, unpacked=count if 2 * bit >= count else 0)


def doubling_gather(count: int) -> Steps:
    """Between pairs at distance 1, 2, 4, ..., all that they have; by Bruck's algorithm if P is no power of two."""
    if count & (count - 1):
        yield from bruck_gather(count)
        return
    for bit in bits(count):
        yield Step(np.arange(count), np.arange(count) ^ bit, float(bit))


def neighbours(count: int) -> Steps:
    """One block to a neighbour, then two to the other one and to this one alternately; a ring if P is odd."""
    if count % 2:
        yield from ring(count)
        return
    rank = np.arange(count)
    for place in range(count // 2):
        yield Step(rank, (rank + np.where((rank + place) % 2, -1, 1)) % count, 1.0 if place == 0 else 2.0)


def recursive_halving(count: int) -> Steps:
    """Return the steps at distance ..., 4, 2, 1, with as many parts, or all that are left.

    Between pairs if P is a power of two, otherwise to the right.
    """
    rank = np.arange(count)
    for bit in reversed(bits(count)):
        target = (rank + bit) % count if count & (count - 1) else rank ^ bit
        blocks, is_first = float(min(bit, count - bit)), 2 * bit >= count
        copied = count if is_first and count & (count - 1) else 0
        yield Step(rank, target, blocks, blocks, count, packed=copied)


def hypercube(count: int, blocks: Callable[[int], float] = lambda _: 1.0, gathers: bool = False) -> Steps:
    """Between pairs at distance 1, 2, 4, ..., which reduce ``blocks(distance)``.

    Then, if it ``gathers``, the same way back. Where P is no power of two the first ranks fold in, two by two, before
    and out after.
    """
    power = 1 << (count.bit_length() - 1)
    even, corner = np.arange(0, 2 * (count - power), 2), np.arange(power)
    corner = np.concatenate([even + 1, np.arange(2 * (count - power), count)])
    yield Step(even, even + 1, 1.0, 1.0)
    for bit in bits(power):
        yield Step(corner, corner[np.arange(power) ^ bit], blocks(bit), blocks(bit))
    for bit in reversed(bits(power)) if gathers else ():
        yield Step(corner, corner[np.arange(power) ^ bit], blocks(bit))
    yield Step(even + 1, even)


def scan_pairs(count: int) -> Steps:
    """Between pairs at distance 1, 2, 4, ..., if both exist; the upper one reduces what comes twice."""
    rank = np.arange(count)
    for bit in bits(count):
        source = rank[(rank ^ bit) < count]
        target = source ^ bit
        yield Step(source, target, 1.0, np.where(target & bit, 2.0, 1.0))


def burst_to_the_right(count: int) -> Steps:
    """Every rank sends to the first, second, ... on its right, then receives from those on its left."""
    rank, distance = np.arange(count), np.arange(1, count)[:, None]
    yield Burst((rank + distance) % count, (rank - distance) % count)


def burst_by_number(count: int) -> Steps:
    """Every rank sends to ranks 0, 1, 2, ..., then receives from these."""
    rank, place = np.arange(count), np.arange(count - 1)[:, None]
    others = place + (place >= rank)
    yield Burst(others, others)


def halving_and_doubling(count: int) -> Steps:
    """Pairs exchange a half, a quarter, ... of the bytes, which they reduce, and the same parts back."""
    return hypercube(count, lambda distance: 0.5 / distance, gathers=True)


def ring_twice(count: int) -> Steps:
    """Return a P-th of the bytes at a time, which is reduced, then gathered."""
    yield from ring(count, 1.0, count)
    yield from ring(count, 0.0, count)


def tree_up_and_down(count: int) -> Steps:
    """Return a reduction up the binomial tree, and a broadcast down."""
    yield from tree(count, up=True, reduced=1.0)
    yield from tree(count)


def scatter_and_ring(count: int) -> Steps:
    """P parts down the binomial tree, then around the ring."""
    yield from tree(count, in_blocks=True, parts=count)
    yield from ring(count, 0.0, count)


def parts_around_the_ring(count: int) -> Steps:
    """Return a P-th of the bytes at a time, which is reduced."""
    return ring(count, 1.0, count)


def parts_in_pairs(count: int) -> Steps:
    """Return a P-th of the bytes for every other rank, which reduces it."""
    return pairwise(count, 1.0, count)


@dataclass(frozen=True)
class NodeMembers:
    """Members 0 to n - 1 of a group on their nodes.

    ``members`` of every node, in the order of the first of each, which is its leader.
    """

    members: list[Ints]

    @classmethod
    def of(cls, node: Ints) -> NodeMembers:
        """Group members by the node (n,) of each."""
        order = np.argsort(node, kind="stable")
        several = np.split(order, np.flatnonzero(np.diff(node[order])) + 1)
        return cls(sorted(several, key=lambda members: int(members[0])))

    @property
    def leaders(self) -> Ints:
        """(N,) the first member of every node."""
        return np.array([several[0] for several in self.members])

    def by_size(self) -> Iterator[Ints]:
        """(nodes, members) the members of the nodes that have as many, from the fewest on."""
        for count in sorted({len(several) for several in self.members}):
            yield np.stack([several for several in self.members if len(several) == count])

    def within(self, steps: Callable[[int], Steps], blocks: float = 1.0) -> Steps:
        """Return steps among the members of every node, of ``blocks`` times the blocks."""
        for members in self.by_size():
            for step in steps(members.shape[1]):
                assert isinstance(step, Step)
                yield replace(step.among(members), blocks=step.among(members).blocks * blocks)

    def between(self, steps: Callable[[int], Steps]) -> Steps:
        """Return steps among the leaders."""
        for step in steps(len(self.members)):
            assert isinstance(step, Step)
            yield step.among(self.leaders[None, :])

    @property
    def are_even(self) -> bool:
        """Whether all nodes have as many members."""
        return len({len(several) for several in self.members}) == 1

    def across(self, steps: Callable[[int], Steps], blocks: float = 1.0) -> Steps:
        """Return steps among the members of the same number on all nodes.

        All nodes have as many members. The steps have ``blocks`` times the blocks.
        """
        for step in steps(len(self.members)):
            assert not isinstance(step, Burst)
            yield step.among(np.stack(self.members).T).scaled(blocks)

    def channels(self, reduces: bool, parts: int) -> Steps:
        """Return a ring in channels, ``parts`` blocks in all: P - 1 times, every rank passes on what came last in each.

        There are as many channels as the smallest node has members. Channel k goes around a node from its member k on,
        from node to node. Messages of a rank to the same rank travel as one.
        """
        count, channels = sum(map(len, self.members)), min(map(len, self.members))
        passes, following = np.zeros((2, count), np.int64)
        leave, come = [], []
        for number, members in enumerate(self.members):
            after = self.members[(number + 1) % len(self.members)]
            following[members] = np.roll(members, -1)
            passes[members] = channels
            for channel in range(channels if len(self.members) > 1 else 0):
                leave.append(members[channel - 1])
                come.append(after[channel])
                passes[members[channel - 1]] -= 1
        inside = np.flatnonzero((passes > 0) & (following != np.arange(count)))
        each = 1.0 / channels
        between = Step(np.array(leave, np.int64), np.array(come, np.int64), each, 0.0, parts)
        within = Step(inside, following[inside], passes[inside].astype(np.float64) * each, 0.0, parts)
        joint = Joint(tuple(step for step in (between, within) if len(step.source)), float(reduces), parts)
        for _ in range(count - 1):
            yield joint

    def ring_of_nodes(self, count: int) -> Steps:
        """P - 1 times: every leader passes on the blocks of a whole node, those that came last."""
        sizes = np.array([len(several) for several in self.members], dtype=np.float64)
        for place in range(count - 1):
            yield replace(shift(count, 1), blocks=np.roll(sizes, place))
