"""Costs of messages that are piecewise by size, as machine files state them, and as constants of a machine."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.base import SizeSegment
from simcodesign.describe.network.message_models.hockney import HockneySegment
from simcodesign.describe.network.message_models.loggops import LogGOPSSegment
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.yaml.files import load_machine
from tests.builders import machine, network_of, read_machine

EAGER = "{up_to: 8 KiB, startup: 1.2 us, bandwidth: 4 GB/s}"
DETACHED = "{up_to: 64 KiB, startup: 3 us, bandwidth: 5 GB/s, receive_overhead: 1 us}"
RENDEZVOUS = "{startup: 8 us, per_byte: 0.1 ns/B, rendezvous: true}"
THREE = f"[{EAGER}, {DETACHED}, {RENDEZVOUS}]"


def described(network: str, head: str = "nodes: 8") -> Machine:
    lines = f"simcodesign: 1\nname: m\n{head}\nprocessor: {{rate: 1 GFLOP/s}}\n"
    return read_machine(f"{lines}network:\n  topology: {{kind: crossbar}}\n  {network}\n")


def test_a_machine_file_states_segments() -> None:
    network = described(f"segments: {THREE}").network
    assert network.message_model.segments == (
        HockneySegment(8192, 1.2e-6, 1 / 4e9),
        HockneySegment(65536, 3e-6, 1 / 5e9, 1e-6),
        HockneySegment(np.inf, 8e-6, 1e-10, rendezvous=True),
    )
    assert (network.message_model.startup_s, network.message_model.per_byte_s) == (0.0, 0.0)
    assert network.link_occupancy_s_per_byte == network.interface_occupancy_s_per_byte == 1e-10  # the fastest


def test_loggops_and_messages_within_nodes_have_segments_as_well() -> None:
    loggops = "[{up_to: 1 kB, L: 1 us, o: 2 us, g: 3 us, bandwidth: 2 GB/s}, {L: 4 us, o: 5 us, g: 6 us, G: 1 ns/B, O: 2 ns/B}]"
    network = described(f"model: loggop\n  segments: {loggops}").network
    assert network.message_model.segments == (
        LogGOPSSegment(1000, latency_s=1e-6, overhead_s=2e-6, gap_s=3e-6, per_byte_s=1 / 2e9),
        LogGOPSSegment(latency_s=4e-6, overhead_s=5e-6, gap_s=6e-6, per_byte_s=1e-9, overhead_per_byte_s=2e-9),
    )
    near = "[{up_to: 4 KiB, startup: 0.2 us, bandwidth: 8 GB/s}, {startup: 0.5 us, bandwidth: 16 GB/s}]"
    local = f"node: {{segments: {near}}}\n  socket: {{segments: {near}, per_node: 2}}"
    made = described(f"segments: {THREE}\n  {local}", "nodes: 8\nprocessors_per_node: 4")
    assert made.network.node == made.network.socket
    assert made.network.node is not None
    assert made.network.node.segments == (
        HockneySegment(4096, 0.2e-6, 1 / 8e9),
        HockneySegment(np.inf, 0.5e-6, 1 / 16e9),
    )
    assert made.network.sockets_per_node == 2


WRONG = {
    "segments: []": "no segments",
    f"segments: [{EAGER}]": "no end",
    f"segments: [{RENDEZVOUS}, {RENDEZVOUS}]": "'up_to' is missing",
    f"segments: [{DETACHED}, {EAGER}, {RENDEZVOUS}]": "ends above the previous one",
    f"segments: [{EAGER}, {EAGER}, {RENDEZVOUS}]": "ends above the previous one",
    "segments: [{up_to: 0 B, startup: 1 us, bandwidth: 1 GB/s}, {startup: 1 us, bandwidth: 1 GB/s}]": "a number above 0",
    "segments: [{startup: 1 us}]": "'bandwidth' (or 'per_byte') is missing",
    "segments: [{startup: 1 us, bandwidth: 1 GB/s, per_byte: 1 ns/B}]": "given twice",
    "segments: [{bandwidth: 1 GB/s}]": "'startup' is missing",
    "segments: [{startup: -1 us, bandwidth: 1 GB/s}]": "network.segments[0].startup",
    "segments: [{startup: 1 us, bandwidth: 1 GB/s, L: 1 us}]": "unknown key",
    f"segments: {THREE}\n  startup: 1 us": "network.startup and network.segments exclude each other",
    f"segments: {THREE}\n  bandwidth: 1 GB/s": "network.bandwidth and network.segments exclude each other",
    f"segments: {THREE}\n  S: 1 kB": "network.S and segments",
    f"segments: {THREE}\n  link_bandwidth: 9 GB/s": "cannot pass faster than its link",
    f"segments: {THREE}\n  interfaces: {{bandwidth: 9 GB/s}}": "cannot pass faster than its interface",
    f"segments: {THREE}\n  sharing: round_robin\n  switching: store_and_forward": "as fast as messages",
    f"segments: {THREE}\n  node: {{segments: {THREE}}}": "unknown key",
    f"segments: {THREE}\n  node: {{startup: 1 us, bandwidth: 1 GB/s, segments: {THREE}}}": "unknown key",
    f"model: loggop\n  segments: {THREE}": "unknown key",
}


@pytest.mark.parametrize(("network", "message"), WRONG.items())
def test_what_cannot_be_is_said(network: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        described(network)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("segments", "more"),
    [
        ((HockneySegment(100.0),), {}),
        ((HockneySegment(), HockneySegment()), {}),
        ((HockneySegment(100.0), HockneySegment(50.0), HockneySegment()), {}),
        ((LogGOPSSegment(latency_s=1e-6),), {}),
        ((HockneySegment(startup_s=float("nan")),), {}),
        ((HockneySegment(),), {"startup_s": 1e-6}),
        ((HockneySegment(startup_s=1e-6),), {"model": "loggop"}),
    ],
)
def test_segments_made_in_python_are_checked_too(segments: tuple[SizeSegment, ...], more: dict) -> None:
    with pytest.raises(InputError):
        machine(network_of(build_topology("crossbar", 4), segments=segments, **more))


def test_every_number_of_a_segment_is_a_constant() -> None:
    made = described(f"segments: {THREE}")
    constants = {path: value for path, value in made.constants().items() if path.startswith("network.segments")}
    assert constants == {
        "network.segments.1.up_to": 8192,
        "network.segments.1.startup": 1.2e-6,
        "network.segments.1.per_byte": 1 / 4e9,
        "network.segments.2.up_to": 65536,
        "network.segments.2.startup": 3e-6,
        "network.segments.2.per_byte": 1 / 5e9,
        "network.segments.2.receive_overhead": 1e-6,
        "network.segments.3.startup": 8e-6,
        "network.segments.3.per_byte": 1e-10,
    }
    assert not {"network.startup", "network.per_byte"} & made.constants().keys()
    changed = made.with_constants(
        {"network.segments.2.up_to": 1e5, "network.segments.2.startup": np.array([1e-6, 2e-6])}
    )
    assert changed.network.message_model.segments[1].up_to_bytes == 1e5
    assert changed.network.message_model.segments[1].startup_s == pytest.approx([1e-6, 2e-6])
    assert changed.network.message_model.segments[0] == made.network.message_model.segments[0]


@pytest.mark.parametrize(
    "values",
    [
        {"network.segments.4.startup": 1e-6},
        {"network.segments.3.up_to": 1e6},
        {"network.segments.2.up_to": 100.0},
        {"network.segments.1.L": 1e-6},
        {"network.startup": 1e-6},
    ],
)
def test_constants_that_the_segments_have_not(values: dict[str, float]) -> None:
    with pytest.raises(InputError):
        described(f"segments: {THREE}").with_constants(values, Place())


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_messages_and_their_links_may_change_together(factor: float) -> None:
    made = described(f"segments: {THREE}\n  link_bandwidth: 10 GB/s")
    values = {"network.segments.3.per_byte": 1e-10 * factor, "network.segments.2.per_byte": 2e-10 * factor}
    values |= {"network.segments.1.per_byte": 2.5e-10 * factor, "network.link_per_byte": 1e-10 * factor}
    assert made.with_constants(values).network.link_occupancy_s_per_byte == 1e-10 * factor


def test_startup_and_bandwidth_together_take_the_place_of_segments() -> None:
    plain = described(f"segments: {THREE}").with_constants({"network.startup": 1e-6, "network.per_byte": 1e-9}).network
    model = plain.message_model
    assert (model.segments, model.startup_s, model.per_byte_s) == ((), 1e-6, 1e-9)


def test_segments_replace_what_an_extended_machine_has(tmp_path) -> None:
    path = tmp_path / "own.yaml"
    slow = "[{up_to: 1 kB, startup: 1 us, bandwidth: 1 GB/s}, {startup: 2 us, bandwidth: 2 GB/s}]"
    path.write_text(f"simcodesign: 1\nname: own\nextends: torus-cluster\nnetwork:\n  segments: {slow}\n", "utf-8")
    assert load_machine(path).network.message_model.segments == (
        HockneySegment(1000, 1e-6, 1e-9),
        HockneySegment(np.inf, 2e-6, 0.5e-9),
    )
