"""Reduce, scatter, gather and broadcast in parts: replayed on data from the messages alone, for many numbers of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.core.operation_kinds import SEND
from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from tests import THOROUGH, numbers_of_ranks
from tests.oracles.messages.collective_replay import Columns, Replay, paired

SIZE = 24.0
RANKS = [*numbers_of_ranks(40), *((64, 128, 1000) if THOROUGH else (64,))]


def keys(operation: str) -> list[str]:
    return sorted(algorithm for name, algorithm in MESSAGES if name == operation)


def written(operation: str, algorithm: str, ranks: int, size: float = SIZE) -> Columns:
    writer = Ranks(ranks)
    MESSAGES[operation, algorithm].write(writer, size)
    return Columns(writer)


def needed(columns: Columns, ranks: int) -> dict[tuple[int, int], set[int]]:
    """The blocks that each message has to carry, by target and column, so that in the end every rank has its own: what
    its receiver passes on later, and what it keeps."""
    needs = [{rank} for rank in range(ranks)]
    carried = {}
    for message in sorted(paired(columns), key=lambda it: -it.received_in):
        carried[message.source, message.target] = set(needs[message.target])
        needs[message.source] |= needs[message.target]
    return carried


@pytest.mark.parametrize("algorithm", keys("reduce"))
def test_reduce_adds_every_contribution_exactly_once(algorithm: str) -> None:
    for ranks in RANKS:
        known = [{rank} for rank in range(ranks)]

        def take(rank: int, source: int, payload: set[int], known: list[set[int]] = known) -> None:
            assert not known[rank] & payload
            known[rank] |= payload

        Replay(written("reduce", algorithm, ranks), lambda rank, *_, known=known: set(known[rank]), take).run()
        assert known[0] == set(range(ranks))


@pytest.mark.parametrize("algorithm", keys("gather"))
def test_gather_brings_every_block_once(algorithm: str) -> None:
    for ranks in RANKS:
        held = [[rank] for rank in range(ranks)]

        def give(rank: int, number: int, target: int, size: float, held: list[list[int]] = held) -> list[int]:
            assert (number, size) == (0, len(held[rank]) * SIZE)
            return list(held[rank])

        def take(rank: int, source: int, blocks: list[int], held: list[list[int]] = held) -> None:
            held[rank] += blocks

        Replay(written("gather", algorithm, ranks), give, take).run()
        assert sorted(held[0]) == list(range(ranks))


@pytest.mark.parametrize("algorithm", keys("scatter"))
def test_scatter_brings_everybody_its_block(algorithm: str) -> None:
    for ranks in RANKS:
        columns = written("scatter", algorithm, ranks)
        held = [set(range(ranks)) if rank == 0 else set() for rank in range(ranks)]
        carried = needed(columns, ranks)

        def give(rank: int, number: int, target: int, size: float, held=held, carried=carried) -> set[int]:
            blocks = carried[rank, target]
            assert blocks <= held[rank]
            assert size == len(blocks) * SIZE
            return blocks

        def take(rank: int, source: int, blocks: set[int], held: list[set[int]] = held) -> None:
            assert not held[rank]
            held[rank] |= blocks

        Replay(columns, give, take).run()
        assert all(rank in mine for rank, mine in enumerate(held))


@pytest.mark.parametrize("ranks", [*numbers_of_ranks(40), 64, *((128,) if THOROUGH else ())])
def test_broadcast_by_scatter_and_allgather_brings_every_part_to_everybody_once(ranks: int) -> None:
    """A rank sends the parts from its target on as long as it scatters, and then P - 1 times what came last."""
    columns = written("broadcast", "scatter_allgather", ranks, SIZE * ranks)
    sends = np.count_nonzero(columns.present & (columns.kind == SEND)[:, None], axis=0)
    held = [list(range(ranks)) if rank == 0 else [] for rank in range(ranks)]
    mine = [[rank] for rank in range(ranks)]

    def give(rank: int, number: int, target: int, size: float) -> tuple[bool, list[int]]:
        is_scattered = number < sends[rank] - (ranks - 1)
        parts = list(range(target, target + round(size / SIZE))) if is_scattered else mine[rank][-1:]
        assert set(parts) <= {*held[rank], *mine[rank]}
        assert rank in held[rank]
        assert size == len(parts) * SIZE
        return is_scattered, parts

    def take(rank: int, source: int, payload: tuple[bool, list[int]]) -> None:
        is_scattered, parts = payload
        (held if is_scattered else mine)[rank] += parts

    Replay(columns, give, take).run()
    assert all(sorted(parts) == list(range(ranks)) for parts in mine)


@pytest.mark.parametrize("segments", [1, 2, 5, 16])
def test_a_chain_passes_on_every_segment_in_order(segments: int) -> None:
    for ranks in RANKS:
        for operation, turned in (("broadcast", False), ("reduce", True)):
            writer = Ranks(ranks)
            MESSAGES[operation, "chain"].write(writer, SIZE * segments, segments)
            place = [ranks - 1 - rank if turned else rank for rank in range(ranks)]
            held = [[{(number, rank)} for number in range(segments)] for rank in range(ranks)]
            got = [0] * ranks

            def give(
                rank: int, number: int, target: int, size: float, place=place, held=held, got=got
            ) -> tuple[int, set[tuple[int, int]]]:
                assert size == SIZE
                assert place[target] == place[rank] + 1
                assert place[rank] == 0 or got[rank] == number + 1  # nothing is received before it is passed on
                return number, set(held[rank][number])

            def take(rank: int, source: int, payload: tuple[int, set[tuple[int, int]]], held=held, got=got) -> None:
                number, contributions = payload
                assert number == got[rank]
                assert not held[rank][number] & contributions
                held[rank][number] |= contributions
                got[rank] += 1

            Replay(Columns(writer), give, take).run()
            last = place.index(ranks - 1)
            assert held[last] == [{(number, rank) for rank in range(ranks)} for number in range(segments)]


@pytest.mark.parametrize(
    ("operation", "algorithm"), [(name, way) for name in ("reduce", "scatter", "gather") for way in keys(name)]
)
def test_a_tree_has_no_more_columns_than_its_children_in_turn(operation: str, algorithm: str) -> None:
    """Columns of many ranks at a time: so that a million ranks are written in a moment."""
    for ranks, depth in zip((2, 3, 4, 5, 8, 9), (1, 2, 2, 3, 3, 4), strict=True):
        most = 2 * depth if "binomial" in algorithm else 4 * depth if algorithm == "binary_tree" else 2 * (ranks - 1)
        assert len(written(operation, algorithm, ranks)) <= most
