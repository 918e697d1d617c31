"""Rings in channels and hierarchical collectives as messages: a replay on data, of which every rank must end with what the
operation promises, and each message has the bytes of the blocks that it carries."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from tests import THOROUGH, numbers_of_ranks
from tests.oracles.messages.collective_replay import Columns, Replay, paired

SIZE = 24.0
RANKS = [*numbers_of_ranks(24), *((40, 64) if THOROUGH else ())]
UNEVEN = np.array([3, 0, 3, 1, 0, 0, 7, 1, 3, 0])
#: Whose contributions are in a block, by its channel or 0, and its number.
Blocks = dict[tuple[int, int], frozenset[int]]


def nodes_of(ranks: int) -> list[np.ndarray]:
    every = [np.arange(ranks) // each for each in (1, 2, 4, 5, ranks)]
    return [*every, np.arange(ranks) % 3, *((UNEVEN,) if ranks == 10 else ())]


def written(operation: str, algorithm: str, node: np.ndarray) -> Columns:
    writer = Ranks(len(node))
    MESSAGES[operation, algorithm].write(writer, SIZE, node=node)
    return Columns(writer)


def by_node(node: np.ndarray) -> list[list[int]]:
    found = defaultdict(list)
    for rank, one in enumerate(node.tolist()):
        found[one].append(rank)
    return sorted(found.values())


class Channels:
    """Rings as they are published: in channel k, nodes in order, each from its k-th rank on around."""

    def __init__(self, node: np.ndarray) -> None:
        nodes = by_node(node)
        self.channels = min(map(len, nodes))
        self.next: list[dict[int, int]] = []
        self.order: list[list[int]] = []
        for channel in range(self.channels):
            order = [rank for one in nodes for rank in [*one[channel:], *one[:channel]]]
            self.order.append(order)
            self.next.append(dict(zip(order, [*order[1:], order[0]], strict=True)))

    def block(self, channel: int, rank: int, step: int) -> int:
        """The block, by the rank that is to own it, that a rank passes on in a step of a reduce-scatter; one step later
        than in an allgather."""
        order = self.order[channel]
        return order[(order.index(rank) - 1 - step) % len(order)]


@pytest.mark.parametrize("operation", ["allreduce", "reduce_scatter", "allgather"])
def test_a_ring_in_channels(operation: str) -> None:
    for ranks in RANKS:
        for node in nodes_of(ranks):
            rings, every = Channels(node), frozenset(range(ranks))
            held: list[Blocks] = [
                {
                    (k, b): frozenset({r})
                    for k in range(rings.channels)
                    for b in every
                    if operation != "allgather" or b == r
                }
                for r in range(ranks)
            ]
            steps = [defaultdict(int) for _ in range(ranks)]  # of every rank, by the rank that it sends to

            def send(rank: int, number: int, target: int, size: float, held=held, rings=rings, steps=steps) -> Blocks:
                step = steps[rank][target]
                steps[rank][target] += 1
                step -= operation == "allgather"
                mine = [k for k in range(rings.channels) if rings.next[k][rank] == target]
                away = {(k, rings.block(k, rank, step)) for k in mine}
                assert size == pytest.approx(
                    len(away) * SIZE / rings.channels / (1 if operation == "allgather" else len(held))
                )
                return {key: held[rank][key] for key in away}

            def take(rank: int, source: int, payload: Blocks, held=held, every=every) -> None:
                for key, contributions in payload.items():
                    mine = held[rank].get(key, frozenset())
                    assert operation == "allgather" or contributions == every or not mine & contributions
                    held[rank][key] = mine | contributions

            Replay(written(operation, "ring_channels", node), send, take).run()
            for rank in range(ranks):
                for (_, block), contributions in held[rank].items():
                    if operation == "allgather":
                        assert contributions == {block}
                    elif operation == "allreduce" or block == rank:
                        assert contributions == every
                if operation == "allgather":
                    assert len(held[rank]) == ranks * rings.channels


def test_every_channel_leaves_a_node_from_another_rank() -> None:
    """And comes to another one: 4 nodes of 8 ranks have 8 messages in and out in each round."""
    node = np.arange(32) // 8
    columns = written("allgather", "ring_channels", node)
    far = [m for m in paired(columns) if node[m.source] != node[m.target]]
    assert len(far) == 31 * 32
    assert {m.size for m in far} == {SIZE / 8}
    assert all(len({m.source for m in far if node[m.source] == one}) == 8 for one in range(4))
    assert all(len({m.target for m in far if node[m.target] == one}) == 8 for one in range(4))


def rails(node: np.ndarray) -> dict[int, int]:
    return {rank: place for one in by_node(node) for place, rank in enumerate(one)}


def even_nodes(ranks: int) -> list[np.ndarray]:
    return [np.arange(ranks) // q for q in range(1, ranks + 1) if ranks % q == 0] + (
        [np.arange(ranks) % 3] if ranks % 3 == 0 else []
    )


@pytest.mark.parametrize("operation", ["allreduce", "reduce_scatter", "allgather", "all_to_all"])
def test_hierarchical_messages_stay_within_a_node_or_on_a_rail(operation: str) -> None:
    for ranks in RANKS:
        for node in even_nodes(ranks):
            rail = rails(node)
            for m in paired(written(operation, "hierarchical", node)):
                assert node[m.source] == node[m.target] or rail[m.source] == rail[m.target]


def test_hierarchical_all_to_all_brings_every_block() -> None:
    for ranks in RANKS:
        for node in even_nodes(ranks):
            rail = rails(node)
            held = [{(rank, to) for to in range(ranks)} for rank in range(ranks)]

            def send(rank: int, number: int, target: int, size: float, held=held, rail=rail, node=node) -> set:
                near = node[rank] == node[target]
                away = {pair for pair in held[rank] if (rail[pair[1]] == rail[target] if near else pair[1] == target)}
                away = {pair for pair in away if not near or pair[0] == rank}
                assert size == len(away) * SIZE
                held[rank] -= away
                return away

            def take(rank: int, source: int, some: set, held=held) -> None:
                held[rank] |= some

            Replay(written("all_to_all", "hierarchical", node), send, take).run()
            assert held == [{(source, rank) for source in range(ranks)} for rank in range(ranks)]


@pytest.mark.parametrize("operation", ["allreduce", "reduce_scatter", "allgather"])
def test_hierarchical_rings_end_with_the_right_data(operation: str) -> None:
    """A part of the vector is a pair (rail, node in the order of nodes); a rank of a reduce-scatter ends with its own."""
    for ranks in RANKS:
        for node in even_nodes(ranks):
            nodes, rail = by_node(node), rails(node)
            number = {rank: place for place, one in enumerate(nodes) for rank in one}
            q, n, everything = len(nodes[0]), len(nodes), frozenset(range(ranks))
            parts = [(r, b) for r in range(q) for b in range(n)]
            own = [
                {
                    part: frozenset({rank})
                    for part in parts
                    if operation != "allgather" or part == (rail[rank], number[rank])
                }
                for rank in range(ranks)
            ]

            def send(rank: int, sent: int, target: int, size: float, own=own, q=q, n=n, rail=rail, number=number):
                near, far = q - 1, n - 1
                if operation == "allgather":
                    stage, step = ("far", sent) if sent < far else ("near", sent - far)
                    gathers = True
                elif sent < near:
                    stage, step, gathers = "near", sent, False
                elif sent < near + far:
                    stage, step, gathers = "far", sent - near, False
                elif sent < near + 2 * far:
                    stage, step, gathers = "far", sent - near - far, True
                else:
                    stage, step, gathers = "near", sent - near - 2 * far, True
                if stage == "near":
                    block = (rail[rank] - step - (not gathers)) % q
                    away = [(block, b) for b in range(n)]
                else:
                    away = [(rail[rank], (number[rank] - step - (not gathers)) % n)]
                unit = SIZE if operation == "allgather" else SIZE / (q * n)
                assert size == pytest.approx(len(away) * unit)
                return {part: own[rank][part] for part in away}, gathers

            def take(rank: int, source: int, payload, own=own) -> None:
                blocks, gathers = payload
                for part, contributions in blocks.items():
                    mine = own[rank].get(part, frozenset())
                    assert gathers or not mine & contributions
                    own[rank][part] = contributions if gathers else mine | contributions

            Replay(written(operation, "hierarchical", node), send, take).run()
            for rank in range(ranks):
                if operation == "reduce_scatter":
                    assert own[rank][rail[rank], number[rank]] == everything
                elif operation == "allreduce":
                    assert all(own[rank][part] == everything for part in parts)
                else:
                    assert len(own[rank]) == ranks
                    assert all(own[rank][r, b] == {nodes[b][r]} for r, b in parts)


def test_chunks_pass_the_stages_one_behind_another() -> None:
    """Every rank ends with the sum of every part of every chunk, and a part is reduced in each stage once."""
    chunks = 4
    for ranks in [one for one in RANKS if one <= 40]:
        for node in even_nodes(ranks):
            nodes, rail, everything = by_node(node), rails(node), frozenset(range(ranks))
            number = {rank: place for place, one in enumerate(nodes) for rank in one}
            q, n = len(nodes[0]), len(nodes)
            lengths, later = (q - 1, 2 * (n - 1), q - 1), max(q - 1, 2 * (n - 1))
            begins = (0, q - 1, q - 1 + 2 * (n - 1))
            schedule = [
                (stage, chunk, turn - chunk * later - begins[stage])
                for turn in range(sum(lengths) + (chunks - 1) * later)
                for stage in (1, 0, 2)
                for chunk in range(chunks)
                if 0 <= turn - chunk * later - begins[stage] < lengths[stage]
            ]
            held = [
                {(c, r, b): frozenset({rank}) for c in range(chunks) for r in range(q) for b in range(n)}
                for rank in range(ranks)
            ]

            def send(rank: int, sent: int, target: int, size: float, held=held, plan=schedule, of=(rail, number, q, n)):
                rail, number, q, n = of
                stage, chunk, step = plan[sent]
                gathers = stage == 2 or (stage == 1 and step >= n - 1)
                if stage == 1:
                    block = number[rank] - step - 1 if step < n - 1 else number[rank] - (step - (n - 1))
                    away = [(chunk, rail[rank], block % n)]
                else:
                    away = [(chunk, (rail[rank] - step - (stage == 0)) % q, b) for b in range(n)]
                assert size == pytest.approx(len(away) * SIZE / (chunks * q * n))
                return {part: held[rank][part] for part in away}, gathers

            def take(rank: int, source: int, payload, held=held) -> None:
                for part, contributions in payload[0].items():
                    assert payload[1] or not held[rank][part] & contributions
                    held[rank][part] = contributions if payload[1] else held[rank][part] | contributions

            Replay(written("allreduce", "hierarchical_chunks", node), send, take).run()
            assert all(one == everything for mine in held for one in mine.values())


def test_two_trees_end_with_all_contributions() -> None:
    """Every chunk of each tree goes up with the contributions of a subtree, each of them once, and comes down whole."""
    chunks = 8
    for ranks in RANKS:
        everything = frozenset(range(ranks))
        node = np.arange(ranks)
        held = [
            {(tree, chunk): frozenset({rank}) for tree in (0, 1) for chunk in range(chunks)} for rank in range(ranks)
        ]
        up_edges = [parents_of(ranks), shifted(parents_of(ranks), ranks)]
        sent: dict[tuple[int, int, int], int] = defaultdict(int)

        def send(rank: int, number: int, target: int, size: float, held=held, edges=up_edges, sent=sent):
            assert size == SIZE / (2 * chunks)
            trees = [one for one in (0, 1) if target in (edges[one].get(rank), *children_of(rank, edges[one]))]
            trees = [one for one in trees if sent[one, rank, target] < chunks]
            # Of two trees with the same edge, that whose chunk is there first in the order of a round.
            tree = min(trees, key=lambda one: (due(one, rank, target, sent[one, rank, target], edges), one))
            chunk = sent[tree, rank, target]
            sent[tree, rank, target] += 1
            upwards = edges[tree].get(rank) == target
            assert upwards or held[rank][tree, chunk] == everything_of(held)
            return (tree, chunk), held[rank][tree, chunk], upwards

        def take(rank: int, source: int, payload, held=held) -> None:
            key, contributions, upwards = payload
            assert not upwards or not held[rank][key] & contributions
            held[rank][key] = held[rank][key] | contributions

        Replay(written("allreduce", "double_tree", node), send, take).run()
        assert all(one == everything for mine in held for one in mine.values())


def parents_of(ranks: int) -> dict[int, int]:
    """The tree as it is published: an in-order binary tree of the numbers from 1 on, below rank 0."""
    found: dict[int, int] = {}

    def below(low: int, high: int, parent: int) -> None:
        if low < high:
            root = max(range(low, high), key=lambda one: (one & -one, one))
            found[root] = parent
            below(low, root, root)
            below(root + 1, high, root)

    below(1, ranks, 0)
    return found


def shifted(parents: dict[int, int], ranks: int) -> dict[int, int]:
    if ranks % 2:
        return {(a + 1) % ranks: (b + 1) % ranks for a, b in parents.items()}
    return {ranks - 1 - a: ranks - 1 - b for a, b in parents.items()}


def inner(parents: dict[int, int]) -> set[int]:
    return set(parents.values())


def depth(rank: int, parents: dict[int, int]) -> int:
    return 0 if rank not in parents else 1 + depth(parents[rank], parents)


def children_of(rank: int, parents: dict[int, int]) -> list[int]:
    return [child for child, parent in parents.items() if parent == rank]


def due(tree: int, rank: int, target: int, chunk: int, edges: list[dict[int, int]]) -> int:
    """The round in which a chunk passes an edge."""
    height = max((depth(one, edges[tree]) for one in edges[tree]), default=0)
    upwards = edges[tree].get(rank) == target
    return chunk + (height - depth(rank, edges[tree]) if upwards else height + depth(target, edges[tree]) - 1)


def everything_of(held: list) -> frozenset[int]:
    return frozenset(range(len(held)))


def test_an_inner_rank_of_one_tree_is_a_leaf_of_the_other() -> None:
    """All but the root of each, which has one child."""
    for ranks in RANKS:
        first = parents_of(ranks)
        second = shifted(first, ranks)
        roots = {0, 1 % ranks if ranks % 2 else ranks - 1}
        assert not (inner(first) & inner(second)) - roots


def test_nodes_of_different_sizes_take_the_ring_of_all() -> None:
    for operation, flat in (
        ("allreduce", "ring"),
        ("allgather", "ring"),
        ("reduce_scatter", "ring"),
        ("all_to_all", "pairwise"),
    ):
        plain = Ranks(len(UNEVEN))
        MESSAGES[operation, flat].write(plain, SIZE)
        assert [(m.source, m.target, m.size) for m in paired(Columns(plain))] == [
            (m.source, m.target, m.size) for m in paired(written(operation, "hierarchical", UNEVEN))
        ]
