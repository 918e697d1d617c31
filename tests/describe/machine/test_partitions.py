"""Machines whose nodes differ: what files may state, and what both readings make of it, by hand."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import simcodesign as sc
from simcodesign.analytic.bounds import bounds_of
from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.engine.simulate import simulate
from simcodesign.report.machines.machine_sheet import machine_sheet
from tests.builders import read_machine, workload

ENGINES = pytest.mark.parametrize("engine", ["simpy", "compiled"])
#: Three nodes of two processors: two of 1 GFLOP/s and one of 4, which alone has accelerators, of 100 GFLOP/s.
PARTITIONS = """
partitions:
  - {name: cpu, nodes: 2}
  - name: gpu
    nodes: 1
    processor: {rate: 4 GFLOP/s, clock: 2 GHz, cpi: 1}
    memory: {latency: 10 ns, bandwidth: 40 GB/s}
    accelerator: {count: 2, rate: 100 GFLOP/s, launch: 1 ms, memory: {bandwidth: 1 TB/s}, link: {bandwidth: 20 GB/s}}
"""
MACHINE = """simcodesign: 1
name: two-kinds
nodes: 3
processors_per_node: 2
processor: {rate: 1 GFLOP/s, clock: 1 GHz, cpi: 2}
caches: {L1: {size: 32 KiB, ways: 8, latency: 4 cycles}}
memory: {latency: 100 ns, bandwidth: 10 GB/s, line: 64 B}
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}
"""


def machine(more: str = "", partitions: str = PARTITIONS) -> Machine:
    return read_machine(MACHINE + partitions + more)


def ends_s(program: str, on: Machine, engine: str = "compiled", ranks: int = 6) -> list[float]:
    """When each rank is done, without effects."""
    run = simulate(workload(program), on, {"P": ranks}, effects=(), engine=engine)
    assert run.ranks is not None
    return list(run.ranks.end_s.tolist())


def predicted_s(program: str, on: Machine, ranks: int = 6) -> float:
    return float(forecast(workload(program), on, {"P": ranks}).makespan_s)


@ENGINES
@pytest.mark.parametrize(
    ("demand", "cpu_s", "gpu_s"),
    [
        ("compute: {flops: 8e9}", 8.0, 2.0),
        ("compute: {instructions: 8e9}", 16.0, 4.0),  # 2 cycles at 1 GHz; 1 at 2 GHz
        ("compute: {seconds: 3}", 3.0, 3.0),
        ("memory: {accesses: 1e6, hits: {l1: 1}, blocking: 1}", 4e-3, 2e-3),  # 4 cycles
        ("memory: {accesses: 1e6, hits: {l1: 0}, blocking: 0}", 6.4e-3, 1.6e-3),
        ("memory: {accesses: 1e6, hits: {l1: 0}, blocking: 1}", 0.1, 0.01),
    ],
)
def test_ranks_take_the_time_of_their_own_node(demand: str, cpu_s: float, gpu_s: float, engine: str) -> None:
    """Ranks 0 to 3 on the first partition, 4 and 5 on the second."""
    on = machine()
    found = ends_s(f"- {demand}\n", on, engine)
    assert found == pytest.approx([cpu_s] * 4 + [gpu_s] * 2, rel=1e-12)
    assert predicted_s(f"- {demand}\n", on) == pytest.approx(max(cpu_s, gpu_s), rel=1e-12)


@ENGINES
def test_the_slowest_partition_determines_a_barrier(engine: str) -> None:
    """8 s of the slow ranks, then three rounds of 1 us among six ranks, whatever the fast ones have."""
    program, on = "- compute: {flops: 8e9}\n- barrier: {algorithm: dissemination}\n", machine()
    assert ends_s(program, on, engine) == pytest.approx([8.000003] * 6, rel=1e-12)
    assert predicted_s(program, on) == pytest.approx(8.000003, rel=1e-12)


@ENGINES
def test_only_some_nodes_have_accelerators(engine: str) -> None:
    """1 ms of launch and 1 s; 20 GB to it in 1 s."""
    program = (
        "- compute: {on: accelerator, flops: 100e9, when: rank >= 4}\n"
        "- copy: {to: accelerator, bytes: 20e9, when: rank >= 4}\n"
    )
    on = machine()
    assert ends_s(program, on, engine) == pytest.approx([0] * 4 + [2.001] * 2, rel=1e-12)
    assert predicted_s(program, on) == pytest.approx(2.001, rel=1e-12)
    everywhere = workload(program.replace("rank >= 4", "rank >= 3"))
    for reading in (forecast, simulate):
        with pytest.raises(InputError, match="rank 3 uses an accelerator"):
            reading(everywhere, on, {"P": 6})


def test_partitions_may_have_other_accelerators_than_the_machine() -> None:
    common = "accelerator: {count: 1, rate: 50 GFLOP/s, launch: 1 ms}\n"
    old = "accelerator: {count: 2, rate: 100 GFLOP/s, launch: 1 ms, memory: {bandwidth: 1 TB/s}, link: {bandwidth: 20 GB/s}}"
    on = machine(common, PARTITIONS.replace(old, "accelerator: {rate: 100 GFLOP/s}"))
    assert ends_s("- compute: {on: accelerator, flops: 100e9}\n", on) == pytest.approx([2.001] * 4 + [1.001] * 2)


@pytest.mark.parametrize("own", ["interference: 0.5", "memory: {capacity: 9 GB, reserved: 2 GB}"])
def test_what_is_alike_on_all_accelerators_is_refused_where_it_differs(own: str) -> None:
    common = "accelerator: {count: 1, rate: 50 GFLOP/s, interference: 0.25, memory: {capacity: 9 GB, reserved: 1 GB}}\n"
    old = "accelerator: {count: 2, rate: 100 GFLOP/s, launch: 1 ms, memory: {bandwidth: 1 TB/s}, link: {bandwidth: 20 GB/s}}"
    with pytest.raises(InputError, match="accelerators of partitions differ in their constants alone"):
        machine(common, PARTITIONS.replace(old, f"accelerator: {{{own}}}"))


@ENGINES
@pytest.mark.parametrize(
    ("mapping", "slow"),
    [
        ("{partitions: [gpu, cpu]}", [0, 0, 1, 1, 1, 1]),
        ("{partitions: {gpu: 1, cpu: 3}}", [0, 1, 1, 1]),
        ("{partitions: [gpu]}", [0, 0]),
        ("[2, 0, 2, 1]", [0, 1, 0, 1]),
        ("one_per_node", [1, 1, 0]),
    ],
)
def test_ranks_are_placed_on_partitions(mapping: str, slow: list[int], engine: str) -> None:
    on = machine(f"mapping: {mapping}\n")
    assert on.most_ranks == len(slow)
    expected = [8.0 if one else 2.0 for one in slow]
    assert ends_s("- compute: {flops: 8e9}\n", on, engine, len(slow)) == pytest.approx(expected, rel=1e-12)


RATES = st.lists(st.sampled_from([1.0, 2.0, 4.0, 5.0]), min_size=1, max_size=4)


@given(rates=RATES, nodes=st.integers(1, 3), work=st.integers(1, 9))
def test_both_readings_are_equal_without_effects(rates: list[float], nodes: int, work: int) -> None:
    """Work that grows by rank, then an operation that begins when the last has come: exact for any partitions."""
    kinds = "".join(
        f"  - {{name: p{k}, nodes: {nodes}, processor: {{rate: {rate}}}}}\n" for k, rate in enumerate(rates)
    )
    count = nodes * len(rates)
    on = read_machine(
        MACHINE.replace("nodes: 3", f"nodes: {count}").replace("1 GFLOP/s", "1") + "partitions:\n" + kinds
    )
    program = f"- compute: {{flops: {work}*(1 + rank)}}\n- barrier: {{algorithm: dissemination}}\n"
    rounds = int(np.ceil(np.log2(2 * count)))
    slowest = max(work * (1 + rank) / rates[rank // (2 * nodes)] for rank in range(2 * count))
    assert predicted_s(program, on, 2 * count) == pytest.approx(slowest + rounds * 1e-6, rel=1e-12)
    assert max(ends_s(program, on, ranks=2 * count)) == pytest.approx(slowest + rounds * 1e-6, rel=1e-12)


def test_equal_partitions_are_a_plain_machine() -> None:
    program = "- compute: {flops: 8e9*(1 + rank)}\n- allreduce: {bytes: 1000}\n"
    plain, equal = (
        machine(partitions=""),
        machine(partitions="partitions: [{name: a, nodes: 1}, {name: b, nodes: 2}]\n"),
    )
    assert ends_s(program, plain) == ends_s(program, equal)
    assert predicted_s(program, plain) == predicted_s(program, equal)


def test_all_effects_stay_within_the_bounds() -> None:
    program = workload(
        "- compute: {flops: 8e9}\n- memory: {accesses: 1e6, hits: {l1: 0}, blocking: 0}\n- allreduce: {bytes: 1e6}\n"
    )
    bounds = bounds_of(bind(program, machine(), {"P": 6}))
    assert bounds is not None
    time_s = float(simulate(program, machine(), {"P": 6}, effects="hops,links,interfaces,memory").makespan_s)
    assert max(bounds.lower_s.values()) <= time_s <= bounds.upper_s
    # Two cores of a slow node share its memory: 128 MB at 10 GB/s.
    assert bounds.lower_s["most loaded memory"] == pytest.approx(12.8e-3, rel=1e-12)


def test_constants_of_partitions_are_set_and_swept() -> None:
    """By ``partitions.NAME.PATH``; many values in one forecast."""
    on, path = machine(), "partitions.gpu.processor.rate"
    assert on.constants()[path] == 4e9
    program = workload("- compute: {flops: 8e9, when: rank >= 4}\n")
    rates = np.array([1e9, 2e9, 8e9])
    found = forecast(program, on, {"P": 6, path: rates}).makespan_s
    assert np.asarray(found).tolist() == [8.0, 4.0, 1.0]
    assert float(simulate(program, on, {"P": 6, path: 2e9}, effects=()).makespan_s) == 4.0
    # The machine's rate is that of the nodes which state no other.
    everywhere = workload("- compute: {flops: 8e9}\n")
    assert np.asarray(forecast(everywhere, on, {"P": 6, "processor.rate": rates}).makespan_s).tolist() == [8, 4, 2]


def test_a_partition_is_changed_by_its_name() -> None:
    """As in ``--set``: by the path of the file, also ``x2``; numbers from 1 on stand for the same."""
    network = {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"}
    kinds = [{"name": "cpu", "nodes": 1}, {"name": "gpu", "nodes": 1, "processor": {"rate": "4 GFLOP/s"}}]
    plain = {"name": "m", "nodes": 2, "processor": {"rate": 1e9}, "network": network, "partitions": kinds}
    for key in ("gpu", "2"):
        changed = Machine.load(plain, {f"partitions.{key}.processor.rate": "8 GFLOP/s"})
        assert changed.constants()["partitions.gpu.processor.rate"] == 8e9
    changed = Machine.load(plain, {"partitions.gpu.nodes": 3, "nodes": 4})
    assert [one.nodes for one in changed.partitions] == [1, 3]
    with pytest.raises(InputError, match="did you mean 'gpu'"):
        Machine.load(plain, {"partitions.gpus.nodes": 3})


def test_a_phase_replaces_constants_on_all_nodes() -> None:
    program = "- phase: fast\n  constants: {processor.rate: 8e9}\n  do:\n    - compute: {flops: 8e9}\n"
    assert ends_s(program, machine()) == [1.0] * 6
    assert predicted_s(program, machine()) == 1.0


def test_programs_in_python_compute_at_the_rate_of_their_node() -> None:
    @sc.program
    def work(rank: Any, size: Any) -> Any:
        yield sc.rank.compute(flops=8e9)
        yield sc.rank.world.barrier()

    ends = simulate(work, machine(), {"P": 6}, effects=()).ranks
    assert ends is not None
    assert ends.end_s.tolist() == pytest.approx([8.000003] * 6, rel=1e-12)
    assert float(forecast(work, machine(), {"P": 6}).makespan_s) == pytest.approx(8.000003, rel=1e-12)


def test_counters_are_of_one_clock() -> None:
    program = workload("- compute: {flops: 8e9}\n")
    with pytest.raises(InputError, match="all alike"):
        simulate(program, machine(), {"P": 6}, effects=(), counters=True)
    alike = machine(partitions=PARTITIONS.replace("rate: 4 GFLOP/s, clock: 2 GHz, cpi: 1", "clock: 1 GHz"))
    assert simulate(program, alike, {"P": 6}, effects=(), counters=True).counters is not None


def test_a_wavefront_over_nodes_that_differ_is_refused() -> None:
    program = workload("- wavefront: {grid: [2, 3], planes: 2, bytes: 8, compute: {flops: 8}}\n")
    for reading in (forecast, simulate):
        with pytest.raises(InputError, match="processors that are all alike"):
            reading(program, machine(), {"P": 6})


def test_the_peak_rate_is_the_sum_of_all_nodes_and_the_sheet_lists_partitions() -> None:
    on = machine("mapping: {partitions: {gpu: 2, cpu: 3}}\n")
    assert on.processors * on.mean_flop_per_s == 4 * 1e9 + 2 * 4e9
    console = Console(width=200, record=True, file=StringIO())
    console.print(*machine_sheet(on))
    text = " ".join(console.export_text().split())
    assert "nodes 0 to 1 2" in text
    assert "accelerators of a node none 2" in text
    assert "processor.rate 1 GFLOP/s 4 GFLOP/s" in text
    assert "ranks: 2 on gpu, 3 on cpu" in text


WRONG = [
    ("nodes: 2}", "nodes: 3}", "4", "3 in all"),
    ("name: cpu", "name: gpu", "gpu", "each name once"),
    ("name: cpu", "name: a.b", "a.b", "letters"),
    ("{rate: 4 GFLOP/s, clock: 2 GHz, cpi: 1}", "{rate: 4 GFLOP/s, dynamic_power: 4 W}", "dynamic_power", "rate"),
    ("{rate: 4 GFLOP/s, clock: 2 GHz, cpi: 1}", "{rate: 0}", "0", "above"),
    ("nodes: 1\n", "nodes: 1\n    network: {startup: 1 us}\n", "network", "interfaces"),
]


@pytest.mark.parametrize(("before", "after", "value", "allowed"), WRONG)
def test_partitions_that_cannot_be_are_refused(before: str, after: str, value: str, allowed: str) -> None:
    assert before in PARTITIONS
    with pytest.raises(InputError) as caught:
        machine(partitions=PARTITIONS.replace(before, after))
    assert value in str(caught.value)
    assert allowed in str(caught.value)
    assert "m.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("{partitions: [tpu]}", "gpu"),
        ("{partitions: [gpu, gpu]}", "once"),
        ("{partitions: {gpu: 3}}", "1 to 2"),
        ("{partitions: {tpu: 3}}", "no partition of this name"),
    ],
)
def test_mappings_onto_partitions_that_there_are_not_are_refused(mapping: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine(f"mapping: {mapping}\n")


def test_mappings_onto_partitions_need_some() -> None:
    for mapping in ("{partitions: []}", "{partitions: {}}"):
        with pytest.raises(InputError, match=r"mapping\.partitions: no rank is placed"):
            machine(f"mapping: {mapping}\n")
    with pytest.raises(InputError, match="which the machine has not"):
        machine("mapping: {partitions: [gpu]}\n", "")


def test_constants_that_the_machine_has_not_are_refused() -> None:
    without = MACHINE.replace(", clock: 1 GHz, cpi: 2", "").replace("4 cycles", "4 ns")
    with pytest.raises(InputError, match=r"partition gpu states processor\.clock"):
        read_machine(without + PARTITIONS)
    with pytest.raises(InputError, match="no partition of this name"):
        machine().with_constants({"partitions.tpu.processor.rate": 1.0})
    with pytest.raises(InputError, match="as the ranks need"):
        machine(partitions=PARTITIONS).load({**_plain(), "nodes": "P", "partitions": [{"name": "a", "nodes": 1}]})


def _plain() -> dict[str, object]:
    network = {"topology": {"kind": "crossbar"}, "startup": "1 us", "bandwidth": "1 GB/s"}
    return {"name": "pair", "nodes": 2, "processor": {"rate": 1e9}, "network": network}
