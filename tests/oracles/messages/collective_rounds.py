"""Collective algorithms as rounds of messages between ranks that hold blocks, written from their publications: who sends
which blocks to whom, what is combined, and whether every rank ends with what it should.

In a round every rank sends and receives one message at most. R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); J. Bruck
et al., IEEE TPDS 8 (1997); J. Chen et al., HPC Asia (2005); P. Patarasuk, X. Yuan, JPDC 69 (2009); D. Hensgen, R. Finkel, U.
Manber, IJPP 17 (1988); D. De Sensi et al., SC25 (Bine trees). ``ranks`` is a power of two unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

#: Block -> the ranks whose contributions it has.
Held = dict[Hashable, frozenset[int]]


@dataclass
class Rounds:
    """What every rank holds, and of every round the blocks of its largest message, and the most that a rank combines."""

    held: list[Held]
    sizes: list[tuple[int, int]] = field(default_factory=list)

    def exchange(self, messages: Iterable[tuple[int, int, Iterable[Hashable]]], *, combine: bool = False) -> None:
        """A round of messages (sender, receiver, blocks); blocks that come replace those that are there, or are combined
        with them."""
        sent = [
            (source, target, {block: self.held[source][block] for block in blocks})
            for source, target, blocks in messages
        ]
        assert len({source for source, _, _ in sent}) == len({target for _, target, _ in sent}) == len(sent)
        combined = 0
        for _, target, blocks in sent:
            own = self.held[target]
            if combine:
                combined = max(combined, len(blocks.keys() & own.keys()))
                assert all(not ranks & own.get(block, frozenset()) for block, ranks in blocks.items())
                blocks = {block: ranks | own.get(block, frozenset()) for block, ranks in blocks.items()}
            own.update(blocks)
        self.sizes.append((max(len(blocks) for _, _, blocks in sent), combined))

    def everywhere(self, blocks: Iterable[Hashable], contributors: Iterable[int]) -> Rounds:
        """The rounds, having seen that every rank has these blocks of all these contributors."""
        wanted, given = [*blocks], frozenset(contributors)
        assert all(held[block] == given for held in self.held for block in wanted)
        return self


def _of_root(ranks: int) -> Rounds:
    return Rounds([dict.fromkeys(range(ranks), frozenset({0})) if rank == 0 else {} for rank in range(ranks)])


def _of_all(ranks: int) -> Rounds:
    return Rounds([dict.fromkeys(range(ranks), frozenset({rank})) for rank in range(ranks)])


def _of_each(ranks: int) -> Rounds:
    return Rounds([{rank: frozenset({rank})} for rank in range(ranks)])


def _distances(ranks: int) -> list[int]:
    """1, 2, 4, ... below the number of ranks, whatever it is."""
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def _spread(rounds: Rounds, ranks: int) -> Rounds:
    """All blocks of rank 0 to all others by a binomial tree, of any number of ranks."""
    for distance in _distances(ranks):
        rounds.exchange((rank, rank + distance, range(ranks)) for rank in range(min(distance, ranks - distance)))
    return rounds


def broadcast_binomial(ranks: int) -> Rounds:
    """Any number of ranks."""
    return _spread(_of_root(ranks), ranks).everywhere(range(ranks), [0])


def _scatter(rounds: Rounds, ranks: int) -> Rounds:
    for distance in reversed(_distances(ranks)):
        rounds.exchange(
            (rank, rank + distance, range(rank + distance, rank + 2 * distance))
            for rank in range(0, ranks, 2 * distance)
        )
    return rounds


def scatter_binomial(ranks: int) -> Rounds:
    rounds = _scatter(_of_root(ranks), ranks)
    assert all(rank in held for rank, held in enumerate(rounds.held))
    return rounds


def gather_binomial(ranks: int) -> Rounds:
    rounds = _of_each(ranks)
    for distance in _distances(ranks):
        rounds.exchange(
            (rank + distance, rank, range(rank + distance, rank + 2 * distance))
            for rank in range(0, ranks, 2 * distance)
        )
    assert rounds.held[0].keys() == {*range(ranks)}
    return rounds


def _ring(rounds: Rounds, ranks: int) -> Rounds:
    for step in range(ranks - 1):
        rounds.exchange((rank, (rank + 1) % ranks, [(rank - step) % ranks]) for rank in range(ranks))
    return rounds


def allgather_ring(ranks: int) -> Rounds:
    """Any number of ranks."""
    rounds = _ring(_of_each(ranks), ranks)
    assert all(held.keys() == {*range(ranks)} for held in rounds.held)
    return rounds


def broadcast_scatter_allgather(ranks: int) -> Rounds:
    return _ring(_scatter(_of_root(ranks), ranks), ranks).everywhere(range(ranks), [0])


def _doubling(rounds: Rounds, ranks: int) -> Rounds:
    for distance in _distances(ranks):
        first = {rank: rank // distance * distance for rank in range(ranks)}
        rounds.exchange((rank, rank ^ distance, range(first[rank], first[rank] + distance)) for rank in range(ranks))
    return rounds


def allgather_recursive_doubling(ranks: int) -> Rounds:
    rounds = _doubling(_of_each(ranks), ranks)
    assert all(held.keys() == {*range(ranks)} for held in rounds.held)
    return rounds


def allgather_bruck(ranks: int) -> Rounds:
    """Any number of ranks."""
    rounds = _of_each(ranks)
    for distance in _distances(ranks):
        count = min(distance, ranks - distance)
        rounds.exchange(
            (rank, (rank - distance) % ranks, [(rank + place) % ranks for place in range(count)])
            for rank in range(ranks)
        )
    assert all(held.keys() == {*range(ranks)} for held in rounds.held)
    return rounds


def allgather_neighbour_exchange(ranks: int) -> Rounds:
    """Pairs exchange their own blocks, and then in turn with either neighbour the two that came last."""
    rounds = _of_each(ranks)
    last = {rank: [rank] for rank in range(ranks)}
    for step in range(ranks // 2):
        partner = {rank: (rank + (1 if (rank + step) % 2 == 0 else -1)) % ranks for rank in range(ranks)}
        rounds.exchange((rank, partner[rank], last[rank]) for rank in range(ranks))
        if step == 0:
            last = {rank: sorted({rank, partner[rank]}) for rank in range(ranks)}
        else:
            last = {rank: last[partner[rank]] for rank in range(ranks)}
    assert all(held.keys() == {*range(ranks)} for held in rounds.held)
    return rounds


def _reduced(rounds: Rounds, ranks: int) -> Rounds:
    assert all(held[rank] == frozenset(range(ranks)) for rank, held in enumerate(rounds.held))
    return rounds


def _halving(rounds: Rounds, ranks: int) -> Rounds:
    for distance in reversed(_distances(ranks)):
        half = {
            rank: (rank ^ distance) // distance * distance for rank in range(ranks)
        }  # where the partner's half begins
        rounds.exchange(
            ((rank, rank ^ distance, range(half[rank], half[rank] + distance)) for rank in range(ranks)), combine=True
        )
    return _reduced(rounds, ranks)


def reduce_scatter_recursive_halving(ranks: int) -> Rounds:
    return _halving(_of_all(ranks), ranks)


def reduce_scatter_pairwise(ranks: int) -> Rounds:
    """Any number of ranks: everybody sends its own part of what the receiver is to have."""
    rounds = _of_all(ranks)
    for step in range(1, ranks):
        rounds.exchange(((rank, (rank + step) % ranks, [(rank + step) % ranks]) for rank in range(ranks)), combine=True)
    return _reduced(rounds, ranks)


def _ring_reduction(rounds: Rounds, ranks: int) -> Rounds:
    for step in range(ranks - 1):
        rounds.exchange(
            ((rank, (rank + 1) % ranks, [(rank - step - 1) % ranks]) for rank in range(ranks)), combine=True
        )
    return _reduced(rounds, ranks)


def reduce_scatter_ring(ranks: int) -> Rounds:
    """Any number of ranks."""
    return _ring_reduction(_of_all(ranks), ranks)


def allreduce_ring(ranks: int) -> Rounds:
    """Any number of ranks."""
    return _ring(_ring_reduction(_of_all(ranks), ranks), ranks).everywhere(range(ranks), range(ranks))


def allreduce_rabenseifner(ranks: int) -> Rounds:
    return _doubling(_halving(_of_all(ranks), ranks), ranks).everywhere(range(ranks), range(ranks))


def allreduce_recursive_doubling(ranks: int) -> Rounds:
    rounds = _of_all(ranks)
    for distance in _distances(ranks):
        rounds.exchange(((rank, rank ^ distance, range(ranks)) for rank in range(ranks)), combine=True)
    return rounds.everywhere(range(ranks), range(ranks))


def negabinary(rank: int, ranks: int) -> list[int]:
    """Digits to the base -2 of a rank or of the rank less P, the lowest first: by division with remainder."""
    for number in (rank, rank - ranks):
        digits, rest = [], number
        while rest:
            rest, digit = -(rest // 2), rest % 2
            digits.append(digit)
        if 2 ** len(digits) <= ranks:
            return digits + [0] * (ranks.bit_length() - 1 - len(digits))
    raise AssertionError(rank)


def bine_edges(ranks: int) -> list[list[tuple[int, int]]]:
    """D. De Sensi et al., SC25: with s = log2 P digits, the last u of which are alike, a rank receives in step s - u; in
    step i a rank that has the data sends it to the one whose last s - i digits are inverted."""
    steps = ranks.bit_length() - 1
    digits = {rank: negabinary(rank, ranks) for rank in range(ranks)}
    rank_of = {tuple(value): rank for rank, value in digits.items()}
    alike = {
        rank: next((place for place, digit in enumerate(value) if digit != value[0]), steps)
        for rank, value in digits.items()
    }
    receives = {rank: steps - alike[rank] for rank in range(1, ranks)} | {0: -1}
    return [
        [
            (rank, rank_of[tuple(1 - d if place < steps - step else d for place, d in enumerate(digits[rank]))])
            for rank in range(ranks)
            if receives[rank] < step
        ]
        for step in range(steps)
    ]


def broadcast_bine(ranks: int) -> Rounds:
    rounds = _of_root(ranks)
    for edges in bine_edges(ranks):
        rounds.exchange((parent, child, range(ranks)) for parent, child in edges)
    return rounds.everywhere(range(ranks), {0})


def reduce_bine(ranks: int) -> Rounds:
    rounds = _of_all(ranks)
    for edges in reversed(bine_edges(ranks)):
        rounds.exchange(((child, parent, range(ranks)) for parent, child in edges), combine=True)
    assert all(rounds.held[0][block] == frozenset(range(ranks)) for block in range(ranks))
    return rounds


def allreduce_bine(ranks: int) -> Rounds:
    """Distances 1, -1, 3, -5, ... of even ranks, and back of odd ones."""
    rounds = _of_all(ranks)
    for step in range(ranks.bit_length() - 1):
        apart = sum((-2) ** place for place in range(step + 1))
        rounds.exchange(
            ((rank, (rank + (-apart if rank % 2 else apart)) % ranks, range(ranks)) for rank in range(ranks)),
            combine=True,
        )
    return rounds.everywhere(range(ranks), range(ranks))


def _reduction(ranks: int) -> Rounds:
    rounds = _of_all(ranks)
    for distance in _distances(ranks):
        senders = range(distance, ranks, 2 * distance)
        rounds.exchange(((rank, rank - distance, range(ranks)) for rank in senders), combine=True)
    assert all(rounds.held[0][block] == frozenset(range(ranks)) for block in range(ranks))
    return rounds


def reduce_binomial(ranks: int) -> Rounds:
    """Any number of ranks."""
    return _reduction(ranks)


def allreduce_reduce_broadcast(ranks: int) -> Rounds:
    return _spread(_reduction(ranks), ranks).everywhere(range(ranks), range(ranks))


def all_to_all_pairwise(ranks: int) -> Rounds:
    """Any number of ranks."""
    rounds = Rounds([{(rank, to): frozenset({rank}) for to in range(ranks)} for rank in range(ranks)])
    for step in range(1, ranks):
        rounds.exchange((rank, (rank + step) % ranks, [(rank, (rank + step) % ranks)]) for rank in range(ranks))
    assert all((source, rank) in held for rank, held in enumerate(rounds.held) for source in range(ranks))
    return rounds


def all_to_all_bruck(ranks: int) -> Rounds:
    """Any number of ranks: a block travels a hop for every bit of its distance."""
    rounds = Rounds([{(rank, to): frozenset({rank}) for to in range(ranks)} for rank in range(ranks)])
    at = {(source, to): source for source in range(ranks) for to in range(ranks)}
    for distance in _distances(ranks):
        moved = [pair for pair in at if (pair[1] - pair[0]) % ranks & distance]
        rounds.exchange(
            (rank, (rank + distance) % ranks, [pair for pair in moved if at[pair] == rank]) for rank in range(ranks)
        )
        at |= {pair: (at[pair] + distance) % ranks for pair in moved}
    assert all(at[pair] == pair[1] and pair in rounds.held[pair[1]] for pair in at)
    return rounds


def scan_linear(ranks: int) -> Rounds:
    """Any number of ranks: rank by rank, each combines what comes with its own."""
    rounds = _of_all(ranks)
    for rank in range(ranks - 1):
        rounds.exchange([(rank, rank + 1, range(ranks))], combine=True)
        assert rounds.held[rank + 1][0] == frozenset(range(rank + 2))
    return rounds


#: Phase of collective-costs -> its rounds.
ROUNDS: dict[str, Callable[[int], Rounds]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        broadcast_binomial,
        broadcast_bine,
        broadcast_scatter_allgather,
        reduce_binomial,
        reduce_bine,
        scatter_binomial,
        gather_binomial,
        allreduce_recursive_doubling,
        allreduce_bine,
        allreduce_ring,
        allreduce_rabenseifner,
        allreduce_reduce_broadcast,
        reduce_scatter_recursive_halving,
        reduce_scatter_ring,
        reduce_scatter_pairwise,
        scan_linear,
        allgather_ring,
        allgather_recursive_doubling,
        allgather_bruck,
        allgather_neighbour_exchange,
        all_to_all_pairwise,
        all_to_all_bruck,
    )
}
#: Those that work for any number of ranks.
ANY_RANKS = frozenset(name for name in ROUNDS if "Any number" in (ROUNDS[name].__doc__ or ""))
