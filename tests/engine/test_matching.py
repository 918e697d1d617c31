"""The search for messages in the queues of their receivers: closed forms and a count by hand, in both engines."""

from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload

ENGINES = ["simpy", "compiled"]
STARTUP_S, RECEIVE_S, MATCHING_S = 1.0, 8.0, 0.125
TEXT = """simcodesign: 1
name: m
nodes: 64
processor: {rate: 1 FLOP/s}
network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 1 B/s, receive_overhead: 8 s, matching: 125 ms%s}
"""


def machine(more: str = "") -> Machine:
    return read_machine(TEXT % more)


def into_rank_0(order: list[int], delays_s: dict[int, float]) -> str:
    """Rank r sends after ``delays_s[r]``; rank 0 receives from ranks in this order."""
    sends = [
        f"- compute: {{seconds: {seconds}, when: rank == {rank}}}\n- send: {{to: 0, bytes: 0, when: rank == {rank}}}"
        for rank, seconds in delays_s.items()
    ]
    receives = [f"- receive: {{from: {rank}, when: rank == 0}}" for rank in order]
    return "\n".join([*sends, *receives])


def run(program: str, ranks: int, engine: str, effects: str = "matching", on: Machine | None = None) -> Result:
    return simulate(workload(program), machine() if on is None else on, {"P": ranks}, effects=effects, engine=engine)


def worked_s(result: Result) -> float:
    """The time for which all ranks together work, waiting apart."""
    return float(result.ranks.busy_s.sum() - result.ranks.waiting_s.sum())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ranks", [2, 3, 8, 33])
def test_messages_in_reverse_order_cost_the_triangle(engine: str, ranks: int) -> None:
    """The n = P - 1 messages arrive one after another, the last one first to be received: its receive examines the n - 1
    others, the next one n - 2, ..., in all n (n - 1) / 2 entries."""
    n = ranks - 1
    delays_s = {rank: float(rank) for rank in range(1, ranks)}
    result = run(into_rank_0(list(range(n, 0, -1)), delays_s), ranks, engine)
    all_there_s = n + STARTUP_S
    assert result.makespan_s == all_there_s + n * RECEIVE_S + MATCHING_S * n * (n - 1) / 2
    assert worked_s(result) == pytest.approx(
        sum(delays_s.values()) + n * (STARTUP_S + RECEIVE_S) + MATCHING_S * n * (n - 1) / 2
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_messages_in_order_cost_nothing(engine: str) -> None:
    """The first message of the queue is the right one; messages of one instant count as if they came in order."""
    for delays_s in ({rank: float(rank) for rank in range(1, 9)}, dict.fromkeys(range(1, 9), 1.0)):
        program = into_rank_0(list(range(1, 9)), delays_s)
        assert run(program, 9, engine).makespan_s == run(program, 9, engine, "none").makespan_s


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", list(permutations([1, 2, 3, 4])))
def test_each_pair_out_of_order_is_examined_once(engine: str, order: tuple[int, ...]) -> None:
    """The inversions of the order of receives, counted pair by pair; all messages are there before the last arrives."""
    inversions = sum(one > other for place, one in enumerate(order) for other in order[place + 1 :])
    program = into_rank_0(list(order), {rank: rank / 8 for rank in range(1, 5)})
    first_s = order[0] / 8 + STARTUP_S
    assert run(program, 5, engine).makespan_s == first_s + 4 * RECEIVE_S + inversions * MATCHING_S


@pytest.mark.parametrize("engine", ENGINES)
def test_a_linear_all_to_all_by_hand(engine: str) -> None:
    """All ranks send to the right first, so that messages arrive as they are received, and nothing is examined; of an
    all-broadcast, which sends to ranks 0, 1, 2 ... and receives from these, brute force counts the inversions."""
    ordered = "- all_to_all: {bytes: 4, algorithm: linear}"
    assert run(ordered, 16, engine).makespan_s == run(ordered, 16, engine, "none").makespan_s
    mixed = "- all_broadcast: {bytes: 0}"
    plain, searched = (run(mixed, 16, engine, effects) for effects in ("none", "matching"))
    arrival_s = np.full((16, 16), np.nan)  # by source and target
    for source in range(16):
        for place, target in enumerate(rank for rank in range(16) if rank != source):
            arrival_s[source, target] = place + STARTUP_S
    entries = 0
    for target in range(16):
        times = [arrival_s[source, target] for source in range(16) if source != target]
        entries += sum(late < early for place, early in enumerate(times) for late in times[place + 1 :])
    assert worked_s(searched) - worked_s(plain) == pytest.approx(entries * MATCHING_S)


SHARINGS = ["", ", sharing: max_min", ", sharing: {round_robin: 512 B}", ", S: 100 B", ", hop_latency: 100 ms"]


@pytest.mark.parametrize("more", SHARINGS)
@pytest.mark.parametrize("seed", range(6))
def test_both_engines_agree_with_all_effects(more: str, seed: int) -> None:
    """Random delays, orders, sizes and receives from anyone: the same bits."""
    draw = Random(seed)
    ranks = draw.randint(3, 12)
    others = list(range(1, ranks))
    delays_s = {rank: draw.choice([0.0, 1.0, draw.uniform(0, 9)]) for rank in others}
    several = [others.copy(), others.copy()]
    for order in several:
        draw.shuffle(order)
    anyone = "\n".join(["- send: {to: 0, bytes: 9, tag: 7, when: rank > 0}", "- repeat: P - 1", "  do:"])
    anyone += "\n    - receive: {from: anyone, bytes: 9, tag: 7, when: rank == 0}"
    mixed = f"- all_to_all: {{bytes: {draw.choice([0, 8, 1000])}, algorithm: linear}}\n- all_broadcast: {{bytes: 16}}"
    program = "\n".join([into_rank_0(several[0], delays_s), mixed, anyone, into_rank_0(several[1], delays_s)])
    one, other = (run(program, ranks, engine, "all", machine(more)) for engine in ENGINES)
    assert one.makespan_s == other.makespan_s
    assert np.array_equal(one.ranks.busy_s, other.ranks.busy_s)
    assert np.array_equal(one.ranks.waiting_s, other.ranks.waiting_s)
    assert one.makespan_s > run(program, ranks, "compiled", "none", machine(more)).makespan_s or ranks < 4


def test_loggops_has_no_queues_to_search() -> None:
    with pytest.raises(InputError, match=r"network\.matching"):
        read_machine(
            "simcodesign: 1\nname: m\nnodes: 4\nprocessor: {rate: 1 FLOP/s}\n"
            "network: {topology: {kind: crossbar}, model: loggop, L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B, matching: 1 ns}\n"
        )
