"""Accelerators and storage in both readings: times by hand, both engines, and an oracle that lays out files byte by byte."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.engine.selection import run
from simcodesign.engine.simulate import schedule_of, simulate
from simcodesign.generate.demands.storage_access import MOST_TURNS
from simcodesign.generate.lower import make_plan
from tests import examples
from tests.builders import read_machine, workload

HOCKNEY = "startup: 1 s, bandwidth: 1 B/s"
LOGGOPS = "model: loggop, L: 1 s, o: 1 s, g: 1 s, G: 1 s/B"


def machine(storage: str = "", accelerator: str = "", network: str = HOCKNEY, head: str = "") -> Machine:
    """Two nodes of four processors, with two accelerators each: a flop takes 1/4 s, a byte of their memory 1/2 s and of
    their links 1 s; and four servers of 1 B/s with stripes of 2 bytes."""
    return read_machine(
        "simcodesign: 1\nname: m\nnodes: 2\nprocessors_per_node: 4\nprocessor: {rate: 1 FLOP/s, dynamic_power: 3 W}\n"
        f"network: {{topology: {{kind: crossbar}}, {network}}}\n{head}"
        "accelerator:\n  count: 2\n  rate: 4 FLOP/s\n  launch: 1 s\n  dynamic_power: 10 W\n"
        "  memory: {latency: 0.5 s, bandwidth: 2 B/s, capacity: 100 B}\n"
        f"  link: {{latency: 3 s, bandwidth: 1 B/s{accelerator}}}\n"
        "storage: {servers: 4, stripe: 2 B, stripe_count: 2, bandwidth: 1 B/s, write_bandwidth: 0.5 B/s, latency: 1 s, "
        f"metadata_rate: 2 op/s, metadata_latency: 0.25 s{storage}}}\n"
    )


def both(load: Workload, on: Machine, ranks: int, effects: str = "none", seed: int = 0) -> Result:
    """The simulation, of both engines alike."""
    one, other = (simulate(load, on, {"P": ranks}, effects=effects, seed=seed, engine=name) for name in ENGINES)
    assert one.makespan_s == other.makespan_s
    assert np.array_equal(one.stations.busy_s, other.stations.busy_s)
    assert np.array_equal(one.stations.wait_s, other.stations.wait_s)
    return one


ENGINES = ("simpy", "compiled")

#: Demand, ranks, seconds of its closed form, and with all effects.
TIMES = [
    ("compute: {on: accelerator, flops: 8}", 1, 1 + 2, 1 + 2),
    ("compute: {on: accelerator, bytes: 8}", 1, 1 + 0.5 + 4, 1 + 0.5 + 4),
    ("compute: {on: accelerator, flops: 8, bytes: 8}", 1, 1 + 4.5, 1 + 4.5),
    ("compute: {on: accelerator, flops: 40, bytes: 8}", 1, 1 + 10, 1 + 10),
    ("compute: {on: accelerator, flops: 8, times: 3}", 1, 3 * (1 + 2), 3 * (1 + 2)),
    ("compute: {on: accelerator, seconds: 2}", 1, 1 + 2, 1 + 2),
    ("compute: {on: accelerator, flops: 8}", 2, 1 + 2, 1 + 2),  # one accelerator each
    ("compute: {on: accelerator, flops: 8}", 3, 1 + 2, 1 + 2 + 2),  # ranks 0 and 2 share one
    ("compute: {on: accelerator, flops: 8}", 8, 1 + 2, 1 + 2 + 2),
    ("copy: {to: accelerator, bytes: 4}", 1, 3 + 4, 3 + 4),
    ("copy: {to: host, bytes: 4, times: 2}", 1, 2 * (3 + 4), 2 * (3 + 4)),
    ("copy: {to: host, bytes: 4}", 4, 3 + 4, 3 + 4 + 4),
    ("read: {from: storage, bytes: 8}", 1, 1 + 4, 1 + 4),  # 4 pieces, 2 at each of 2 servers
    ("read: {from: storage, bytes: 3}", 1, 1 + 2, 1 + 2),
    ("read: {from: storage, bytes: 9}", 1, 1 + 5, 1 + 5),
    ("write: {to: storage, bytes: 8}", 1, 1 + 8, 1 + 8),
    ("read: {from: storage, bytes: 8, times: 3}", 1, 3 * (1 + 4), 3 * (1 + 4)),
    ("read: {from: storage, bytes: 8}", 2, 1 + 4, 1 + 4),
    ("read: {from: storage, bytes: 8}", 8, 1 + 64 / 4, 1 + 64 / 4),
    ("read: {from: storage, bytes: 8, stripe_count: 1}", 8, 1 + 64 / 4, 1 + 64 / 4),
    ("read: {from: storage, bytes: 8, stripe_count: 1}", 5, 1 + 40 / 4, 1 + 16),  # two files at one server
    ("read: {from: storage, bytes: 8, file: shared}", 1, 1 + 2, 1 + 2),
    ("read: {from: storage, bytes: 1, file: shared}", 8, 1 + 8 / 4, 1 + 8 / 4),
    ("read: {from: storage, bytes: 1, file: shared, stripe_count: 1}", 8, 1 + 8, 1 + 8),
    ("read: {from: storage, bytes: 0}", 2, 1, 1),
    ("metadata: {operations: 3}", 1, 0.75 + 1.5, 0.75 + 1.5),
    ("metadata: {operations: 3}", 8, 0.75 + 12, 0.75 + 12),
    ("metadata: {operations: 2*rank}", 3, 1 + 3, 0.5 + 3),  # rank 1 comes before rank 2
    ("read: {from: storage, bytes: 8*rank}", 3, 1 + 8, 1 + 8),
    ("read: {from: storage, bytes: 8, when: rank < 2}", 8, 1 + 4, 1 + 4),
]


@pytest.mark.parametrize("network", [HOCKNEY, LOGGOPS])
@pytest.mark.parametrize(("demand", "ranks", "closed_s", "shared_s"), TIMES)
def test_times_of_one_demand(demand: str, ranks: int, closed_s: float, shared_s: float, network: str) -> None:
    load, on = workload(f"- {demand}\n"), machine(network=network)
    predicted = forecast(load, on, {"P": ranks}, bounds=True)
    assert predicted.makespan_s == pytest.approx(closed_s, rel=1e-14)
    alone, shared = both(load, on, ranks), both(load, on, ranks, "all")
    assert alone.makespan_s == pytest.approx(closed_s, rel=1e-14)
    assert shared.makespan_s == pytest.approx(shared_s, rel=1e-14)
    assert predicted.bounds is not None
    for result in (alone, shared):
        assert predicted.bounds.least_s(result.effects) <= result.makespan_s * (1 + 1e-12)
        assert result.makespan_s <= predicted.bounds.upper_s * (1 + 1e-12)
        assert result.disk_bytes == pytest.approx(float(np.asarray(predicted.disk_bytes)))
        assert result.flops == pytest.approx(float(np.asarray(predicted.flops)))


@pytest.mark.parametrize(("duplex", "seconds"), [("full", 7.0), ("half", 11.0)])
def test_directions_of_a_link(duplex: str, seconds: float) -> None:
    load = workload(
        "- copy: {to: accelerator, bytes: 4, when: rank == 0}\n- copy: {to: host, bytes: 4, when: rank == 2}\n"
    )
    assert both(load, machine(accelerator=f", duplex: {duplex}"), 3, "accelerators").makespan_s == seconds
    predicted = forecast(load, machine(accelerator=f", duplex: {duplex}"), {"P": 3}, bounds=True)
    assert predicted.bounds is not None
    assert predicted.bounds.lower_s["most loaded accelerator"] == (4 if duplex == "full" else 8)


#: Programs in which things go on at once, and their seconds without effects in Hockney's model.
AT_ONCE = [
    ("- {start: {compute: {on: accelerator, flops: 40}}, as: k}\n- compute: {flops: 5}\n- wait: k\n", 11.0),
    ("- {start: {compute: {on: accelerator, flops: 40}}, as: k}\n- copy: {to: host, bytes: 9}\n- wait: k\n", 12.0),
    ("- {start: {write: {to: storage, bytes: 8}}, as: w}\n- compute: {flops: 5}\n- wait: w\n", 9.0),
    ("- overlap: [{compute: {flops: 5}}, {compute: {on: accelerator, flops: 8}}, {copy: {to: host, bytes: 4}}]\n", 7.0),
    ("- overlap: [{read: {from: storage, bytes: 8}}, {compute: {on: accelerator, flops: 8}}]\n", 5.0),
]


@pytest.mark.parametrize(("program", "seconds"), AT_ONCE)
def test_what_goes_on_at_once(program: str, seconds: float) -> None:
    load = workload(program)
    assert forecast(load, machine(), {"P": 1}).makespan_s == pytest.approx(seconds, rel=1e-14)
    for network in (HOCKNEY, LOGGOPS):  # without messages, the same in both models
        for effects in ("none", "all"):
            assert both(load, machine(network=network), 1, effects).makespan_s == pytest.approx(seconds, rel=1e-14)


def test_kernels_that_are_started_together_share_the_accelerator() -> None:
    text = "- {start: {compute: {on: accelerator, flops: 8}}, as: a}\n- {start: {compute: {on: accelerator, flops: 8}}, as: b}"
    load = workload(f"{text}\n- wait: [a, b]\n")
    assert both(load, machine(), 1).makespan_s == 3
    assert both(load, machine(), 1, "accelerators").makespan_s == 5


@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
def test_kernels_of_two_ranks_in_loggops(ranks: int) -> None:
    """Two ranks share an accelerator: 2 x (40 + 20) flops at 4 flop/s after a launch of 1 s."""
    text = "- {start: {compute: {on: accelerator, flops: 40}}, as: a}\n- {start: {compute: {on: accelerator, flops: 20}}, as: b}"
    load = workload(f"{text}\n- wait: a\n- wait: b\n")
    assert both(load, machine(network=LOGGOPS), ranks, "all").makespan_s == 31


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_reads_that_go_on_at_once_in_loggops(ranks: int) -> None:
    text = "- {start: {read: {from: storage, bytes: 8}}, as: a}\n- {start: {read: {from: storage, bytes: 4}}, as: b}"
    load = workload(f"{text}\n- compute: {{flops: 3}}\n- wait: a\n- wait: b\n")
    both(load, machine(network=LOGGOPS), ranks, "all")


# --- Files, laid out piece by piece --------------------------------------------------------------------------


def served_by_hand(
    sizes: list[int], stripe: int, servers: int, count: int, shared: bool
) -> tuple[float, dict[int, float]]:
    """When the last byte is there, and for how long each server is busy: each rank has one request under way for each
    server of its pieces, and a server takes up who came first, of those who came together the lowest rank."""
    chains: dict[tuple[int, int], list[float]] = {}
    begin = 0
    for rank, size in enumerate(sizes):
        first = begin if shared else 0
        place = 0
        pieces: dict[int, float] = defaultdict(float)
        for byte in range(first, first + size):
            pieces[byte // stripe] += 1
        start = 0 if shared else rank * count
        order: dict[int, list[float]] = {}
        for piece, length in sorted(pieces.items()):
            order.setdefault((start + piece % count) % servers, []).append(length)
        for place, (server, lengths) in enumerate(order.items()):
            chains[rank, place] = [server, *lengths]
        begin += size
    waiting: dict[int, list[tuple[float, int, int]]] = defaultdict(list)
    events = [(0.0, rank, place) for rank, place in sorted(chains)]
    free, busy, done = defaultdict(float), defaultdict(float), 0.0
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, rank, place = heappop(events)
            if place >= 0 and len(chains[rank, place]) > 1:
                heappush(waiting[int(chains[rank, place][0])], (now, rank, place))
        for server in sorted(waiting):
            if waiting[server] and free[server] <= now:
                _, rank, place = heappop(waiting[server])
                length = chains[rank, place].pop(1)
                free[server] = now + length
                busy[server] += length
                done = max(done, free[server])
                heappush(events, (free[server], rank, place))
            elif waiting[server]:
                heappush(events, (free[server], -1, -1))
    return done, dict(busy)


layouts = st.tuples(
    st.lists(st.integers(0, 24), min_size=1, max_size=6),
    st.integers(2, 5),  # bytes of a stripe
    st.integers(1, 5).flatmap(lambda servers: st.tuples(st.just(servers), st.integers(1, servers))),
    st.booleans(),
)


@settings(max_examples=examples(60))
@given(layouts)
def test_pieces_are_where_they_are_by_hand(layout: tuple[list[int], int, tuple[int, int], bool]) -> None:
    sizes, stripe, (servers, count), shared = layout
    assert max(sizes) / stripe <= MOST_TURNS
    size = "+".join(f"{size}*(rank == {rank})" for rank, size in enumerate(sizes))
    file = "shared" if shared else "own"
    load = workload(f"- read: {{from: storage, bytes: {size}, file: {file}, stripe_count: {count}}}\n")
    on = read_machine(
        "simcodesign: 1\nname: m\nnodes: 8\nprocessor: {rate: 1 FLOP/s}\nnetwork: {topology: {kind: crossbar}, "
        f"{HOCKNEY}}}\nstorage: {{servers: {servers}, stripe: {stripe} B, bandwidth: 1 B/s}}\n"
    )
    point = bind(load, on, {"P": len(sizes)})
    plan = make_plan(point, ("storage",))
    logs = [run(plan, engine=name) for name in ENGINES]
    done_s, busy_s = served_by_hand(sizes, stripe, servers, count, shared)
    for log in logs:
        assert log.finish_s.max() == done_s
        found = {int(unit): float(each) for unit, each in zip(plan.stations.unit, log.busy_s, strict=True)}
        assert found == busy_s
    assert np.array_equal(logs[0].finish_s, logs[1].finish_s)
    predicted = forecast(load, on, {"P": len(sizes)}, bounds=True)
    assert predicted.bounds is not None
    assert predicted.bounds.least_s(("storage",)) <= done_s * (1 + 1e-12)
    assert both(load, on, len(sizes)).makespan_s == pytest.approx(predicted.makespan_s, rel=1e-12)


def test_long_accesses_take_a_bounded_number_of_turns() -> None:
    load, on = workload("- read: {from: storage, bytes: 8000, stripe_count: 4}\n"), machine()
    result = both(load, on, 1, "storage")
    assert result.makespan_s == 1 + 2000
    assert list(result.stations.served) == [MOST_TURNS] * 4


def test_files_at_random_are_as_many_as_ranks_and_depend_on_the_seed() -> None:
    load, on = workload("- read: {from: storage, bytes: 2, stripe_count: 1}\n"), machine(", allocation: random")
    ends = {seed: both(load, on, 8, "storage", seed).makespan_s for seed in range(12)}
    assert len(set(ends.values())) > 1
    assert min(ends.values()) >= 1 + 2 * 2  # eight files on four servers
    assert all(both(load, on, 8, "none", seed).makespan_s == 1 + 4 for seed in (0, 1))
    shared = workload("- read: {from: storage, bytes: 2, file: shared}\n")
    assert {both(shared, on, 8, "storage", seed).makespan_s for seed in range(3)} == {1 + 4.0}


# --- What else is known of them ------------------------------------------------------------------------------


def test_memory_of_an_accelerator_is_shared_by_its_ranks() -> None:
    load, on = workload("- copy: {to: host, bytes: 4}\n", head="accelerator_footprint: 50\nfootprint: 10\n"), machine()
    result = forecast(load, on, {"P": 1})
    assert (result.accelerator_capacity_bytes, result.accelerator_footprint_bytes) == (50, 50)
    assert result.fits is True
    assert forecast(load, on, {"P": 1, "accelerator.memory.capacity": 99}).fits is False
    assert both(load, on, 1).fits is True
    crowded = machine(head="memory: {capacity: 39 B}\n")
    assert forecast(load, crowded, {"P": 1}).fits is False
    assert forecast(load, crowded, {"P": 1}).fits_accelerator is True


def test_reserved_memory_is_not_for_footprints() -> None:
    """Two ranks share 100 B without the 20 B of buffers: each has 40 B."""
    on = read_machine(
        "simcodesign: 1\nname: m\nnodes: 1\nprocessors_per_node: 4\nprocessor: {rate: 1 FLOP/s}\n"
        f"network: {{topology: {{kind: crossbar}}, {HOCKNEY}}}\n"
        "accelerator: {count: 2, link: {bandwidth: 1 B/s}, memory: {capacity: 100 B, reserved: 20 B}}\n"
    )
    for footprint, fits in ((40, True), (41, False)):
        load = workload("- copy: {to: host, bytes: 4}\n", head=f"accelerator_footprint: {footprint}\n")
        for result in (forecast(load, on, {"P": 1}), both(load, on, 1)):
            assert (result.accelerator_capacity_bytes, result.fits) == (40, fits)
    assert forecast(load, on, {"P": 1, "accelerator.memory.capacity": 102}).fits is True
    assert forecast(load, on, {"P": 1, "accelerator.memory.capacity": 10}).accelerator_capacity_bytes == 0


def test_energy_of_kernels_and_launches() -> None:
    load = workload("- compute: {on: accelerator, flops: 8}\n- copy: {to: host, bytes: 4}\n")
    expected_j = 2 * (1 * 3 + 2 * 10)  # launch and kernel of two ranks; copies draw nothing
    assert forecast(load, machine(), {"P": 2}).energy_j == pytest.approx(expected_j)
    assert both(load, machine(), 2).energy_j == pytest.approx(expected_j)


def test_requirements_of_a_process() -> None:
    load = workload("- compute: {on: accelerator, flops: 8, times: 2}\n- write: {to: storage, bytes: 5, times: 3}\n")
    needs = requirements(load, {"P": 4})
    assert (needs.flops, needs.disk_bytes) == (16, 15)


def test_arrays_of_constants() -> None:
    load = workload(
        "- compute: {on: accelerator, flops: 8}\n- read: {from: storage, bytes: 8}\n- metadata: {operations: 1}\n"
    )
    values = {"accelerator.rate": np.array([4.0, 8.0]), "storage.per_byte": np.array([1.0, 0.5])}
    ranks = np.array([[1], [8]])
    found = forecast(load, machine(), {"P": ranks, **values}).makespan_s
    assert np.allclose(found, [[3 + 5 + 0.75, 2 + 3 + 0.75], [3 + 17 + 4.25, 2 + 9 + 4.25]], rtol=1e-14)


def test_loops_with_an_index() -> None:
    load = workload(
        "- {repeat: 3, index: k, do: [read: {from: storage, bytes: 8*k}, compute: {on: accelerator, flops: 4*k}]}\n"
    )
    assert forecast(load, machine(), {"P": 1}).makespan_s == pytest.approx(3 * 1 + 4 + 8 + 3 * 1 + 1 + 2)
    for effects in ("none", "all"):
        assert both(load, machine(), 1, effects).makespan_s == pytest.approx(21)


def test_a_schedule_of_what_queues_at_nothing() -> None:
    load = workload(
        "- compute: {on: accelerator, flops: 8}\n- copy: {to: host, bytes: 4}\n- read: {from: storage, bytes: 8}\n"
    )
    schedule = schedule_of(load, machine(), {"P": 1})
    assert schedule.calc_s.sum() == pytest.approx(3 + 7 + 5)


@pytest.mark.parametrize(
    ("program", "bare", "match"),
    [
        ("- compute: {on: accelerator, flops: 8}\n", "", "accelerator"),
        ("- copy: {to: host, bytes: 8}\n", "", "accelerator"),
        ("- copy: {to: host, bytes: 8}\n", "accelerator: {count: 1, rate: 1 FLOP/s}\n", "accelerator.link"),
        ("- compute: {on: accelerator, bytes: 8}\n", "accelerator: {count: 1, rate: 1 FLOP/s}\n", "accelerator.memory"),
        ("- write: {to: storage, bytes: 8}\n", "", "storage"),
        ("- metadata: {operations: 8}\n", "storage: {servers: 1, stripe: 1 B, bandwidth: 1 B/s}\n", "metadata_rate"),
        (
            "- write: {to: storage, bytes: 8, stripe_count: 2}\n",
            "storage: {servers: 1, stripe: 1 B, bandwidth: 1 B/s}\n",
            "stripe_count",
        ),
    ],
)
def test_what_a_machine_must_have(program: str, bare: str, match: str) -> None:
    on = read_machine(
        "simcodesign: 1\nname: m\nnodes: 2\nprocessor: {rate: 1 FLOP/s}\n"
        f"network: {{topology: {{kind: crossbar}}, {HOCKNEY}}}\n{bare}"
    )
    for reading in (forecast, simulate):
        with pytest.raises(InputError, match=match):
            reading(workload(program), on, {"P": 2})


def test_counters_are_of_ranks_that_do_one_thing_at_a_time() -> None:
    load = workload("- read: {from: storage, bytes: 8}\n")
    simulate(load, machine(), {"P": 1}, effects="none", counters=True)
    with pytest.raises(InputError, match="one thing at a time"):
        simulate(load, machine(), {"P": 1}, effects="storage", counters=True)


def test_repeated_accesses_and_noise_are_alike_in_both_engines() -> None:
    load = workload(
        "- repeat: 4\n  do:\n    - compute: {on: accelerator, flops: 8, varies: {distribution: exponential}}\n"
        "    - read: {from: storage, bytes: 7, file: shared}\n    - write: {to: storage, bytes: 5}\n"
        "    - allreduce: {bytes: 1}\n"
    )
    noisy = "noise: {disk: 20 %, compute: 30 %}\n"
    for network in (HOCKNEY, LOGGOPS):
        both(load, machine(", allocation: random", network=network, head=noisy), 7, "all", 5)
