"""Recordings that are built of logs: makespans by hand on crossbar-16, where a message of n bytes takes 10 us + n / 100
MB/s of its sender, a receive nothing, and 1e9 flops a second."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.describe.recordings.workload import workload_of_recording
from simcodesign.studies.sweep.content_digest import digest
from tests.builders import workload

STARTUP_S, BYTE_S = 10e-6, 1e-8


def message_s(size_bytes: float) -> float:
    """Hockney's time of one message."""
    return STARTUP_S + size_bytes * BYTE_S


def built(ranks: int, write: Callable[[RankLog], None]) -> sc.Workload:
    """The workload of what every rank does."""
    builder = RecordingBuilder(ranks, "a.trace")
    for log in builder.logs:
        log.line = 1
        write(log)
    return workload_of_recording(builder.recording(), "a")


def simulated(load: sc.Workload) -> Result:
    """By both engines, which must agree."""
    one, other = (sc.simulate(load, "crossbar-16", effects="none", engine=name) for name in ("simpy", "compiled"))
    assert one.makespan_s == other.makespan_s
    result: Result = one
    return result


def test_a_message_after_computation() -> None:
    def write(log: RankLog) -> None:
        if log.rank == 0:
            log.compute(0.25)
            log.compute(5e8, "flops")
            log.send(1, 1e6, tag=3)
        else:
            log.receive(0, 2e6, tag=3)

    load = built(2, write)
    assert simulated(load).makespan_s == pytest.approx(0.75 + message_s(1e6), rel=1e-12)
    assert sc.forecast(load, "crossbar-16").makespan_s == pytest.approx(0.75 + message_s(1e6), rel=1e-12)


def test_what_is_started_goes_on_beside_computation() -> None:
    def write(log: RankLog) -> None:
        handles = [log.start_receive(1 - log.rank), log.start_send(1 - log.rank, 1e6)]
        log.compute(0.004)
        for handle in handles:
            log.wait(handle)

    assert simulated(built(2, write)).makespan_s == pytest.approx(message_s(1e6), rel=1e-12)


def test_what_is_never_waited_for_is_waited_for_at_the_end() -> None:
    def write(log: RankLog) -> None:
        if log.rank == 0:
            log.start_send(1, 1e6)
        else:
            log.start_receive(0)

    assert simulated(built(2, write)).makespan_s == pytest.approx(message_s(1e6), rel=1e-12)


def test_a_message_to_itself_takes_no_time() -> None:
    def write(log: RankLog) -> None:
        handle = log.start_receive(log.rank)
        log.send(log.rank, 1e9)
        log.wait(handle)
        log.compute(0.5)

    result = simulated(built(2, write))
    assert (result.makespan_s, result.messages) == (0.5, 0)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_collective_operations_are_those_of_workload_files(ranks: int) -> None:
    def write(log: RankLog) -> None:
        log.collective("broadcast", 1000.0, root=ranks - 1)
        log.collective("barrier")
        log.collective("allgather", 64.0)

    steps = "[broadcast: {bytes: 1000, root: P - 1}, barrier: {}, allgather: {bytes: 64}]"
    same = sc.simulate(workload(steps), "crossbar-16", {"P": ranks}, effects="none")
    result = simulated(built(ranks, write))
    assert result.makespan_s == pytest.approx(same.makespan_s, rel=1e-12)
    assert result.messages == same.messages


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_parts_of_any_size_are_the_messages_of_linear_and_ring_algorithms(ranks: int) -> None:
    """The product has sizes by rank in workload files; equal ones are summed by hand as well."""

    def write(log: RankLog) -> None:
        log.gather_parts(100.0 * (log.rank + 1), 0, log.rank == 0, ranks)
        log.allgather_parts([100.0 * (rank + 1) for rank in range(ranks)])

    sizes = "bytes: 100*(rank + 1)"
    steps = f"[gather: {{{sizes}, algorithm: linear}}, allgather: {{{sizes}, algorithm: ring}}]"
    same = sc.simulate(workload(steps), "crossbar-16", {"P": ranks}, effects="none")
    result = simulated(built(ranks, write))
    assert (result.messages, result.message_bytes) == (same.messages, same.message_bytes)
    assert result.makespan_s == pytest.approx(same.makespan_s, rel=1e-12)


def test_scattered_parts_are_sent_one_after_another() -> None:
    sizes = [1e6, 2e6, 3e6]

    def write(log: RankLog) -> None:
        log.scatter_parts(sizes if log.rank == 1 else [], 1, log.rank == 1)

    assert simulated(built(3, write)).makespan_s == pytest.approx(message_s(1e6) + message_s(3e6), rel=1e-12)


def test_exchanged_parts_go_in_pairs() -> None:
    """In turn k rank r sends to r + k: each turn takes the longest, as all wait for each other in a ring."""

    def write(log: RankLog) -> None:
        log.all_to_all_parts([1e6] * 4)

    result = simulated(built(4, write))
    assert result.messages == 12
    assert result.makespan_s == pytest.approx(3 * message_s(1e6), rel=1e-12)


def test_a_split_orders_members_by_key_and_maps_peers_and_roots() -> None:
    """Two communicators of three ranks, in the reverse order: member 0 is the highest rank."""
    builder = RecordingBuilder(6, "a.trace")
    for log in builder.logs:
        log.line = 1
        row = builder.communicators.split(0, log.rank, log.rank // 3, -log.rank, log.place)
        log.collective("reduce", 8.0, root=0, communicator=row)
        pair = builder.communicators.split(row, log.rank, None if log.rank % 3 == 0 else 0, 0, log.place)
        if log.rank % 3 == 2:  # member 0 of the row, and of the pair within it
            log.send(1, 80.0, communicator=pair)
        elif log.rank % 3 == 1:
            log.receive(0, communicator=pair)
    recording = builder.recording()
    calls = [one for one in recording.operations if one[0] == COLLECTIVE]
    assert [one[4] for one in calls] == [2]  # the highest of three, members in rank order
    assert [colour.tolist() for colour in recording.colours] == [[0] * 6, [0, 0, 0, 1, 1, 1]]
    sends = [(one[0], one[3]) for one in recording.operations if one[0] in ("send", "receive")]
    assert sorted(sends) == [("receive", 2), ("receive", 5), ("send", 1), ("send", 4)]


def test_communicators_of_the_same_ranks_do_not_take_each_others_messages() -> None:
    builder = RecordingBuilder(2, "a.trace")
    for log in builder.logs:
        log.line = 1
        other = builder.communicators.split(0, log.rank, 0, 0, log.place)
        if log.rank == 0:
            log.send(1, 10.0, communicator=other)
            log.send(1, 20.0)
        else:
            log.receive(0, 20.0)
            log.receive(0, 10.0, communicator=other)
    recording = builder.recording()
    tags = {one[0] + str(one[2]): one[4] for one in recording.operations}
    assert tags["send20.0"] != tags["send10.0"]


def _unmatched(log: RankLog) -> None:
    log.line = 7
    if log.rank == 0:
        log.send(1, 8.0)


def _too_long(log: RankLog) -> None:
    log.line = 7
    if log.rank == 0:
        log.send(1, 8.0)
    else:
        log.receive(0, 4.0)


def _no_such_rank(log: RankLog) -> None:
    log.line = 7
    log.send(2, 8.0)


def _others_call_otherwise(log: RankLog) -> None:
    log.line = 7
    log.collective("barrier" if log.rank else "allreduce", 0.0)


def _alone(log: RankLog) -> None:
    log.line = 7
    if log.rank == 0:
        log.collective("barrier")


def _not_a_number(log: RankLog) -> None:
    log.line = 7
    log.compute(float("nan"))


def _below_zero(log: RankLog) -> None:
    log.line = 7
    log.send(1 - log.rank, -8.0)


def _twice(log: RankLog) -> None:
    log.line = 7
    handle = log.start_receive(1 - log.rank)
    log.wait(handle)
    log.wait(handle)


@pytest.mark.parametrize(
    "write",
    [_unmatched, _too_long, _no_such_rank, _others_call_otherwise, _alone, _not_a_number, _below_zero, _twice],
)
def test_errors_name_the_line(write: Callable[[RankLog], None]) -> None:
    with pytest.raises(InputError) as raised:
        built(2, write)
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == ("a.trace", 7)


def test_errors_name_the_file_of_the_rank() -> None:
    builder = RecordingBuilder(2, "a", ["a.0", "a.1"])
    builder.logs[1].line = 3
    builder.logs[1].send(0, 8.0)
    with pytest.raises(InputError) as raised:
        builder.recording()
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == ("a.1", 3)


def test_deadlocks_name_the_file_of_the_rank() -> None:
    builder = RecordingBuilder(2, "a", ["a.0", "a.1"])
    for log in builder.logs:
        log.line = 5
        log.receive(1 - log.rank)
        log.send(1 - log.rank, 8.0)
    with pytest.raises(sc.DeadlockError, match=r"a\.1:5"):
        sc.simulate(workload_of_recording(builder.recording(), "a"), "crossbar-16", effects="none")


@pytest.mark.parametrize("write", ["all_split", "stranger"])
def test_communicators_that_cannot_be(write: str) -> None:
    builder = RecordingBuilder(3, "a.trace")
    if write == "all_split":  # but for rank 2
        for log in builder.logs[:2]:
            log.line = 2
            builder.communicators.split(0, log.rank, 0, 0, log.place)
    else:
        log = builder.logs[2]
        log.line = 2
        log.collective("barrier", communicator=builder.communicators.listed([0, 1], log.place))
    with pytest.raises(InputError) as raised:
        builder.recording()
    assert raised.value.place is not None
    assert raised.value.place.line == 2


def test_phases_and_ranks() -> None:
    def write(log: RankLog) -> None:
        log.compute(1.0)
        log.phase("solve")
        log.compute(2.0)

    load = built(2, write)
    result = simulated(load)
    assert {name: parts["computation"] for name, parts in result.phases.items()} == {"main": 1.0, "solve": 2.0}
    with pytest.raises(InputError):
        sc.simulate(load, "crossbar-16", {"P": 3})


def test_a_recording_is_known_by_what_is_in_it() -> None:
    one, same = (built(2, lambda log: log.compute(1.0)) for _ in range(2))
    other = built(2, lambda log: log.compute(1.0 if log.rank else 2.0))
    digests = [load.program[0].digest for load in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]


def test_worker_processes_get_the_recording() -> None:
    load = built(2, lambda log: log.send(1, 1e6) if log.rank == 0 else log.receive(0))
    copy = pickle.loads(pickle.dumps(load))
    assert sc.simulate(copy, "crossbar-16", effects="none").makespan_s == simulated(load).makespan_s
    assert digest(copy) == digest(load)
