"""Senders that wait for their receivers, in programs in YAML and in Python: times by hand, and whether ranks ever end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import DeadlockError
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from tests import examples
from tests.builders import machine, network, workload
from tests.random_messages import Action, RandomMessages, check

ENGINES = ("simpy", "compiled")


def crossbar(sends: str = "blocking", sharing: str = "fcfs", **more: Any) -> Machine:
    """1 us of startup and 1 GB/s; senders of more than one byte wait for their receivers."""
    own = {"startup_s": 1e-6, "per_byte_s": 1e-9, "link_per_byte_s": 1e-9, "rendezvous_above_bytes": 1.0}
    return machine(network(8, sends=sends, sharing=sharing, **{**own, **more}))


@sc.program
def receive_first(rank: int, size: int) -> Iterator[Any]:
    """A ring of 1,000 bytes: MPI_Irecv, MPI_Isend, MPI_Waitall."""
    received = yield sc.rank.start(sc.rank.receive((rank - 1) % size))
    sent = yield sc.rank.start(sc.rank.send((rank + 1) % size, 1000))
    yield sc.rank.wait(received, sent)


@sc.program
def send_first(rank: int, size: int) -> Iterator[Any]:
    """The same ring: MPI_Isend, MPI_Irecv, MPI_Waitall."""
    sent = yield sc.rank.start(sc.rank.send((rank + 1) % size, 1000))
    received = yield sc.rank.start(sc.rank.receive((rank - 1) % size))
    yield sc.rank.wait(sent, received)


RING = """- {start: {receive: {from: (rank - 1) % P}}, as: received}
- {start: {send: {to: (rank + 1) % P, bytes: 1000}}, as: sent}
- wait: [received, sent]
"""


@pytest.mark.parametrize("sharing", ["fcfs", "max_min", "round_robin"])
@pytest.mark.parametrize("sends", ["blocking", "nonblocking"])
@pytest.mark.parametrize("ring", [receive_first, send_first, workload(RING)], ids=["receive", "send", "yaml"])
def test_a_ring_takes_as_long_as_one_message(ring: Workload, sends: str, sharing: str) -> None:
    """1 us + 1,000 B / (1 GB/s): all messages pass side by side."""
    for engine in ENGINES:
        for effects in ("none", "links"):
            result = sc.simulate(ring, crossbar(sends, sharing), {"P": 5}, effects=effects, engine=engine)
            assert result.makespan_s == pytest.approx(2e-6, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sender_waits_for_its_receiver(engine: str) -> None:
    """Rank 0 goes on when rank 1 takes the message up, after 10 us of computation: then it computes for 3 us."""

    @sc.program
    def late(rank: int, size: int, *, bytes: int = 1000) -> Iterator[Any]:
        if rank == 0:
            yield sc.rank.send(1, bytes)
            yield sc.rank.compute(seconds=3e-6)
        else:
            yield sc.rank.compute(seconds=10e-6)
            yield sc.rank.receive(0)

    def ends_us(bytes: int) -> list[float]:
        result = sc.simulate(late, crossbar(), {"P": 2, "bytes": bytes}, effects="none", engine=engine)
        assert result.ranks is not None
        return [round(time_s * 1e6, 6) for time_s in result.ranks.end_s.tolist()]

    assert ends_us(1000) == [13.0, 10.0]
    assert ends_us(1) == [4.001, 10.0]  # of one byte, rank 0 does not wait


def blocking_ring(rank: int, size: int) -> Iterator[Any]:
    """All ranks send first, and nobody receives before its send is done."""
    yield sc.rank.send((rank + 1) % size, 1000)
    yield sc.rank.receive((rank - 1) % size)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ring_of_blocking_sends_is_a_named_deadlock(engine: str) -> None:
    ring = sc.program(blocking_ring)
    with pytest.raises(DeadlockError) as caught:
        sc.simulate(ring, crossbar(), {"P": 3}, engine=engine)
    for rank in range(3):
        other = (rank + 1) % 3
        assert f"rank {rank} waits in send to rank {other} (operation 0, " in str(caught.value)
        assert f", after rank {other}'s receive from rank {rank} (operation 2, " in str(caught.value)
    eager = crossbar(rendezvous_above_bytes=None)
    assert sc.simulate(ring, eager, {"P": 3}, effects="none", engine=engine).makespan_s == pytest.approx(2e-6)


def test_the_rules_of_mpi_by_hand() -> None:
    """The oracle of the property below: what it says of programs whose outcome every textbook states."""

    def ring(first: str, started: bool) -> RandomMessages:
        actions = []
        for rank in range(3):
            names = (f"s{rank}", f"r{rank}") if started else ("", "")
            send = Action("send", rank, names[0], (rank + 1) % 3, size_bytes=8)
            receive = Action("receive", rank, names[1], (rank - 1) % 3)
            actions += [send, receive] if first == "send" else [receive, send]
            actions += [Action("wait", rank, name) for name in names if name]
        return RandomMessages(3, tuple(actions))

    assert ring("receive", False).stuck(None) == {0, 1, 2}
    assert ring("send", False).stuck(None) == set()
    assert ring("send", False).stuck(0.0) == {0, 1, 2}
    assert ring("send", False).stuck(8.0) == set()
    for first in ("send", "receive"):
        assert ring(first, True).stuck(0.0) == set()


@settings(max_examples=examples(300, 10), deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs_end_as_mpi_has_it(seed: int) -> None:
    """Started and blocking messages with tags, waits in any order, collectives between, eager and with rendezvous, in
    both models and all sharings: the same times in YAML and in Python, by both engines; or a deadlock that is one by the
    rules of MPI, and names all ranks that wait."""
    check(random.Random(seed))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_only_started_never_waits_for_ever(seed: int) -> None:
    """Nonblocking operations that match, and waits after all of them."""
    assert check(random.Random(seed), blocking=0.0, waits_at_end=True)
