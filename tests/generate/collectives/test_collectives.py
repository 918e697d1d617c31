"""Collectives as messages: the data that they move, and their number and bytes against the closed forms."""

from __future__ import annotations

from collections import Counter, defaultdict

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.collectives.algorithm_form import ALGORITHM_FORMS
from simcodesign.analytic.messages.collective_traffic import Traffic, collective_traffic, halo_traffic
from simcodesign.analytic.messages.halo import halo
from simcodesign.analytic.messages.message_costs import Cost, price
from simcodesign.core.errors import Place
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.describe.demands.collective import ON_NODES, every_algorithm
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.build import build_topology
from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from simcodesign.generate.messages.halo import halo_exchange
from simcodesign.generate.messages.matching import matches
from simcodesign.generate.segment import woven
from tests import THOROUGH, numbers_of_ranks
from tests.builders import network_of
from tests.oracles.messages.collective_replay import Columns, Replay, paired

SIZE = 1000.0
#: Algorithms whose number of columns grows with the logarithm of P.
SHORT = {
    "binomial",
    "binomial_near",
    "binomial_far",
    "binary_tree",
    "interleaved_binary_tree",
    "recursive_doubling",
    "reduce_broadcast",
    "bruck",
    "dissemination",
}
KEYS = sorted(MESSAGES)


def counts(algorithm: str) -> list[int]:
    """Numbers of ranks to try."""
    larger = (64, 127, 255, 600) if algorithm in SHORT else (48, 61)
    return [*numbers_of_ranks(33), *(larger if THOROUGH else larger[:1])]


def written(name: str, algorithm: str, ranks: int, size: float = SIZE, **nodes: np.ndarray) -> Columns:
    program_writer = Ranks(ranks)
    MESSAGES[name, algorithm].write(program_writer, size, **nodes)
    return Columns(program_writer)


def test_every_algorithm_that_a_workload_may_name_is_generated_and_priced() -> None:
    assert set(every_algorithm()) == set(MESSAGES) == set(ALGORITHM_FORMS)


#: Broadcasts that send the whole data at once; the others have tests of their own.
IN_PARTS = ("scatter_allgather", "split_binary_tree")
WHOLE_BROADCASTS = [way for name, way in KEYS if name == "broadcast" and way not in IN_PARTS]


@pytest.mark.parametrize("algorithm", WHOLE_BROADCASTS)
def test_broadcast_brings_the_token_of_the_root_to_everybody_once(algorithm: str) -> None:
    for ranks in counts(algorithm):
        token = [{0} if rank == 0 else set() for rank in range(ranks)]
        times = Counter()

        def take(rank: int, source: int, payload: object, token: list = token, times: Counter = times) -> None:
            token[rank] |= payload
            times[rank] += 1

        columns = written("broadcast", algorithm, ranks)
        Replay(columns, lambda rank, *_, token=token: set(token[rank]), take).run()
        assert token == [{0}] * ranks
        assert times == dict.fromkeys(range(1, ranks), 1)


@pytest.mark.parametrize("algorithm", ["recursive_doubling", "reduce_broadcast"])
def test_allreduce_adds_every_contribution_exactly_once(algorithm: str) -> None:
    for ranks in counts(algorithm):
        known = [{rank} for rank in range(ranks)]
        everything = set(range(ranks))

        def take(rank: int, source: int, payload: object, known: list = known, everything: set = everything) -> None:
            if payload == everything:  # the finished sum replaces what was there
                known[rank] = everything
            else:
                assert not known[rank] & payload
                known[rank] = known[rank] | payload

        columns = written("allreduce", algorithm, ranks)
        Replay(columns, lambda rank, *_, known=known: set(known[rank]), take).run()
        assert known == [everything] * ranks


@pytest.mark.parametrize("ranks", counts("ring"))
def test_allreduce_ring_reduces_and_gathers_chunks(ranks: int) -> None:
    chunks = [[{rank} for _ in range(ranks)] for rank in range(ranks)]
    step = [0] * ranks
    everything = set(range(ranks))

    def pass_on(rank: int, number: int, target: int, size: float) -> object:
        assert size == SIZE / ranks
        turn = number if number < ranks - 1 else number - ranks  # the gathering starts with the finished chunk
        chunk = (rank - turn) % ranks
        return chunk, set(chunks[rank][chunk])

    def take(rank: int, source: int, payload: object) -> None:
        chunk, contributions = payload
        if step[rank] < ranks - 1:
            assert not chunks[rank][chunk] & contributions
            chunks[rank][chunk] |= contributions
        else:
            assert contributions == everything
            chunks[rank][chunk] = contributions
        step[rank] += 1

    Replay(written("allreduce", "ring", ranks), pass_on, take).run()
    assert chunks == [[everything] * ranks] * ranks


@pytest.mark.parametrize("ranks", counts("ring"))
def test_allgather_ring_passes_on_what_came_last(ranks: int) -> None:
    blocks = [[rank] for rank in range(ranks)]
    Replay(
        written("allgather", "ring", ranks),
        lambda rank, number, target, size: blocks[rank][-1],
        lambda rank, source, block: blocks[rank].append(block),
    ).run()
    assert all(sorted(mine) == list(range(ranks)) for mine in blocks)


@pytest.mark.parametrize("ranks", counts("bruck"))
def test_allgather_bruck_sends_as_many_blocks_as_its_bytes_say(ranks: int) -> None:
    blocks = [[rank] for rank in range(ranks)]
    Replay(
        written("allgather", "bruck", ranks),
        lambda rank, number, target, size: blocks[rank][: int(size / SIZE)],
        lambda rank, source, some: blocks[rank].extend(some),
    ).run()
    assert all(mine == [(rank + k) % ranks for k in range(ranks)] for rank, mine in enumerate(blocks))


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [("allgather", "linear"), ("all_to_all", "linear"), ("all_to_all", "pairwise"), ("all_broadcast", "linear")],
)
def test_every_ordered_pair_has_one_message(name: str, algorithm: str) -> None:
    for ranks in counts(algorithm):
        columns = written(name, algorithm, ranks)
        got = Counter()
        Replay(
            columns,
            lambda rank, number, target, size: (rank, target, size),
            lambda rank, source, payload, got=got: got.update([(payload, source, rank)]),
        ).run()
        pairs = {((a, b, SIZE), a, b): 1 for a in range(ranks) for b in range(ranks) if a != b}
        assert got == pairs


@pytest.mark.parametrize("ranks", [*range(1, 34), 64, 100])
def test_all_to_all_bruck_carries_every_block_home(ranks: int) -> None:
    blocks = [{(rank, target) for target in range(ranks)} for rank in range(ranks)]

    def send_on(rank: int, number: int, target: int, size: float) -> object:
        bit = 1 << number
        assert target == (rank + bit) % ranks
        moving = {block for block in blocks[rank] if (block[1] - rank) % ranks & bit}
        assert len(moving) * SIZE == size
        blocks[rank] -= moving
        return moving

    def take(rank: int, source: int, moving: object) -> None:
        blocks[rank] |= moving

    Replay(written("all_to_all", "bruck", ranks), send_on, take).run()
    assert blocks == [{(source, rank) for source in range(ranks)} for rank in range(ranks)]


@pytest.mark.parametrize("ranks", counts("dissemination"))
def test_barrier_lets_everybody_hear_of_everybody(ranks: int) -> None:
    heard = [1 << rank for rank in range(ranks)]  # sets as bits, to be quick

    def take(rank: int, source: int, payload: object) -> None:
        heard[rank] |= payload

    Replay(written("barrier", "dissemination", ranks), lambda rank, *_: heard[rank], take).run()
    assert heard == [2**ranks - 1] * ranks


GRIDS = st.integers(1, 4).flatmap(
    lambda dims: st.tuples(st.lists(st.integers(1, 4), min_size=dims, max_size=dims).map(tuple), st.booleans())
)


def exchanged(grid: tuple[int, ...], sizes: list[float], periodic: bool) -> Columns:
    program_writer = Ranks(int(np.prod(grid)))
    halo_exchange(program_writer, grid, sizes, periodic)
    return Columns(program_writer)


@given(GRIDS)
def test_halo_exchange_is_with_the_neighbours_on_the_process_grid(case: tuple[tuple[int, ...], bool]) -> None:
    grid, periodic = case
    graph = nx.grid_graph([range(extent) for extent in reversed(grid)], periodic=periodic)
    number = {node if isinstance(node, tuple) else (node,): None for node in graph.nodes}
    number = {node: int(np.ravel_multi_index(node, grid)) for node in number}
    neighbours = defaultdict(set)
    for a, b in graph.edges:
        one, other = (number[node if isinstance(node, tuple) else (node,)] for node in (a, b))
        if one != other:
            neighbours[one].add(other)
            neighbours[other].add(one)
    columns = exchanged(grid, [SIZE] * len(grid), periodic)
    sources = defaultdict(set)
    Replay(columns, lambda rank, *_: rank, lambda rank, source, payload: sources[rank].add(payload)).run()
    assert sources == neighbours


def as_multiset(traffic: Traffic) -> Counter:
    rows = zip(traffic.source.tolist(), traffic.target.tolist(), traffic.size_bytes.tolist(), strict=True)
    return Counter(rows)


def check_counts(columns: Columns, cost: Cost, traffic: Traffic) -> None:
    messages = paired(columns)
    assert len(messages) == cost.messages
    assert sum(m.size for m in messages) == pytest.approx(float(cost.message_bytes), rel=1e-12)
    assert Counter((m.source, m.target, m.size) for m in messages) == as_multiset(traffic)


def network() -> Network:
    return network_of(
        build_topology("crossbar", 2), startup_s=1.0, per_byte_s=1.0, sends="blocking", switch_latency_s=None
    )


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
def test_messages_and_bytes_equal_the_closed_form_and_the_traffic(name: str, algorithm: str) -> None:
    for ranks in counts(algorithm):
        size = SIZE * ranks  # a whole number of bytes for every rank, so that no size is rounded
        columns = written(name, algorithm, ranks, size)
        cost = ALGORITHM_FORMS[name, algorithm].cost(size, price(network(), ranks))
        check_counts(columns, cost, collective_traffic(ALGORITHM_FORMS[name, algorithm].steps(ranks), size))


@given(GRIDS, st.lists(st.sampled_from([0.0, 1.0, 24.0, 1e6]), min_size=4, max_size=4))
def test_messages_and_bytes_of_a_halo_exchange(case: tuple[tuple[int, ...], bool], sizes: list[float]) -> None:
    grid, periodic = case
    sizes = sizes[: len(grid)]
    ranks = int(np.prod(grid))
    cost = halo(sizes, [float(extent) for extent in grid], periodic, price(network(), ranks))
    check_counts(exchanged(grid, sizes, periodic), cost, halo_traffic(grid, sizes, periodic))


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
def test_generators_count_their_messages_from_above(name: str, algorithm: str) -> None:
    """At most twice the messages and an operation for each rank: of an algorithm that looks at nodes, on the equal nodes
    that take the most messages."""
    for ranks in counts(algorithm):
        messages = len(paired(written(name, algorithm, ranks)))
        if (name, algorithm) in ON_NODES:
            several = (np.arange(ranks) // each for each in range(2, ranks + 1) if ranks % each == 0)
            messages = max(messages, *(len(paired(written(name, algorithm, ranks, node=node))) for node in several), 0)
        assert messages <= MESSAGES[name, algorithm].most(ranks) <= 2 * messages + ranks


@given(GRIDS)
def test_halo_exchange_takes_at_most_four_columns_per_dimension(case: tuple[tuple[int, ...], bool]) -> None:
    grid, periodic = case
    assert len(exchanged(grid, [SIZE] * len(grid), periodic)) <= 4 * len(grid)


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
def test_pairs_in_program_order_are_the_pairs_of_the_algorithm(name: str, algorithm: str) -> None:
    """What MPI would do with these calls: the n-th send from a to b meets the n-th receive of b from a."""
    for ranks in (2, 3, 7, 8, 13):
        by_pair = defaultdict(list)
        for message in paired(written(name, algorithm, ranks)):
            by_pair[message.source, message.target].append((message.sent_in, message.received_in))
        for ends in by_pair.values():
            received = [end for _, end in sorted(ends)]
            assert received == sorted(received)


@pytest.mark.parametrize(("name", "algorithm"), KEYS)
def test_operations_of_a_plan_match_each_other(name: str, algorithm: str) -> None:
    """Twice the same collective, numbered here rank by rank: every receive is matched with the send of its column."""
    for ranks in (1, 2, 5, 16, 19):
        columns = written(name, algorithm, ranks)
        segment = woven(columns.program_writer.columns, ranks, 0).repeated(2)
        rank = np.repeat(np.arange(ranks, dtype=np.int32), segment.counts)
        match = matches(segment, rank, Place()).match
        present = np.concatenate([columns.present] * 2)
        number = np.cumsum(present.T.ravel()).reshape(ranks, -1).T - 1
        assert len(match) == np.count_nonzero(present)
        assert np.array_equal(match[match], np.arange(len(match)))
        for message in paired(columns):
            for turn in (0, len(columns)):
                sent = number[message.sent_in + turn, message.source]
                received = number[message.received_in + turn, message.target]
                assert (match[sent], match[received]) == (received, sent)
                assert (segment.fields["kind"][sent], segment.fields["kind"][received]) == (SEND, RECEIVE)
