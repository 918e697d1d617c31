"""Messages that hold their receivers as long as their senders (``holds_receiver``), by hand: a lone message inside the
node takes 1 us + 0.25 us + 1 us = T."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.describe.design_point import bind
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.describe.network.sharing import SHARINGS
from simcodesign.describe.yaml.files import workload_of
from simcodesign.generate.export_schedule import schedule_of
from simcodesign.generate.lower import make_plan
from tests.engine.messages.test_levels import one_send, program, took_s

T = 2.25e-6
SIZE = 1000


def node(ranks: int = 8, nodes: int = 1, network: dict[str, Any] | None = None, **inside: Any) -> sc.Machine:
    topology = {"kind": "crossbar"}
    own = {"topology": topology, "startup": "1 us", "bandwidth": "1 GB/s", "hop_latency": "0.25 us"}
    outer = {"topology": topology, "startup": "2 us", "bandwidth": "2 GB/s"} | (network or {})
    parts = {"processor": {"rate": "1 GFLOP/s"}, "network": outer}
    parts |= {"node": {"network": own | {"holds_receiver": True} | inside}}
    return sc.Machine.load({"name": "node", "nodes": nodes, "processors_per_node": ranks} | parts)


def collective(operation: str, algorithm: str, **more: Any) -> sc.Workload:
    return program({operation: {"bytes": SIZE, "algorithm": algorithm} | more})


PING_PONG = program(*one_send(0, 1, SIZE), *one_send(1, 0, SIZE))


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("effects", ["none", "node"])
def test_a_lone_ping_pong_is_as_before(sends: str, sharing: str, effects: str) -> None:
    machine = node(network={"sends": sends, "sharing": sharing})
    assert took_s(PING_PONG, machine, 2, effects) == pytest.approx(2 * T, rel=1e-12)


@pytest.mark.parametrize("sends", SENDS)
@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize(
    ("workload", "ranks", "wanted"),
    [
        (collective("allgather", "ring"), 2, 2),  # a Sendrecv: its own message, then the other's
        (collective("all_to_all", "pairwise"), 8, 14),
        (collective("gather", "linear"), 8, 7),  # a root takes one message after another
        (collective("scatter", "linear"), 8, 7),  # and sends one after another
        (program({"exchange": {"pattern": "halo1d", "bytes": SIZE}}), 4, 4),  # two out, two in
        (program({"exchange": {"pattern": "halo1d", "bytes": SIZE, "messages": 3, "train": 3}}), 4, 12),
    ],
)
def test_ranks_that_send_and_receive(workload: sc.Workload, ranks: int, wanted: int, sends: str, sharing: str) -> None:
    """Nothing is shared that these messages would wait for: with the effect it is the same."""
    machine = node(network={"sends": sends, "sharing": sharing})
    assert took_s(workload, machine, ranks, "none") == pytest.approx(wanted * T, rel=1e-12)


def test_receivers_held_on_one_level_only() -> None:
    """Two nodes of two ranks. Ranks 0 and 1 exchange within the node: 2 T. Ranks 0 and 2 across: 2 us + 0.5 us of bytes,
    which flow side by side and hold no receiver."""
    machine = node(2, 2, network={"sends": "nonblocking"})
    assert took_s(collective("allgather", "ring"), machine, 2, "none") == pytest.approx(2 * T, rel=1e-12)
    across = program(*one_send(0, 2, SIZE), *one_send(2, 0, SIZE))
    assert took_s(across, machine, 4, "none") == pytest.approx(5e-6, rel=1e-12)
    both = [{"send": {"to": "(rank + 2) % 4", "bytes": SIZE}}, {"receive": {"from": "(rank + 2) % 4"}}]
    assert took_s(program(*both), machine, 4, "none") == pytest.approx(2.5e-6, rel=1e-12)


def test_a_receiver_is_held_from_its_turn_on() -> None:
    """The receiver computes until 5 us; the message came at T, and holds it for T still. Its overhead comes after."""
    late = program({"compute": {"seconds": "5e-6", "when": "rank == 1"}}, *one_send(0, 1, SIZE))
    assert took_s(late, node(), 2, "none") == pytest.approx(5e-6 + T, rel=1e-12)
    assert took_s(late, node(receive_overhead="1 us"), 2, "none") == pytest.approx(6e-6 + T, rel=1e-12)


def test_a_late_message_holds_no_longer() -> None:
    """The sender computes until 5 us: the receiver's hold is over when the message comes."""
    late = program({"compute": {"seconds": "5e-6", "when": "rank == 0"}}, *one_send(0, 1, SIZE))
    assert took_s(late, node(), 2, "none") == pytest.approx(5e-6 + T, rel=1e-12)


def test_started_receives_hold_strands_of_their_own() -> None:
    """Seven receives that the root has started are held at the same time; its computation goes on beside them."""
    senders = [{"send": {"to": 0, "bytes": SIZE, "when": "rank > 0"}}]
    starts = [{"start": {"receive": {"from": k, "when": "rank == 0"}}, "as": f"r{k}"} for k in range(1, 8)]
    waits = [{"wait": [f"r{k}" for k in range(1, 8)]}]
    work = [{"compute": {"seconds": "1e-6", "when": "rank == 0"}}]
    assert took_s(program(*senders, *starts, *work, *waits), node(), 8, "none") == pytest.approx(T, rel=1e-12)


def test_receives_from_anyone() -> None:
    """Seven ranks send to rank 0, which takes them as they come: 7 T. If a sender may be on another node, where nothing
    is held, the receive takes as long as the level on which it is held."""
    step = [{"send": {"to": 0, "bytes": SIZE, "when": "rank > 0"}}]
    step += [{"receive": {"from": "anyone", "when": "rank == 0"}}] * 7
    assert took_s(program(*step), node(), 8, "none") == pytest.approx(7 * T, rel=1e-12)
    assert took_s(program(*step), node(4, 2), 8, "none") == pytest.approx(7 * T, rel=1e-12)


def test_a_sender_in_a_rendezvous_waits_until_the_receiver_is_free() -> None:
    """The receiver is held from 5 us on, and takes the message up T later: then its sender goes on."""
    machine = node(S=1)
    computing = {"compute": {"seconds": "5e-6", "when": "rank == 1"}}
    after = {"compute": {"seconds": "1e-6", "when": "rank == 0"}}
    workload = program(computing, *one_send(0, 1, SIZE), after)
    assert took_s(workload, machine, 2, "none") == pytest.approx(5e-6 + T + 1e-6, rel=1e-12)


def test_a_replayed_schedule_is_held_as_its_program() -> None:
    """A ring of Sendrecv, written and replayed: holds are no operations of a schedule, and are priced again."""
    machine = node()
    workload = collective("allgather", "ring")
    schedule = schedule_of(make_plan(bind(workload, machine, {"P": 4}), ()), "ring")
    assert len(schedule) == 4 * 3 * 2
    replayed = sc.simulate(workload_of(schedule), machine, effects="none")
    assert replayed.makespan_s == pytest.approx(6 * T, rel=1e-12)


def test_what_holds_a_rank_is_communication_and_no_wait() -> None:
    result = sc.simulate(collective("gather", "linear"), node(), {"P": 8}, effects="none", timeline=True)
    assert result.ranks.busy_s[0].sum() == pytest.approx(7 * T, rel=1e-12)
    assert result.ranks.waiting_s[0].sum() == pytest.approx(0.0, abs=1e-15)
    assert sum(part["communication"] for part in result.phases.values()) == pytest.approx(7 * T, rel=1e-12)


@sc.program
def sendrecv(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.send((rank + 1) % size, SIZE)
    yield sc.rank.receive((rank - 1) % size)
    yield sc.rank.world.all_to_all(SIZE, algorithm="pairwise")


def test_a_program_in_python_is_held_as_well() -> None:
    """A Sendrecv, and three more of a pairwise all-to-all among four ranks."""
    assert took_s(sendrecv, node(), 4, "none") == pytest.approx(2 * T + 3 * 2 * T, rel=1e-12)
