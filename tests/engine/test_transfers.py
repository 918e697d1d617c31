"""Bandwidths of caches: what moves between two levels, at once or in turn, by both readings and by hand."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.given_formulas.values import formula_values
from simcodesign.calibration.calibrate import calibrate
from simcodesign.calibration.timings import Timing
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import TRANSFERS, CacheLevel, Memory
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.report.machines.machine_sheet import machine_sheet
from simcodesign.studies.explore.models.machine_constants import constant_parameter, constants_of, without_bandwidths
from simcodesign.studies.requirements.scaled_machine import varied_machine
from tests import builders, examples
from tests.builders import network, read_machine

ROUNDING = 1e-12
NANO = 1e-9
#: Elements of a triad, of which no array fits in a cache.
N = 2**15
TRIAD = f"- memory: {{kernel: triad, sizes: {{n: {N}}}, blocking: 0}}"


def machine_file(transfers: str = "", l2: str = "16 B/cycle", clock: str = ", clock: 1 GHz") -> str:
    """32 and 16 bytes a cycle of 1 ns, 4 bytes a nanosecond from memory."""
    return f"""\
simcodesign: 1
name: two-levels
nodes: 2
processors_per_node: 2
processor: {{rate: 1 GFLOP/s{clock}}}
network: {{topology: {{kind: crossbar}}, startup: 0 s, bandwidth: 1 GB/s}}
caches:
  L1: {{size: 4 KiB, ways: 8, latency: 1 ns, bandwidth: 32 GB/s}}
  L2: {{size: 64 KiB, ways: 8, latency: 8 ns, bandwidth: {l2}}}
memory: {{latency: 64 ns, bandwidth: 4 GB/s{transfers}}}
"""


def machine(transfers: str = "", **more: str) -> Machine:
    return read_machine(machine_file(f", transfers: {transfers}" if transfers else "", **more))


#: Per element, in ns: two loads of 8 B to the core; three lines of 64 B for eight elements to L1, and as many to L2.
CORE, L1_L2, L2_MEMORY = 16 / 32, 24 / 16, 24 / 4


@pytest.mark.parametrize(
    ("transfers", "nanoseconds"),
    [("", max(CORE, L1_L2, L2_MEMORY)), ("overlap", L2_MEMORY), ("in_turn", CORE + L1_L2 + L2_MEMORY)],
)
@pytest.mark.parametrize("read", [forecast, simulate])
def test_a_triad_moves_its_lines_at_once_or_in_turn(read: Any, transfers: str, nanoseconds: float) -> None:
    more = {} if read is forecast else {"effects": "none"}
    result = read(builders.workload(TRIAD), machine(transfers), {"P": 1}, **more)
    assert result.makespan_s == pytest.approx(N * nanoseconds * NANO, rel=ROUNDING)


def test_a_slow_cache_is_what_counts_where_transfers_overlap() -> None:
    """Between L1 and L2 a byte takes a second; memory behind them takes next to nothing in comparison."""
    slow = machine().with_constants({"caches.L2.per_byte": 1.0})
    assert forecast(builders.workload(TRIAD), slow, {"P": 1}).makespan_s == pytest.approx(24.0 * N, rel=ROUNDING)


def test_lines_that_are_written_back_pass_the_same_way() -> None:
    """By hand: of every set of 8 ways, the last lines are a, c, b, a, c, b, a, c: 3 dirty ones, in 8 sets of L1 and 128
    of L2, stay; all others of a go back."""
    lines = N // 8
    core, inner = 16 * N / 32, 64 * (3 * lines + lines - 3 * 8) / 16
    outer = 64 * (3 * lines + lines - 3 * 128) / 4
    demand = builders.workload(TRIAD)
    for transfers, nanoseconds in (("in_turn", core + inner + outer), ("overlap", max(core, inner, outer))):
        result = simulate(demand, machine(transfers), {"P": 1}, effects="caches")
        assert result.makespan_s == pytest.approx(nanoseconds * NANO, rel=ROUNDING)


@pytest.mark.parametrize("effects", ["none", "memory"])
def test_what_comes_in_turn_leaves_the_controller_to_others(effects: str) -> None:
    """Two cores of a node: alone 8 ns an element, of which 6 at the controller. Together they need 12 at least, and
    wait for a slice of the other at first."""
    demand, described = builders.workload(TRIAD), machine("in_turn")
    total, controller = N * 8.0 * NANO, N * 6.0 * NANO
    result = simulate(demand, described, {"P": 2}, effects=effects)
    if effects == "none":
        assert result.makespan_s == pytest.approx(total, rel=ROUNDING)
    else:
        assert 2 * controller <= result.makespan_s <= 2 * total
        assert result.makespan_s <= 2 * controller + 2 * (total - controller) / 16 * (1 + ROUNDING)


per_byte = st.none() | st.just(0.0) | st.floats(1e-12, 1e-8)
demands = st.sampled_from(
    [
        "{kernel: triad, sizes: {n: 3000}, times: 2}",
        "{kernel: stencil, sizes: {n: 60, element_bytes: 4}, blocking: 0.01}",
        "{accesses: 1e6, stack_distance: [{fraction: 0.9, distance: 3}, {fraction: 0.05, distance: 600}], element: 64 B}",
        "{loads: 1e5, stores: 2e4, hits: {l1: 0.9, l2: 0.05}, blocking: 0}",
    ]
)


@settings(max_examples=examples(60))
@given(st.lists(per_byte, min_size=3, max_size=3), per_byte, demands, st.sampled_from(TRANSFERS), st.integers(0, 3))
def test_without_effects_the_simulation_is_the_forecast(
    of_caches: list[float | None], of_memory: float | None, demand: str, transfers: str, levels: int
) -> None:
    """With and without bandwidths, of any of the levels."""
    sizes = zip(("L1", "L2", "L3"), (4096, 65536, 2**20), of_caches, strict=True)
    caches = tuple(CacheLevel(name, size, NANO, 8, per_byte_s=each) for name, size, each in sizes)[:levels]
    memory = Memory(64 * NANO, of_memory or 0.0, caches, transfers=transfers)
    described = builders.machine(network(2), 1e9, processors_per_node=2, memory=memory)
    work = builders.workload(f"- memory: {demand}")
    forecasted, simulated = forecast(work, described, {"P": 3}), simulate(work, described, {"P": 3}, effects="none")
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=ROUNDING)
    assert simulated.served == pytest.approx(forecasted.served, rel=ROUNDING)
    bounds = forecast(work, described, {"P": 3}, bounds=True).bounds
    shared = simulate(work, described, {"P": 3}, effects="memory").makespan_s
    assert bounds is not None
    assert bounds.least_s(["memory"]) * (1 - ROUNDING) <= shared <= bounds.upper_s * (1 + ROUNDING)


# --- Keys, constants and names ----------------------------------------------------------------------------------


def test_bytes_per_cycle_follow_the_clock() -> None:
    """However the clock is changed; a bandwidth in bytes per second does not."""
    described = machine()
    assert described.constants()["caches.L2.per_byte"] == pytest.approx(1 / 16e9, rel=1e-15)
    faster = described.with_constants({"processor.clock": 2e9}).constants()
    assert faster["caches.L2.per_byte"] == pytest.approx(1 / 32e9, rel=1e-15)
    assert faster["caches.L1.per_byte"] == pytest.approx(1 / 32e9, rel=1e-15)
    arrays = described.with_constants({"processor.clock": np.array([1e9, 4e9])}).constants()
    assert arrays["caches.L2.per_byte"] == pytest.approx([1 / 16e9, 1 / 64e9], rel=1e-15)
    assert described.with_constants({"caches.L2.per_byte": 1.0, "processor.clock": 9e9}).constants()[
        "caches.L2.per_byte"
    ] == pytest.approx(1.0)


def test_a_map_over_bandwidths_is_single_points() -> None:
    work, described = builders.workload(TRIAD), machine("in_turn")
    values = np.array([1e-11, 1e-10, 1e-9])
    every = forecast(work, described, {"P": 1, "caches.L2.per_byte": values}).makespan_s
    expected = N * ((CORE + L2_MEMORY) * NANO + 24 * values)
    assert every == pytest.approx(expected, rel=ROUNDING)


def test_a_phase_replaces_it() -> None:
    text = f"- {{phase: slow, constants: {{caches.L2.per_byte: 1 s/B}}, do: [{TRIAD.removeprefix('- ')}]}}"
    readings: list[tuple[Any, dict[str, str]]] = [(forecast, {}), (simulate, {"effects": "none"})]
    for read, more in readings:
        result = read(builders.workload(text), machine(), {"P": 1}, **more)
        assert result.makespan_s == pytest.approx(24.0 * N, rel=ROUNDING)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("16 B/cycle", "16 B/cycles", "B/cycle"),
        ("16 B/cycle", "0 B/cycle", "above 0"),
        ("16 B/cycle", "16 kB/cycle", "B/cycle"),
        ("16 B/cycle", "0 B/s", "above 0"),
        ("bandwidth: 16 B/cycle", "bandwidth: 1 GB/s, per_byte: 1 ns/B", "given twice"),
        ("bandwidth: 16 B/cycle", "bandwith: 1 GB/s", "bandwidth"),
        (", clock: 1 GHz", "", "processor.clock"),
        ("4 GB/s", "4 GB/s, transfers: inturn", "in_turn"),
    ],
)
def test_machine_files_that_cannot_be(old: str, new: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        read_machine(machine_file().replace(old, new))
    assert "m.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [("caches.L3.per_byte", 1.0, "L1, L2"), ("caches.L2.per_byte", -1.0, "0 or above"), ("caches.L2.size", 1.0, "L2")],
)
def test_constants_that_cannot_be(path: str, value: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        forecast(builders.workload(TRIAD), machine(), {"P": 1, path: value})


def test_formulas_know_the_hierarchy_by_its_paths() -> None:
    """The triad in turn, written with the names of the machine file; and what caches are."""
    moved = f"{N}*(16 B/caches.L1.bandwidth + 24 B/caches.L2.bandwidth + 24 B*memory.per_byte)"
    checks = "(caches.L1.size == 4096)*(memory.line == 64)*(caches.L2.latency == 8e-9)*(memory.bandwidth > 3.9e9)*memory.in_turn"
    formula = f"({moved})*({checks})"
    result = compare(builders.workload(TRIAD), machine("in_turn"), {"P": 1}, formulas=formula).formulas[0]
    assert result.total_s == pytest.approx(8.0 * N * NANO, rel=ROUNDING)


def test_formulas_know_whether_transfers_come_in_turn() -> None:
    """The Execution-Cache-Memory model adds them up, so that it says nothing of a machine where they overlap."""
    said = {}
    for how in TRANSFERS:
        point = Scenario.of("stencil", load_machine("sandy-bridge", {"memory.transfers": how}), {"n": 20000}).bind()
        said[how] = formula_values(point.workload.formulas["ecm"], point)
    assert said["in_turn"].reason == ""
    assert np.isfinite(said["in_turn"].total_s)
    assert np.isnan(said["overlap"].total_s)
    assert "memory.in_turn" in said["overlap"].reason


def test_times_determine_the_bandwidth_of_a_cache() -> None:
    """In turn, times are linear in it; made with another value by hand."""
    work = builders.workload(
        "- memory: {kernel: triad, sizes: {n: n}, blocking: 0}", "parameters: {n: {default: 4096}}\n"
    )
    rows = [
        Timing(n * ((CORE + L2_MEMORY) * NANO + 24 * 3e-10), {"P": 1.0, "n": float(n)}) for n in (4096, 8192, 16384)
    ]
    calibration = calibrate(work, machine("in_turn"), rows, unknown=["caches.L2.per_byte"])
    assert calibration.fit.estimates[0].value == pytest.approx(3e-10, rel=1e-9)


def test_data_sheet() -> None:
    console = Console(width=120, record=True, file=StringIO())
    for part in machine_sheet(machine("in_turn")):
        console.print(part)
    shown = console.export_text()
    assert "16 GB/s (16 B/cycle)" in shown
    assert "32 GB/s" in shown
    assert "in turn" in shown


def test_studies_vary_it() -> None:
    """A bandwidth twice as large is half the time per byte, of both caches; a search sees it as a bandwidth too."""
    described = machine()
    assert varied_machine(described, "caches.bandwidth", 2.0).constants()["caches.L2.per_byte"] == pytest.approx(
        1 / 32e9, rel=1e-15
    )
    constants = constants_of(described)
    assert constants["caches.L2.bandwidth"] == pytest.approx(16e9, rel=1e-15)
    assert constant_parameter("caches.L2.bandwidth", 16e9, described)[1] == "bandwidth"
    assert without_bandwidths({"caches.L2.bandwidth": 4e9}, described) == pytest.approx({"caches.L2.per_byte": 0.25e-9})


# --- Lines written back by the stack model ------------------------------------------------------------------------


def associative(writebacks: bool, transfers: str = "in_turn") -> Machine:
    """Caches without sets, in which the stack model is the hierarchy itself."""
    caches = (
        CacheLevel("L1", 4096, NANO, per_byte_s=1 / 32e9),
        CacheLevel("L2", 65536, 8 * NANO, per_byte_s=1 / 16e9),
    )
    memory = Memory(64 * NANO, 1 / 4e9, caches, transfers=transfers, writebacks=writebacks)
    return builders.machine(network(2), 1e9, memory=memory)


@pytest.mark.parametrize("transfers", TRANSFERS)
@pytest.mark.parametrize(
    "kernel",
    ["stencil, sizes: {n: 200, sweeps: 2}", "fft, sizes: {n: 4096}", "blocked_matmul, sizes: {n: 96, b: 16}"],
)
def test_counted_by_distances_lines_go_back_as_they_do_in_the_hierarchy(kernel: str, transfers: str) -> None:
    """The second level of the simulated hierarchy sees only what the first one misses, so that it may keep others of
    the lines that it would keep by itself: hence a tolerance, of a few lines in a thousand."""
    work = builders.workload(f"- memory: {{kernel: {kernel}, blocking: 0}}")
    forecasted = forecast(work, associative(True, transfers), {"P": 1}).makespan_s
    simulated = simulate(work, associative(True, transfers), {"P": 1}, effects="caches").makespan_s
    assert forecasted == pytest.approx(simulated, rel=5e-3)
    if transfers == "in_turn":
        assert forecast(work, associative(False, transfers), {"P": 1}).makespan_s < 0.99 * simulated


def test_a_triad_in_a_cache_writes_nothing_to_memory() -> None:
    """By hand: 16 lines of each array, over and over; all 48 fit in L1, so that they come once and stay."""
    work = builders.workload("- memory: {kernel: triad, sizes: {n: 128, repeats: 10}, blocking: 0}")
    expected = 10 * 128 * 16 / 32 + 48 * 64 / 16 + 48 * 64 / 4
    assert forecast(work, associative(True), {"P": 1}).makespan_s == pytest.approx(expected * NANO, rel=ROUNDING)


def test_a_map_over_sizes_counts_them_at_each() -> None:
    work = builders.workload("- memory: {kernel: triad, sizes: {n: n}, blocking: 0}", "parameters: {n: 4096}\n")
    sizes = np.array([128.0, 4096.0, 20_000.0])
    every = forecast(work, associative(True), {"P": 1, "n": sizes}).makespan_s
    assert every == pytest.approx(
        [forecast(work, associative(True), {"P": 1, "n": n}).makespan_s for n in sizes], rel=ROUNDING
    )


def test_write_backs_are_asked_for_by_yes_or_no() -> None:
    described = read_machine(machine_file(", writebacks: true"))
    assert described.memory is not None
    assert described.memory.writebacks
    with pytest.raises(InputError, match=r"m\.yaml:.*false, true"):
        read_machine(machine_file(", writebacks: often"))
