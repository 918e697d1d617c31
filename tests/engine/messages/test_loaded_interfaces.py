"""Interfaces that several messages pass at less, or more, than the rate of a message alone: max-min shares of that."""

from __future__ import annotations

from pathlib import Path

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine

GB, MB, STARTUP_S = 1e9, 1e6, 1e-6
MACHINE = """simcodesign: 1
name: loaded
nodes: 2
processors_per_node: 4
processor: {{rate: 1 GFLOP/s}}
network:
  topology: {{kind: crossbar}}
  startup: 1 us
  bandwidth: 10 GB/s
  link_bandwidth: 1 TB/s
  sends: blocking
  sharing: max_min
  interfaces: {{{interfaces}}}
"""
PAIRS = """simcodesign: 1
name: pairs
parameters: {{m: {{default: 1 MB, unit: B}}}}
program:
  - send: {{to: rank + 4, bytes: "{bytes}", when: rank < {count}}}
  - receive: {{from: rank - 4, when: (rank >= 4)*(rank < 4 + {count})}}
"""
ALL_TO_ALL = """simcodesign: 1
name: all-to-all
parameters: {m: {default: 1 MB, unit: B}}
program: [{all_to_all: {bytes: m, algorithm: pairwise}}]
"""
ENGINES = ["simpy", "compiled"]


def machine(folder: Path, interfaces: str) -> Machine:
    (folder / "loaded.yaml").write_text(MACHINE.format(interfaces=interfaces))
    return sc.Machine.load(folder / "loaded.yaml")


def seconds(folder: Path, text: str, on: Machine, engine: str) -> float:
    (folder / "program.yaml").write_text(text)
    workload = sc.Workload.load(folder / "program.yaml")
    return float(sc.simulate(workload, on, effects=["interfaces"], engine=engine).makespan_s)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("interfaces", "rates"),
    [
        ("loaded_bandwidth: 6 GB/s", (10, 6, 6, 6)),
        ("bandwidth: 12 GB/s, loaded_bandwidth: 6 GB/s", (10, 6, 6, 6)),
        ("loaded_bandwidth: 25 GB/s", (10, 20, 25, 25)),  # a message alone does not fill the interface
        ("bandwidth: 12 GB/s", (10, 12, 12, 12)),
    ],
)
def test_messages_at_once_share_the_loaded_rate(
    tmp_path: Path, engine: str, interfaces: str, rates: tuple[int, ...]
) -> None:
    """The closed form of the max-rate model, startup + k m / R, of k messages that leave a node at once."""
    on = machine(tmp_path, interfaces)
    for count, rate in enumerate(rates, start=1):
        taken_s = seconds(tmp_path, PAIRS.format(count=count, bytes="m"), on, engine)
        assert taken_s == pytest.approx(STARTUP_S + count * MB / (rate * GB), rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_message_that_is_left_alone_goes_on_at_its_own_rate(tmp_path: Path, engine: str) -> None:
    """Of 1 MB and 2 MB at once: both at 3 GB/s until the first is over, then the rest at 10 GB/s."""
    text = PAIRS.format(count=2, bytes="m*(1 + rank)")
    taken_s = seconds(tmp_path, text, machine(tmp_path, "loaded_bandwidth: 6 GB/s"), engine)
    assert taken_s == pytest.approx(STARTUP_S + MB / (3 * GB) + MB / (10 * GB), rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_all_to_all_of_two_nodes_is_its_rounds_in_both_readings(tmp_path: Path, engine: str) -> None:
    """In rounds 1 to 7 so many messages leave each node: 1, 2, 3, 4, 3, 2, 1."""
    on = machine(tmp_path, "loaded_bandwidth: 6 GB/s")
    alone_s, shared_s = 2 * MB / (10 * GB), (2 + 3 + 4 + 3 + 2) * MB / (6 * GB)
    expected_s = 7 * STARTUP_S + alone_s + shared_s
    assert seconds(tmp_path, ALL_TO_ALL, on, engine) == pytest.approx(expected_s, rel=1e-9)
    forecast = sc.forecast(sc.Workload.load(tmp_path / "program.yaml"), on)
    assert forecast.loaded_s == pytest.approx(expected_s, rel=1e-12)
    assert forecast.makespan_s == pytest.approx(7 * (STARTUP_S + MB / (10 * GB)), rel=1e-12)


def test_it_is_a_constant(tmp_path: Path) -> None:
    on = machine(tmp_path, "loaded_bandwidth: 6 GB/s")
    faster = on.with_constants({"network.interfaces.loaded_per_byte": 1 / (8 * GB)})
    assert seconds(tmp_path, PAIRS.format(count=4, bytes="m"), faster, "compiled") == pytest.approx(
        STARTUP_S + MB / (2 * GB)
    )


def test_the_command_sets_it_either_way(tmp_path: Path) -> None:
    machine(tmp_path, "loaded_bandwidth: 6 GB/s")
    (tmp_path / "program.yaml").write_text(ALL_TO_ALL)
    workload = sc.Workload.load(tmp_path / "program.yaml")
    for path, value in (("loaded_bandwidth", "8 GB/s"), ("loaded_per_byte", "0.125 ns/B")):
        on = sc.Machine.load(tmp_path / "loaded.yaml", {f"network.interfaces.{path}": value})
        assert sc.forecast(workload, on).loaded_s == pytest.approx(7e-6 + 2e-4 + 14 * MB / (8 * GB), rel=1e-12)


@pytest.mark.parametrize(
    ("interfaces", "changes", "words"),
    [
        ("loaded_bandwidth: 6 GB/s, loaded_per_byte: 1 ns/B", {}, "given twice"),
        ("bandwidth: 12 GB/s, loaded_bandwidth: 13 GB/s", {}, "at most 12 GB/s"),
        ("loaded_bandwidth: 6 GB/s", {"sharing: max_min": "sharing: fcfs"}, "sharing: max_min"),
        ("loaded_bandwidth: 6 GB/s", {"sharing: max_min": "sharing: round_robin"}, "sharing: max_min"),
    ],
)
def test_bad_input(tmp_path: Path, interfaces: str, changes: dict[str, str], words: str) -> None:
    text = MACHINE.format(interfaces=interfaces)
    for old, new in changes.items():
        text = text.replace(old, new)
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        sc.Machine.load(tmp_path / "bad.yaml")
