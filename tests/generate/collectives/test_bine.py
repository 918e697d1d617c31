"""Bine trees and butterflies: the messages of both readings against the digits of the paper, and how far they go."""

from __future__ import annotations

import pytest

from simcodesign.analytic.messages import ordered_steps
from simcodesign.core.operation_kinds import SEND
from simcodesign.engine.simulate import simulate
from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import MESSAGES
from tests import builders
from tests.generate.collectives.test_collectives import SIZE
from tests.oracles.messages.collective_rounds import bine_edges, negabinary

POWERS = [2, 4, 8, 16, 64, 256]


def sent(name: str, ranks: int) -> list[list[tuple[int, int]]]:
    """Sender and receiver of the messages of each column."""
    writer = Ranks(ranks)
    MESSAGES[name, "bine"].write(writer, SIZE)
    columns = [column for column in writer.columns if column.kind == SEND]
    senders = [writer.rank if column.who is None else column.who for column in columns]
    return [
        sorted(zip(who.tolist(), column.peer.tolist(), strict=True))
        for who, column in zip(senders, columns, strict=True)
    ]


def test_digits_to_the_base_minus_two() -> None:
    for ranks in POWERS:
        for rank in range(ranks):
            value = sum(digit * (-2) ** place for place, digit in enumerate(negabinary(rank, ranks)))
            assert value % ranks == rank


@pytest.mark.parametrize("ranks", POWERS)
def test_both_readings_send_as_the_paper_says(ranks: int) -> None:
    edges = [sorted(step) for step in bine_edges(ranks)]
    assert sent("broadcast", ranks) == edges
    assert sent("reduce", ranks) == [sorted((child, parent) for parent, child in step) for step in reversed(edges)]
    for up in (False, True):
        steps = ordered_steps.bine_tree(ranks, up)
        ordered = [sorted(zip(step.source.tolist(), step.target.tolist(), strict=True)) for step in steps]  # type: ignore[union-attr]
        assert ordered == sent("reduce" if up else "broadcast", ranks)


def test_eight_ranks_by_hand() -> None:
    """3 is 111, 7 = -1 is 11, 4 is 100, 1 is 1 and 2 is 110 to the base -2."""
    assert sent("broadcast", 8) == [[(0, 3)], [(0, 7), (3, 4)], [(0, 1), (3, 2), (4, 5), (7, 6)]]
    assert sent("allreduce", 4) == [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 3), (1, 2), (2, 1), (3, 0)]]


def distance(ranks: int, algorithm: str) -> int:
    """Sum of the distances of all messages of a broadcast around a ring."""
    writer = Ranks(ranks)
    MESSAGES["broadcast", algorithm].write(writer, SIZE)
    return sum(
        min(abs(int(a) - int(b)), ranks - abs(int(a) - int(b)))
        for column in writer.columns
        if column.kind == SEND and column.who is not None
        for a, b in zip(column.who, column.peer, strict=True)
    )


def test_messages_go_two_thirds_as_far() -> None:
    assert distance(1024, "bine") / distance(1024, "binomial") == pytest.approx(2 / 3, abs=0.03)


def test_on_a_ring_hops_take_less_and_closed_forms_the_same() -> None:
    on = builders.read_machine(
        "simcodesign: 1\nname: ring\nnodes: 64\nprocessor: {rate: 1 FLOP/s}\n"
        "network: {topology: {kind: torus, shape: [64]}, startup: 1 us, hop_latency: 1 us, bandwidth: 1 GB/s}\n"
    )
    times = {
        (algorithm, effects): simulate(
            builders.workload(f"- broadcast: {{bytes: 8, algorithm: {algorithm}}}"), on, {"P": 64}, effects=effects
        ).makespan_s
        for algorithm in ("bine", "binomial")
        for effects in ("none", "hops")
    }
    assert times["bine", "none"] == pytest.approx(times["binomial", "none"], rel=1e-12)
    assert times["bine", "hops"] < times["binomial", "hops"]
