"""Files of recordings: what is written is read again, damage is an InputError, whatever it is."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.file import HEADER, VERSION, read_recording, write_recording
from tests import examples


@sc.program
def everything(rank: int, size: int) -> Iterator[Any]:
    """One of each operation that a file holds."""
    row = sc.rank.group(rank // 2)
    yield sc.rank.compute(flops=1e6 * (rank + 1))
    yield sc.rank.compute(seconds=1e-3 / 3)
    yield sc.rank.phase("exchange")
    receives = yield sc.rank.start(sc.rank.receive((rank - 1) % size, tag=4))
    sends = yield sc.rank.start(sc.rank.send((rank + 1) % size, bytes=1e5 / 3, tag=4))
    yield sc.rank.compute(instructions=1e5)
    yield sc.rank.wait(receives, sends)
    yield sc.rank.world.broadcast(bytes=1e4, root=size - 1, algorithm="chain", segment=1e3)
    yield sc.rank.world.reduce(bytes=1e4, order="far")
    yield sc.rank.world.allreduce(bytes=64, algorithm="auto")
    assert row is not None
    yield row.barrier()
    yield sc.rank.write(bytes=1e4, times=2)


def recorded(load: sc.Workload, ranks: int) -> Recording:
    """What the ranks of a program in Python do."""
    step = load.program[0]
    assert isinstance(step, RecordedProgram)
    return step.recorded(ranks, {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of all operations of four ranks."""
    write_recording(recorded(everything, 4), tmp_path / "all.recording.npz")
    return tmp_path / "all.recording.npz"


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_it_simulates_to_the_last_bit_as_the_program(path: Path, engine: str) -> None:
    read, direct = (
        sc.simulate(load, "torus-cluster", {"P": 4}, timeline=True, engine=engine) for load in (str(path), everything)
    )
    assert read.makespan_s == direct.makespan_s
    assert read.timeline.phases == direct.timeline.phases
    for column in ("start_s", "finish_s", "rank", "phase"):
        assert getattr(read.timeline, column).tolist() == getattr(direct.timeline, column).tolist()
    assert (
        sc.forecast(str(path), "torus-cluster").makespan_s
        == sc.forecast(everything, "torus-cluster", {"P": 4}).makespan_s
    )


def test_it_is_the_same_recording(path: Path) -> None:
    one, other = read_recording(path), recorded(everything, 4)
    assert (one.operations, one.phases, one.file) == (other.operations, other.phases, other.file)
    for column in ("first", "op", "phase", "line", "started", "waits_for", "colours"):
        assert np.array_equal(getattr(one, column), getattr(other, column))


def test_two_writings_are_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_recording(read_recording(path), tmp_path / "again.recording.npz")
    assert (tmp_path / "again.recording.npz").read_bytes() == path.read_bytes()


def test_uses_of_memory_are_refused(tmp_path: Path) -> None:
    @sc.program
    def loads(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.memory(accesses=1000, stack_distance=1)

    with pytest.raises(InputError) as raised:
        write_recording(recorded(loads, 1), tmp_path / "a.recording.npz")
    assert raised.value.place is not None
    assert raised.value.place.line == test_uses_of_memory_are_refused.__code__.co_firstlineno + 3
    assert not (tmp_path / "a.recording.npz").exists()


def changed(path: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> None:
    """Write the file again with another header, or other arrays."""
    with np.load(path) as parts:
        arrays = dict(parts)
    header = json.loads(arrays.pop(HEADER).tobytes())
    change(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez_compressed(path, **{HEADER: text, **arrays})


def test_a_newer_version_is_an_error_that_names_it(path: Path) -> None:
    changed(path, lambda header, _: header.update(version=VERSION + 1))
    with pytest.raises(InputError) as raised:
        sc.Workload.load(str(path))
    assert raised.value.value == VERSION + 1


CHANGES: list[Callable[[dict[str, Any], dict[str, np.ndarray]], None]] = [
    lambda header, _: header.update(format="other"),
    lambda header, _: header.update(operations=[["compute", "flops", -1.0]]),
    lambda header, _: header.update(operations=[["send", "send", 8, 9, 0]] * 99),
    lambda header, _: header.update(operations=[["collective", "broadcast", 8, "two_level", 0, [], 0]] * 99),
    lambda header, _: header.update(operations=[["collective", "broadcast", 8, ["x"], 0, [], 0]] * 99),
    lambda header, _: header.update(operations=[["collective", "broadcast", 8, "linear", 0, [2], 0]] * 99),
    lambda header, _: header.update(operations=[["collective", "broadcast", 8, "binomial", 0, [], 7]] * 99),
    lambda header, _: header.update(operations=[]),
    lambda header, _: header.update(operations=3),
    lambda header, _: header.update(phases=[]),
    lambda header, _: header.update(phases=[3]),
    lambda header, _: header.update(files=["a"]),
    lambda _, arrays: arrays.update(op=arrays["op"] + 100),
    lambda _, arrays: arrays.update(op=arrays["op"][:-1]),
    lambda _, arrays: arrays.update(op=arrays["op"].astype(float)),
    lambda _, arrays: arrays.update(first=arrays["first"][::-1].copy()),
    lambda _, arrays: arrays.update(started=~arrays["started"]),
    lambda _, arrays: arrays.update(waits_for=np.full_like(arrays["waits_for"], -1)),
    lambda _, arrays: arrays.update(colours=arrays["colours"][:, :2]),
    lambda _, arrays: arrays.update(colours=arrays["colours"] - 1),
    lambda _, arrays: arrays.update(colours=arrays["colours"][:0]),
    lambda _, arrays: arrays.pop("line"),
    lambda _, arrays: arrays.update(line=np.array(["x"] * len(arrays["line"]))),
    lambda _, arrays: arrays.update(line=np.array([{}] * len(arrays["line"]), object)),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_what_does_not_fit_together_is_an_input_error(path: Path, number: int) -> None:
    changed(path, CHANGES[number])
    with pytest.raises(InputError) as raised:
        read_recording(path)
    assert raised.value.place is not None
    assert raised.value.place.file == str(path)


def test_an_array_that_says_it_is_huge(path: Path) -> None:
    """Its header states 2^60 entries; the file has none."""
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<i8", "fortran_order": False, "shape": (2**60,)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra", b"")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["op.npy"] = array.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(InputError):
        read_recording(path)


@given(st.data())
@settings(max_examples=examples(300))
def test_any_damage_is_an_input_error_or_none(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Bytes that are changed or cut off: the checksums of ZIP find the rest."""
    path = tmp_path_factory.getbasetemp() / "damaged.recording.npz"
    write_recording(recorded(everything, 2), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        recording = read_recording(path)
    except InputError:
        return
    assert recording.operations == recorded(everything, 2).operations
