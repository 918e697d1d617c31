"""Messages within nodes that have networks inside: what they hold, and for how long, by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.analytic.bounds import bounds_of
from simcodesign.describe.design_point import bind
from simcodesign.describe.network.message_models.hockney import SENDS
from simcodesign.describe.network.network import SWITCHINGS
from simcodesign.describe.network.sharing import SHARINGS
from tests.describe.machine.test_levels import FAST, GPUS, INSIDE, SOCKETS

STARTUP_S, PER_BYTE_S = 2e-6, 1 / 300e9
MEGABYTES = 3_000_000  # 10 us at 300 GB/s
#: A machine in LogGOPS, as fast inside as outside but for G.
LOGGOPS = GPUS | {
    "network": {"topology": {"kind": "crossbar"}, "model": "loggop"}
    | {"L": "3 us", "o": "700 ns", "g": "1 us", "G": "40 ps/B"},
    "node": {
        "network": {"topology": {"kind": "torus", "shape": [8]}, "hop_latency": "100 ns"}
        | {"L": "1 us", "o": "500 ns", "g": "800 ns", "G": "4 ps/B"}
    },
}


def program(*steps: Any) -> sc.Workload:
    return sc.Workload.load({"name": "messages", "program": [*steps]})


def one_send(source: int, target: int, size: float) -> list[Any]:
    return [
        {"send": {"to": target, "bytes": size, "when": f"rank == {source}"}},
        {"receive": {"from": source, "when": f"rank == {target}"}},
    ]


def took_s(workload: sc.Workload, machine: Any, ranks: int, effects: str) -> float:
    """By both engines, which agree to the last bit."""
    machine = machine if isinstance(machine, sc.Machine) else sc.Machine.load(machine)
    results = [
        sc.simulate(workload, machine, {"P": ranks}, effects=effects, engine=engine) for engine in ("simpy", "compiled")
    ]
    assert results[0].makespan_s == results[1].makespan_s
    for name in ("busy_s", "wait_s", "served"):
        assert np.array_equal(*(getattr(one.stations, name) for one in results))
    assert np.array_equal(*(one.ranks.end_s for one in results))
    return float(results[0].makespan_s)


def within(topology: dict[str, Any], **more: Any) -> dict[str, Any]:
    return GPUS | {"node": {"network": INSIDE | {"topology": topology} | more}}


def test_all_to_all_of_eight_gpus() -> None:
    """100 MB to each of seven others at 300 GB/s: seven at once take a startup each and 0.33 ms of bytes; where they
    share the interface of their GPU, 2.33 ms of bytes, which is the bound."""
    size = 1e8
    machine = sc.Machine.load(GPUS | {"node": {"network": INSIDE | {"startup": "5 us"}}})
    workload = program({"all_to_all": {"bytes": size, "algorithm": "linear"}})
    alone_s = 7 * 5e-6 + size * PER_BYTE_S
    assert float(sc.forecast(workload, machine, {"P": 8}).makespan_s) == pytest.approx(alone_s, rel=1e-12)
    assert alone_s == pytest.approx(0.368e-3, rel=1e-2)
    assert took_s(workload, machine, 8, "none") == pytest.approx(alone_s, rel=1e-12)
    shared_s = 5e-6 + 7 * size * PER_BYTE_S
    assert took_s(workload, machine, 8, "node") == pytest.approx(shared_s, rel=1e-12)
    bounds = bounds_of(bind(workload, machine, {"P": 8}))
    assert bounds is not None
    assert bounds.lower_s["most loaded part of a node"] == pytest.approx(7 * size * PER_BYTE_S, rel=1e-12)
    assert bounds.needs_effect["most loaded part of a node"] == "node"
    assert bounds.upper_s >= shared_s


def test_a_ring_all_reduce_within_nodes_is_its_closed_form() -> None:
    """14 rounds of an eighth of the vector."""
    workload = program({"allreduce": {"bytes": 2.4e7, "algorithm": "ring"}})
    wanted_s = 14 * (STARTUP_S + 3e6 * PER_BYTE_S)
    for effects in ("none", "all"):
        assert took_s(workload, GPUS, 8, effects) == pytest.approx(wanted_s, rel=1e-12)
    assert float(sc.forecast(workload, sc.Machine.load(GPUS), {"P": 8}).makespan_s) == pytest.approx(
        wanted_s, rel=1e-12
    )


@pytest.mark.parametrize("sharing", SHARINGS)
def test_a_message_holds_what_its_level_has(sharing: str) -> None:
    """Between nodes nothing inside; inside nothing of the nodes."""
    machine = sc.Machine.load(GPUS | {"network": GPUS["network"] | {"sharing": sharing}})
    for target, names in ((8, {"injection 0", "ejection 1", "link host 0 -> host 1"}), (5, None)):
        result = sc.simulate(program(*one_send(0, target, 1e6)), machine, {"P": 16}, effects="all")
        used = {result.stations.name(place) for place in np.flatnonzero(result.stations.busy_s > 0)}
        inside = {"node 0: injection 0", "node 0: ejection 5", "node 0: link host 0 -> host 5"}
        assert used == (names or inside)


def test_names_of_sockets() -> None:
    """Ranks 12 and 14 are on the second socket of the second node, its first and third processor."""
    workload, machine = program(*one_send(12, 14, 1e6)), sc.Machine.load(SOCKETS)
    stations = sc.simulate(workload, machine, {"P": 16}, effects="node").stations
    names = {stations.name(place) for place in np.flatnonzero(stations.busy_s > 0)}
    unit = "node 1, socket 1: "
    assert names == {f"{unit}injection 0", f"{unit}ejection 2", f"{unit}link host 0 -> host 2"}


@pytest.mark.parametrize(
    ("target", "startup_s", "per_byte_s"), [(1, 1e-6, 1 / 900e9), (4, 2e-6, 1 / 300e9), (8, 4e-6, 4e-11)]
)
def test_each_level_has_its_costs(target: int, startup_s: float, per_byte_s: float) -> None:
    """Within a socket, between sockets, between nodes."""
    workload, wanted_s = program(*one_send(0, target, MEGABYTES)), startup_s + MEGABYTES * per_byte_s
    for effects in ("none", "hops", "all"):
        assert took_s(workload, SOCKETS, 16, effects) == pytest.approx(wanted_s, rel=1e-12)
    assert float(sc.forecast(workload, sc.Machine.load(SOCKETS), {"P": 16}).makespan_s) == pytest.approx(
        wanted_s, rel=1e-12
    )


def test_receives_from_anyone_where_links_differ() -> None:
    """Mailboxes come after the links, whose groups have costs of their own; both messages want the GPU of rank 0."""
    machine = within({"kind": "torus", "shape": [4, 2], "bandwidth": ["300 GB/s", "100 GB/s"]})
    sends = [{"send": {"to": 0, "bytes": MEGABYTES, "when": f"rank == {rank}"}} for rank in (1, 4)]
    anyone = [{"receive": {"from": "anyone", "when": "rank == 0"}}] * 2
    named = [{"receive": {"from": rank, "when": "rank == 0"}} for rank in (1, 4)]
    times = [took_s(program(*sends, *receives), machine, 5, "node, links") for receives in (anyone, named)]
    assert times[0] == times[1] > 2 * MEGABYTES * PER_BYTE_S


def test_a_ring_of_four_sockets() -> None:
    """Two hops of 100 ns to the opposite socket; both messages of a link in turn. Sockets 0 and 1 send to 2: the message
    of 0 passes the link 1 -> 2 as well (or 0 -> 3 -> 2, which is as short: then none waits there)."""
    machine = GPUS | {
        "node": {"network": INSIDE | {"topology": {"kind": "torus", "shape": [4]}, "hop_latency": "100 ns"}},
        "socket": {"per_node": 4, "network": FAST},
    }
    bytes_s = MEGABYTES * PER_BYTE_S
    alone = program(*one_send(0, 4, MEGABYTES))
    assert took_s(alone, machine, 8, "hops") == pytest.approx(STARTUP_S + 2e-7 + bytes_s, rel=1e-12)
    assert took_s(alone, machine, 8, "node") == pytest.approx(STARTUP_S + 2e-7 + bytes_s, rel=1e-12)
    assert took_s(alone, machine, 8, "none") == pytest.approx(STARTUP_S + 1e-7 + bytes_s, rel=1e-12)
    # Both go to the interface of socket 2, which takes one after the other, whatever their links.
    both = program(*one_send(0, 4, MEGABYTES), *one_send(2, 5, MEGABYTES))
    assert took_s(both, machine, 8, "none") == pytest.approx(STARTUP_S + 1e-7 + bytes_s, rel=1e-12)
    assert took_s(both, machine, 8, "node") == pytest.approx(STARTUP_S + 1e-7 + 2 * bytes_s, rel=1e-12)


def test_a_tree_as_of_pcie() -> None:
    """Four devices below two switches: what two devices of one switch send to those of the other shares the one link
    up, and the one down; within a switch nothing is shared."""
    machine = GPUS | {"processors_per_node": 4}
    machine |= {"node": {"network": INSIDE | {"topology": {"kind": "tree"}}}}
    bytes_s = MEGABYTES * PER_BYTE_S
    across = program(*one_send(0, 2, MEGABYTES), *one_send(1, 3, MEGABYTES))
    beside = program(*one_send(0, 1, MEGABYTES), *one_send(2, 3, MEGABYTES))
    assert took_s(across, machine, 4, "hops") == pytest.approx(STARTUP_S + bytes_s, rel=1e-12)
    assert took_s(across, machine, 4, "node") == pytest.approx(STARTUP_S + 2 * bytes_s, rel=1e-12)
    assert took_s(beside, machine, 4, "node") == pytest.approx(STARTUP_S + bytes_s, rel=1e-12)


def test_a_mesh_of_chips_with_an_interface_for_each_direction() -> None:
    """The middle of three chips in a row sends both ways at once by its two interfaces; by one, in turn."""
    bytes_s = MEGABYTES * PER_BYTE_S
    workload = program(*one_send(1, 0, MEGABYTES), *one_send(1, 2, MEGABYTES))
    for count, times in ((1, 2), (2, 1)):
        row = INSIDE | {"topology": {"kind": "mesh", "shape": [3]}, "interfaces": {"count": count}}
        machine = GPUS | {"processors_per_node": 3, "node": {"network": row}}
        startups_s = STARTUP_S * (3 - times)  # the second sets out a startup later
        assert took_s(workload, machine, 3, "node") == pytest.approx(startups_s + times * bytes_s, rel=1e-12)


@pytest.mark.parametrize(("sharing", "first_s"), [("fcfs", 10e-6), ("max_min", 20e-6)])
def test_two_messages_to_one_gpu(sharing: str, first_s: float) -> None:
    """In turn, the first is there after 10 us of bytes; with fair shares both need 20 us."""
    machine = sc.Machine.load(GPUS | {"network": GPUS["network"] | {"sharing": sharing}})
    workload = program(*one_send(0, 2, MEGABYTES), *one_send(1, 2, MEGABYTES))
    assert took_s(workload, machine, 8, "node") == pytest.approx(STARTUP_S + 20e-6, rel=1e-9)
    alone = program(*one_send(0, 2, MEGABYTES), {"compute": {"seconds": 0.0}}, *one_send(1, 2, MEGABYTES))
    result = sc.simulate(alone, machine, {"P": 3}, effects="node", timeline=True)
    assert result.timeline is not None
    received = result.timeline.finish_s[(np.asarray(result.timeline.rank) == 2) & (result.timeline.finish_s > 0)]
    assert float(received.min()) == pytest.approx(STARTUP_S + first_s, rel=1e-9)


def test_seventy_two_gpus_of_a_rack() -> None:
    """An all-to-all inside a rack takes 71 messages at 900 GB/s; no station between racks has anything to do."""
    machine, size = sc.Machine.load("nvl72-cluster"), 9e6
    workload = program({"all_to_all": {"bytes": size, "algorithm": "linear"}})
    result = sc.simulate(workload, machine, {"P": 72}, effects="all")
    assert float(result.makespan_s) >= 71 * size / 900e9
    assert float(result.makespan_s) == pytest.approx(2e-6 + 71 * size / 900e9, rel=1e-9)
    busy = [result.stations.name(place) for place in np.flatnonzero(result.stations.busy_s > 0)]
    assert busy
    assert all(name.startswith("node 0: ") for name in busy)


def test_a_machine_without_levels_has_no_effect_of_nodes() -> None:
    workload = program({"all_to_all": {"bytes": 1e5, "algorithm": "linear"}})
    without = {key: value for key, value in GPUS.items() if key != "node"}
    assert took_s(workload, without, 16, "hops") == took_s(workload, without, 16, "node")
    comparison = sc.compare(workload, sc.Machine.load(without), {"P": 16})
    assert not {rung.effect: rung.applies for rung in comparison.rungs}["node"]
    inside = sc.compare(workload, sc.Machine.load(GPUS), {"P": 8})
    assert {rung.effect: rung.applies for rung in inside.rungs}["node"]


#: Machines on which single messages cost what their level says.
MACHINES = {
    "crossbar": GPUS,
    "sockets": SOCKETS,
    "torus": within({"kind": "torus", "shape": [8]}, hop_latency="300 ns", distance="mean"),
    "mesh": within({"kind": "mesh", "shape": [4, 2]}, hop_latency="300 ns", distance="log2"),
    "held": GPUS
    | {
        "network": GPUS["network"] | {"sends": SENDS[0], "switching": SWITCHINGS[1], "hop_latency": "1 us"},
        "node": {
            "network": INSIDE
            | {"topology": {"kind": "torus", "shape": [8]}, "hop_latency": "300 ns", "receive_overhead": "5 us"}
        },
    },
    "loggops": LOGGOPS,
}


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "loggops"])
def test_the_forecast_of_a_message_is_the_simulation_without_effects(name: str) -> None:
    machine = sc.Machine.load(MACHINES[name])
    if name == "held":  # what a receiver is charged is not in the forecast of a lone send
        machine = machine.with_constants({"node.network.receive_overhead": 0.0})
    for source, target in itertools.product((0, 3, 9), (1, 4, 8, 15)):
        workload = program(*one_send(source, target, 1e5))
        forecast_s = float(sc.forecast(workload, machine, {"P": 16}).makespan_s)
        simulated_s = sc.simulate(workload, machine, {"P": 16}, effects="none", engine="simpy").makespan_s
        assert forecast_s == pytest.approx(float(simulated_s), rel=1e-12), (source, target)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    "step",
    [
        {"allreduce": {"bytes": 1e6, "algorithm": "ring"}},
        {"allreduce": {"bytes": 1e6, "algorithm": "two_level"}},
        {"all_to_all": {"bytes": 1e5, "algorithm": "pairwise"}},
        {"broadcast": {"bytes": 1e5, "algorithm": "binomial"}},
    ],
)
def test_a_collective_takes_what_the_levels_of_its_pairs_say(name: str, step: dict[str, Any]) -> None:
    """Of 8 ranks of a node and of 16 on two nodes. In LogGOPS, a forecast of several levels says that it is a bound."""
    machine, workload = sc.Machine.load(MACHINES[name]), program(step)
    for ranks in (1, 4, 8, 16):
        forecast = sc.forecast(workload, machine, {"P": ranks})
        simulated_s = float(sc.simulate(workload, machine, {"P": ranks}, effects="none", engine="simpy").makespan_s)
        if any("upper bound" in text for text in forecast.basis):
            assert (name, ranks) == ("loggops", 16)
            assert simulated_s <= float(forecast.makespan_s)
        else:
            assert float(forecast.makespan_s) == pytest.approx(simulated_s, rel=1e-12)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("effects", ["node", "links interfaces node", "interfaces"])
def test_engines_agree_and_bounds_hold(sharing: str, effects: str) -> None:
    outside = GPUS["network"] | {"sharing": sharing, "hop_latency": "100 ns"}
    machine = SOCKETS | {"network": outside}
    machine |= {"node": {"network": INSIDE | {"hop_latency": "50 ns", "interfaces": {"duplex": "half"}}}}
    workload = program(
        {"exchange": {"pattern": "halo2d", "bytes": 1e5}},
        {"all_to_all": {"bytes": 2e4, "algorithm": "linear"}},
        {"allreduce": {"bytes": 8, "algorithm": "recursive_doubling"}},
    )
    spent_s = took_s(workload, machine, 16, effects)
    bounds = bounds_of(bind(workload, sc.Machine.load(machine), {"P": 16}))
    assert bounds is not None
    holds = {name: bound for name, bound in bounds.lower_s.items() if bounds.needs_effect.get(name, "node") in effects}
    assert max(holds.values()) <= spent_s * (1 + 1e-9)
    assert spent_s <= bounds.upper_s * (1 + 1e-9)


def test_engines_agree_in_loggops() -> None:
    workload = program({"all_to_all": {"bytes": 2e4, "algorithm": "linear"}})
    assert took_s(workload, LOGGOPS, 16, "all") > took_s(workload, LOGGOPS, 16, "none")


def test_trains_and_rendezvous() -> None:
    """A train of four is one transfer with four startups; beyond S of its level a sender waits for its receiver."""
    train = program({"exchange": {"pattern": "halo1d", "bytes": MEGABYTES, "messages": 4}})
    machine = sc.Machine.load(GPUS)
    forecast_s = float(sc.forecast(train, machine, {"P": 2}).makespan_s)
    assert took_s(train, machine, 2, "none") == pytest.approx(forecast_s, rel=1e-12)
    waits = GPUS | {"node": {"network": INSIDE | {"S": "1 MB"}}}
    late = [
        {"send": {"to": 1, "bytes": MEGABYTES, "when": "rank == 0"}},
        {"compute": {"seconds": "0.001*(rank == 1)"}},
        {"receive": {"from": 0, "when": "rank == 1"}},
    ]
    for described, end_s in ((GPUS, STARTUP_S), (waits, 1e-3)):
        result = sc.simulate(program(*late), sc.Machine.load(described), {"P": 2}, effects="node")
        assert result.ranks is not None
        assert float(result.ranks.end_s[0]) == pytest.approx(end_s, rel=1e-12)
