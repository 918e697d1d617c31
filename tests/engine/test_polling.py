"""Parts that are polled: exact times by a recursion that knows no Plan, both engines, and what cannot be polled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.jobs.job import Job
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.critical_path import critical_path_s
from simcodesign.engine.jobs.simulate_jobs import simulate_jobs
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import schedule_of, simulate
from simcodesign.generate.lower import Plans, make_plan
from tests import examples
from tests.builders import machine, network, read_machine, read_workload, workload

#: Seconds of the message of a chain, and its bytes.
MESSAGE_S, SIZE_BYTES = 3.0, 8
HOCKNEY = machine(network(64, sends="blocking", startup_s=1.0, per_byte_s=0.25))
RENDEZVOUS = machine(network(64, sends="blocking", startup_s=1.0, per_byte_s=0.25, rendezvous_above_bytes=4.0))
CHAIN = f"broadcast: {{bytes: {SIZE_BYTES}, algorithm: chain}}"


def chain(pieces_s: Sequence[Sequence[float]]) -> Workload:
    """A broadcast along a chain, for which each rank polls after each of its pieces of work."""
    steps = [f"  - {{start: {{{CHAIN}}}, as: ring, polled: 1}}"]
    for number in range(len(pieces_s[0])):
        own = " + ".join(f"{piece[number]}*(rank == {rank})" for rank, piece in enumerate(pieces_s))
        steps += [f"  - compute: {{seconds: {own}}}", "  - poll: ring"]
    return workload("\n".join([*steps, "  - wait: ring"]))


def ends_s(pieces_s: Sequence[Sequence[float]], rendezvous: bool) -> list[float]:
    """When each rank is done: it takes the message at the first poll that finds it, or waits for it, and passes it on."""
    ends, arrival_s, ready_s = [], [0.0], []
    for rank, pieces in enumerate(pieces_s):  # when a rank takes the message does not depend on those after it
        polls_s = np.cumsum(pieces).tolist()
        found = [poll_s for poll_s in polls_s if poll_s >= arrival_s[rank]]
        ready_s.append(found[0] if found else max([arrival_s[rank], *polls_s]))
        arrival_s.append(ready_s[rank] + MESSAGE_S)
    for rank, pieces in enumerate(pieces_s):
        is_last = rank == len(pieces_s) - 1
        passed_s = ready_s[rank] if is_last else arrival_s[rank + 1]
        if rendezvous and not is_last:
            passed_s = max(passed_s, ready_s[rank + 1])
        polls_s = np.cumsum(pieces).tolist()
        left_s = sum(piece for piece, poll_s in zip(pieces, polls_s, strict=True) if poll_s > ready_s[rank])
        ends.append(passed_s + left_s)
    return ends


def rank_ends_s(described: Workload, on: Machine, ranks: int) -> list[float]:
    """When the ranks are done, the same by both engines to the last bit."""
    plan = make_plan(bind(described, on, {"P": ranks}))
    logs = [run(plan, name) for name in ("simpy", "compiled")]
    assert logs[0].finish_s.tobytes() == logs[1].finish_s.tobytes()
    assert logs[0].events == logs[1].events
    return [float(logs[0].finish_s[plan.first[rank + 1] - 1]) for rank in range(ranks)]


@settings(max_examples=examples(300, 40), deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda ranks: st.lists(
            st.lists(st.integers(0, 9).map(float), min_size=3, max_size=3), min_size=ranks, max_size=ranks
        )
    ),
    st.booleans(),
)
def test_chain(pieces_s: list[list[float]], rendezvous: bool) -> None:
    """Ranks pass the message on when they poll, which holds up their work; with rendezvous, also their predecessor."""
    ends = rank_ends_s(chain(pieces_s), RENDEZVOUS if rendezvous else HOCKNEY, len(pieces_s))
    assert ends == ends_s(pieces_s, rendezvous)


def test_loops_and_groups() -> None:
    """Polls in a loop within a loop: every other rank has a chain, for which the others do not wait; then these.

    A rank works for 1 + rank seconds before each of its four polls, in three rounds.
    """
    text = f"""
simcodesign: 1
name: rings
groups:
  ring: where(rank % 2 == turn % 2, 0, -1)
program:
  - repeat: 3
    index: turn
    do:
      - {{start: {{broadcast: {{bytes: {SIZE_BYTES}, algorithm: chain, group: ring}}}}, as: ring, polled: 1}}
      - repeat: 2
        do:
          - repeat: 2
            do:
              - compute: {{seconds: 1 + rank}}
              - poll: ring
      - wait: ring
"""
    now_s = [0.0] * 6
    for turn in range(3):
        members = [rank for rank in range(6) if rank % 2 == turn % 2]
        arrival_s = 0.0
        for rank in range(6):
            if rank not in members:
                now_s[rank] += 4 * (1 + rank)
                continue
            polls_s = [now_s[rank] + (1 + rank) * (number + 1) for number in range(4)]
            found = [poll_s for poll_s in polls_s if poll_s >= arrival_s]
            ready_s = found[0] if found else max(arrival_s, polls_s[-1])
            arrival_s = ready_s + MESSAGE_S
            held_s = MESSAGE_S if rank != members[-1] else 0.0
            now_s[rank] = (polls_s[-1] if found else ready_s) + held_s
    assert rank_ends_s(read_workload(text), HOCKNEY, 6) == now_s


@pytest.mark.parametrize("name", ["torus-cluster", "fat-tree-cluster", "ice-lake-cluster"])
@pytest.mark.parametrize("effects", ["none", "hops", "links,interfaces", "links,interfaces,noise"])
@pytest.mark.parametrize("polls", [0, 1, 7])
def test_engines_agree(name: str, effects: str, polls: int) -> None:
    """Linpack with messages above 1 KiB that wait for their receivers, in all cases of routes."""
    described = replace(load_machine(name, {"network.S": 1024.0}), noise=0.05)
    given = {"P": 12, "q": 4, "n": 800, "b": 100, "polls": polls, "swap": "spread_roll", "broadcast": "two_rings"}
    results = [simulate("hpl", described, given, effects=effects, engine=one) for one in ("simpy", "compiled")]
    assert results[0].makespan_s == results[1].makespan_s
    assert results[0].events == results[1].events


def test_messages_that_hold_their_receivers() -> None:
    """The message sets out at 10 s: the poll at 1 s does not wait for it; the one at 21 s receives it, which takes 3 s."""
    holds = read_machine(
        "simcodesign: 1\nname: m\nnodes: 1\nprocessors_per_node: 2\nprocessor: {rate: 1 FLOP/s}\n"
        "network: {topology: {kind: crossbar}, startup: 9 s, bandwidth: 1 B/s}\n"
        "node: {network: {topology: {kind: crossbar}, startup: 1 s, bandwidth: 4 B/s, holds_receiver: true}}\n"
    )
    assert rank_ends_s(chain([[10.0, 0.0, 0.0], [1.0, 20.0, 1.0]]), holds, 2) == [13.0, 22.0 + MESSAGE_S]


def test_alike_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An allreduce that all ranks poll for is the same whether one rank of each class is simulated, or all."""
    program = (
        "  - {start: {allreduce: {bytes: 8, algorithm: ring}}, as: sum, polled: 1}\n"
        "  - repeat: 3\n    do:\n    - compute: {flops: 2}\n    - poll: sum\n  - wait: sum"
    )
    monkeypatch.setattr("simcodesign.generate.lower.MIN_BY_CLASS", 1)
    design = bind(workload(program), HOCKNEY, {"P": 36})
    alike, every = (Plans(design, every_rank=each).plan(()) for each in (False, True))
    assert len(alike) < len(every)
    times = [float(np.max(run(plan, "compiled").finish_s)) for plan in (alike, every)]
    assert times[0] == times[1] > 0


def test_not_polled() -> None:
    """With ``polled: 0`` a part goes on by itself, as without the key; a forecast lets it do so in any case."""
    plain, never, polled = (
        workload(f"  - {{start: {{{CHAIN}}}, as: x{key}}}\n  - compute: {{flops: 20}}\n  - wait: x")
        for key in ("", ", polled: 0", ", polled: 1")
    )
    times = [simulate(one, HOCKNEY, {"P": 4}, effects="none").makespan_s for one in (plain, never, polled)]
    assert times == [20.0, 20.0, 20.0 + 3 * MESSAGE_S]
    assert {forecast(one, HOCKNEY, {"P": 4}).makespan_s for one in (plain, never, polled)} == {20.0}


def test_critical_path() -> None:
    """The parts of the time of the slowest rank add up, with what it did before its poll and the part itself."""
    plan = make_plan(bind(chain([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [5.0, 1.0, 1.0]]), RENDEZVOUS, {"P": 3}))
    log = run(plan, "simpy")
    assert critical_path_s(plan, log).sum() == log.finish_s.max()


def test_jobs() -> None:
    """Two jobs side by side, each polled, are as fast as each alone."""
    alone = simulate(chain([[1.0] * 3, [2.0] * 3]), HOCKNEY, {"P": 2}, effects="none").makespan_s
    jobs = [Job(chain([[1.0] * 3, [2.0] * 3]), places) for places in (range(2), range(2, 4))]
    assert [job.makespan_s for job in simulate_jobs(jobs, HOCKNEY, effects="none").jobs] == [alone, alone]


WRONG = {
    "not started": ("  - compute: {flops: 1}\n  - poll: x", "value=x"),
    "not polled": (f"  - {{start: {{{CHAIN}}}, as: x}}\n  - poll: x\n  - wait: x", "poll of what was not started"),
    "waited for": (f"  - {{start: {{{CHAIN}}}, as: x, polled: 1}}\n  - wait: x\n  - poll: x", "poll of what was not"),
    "no messages": ("  - {start: {compute: {flops: 1, on: accelerator}}, as: x, polled: 1}\n  - wait: x", "messages"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_polls(case: str) -> None:
    program, said = WRONG[case]
    with pytest.raises(InputError, match=said if "value" not in said else "poll of what was not started"):
        workload(program)


def test_what_cannot_be_polled() -> None:
    """Networks in LogGOPS, receives from anyone, and schedules in GOAL know no polls."""
    loggops = machine(network(4, model="loggop", latency_s=1.0, overhead_s=0.5, gap_s=0.75, per_byte_s=0.25))
    polled = chain([[1.0] * 3] * 2)
    with pytest.raises(InputError, match="in LogGOPS"):
        simulate(polled, loggops, {"P": 2})
    with pytest.raises(InputError, match="GOAL"):
        schedule_of(polled, HOCKNEY, {"P": 2})
    anyone = workload(
        "  - {start: {receive: {from: anyone, when: rank == 0}}, as: x, polled: 1}\n"
        "  - send: {to: 0, bytes: 1, when: rank == 1}\n  - wait: x"
    )
    with pytest.raises(InputError, match="receive from anyone"):
        simulate(anyone, HOCKNEY, {"P": 2})
