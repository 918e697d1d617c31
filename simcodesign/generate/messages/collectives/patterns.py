"""Patterns that several algorithms share: powers of two, the edges and subtrees of binomial and binary trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.generate.columns import Int32s, Ranks

Floats = NDArray[np.float64]


def powers_of_two(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [1 << place for place in range((count - 1).bit_length())]


def halving_edges(ranks: Ranks, bit: int) -> tuple[Int32s, Int32s]:
    """Return parents and children, ``bit`` apart, of a binomial tree.

    A parent has its child's number without the lowest bit: the farther the child, the larger its subtree.
    """
    upper = ranks.rank[: ranks.count - bit : 2 * bit]
    return upper, upper + np.int32(bit)


def doubling_edges(ranks: Ranks, bit: int) -> tuple[Int32s, Int32s]:
    """Doubling without the highest bit: the nearer the child, the larger its subtree."""
    upper = ranks.rank[: min(bit, ranks.count - bit)]
    return upper, upper + np.int32(bit)


def halving_subtree(ranks: Ranks, bit: int, child: Int32s) -> Floats:
    """Ranks below and including each child: those from it on that are less than ``bit`` away."""
    return np.minimum(bit, ranks.count - child).astype(np.float64)


def doubling_subtree(ranks: Ranks, bit: int, child: Int32s) -> Floats:
    """Ranks below and including each child: every 2 ``bit``-th from it on."""
    return ((ranks.count - 1 - child) // (2 * bit) + 1).astype(np.float64)


def chain_edges(ranks: Ranks, segments: int) -> list[tuple[Int32s, Int32s]]:
    """Senders and receivers, in steps: in step t rank r passes on segment t - r to rank r + 1."""
    steps = range(segments + ranks.count - 2 if ranks.count > 1 else 0)
    senders = (ranks.rank[max(0, step - segments + 1) : min(step + 1, ranks.count - 1)] for step in steps)
    return [(sender, sender + np.int32(1)) for sender in senders]


def binary_edges(ranks: Ranks) -> list[tuple[Int32s, Int32s]]:
    """Return parents and children of a binary tree in which rank r has the children 2 r + 1 and 2 r + 2.

    In each level, from the root on, first all left children, then all right ones.
    """
    edges = []
    for bit in powers_of_two(ranks.count + 1)[:-1]:
        for side in (1, 2):
            parents = ranks.rank[bit - 1 : min(2 * bit - 1, max((ranks.count - side + 1) // 2, 0))]
            edges.append((parents, 2 * parents + np.int32(side)))
    return [(parents, children) for parents, children in edges if len(parents)]


#: Negabinary digits: the even places count in full, the odd ones are taken off.
_ODD_PLACES = 0xAAAAAAAA


def negabinary(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Digits to the base -2 of integers below 2^31, as bits."""
    return (number + _ODD_PLACES) ^ _ODD_PLACES


def from_negabinary(digits: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return the integers of these digits to the base -2."""
    return np.asarray((digits ^ _ODD_PLACES) - _ODD_PLACES, dtype=np.int64)


def bine_edges(ranks: Ranks) -> list[tuple[Int32s, Int32s]]:
    """Return parents and children of a Bine tree of 2^s ranks, by steps.

    A child has its parent's digits to the base -2, the last s, s - 1, ..., 1 of them inverted; in the child, these are
    all alike.
    """
    digits, edges = negabinary(ranks.rank.astype(np.int64)), []
    for bit in reversed(powers_of_two(ranks.count)):
        last = 2 * bit - 1
        partner = from_negabinary(digits ^ last) % ranks.count
        is_child = (partner != ranks.rank) & np.isin(digits & last, (0, last))
        has_data = np.isin(digits & (2 * last + 1), (0, 2 * last + 1)) if 2 * bit < ranks.count else ranks.rank == 0
        child = ranks.rank[is_child & ~has_data]
        edges.append((partner[child].astype(np.int32), child))
    return edges


def bine_partners(ranks: Ranks, bit: int) -> Int32s:
    """Return the partner of each of 2^s ranks in a step of a Bine butterfly.

    Even ranks add, and odd ones take off, the number whose digits to the base -2 are ones up to this bit.
    """
    apart = int(from_negabinary(2 * bit - 1))
    partner: Int32s = ((ranks.rank + np.where(ranks.rank % 2, -apart, apart)) % ranks.count).astype(np.int32)
    return partner


def interleaved_binary_edges(ranks: Ranks) -> list[tuple[Int32s, Int32s]]:
    """Return edges of the tree in which rank r of level l has the children r + 2^l and r + 2^(l+1).

    Level l begins with rank 2^l - 1.
    """
    edges = []
    for bit in powers_of_two(ranks.count + 1)[:-1]:
        for apart in (bit, 2 * bit):
            parents = ranks.rank[bit - 1 : min(2 * bit - 1, max(ranks.count - apart, 0))]
            edges.append((parents, parents + np.int32(apart)))
    return [(parents, children) for parents, children in edges if len(parents)]


def parallel_chain_edges(ranks: Ranks, chains: int) -> list[tuple[Int32s, Int32s]]:
    """Return parents and children when all ranks but 0 are cut into ``chains`` rows.

    The first rows are longer by one rank if need be: first rank 0 and the head of each row, then step by step down all
    rows.
    """
    heads = [int(part[0]) for part in np.array_split(ranks.rank[1:], chains) if len(part)]
    edges = [(ranks.rank[:1], ranks.rank[head : head + 1]) for head in heads]
    is_head = np.isin(ranks.rank, heads)
    place = ranks.rank - np.maximum.accumulate(np.where(is_head, ranks.rank, 0))  # 0 of a head, and of rank 0
    for step in range(1, int(place.max()) + 1):
        children = ranks.rank[place == step]
        edges.append((children - np.int32(1), children))
    return edges


@dataclass(frozen=True)
class Hypercube:
    """The largest hypercube of P ranks.

    Where P is no power of two, the first ranks fold in pairs onto a corner: the even rank of each (``folded``) onto the
    odd one (``taken``). ``who``: the rank of each corner, ascending.
    """

    folded: Int32s
    taken: Int32s
    who: Int32s

    @staticmethod
    def of(ranks: Ranks) -> Hypercube:
        """Return the hypercube of these ranks."""
        rest = ranks.count - 2 ** (ranks.count.bit_length() - 1)
        taken = ranks.rank[1 : 2 * rest : 2]
        return Hypercube(ranks.rank[: 2 * rest : 2], taken, np.concatenate([taken, ranks.rank[2 * rest :]]))

    @property
    def bits(self) -> list[int]:
        """1, 2, 4, ...: by which numbers of corners differ."""
        return powers_of_two(len(self.who))

    def enter(self, ranks: Ranks, size_bytes: float) -> None:
        """Folded ranks send theirs to a corner, which reduces it."""
        if len(self.folded):
            ranks.send(self.taken, size_bytes, self.folded)
            ranks.receive(self.folded, size_bytes, who=self.taken)
            ranks.reduce(size_bytes, self.taken)

    def exchange(self, ranks: Ranks, bit: int, size_bytes: float, reduces: bool) -> None:
        """Corners exchange with those whose numbers differ in this bit."""
        partner = self.who[np.arange(len(self.who)) ^ bit]
        who = self.who if len(self.folded) else None
        ranks.exchange(partner, partner, size_bytes, who)
        if reduces:
            ranks.reduce(size_bytes, who)

    def leave(self, ranks: Ranks, size_bytes: float) -> None:
        """Folded ranks get the result."""
        if len(self.folded):
            ranks.send(self.folded, size_bytes, self.taken)
            ranks.receive(self.taken, size_bytes, who=self.folded)
