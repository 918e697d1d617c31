"""Collective operations on two levels as messages: who sends to whom, and a replay on data in which every rank must end
with what the operation promises."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.describe.machine import Machine
from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from tests import THOROUGH, builders, numbers_of_ranks
from tests.oracles.messages.collective_replay import Columns, Replay, paired

SIZE = 24.0
RANKS = [*numbers_of_ranks(40), *((64, 128, 1000, 1003) if THOROUGH else ())]
PER_NODE = [1, 2, 4, 5]
OPERATIONS = sorted(operation for operation, algorithm in MESSAGES if algorithm == "two_level")


def machine(per_node: int, mapping: str = "linear") -> Machine:
    return builders.machine(builders.network(1024), processors_per_node=per_node, mapping=mapping)


def written(operation: str, node: np.ndarray) -> Columns:
    writer = Ranks(len(node))
    MESSAGES[operation, "two_level"].write(writer, SIZE, node=node)
    columns = Columns(writer)
    leaders = np.sort(np.unique(node, return_index=True)[1])
    for message in paired(columns):
        is_far = node[message.source] != node[message.target]
        assert not is_far or {message.source, message.target} <= set(leaders.tolist())
    return columns


def held_after(operation: str, node: np.ndarray) -> list[set[int]]:
    """What every rank has in the end, if it sends all that it has, blocks or contributions to a sum; these come once."""
    held = [{rank} for rank in range(len(node))]
    everything = set(held[0].union(*held))
    is_sum = operation in ("reduce", "allreduce")

    def take(rank: int, source: int, payload: set[int]) -> None:
        if not is_sum or payload == everything:
            held[rank] = held[rank] | payload
            return
        assert not held[rank] & payload
        held[rank] = held[rank] | payload

    Replay(written(operation, node), lambda rank, *_: held[rank], take).run()
    return held


@pytest.mark.parametrize("mapping", ["linear", "round_robin"])
@pytest.mark.parametrize("per_node", PER_NODE)
def test_every_rank_ends_with_the_right_data(per_node: int, mapping: str) -> None:
    on = machine(per_node, mapping)
    for ranks in RANKS:
        node, everything = on.node_of(ranks), set(range(ranks))
        for root in sorted({0, 1 % ranks, ranks // 2, ranks - 1}):
            from_root = np.roll(node, -root)
            assert held_after("reduce", from_root)[0] == everything
            assert all(0 in held for held in held_after("broadcast", from_root))
        for operation in ("allreduce", "barrier"):
            assert all(held == everything for held in held_after(operation, node)), (operation, ranks)


@pytest.mark.parametrize("per_node", PER_NODE)
def test_allgather_sends_the_blocks_whose_bytes_it_counts(per_node: int) -> None:
    """Up the node's tree goes all that a rank has; around the ring the blocks of one node, those that came last; down
    again all blocks."""
    for ranks in [ranks for ranks in RANKS if ranks <= 128]:
        node = machine(per_node).node_of(ranks)
        blocks: list[list[list[int]]] = [[[rank]] for rank in range(ranks)]
        own = {rank: np.flatnonzero(node == node[rank]).tolist() for rank in range(ranks)}

        def send(rank: int, number: int, target: int, size: float, blocks=blocks, own=own, node=node) -> list[int]:
            every = [block for several in blocks[rank] for block in several]
            if node[rank] != node[target]:
                away = own[rank] if number == 0 else blocks[rank][-1]
                assert sorted(own[rank]) == sorted(every[: len(own[rank])])
            else:
                away = every
            assert len(away) * SIZE == size
            return list(away)

        def take(rank: int, source: int, some: list[int], blocks=blocks) -> None:
            blocks[rank] = [some] if len(some) == len(blocks) else [*blocks[rank], some]

        Replay(written("allgather", node), send, take).run()
        assert all(sorted(block for some in mine for block in some) == list(range(ranks)) for mine in blocks)


def test_a_mapping_may_be_any() -> None:
    node = np.array([3, 0, 3, 1, 0, 0, 7, 1, 3, 0])
    for operation in ("allreduce", "barrier", "allgather"):
        assert all(held == set(range(10)) for held in held_after(operation, node))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_where_every_rank_has_a_node_for_itself_leaders_are_all(operation: str) -> None:
    alone, stated = Ranks(7), Ranks(7)
    MESSAGES[operation, "two_level"].write(alone, SIZE)
    MESSAGES[operation, "two_level"].write(stated, SIZE, node=np.arange(7))
    assert len(alone.columns) == len(stated.columns) > 0
