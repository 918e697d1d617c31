"""The networks inside nodes and sockets, as machine files and Python state them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.describe.yaml.files import machine_tree
from simcodesign.studies.sweep.machine_source import MachineFile

INSIDE = {"topology": {"kind": "crossbar"}, "startup": "2 us", "bandwidth": "300 GB/s"}
GPUS: dict[str, Any] = {
    "name": "gpus",
    "nodes": 2,
    "processors_per_node": 8,
    "processor": {"rate": "1 TFLOP/s"},
    "network": {"topology": {"kind": "crossbar"}, "startup": "4 us", "bandwidth": "25 GB/s"},
    "node": {"network": INSIDE},
}
FAST = {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "900 GB/s"}
SOCKETS = GPUS | {"socket": {"per_node": 2, "network": FAST}}


def test_a_level_has_the_hosts_inside() -> None:
    """Eight processors in a node; with sockets, two sockets of four processors."""
    plain, sockets = sc.Machine.load(GPUS), sc.Machine.load(SOCKETS)
    assert [one.topology.node_count for one in plain.levels] == [2, 8]
    assert [one.topology.node_count for one in sockets.levels] == [2, 2, 4]
    assert (plain.sockets_per_node, sockets.sockets_per_node) == (1, 2)
    assert sc.Machine.load("crossbar-16").levels == (sc.Machine.load("crossbar-16").network,)


def test_the_level_of_a_message_is_the_innermost_with_both_ends() -> None:
    """Ranks 0 to 3 are on the first socket of the first node, 4 to 7 on its second one, 8 to 15 on the other node."""
    machine = sc.Machine.load(SOCKETS)
    source, target = np.array([0, 0, 0, 9, 15]), np.array([3, 4, 8, 8, 0])
    assert machine.level_of(16, source, target).tolist() == [2, 1, 0, 2, 0]
    assert sc.Machine.load(GPUS).level_of(16, source, target).tolist() == [1, 1, 0, 1, 0]
    assert sc.Machine.load("crossbar-16").level_of(16, source, target).tolist() == [0, 0, 0, 0, 0]


def test_what_is_not_stated_is_as_between_nodes() -> None:
    outside = GPUS["network"] | {"sharing": "max_min", "S": "1 MB"}
    inside = sc.Machine.load(GPUS | {"network": outside}).levels[1]
    assert (inside.sharing.name, inside.message_model.rendezvous_above_bytes) == ("max_min", None)


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("node.network.startup", "3 us", 3e-6),
        ("node.network.bandwidth", "100 GB/s", 1e-11),
        ("socket.network.hop_latency", "7 ns", 7e-9),
        ("socket.network.interfaces.bandwidth", "1 TB/s", 1e-12),
    ],
)
def test_constants_have_paths(path: str, value: str, wanted: float) -> None:
    """By ``--set``, and in ``with_constants`` by the path of the time per byte."""
    constant = path.replace("bandwidth", "per_byte")
    changed = sc.Machine.load(SOCKETS, {path: value})
    assert changed.constants()[constant] == pytest.approx(wanted, rel=1e-15)
    assert sc.Machine.load(SOCKETS).with_constants({constant: wanted}).constants()[constant] == wanted


def test_a_phase_may_replace_them() -> None:
    """A message of 3 MB inside a node takes 2 us + 30 us with 100 GB/s in one phase; that of the other is there before."""
    steps = [
        {"send": {"to": 1, "bytes": "3e6", "when": "rank == 0"}},
        {"receive": {"from": 0, "when": "rank == 1"}},
    ]
    phases = [{"phase": "slow", "constants": {"node.network.per_byte": "10 ps/B"}, "do": steps}, *steps]
    workload = sc.Workload.load({"name": "phases", "program": phases})
    assert sc.simulate(workload, sc.Machine.load(GPUS), {"P": 2}, effects="none").makespan_s == pytest.approx(32e-6)


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"node.network.topology": {"kind": "mesh", "shape": [3, 3]}}, "node.network.topology", "9 hosts"),
        ({"node.network.L": "1 us"}, "node.network.L", "loggop"),
        ({"node.network.model": "loggop"}, "node.network", "not to loggop"),
        ({"node.network.sharing": "max_min"}, "node.network.sharing", "same on all levels"),
        ({"node.network.routing": "ecmp"}, "node.network.routing", "only to the network between the nodes"),
        ({"node.network.routing": "valiant"}, "node.network.routing", "(allowed: minimal)"),
        ({"node.network.rails": 2}, "node.network.rails", "receive_overhead, routing, segments"),
        ({"node.network.saturation": 0.5}, "node.network.saturation", "unknown key"),
        ({"node.network.interfaces.count": 2}, "node.network.interfaces.count", "1, as fast as all together"),
        ({"network.node": {"startup": "1 us", "bandwidth": "1 TB/s"}}, "node", "in addition to network.node"),
        ({"socket": {"per_node": 3, "network": FAST}}, "socket.per_node", "a divisor of 8"),
        ({"node.network.link_bandwidth": "1 GB/s"}, "node.network.link_bandwidth", "faster than its link"),
        ({"socket": {"network": FAST}}, "socket", "per_node"),
        ({"disk.per_byte": 1}, "disk", ""),
    ],
)
def test_what_cannot_be_is_one_error_at_its_place(changes: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(sc.InputError) as error:
        sc.Machine.load(GPUS, changes)
    assert place in str(error.value)
    assert words in str(error.value)


def test_a_socket_needs_the_network_of_its_node() -> None:
    without = {key: value for key, value in SOCKETS.items() if key != "node"}
    with pytest.raises(sc.InputError, match="joins the sockets"):
        sc.Machine.load(without)


def test_a_constant_of_a_level_that_is_not_there() -> None:
    with pytest.raises(sc.InputError, match=r"gpus has no socket\.network"):
        sc.Machine.load(GPUS).with_constants({"socket.network.startup": 1e-6})


@pytest.mark.parametrize(
    "path",
    [
        "node.network.startup",
        "socket.network.startup",
        "network.node.startup",
        "network.socket.startup",
        "partitions.gpu.processor.rate",
    ],
)
@pytest.mark.parametrize("option", ["set", "--vary"])
def test_a_change_in_a_part_that_a_machine_has_not(path: str, option: str) -> None:
    """The part is named, not what is missing in it."""
    part = path.removesuffix(".startup").removesuffix(".gpu.processor.rate")
    swept = MachineFile(sc.Machine.load("crossbar-16"), machine_tree("crossbar-16")[0])
    change = swept.changed if option == "--vary" else partial(sc.Machine.load, "crossbar-16")
    with pytest.raises(sc.InputError, match=rf"{option}: .*: crossbar-16 has no {part}, so {path} cannot be set"):
        change({path: 1.0})


def test_changes_that_state_a_whole_level_make_it() -> None:
    changes = {"node.network.topology.kind": "crossbar", "node.network.startup": "1 us"}
    machine = sc.Machine.load("crossbar-16", {"processors_per_node": 2, **changes, "node.network.bandwidth": "1 TB/s"})
    assert [one.topology.node_count for one in machine.levels] == [16, 2]


MEMORY: dict[str, Any] = {
    "memory": {"latency": "90 ns", "bandwidth": "200 GB/s"},
    "caches": {"L3": {"size": "32 MiB", "latency": "20 ns", "shared_by": 4}},
}
LOADED = GPUS | MEMORY | {"node": {"network": INSIDE, "memory": {"copies": 1.25}}}


def test_the_memory_for_messages_is_that_of_the_node() -> None:
    """200 GB/s over 2 x 1.25 are 80 GB/s; four processors share 32 MiB, 8 MiB each."""
    machine = sc.Machine.load(LOADED)
    assert 1 / machine.message_memory_s_per_byte == pytest.approx(80e9, rel=1e-15)
    assert machine.message_cache_bytes == 8 * 2**20
    assert sc.Machine.load(LOADED, {"node.memory.cache": "1 MB"}).message_cache_bytes == 1e6
    assert machine.with_constants({"node.memory.copies": 2.0}).message_memory_s_per_byte == pytest.approx(2e-11)
    assert machine.constants()["node.memory.copies"] == 1.25


def test_copies_that_are_not_stated_are_assumed() -> None:
    """1.4 times read and written: 200 GB/s over 2.8."""
    machine = sc.Machine.load(GPUS | MEMORY, {"node.memory": {"cache": "1 MiB"}})
    assert machine.node_memory is not None
    assert machine.node_memory.copies_assumed
    assert 1 / machine.message_memory_s_per_byte == pytest.approx(200e9 / 2.8, rel=1e-12)
    stated = sc.Machine.load(LOADED).node_memory
    assert stated is not None
    assert not stated.copies_assumed


def test_nothing_is_loaded_without_a_memory_for_messages() -> None:
    machine = sc.Machine.load(GPUS | MEMORY)
    assert (machine.message_memory_s_per_byte, machine.message_cache_bytes) == (0.0, np.inf)


@pytest.mark.parametrize(
    ("machine", "changes", "place", "words"),
    [
        (GPUS, {"node.memory": {"copies": 1.4, "cache": "1 MiB"}}, "node.memory", "load the memory of the machine"),
        (LOADED, {"node.memory.copies": 0}, "node.memory.copies", "out of range"),
        (LOADED, {"node.memory.size": 1}, "node.memory.size", "unknown key"),
        (LOADED, {"caches": None}, "node.memory", "node.memory.cache: 1 MiB, or caches"),
        (GPUS, {"network.holds_receiver": "true"}, "network.holds_receiver", "node.network.holds_receiver"),
        (GPUS, {"node.network.holds_receiver": "2"}, "node.network.holds_receiver", "false, true"),
    ],
)
def test_bad_memories_for_messages(machine: dict[str, Any], changes: dict[str, Any], place: str, words: str) -> None:
    """One error at its place."""
    machine = {key: value for key, value in machine.items() if changes.get(key, "") is not None}
    changes = {key: value for key, value in changes.items() if value is not None}
    with pytest.raises(sc.InputError) as error:
        sc.Machine.load(machine, changes)
    assert place in str(error.value)
    assert words in str(error.value)


def test_the_checks_hold_in_python() -> None:
    machine = sc.Machine.load(LOADED)
    held = replace(machine.network.message_model, holds_receiver=True)
    with pytest.raises(sc.InputError, match=r"network\.holds_receiver"):
        replace(machine, network=replace(machine.network, message_model=held))
    with pytest.raises(sc.InputError, match=r"node\.network as well"):
        replace(machine, node_network=None)
    with pytest.raises(sc.InputError, match="load the memory of the machine"):
        replace(machine, memory=None)


def test_levels_may_differ_in_whether_messages_hold_receivers() -> None:
    inside = INSIDE | {"holds_receiver": True}
    machine = sc.Machine.load(SOCKETS | {"node": {"network": inside}})
    assert [one.message_model.holds_both_ends for one in machine.levels] == [False, True, False]
    assert [one.message_model.bytes_hold_sender for one in machine.levels] == [False, True, False]


def test_a_message_of_loggops_holds_by_its_own_constants() -> None:
    loggops = {"model": "loggop", "topology": {"kind": "crossbar"}, **dict.fromkeys("Log", "1 us"), "G": "1 ns/B"}
    inside = {"topology": {"kind": "crossbar"}, **dict.fromkeys("Log", "1 us"), "G": "1 ns/B", "holds_receiver": True}
    with pytest.raises(sc.InputError, match="belongs to the network model hockney"):
        sc.Machine.load(GPUS | {"network": loggops, "node": {"network": inside}})
