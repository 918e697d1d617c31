"""Results of runs: times add up, bytes are conserved, nothing is busier than possible, and units do not matter."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.comparison.compare import compare
from simcodesign.core.operation_kinds import COMPONENTS, READ, RECEIVE, SEND, WRITE
from simcodesign.core.result import Result
from simcodesign.core.stations.uses import StationUses
from simcodesign.describe.effects import effect_names
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.workload import Workload
from simcodesign.engine import to_result
from simcodesign.engine.simulate import simulate
from simcodesign.generate.plan import STATION_KINDS
from tests import builders, examples
from tests.builders import read_workload

#: Steps of programs, each of which can stand anywhere.
STEPS = (
    "compute: {{seconds: '0.1*(1 + rank % 3)'}}",
    "compute: {{flops: 7, when: rank > 0}}",
    "read: {{bytes: 24*(rank + 1), times: 2}}",
    "write: {{bytes: 100, when: rank % 2 == 0}}",
    "allreduce: {{bytes: 1000}}",
    "broadcast: {{bytes: 64}}",
    "all_to_all: {{bytes: 10}}",
    "all_broadcast: {{bytes: 33}}",
    "barrier: {{}}",
    "exchange: {{pattern: halo2d, bytes: [100, 30]}}",
    "phase: {phase}\n    do: [{{send: {{to: (rank + 1) % P, bytes: 50, tag: 1}}}}, "
    "{{compute: {{seconds: 0.3}}}}, {{receive: {{from: (rank - 1) % P, tag: 1}}}}]",
    "phase: {phase}\n    repeat: 2\n    do: [{{compute: {{seconds: 'rank == 1'}}}}, {{barrier: {{}}}}]",
)


def workload(steps: list[tuple[str, str]]) -> Workload:
    program = "".join(f"  - {step.format(phase=phase)}\n" for step, phase in steps)
    return builders.workload(program, "imbalance: 20 %\n")


WORKLOADS = st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(["one", "two"])), min_size=1, max_size=8).map(
    workload
)


def machine(kind: str, nodes: int, per_node: int, overhead_s: float) -> Machine:
    network = builders.network(
        nodes,
        kind,
        startup_s=0.02,
        per_byte_s=1e-3,
        receive_overhead_s=overhead_s,
        hop_latency_s=3e-3,
        link_per_byte_s=7e-4,
    )
    disk = Disk(0.05, 0.07, 1e-3, shared_by=3, spindles=2)
    return builders.machine(network, 10.0, disk, processors_per_node=per_node, noise=0.1)


MACHINES = st.builds(
    machine,
    st.sampled_from(["bus", "mesh", "torus", "tree"]),
    st.integers(2, 6),
    st.integers(1, 2),
    st.sampled_from([0.0, 0.01]),
)
SWITCHES = st.one_of(st.just(effect_names()), st.sets(st.sampled_from(effect_names())).map(tuple))
RUN = (WORKLOADS, MACHINES, SWITCHES)
#: Sums of at most some thousand times, in different orders.
CLOSE = {"rel": 1e-11, "abs": 1e-12}


@settings(max_examples=examples(120))
@given(*RUN)
def test_times_of_ranks_and_phases_add_up(work: Workload, machine: Machine, effects: tuple[str, ...]) -> None:
    result = simulate(work, machine, effects=effects, timeline=True)
    ranks, line = result.ranks, result.timeline
    assert ranks.busy_s.shape == ranks.waiting_s.shape == (machine.processors, len(ranks.phases), len(COMPONENTS))
    assert ranks.busy_s.sum(axis=(1, 2)) == pytest.approx(ranks.end_s, **CLOSE)
    assert result.makespan_s == ranks.end_s.max(initial=0.0) == ranks.end_s[ranks.critical_rank]
    assert sum(sum(times.values()) for times in result.phases.values()) == pytest.approx(result.makespan_s, **CLOSE)
    assert sum(result.components.values()) == pytest.approx(result.makespan_s, **CLOSE)
    assert (ranks.waiting_s >= 0).all()
    assert (ranks.waiting_s <= ranks.busy_s * (1 + 1e-12) + 1e-12).all()
    ends = np.zeros(machine.processors)
    np.maximum.at(ends, line.rank, line.finish_s)
    assert ends.tolist() == ranks.end_s.tolist()


@settings(max_examples=examples(80))
@given(*RUN)
def test_time_is_booked_where_it_was_spent(work: Workload, machine: Machine, effects: tuple[str, ...]) -> None:
    """Against the timeline, added up operation by operation."""
    result = simulate(work, machine, effects=effects, timeline=True)
    line, busy, waiting = result.timeline, defaultdict(float), defaultdict(float)
    part = {0: "computation", SEND: "communication", RECEIVE: "communication", READ: "disk", WRITE: "disk"}
    last = [0.0] * machine.processors
    for op in range(len(line.rank)):
        rank = int(line.rank[op])
        assert line.ready_s[op] == last[rank] <= line.start_s[op] + 1e-12
        assert line.start_s[op] <= line.finish_s[op]
        last[rank] = line.finish_s[op]
        cell = (rank, int(line.phase[op]), COMPONENTS.index(part[int(line.kind[op])]))
        busy[cell] += line.finish_s[op] - line.ready_s[op]
        waiting[cell] += line.start_s[op] - line.ready_s[op]
    for cell in np.ndindex(result.ranks.busy_s.shape):
        assert result.ranks.busy_s[cell] == pytest.approx(busy[cell], **CLOSE)
        assert result.ranks.waiting_s[cell] == pytest.approx(waiting[cell], **CLOSE)


@settings(max_examples=examples(80))
@given(*RUN)
def test_bytes_are_conserved(work: Workload, machine: Machine, effects: tuple[str, ...]) -> None:
    """What is sent is received; effects change when things happen, not how much."""
    result = simulate(work, machine, effects=effects, timeline=True)
    line = result.timeline
    sent, received = line.size_bytes[line.kind == SEND], line.size_bytes[line.kind == RECEIVE]
    assert np.sort(sent).tolist() == np.sort(received).tolist()
    assert (len(sent), sent.sum()) == (result.messages, pytest.approx(result.message_bytes, rel=1e-12))
    accessed = line.size_bytes[(line.kind == READ) | (line.kind == WRITE)].sum()
    assert accessed == pytest.approx(result.disk_bytes, rel=1e-12)
    plain = simulate(work, machine, effects="none")
    for name in ("messages", "message_bytes", "disk_bytes"):
        assert getattr(plain, name) == getattr(result, name)


@settings(max_examples=examples(80))
@given(*RUN)
def test_stations_are_busy_for_at_most_all_the_time(work: Workload, machine: Machine, effects: tuple[str, ...]) -> None:
    result = simulate(work, machine, effects=effects)
    for station in result.stations:
        assert 0 <= station.utilisation <= 1 + 1e-12
        assert station.utilisation * station.servers * result.makespan_s == pytest.approx(station.busy_s, **CLOSE)
        assert station.mean_queue * result.makespan_s == pytest.approx(station.wait_s, **CLOSE)  # Little's law
        assert station.mean_queue <= station.longest_queue
        assert station.served > 0
    assert len({station.name for station in result.stations}) == len(result.stations)
    assert {station.kind for station in result.stations} <= {
        kind
        for effect, kind in (("links", "link"), ("background", "link"), ("interfaces", "interface"), ("disks", "disk"))
        if effect in effects
    }


def test_mean_queue_of_a_disk_by_hand() -> None:
    """Four ranks read for 2 s each from one spindle: 0, 2, 4 and 6 s of waiting in 8 s."""
    disk = Disk(2.0, 0.0, 0.0, shared_by=4)
    one = replace(machine("mesh", 4, 1, 0.0), disk=disk)
    result = simulate(workload([("read: {{bytes: 1}}", "")]), one, effects="disks")
    (station,) = result.stations
    assert (station.name, station.kind, station.servers, station.served) == ("disk 0", "disk", 1, 4)
    assert (station.busy_s, station.wait_s, station.longest_queue) == (8.0, 12.0, 4)
    assert (station.utilisation, station.mean_queue) == (1.0, 12 / 8)
    assert result.ranks.waiting_s[:, 0, COMPONENTS.index("disk")].tolist() == [0.0, 2.0, 4.0, 6.0]


# ---------------------------------------------------------------------------------------------------------------------
# Units


def scaled(machine: Machine, time: float = 1.0, size: float = 1.0) -> Machine:
    """The same machine with seconds ``time`` times and bytes ``size`` times as many."""
    values = {}
    for path, value in machine.constants().items():
        if path.endswith("per_byte"):
            values[path] = value * time / size
        elif path in ("processor.rate", "processor.clock"):
            values[path] = value / time
        else:
            values[path] = value if path == "processor.cpi" else value * time
    return machine.with_constants(values)


#: Programs whose demands can be scaled by parameters: t for seconds, b for bytes.
UNITS = """
simcodesign: 1
name: test
imbalance: 0.3
parameters: {t: 1, b: 1}
program:
  - read: {bytes: 100*b, times: 3}
  - repeat: 3
    do:
    - compute: {seconds: 0.7*t*(1 + rank % 3)}
    - phase: talk
      do:
      - exchange: {pattern: halo2d, bytes: [50*b, 20*b]}
      - compute: {flops: 11}
      - allreduce: {bytes: 8*b}
    - all_to_all: {bytes: 3*b}
  - send: {to: 1, bytes: 9*b, when: rank == 0}
  - receive: {from: 0, bytes: 9*b, when: rank == 1}
  - write: {bytes: 10*b*rank}
"""


def times_of(result: Result) -> list[float]:
    """Everything in seconds that a result holds."""
    parts = [result.makespan_s, *result.ranks.busy_s.ravel(), *result.ranks.waiting_s.ravel(), *result.ranks.end_s]
    stations = [time for station in result.stations for time in (station.busy_s, station.wait_s)]
    return [float(part) for part in [*parts, *stations, *(t for row in result.phases.values() for t in row.values())]]


@given(st.integers(-30, 30), MACHINES, SWITCHES)
def test_other_units_of_time_scale_every_time_exactly(power: int, machine: Machine, effects: tuple[str, ...]) -> None:
    work, factor = read_workload(UNITS), 2.0**power
    plain = simulate(work, machine, effects=effects)
    other = simulate(work, scaled(machine, time=factor), {"t": factor}, effects=effects)
    assert times_of(other) == [factor * time for time in times_of(plain)]
    assert [(s.served, s.longest_queue, s.utilisation, s.mean_queue) for s in other.stations] == [
        (s.served, s.longest_queue, s.utilisation, s.mean_queue) for s in plain.stations
    ]


@given(st.integers(-30, 30), MACHINES, SWITCHES)
def test_other_units_of_size_change_nothing(power: int, machine: Machine, effects: tuple[str, ...]) -> None:
    work, factor = read_workload(UNITS), 2.0**power
    plain = simulate(work, machine, effects=effects)
    other = simulate(work, scaled(machine, size=factor), {"b": factor}, effects=effects)
    assert times_of(other) == times_of(plain)
    assert (other.messages, other.events) == (plain.messages, plain.events)
    assert (other.message_bytes, other.disk_bytes) == (factor * plain.message_bytes, factor * plain.disk_bytes)


# ---------------------------------------------------------------------------------------------------------------------
# Edges


def test_a_rank_that_does_nothing_ends_at_once() -> None:
    only_first = workload([("compute: {{seconds: 2, when: rank == 0}}", "")])
    result = simulate(only_first, machine("mesh", 3, 1, 0.0), effects="none")
    assert result.ranks.end_s.tolist() == [2.0, 0.0, 0.0]
    assert result.phases == {"main": {"computation": 2.0, "communication": 0.0, "disk": 0.0, "memory": 0.0}}


def test_the_critical_rank_is_the_first_of_those_that_end_last() -> None:
    tied = workload([("compute: {{seconds: rank > 0}}", "")])
    assert simulate(tied, machine("mesh", 3, 1, 0.0), effects="none").ranks.critical_rank == 1


def test_a_timeline_is_kept_only_when_asked_for() -> None:
    assert simulate(workload([(STEPS[0], "")]), machine("mesh", 3, 1, 0.0)).timeline is None


def test_phases_of_both_readings_stand_side_by_side() -> None:
    """A phase that is repeated no times is a phase of both."""
    never = "phase: {phase}\n    repeat: 0\n    do: [{{barrier: {{}}}}]"
    compared = compare(workload([(never, "idle"), (STEPS[0], "")]), machine("mesh", 3, 1, 0.0), effects="none")
    assert compared.phase_table().loc["idle"].tolist() == [0.0, 0.0, 0.0]


# ---------------------------------------------------------------------------------------------------------------------
# Stations as a sequence


def uses(busy: list[float], servers: list[int]) -> StationUses:
    count = len(busy)
    return StationUses(
        name=lambda number: f"disk {number}",
        kinds=STATION_KINDS,
        kind=np.zeros(count, np.int8),
        servers=np.array(servers, np.int32),
        served=np.arange(count),
        busy_s=np.array(busy, float),
        wait_s=np.zeros(count),
        longest_queue=np.zeros(count, np.int64),
        span_s=10.0,
    )


BUSY = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=12)


@given(BUSY, st.integers(-14, 14), st.slices(12))
def test_stations_are_a_sequence(rows: list[tuple[int, int]], place: int, part: slice) -> None:
    stations = uses([busy for busy, _ in rows], [count for _, count in rows])
    plain = list(stations)
    assert len(stations) == len(plain) == len(rows)
    assert [use.name for use in plain] == [f"disk {number}" for number in range(len(rows))]
    assert stations[part] == plain[part]
    if -len(rows) <= place < len(rows):
        assert stations[place] == plain[place]
    else:
        with pytest.raises(IndexError):
            stations[place]


@given(BUSY, st.integers(0, 14))
def test_most_used_stations_by_a_plain_sort(rows: list[tuple[int, int]], count: int) -> None:
    stations = uses([busy for busy, _ in rows], [servers for _, servers in rows])
    plain = sorted(stations, key=lambda use: (-use.busy_s / use.servers, -use.busy_s))
    assert stations.most_used(count) == plain[:count]


@settings(max_examples=examples(40))
@given(*RUN)
def test_ranks_in_blocks(work: Workload, machine: Machine, effects: tuple[str, ...]) -> None:
    whole = simulate(work, machine, effects=effects).ranks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_result, "RANKS_AT_ONCE", 2)
        parts = simulate(work, machine, effects=effects).ranks
    for name in ("busy_s", "waiting_s", "end_s"):
        assert getattr(parts, name).tobytes() == getattr(whole, name).tobytes()
