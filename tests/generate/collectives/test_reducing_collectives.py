"""Collectives that reduce or gather as messages: a replay of the columns on data, in which each rank must end with the
right contributions, each of them once."""

from __future__ import annotations

import pytest

from tests import THOROUGH, numbers_of_ranks
from tests.generate.collectives.test_collectives import SIZE, written
from tests.oracles.messages.collective_replay import Replay

#: Of algorithms whose messages grow with P log P, and with P^2.
SHORT = [*numbers_of_ranks(40), 64, *((128, 1000) if THOROUGH else ())]
LONG = [*numbers_of_ranks(40), *((64, 128) if THOROUGH else ())]


def ranks_for(algorithm: str) -> list[int]:
    return LONG if algorithm in {"ring", "pairwise", "linear", "neighbour_exchange"} else SHORT


class Reduced:
    """What every rank holds of each of ``parts`` parts of a vector: whose contributions are in it, one bit for each."""

    def __init__(self, ranks: int, parts: int) -> None:
        self.held = [[1 << rank] * parts for rank in range(ranks)]
        self.everything = (1 << ranks) - 1

    def take(self, rank: int, payload: dict[int, int]) -> None:
        for part, contributions in payload.items():
            mine = self.held[rank][part]
            if contributions == self.everything:
                self.held[rank][part] = contributions
            else:
                assert not mine & contributions
                self.held[rank][part] = mine | contributions

    def give(self, rank: int, parts: list[int]) -> dict[int, int]:
        return {part: self.held[rank][part] for part in parts}


@pytest.mark.parametrize("ranks", SHORT)
def test_rabenseifner_reduces_parts_and_gathers_them(ranks: int) -> None:
    power = 2 ** (ranks.bit_length() - 1)
    rest = ranks - power
    state = Reduced(ranks, power)
    kept = [list(range(power)) for _ in range(ranks)]
    corner = {rank: rank // 2 if rank < 2 * rest else rank - rest for rank in range(ranks)}
    rounds = power.bit_length() - 1

    def send(rank: int, number: int, target: int, size: float) -> object:
        everything = list(range(power))
        if rank < 2 * rest and (rank % 2 == 0 or number == 2 * rounds):  # folds in, or lets the other one out
            assert size == SIZE
            return state.give(rank, everything)
        if number < rounds:
            bit = 1 << number
            away = [part for part in kept[rank] if part & bit == corner[target] & bit]
            kept[rank] = [part for part in kept[rank] if part & bit != corner[target] & bit]
        else:
            away = [part for part in everything if state.held[rank][part] == state.everything]
        assert len(away) * SIZE / power == size
        return state.give(rank, away)

    Replay(written("allreduce", "rabenseifner", ranks), send, lambda rank, _, payload: state.take(rank, payload)).run()
    assert all(part == state.everything for parts in state.held for part in parts)


@pytest.mark.parametrize("algorithm", ["recursive_halving", "ring", "pairwise"])
def test_reduce_scatter_leaves_each_rank_the_whole_of_its_part(algorithm: str) -> None:
    for ranks in ranks_for(algorithm):
        state = Reduced(ranks, ranks)
        left = [list(range(ranks)) for _ in range(ranks)]

        def send(
            rank: int,
            number: int,
            target: int,
            size: float,
            ranks: int = ranks,
            state: Reduced = state,
            left: list = left,
        ) -> object:
            if algorithm == "ring":
                away = [(rank - 1 - number) % ranks]
            elif algorithm == "pairwise":
                away = [target]
            else:
                count = round(size * ranks / SIZE)
                by_distance = sorted(left[rank], key=lambda part: (part - target) % ranks)
                if ranks & (ranks - 1) == 0:
                    by_distance = sorted(left[rank], key=lambda part: (part ^ target) // count)
                away = by_distance[:count]
                left[rank] = by_distance[count:]
            assert size == pytest.approx(len(away) * SIZE / ranks, rel=1e-15)
            return state.give(rank, away)

        columns = written("reduce_scatter", algorithm, ranks)
        Replay(columns, send, lambda rank, _, payload, state=state: state.take(rank, payload)).run()
        assert all(parts[rank] == state.everything for rank, parts in enumerate(state.held)), ranks


@pytest.mark.parametrize("algorithm", ["recursive_doubling", "linear"])
def test_scan_adds_what_lower_ranks_have(algorithm: str) -> None:
    for ranks in ranks_for(algorithm):
        known, result = ([{rank} for rank in range(ranks)] for _ in range(2))

        def take(rank: int, source: int, payload: set[int], known: list = known, result: list = result) -> None:
            assert not known[rank] & payload
            known[rank] = known[rank] | payload
            if source < rank:
                result[rank] = result[rank] | payload

        Replay(written("scan", algorithm, ranks), lambda rank, *_, known=known: set(known[rank]), take).run()
        assert result == [set(range(rank + 1)) for rank in range(ranks)]


@pytest.mark.parametrize("algorithm", ["recursive_doubling", "neighbour_exchange"])
def test_allgather_brings_every_block_to_everybody_once(algorithm: str) -> None:
    """What is sent is what came last, or in Bruck's algorithm, for P that is no power of two, what there is first."""
    for ranks in ranks_for(algorithm):
        blocks = [[rank] for rank in range(ranks)]
        is_bruck = algorithm == "recursive_doubling" and ranks & (ranks - 1)

        def send(
            rank: int, number: int, target: int, size: float, blocks: list = blocks, bruck: bool = is_bruck
        ) -> list:
            count = round(size / SIZE)
            return blocks[rank][:count] if bruck else blocks[rank][-count:]

        columns = written("allgather", algorithm, ranks)
        Replay(columns, send, lambda rank, _, some, blocks=blocks: blocks[rank].extend(some)).run()
        assert all(sorted(mine) == list(range(ranks)) for mine in blocks)
