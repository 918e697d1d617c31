"""Machine files: every key with its unit, what is refused and where, mappings, replaced constants."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import replace
from io import StringIO

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.core.errors import InputError
from simcodesign.describe.constants import CONSTANTS, MODELS_OF, RANGES
from simcodesign.describe.design_point import bind
from simcodesign.describe.keys.forms import FROM_1
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.interfaces import Interfaces
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.describe.network.message_models.loggops import LogGOPS
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.yaml.files import load_machine
from simcodesign.report.machines.machine_sheet import machine_sheet
from tests.builders import network_of, network_with, read_machine, workload

TEXT = """\
simcodesign: 1
name: toy
about: every key
source: none
nodes: 6
processors_per_node: 2
processor:
  rate: 2 GFLOP/s
  clock: 500 MHz
  cpi: 1.5
network:
  topology: {kind: mesh, shape: [3, 2]}
  startup: 318 us
  startup_per: hop
  packing: 20 ns
  packing_bandwidth: 8 GB/s
  matching: 20 ns
  bandwidth: 100 MB/s
  in_switch: {latency: 1 us, bandwidth: 8 GB/s}
  receive_overhead: 2 us
  hop_latency: 100 ns
  link_bandwidth: 200 MB/s
  interfaces: {count: 2, duplex: half, per_byte: 2.5 ns/B}
  distance: sqrt
  switching: store_and_forward
disk:
  read_startup: 5 ms
  write_startup: 6 ms
  bandwidth: 80 Mbit/s
  shared_by: 3
  spindles: 2
mapping: round_robin
noise: 5 %
failures: {mtbf: 5 year}
"""
SMALL = """\
simcodesign: 1
name: small
nodes: 4
processor: {rate: 1e9}
network:
  topology: {kind: bus}
  startup: 0
  per_byte: 1e-8
"""
#: Parts that some machines have, with all of their constants.
PARTS = """
caches: {L1: {size: 32 KiB, latency: 1 ns}}
memory: {latency: 80 ns, per_byte: 2 ns/B, controllers: 2, remote: {latency: 50 ns, bandwidth: 10 GB/s}, prefetch: {streams: 8, depth: 4}}
accelerator:
  count: 1
  rate: 1 TFLOP/s
  rates: {fp64: 1e12, fp32: 2e12, tf32: 4e12, bf16: 8e12, fp16: 8e12, fp8: 1.6e13, int8: 1.6e13, fp6: 3e13, fp4: 3e13, int4: 3e13}
  efficiency: 0.8
  attention_efficiency: 0.6
  launch: 5 us
  memory: {latency: 1 us, bandwidth: 1 TB/s, capacity: 64 GB}
  link: {latency: 10 us, bandwidth: 10 GB/s}
storage:
  servers: 4
  stripe: 1 MiB
  bandwidth: 3 GB/s
  write_bandwidth: 2 GB/s
  latency: 1 ms
  metadata_rate: 1 kop/s
  metadata_latency: 1 ms
"""
LOGGOP = """\
simcodesign: 1
name: letters
nodes: 4
processor: {rate: 1e9, clock: 1 GHz}
network:
  model: loggop
  topology: {kind: bus}
  L: 2.5 us
  o: 1.5 us
  g: 1 us
  G: 6 ns/B
  O: 1 ns/B
  S: 64 KiB
  hop_latency: 100 ns
"""
_SWITCH = "topology: {kind: crossbar}, hop_latency: 1 ns, in_switch: {latency: 1 us, bandwidth: 8 GB/s}"
_INSIDE = f"{{{_SWITCH}, receive_overhead: 1 us, startup: 1 us, bandwidth: 200 MB/s}}"
_LOGGOP = f"{{{_SWITCH}, L: 1 us, o: 1 us, g: 2 us, G: 4 ns/B, O: 2 ns/B, S: 64 KiB}}"
#: Networks inside nodes and sockets, by the model of messages.
INSIDE, LOGGOP_INSIDE = (
    f"node: {{network: {one}, memory: {{copies: 1.4, cache: 1 MiB}}}}\nsocket: {{per_node: 2, network: {one}}}\n"
    for one in (_INSIDE, _LOGGOP)
)


def changed(old: str, new: str, text: str = TEXT) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def problem(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_machine(text)
    return caught.value


def line_of(path: str, text: str) -> int:
    """Line on which the last key of the path stands: each key is looked for after the one before."""
    position = 0
    for key in re.sub(r"\[\d+\]", "", path).split("."):
        match = re.compile(rf"(?<![A-Za-z_]){key}:").search(text, position)
        assert match is not None
        position = match.end()
    return text.count("\n", 0, position) + 1


def test_every_key() -> None:
    toy = read_machine(TEXT)
    assert (toy.name, toy.about, toy.source, toy.nodes, toy.processors) == ("toy", "every key", "none", 6, 12)
    assert dataclasses.astuple(toy.processor) == (2e9, 5e8, 1.5, None, None)
    network = toy.network
    assert (network.topology.kind, network.message_model.startup_s, network.message_model.per_byte_s) == (
        "mesh",
        318e-6,
        1e-8,
    )
    assert (network.message_model.receive_overhead_s, network.hop_latency_s) == (2e-6, 1e-7)
    assert (network.link_per_byte_s, network.interfaces) == (5e-9, Interfaces(2, "half", 2.5e-9))
    assert (network.message_model.startup_per, network.distance, network.switching) == (
        "hop",
        "sqrt",
        "store_and_forward",
    )
    assert toy.disk is not None
    assert dataclasses.astuple(toy.disk) == (0.005, 0.006, 1e-7, 3, 2, None)
    assert (toy.mapping, toy.noise) == ("round_robin", 0.05)


def test_operators_of_reductions() -> None:
    """Fugaku: 64 MiB are combined in 4.0 ms, which is 16.8 GB/s."""
    for text in ("reduction: 16.777216 GB/s", "reduction_per_byte: 5.9604644775390625e-11"):
        network = read_machine(changed("  startup: 0", f"  startup: 0\n  {text}", SMALL)).network
        assert 2**26 * network.reduction_s_per_byte == pytest.approx(4.0e-3, rel=1e-12)
    assert read_machine(SMALL).network.reduction_s_per_byte == 0


def test_defaults() -> None:
    small = read_machine(SMALL)
    assert (small.about, small.source, small.processors, small.disk) == ("", "", 4, None)
    assert (small.mapping, small.noise, small.processor.clock_hz) == ("linear", 0.0, None)
    network = small.network
    assert (network.message_model.receive_overhead_s, network.hop_latency_s, network.message_model.startup_per) == (
        0,
        0,
        "message",
    )
    assert network.link_occupancy_s_per_byte == network.interface_occupancy_s_per_byte == 1e-8
    assert set(small.constants()) == {
        "processor.rate",
        "processor.cpi",
        "network.startup",
        "network.per_byte",
        "network.receive_overhead",
        "network.hop_latency",
    }


def test_a_disk_shared_by_all_nodes() -> None:
    disk = read_machine(changed("shared_by: 3", "shared_by: all")).disk
    assert disk is not None
    assert disk.shared_by == 6


REQUIRED = [
    "simcodesign: 1",
    "name: toy",
    "nodes: 6",
    "  rate: 2 GFLOP/s",
    "  startup: 318 us",
    "  bandwidth: 100 MB/s",
    "  topology: {kind: mesh, shape: [3, 2]}",
    "  read_startup: 5 ms",
    "  write_startup: 6 ms",
    "  bandwidth: 80 Mbit/s",
]


@pytest.mark.parametrize("line", REQUIRED)
def test_required_keys(line: str) -> None:
    key = line.split(":")[0].strip()
    error = problem(changed(line + "\n", ""))
    assert f"{key!r}" in str(error)
    assert "missing" in str(error)
    part = {"rate": "processor", "read_startup": "disk", "write_startup": "disk"}.get(key)
    if line.startswith("  ") and part:
        assert error.place is not None
        assert (error.place.path, error.place.line) == (part, TEXT.split("\n").index(f"{part}:") + 1)


WRONG = [
    ("simcodesign: 1", "simcodesign: 2", "simcodesign", "unknown format version, got '2' (allowed: 1)"),
    ("name: toy", "name: ''", "name", "not a name"),
    ("nodes: 6", "nodes: 0", "nodes", "whole number out of range"),
    ("nodes: 6", "nodes: 2.5", "nodes", "a whole number"),
    ("nodes: 6", "nodes: -6", "nodes", "whole number out of range"),
    ("nodes: 6", "nodes: six", "nodes", "a number"),
    ("nodes: 6", "nodes: 1e300", "nodes", "whole number out of range"),
    ("nodes: 6", "nodes: 7", "network.topology", "but 7 are needed"),
    ("processors_per_node: 2", "processors_per_node: 0", "processors_per_node", "whole number out of range"),
    ("rate: 2 GFLOP/s", "rate: 0", "processor.rate", "above 0"),
    ("rate: 2 GFLOP/s", "rate: -1", "processor.rate", "above 0"),
    ("rate: 2 GFLOP/s", "rate: nan", "processor.rate", "not a quantity"),
    ("rate: 2 GFLOP/s", "rate: .inf", "processor.rate", "not a quantity"),
    ("rate: 2 GFLOP/s", "rate: 1e400", "processor.rate", "too large"),
    ("rate: 2 GFLOP/s", "rate: 2 GB/s", "processor.rate", "unit of bandwidth"),
    ("rate: 2 GFLOP/s", "rates: 2 GFLOP/s", "processor.rates", "did you mean 'rate'"),
    ("clock: 500 MHz", "clock: 0 Hz", "processor.clock", "above 0"),
    ("cpi: 1.5", "cpi: 0", "processor.cpi", "above 0"),
    ("kind: mesh", "kind: mehs", "network.topology.kind", "did you mean 'mesh'"),
    ("shape: [3, 2]", "shape: [3, 2.5]", "network.topology.shape[1]", "a whole number"),
    ("shape: [3, 2]", "shape: 6", "network.topology.shape", "a sequence"),
    ("shape: [3, 2]", "arity: 2", "network.topology", "no option arity"),
    ("startup: 318 us", "startup: -1 us", "network.startup", "0 or above"),
    ("  bandwidth: 100 MB/s", "  bandwidth: 0", "network.bandwidth", "above 0"),
    ("  bandwidth: 100 MB/s", "  bandwidth: -5 MB/s", "network.bandwidth", "above 0"),
    ("  bandwidth: 100 MB/s", "  bandwidth: 1e-320", "network.bandwidth", "too small"),
    ("  bandwidth: 100 MB/s", "  bandwidth: 1e-300", "network.bandwidth", "out of range"),
    ("rate: 2 GFLOP/s", "rate: 1e-320", "processor.rate", "too small"),
    ("rate: 2 GFLOP/s", "rate: 1e300", "processor.rate", "to 1e+75"),
    ("startup: 318 us", "startup: 1e-320", "network.startup", "too small"),
    ("  bandwidth: 100 MB/s", "  bandwidth: 1 MB/s\n  per_byte: 1 us/B", "network.per_byte", "given twice"),
    ("startup_per: hop", "startup_per: byte", "network.startup_per", "hop, message"),
    ("startup_per: hop", "sends: all", "network.sends", "blocking, nonblocking"),
    ("distance: sqrt", "distance: far", "network.distance", "log2, mean, none, one, sqrt"),
    ("startup_per: hop", "hops_hold_sender: no", "network.hops_hold_sender", "false, true"),
    ("startup_per: hop", "hops_hold_sender: 0", "network.hops_hold_sender", "false, true"),
    ("startup_per: hop", "hop_holds_sender: true", "network.hop_holds_sender", "did you mean 'hops_hold_sender'"),
    ("mapping: round_robin", "mapping: one_per_nod", "mapping", "did you mean 'one_per_node'"),
    ("switching: store_and_forward", "switching: cutthrough", "network.switching", "did you mean 'cut_through'"),
    ("link_bandwidth: 200 MB/s", "link_bandwidth: 99 MB/s", "network.link_bandwidth", "faster than its link"),
    ("per_byte: 2.5 ns/B}", "per_byte: 11 ns/B}", "network.interfaces", "its interface"),
    ("per_byte: 2.5 ns/B}", "per_byte: -1 ns/B}", "network.interfaces.per_byte", "0, or 1e-75 to 1e+75"),
    ("per_byte: 2.5 ns/B}", "bandwidth: 0 B/s}", "network.interfaces.bandwidth", "above 0"),
    ("per_byte: 2.5 ns/B}", "per_byte: 2 ns/B, bandwidth: 1 GB/s}", "network.interfaces.bandwidth", "given twice"),
    ("per_byte: 2.5 ns/B}", "per_bit: 2 ns/B}", "network.interfaces.per_bit", "did you mean 'per_byte'"),
    ("{count: 2,", "{count: 0,", "network.interfaces.count", "1 to 1024"),
    ("duplex: half", "duplex: both", "network.interfaces.duplex", "full, half"),
    ("{count: 2,", "{count: 2, assignment: direction,", "network.interfaces", "count: 4"),
    ("{count: 2,", "{count: 2, assignment: any,", "network.interfaces.assignment", "round_robin"),
    ("startup_per: hop", "interface_bandwidth: 1 GB/s", "network.interface_bandwidth", "interfaces: {bandwidth: ...}"),
    ("startup_per: hop", "interface_per_byte: 1 ns/B", "network.interface_per_byte", "interfaces: {per_byte: ...}"),
    ("bandwidth: 80 Mbit/s", "bandwidth: 80 Mbps", "disk.bandwidth", "unknown unit"),
    ("shared_by: 3", "shared_by: some", "disk.shared_by", "a number"),
    ("shared_by: 3", "shared_by: 0", "disk.shared_by", "whole number out of range"),
    ("spindles: 2", "spindles: 0", "disk.spindles", "whole number out of range"),
    ("mapping: round_robin", "mapping: robin", "mapping", "did you mean 'round_robin'"),
    ("mapping: round_robin", "mapping: []", "mapping", "no rank is placed"),
    ("mapping: round_robin", "mapping: [0, 6]", "mapping[1]", "0 to 5"),
    ("mapping: round_robin", "mapping: [1, 0, 1, 1]", "mapping", "3 ranks on node 1, which has 2 processors"),
    ("noise: 5 %", "noise: -1 %", "noise", "0 to 1, or 0 % to 1000 %"),
    ("noise: 5 %", "noise: 1001 %", "noise", "0 to 1, or 0 % to 1000 %"),
    ("noise: 5 %", "noise: nan", "noise", "not a quantity"),
    ("noise: 5 %", "noice: 5 %", "noice", "did you mean 'noise'"),
]


@pytest.mark.parametrize(("old", "new", "path", "what"), WRONG)
def test_what_is_wrong_and_where(old: str, new: str, path: str, what: str) -> None:
    text = changed(old, new) if TEXT.count(old) == 1 else TEXT.replace("\n" + old, "\n" + new, 1)
    error = problem(text)
    assert what in str(error)
    assert str(error).startswith(f"m.yaml:{line_of(path, text)}: {path}: ")


def test_no_machine_at_all() -> None:
    for text in ("just text", "[1, 2]", "simcodesign: 1"):
        assert str(problem(text)).startswith("m.yaml:1: ")


# --- LogGOPS ---------------------------------------------------------------------------------------------------


def test_every_letter() -> None:
    network = read_machine(LOGGOP).network
    assert (
        network.message_model.name,
        network.message_model.latency_s,
        network.message_model.overhead_s,
        network.message_model.gap_s,
    ) == ("loggop", 2.5e-6, 1.5e-6, 1e-6)
    assert (
        network.message_model.per_byte_s,
        network.message_model.overhead_per_byte_s,
        network.message_model.rendezvous_above_bytes,
    ) == (6e-9, 1e-9, 65536)
    assert (network.message_model.startup_s, network.hop_latency_s) == (
        0,
        1e-7,
    )
    assert network.link_occupancy_s_per_byte == network.interface_occupancy_s_per_byte == 6e-9
    assert {path for path in read_machine(LOGGOP).constants() if path.startswith("network.")} == {
        "network.L",
        "network.o",
        "network.g",
        "network.G",
        "network.O",
        "network.S",
        "network.hop_latency",
    }


def test_letters_that_may_be_left_out() -> None:
    text = changed("  O: 1 ns/B\n  S: 64 KiB\n  hop_latency: 100 ns\n", "", LOGGOP)
    network = read_machine(changed("  G: 6 ns/B", "  bandwidth: 200 MB/s", text)).network
    assert (
        network.message_model.overhead_per_byte_s,
        network.message_model.rendezvous_above_bytes,
        network.hop_latency_s,
    ) == (0, None, 0)
    assert network.message_model.per_byte_s == 5e-9
    assert (
        read_machine(SMALL).network.message_model.name
        == read_machine(changed("  startup: 0", "  model: hockney\n  startup: 0", SMALL)).network.message_model.name
        == "hockney"
    )


@pytest.mark.parametrize("key", ["L", "o", "g", "G"])
def test_letters_that_may_not(key: str) -> None:
    line = next(line for line in LOGGOP.split("\n") if line.strip().startswith(f"{key}:"))
    error = problem(changed(line + "\n", "", LOGGOP))
    assert f"{key!r}" in str(error)
    assert "missing" in str(error)
    assert str(error).startswith("m.yaml:5: network: ")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (
            changed("  L: 2.5 us", "  startup: 1 us", LOGGOP),
            8,
            "network.startup: 'startup' belongs to the network model hockney, not to loggop",
        ),
        (
            changed("  G: 6 ns/B", "  per_byte: 6 ns/B", LOGGOP),
            11,
            "network.per_byte: 'per_byte' belongs to the network model hockney",
        ),
        (
            changed("  O: 1 ns/B", "  startup_per: hop", LOGGOP),
            12,
            "network.startup_per: 'startup_per' belongs to the network model hockney",
        ),
        (
            changed("  O: 1 ns/B", "  hops_hold_sender: false", LOGGOP),
            12,
            "network.hops_hold_sender: 'hops_hold_sender' belongs to the network model hockney",
        ),
        (
            changed("  O: 1 ns/B", "  receive_overhead: 1", LOGGOP),
            12,
            "(allowed: L, o, g, G, O; or 'model: hockney')",
        ),
        (changed("  O: 1 ns/B", "  bandwidth: 1 GB/s", LOGGOP), 12, "network.G is given twice"),
        (
            changed("  O: 1 ns/B", "  link_per_byte: 7 ns/B", LOGGOP),
            12,
            "cannot pass faster than its link: network.bandwidth is",
        ),
        (changed("model: loggop", "model: logp", LOGGOP), 6, "did you mean 'loggop'"),
        (changed("  S: 64 KiB", "  S: 64 us", LOGGOP), 13, "unit of time"),
        (changed("  o: 1.5 us", "  o: -1", LOGGOP), 9, "network.o: out of range"),
        (
            changed("  startup: 0", "  startup: 0\n  L: 1 us", SMALL),
            8,
            "network.L: 'L' belongs to the network model loggop, not to hockney (allowed: startup, per_byte, receive_overhead; or 'model: loggop')",
        ),
    ],
)
def test_keys_of_the_other_network_model(text: str, line: int, what: str) -> None:
    error = problem(text)
    assert what in str(error)
    assert str(error).startswith(f"m.yaml:{line}: network.")


def test_constants_of_a_whole_other_model() -> None:
    """A phase whose message constants were measured for another model brings the model with them, or nothing of it."""
    letters, small = read_machine(LOGGOP), read_machine(SMALL)
    other = letters.with_constants({"network.startup": 1e-5, "network.per_byte": 2e-8})
    assert network_with(small.network, startup_s=1e-5, per_byte_s=2e-8, hop_latency_s=1e-7) == other.network
    back = other.with_constants({f"network.{key}": letters.constants()[f"network.{key}"] for key in "LogGOS"})
    assert back == letters
    few = {"network.startup": 1e-5}
    with pytest.raises(
        InputError, match=r"network\.startup is a constant of the network model hockney; the model of letters is"
    ):
        letters.with_constants(few)
    with pytest.raises(InputError, match=r"or all of network\.startup, network\.per_byte for hockney"):
        letters.with_constants(few | {"network.per_byte": 1e-8, "network.L": 1e-6})
    with pytest.raises(InputError, match=r"network\.L is a constant of the network model loggop"):
        small.with_constants({"network.L": 1.0, "network.o": 1.0})


def test_a_model_of_messages_has_no_constants_of_another() -> None:
    with pytest.raises(TypeError, match="latency_s"):
        Hockney(latency_s=1e-6)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="sends"):
        LogGOPS(sends="blocking")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="network model hockney"):
        replace(read_machine(LOGGOP), network=network_with(read_machine(LOGGOP).network, node=LocalMessages(1e-6)))


# --- Ranks on nodes ------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 4), st.data())
def test_mappings_place_every_rank_within_the_processors(nodes: int, per_node: int, data: st.DataObject) -> None:
    base = read_machine(SMALL.replace("nodes: 4", f"nodes: {nodes}\nprocessors_per_node: {per_node}"))
    ranks = data.draw(st.integers(1, nodes * per_node))
    linear = base.node_of(ranks).tolist()
    assert linear == [rank // per_node for rank in range(ranks)]
    used = math.ceil(ranks / per_node)
    around = dataclasses.replace(base, mapping="round_robin").node_of(ranks).tolist()
    assert around == [rank % used for rank in range(ranks)]
    assert max(around.count(node) for node in around) <= per_node
    every = data.draw(st.permutations([node for node in range(nodes) for _ in range(per_node)]))
    assert dataclasses.replace(base, mapping=tuple(every)).node_of(ranks).tolist() == every[:ranks]


def test_most_ranks() -> None:
    assert read_machine(TEXT).most_ranks == read_machine(TEXT).processors == 12
    placed = read_machine(changed("mapping: round_robin", "mapping: [5, 0, 5]"))
    assert (placed.most_ranks, placed.processors, placed.mapping) == (3, 12, (5, 0, 5))


def test_one_rank_on_each_node() -> None:
    """However many processors it has, and quickly for a million nodes."""
    placed = read_machine(changed("mapping: round_robin", "mapping: one_per_node"))
    assert (placed.most_ranks, placed.processors) == (6, 12)
    assert placed.node_of(6).tolist() == list(range(6))
    large = replace(placed, network=network_of(build_topology("crossbar", 2**20)), processors_per_node=1024)
    assert (large.most_ranks, large.processors) == (2**20, 2**30)
    assert np.array_equal(large.node_of(2**20), np.arange(2**20))


def test_new_keys_of_a_network() -> None:
    network = read_machine(
        changed(
            "startup_per: hop",
            "sends: blocking\n  hops_hold_sender: false",
            changed("distance: sqrt", "distance: none"),
        )
    ).network
    assert (network.message_model.hops_hold_sender, network.distance) == (False, "none")
    assert read_machine(SMALL).network.message_model.hops_hold_sender
    held = load_machine("crossbar-16", {"network.hops_hold_sender": "false"})
    letters = read_machine(LOGGOP)
    values = {f"network.{key}": letters.constants()[f"network.{key}"] for key in "LogG"}
    assert not held.network.message_model.hops_hold_sender
    assert isinstance(held.with_constants(values).network.message_model, LogGOPS)  # which has no such thing
    with pytest.raises(InputError, match="hops_hold_sender"):
        replace(held, network=network_with(held.network, hops_hold_sender=1))  # type: ignore[arg-type]


def test_how_messages_are_sent() -> None:
    assert read_machine(SMALL).network.message_model.sends == "nonblocking"
    crossbar = load_machine("crossbar-16")
    assert crossbar.network.message_model.sends == "blocking"
    assert load_machine("crossbar-16", {"network.sends": "nonblocking"}).network.message_model.sends == "nonblocking"
    with pytest.raises(InputError, match=r"network\.sends"):
        replace(crossbar, network=network_with(crossbar.network, sends="at once"))
    with pytest.raises(InputError, match=r"network\.hops_hold_sender"):
        read_machine(changed("startup_per: hop", "hops_hold_sender: false"))
    with pytest.raises(InputError, match="'sends' belongs to the network model hockney"):
        read_machine(changed("  O: 1 ns/B", "  sends: nonblocking", LOGGOP))


def test_a_long_mapping_is_read_quickly() -> None:
    text = changed("mapping: round_robin", "mapping: [" + "0, " * 40_000 + "0]")
    assert "40001 ranks on node 0" in str(problem(text))


# --- Replaced constants ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CONSTANTS)
def test_every_constant_can_be_replaced(path: str) -> None:
    is_inside = path.startswith(("node.", "socket."))
    outside = path.partition(".")[2] if is_inside else path
    text = LOGGOP if MODELS_OF.get(outside) == ("loggop",) or outside == "network.S" else TEXT
    if path.endswith("loaded_per_byte"):
        text = text.replace("switching: store_and_forward", "sharing: max_min")
    inside = (LOGGOP_INSIDE if text == LOGGOP else INSIDE) if is_inside else ""
    toy = read_machine(text + ("processors_per_node: 2\n" if text == LOGGOP else "") + inside + PARTS)
    value = float(toy.constants()[path]) / 2 if "per_byte" not in path else 1e-9
    value = 5e-9 if path.endswith("loaded_per_byte") else value
    if RANGES.get(path) == FROM_1:
        value = 10.0
    if path == "network.per_byte":
        value = 2e-8
    after = toy.with_constants({path: value}).constants()
    assert after == toy.constants() | {path: value}
    assert toy.constants().get(path) != value


def test_arrays_of_constants() -> None:
    startup = np.array([1e-6, 2e-6])
    toy = read_machine(TEXT).with_constants({"network.startup": startup, "processor.rate": np.array([[1e9], [2e9]])})
    assert toy.network.message_model.startup_s is startup
    assert np.shape(toy.constants()["processor.rate"]) == (2, 1)
    with pytest.raises(InputError, match=r"network\.startup is out of range, got -1\.0"):
        toy.with_constants({"network.startup": np.array([1.0, -1.0])})
    with pytest.raises(InputError, match="faster than its link"):
        toy.with_constants({"network.per_byte": np.array([1e-8, 1e-9])})


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "20 us", None, True, 1j, np.array([1.0, math.nan])])
@pytest.mark.parametrize("path", ["network.startup", "processor.clock", "disk.per_byte"])
def test_constants_that_cannot_be_used(path: str, value: object) -> None:
    with pytest.raises(InputError, match=path.replace(".", r"\.")):
        read_machine(TEXT).with_constants({path: value})  # type: ignore[dict-item]


@pytest.mark.parametrize("key", ["per_byte", "bandwidth"])
def test_constants_of_interfaces_as_they_were_written_are_refused_with_the_new_spelling(key: str) -> None:
    now = rf"network\.interfaces\.{key}"
    with pytest.raises(InputError, match=now):
        read_machine(TEXT).with_constants({f"network.interface_{key}": 1e-9})
    with pytest.raises(InputError, match=now):
        bind(workload("[barrier: {}]"), read_machine(TEXT), {"P": 2, f"network.interface_{key}": 1e-9})
    with pytest.raises(InputError, match=now):
        workload(f"- constants: {{network.interface_{key}: 1}}\n  do: [barrier: {{}}]")


def test_constants_that_do_not_exist() -> None:
    with pytest.raises(InputError, match=r"did you mean 'network\.startup'"):
        read_machine(TEXT).with_constants({"network.startups": 1.0})
    with pytest.raises(InputError, match=r"small has no disk, so disk\.per_byte cannot be set"):
        read_machine(SMALL).with_constants({"disk.per_byte": 1.0})
    with pytest.raises(InputError, match="above 0"):
        read_machine(SMALL).with_constants({"processor.cpi": 0.0})


def test_the_link_follows_the_message_unless_it_is_given() -> None:
    assert read_machine(SMALL).with_constants({"network.per_byte": 5.0}).network.link_occupancy_s_per_byte == 5.0
    given_link = read_machine(TEXT).with_constants({"network.per_byte": 5.0}).network
    assert given_link.link_occupancy_s_per_byte == 5e-9


def test_another_network_in_python() -> None:
    """Any NetworkX graph can join the nodes; a mapping onto nodes that it has not is refused."""
    graph = nx.petersen_graph()
    joined = load_machine("crossbar-16").with_topology(build_topology("graph", 10, graph=graph))
    assert (joined.nodes, joined.network.topology.diameter) == (10, nx.diameter(graph))
    placed = replace(joined, mapping=(9, 0, 3))
    assert placed.node_of(2).tolist() == [9, 0]
    with pytest.raises(InputError, match="node that does not exist"):
        placed.with_topology(build_topology("mesh", 9))


@pytest.mark.parametrize(
    "change",
    [{"mapping": "roundrobin"}, {"mapping": ()}, {"mapping": (0, 0)}, {"noise": -1.0}, {"noise": float("nan")}],
)
def test_machines_are_checked_on_construction(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        replace(load_machine("crossbar-16"), **change)


@pytest.mark.parametrize("change", [{"distance": "cube"}, {"switching": "circuit"}, {"startup_per": "mile"}])
def test_networks_are_checked_on_construction(change: dict[str, str]) -> None:
    machine = load_machine("crossbar-16")
    with pytest.raises(InputError, match=next(iter(change))):
        replace(machine, network=network_with(machine.network, **change))


def test_the_sheet_shows_hops_that_do_not_hold_the_sender() -> None:
    changes = {
        "network.hops_hold_sender": "false",
        "network.distance": "none",
        "network.hop_latency": "90 ns",
        "network.switching": "store_and_forward",
        "mapping": "one_per_node",
    }
    console = Console(width=200, record=True, file=StringIO())
    console.print(*machine_sheet(load_machine("crossbar-16", changes)))
    text = " ".join(console.export_text().split())
    assert "hops hold the sender no: they delay the arrival alone" in text
    assert "and arrive h x 90 ns + max(h - 1, 0) x m" in text
    assert "hops where routes are not looked at 0" in text
    assert "one_per_node" in text


def test_the_sheet_shows_how_links_are_shared() -> None:
    for sharing, stored, expected in (
        ("fcfs", "max(h - 1, 0) x m /", "first come, first served, by whole messages"),
        ("round_robin", "max(h - 1, 0) x min(m, 4 KiB) /", "round robin, by packets of 4 KiB"),
    ):
        console = Console(width=200, record=True, file=StringIO())
        changes = {"network.switching": "store_and_forward", "network.sharing": sharing}
        console.print(*machine_sheet(load_machine("crossbar-16", changes)))
        text = " ".join(console.export_text().split())
        assert stored in text
        assert expected in text


# --- Memory of a node ------------------------------------------------------------------------------------------


def test_capacity_without_caches_and_latency() -> None:
    toy = read_machine(SMALL + "\nprocessors_per_node: 4\nmemory: {capacity: 24 GB}\n")
    assert (toy.capacity_bytes, toy.rank_capacity_bytes, toy.memory) == (24e9, 6e9, None)
    assert replace(toy, mapping="one_per_node").rank_capacity_bytes == 24e9


def test_capacity_beside_latency_and_caches() -> None:
    caches = "caches: {L1: {size: 32 KiB, latency: 1 ns}}"
    toy = read_machine(f"{SMALL}\n{caches}\nmemory: {{latency: 80 ns, per_byte: 2 ns/B, capacity: 1 GiB}}\n")
    assert toy.capacity_bytes == 2**30
    assert toy.memory is not None
    assert len(toy.memory.caches) == 1
    assert read_machine(SMALL).capacity_bytes is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("memory: {capacity: 0 GB}", "above 0"),
        ("memory: {capacity: 24 s}", "size"),
        ("memory: {capacity: 24 GB, latency: 80 ns}", "bandwidth"),
        ("memory: {capacity: 24 GB, line: 64 B}", "latency"),
        (
            "memory: {latency: 80 ns, per_byte: 0}\ncaches: {L0.5: {size: 32 KiB, latency: 1 ns, per_byte: 1 ns/B}}",
            r"m.yaml:11: caches\.L0\.5: the name of a cache",
        ),
        ("memory: {capacity: 24 GB}\ncaches: {L1: {size: 32 KiB, latency: 1 ns}}", "latency"),
    ],
)
def test_capacity_that_cannot_be(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_machine(f"{SMALL}\n{text}\n")


def test_the_sheet_shows_the_capacity() -> None:
    console = Console(width=120, record=True, file=StringIO())
    for part in machine_sheet(read_machine(SMALL + "\nprocessors_per_node: 4\nmemory: {capacity: 24 GB}\n")):
        console.print(part)
    text = console.export_text()
    assert "24 GB (6 GB a rank)" in text
    assert "not described" in text


# --- Latencies in cycles ---------------------------------------------------------------------------------------


def cached(latency: str, processor: str = "{rate: 1e9, clock: 2 GHz}") -> str:
    small = changed("{rate: 1e9}", processor, SMALL)
    return f"{small}\ncaches: {{L1: {{size: 32 KiB, latency: {latency}}}}}\nmemory: {{latency: 80 ns, per_byte: 0}}\n"


def latency_s(toy: Machine) -> object:
    assert toy.memory is not None
    return toy.memory.caches[0].latency_s


@pytest.mark.parametrize(
    ("latency", "seconds", "cycles"),
    [
        ("4 cycles", 2e-9, 4),
        ("1 cycle", 0.5e-9, 1),
        ("2.5cycles", 1.25e-9, 2.5),
        ("0 cycles", 0, 0),
        ("4 ns", 4e-9, 8),
        ("4", 4, 8e9),
    ],
)
def test_a_latency_in_cycles_is_one_of_the_clock(latency: str, seconds: float, cycles: float) -> None:
    toy = read_machine(cached(latency))
    assert latency_s(toy) == pytest.approx(seconds, rel=1e-15)
    assert toy.memory is not None
    assert toy.memory.caches[0].latency_cycles(2e9) == pytest.approx(cycles, rel=1e-15)


@given(st.floats(1e6, 1e11), st.floats(1e6, 1e11))
def test_a_latency_in_cycles_follows_the_clock_however_it_is_changed(first: float, second: float) -> None:
    toy, fixed = read_machine(cached("4 cycles")), read_machine(cached("2 ns"))
    for clock in (first, second):
        by_constant = toy.with_constants({"processor.clock": clock})
        assert latency_s(by_constant) == pytest.approx(4 / clock, rel=1e-14)
        assert latency_s(replace(toy, processor=by_constant.processor)) == latency_s(by_constant)
        assert latency_s(fixed.with_constants({"processor.clock": clock})) == 2e-9
        toy = by_constant
    assert latency_s(read_machine(cached("4 cycles", f"{{rate: 1e9, clock: {second!r}}}"))) == pytest.approx(
        4 / second, rel=1e-15
    )


def test_a_latency_in_cycles_that_is_scaled_stays_so() -> None:
    toy = read_machine(cached("4 cycles"))
    level = replace(toy.memory.caches[0], latency_s=3 * latency_s(toy))
    slower = replace(toy, memory=replace(toy.memory, caches=(level,)))
    assert latency_s(slower) == pytest.approx(6e-9, rel=1e-15)
    assert latency_s(slower.with_constants({"processor.clock": 4e9})) == pytest.approx(3e-9, rel=1e-15)


def test_latencies_at_an_array_of_clocks() -> None:
    toy = read_machine(cached("4 cycles")).with_constants({"processor.clock": np.array([1e9, 4e9])})
    assert latency_s(toy) == pytest.approx(np.array([4e-9, 1e-9]), rel=1e-15)


@pytest.mark.parametrize(
    ("latency", "processor", "what"),
    [
        ("4 cycles", "{rate: 1e9}", r"needs processor\.clock"),
        ("4 Cycles", "{rate: 1e9, clock: 2 GHz}", "did you mean 'cycles'"),
        ("4 kcycles", "{rate: 1e9, clock: 2 GHz}", "unknown unit 'kcycles' of cycles"),
        ("-4 cycles", "{rate: 1e9, clock: 2 GHz}", "0 or above"),
        ("four cycles", "{rate: 1e9, clock: 2 GHz}", "not a quantity"),
        ("4 GHz", "{rate: 1e9, clock: 2 GHz}", "unit of frequency, not of time"),
    ],
)
def test_latencies_that_cannot_be(latency: str, processor: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read_machine(cached(latency, processor))
    assert "m.yaml:10: caches.L1.latency: " in str(caught.value)


def test_a_latency_in_cycles_without_a_clock_in_python() -> None:
    toy = read_machine(cached("4 cycles"))
    with pytest.raises(InputError, match=r"caches\.L1\.latency is in cycles, and the processor has no clock"):
        replace(toy, processor=replace(toy.processor, clock_hz=None))
