"""Counters of simulations against numbers counted by hand, what must hold of any run, and models that are fitted to them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.simulation_parts import RANK_COUNTERS, RankCounters
from simcodesign.counters.frequency_refinement import refine_kernels
from simcodesign.counters.models import fit_application
from simcodesign.counters.prediction import predict
from simcodesign.counters.readers.formats import read_counters
from simcodesign.counters.readers.tidy_table import write_counters
from simcodesign.counters.table import APPLICATION, COUNTERS, OTHERS, CounterTable, Latencies, joined
from simcodesign.describe.demands.collective import ALGORITHMS, Collective
from simcodesign.describe.effects import effect_names
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import Block
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.simulate import simulate
from simcodesign.studies.extrapolation.virtual_profiler import counters_of, latencies_of, profiled
from tests import builders, examples
from tests.builders import read_machine

#: A clock whose products and quotients are exact, so that counters can be compared with whole numbers.
HZ = 2.0**31
CPI = 0.75
LEVELS = "caches: {L1: {size: 4 KiB, latency: 4 cycles}, L2: {size: 64 KiB, latency: 16 cycles}}"
ALL_LEVELS = ("l1_hits", "l2_hits", "llc_hits", "memory_accesses")
ROUNDING = 1e-12


def machine(
    clock: str = f"clock: {HZ}",
    cores: int = 1,
    caches: str = LEVELS,
    per_byte: str = "0",
    more: str = "",
    nodes: int = 64,
) -> Machine:
    text = (
        f"simcodesign: 1\nname: toy\nnodes: {nodes}\nprocessors_per_node: {cores}\n"
        f"processor: {{rate: 1 GFLOP/s, cpi: {CPI}{', ' if clock else ''}{clock}}}\n"
        "network: {topology: {kind: crossbar}, sends: blocking, startup: 1 us, per_byte: 1 ns/B, in_switch: {latency: 0}}\n"
        f"{caches}\nmemory: {{latency: 0.125, per_byte: {per_byte}}}\n"
        f"disk: {{read_startup: 1 ms, write_startup: 2 ms, per_byte: 1 ns/B}}\n{more}\n"
    )
    return read_machine(text)


def workload(*steps: str, more: str = "", parameters: str = "{}") -> Workload:
    return builders.workload("".join(f"  - {step}\n" for step in steps), f"{more}\nparameters: {parameters}\n")


def counters(work: Workload, on: Machine | None = None, P: int = 1, **options: object) -> RankCounters:
    options = {"effects": "none"} | options
    counted = simulate(work, on or machine(), {"P": P}, counters=True, **options).counters
    assert counted is not None
    return counted


def total(counted: RankCounters, name: str) -> float:
    return float(counted.of(name).sum())


# ---------------------------------------------------------------------------------------------------------------------
# By hand


def test_the_names_are_those_of_tables() -> None:
    assert tuple(COUNTERS) == RANK_COUNTERS


@given(st.integers(0, 2**40), st.integers(1, 64))
def test_instructions_of_a_computation(instructions: int, eighths: int) -> None:
    """N instructions take N CPI cycles, with no rounding on this clock, however late in the run they are."""
    on = machine().with_constants({"processor.cpi": eighths / 8})
    counted = counters(
        workload("compute: {seconds: 0.3}", f"phase: a\n    do: [compute: {{instructions: {instructions}}}]"), on
    )
    assert counted.of("instructions")[0, 1] == instructions
    assert counted.of("cycles")[0, 1] == instructions * eighths / 8
    assert counted.of("stall_cycles")[0, 1] == counted.of("loads_stores")[0, 1] == 0
    assert counted.frequency_hz.tolist() == [HZ, HZ]


@pytest.mark.parametrize(
    ("demand", "seconds"),
    [("seconds: 0.5", 0.5), ("flops: 25e7", 0.25), ("loops: [{range: 1000, operations: 500e3}]", 0.5)],
)
def test_instructions_that_a_processor_retires_in_a_time(demand: str, seconds: float) -> None:
    counted = counters(workload(f"phase: a\n    repeat: 3\n    do: [compute: {{{demand}}}]"))
    assert total(counted, "cycles") == pytest.approx(3 * seconds * HZ, rel=ROUNDING)
    assert total(counted, "instructions") == pytest.approx(3 * seconds * HZ / CPI, rel=ROUNDING)


def test_computations_of_some_ranks_and_with_rank() -> None:
    work = workload("compute: {instructions: 100*(rank + 1)}", "compute: {instructions: 7, when: rank == 2}")
    assert counters(work, P=4).of("instructions")[:, 0].tolist() == [100, 200, 307, 400]


SHARES = "stack_distance: [{fraction: 0.5, distance: 8}, {fraction: 0.25, distance: 1000}], element: 8 B"


def test_a_memory_demand_with_known_shares() -> None:
    """Half of 1024 accesses in L1, a quarter in the last cache, a quarter in memory, of which a half is waited for."""
    work = workload(f"phase: a\n    repeat: 2\n    do: [memory: {{accesses: 1024, {SHARES}, blocking: 0.5}}]")
    counted = counters(work)
    assert [total(counted, name) for name in ALL_LEVELS] == [1024, 0, 512, 512]
    assert total(counted, "loads_stores") == 2048
    stalls = 0.5 * (1024 * 4 + 512 * 16 + 512 * 0.125 * HZ)
    assert total(counted, "stall_cycles") == total(counted, "cycles") == pytest.approx(stalls, rel=ROUNDING)
    assert total(counted, "instructions") == 0


SIZES_KIB = (4, 16, 64, 256)


@pytest.mark.parametrize("count", range(5))
def test_levels_by_the_number_of_caches(count: int) -> None:
    """Distances that each level alone serves; a cache alone is the first one, what lies between is the second."""
    levels = ", ".join(f"C{kib}: {{size: {kib} KiB, latency: 4 cycles}}" for kib in SIZES_KIB[:count])
    on = machine(caches=f"caches: {{{levels}}}" if levels else "")
    pairs = ", ".join(f"{{fraction: 0.125, distance: {kib * 128 - 1}}}" for kib in SIZES_KIB[:count])
    pairs = pairs or "{fraction: 0, distance: 1}"
    counted = counters(workload(f"memory: {{accesses: 800, stack_distance: [{pairs}]}}"), on)
    expected = {0: [0, 0, 0], 1: [100, 0, 0], 2: [100, 0, 100], 3: [100, 100, 100], 4: [100, 200, 100]}[count]
    assert [total(counted, name) for name in ALL_LEVELS] == [*expected, 800 - 100 * count]


def test_stalls_grow_by_what_is_waited_for_at_the_controller() -> None:
    work = workload("compute: {instructions: 1000*rank}", f"memory: {{accesses: 4096, {SHARES}}}")
    on = machine(cores=4, per_byte="2e-3")
    alone = counters(work, on, 8)
    shared = simulate(work, on, {"P": 8}, effects="memory", counters=True)
    waited_s = sum(station.wait_s for station in shared.stations)
    assert waited_s > 0
    assert shared.counters is not None
    more = total(shared.counters, "stall_cycles") - total(alone, "stall_cycles")
    assert more / HZ == pytest.approx(waited_s, rel=1e-9)
    assert total(shared.counters, "instructions") == total(alone, "instructions")


def test_caches_count_what_their_sets_serve() -> None:
    work = workload("memory: {kernel: matmul, sizes: {n: 24}, times: 2 + rank}")
    result = simulate(work, machine(), {"P": 3}, effects="caches", counters=True)
    assert result.counters is not None
    assert set(result.hit_methods.values()) == {"sets"}
    names = {"L1": "l1_hits", "L2": "llc_hits", "memory": "memory_accesses"}
    sums = {level: total(result.counters, name) for level, name in names.items()}
    assert sums == pytest.approx(dict(result.served), rel=ROUNDING)
    loads = result.counters.of("loads_stores")[:, 0]
    assert loads / loads[0] == pytest.approx([1, 1.5, 2], rel=ROUNDING)


@pytest.mark.parametrize(
    ("exchange", "P", "messages", "sent"),
    [
        ("pattern: halo1d, bytes: 100", 4, [2, 2, 2, 2], 200),
        ("pattern: halo1d, bytes: 100, periodic: false", 4, [1, 2, 2, 1], 100),
        ("pattern: halo2d, bytes: [10, 20], grid: [2, 3]", 6, [4] * 6, 60),
        ("pattern: halo2d, bytes: [10, 20], grid: [2, 3], periodic: false", 6, [2, 3, 2, 2, 3, 2], 30),
        ("pattern: halo1d, bytes: 100, messages: 7, train: 3", 2, [14, 14], 1400),
    ],
)
def test_messages_of_an_exchange(exchange: str, P: int, messages: list[int], sent: float) -> None:
    """``sent``: bytes of rank 0."""
    counted = counters(workload(f"phase: a\n    repeat: 5\n    do: [exchange: {{{exchange}}}]"), P=P)
    assert counted.of("messages")[:, 0].tolist() == [5 * count for count in messages]
    assert counted.of("message_bytes")[0, 0] == 5 * sent
    assert total(counted, "collectives") == total(counted, "collective_wait_s") == 0


def test_sends_and_receives() -> None:
    work = workload("send: {to: 1, bytes: 1000, when: rank == 0}", "receive: {from: 0, when: rank == 1}")
    counted = counters(work, P=3)
    assert counted.of("messages")[:, 0].tolist() == [1, 0, 0]
    assert counted.of("message_bytes")[:, 0].tolist() == [1000, 0, 0]
    assert counted.of("p2p_wait_s")[:, 0] == pytest.approx([2e-6, 2e-6, 0], rel=ROUNDING)


EVERY = [(name, algorithm) for name, algorithms in ALGORITHMS.items() for algorithm in algorithms]


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
def test_a_collective_is_counted_by_calls(name: str, algorithm: str) -> None:
    """Its messages are all those of the run, and none of them is one from point to point."""
    size = "" if name == "barrier" else "bytes: 24, "
    work = workload(f"phase: a\n    repeat: 3\n    do: [{name}: {{{size}algorithm: {algorithm}}}]")
    for P in (1, 2, 5, 8):
        result = simulate(work, machine(), {"P": P}, effects="none", counters=True)
        counted = result.counters
        assert counted is not None
        assert result.ranks is not None
        assert counted.of("collectives")[:, 0].tolist() == [3] * P
        assert counted.of("collective_bytes")[:, 0].tolist() == [0 if name == "barrier" else 72] * P
        assert counted.of("collective_wait_s")[:, 0] == pytest.approx(result.ranks.busy_s[:, 0, 1], rel=ROUNDING)
        assert total(counted, "messages") == total(counted, "p2p_wait_s") == 0


def test_disks_are_in_the_time_alone() -> None:
    counted = counters(workload("write: {bytes: 1000, times: 2}", "read: {bytes: 0}"))
    assert total(counted, "time_s") == pytest.approx(2 * (2e-3 + 1e-6) + 1e-3, rel=ROUNDING)
    assert all(total(counted, name) == 0 for name in RANK_COUNTERS if name != "time_s")


def test_a_phase_with_a_clock_and_a_cpi_of_its_own() -> None:
    """The same instructions in each: on another clock as many cycles, on another CPI more of them."""
    body = f"do: [compute: {{instructions: 4096}}, memory: {{accesses: 64, {SHARES}}}]"
    work = workload(
        f"phase: a\n    {body}",
        f"phase: slow\n    constants: {{processor.clock: {HZ / 4}}}\n    {body}",
        f"phase: stalled\n    constants: {{processor.cpi: 2}}\n    {body}",
        f"phase: both\n    do:\n      - {{constants: {{processor.clock: {HZ / 4}}}, {body}}}\n      - {{{body}}}",
    )
    counted = counters(work)
    core = counted.of("cycles")[0] - counted.of("stall_cycles")[0]
    assert core.tolist() == [4096 * CPI, 4096 * CPI, 8192, 8192 * CPI]
    assert counted.of("instructions")[0].tolist() == [4096, 4096, 4096, 8192]
    caches, memory = 32 * 4 + 16 * 16, 16 * 0.125 * HZ
    stalls = [caches + memory, caches + memory / 4, caches + memory, 2 * caches + memory * 5 / 4]
    assert counted.of("stall_cycles")[0] == pytest.approx(stalls, rel=ROUNDING)
    assert counted.frequency_hz[:3].tolist() == [HZ, HZ / 4, HZ]
    assert math.isnan(counted.frequency_hz[3])


@settings(max_examples=examples(25))
@given(st.floats(1e8, 1e10), st.floats(1e8, 1e10))
def test_two_clocks(first: float, second: float) -> None:
    """Instructions and cycles of computations and caches stay, and memory keeps its seconds."""
    work = workload("compute: {instructions: 12345}", f"phase: m\n    do: [memory: {{accesses: 64, {SHARES}}}]")
    one, two = (counters(work, machine().with_constants({"processor.clock": hz})) for hz in (first, second))
    assert one.of("instructions").tolist() == two.of("instructions").tolist()
    for hz, counted in ((first, one), (second, two)):
        assert counted.of("cycles")[0, 0] == pytest.approx(12345 * CPI, rel=ROUNDING)
        caches_s = (32 * 4 + 16 * 16) / hz
        assert counted.of("stall_cycles")[0, 1] / hz - caches_s == pytest.approx(16 * 0.125, rel=ROUNDING)


def test_imbalance_changes_the_work_and_noise_the_cycles() -> None:
    work = workload("phase: a\n    repeat: 4\n    do: [compute: {instructions: 1e6}]", more="imbalance: 30 %")
    noisy = machine(more="noise: 20 %")
    plain, uneven, noise = (counters(work, noisy, 16, effects=name).of for name in ("none", "imbalance", "noise"))
    assert uneven("cycles") / uneven("instructions") == pytest.approx(CPI, rel=ROUNDING)
    assert np.ptp(uneven("instructions")) > 0.1 * uneven("instructions").mean()
    assert noise("instructions").tolist() == plain("instructions").tolist()
    assert np.ptp(noise("cycles")) > 0.01 * noise("cycles").mean()


def test_without_a_clock() -> None:
    on = machine("", caches="")
    counted = counters(workload("compute: {seconds: 1}", f"memory: {{accesses: 4, {SHARES}}}", "barrier: {}"), on, 2)
    for name in ("instructions", "cycles", "stall_cycles"):
        assert np.isnan(counted.of(name)).all()
    assert np.isnan(counted.frequency_hz).all()
    assert total(counted, "memory_accesses") == 8
    assert counted.of("time_s")[0, 0] == pytest.approx(1 + 0.5 + 2 * 1e-6 / 2, rel=1e-5)
    with pytest.raises(InputError, match=r"instructions needs processor\.clock"):
        counters(workload("compute: {instructions: 1}"), on)


def test_a_schedule(tmp_path: Path) -> None:
    """Calcs are times in ns; what waits for its processor does not run."""
    path = tmp_path / "run.goal"
    path.write_text(
        "num_ranks 2\nrank 0 {\na: calc 1000\nb: calc 3000\nc: send 8b to 1 tag 1\nc requires b\n}\n"
        "rank 1 {\nr: recv 8b from 0 tag 1\n}\n"
    )
    counted = counters(load_workload(path), P=2)
    assert counted.of("cycles")[:, 0] == pytest.approx([4e-6 * HZ, 0], rel=ROUNDING)
    assert counted.of("instructions")[:, 0] == pytest.approx([4e-6 * HZ / CPI, 0], rel=ROUNDING)
    assert counted.of("messages")[:, 0].tolist() == [1, 0]
    assert total(counted, "message_bytes") == 8
    assert total(counted, "p2p_wait_s") > 0
    assert total(counted, "collective_wait_s") == 0
    noisy = counters(load_workload(path), machine(more="noise: 20 %"), 2, effects="noise")
    assert noisy.of("instructions").tolist() == counted.of("instructions").tolist()
    assert noisy.of("cycles")[0, 0] != counted.of("cycles")[0, 0]


def test_no_counters_unless_asked_for() -> None:
    result = simulate(workload("barrier: {}"), machine(), {"P": 2})
    assert result.counters is None
    with pytest.raises(InputError, match="Result without counters"):
        counters_of(result)


def test_an_unknown_counter() -> None:
    with pytest.raises(InputError, match="did you mean 'messages'"):
        counters(workload("barrier: {}")).of("mesages")


# ---------------------------------------------------------------------------------------------------------------------
# What must hold of any run

STEPS = (
    "compute: {{instructions: '1e6*(1 + rank % 3)'}}",
    "compute: {{flops: 7e6, when: rank > 0}}",
    "compute: {{seconds: 2e-3}}",
    "memory: {{accesses: 1e3*(1 + rank), " + SHARES.replace("{", "{{").replace("}", "}}") + ", blocking: 1e-6}}",
    "memory: {{kernel: triad, sizes: {{n: 600}}, blocking: 1e-6, when: rank % 2 == 0}}",
    "write: {{bytes: 1000, when: rank % 2 == 0}}",
    "allreduce: {{bytes: 1000}}",
    "broadcast: {{bytes: 64}}",
    "all_to_all: {{bytes: 10}}",
    "barrier: {{}}",
    "exchange: {{pattern: halo2d, bytes: [100, 30], messages: 3, train: 2}}",
    "phase: {phase}\n    repeat: 3\n    constants: {{processor.clock: 1e9}}\n    do: [{{compute: {{instructions: 1e5}}}}, "
    "{{send: {{to: (rank + 1) % P, bytes: 50, tag: 1}}}}, {{receive: {{from: (rank - 1) % P, tag: 1}}}}, {{barrier: {{}}}}]",
    "phase: {phase}\n    do: [{{compute: {{seconds: 1e-3*(rank == 1)}}}}, {{allgather: {{bytes: 8}}}}]",
)
PROGRAMS = st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(["one", "two"])), min_size=1, max_size=8).map(
    lambda steps: workload(*(step.format(phase=phase) for step, phase in steps), more="imbalance: 20 %")
)
MACHINES = st.builds(
    lambda cores, per_byte: machine(cores=cores, per_byte=per_byte, more="noise: 10 %", nodes=8),
    st.integers(1, 3),
    st.sampled_from(["0", "1e-7"]),
)
SWITCHES = st.one_of(st.just(effect_names()), st.sets(st.sampled_from(effect_names())).map(tuple))


def only_collectives(program: tuple[object, ...]) -> tuple[object, ...]:
    kept = (replace(step, body=only_collectives(step.body)) if isinstance(step, Block) else step for step in program)
    return tuple(step for step in kept if isinstance(step, Collective) or (isinstance(step, Block) and step.body))


@settings(max_examples=examples(40))
@given(PROGRAMS, MACHINES, SWITCHES, st.integers(2, 7))
def test_any_run_adds_up(work: Workload, on: Machine, effects: tuple[str, ...], P: int) -> None:
    result = simulate(work, on, {"P": P}, effects=effects, counters=True)
    counted, ranks = result.counters, result.ranks
    assert counted is not None
    assert ranks is not None
    assert counted.phases == ranks.phases
    of = counted.of
    assert (counted.values >= 0).all()
    assert of("time_s") == pytest.approx(ranks.busy_s.sum(axis=2), rel=1e-9, abs=1e-14)
    assert of("p2p_wait_s") + of("collective_wait_s") == pytest.approx(ranks.busy_s[..., 1], rel=1e-9, abs=1e-14)
    clocks = counted.frequency_hz
    parts = of("cycles") / clocks + of("p2p_wait_s") + of("collective_wait_s") + ranks.busy_s[..., 2]
    known = ~np.isnan(clocks)
    assert of("time_s")[:, known] == pytest.approx(parts[:, known], rel=1e-9, abs=1e-14)
    assert (of("stall_cycles") / clocks)[:, known] == pytest.approx(ranks.busy_s[:, known, 3], rel=1e-9, abs=1e-14)
    names = {"L1": "l1_hits", "L2": "llc_hits", "memory": "memory_accesses"}
    served = {level: total(counted, name) for level, name in names.items()}
    assert served == pytest.approx(dict(result.served) or dict.fromkeys(served, 0.0), rel=ROUNDING)
    assert total(counted, "loads_stores") == pytest.approx(sum(served.values()), rel=ROUNDING)
    program = only_collectives(work.program)
    alone = simulate(replace(work, program=program), on, {"P": P}, effects="none") if program else None
    assert total(counted, "messages") + (alone.messages if alone else 0) == result.messages
    sent = total(counted, "message_bytes") + (alone.message_bytes if alone else 0)
    assert sent == pytest.approx(result.message_bytes, rel=ROUNDING)


@settings(max_examples=examples(25))
@given(PROGRAMS, MACHINES, SWITCHES, st.integers(2, 7))
@pytest.mark.thorough
def test_counting_changes_nothing_and_engines_agree(
    work: Workload, on: Machine, effects: tuple[str, ...], P: int
) -> None:
    plain = simulate(work, on, {"P": P}, effects=effects, engine="simpy")
    runs = [
        simulate(work, on, {"P": P}, effects=effects, engine=engine, counters=True) for engine in ("simpy", "compiled")
    ]
    assert runs[0].makespan_s == plain.makespan_s
    assert runs[0].phases == plain.phases
    for run in runs[1:]:
        assert run.counters.values.tobytes() == runs[0].counters.values.tobytes()


@settings(max_examples=examples(25))
@given(st.lists(st.sampled_from([step for step in STEPS if "instructions" in step]), min_size=1, max_size=4))
def test_instructions_add_up_to_those_of_the_result(steps: list[str]) -> None:
    result = simulate(
        workload(*(step.format(phase="one") for step in steps)), machine(), {"P": 5}, effects="none", counters=True
    )
    assert total(result.counters, "instructions") == pytest.approx(result.instructions, rel=ROUNDING)


# ---------------------------------------------------------------------------------------------------------------------
# Tables

SIZED = workload(
    "phase: a\n    do: [compute: {instructions: n/P}]",
    "phase: b\n    do: [compute: {instructions: n}, barrier: {}]",
    more="size: 2*n",
    parameters="{n: {default: 1000}}",
)


def test_a_row_for_every_phase_and_rank_and_for_the_application() -> None:
    result = simulate(SIZED, machine(), {"P": 3}, counters=True)
    table = counters_of(result, repetition=7, problem_class="C")
    assert table.kernels == ("a",) * 3 + ("b",) * 3 + (APPLICATION,) * 3
    assert set(table.classes) == {"C"}
    assert table.column("rank").tolist() == [0, 1, 2] * 3
    for name, value in (("processes", 3), ("size", 2000), ("repetition", 7), ("frequency_hz", HZ)):
        assert (table.column(name) == value).all()
    assert (table.of("a").column("instructions") == 1000 / 3).all()
    whole = table.of(APPLICATION)
    assert (whole.column("time_s") == result.makespan_s).all()
    assert all(np.isnan(whole.column(name)).all() for name in COUNTERS if name != "time_s")
    assert (counters_of(result, size=5).column("size") == 5).all()


def test_a_table_goes_through_a_file(tmp_path: Path) -> None:
    table = counters_of(simulate(SIZED, machine(), {"P": 3}, counters=True), repetition=0)
    write_counters(tmp_path / "run.csv", table)
    again = read_counters(tmp_path / "run.csv")
    assert again.kernels == table.kernels
    assert np.array_equal(again.values, table.values, equal_nan=True)


def test_names_that_tables_use() -> None:
    result = simulate(workload(f"phase: {APPLICATION}\n    do: [barrier: {{}}]"), machine(), {"P": 2}, counters=True)
    with pytest.raises(InputError, match="a name that tables of counters use"):
        counters_of(result)


def test_latencies_of_a_machine() -> None:
    on = machine(
        caches="caches: {A: {size: 4 KiB, latency: 4 cycles}, B: {size: 8 KiB, latency: 10 cycles},"
        " C: {size: 16 KiB, latency: 20 cycles}, D: {size: 32 KiB, latency: 1 ns}}"
    )
    assert latencies_of(on) == Latencies(4.0, 15.0, 1e-9 * HZ, 0.125)
    assert latencies_of(machine()) == Latencies(4.0, 0.0, 16.0, 0.125)
    assert latencies_of(machine(caches="")) == Latencies(0.0, 0.0, 0.0, 0.125)
    with pytest.raises(InputError, match=r"latencies of caches in cycles need processor\.clock"):
        latencies_of(machine("", caches="caches: {A: {size: 4 KiB, latency: 1 ns}}"))
    with pytest.raises(InputError, match="has no memory"):
        latencies_of("mesh-256")


def test_series_of_runs() -> None:
    on = machine(more="noise: 10 %")
    table = profiled(SIZED, on, [1, 2, 4], {"n": 500}, seeds=[3, 5])
    assert len(table) == 3 * 2 * (1 + 2 + 4)
    assert sorted(set(zip(table.column("processes"), table.column("repetition"), strict=True))) == [
        (P, seed) for P in (1, 2, 4) for seed in (3, 5)
    ]
    one = counters_of(simulate(SIZED, on, {"P": 2, "n": 500}, seed=5, counters=True), repetition=5)
    mine = table.rows((table.column("processes") == 2) & (table.column("repetition") == 5))
    assert np.array_equal(mine.values, one.values, equal_nan=True)
    weak = profiled(SIZED, on, [1, 2, 4], of_run=lambda P: {"n": 100 * P})
    assert (weak.column("size") / weak.column("processes") == 200).all()


@pytest.mark.parametrize(("processes", "seeds"), [([], [0]), ([2, 2], [0]), ([2], []), ([2], [1, 1])])
def test_series_that_cannot_be(processes: list[int], seeds: list[int]) -> None:
    with pytest.raises(InputError, match="each once"):
        profiled(SIZED, machine(), processes, seeds=seeds)


# ---------------------------------------------------------------------------------------------------------------------
# Through the models of counters

SOLVER = workload(
    "phase: assemble\n    do: [compute: {instructions: 100*n/P}, memory: {accesses: 30*n/P, blocking: 0.3, "
    "stack_distance: [{fraction: 0.9, distance: 10}, {fraction: 0.1, distance: 1000}]}]",
    "phase: solve\n    repeat: 3\n    do: [compute: {instructions: 400*n/P + 5000}, "
    "exchange: {pattern: halo1d, bytes: 8*n/P}, allreduce: {bytes: 8}]",
    more="size: n",
    parameters="{n: {default: 1e7}}",
)


def test_three_runs_predict_the_others() -> None:
    """Every part of this program is one of the simple forms over powers of two, so that the models are exact."""
    on = machine()
    model = fit_application(profiled(SOLVER, on, [2, 4, 8], effects="none"), latencies=latencies_of(on))
    assert not model.identified.non_scaling
    assert model.scaling.known
    for P in (2, 16, 64):
        truth = simulate(SOLVER, on, {"P": P}, effects="none")
        prediction = predict(model, P)
        assert prediction.seconds == pytest.approx(truth.makespan_s, rel=1e-9)
        parts = truth.components
        assert prediction.breakdown.compute_s == pytest.approx(parts["computation"], rel=1e-9)
        assert prediction.breakdown.memory_s == pytest.approx(parts["memory"], rel=1e-9)
        assert prediction.breakdown.communication_s == pytest.approx(parts["communication"], rel=1e-6)
    kernel = next(kernel for kernel in prediction.breakdown.kernels if kernel.name == "assemble")
    assert kernel.blocking_factor == pytest.approx(0.3, rel=1e-9)


def test_a_larger_problem_on_as_much_work_of_a_process() -> None:
    """The halo of a row of processes grows with n/P."""
    on = machine()
    model = fit_application(profiled(SOLVER, on, [2, 4, 8], effects="none"), latencies=latencies_of(on))
    truth = simulate(SOLVER, on, {"P": 32, "n": 8e7}, effects="none").makespan_s
    assert predict(model, 32, 8e7, volume=8.0).seconds == pytest.approx(truth, rel=1e-9)


def test_time_on_disks_is_neither_computation_nor_communication() -> None:
    """Each process writes its share, so that its time is a/P + b, as are those of computation."""
    work = workload(
        "phase: solve\n    do: [compute: {instructions: 400*n/P}, allreduce: {bytes: 8}, write: {bytes: n/P}]",
        parameters="{n: {default: 1e7}}",
    )
    on = machine()
    table = profiled(work, on, [2, 4, 8], effects="none")
    assert table.of(OTHERS).column("time_s") == pytest.approx(
        2e-3 + 1e-2 / table.of(OTHERS).column("processes"), rel=ROUNDING
    )
    assert table.of("solve").column("time_s") == pytest.approx(table.of(APPLICATION).column("time_s"), rel=ROUNDING)
    breakdown = predict(fit_application(table), 64).breakdown
    truth = simulate(work, on, {"P": 64}, effects="none")
    assert breakdown.others_s == pytest.approx(truth.components["disk"], rel=1e-9)
    assert breakdown.communication_s == pytest.approx(truth.components["communication"], rel=1e-6)
    assert breakdown.seconds == pytest.approx(truth.makespan_s, rel=1e-9)


def test_time_on_disks_without_a_clock_is_that_of_the_kernel() -> None:
    table = profiled(workload("compute: {seconds: 1}", "write: {bytes: 0}"), machine("", caches=""), [1, 2])
    assert set(table.kernels) == {"main", APPLICATION}
    assert table.of("main").column("time_s") == pytest.approx([1.002] * 3, rel=ROUNDING)


def test_a_shipped_workload() -> None:
    on = load_machine("torus-cluster")
    table = profiled("jacobi", on, [4, 16, 64], phases=["sweep"], effects="none")
    model = fit_application(table)
    truth = simulate("jacobi", on, {"P": 256}, phases=["sweep"], effects="none").components
    assert predict(model, 256).breakdown.compute_s == pytest.approx(truth["computation"], rel=1e-9)


def test_two_clocks_tell_the_blocking_factor() -> None:
    """Equation 5 holds for the simulated processor, whose caches keep their cycles and whose memory its seconds."""
    work = workload("compute: {instructions: 1e6}", f"memory: {{accesses: 1e5, {SHARES}, blocking: 0.2}}")
    tables = [profiled(work, machine().with_constants({"processor.clock": hz}), [1]) for hz in (2e9, 3e9)]
    main = refine_kernels(joined(tables), latencies_of(machine()))["main"]
    assert (main.cpi_core, main.blocking_factor) == pytest.approx((CPI, 0.2), rel=1e-6)


def test_the_public_name() -> None:
    table = profiled("jacobi", "torus-cluster", [1, 2], {"n": 64})
    assert isinstance(table, CounterTable)
    assert set(table.kernels) == {"sweep", "checkpoint", OTHERS, APPLICATION}
