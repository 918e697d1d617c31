"""Reduce, scatter, gather and broadcast in parts: replayed on data from the messages alone, for many numbers of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.demands.collective import SEGMENTED
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


@pytest.mark.parametrize("algorithm", [name for name in keys("gather") if name != "linear_synchronised"])
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


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_a_synchronised_gather_asks_one_rank_after_another(segments: int) -> None:
    """A rank answers with the first segment, and sends the rest, in one message, only if there is any."""
    for ranks in RANKS:
        writer = Ranks(ranks)
        MESSAGES["gather", "linear_synchronised"].write(writer, SIZE, segments)
        asked, got = [], dict.fromkeys(range(1, ranks), 0.0)

        def give(rank: int, number: int, target: int, size: float, asked=asked, got=got) -> float:
            if rank == 0:
                assert size == 0.0
                assert all(got[earlier] for earlier in asked)  # their first segments are there
                asked.append(target)
            else:
                assert rank in asked
                assert size == pytest.approx(SIZE / segments if number == 0 else SIZE - SIZE / segments)
            return size

        def take(rank: int, source: int, size: float, got=got) -> None:
            if rank == 0:
                got[source] += size

        Replay(Columns(writer), give, take).run()
        assert asked == list(range(1, ranks))
        assert got == {rank: pytest.approx(SIZE) for rank in range(1, ranks)}


def tree_of(columns: Columns) -> dict[int, int]:
    """Child -> parent, of a broadcast in one piece."""
    return {message.target: message.source for message in paired(columns)}


@pytest.mark.parametrize("segments", [1, 2, 5])
@pytest.mark.parametrize(("operation", "algorithm"), sorted(SEGMENTED - {("gather", "linear_synchronised")}))
def test_trees_pass_on_every_segment_in_order(operation: str, algorithm: str, segments: int) -> None:
    """Down, nothing is sent before it was received; up, every contribution to every segment is reduced once. The parents
    are those of the algorithm in one piece, and every rank does for each segment what it does for one."""
    if algorithm == "split_binary_tree":
        pytest.skip("see below")
    for ranks in RANKS:
        writer = Ranks(ranks)
        MESSAGES[operation, algorithm].write(writer, SIZE * segments, segments)
        up = operation == "reduce"
        have = [[{rank} if up or rank == 0 else set() for rank in range(ranks)] for _ in range(segments)]
        given, taken = [dict[int, int]() for _ in range(ranks)], [dict[int, int]() for _ in range(ranks)]

        def give(rank: int, number: int, target: int, size: float, have=have, given=given) -> tuple[int, set[int]]:
            assert size == SIZE
            number = given[rank].get(target, 0)  # the n-th message to a rank is the n-th segment
            given[rank][target] = number + 1
            assert have[number][rank]
            return number, set(have[number][rank])

        def take(rank: int, source: int, payload: tuple[int, set[int]], have=have, taken=taken) -> None:
            number, ranks_in = payload
            assert number == taken[rank].get(source, 0)
            taken[rank][source] = number + 1
            assert not have[number][rank] & ranks_in
            have[number][rank] |= ranks_in

        Replay(Columns(writer), give, take).run()
        if up:
            assert all(segment[0] == set(range(ranks)) for segment in have)
        else:
            assert all(mine == {0} for segment in have for mine in segment)
        pairs = {(m.source, m.target) for m in paired(Columns(writer))}
        assert pairs == {(m.source, m.target) for m in paired(written(operation, algorithm, ranks))}


@pytest.mark.parametrize("segments", [1, 2, 3, 5, 8])
def test_a_split_binary_tree_brings_both_halves(segments: int) -> None:
    """As in Open MPI: odd ranks get the first half down their side of the tree and even ones the second half, in parts;
    then each gets the other half from its partner on the other side, or the last rank of an even number from rank 0."""
    parts = -(-segments // 2)
    for ranks in RANKS:
        writer = Ranks(ranks)
        MESSAGES["broadcast", "split_binary_tree"].write(writer, 2.0 * parts * SIZE, segments)
        columns, tree = Columns(writer), tree_of(written("broadcast", "interleaved_binary_tree", ranks))
        held = [{(half, part) for half in (0, 1) for part in range(parts) if rank == 0} for rank in range(ranks)]
        sent = [dict[int, int]() for _ in range(ranks)]

        def give(rank: int, number: int, target: int, size: float, ranks=ranks, held=held, sent=sent, tree=tree):
            part = sent[rank].get(target, 0)
            sent[rank][target] = part + 1
            if tree[target] == rank and part < parts:
                assert size == SIZE
                payload = {((target + 1) % 2, part)}
            else:
                own = (rank + 1) % 2 if rank else 1
                assert size == SIZE * parts
                assert target == (ranks - 1 if rank == 0 else rank + (1 if rank % 2 else -1))
                payload = {(own, each) for each in range(parts)}
            assert payload <= held[rank]
            return payload

        def take(rank: int, source: int, payload: set[tuple[int, int]], held=held) -> None:
            assert not held[rank] & payload
            held[rank] |= payload

        Replay(columns, give, take).run()
        assert all(len(mine) == 2 * parts for mine in held)


@pytest.mark.parametrize(
    ("operation", "algorithm"), [(name, way) for name in ("reduce", "scatter", "gather") for way in keys(name)]
)
def test_a_tree_has_no_more_columns_than_its_children_in_turn(operation: str, algorithm: str) -> None:
    """Columns of many ranks at a time: so that a million ranks are written in a moment."""
    for ranks, depth in zip((2, 3, 4, 5, 8, 9), (1, 2, 2, 3, 3, 4), strict=True):
        each = 4 if algorithm == "linear_synchronised" else 2
        most = 2 * depth if "binomial" in algorithm else 4 * depth if "binary" in algorithm else each * (ranks - 1)
        assert len(written(operation, algorithm, ranks)) <= most
