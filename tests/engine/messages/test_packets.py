"""Messages in packets: exact times by hand, an independent simulator, and what packets of no size would do.

Engines are compared with each other in ``test_engines_agree.py``.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import CapacityError, InputError
from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.sharing import PACKET_BYTES
from simcodesign.engine.event_contract import Log
from simcodesign.engine.selection import ENGINES, run
from simcodesign.engine.simulate import simulate
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import Plan
from tests import examples
from tests.builders import read_machine, workload
from tests.oracles.messages.packets import Message, arrivals_s

BOTH = pytest.mark.parametrize("engine", ENGINES)
SWITCHINGS = pytest.mark.parametrize("switching", ["cut_through", "store_and_forward"])


def machine(sharing: str, nodes: int = 4, more: str = "", topology: str = "") -> Machine:
    """A line of links of 1 GB/s, and nothing else that costs time."""
    topology = topology or f"kind: mesh, shape: [{nodes}]"
    return read_machine(
        f"simcodesign: 1\nname: test\nnodes: {nodes}\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork:\n"
        f"  sends: blocking\n  startup: 0 us\n  bandwidth: 1 GB/s\n  sharing: {sharing}\n  topology: {{{topology}}}\n{more}"
    )


STORED = "  switching: store_and_forward\n"
LINE = machine("{round_robin: 1 kB}")


def message(source: int, target: int, size_bytes: int) -> str:
    """One message, as a send and a receive in YAML."""
    send = f"- send: {{to: {target}, bytes: {size_bytes}, when: rank == {source}}}\n"
    return send + f"- receive: {{from: {source}, when: rank == {target}}}\n"


def ends_us(program: str, machine: Machine, engine: str, effects: str = "links") -> list[float]:
    """When each rank is done."""
    ranks = machine.nodes * machine.processors_per_node
    result = simulate(workload(program), machine, {"P": ranks}, effects=effects, engine=engine)
    assert result.ranks is not None
    return (result.ranks.end_s * 1e6).tolist()


# --- By hand --------------------------------------------------------------------------------------------------


@BOTH
def test_two_messages_over_a_link_alternate(engine: str) -> None:
    # From 1 to 2: a packet of the one, of the other, and the two that are left of the one.
    ends = ends_us(message(0, 2, 3000) + message(1, 2, 1000), LINE, engine)
    assert ends[:2] == pytest.approx([4, 2], rel=1e-12)


@BOTH
def test_three_messages_over_two_links_take_turns(engine: str) -> None:
    # Packets on the link from 1 to 2, each 1 us: 0 1 0 1 1. Each is there at once at that from 2 to 3, where rank 2 is
    # also: 0 2 1 0 2 1 2 1 2.
    ends = ends_us(message(0, 3, 2000) + message(1, 3, 3000) + message(2, 3, 4000), LINE, engine)
    assert ends[:3] == pytest.approx([4, 8, 9], rel=1e-12)


@BOTH
def test_a_short_message_waits_for_one_packet_of_a_long_one(engine: str) -> None:
    # 2.5 us after the beginning of the long one, whose third packet passes until 3.
    program = "- compute: {seconds: 2.5e-6, when: rank == 1}\n" + message(0, 2, 10_000) + message(1, 2, 500)
    assert ends_us(program, LINE, engine)[:2] == pytest.approx([10.5, 3.5], rel=1e-12)


@BOTH
def test_the_last_packet_is_shorter(engine: str) -> None:
    # 0 alternates with 1: packets of 1000, 1000, 300 (0) and 200 (1).
    ends = ends_us(message(0, 2, 1300) + message(1, 2, 1200), LINE, engine)
    assert ends[:2] == pytest.approx([2.3, 2.5], rel=1e-12)


@BOTH
@pytest.mark.parametrize(("size", "stored_us"), [(4500, 4.5 + 2), (1000, 3), (400, 1.2), (0, 0)])
def test_a_message_alone(engine: str, size: int, stored_us: float) -> None:
    # Over three links, each of which stores a packet, or lets it through: the bytes, and a packet again at two of them.
    assert max(ends_us(message(0, 3, size), LINE, engine)) == pytest.approx(size / 1000, rel=1e-12)
    stored = machine("{round_robin: 1 kB}", more=STORED)
    assert max(ends_us(message(0, 3, size), stored, engine)) == pytest.approx(stored_us, rel=1e-12)


@BOTH
def test_a_slow_link_in_the_middle(engine: str) -> None:
    # The first dimension comes first: 1000 B at 0.25 GB/s, then at 1 GB/s.
    grid = machine("{round_robin: 100 B}", 6, topology="kind: mesh, shape: [2, 3], bandwidth: [0.25 GB/s, 1 GB/s]")
    assert max(ends_us(message(0, 5, 1000), grid, engine)) == pytest.approx(4, rel=1e-12)
    # A message on the fast link has a packet in turn with each of the slow one, which come every 0.4 us.
    both = ends_us(message(0, 5, 1000) + message(3, 4, 3000), grid, engine)
    assert both[3] == pytest.approx(4, rel=1e-12)


@BOTH
def test_a_sender_is_held_until_its_last_packet_has_arrived(engine: str) -> None:
    program = message(0, 2, 1000) + message(1, 2, 1000) + message(0, 1, 1000)
    # Rank 0 is first at the link from 1 to 2, so rank 1 is behind it.
    assert ends_us(program, LINE, engine)[:2] == pytest.approx([2, 2], rel=1e-12)
    slow = machine("{round_robin: 1 kB}", more="  hop_latency: 10 us\n")
    assert ends_us(message(0, 2, 2000), slow, engine)[0] == pytest.approx(22, rel=1e-12)


@BOTH
def test_where_latencies_do_not_hold_the_sender_it_is_free_when_its_last_packet_is_away(engine: str) -> None:
    slow = machine("{round_robin: 1 kB}", more="  hop_latency: 10 us\n  hops_hold_sender: false\n")
    assert ends_us(message(0, 2, 2000), slow, engine)[:3] == pytest.approx([2, 0, 22], rel=1e-12)


# --- 100 ping-pongs beside a long message ---------------------------------------------------------------------

BESIDE = "- send: {to: 6, bytes: 10e6, when: rank == 0}\n- receive: {from: 0, when: rank == 6}\n"
BESIDE += "- compute: {seconds: 5.5e-6, when: rank == 1}\n- repeat: 100\n  do:\n"
BESIDE += "".join(f"  {line}\n" for line in (message(1, 7, 1000) + message(7, 1, 1000)).splitlines())


@pytest.mark.parametrize(
    ("sharing", "switching", "end_us"),
    [
        # Ping and pong over three links of 1.05 us take 4.15 us each, alone; the first one begins at 5.5 us.
        ("fcfs", "cut_through", 10_000 + 100 * 8.3),  # the first is behind the long message
        ("max_min", "cut_through", 5.5 + 100 * 9.3),  # half of the links on the way there
        # Packets of 1 kB are stored at two nodes, which takes 12.3 us alone, and wait for the rest of one packet of the
        # long message: until 6 us, and later for 0.7 us, since those of the long message pass at whole microseconds.
        ("{round_robin: 1 kB}", "store_and_forward", 6 + 12.3 + 99 * 13),
        ("{round_robin: 1 kB}", "cut_through", 6 + 8.3 + 99 * 9),
    ],
)
@BOTH
def test_ping_pongs_beside_a_long_message(engine: str, sharing: str, switching: str, end_us: float) -> None:
    more = f"  hop_latency: 1.05 us\n  switching: {switching}\nprocessors_per_node: 2\n"
    assert ends_us(BESIDE, machine(sharing, more=more), engine)[1] == pytest.approx(end_us, rel=1e-9)


# --- By brute force -------------------------------------------------------------------------------------------

PER_BYTE_S = Fraction(1, 2**20)


def line_of(nodes: int, packet_bytes: int, latency: int, is_stored: bool) -> Machine:
    """Times that are whole numbers of a byte's, so that sums are exact."""
    per_byte_s = float(PER_BYTE_S)
    return read_machine(
        f"simcodesign: 1\nname: test\nnodes: {nodes}\nprocessor: {{rate: 1 GFLOP/s}}\nnetwork:\n"
        f"  sends: blocking\n  startup: {3 * per_byte_s!r} s\n  per_byte: {per_byte_s!r} s/B\n  sharing: {{round_robin: {packet_bytes} B}}\n"
        f"  hop_latency: {latency * per_byte_s!r} s\n{STORED if is_stored else ''}"
        f"  topology: {{kind: mesh, shape: [{nodes}]}}\n"
    )


def run_of(program: str, machine: Machine, engine: str) -> tuple[Plan, Log]:
    plan = make_plan(bind(workload(program), machine, {"P": machine.nodes}), ("hops", "links"))
    return plan, run(plan, engine)


@pytest.mark.thorough
@settings(max_examples=examples(1000, ordinary=150), deadline=None)
@given(
    ends=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.integers(0, 20)), min_size=2, max_size=5),
    packet_bytes=st.integers(1, 12),
    latency=st.integers(0, 9),
    is_stored=st.booleans(),
    engine=st.sampled_from([*ENGINES]),
)
def test_brute_force_says_the_same(
    ends: list[tuple[int, int, int]], packet_bytes: int, latency: int, is_stored: bool, engine: str
) -> None:
    """Every rank sends one message to another, after a while."""
    nodes, program, receives, messages = len(ends), "", "", []
    for rank, (target, size, wait) in enumerate(ends):
        other = target % nodes if target % nodes != rank else (rank + 1) % nodes
        messages.append(Message(rank, other, size, (wait + 3) * PER_BYTE_S))
        program += f"- compute: {{seconds: {float(wait * PER_BYTE_S)!r}, when: rank == {rank}}}\n"
        program += f"- send: {{to: {other}, bytes: {size}, when: rank == {rank}}}\n"
        receives += f"- receive: {{from: {rank}, when: rank == {other}}}\n"
    plan, log = run_of(program + receives, line_of(nodes, packet_bytes, latency, is_stored), engine)
    expected = arrivals_s(messages, packet_bytes, PER_BYTE_S, latency * PER_BYTE_S, is_stored)
    assert log.arrival_s[plan.kind == SEND].tolist() == [float(time) for time in expected]
    packets = [len(each.packets_bytes(packet_bytes)) * len(each.links) for each in messages]
    assert log.served.sum() == sum(packets)
    carried = sum(each.size_bytes * len(each.links) for each in messages)
    assert log.busy_s.sum() == float(carried * PER_BYTE_S)


# --- Small packets --------------------------------------------------------------------------------------------


@settings(max_examples=examples(300, ordinary=40), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 100_000), min_size=1, max_size=12),
    packet=st.sampled_from([100, 1000, 10_000]),
    engine=st.sampled_from([*ENGINES]),
)
def test_small_packets_share_a_link_fairly(sizes: list[int], packet: int, engine: str) -> None:
    """One link, all messages at once: as under processor sharing, but for a packet of each message."""
    ranks = len(sizes) + 1
    star = machine(f"{{round_robin: {packet} B}}", ranks, topology="kind: crossbar")
    program = "".join(message(rank, ranks - 1, size) for rank, size in enumerate(sizes))
    ends = ends_us(program, star, engine, "interfaces")[:-1]
    passed, before = 0, 0
    for place, rank in enumerate(np.argsort(sizes)):
        passed += (sizes[rank] - before) * (len(sizes) - place)
        before = sizes[rank]
        assert abs(ends[rank] * 1000 - passed) <= len(sizes) * packet * (1 + 1e-9)


# --- What is read and refused ---------------------------------------------------------------------------------


def test_packets_have_4_kib_unless_the_machine_says_another_size() -> None:
    assert machine("round_robin").network.sharing.packet_bytes == PACKET_BYTES == 4096
    assert machine("{round_robin: 1 KiB}").network.sharing.packet_bytes == 1024
    assert machine("{round_robin: 1 KiB}").network.sharing.name == "round_robin"


@pytest.mark.parametrize(
    ("sharing", "more", "words"),
    [
        ("{round_robin: 0 B}", "", "1 B or more"),
        ("{round_robin: 1 s}", "", "s"),
        ("{parcels: 1 B}", "", "round_robin"),
        ("{round_robin: 1 B, fcfs: 1 B}", "", "round_robin"),
        ("{round_robin: 1 kB}", f"{STORED}  link_bandwidth: 2 GB/s\n", "as fast as messages"),
    ],
)
def test_what_cannot_be_packets(sharing: str, more: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        machine(sharing, more=more)


def test_messages_in_loggops_are_not_cut() -> None:
    with pytest.raises(InputError, match="model: hockney"):
        read_machine(
            "simcodesign: 1\nname: test\nnodes: 2\nprocessor: {rate: 1 GFLOP/s}\nnetwork:\n  model: loggop\n"
            "  L: 1 us\n  o: 1 us\n  g: 1 us\n  G: 1 ns/B\n  sharing: round_robin\n  topology: {kind: mesh, shape: [2]}\n"
        )


def test_too_many_packets_are_an_error() -> None:
    with pytest.raises((InputError, CapacityError), match="larger packets"):
        ends_us(message(0, 3, 10**13), machine("{round_robin: 1 B}"), "compiled")


@pytest.mark.parametrize("engine", ENGINES)
def test_noise_lets_packets_be_as_many_and_as_long_together(engine: str) -> None:
    noisy = machine("{round_robin: 1 kB}", more="noise: {network: {distribution: uniform, spread: 0.5}}\n")
    result = simulate(workload(message(0, 3, 4500)), noisy, {"P": 4}, effects="links,noise", seed=2, engine=engine)
    busy_s = float(result.stations.busy_s.sum())
    assert result.makespan_s == pytest.approx(busy_s / 3, rel=1e-9)  # alone, each of three links for all bytes
    assert result.makespan_s != pytest.approx(4.5e-6, rel=1e-3)


def test_a_schedule_of_messages_is_cut_too(tmp_path: Path) -> None:
    """Its sends that need a processor are held as if alone."""
    text = "num_ranks 3\nrank 0 { send 3000b to 2 }\nrank 1 { send 1000b to 2 }\n"
    (tmp_path / "a.goal").write_text(text + "rank 2 {\na: recv 3000b from 0\nb: recv 1000b from 1\n}\n")
    for engine in ENGINES:
        result = simulate(str(tmp_path / "a.goal"), machine("{round_robin: 1 kB}"), effects="links", engine=engine)
        assert result.makespan_s * 1e6 == pytest.approx(4, rel=1e-9)
