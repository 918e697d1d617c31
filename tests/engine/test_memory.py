"""Memory demands: what caches serve and how long it takes, by both readings, alone and with a shared controller."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.errors import CapacityError, InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import CacheLevel, Memory
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_machine
from simcodesign.engine.simulate import simulate
from simcodesign.generate.demands.memory_accesses import SLICES
from simcodesign.locality.hierarchy.simulate import simulate_hierarchy
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.streams.kernels import kernel_trace
from simcodesign.report.timelines.chrome_trace import write_chrome_trace
from tests import builders, examples
from tests.builders import network, read_workload

ROUNDING = 1e-12
L1_S, L2_S, MEMORY_S, BYTE_S = 1e-9, 8e-9, 64e-9, 2e-10
CACHES = (CacheLevel("L1", 4096, L1_S, 8), CacheLevel("L2", 65536, L2_S, 8))


def machine(
    cores: int = 1, per_byte_s: float = BYTE_S, hits: str = "auto", caches: tuple[CacheLevel, ...] = CACHES
) -> Machine:
    memory = Memory(MEMORY_S, per_byte_s, caches, hits=hits)
    return builders.machine(network(2), 1e9, processors_per_node=cores, memory=memory)


def workload(demand: str, parameters: str = "{}") -> Workload:
    return builders.workload(f"- memory: {demand}", f"parameters: {parameters}\n")


def test_triad_takes_what_its_lines_say() -> None:
    """Of eight doubles in a line, one comes from memory; repeated, all of it does where it fits nowhere."""
    n, repeats = 2**15, 2  # 768 KiB
    result = forecast(workload(f"{{kernel: triad, sizes: {{n: {n}, repeats: {repeats}}}}}"), machine(), {"P": 1})
    accesses = 3 * n * repeats
    assert result.served == pytest.approx({"L1": accesses * 7 / 8, "L2": 0.0, "memory": accesses / 8})
    assert result.hit_methods == {"L1": "full", "L2": "full"}
    assert result.makespan_s == pytest.approx(accesses * (7 * L1_S + MEMORY_S) / 8, rel=ROUNDING)
    assert result.components["memory"] == result.makespan_s


def test_memory_is_no_faster_than_its_bytes() -> None:
    """What does not stall the processor still has to come: one line of 64 bytes for every eight elements."""
    n = 2**15
    result = forecast(workload(f"{{kernel: triad, sizes: {{n: {n}}}, blocking: 0}}"), machine(), {"P": 1})
    assert result.makespan_s == pytest.approx(3 * n / 8 * 64 * BYTE_S, rel=ROUNDING)


@pytest.mark.parametrize(("distance", "served"), [(0, L1_S), (511, L1_S), (512, L2_S), (8191, L2_S), (8192, MEMORY_S)])
def test_a_stack_distance_is_served_where_it_fits(distance: int, served: float) -> None:
    """4 KiB hold 512 elements of 8 bytes, 64 KiB hold 8192."""
    demand = f"{{loads: 900, stores: 100, stack_distance: {distance}, element: 8 B}}"
    assert forecast(workload(demand), machine(), {"P": 1}).makespan_s == pytest.approx(1000 * served, rel=ROUNDING)


COUNTED = "{accesses: 1000, hits: {l1: 0.5, l2: 0.25, llc: 0.125}}"


@pytest.mark.parametrize(
    ("caches", "served"),
    [
        ((), (1000,)),
        (CACHES[:1], (500, 500)),
        (CACHES, (500, 375, 125)),
        ((*CACHES, CacheLevel("L3", 2**20, 4 * L2_S, 8)), (500, 250, 125, 125)),
        (
            (*CACHES, CacheLevel("L3", 2**20, 4 * L2_S, 8), CacheLevel("L4", 2**22, 5 * L2_S, 8)),
            (500, 250, 0, 125, 125),
        ),
    ],
)
@pytest.mark.parametrize("effects", ["none", "caches"])
def test_counted_hits_are_served_whatever_the_caches_hold(
    caches: tuple[CacheLevel, ...], served: tuple[float, ...], effects: str
) -> None:
    """A level that a machine lacks leaves its hits to the next one outward."""
    described = machine(caches=caches)
    seconds = sum(count * each for count, each in zip(served, described.memory.latencies_s, strict=True))  # type: ignore[union-attr, misc]
    for result in (
        forecast(workload(COUNTED), described, {"P": 1}),
        simulate(workload(COUNTED), described, {"P": 1}, effects=effects),
    ):
        assert tuple(result.served.values()) == pytest.approx(served)
        assert result.makespan_s == pytest.approx(seconds, rel=ROUNDING)
        assert set(result.hit_methods.values()) <= {"counted"}


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ("{accesses: 9, hits: {l1: 0.9, llc: 0.2}}", "fractions of the accesses, together, got 1.1"),
        ("{accesses: 9, hits: {l1: -0.1}}", "hits of l1 = -0.1 is negative"),
        ("{accesses: 9, hits: {L1: 0.9}}", "got 'L1'.*l1"),
        ("{hits: {l1: 0.9}}", "how many accesses"),
        ("{accesses: 9, hits: {l1: 0.9}, stack_distance: 3}", "whose locality.*hits"),
    ],
)
def test_hits_that_cannot_be(demand: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        forecast(workload(demand), machine(), {"P": 1})


def test_distances_with_shares_and_the_rest_from_memory() -> None:
    demand = "{accesses: 1000, stack_distance: [{fraction: 0.5, distance: 3}, {fraction: 0.25, distance: 600}]}"
    result = forecast(workload(demand), machine(), {"P": 2})
    assert result.served == pytest.approx({"L1": 1000, "L2": 500, "memory": 500})  # of both ranks
    assert result.makespan_s == pytest.approx(500 * L1_S + 250 * (L2_S + MEMORY_S), rel=ROUNDING)


def test_a_map_over_sizes_is_single_points() -> None:
    described = workload("{kernel: matmul, sizes: {n: n}, times: n}", "{n: 8}")
    sizes = np.array([[4.0, 20.0], [20.0, 33.0]])
    every = forecast(described, machine(), {"P": 1, "n": sizes})
    for place, n in np.ndenumerate(sizes):
        one = forecast(described, machine(), {"P": 1, "n": n})
        assert every.makespan_s[place] == pytest.approx(one.makespan_s, rel=ROUNDING)
        assert every.served["L2"][place] == pytest.approx(one.served["L2"], rel=ROUNDING)


distances = st.lists(
    st.tuples(st.floats(0, 0.25, allow_subnormal=False), st.integers(0, 20_000)), min_size=1, max_size=4
)


@settings(max_examples=examples(30))
@given(
    pairs=distances,
    accesses=st.floats(0, 1e9, allow_subnormal=False),
    blocking=st.floats(0, 1, allow_subnormal=False),
    per_byte_s=st.just(0.0) | st.floats(1e-75, 1e-8),
    hits=st.sampled_from(["auto", "full", "binomial"]),
    ways=st.sampled_from([None, 1, 2, 8]),
)
def test_without_effects_the_simulation_is_the_forecast(
    pairs: list[tuple[float, int]], accesses: float, blocking: float, per_byte_s: float, hits: str, ways: int | None
) -> None:
    rows = ", ".join(f"{{fraction: {share!r}, distance: {distance}}}" for share, distance in pairs)
    demand = f"{{accesses: {accesses!r}, stack_distance: [{rows}], blocking: {blocking!r}, when: rank != 1}}"
    caches = (CacheLevel("L1", 4096, L1_S, ways), CacheLevel("L2", 65536, L2_S, 8))
    two = machine(2, per_byte_s, hits, caches)
    forecasted, simulated = (
        read(workload(demand), two, {"P": 3}, **more) for read, more in ((forecast, {}), (simulate, {"effects": ""}))
    )
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=ROUNDING)
    assert simulated.served == pytest.approx(forecasted.served, rel=ROUNDING)
    assert simulated.hit_methods == forecasted.hit_methods
    assert sum(forecasted.served.values()) == pytest.approx(2 * accesses, rel=ROUNDING)


@pytest.mark.parametrize(("outstanding", "seconds"), [(1, 100.0), (4, 25.0), (1000, 4.0)])
def test_accesses_under_way_at_once_take_as_long_as_one_or_as_their_bytes(outstanding: int, seconds: float) -> None:
    """100 accesses of 1 s, each of a line of 64 B at 1600 B/s; 50 s where a demand says for itself that half counts."""
    one = builders.machine(network(1), memory=Memory(1.0, 1 / 1600))
    at = {"P": 1, "memory.outstanding": outstanding}
    for blocking, expected in (("", seconds), (", blocking: 0.5", 50.0)):
        demand = workload(f"{{accesses: 100, stack_distance: 1e9{blocking}}}")
        assert forecast(demand, one, at).makespan_s == pytest.approx(expected, rel=ROUNDING)
        assert simulate(demand, one, at, effects="none").makespan_s == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("cores", [1, 2, 5, 8])
def test_cores_that_fill_the_controller_wait_for_all_bytes(cores: int) -> None:
    """Nothing but bytes: the node needs the sum of what its cores move."""
    demand = workload("{accesses: 1e6, stack_distance: 1e6, blocking: 0}")
    alone_s = 1e6 * 64 * BYTE_S
    result = simulate(demand, machine(cores), {"P": 2 * cores}, effects="memory")
    assert result.makespan_s == pytest.approx(cores * alone_s, rel=ROUNDING)
    assert [station.kind for station in result.stations] == ["memory"] * 2


@pytest.mark.parametrize("cores", [2, 4])
def test_cores_that_leave_the_controller_idle_hardly_wait(cores: int) -> None:
    """Bytes take a sixteenth of the latencies: later cores begin by one slice of each other core later."""
    demand = workload("{accesses: 1e6, stack_distance: 1e6}")
    stall_s, bytes_s = 1e6 * MEMORY_S, 1e6 * 64 * 6.25e-11
    result = simulate(demand, machine(cores, 6.25e-11), {"P": cores}, effects="memory")
    assert result.makespan_s == pytest.approx(stall_s + (cores - 1) * bytes_s / SLICES, rel=ROUNDING)


def test_nodes_do_not_share_memory() -> None:
    demand = workload("{accesses: 1e6, stack_distance: 1e6, blocking: 0}")
    both, one = (simulate(demand, machine(2), {"P": ranks}, effects="memory").makespan_s for ranks in (4, 2))
    assert both == one


def test_caches_are_the_hierarchy_itself() -> None:
    """The kernel's own stream through sets, bytes written back included."""
    sizes = {"n": 40, "b": 8}
    demand = workload("{kernel: blocked_matmul, sizes: {n: 40, b: 8}}")
    result = simulate(demand, machine(), {"P": 1}, effects="caches")
    counts = simulate_hierarchy(kernel_trace("blocked_matmul", **sizes), machine().memory.geometries())
    memory = counts.levels[-1].misses
    assert result.served == pytest.approx({"L1": counts.hits[0], "L2": counts.hits[1], "memory": memory}, rel=1e-9)
    assert result.hit_methods == {"L1": "sets", "L2": "sets"}
    stall_s = counts.hits[0] * L1_S + counts.hits[1] * L2_S + memory * MEMORY_S
    assert result.makespan_s == pytest.approx(stall_s, rel=1e-9)
    quick = simulate(
        workload("{kernel: blocked_matmul, sizes: {n: 40, b: 8}, blocking: 0}"), machine(), {"P": 1}, effects="caches"
    )
    lines = counts.memory_reads_lines + counts.memory_writes_lines
    assert quick.makespan_s == pytest.approx(lines * 64 * BYTE_S, rel=1e-9)


def test_sampled_stream_of_a_fully_associative_cache_is_the_stack_model() -> None:
    """Without sets there is nothing to differ but what is written back, and the stream only loads."""
    caches = (CacheLevel("L1", 4096, L1_S), CacheLevel("L2", 65536, L2_S))
    demand = workload(
        "{accesses: 1e9, stack_distance: [{fraction: 0.5, distance: 100}, {fraction: 0.3, distance: 700}]}"
    )
    simulated = simulate(demand, machine(caches=caches), {"P": 1}, effects="caches")
    forecasted = forecast(demand, machine(caches=caches), {"P": 1})
    assert simulated.served == pytest.approx(forecasted.served, rel=1e-5)  # a million accesses stand for 1e9
    assert simulated.makespan_s == pytest.approx(forecasted.makespan_s, rel=1e-5)


def test_distances_far_beyond_all_caches_need_no_stream_as_deep() -> None:
    """A stack of 1e15 keys would fill any memory."""
    demand = workload("{accesses: 1e6, stack_distance: 1e15}")
    result = simulate(demand, machine(), {"P": 1}, effects="caches")
    assert result.served == pytest.approx({"L1": 0.0, "L2": 0.0, "memory": 1e6})
    assert result.hit_methods == {"L1": "synthetic", "L2": "synthetic"}
    assert (
        simulate(workload("{accesses: 1, stack_distance: 1e30}"), machine(), {"P": 1}, effects="caches").served[
            "memory"
        ]
        == 1
    )


@pytest.mark.parametrize("effects", ["", "caches"])
def test_whatever_misses_moves_its_line(effects: str) -> None:
    """Also where distances are in elements of 8 bytes."""
    demand = workload("{accesses: 1e6, stack_distance: 1e6, blocking: 0}")
    result = simulate(demand, machine(), {"P": 1}, effects=effects)
    assert result.makespan_s == pytest.approx(1e6 * 64 * BYTE_S, rel=1e-9)


def test_a_profile_of_other_lines_is_refused(tmp_path: Path) -> None:
    StackDistanceProfile.from_counts([0, 100], [6.0, 3.0], 1.0, 8).save(tmp_path / "eight.json")
    (tmp_path / "one.yaml").write_text("simcodesign: 1\nname: one\nprogram:\n  - memory: {profile: eight.json}\n")
    with pytest.raises(InputError, match=r"one.yaml:4.*lines of 8 bytes"):
        forecast(tmp_path / "one.yaml", machine(), {"P": 1})


def test_a_timeline_names_memory(tmp_path: Path) -> None:
    demand = workload("{accesses: 1e6, stack_distance: 1e6, blocking: 0}")
    result = simulate(demand, machine(2), {"P": 2}, effects="memory", timeline=True)
    write_chrome_trace(result, tmp_path / "memory.json")
    names = {event["name"] for event in json.loads((tmp_path / "memory.json").read_text())["traceEvents"]}
    assert {"memory", "wait for memory"} <= names


def test_a_measured_profile_beside_the_workload(tmp_path: Path) -> None:
    StackDistanceProfile.from_counts([0, 100], [6.0, 3.0], 1.0).save(tmp_path / "ten.json")
    text = "simcodesign: 1\nname: one\nprogram:\n  - memory: {profile: ten.json, accesses: 1e6}\n"
    (tmp_path / "one.yaml").write_text(text)
    result = forecast(tmp_path / "one.yaml", machine(), {"P": 1})
    assert result.served == pytest.approx({"L1": 6e5, "L2": 3e5, "memory": 1e5})  # 64 lines of 64 bytes in L1


def test_without_caches_all_goes_to_memory() -> None:
    demand = workload("{kernel: matmul, sizes: {n: 10}}")
    result = forecast(demand, machine(caches=()), {"P": 1})
    assert result.served == {"memory": 2100.0}
    assert result.makespan_s == pytest.approx(2100 * MEMORY_S, rel=ROUNDING)
    assert simulate(demand, machine(caches=()), {"P": 1}, effects="all").makespan_s == pytest.approx(result.makespan_s)


@pytest.mark.parametrize("effects", ["none", "caches"])
def test_without_caches_every_access_moves_a_line(effects: str) -> None:
    """Also an access to an element of 8 bytes, with and without looking at sets: there are none."""
    load = workload("{accesses: 1000, stack_distance: 5, element: 8, blocking: 0}")
    simulated = simulate(load, machine(caches=()), {"P": 1}, effects=effects)
    assert simulated.makespan_s == pytest.approx(1000 * 64 * BYTE_S, rel=ROUNDING)


def test_comparison_names_memory_and_caches() -> None:
    """With rows of 512 bytes, a column lies in one set of L1: the stack model does not see that."""
    demand = workload("{kernel: matmul, sizes: {n: 64}, blocking: 0.1}")
    ladder = compare(demand, machine(4, 5e-9), {"P": 8}).ladder().set_index("effect")["change_s"]
    assert ladder["memory"] > 0
    assert ladder["caches"] > 0
    assert compare(demand, machine(1), {"P": 2}).ladder().set_index("effect")["change_s"]["memory"] == 0


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ("{kernel: matmul, sizes: {n: 10.5}}", "n"),
        ("{kernel: blocked_matmul, sizes: {n: 10, b: 3}}", "b"),
        ("{accesses: -1, stack_distance: 3}", "negative"),
        ("{accesses: 1, stack_distance: [{fraction: 2, distance: 3}]}", "fraction"),
        ("{accesses: 1, stack_distance: [{fraction: 0.9, distance: 1}, {fraction: 0.3, distance: 4}]}", "together"),
    ],
)
def test_demands_that_cannot_be(demand: str, words: str) -> None:
    for read in (forecast, simulate):
        with pytest.raises(InputError, match=words) as caught:
            read(workload(demand), machine(), {"P": 1})
        assert "w.yaml:5" in str(caught.value)


def test_kernels_that_are_too_long_are_refused() -> None:
    with pytest.raises(CapacityError, match=r"w.yaml:5.* too many to look at each"):
        forecast(workload("{kernel: matmul, sizes: {n: 5000}}"), machine(), {"P": 1})


def test_a_machine_without_memory() -> None:
    bare = builders.machine(network(2), 1e9)
    for read in (forecast, simulate):
        with pytest.raises(InputError, match="needs a memory"):
            read(workload("{kernel: matmul, sizes: {n: 10}}"), bare, {"P": 1})


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ("{kernel: matmull, sizes: {n: 3}}", "matmul"),
        ("{kernel: matmul}", "n of the kernel is missing"),
        ("{kernel: matmul, sizes: {n: 3, m: 4}}", "m"),
        ("{kernel: matmul, sizes: {n: 3}, accesses: 5}", "times"),
        ("{kernel: matmul, sizes: {n: 3}, stack_distance: 5, accesses: 3}", "one of kernel, profile, stack_distance"),
        ("{accesses: 3}", "one of kernel, profile, stack_distance"),
        ("{stack_distance: 3}", "how many accesses"),
        ("{stack_distance: 3, accesses: 4, loads: 5}", "together"),
        ("{stack_distance: [], accesses: 4}", "no stack distance"),
        ("{stack_distance: [{fraction: 1}], accesses: 4}", "distance"),
        ("{stack_distance: 3, accesses: 4, element: 12 B}", "power of two"),
        ("{profile: nowhere.json}", "nowhere.json"),
        ("{kernel: matmul, sizes: {n: 3}, element: 8 B}", "belongs to stack_distance"),
        ("{stack_distance: 3, accesses: 4, sizes: {n: 3}}", "belongs to kernel"),
        ("{stack_distance: m, accesses: 4}", "unknown name"),
    ],
)
def test_demands_that_make_no_sense(demand: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        workload(demand)
    assert "w.yaml:5" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"caches.L1.size": "100 B"}, "whole number of lines"),
        ({"caches.L1.ways": 7}, "divisor"),
        ({"caches.L1.ways": 10_000}, "at most its 512 lines"),
        ({"caches.L1.size": "0.5 B"}, "whole number of bytes"),
        ({"caches.L1.latency": "-1 ns"}, "caches.L1.latency"),
        ({"caches.memory": "{size: 1 KiB, latency: 1 ns}"}, "not memory"),
        ({"caches.L1.kind": "big"}, "kind"),
        ({"memory.line": "48 B"}, "power of two"),
        ({"memory.hits": "guess"}, "auto"),
        ({"memory.bandwidth": "0 GB/s"}, "above 0"),
        ({"memory.latency": "-5 ns"}, "memory.latency"),
        ({"memory.outstanding": "0.5"}, "memory.outstanding"),
    ],
)
def test_memories_that_cannot_be(changes: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_machine("torus-cluster", changes)


def test_caches_without_memory_are_refused(tmp_path: Path) -> None:
    text = (
        "simcodesign: 1\nname: odd\nnodes: 2\nprocessor: {rate: 1 GFLOP/s}\n"
        "network: {topology: {kind: crossbar}, sends: blocking, startup: 1 us, bandwidth: 1 GB/s}\n"
        "caches: {L1: {size: 1 KiB, latency: 1 ns}}\n"
    )
    (tmp_path / "odd.yaml").write_text(text)
    with pytest.raises(InputError, match=r"odd.yaml:6: caches: caches without a memory"):
        load_machine(tmp_path / "odd.yaml")


def test_constants_of_memory_may_be_arrays_and_differ_by_phase() -> None:
    demand = "{accesses: 1000, stack_distance: 1e9}"
    latency = np.array([1e-8, 2e-8])
    assert forecast(workload(demand), machine(1, 0.0), {"P": 1, "memory.latency": latency}).makespan_s == pytest.approx(
        1e3 * latency
    )
    text = (
        "simcodesign: 1\nname: one\nprogram:\n  - phase: slow\n    constants: {memory.latency: 1 us}\n"
        f"    do:\n      - memory: {demand}\n"
    )
    slow = read_workload(text)
    for read in (forecast, simulate):
        assert read(slow, machine(), {"P": 1}).makespan_s == pytest.approx(1e-3, rel=ROUNDING)
