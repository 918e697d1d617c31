"""Recordings as time-independent traces: what is written is read again, and simulates to the last bit as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.describe.recordings.readers.time_independent import read_time_independent
from simcodesign.describe.recordings.workload import workload_of_recording
from simcodesign.describe.recordings.write_time_independent import write_time_independent
from tests import examples
from tests.describe.recordings.test_file import recorded


def times(load: sc.Workload | str, ranks: int, machine: str = "torus-cluster") -> list[list[float]]:
    """When every operation that takes time starts and ends, rank by rank, with all effects."""
    timeline = sc.simulate(load, machine, {"P": ranks}, timeline=True).timeline
    rows = zip(timeline.rank.tolist(), timeline.start_s.tolist(), timeline.finish_s.tolist(), strict=True)
    return sorted([*row] for row in rows if row[2] > row[1])


@sc.program
def everything(rank: int, size: int) -> Iterator[Any]:
    """One of each operation that a time-independent trace can say."""
    yield sc.rank.compute(flops=1e7 / 3 * (rank + 1))
    yield sc.rank.compute(seconds=1e-3 / 3)
    handles = []
    for size_bytes in (1e5 / 3, 2e5):
        handles.append((yield sc.rank.start(sc.rank.receive((rank - 1) % size, tag=4))))
        handles.append((yield sc.rank.start(sc.rank.send((rank + 1) % size, bytes=size_bytes, tag=4))))
    yield sc.rank.wait(*handles)
    yield sc.rank.send(1, bytes=1e6) if rank == 0 else sc.rank.compute(flops=1e6)
    if rank == 1:
        yield sc.rank.receive(0, bytes=1e6)
    for name in ("broadcast", "reduce", "gather", "scatter"):
        yield getattr(sc.rank.world, name)(1e4 / 3, root=size - 1)
    for name in ("allreduce", "scan", "allgather", "all_to_all"):
        yield getattr(sc.rank.world, name)(1e4 / 3)
    yield sc.rank.world.reduce_scatter(1e4 + 1)
    yield sc.rank.world.barrier()


@pytest.mark.parametrize("ranks", [2, 5, 8])
@pytest.mark.parametrize("machine", ["torus-cluster", "crossbar-16"])
def test_it_simulates_to_the_last_bit_as_the_program(tmp_path: Path, ranks: int, machine: str) -> None:
    assert write_time_independent(recorded(everything, ranks), tmp_path / "a.ti") == []
    assert times(str(tmp_path / "a.ti"), ranks, machine) == times(everything, ranks, machine)
    one, other = (sc.forecast(load, machine, {"P": ranks}).makespan_s for load in (str(tmp_path / "a.ti"), everything))
    assert one == other


def test_simulate_writes_what_it_simulates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    builder = RecordingBuilder(2, "a")
    for log in builder.logs:
        log.send(1, 1e6) if log.rank == 0 else log.receive(0)
    write_time_independent(builder.recording(), tmp_path / "a.ti")
    line = "simulate a.ti crossbar-16 --write b.ti --write b.recording.npz --write b.goal"
    assert cli.main(line.split()) == 0
    assert (tmp_path / "b.ti").read_text() == (tmp_path / "a.ti").read_text()
    loads = ["./a.ti", "b.recording.npz", "b.goal"]
    assert len({sc.simulate(load, "crossbar-16", effects="none").makespan_s for load in loads}) == 1
    assert cli.main(["simulate", "jacobi", "crossbar-16", "-P", "4", "--set", "sweeps=1", "--write", "c.ti"]) != 0


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    @sc.program
    def other(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.phase("second")
        yield sc.rank.world.broadcast(8, algorithm="chain")
        yield sc.rank.phase("third")
        yield sc.rank.world.barrier()

    assert len(write_time_independent(recorded(other, 2), tmp_path / "a.ti")) == 2


def _of_a_group(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.group(rank // 2).barrier()


def _instructions(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.compute(instructions=1)


def _disk(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.read(bytes=8)


def _started(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.wait((yield sc.rank.start(sc.rank.world.barrier())))


def _anyone(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.receive() if rank == 0 else sc.rank.send(0, bytes=8)


def _parts_of_bytes(rank: int, size: int) -> Iterator[Any]:
    yield sc.rank.world.reduce_scatter(0.5)


def _other_order(rank: int, size: int) -> Iterator[Any]:
    handles = []
    for size_bytes in (8, 16):
        operation = sc.rank.send(1, bytes=size_bytes) if rank == 0 else sc.rank.receive(0)
        handles.append((yield sc.rank.start(operation if rank < 2 else sc.rank.write(bytes=0))))
    yield sc.rank.wait(*reversed(handles))


@pytest.mark.parametrize(
    "function", [_of_a_group, _instructions, _disk, _started, _anyone, _parts_of_bytes, _other_order]
)
def test_what_such_a_trace_cannot_say_is_an_error(tmp_path: Path, function: Callable[..., Any]) -> None:
    ranks = 2 if function in (_anyone, _other_order) else 4
    with pytest.raises(InputError) as raised:
        write_time_independent(recorded(sc.program(function), ranks), tmp_path / "a.ti")
    assert raised.value.place is not None
    assert raised.value.place.file == __file__
    assert not (tmp_path / "a.ti").exists()


_actions = st.one_of(
    st.tuples(st.just("compute"), st.floats(0, 1e9)),
    st.tuples(st.sampled_from(["message", "started"]), st.integers(0, 2), st.integers(1, 2), st.floats(0, 1e6)),
    st.tuples(st.sampled_from(["broadcast", "allreduce", "all_to_all"]), st.floats(0, 1e5)),
)


@given(st.lists(_actions, max_size=8))
@settings(max_examples=examples(100))
def test_any_recording_comes_back(tmp_path_factory: pytest.TempPathFactory, actions: list[Any]) -> None:
    """Three ranks do the same list of actions, in which they exchange messages."""
    builder = RecordingBuilder(3, "a")
    for log in builder.logs:
        for action in actions:
            _act(log, action)
    recording = builder.recording()
    path = tmp_path_factory.getbasetemp() / "any.ti"
    write_time_independent(recording, path)
    again = read_time_independent(path)
    assert times(workload_of_recording(again, "a"), 3) == times(workload_of_recording(recording, "a"), 3)


def _act(log: RankLog, action: Any) -> None:
    match action:
        case ("compute", amount):
            log.compute(amount, "flops")
        case ("message" | "started" as kind, source, distance, size_bytes):
            target = (source + distance) % 3
            if log.rank == source:
                log.start_send(target, size_bytes, 7) if kind == "started" else log.send(target, size_bytes, 7)
            elif log.rank == target:
                log.start_receive(source, tag=7) if kind == "started" else log.receive(source, tag=7)
        case (name, size_bytes):
            log.collective(name, size_bytes)
