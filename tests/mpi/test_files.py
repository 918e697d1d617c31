"""Files that ranks open together: data as MPI's standard defines them, times against closed forms of the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine

Runner = Callable[..., Any]

ACCESSES = """
import os, sys
name = os.path.join(os.path.dirname(os.path.abspath(__file__)), f'data{size}.bin')
file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_size(0)
comm.Barrier()
mine = np.arange(3.0) + 10 * rank
whole = np.concatenate([np.arange(3.0) + 10 * r for r in range(size)])
file.Write_at_all(rank * mine.nbytes, mine)
file.Sync()
comm.Barrier()
assert file.Get_size() == file.size == 24 * size and file.Get_position() == 0
room, status = np.zeros(3 * size), MPI.Status()
file.Read_at(0, room, status)
assert room.tolist() == whole.tolist() and status.Get_count(MPI.DOUBLE) == 3 * size
file.Set_view(8, MPI.DOUBLE)
assert file.Get_view()[0] == 8 and file.Get_byte_offset(2) == 24 and file.Get_type_extent(MPI.INT) == 4
room = np.zeros(2)
file.Seek(3 * rank)
file.Read(room)
assert room.tolist() == [10 * rank + 1, 10 * rank + 2] and file.Get_position() == 3 * rank + 2
file.Seek(-1, MPI.SEEK_CUR)
file.Read_all(room[:1])
assert room[0] == 10 * rank + 2
file.Seek(-1, MPI.SEEK_END)
file.Iread(room[:1]).Wait()
assert room[0] == 10 * (size - 1) + 2
file.Seek(3 * size - 2)
room[:] = -1
file.Read(room, status)  # one element is left
assert room.tolist() == [10 * (size - 1) + 2, -1] and status.Get_count(MPI.DOUBLE) == 1
comm.Barrier()
file.Iwrite_at(rank, np.array([rank + 0.5])).Wait()
file.Sync()
comm.Barrier()
file.Sync()
file.Set_view(0, MPI.DOUBLE)
request = file.Iread_at(0, room)
request.Wait()
assert room.tolist() == [0, 0.5]
file.Write_ordered(np.full(rank + 1, float(rank)))
total = size * (size + 1) // 2
assert file.Get_position_shared() == total
file.Sync()
comm.Barrier()
file.Sync()
room = np.zeros(total)
file.Read_at_all_begin(0, room)
file.Read_at_all_end(room)
assert room.tolist() == [r for r in range(size) for _ in range(r + 1)]
file.Seek_shared(0)
one = np.zeros(1)
file.Read_shared(one)
comm.Barrier()
assert file.Get_position_shared() == size and sorted(comm.allgather(one[0])) == room[:size].tolist()
comm.Barrier()
file.Preallocate(4)
assert file.Get_size() >= 8 * total and file.Get_amode() & MPI.MODE_RDWR
file.Close()
assert comm.rank or os.path.getsize(name) >= 8 * total
file = MPI.File.Open(comm, name, MPI.MODE_RDONLY)
ints = np.zeros(2, 'i4')
file.Read_at(8 * (total - 1), [ints, MPI.INT])
assert ints.view('f8')[0] == size - 1
file.Close()
file = MPI.File.Open(comm, name, MPI.MODE_WRONLY | MPI.MODE_APPEND)
assert file.Get_position() == os.path.getsize(name)
file.Close()
comm.Barrier()
if rank == 0:
    MPI.File.Delete(name)
    assert not os.path.exists(name)
comm.Barrier()
try:
    MPI.File.Open(comm, name)
    assert False
except MPI.Exception:
    pass
"""


@pytest.mark.parametrize("ranks", [1, 4])
def test_data_of_accesses(ran: Runner, ranks: int) -> None:
    done = ran(ACCESSES, ranks)
    assert sc.forecast(done.workload, "torus-cluster", {"P": float(ranks)}).makespan_s > 0


def test_a_program_writes_what_another_reads(ran: Runner, tmp_path: Path) -> None:
    """Rows of a matrix, against NumPy's file of it."""
    matrix = np.arange(24.0).reshape(6, 4)
    matrix.tofile(tmp_path / "given.bin")
    text = f"""
    rows = np.zeros((2, 4))
    file = MPI.File.Open(comm, {str(tmp_path / "given.bin")!r})
    file.Read_at_all(rank * rows.nbytes, rows)
    file.Close()
    file = MPI.File.Open(MPI.COMM_SELF, {str(tmp_path)!r} + f'/{{rank}}.bin', MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write(rows.T.copy())
    file.Close()
    """
    ran(text, 3)
    for rank in range(3):
        own = np.fromfile(tmp_path / f"{rank}.bin").reshape(4, 2)
        assert np.array_equal(own, matrix[2 * rank : 2 * rank + 2].T)


def test_blocks_of_a_matrix(ran: Runner, tmp_path: Path) -> None:
    """A view of a block each, of 6 x 8 numbers on 2 x 2 ranks; and of every fourth number, in two accesses."""
    name = str(tmp_path / "matrix.bin")
    matrix = np.arange(48.0).reshape(6, 8)
    text = f"""
    x, y = divmod(rank, 2)
    block = MPI.DOUBLE.Create_subarray([6, 8], [3, 4], [3 * x, 4 * y]).Commit()
    file = MPI.File.Open(comm, {name!r}, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(0, MPI.DOUBLE, block)
    mine = np.arange(48.0).reshape(6, 8)[3 * x : 3 * x + 3, 4 * y : 4 * y + 4].copy()
    file.Write_all(mine)
    file.Sync()
    comm.Barrier()
    file.Sync()
    room = np.zeros(5)
    file.Read_at(5, room)
    assert room.tolist() == mine.ravel()[5:10].tolist()
    file.Set_view(8 * rank, MPI.DOUBLE, MPI.DOUBLE.Create_vector(3, 1, 4).Create_resized(0, 96).Commit())
    file.Read(room)
    file.Read(room)
    assert room.tolist() == [4.0 * i + rank for i in range(5, 10)]
    assert file.Get_byte_offset(4) == 8 * (16 + rank)
    """
    ran(text, 4)
    assert np.array_equal(np.fromfile(name).reshape(6, 8), matrix)


def test_times_of_accesses(ran: Runner, tmp_path: Path) -> None:
    """A write takes 6 ms and 400 MB/s on torus-cluster, a read 5 ms; one that was begun is hidden by computation."""
    name = str(tmp_path / "data.bin")
    text = f"""
    import time
    file = MPI.File.Open(comm, {name!r}, MPI.MODE_CREATE | MPI.MODE_RDWR)
    room = np.zeros(4000, 'u1')
    file.Write_at(0, room)
    file.Read_at(0, room)
    request = file.Iwrite_at(0, room)
    time.sleep(1)
    request.Wait()
    """
    done = ran(text, 1)
    simulated = sc.simulate(done.workload, "torus-cluster", {"P": 1}, effects="none")
    assert simulated.disk_bytes == 3 * 4000
    assert simulated.makespan_s == pytest.approx(1 + 0.006 + 0.005 + 2 * 4000 / 400e6, rel=1e-12)


def test_a_shared_pointer_is_used_in_the_order_of_time(ran: Runner, tmp_path: Path) -> None:
    name = str(tmp_path / "log.bin")
    text = f"""
    import time
    file = MPI.File.Open(comm, {name!r}, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    time.sleep(size - rank)
    file.Write_shared(np.full(2, rank, 'u1'))
    file.Close()
    """
    ran(text, 3)
    assert list(Path(name).read_bytes()) == [2, 2, 1, 1, 0, 0]


def test_a_machine_without_disks(ran: Runner, tmp_path: Path) -> None:
    network = {"topology": {"kind": "crossbar"}, "startup": "10 us", "bandwidth": "100 MB/s"}
    head = {"simcodesign": 1, "name": "two", "nodes": 2, "processor": {"rate": "1 GFLOP/s"}}
    machine = Machine.load({**head, "network": network})
    text = f"MPI.File.Open(comm, {str(tmp_path / 'x')!r}, MPI.MODE_CREATE | MPI.MODE_RDWR).Write(np.zeros(1))"
    done = ran(text, 2, machine)
    with pytest.raises(InputError, match="disk"):
        sc.simulate(done.workload, machine, {"P": 2})


OPENED = "file = MPI.File.Open(comm, {name!r}, MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
WRONG = [
    ("MPI.File.Open(comm, {name!r})", r"data\.bin cannot be opened: No such file"),
    ("MPI.File.Open(comm, {name!r}, MPI.MODE_CREATE)", r"read or written, got 1"),
    ("MPI.File.Open(comm, {name!r} + str(rank), MPI.MODE_CREATE | MPI.MODE_RDWR)", r"different files or modes"),
    ("MPI.File.Open(comm, '/dev/zero')", r"/dev/zero cannot be opened: .*allowed: a regular file"),
    (OPENED + "MPI.File.Open(comm, {name!r}, MPI.MODE_RDONLY).Write(np.zeros(1))", r"data\.bin is written.*opened for reading .allowed: reads only"),
    (OPENED + "MPI.File.Open(comm, {name!r}, MPI.MODE_WRONLY).Read(np.zeros(1))", r"data\.bin is read.*opened for writing .allowed: writes only"),
    (OPENED + "MPI.File.Open(comm, {name!r}, MPI.MODE_CREATE | MPI.MODE_EXCL | MPI.MODE_RDWR)", r"File exists"),
    (OPENED + "file.Set_view(0, MPI.DOUBLE)\nfile.Write(np.zeros(3, 'i4'))", r"of an element, got 12 \(allowed: a multiple of 8"),
    (OPENED + "file.Set_view(0, MPI.DOUBLE, MPI.DOUBLE_INT)", r"the element's size, got 12"),
    (OPENED + "file.Seek(-1)", r"in the file, got -1"),
    (OPENED + "file.Close() if rank == 0 else file.Sync()", r"calls File\.(Sync|Close), another calls File\.(Close|Sync)"),
    ("MPI.File.Delete({name!r})", r"data\.bin cannot be removed: No such file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), WRONG)
def test_what_is_wrong_is_said(ran: Runner, tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=r"program\.py:\d: " + ".*" + match):
        ran(text.format(name=str(tmp_path / "data.bin")), 2)
