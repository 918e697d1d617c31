"""Storage whose servers are nodes of the network: reads and writes are messages to them."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload

ENGINES = ("simpy", "compiled")
MACHINE = """
simcodesign: 1
name: m
nodes: 12
processor: {rate: 1 GFLOP/s}
network: {sends: SENDS, startup: 2 us, bandwidth: 2 GB/s, hop_latency: 100 ns, distance: one, topology: {kind: crossbar}}
storage: {servers: SERVERS, stripe: 16 MiB, bandwidth: BANDWIDTH, latency: 10 us, nodes: NODES}
"""
STARTUP, HOP, LATENCY, NET = 2e-6, 1e-7, 10e-6, 2e9


def machine(bandwidth: str = "1 GB/s", servers: int = 1, nodes: str = "[11]", sends: str = "blocking") -> Machine:
    text = MACHINE.replace("SENDS", sends).replace("SERVERS", str(servers))
    return read_machine(text.replace("BANDWIDTH", bandwidth).replace("NODES", nodes))


def access(kind: str, more: str = "") -> Workload:
    return workload(f"[{kind}: {{{'to' if kind == 'write' else 'from'}: storage, bytes: 4e6{more}}}]")


def time_s(on: Machine, what: Workload, ranks: int, engine: str = "compiled", effects: str = "all") -> float:
    return float(simulate(what, on, {"P": ranks}, engine=engine, effects=effects).makespan_s)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sends", ["blocking", "nonblocking"])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_one_access_is_a_message_and_its_service(kind: str, sends: str, engine: str) -> None:
    """m bytes of one rank: latency + (startup + hop + m/B) + m/b, in the simulation and in the forecast."""
    on = machine(sends=sends)
    expected = LATENCY + STARTUP + HOP + 4e6 / NET + 4e6 / 1e9
    assert time_s(on, access(kind), 1, engine) == pytest.approx(expected, rel=1e-12)
    assert float(forecast(access(kind), on, {"P": 1}).makespan_s) == pytest.approx(expected, rel=1e-12)
    assert time_s(on, access(kind), 1, engine, "none") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bandwidth", [1e9, 2e9, 8e9])
@pytest.mark.parametrize("ranks", [2, 5, 11])
def test_writers_to_one_server_wait_for_its_link_or_for_its_disks(ranks: int, bandwidth: float, engine: str) -> None:
    """N requests of m bytes come over one link of B and are served at b: (N - 1) m/min(B, b) after the first one is done,
    which takes latency + startup + hop + m/B + m/b."""
    on = machine(f"{bandwidth} B/s")
    expected = LATENCY + STARTUP + HOP + 4e6 / NET + 4e6 / bandwidth + (ranks - 1) * 4e6 / min(NET, bandwidth)
    assert time_s(on, access("write"), ranks, engine) == pytest.approx(expected, rel=1e-12)
    assert float(forecast(access("write"), on, {"P": ranks}).makespan_s) == pytest.approx(expected, rel=1e-12)
    assert time_s(on, access("write"), ranks, engine, "none") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_readers_of_one_server_wait_for_its_disks_and_then_for_its_link(engine: str) -> None:
    """Of N reads the last one leaves the disks at N m/b, b the slower, and is there D later."""
    on, expected = machine(), LATENCY + 3 * 4e6 / 1e9 + STARTUP + HOP + 4e6 / NET
    assert time_s(on, access("read"), 3, engine) == pytest.approx(expected, rel=1e-12)
    assert float(forecast(access("read"), on, {"P": 3}).makespan_s) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_pieces_are_one_after_another_at_a_server_and_beside_each_other_at_several(engine: str) -> None:
    """40 MiB in pieces of 16 MiB: three at one server; at three servers the first has 16 MiB, the others behind it."""
    piece, whole = 2.0**24, workload("[write: {to: storage, bytes: 40 * 2**20}]")
    one = LATENCY + 3 * (STARTUP + HOP) + 2.5 * piece * (1 / NET + 1e-9)
    on = machine()
    assert time_s(on, whole, 1, engine) == pytest.approx(one, rel=1e-12)
    assert float(forecast(whole, on, {"P": 1}).makespan_s) == pytest.approx(one, rel=1e-12)
    beside = machine(servers=3, nodes="[9, 10, 11]")
    striped = workload("[write: {to: storage, bytes: 40 * 2**20, stripe_count: 3}]")
    least = LATENCY + STARTUP + HOP + piece * (1 / NET + 1e-9)
    assert least * (1 - 1e-12) <= time_s(beside, striped, 1, engine) <= one


@pytest.mark.parametrize("engine", ENGINES)
def test_messages_of_the_program_wait_for_accesses(engine: str) -> None:
    """Rank 0 writes to node 2 over the link from 1 to 2, which rank 1 sends over."""
    line = MACHINE.replace("{kind: crossbar}", "{kind: mesh, shape: [12]}").replace("SENDS", "blocking")
    line = line.replace("SERVERS", "1").replace("BANDWIDTH", "1 GB/s").replace("NODES", "[4]")
    both = workload(
        "- write: {to: storage, bytes: 4e6, when: rank == 0}\n- send: {to: 2, bytes: 4e6, when: rank == 1}\n"
        "- receive: {from: 1, bytes: 4e6, when: rank == 2}"
    )
    beside, apart = (read_machine(text) for text in (line, line.replace(", nodes: [4]", "")))
    runs = [simulate(both, on, {"P": 3}, engine=engine) for on in (beside, apart)]
    ends_s = [np.asarray(run.ranks.end_s) for run in runs if run.ranks is not None]
    # The messages of both leave at 0 and 10 us; over the link from 1 to 2, that of the access waits for the other.
    assert ends_s[0][0] > ends_s[1][0] + 4e6 / NET + 1.9e-3
    assert ends_s[0][2] == ends_s[1][2]
    assert [run.messages for run in runs] == [2, 1]


def test_off_by_default_and_where_it_cannot_be() -> None:
    assert machine(nodes="10:12").storage.nodes == (10, 11)  # type: ignore[union-attr]
    for wrong in ("[12]", "12:13", "5:5", "many"):
        with pytest.raises(InputError, match="nodes"):
            machine(nodes=wrong)
    with pytest.raises(InputError, match="LogGOPS"):
        read_machine(
            MACHINE.replace("NODES", "[11]")
            .replace("SERVERS", "1")
            .replace("BANDWIDTH", "1 GB/s")
            .replace(
                "sends: SENDS, startup: 2 us, bandwidth: 2 GB/s", "model: loggop, L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B"
            )
        )
