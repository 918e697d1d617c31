"""Binary GOAL files: what a writer by the layout writes is read again, and damaged files are refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPUTE, RECEIVE, SEND
from simcodesign.describe.goal.binary import read_binary_goal
from simcodesign.describe.goal.format import read_goal
from simcodesign.describe.goal.schedule import ANY, Schedule
from simcodesign.describe.yaml.files import load_workload
from simcodesign.engine.simulate import simulate
from tests import examples
from tests.describe.goal.test_goal import EXAMPLE, texts

TYPES = {SEND: 1, RECEIVE: 2, COMPUTE: 3}
HEADER = 8
OPERATION_BYTES = 39


def section(schedule: Schedule, rank: int) -> bytes:
    """The operations of a rank, then who waits for their ends and their beginnings."""
    low, high = (int(place) for place in schedule.first[rank : rank + 2])
    waits = np.bincount(schedule.edge_target, minlength=len(schedule))[low:high]
    roots = [op for op in range(high - low) if not waits[op]]
    operations, waiting = b"", []
    for op in range(low, high):
        kind, peer = int(schedule.kind[op]), int(schedule.peer[op])
        amount = schedule.calc_s[op] * 1e9 if kind == COMPUTE else schedule.size_bytes[op]
        peer = 2**32 - 1 if peer == ANY else max(peer, 0)
        tag = int(schedule.tag[op]) % 2**32
        fields = [waits[op - low], TYPES[kind], peer, round(float(amount)), tag, schedule.cpu[op], schedule.nic[op]]
        for early in (False, True):
            edges = range(*schedule.edge_start[op : op + 2])
            those = [int(schedule.edge_target[edge]) - low for edge in edges if schedule.edge_early[edge] == early]
            fields += [len(those), len(waiting)]
            waiting += those
        operations += struct.pack("<IbIQIBBIIII", *(int(field) for field in fields))
    head = struct.pack(f"<II{len(roots)}I", high - low, len(roots), *roots)
    return head + operations + struct.pack(f"<{len(waiting)}I", *waiting)


def written(schedule: Schedule) -> bytes:
    """A schedule as binary GOAL."""
    sections = [section(schedule, rank) for rank in range(schedule.ranks)]
    ends = 6 + 16 * schedule.ranks + np.cumsum([0, *(len(part) for part in sections)])
    bounds = [int(bound) for pair in pairwise(ends) for bound in pair]
    most = [int(max(array, default=0)) for array in (schedule.cpu, schedule.nic)]
    head = struct.pack(f"<QIBB{len(bounds)}Q", 4223, schedule.ranks, *most, *bounds)
    return head + b"".join(sections)


def comparable(schedule: Schedule) -> list[object]:
    """All that a schedule says; the edges of an operation in any order."""
    source = np.repeat(np.arange(len(schedule)), np.diff(schedule.edge_start)).tolist()
    edges = sorted(zip(source, schedule.edge_target.tolist(), schedule.edge_early.tolist(), strict=True))
    names = ("first", "kind", "peer", "size_bytes", "calc_s", "tag", "cpu", "nic")
    return [edges, *((getattr(schedule, name).dtype, getattr(schedule, name).tolist()) for name in names)]


def of_text(folder: Path, text: str) -> Schedule:
    (folder / "a.goal").write_bytes(text.encode())
    return read_goal(folder / "a.goal")


def read(folder: Path, data: bytes) -> Schedule:
    (folder / "a.bin").write_bytes(data)
    return read_binary_goal(folder / "a.bin")


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=texts())
def test_reading_gives_what_was_written(tmp_path: Path, text: str) -> None:
    schedule = of_text(tmp_path, text)
    again = read(tmp_path, written(schedule))
    assert comparable(again) == comparable(schedule)
    assert again.name == "a"


def test_a_binary_schedule_is_a_workload(tmp_path: Path) -> None:
    as_text = tmp_path / "run.goal"
    as_text.write_text(EXAMPLE)
    (tmp_path / "run.bin").write_bytes(written(read_goal(as_text)))
    runs = [simulate(str(tmp_path / name), "crossbar-16", effects="none") for name in ("run.goal", "run.bin")]
    assert runs[0].makespan_s == runs[1].makespan_s > 0
    assert load_workload(tmp_path / "run.bin").name == "run"


def changed(data: bytes, at: int, form: str, value: int) -> bytes:
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


#: Of EXAMPLE: the header, the bounds of two ranks, then the section of rank 0: two counts, one root, three operations.
FIRST = HEADER + 6 + 2 * 16
OPERATIONS = FIRST + 8 + 4
WRONG: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "text": (lambda data: EXAMPLE.encode(), "no binary GOAL schedule"),
    "empty": (lambda data: b"", "no binary GOAL schedule"),
    "used up": (lambda data: changed(data, 0, "<Q", 2342), "has used up"),
    "another magic": (lambda data: changed(data, 0, "<Q", 4224), "no binary GOAL schedule"),
    "no ranks": (lambda data: changed(data, HEADER, "<I", 0), "without ranks"),
    "many ranks": (lambda data: changed(data, HEADER, "<I", 2**32 - 1), "ends too early"),
    "cut": (lambda data: data[:-1], "section of rank 1"),
    "a section elsewhere": (lambda data: changed(data, HEADER + 6, "<Q", 2**63), "section of rank 0"),
    "many operations": (lambda data: changed(data, FIRST, "<I", 2**31), "ends too early"),
    "many roots": (lambda data: changed(data, FIRST + 4, "<I", 2**31), "ends too early"),
    "one more operation": (lambda data: changed(data, FIRST, "<I", 4), "ends before its operations"),
    "type": (lambda data: changed(data, OPERATIONS + 4, "<b", 4), "type of operation 1 of rank 0"),
    "negative type": (lambda data: changed(data, OPERATIONS + 4, "<b", -1), "type of operation 1 of rank 0"),
    "peer": (lambda data: changed(data, OPERATIONS + 5, "<I", 2), "peer of operation 1 of rank 0"),
    "to anyone": (lambda data: changed(data, OPERATIONS + 5, "<I", 2**32 - 1), "peer of operation 1 of rank 0"),
    "amount": (lambda data: changed(data, OPERATIONS + 9, "<Q", 2**63), "amount of operation 1 of rank 0"),
    "a count": (lambda data: changed(data, OPERATIONS, "<I", 1), "waits for another number"),
    "a place": (lambda data: changed(data, OPERATIONS + 27, "<I", 99), "outside of its section"),
    "no operation": (lambda data: changed(data, OPERATIONS + 3 * OPERATION_BYTES, "<I", 3), "of no operation"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(tmp_path: Path, name: str) -> None:
    damage, what = WRONG[name]
    data = written(of_text(tmp_path, EXAMPLE))
    with pytest.raises(InputError, match=what) as caught:
        read(tmp_path, damage(data))
    assert "a.bin" in str(caught.value)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), text=texts())
def test_damaged_files_are_read_or_refused(tmp_path: Path, data: st.DataObject, text: str) -> None:
    whole = bytearray(written(of_text(tmp_path, text)))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    kept = data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))
    with suppress(InputError):
        read(tmp_path, bytes(whole[:kept]))
