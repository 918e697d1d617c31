"""Derived datatypes: what is sent, against NumPy's indexing; bounds, against MPI 4.1, chapter 5."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simcodesign.core.errors import InputError
from tests.mpi.programs import run_text


def test_parts_of_an_array_arrive_as_numpy_indexes_them(tmp_path: Path) -> None:
    """Each pair: a datatype and the same elements by NumPy, sent as the type and received as a row, and back."""
    run_text(
        tmp_path,
        """
        a = np.arange(60.0).reshape(5, 12)
        flat = a.ravel()
        pairs = [
            (MPI.DOUBLE.Create_vector(5, 1, 12), a[:, 0]),
            (MPI.DOUBLE.Create_vector(5, 3, 12), a[:, :3]),
            (MPI.DOUBLE.Create_hvector(3, 2, 160), flat[:60].reshape(3, 20)[:, :2]),
            (MPI.DOUBLE.Create_contiguous(7), flat[:7]),
            (MPI.DOUBLE.Create_indexed([2, 0, 3], [50, 3, 4]), np.r_[flat[50:52], flat[4:7]]),
            (MPI.DOUBLE.Create_hindexed([1, 2], [80, 8]), np.r_[flat[10], flat[1:3]]),
            (MPI.DOUBLE.Create_indexed_block(2, [9, 0, 20]), np.r_[flat[9:11], flat[:2], flat[20:22]]),
            (MPI.DOUBLE.Create_hindexed_block(1, [16, 8]), flat[[2, 1]]),
            (MPI.DOUBLE.Create_subarray([5, 12], [3, 4], [1, 6]), a[1:4, 6:10]),
            (MPI.DOUBLE.Create_subarray([12, 5], [4, 3], [6, 1], order=MPI.ORDER_F), a[1:4, 6:10]),
            (MPI.DOUBLE.Create_subarray([3, 4, 5], [2, 2, 3], [1, 0, 2]), a.reshape(3, 4, 5)[1:3, :2, 2:5]),
            (MPI.DOUBLE.Create_vector(2, 1, 3).Create_hvector(2, 1, 96), a[:2, 0:6:3]),
            (MPI.Datatype.Create_struct([1, 2], [0, 24], [MPI.DOUBLE, MPI.DOUBLE]), flat[[0, 3, 4]]),
        ]
        for kind, chosen in pairs:
            kind.Commit()
            assert kind.Get_size() == chosen.nbytes
            if rank == 0:
                comm.Send([a, 1, kind], 1)
                comm.Send(np.ascontiguousarray(chosen), 1)
            else:
                row, whole, status = np.zeros(chosen.size), np.zeros_like(a), MPI.Status()
                comm.Recv(row, 0, status=status)
                assert (row == chosen.ravel()).all(), kind
                assert status.Get_count(kind) == 1 and status.Get_elements(kind) == chosen.size
                comm.Recv([whole, 1, kind], 0)
                assert whole.sum() == chosen.sum() and (np.sort(whole[whole > 0]) == np.sort(chosen[chosen > 0])).all()
                assert (whole[whole > 0] == a[whole > 0]).all()
            kind.Free()
        """,
        2,
    )


def test_bounds_of_derived_datatypes(tmp_path: Path) -> None:
    """By hand from MPI 4.1, section 5.1: type map {(double, 0), (char, 8)} has extent 16, and so on."""
    run_text(
        tmp_path,
        """
        D, C, I = MPI.DOUBLE, MPI.CHAR, MPI.INT
        struct = MPI.Datatype.Create_struct([1, 1], [0, 8], [D, C])
        assert (struct.Get_size(), struct.Get_extent(), struct.Get_true_extent()) == (9, (0, 16), (0, 9))
        assert struct.Create_contiguous(2).Get_extent() == (0, 32)
        assert struct.Create_contiguous(2).Get_true_extent() == (0, 25)
        assert D.Create_vector(3, 2, 4).Get_extent() == (0, 80)
        assert D.Create_vector(3, 2, -4).Get_extent() == (-64, 80)
        assert I.Create_indexed([1, 1], [5, 2]).Get_extent() == (8, 16)
        short = D.Create_vector(3, 1, 4).Create_resized(0, 8)
        assert (short.Get_extent(), short.Get_true_extent()) == ((0, 8), (0, 72))
        assert short.Create_contiguous(3).Get_extent() == (0, 24)
        assert MPI.Datatype.Create_struct([1, 1], [0, 100], [short, D]).Get_extent() == (0, 8)
        part = I.Create_subarray([6, 7], [2, 3], [1, 2])
        assert (part.Get_size(), part.Get_extent(), part.Get_true_extent()) == (24, (0, 168), (36, 40))
        assert (part.lb, part.ub, part.extent, part.size) == (0, 168, 168, 24)
        assert (MPI.DOUBLE_INT.Get_size(), MPI.DOUBLE_INT.Get_extent()) == (12, (0, 16))
        assert D.Get_name() == 'MPI_DOUBLE' and D.is_predefined and not part.is_predefined
        copied = part.Dup()
        part.Free()
        assert copied.Get_extent() == (0, 168)
        """,
        1,
    )


def test_a_distributed_array_is_whole(tmp_path: Path) -> None:
    """Rows in blocks, columns cyclic by two, on a 2 x 3 grid of ranks: each rank's part by NumPy."""
    run_text(
        tmp_path,
        """
        a = np.arange(7 * 13, dtype='i4').reshape(7, 13)
        kinds = [MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC]
        part = MPI.INT.Create_darray(6, rank, [7, 13], kinds, [MPI.DISTRIBUTE_DFLT_DARG, 2], [2, 3]).Commit()
        assert part.Get_extent() == (0, a.nbytes)
        down, across = divmod(rank, 3)
        mine = a[4 * down : 4 * down + 4][:, np.arange(13) // 2 % 3 == across]
        request = comm.Isend([a, 1, part], 0)
        if rank == 0:
            for source in range(size):
                packed = np.zeros(91, 'i4')
                comm.Recv(packed, source)
                comm.send(packed, source)
        request.Wait()
        assert (comm.recv(source=0)[: mine.size] == mine.ravel()).all()
        """,
        6,
    )


def test_collective_operations_of_derived_datatypes(tmp_path: Path) -> None:
    """Columns by resized vectors, halves by contiguous ones, and counts that are those of each rank."""
    run_text(
        tmp_path,
        """
        a = np.arange(12.0).reshape(3, 4)
        column = MPI.DOUBLE.Create_vector(3, 1, 4).Create_resized(0, 8).Commit()
        mine = np.zeros(3)
        comm.Scatter([a if rank == 0 else np.zeros(0), 1, column], [mine, 3, MPI.DOUBLE])
        assert (mine == a[:, rank]).all()
        back = np.zeros((3, 4))
        comm.Allgather(mine * 10, [back, 1, column])
        assert (back == 10 * a).all()
        comm.Gatherv(mine, [back, [1] * 4, [3, 2, 1, 0], column] if rank == 2 else None, root=2)
        assert (back == (a[:, ::-1] if rank == 2 else 10 * a)).all()
        third = MPI.DOUBLE.Create_vector(3, 1, 4).Commit()
        comm.Bcast([a if rank == 0 else back, 1, third])
        assert rank == 0 or (back[:, 0] == a[:, 0]).all() and (back[:, 1] != a[:, 0]).all()
        pair = MPI.DOUBLE.Create_contiguous(2).Commit()
        out = np.zeros(8)
        comm.Alltoall([np.arange(8.0) + 100 * rank, pair], [out, pair])
        assert (out == [100 * i + 2 * rank + j for i in range(4) for j in range(2)]).all()
        room = np.full(10, -1.0)
        comm.Gather([mine, 2, MPI.DOUBLE], [room, 2, MPI.DOUBLE])
        assert rank or room.tolist() == [0, 4, 1, 5, 2, 6, 3, 7, -1, -1]
        """,
        4,
    )


def test_packing(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        a, names = np.arange(12, dtype='i4').reshape(3, 4), b'abc'
        column = MPI.INT.Create_vector(3, 1, 4).Commit()
        room = bytearray(MPI.CHAR.Pack_size(3, comm) + column.Pack_size(1, comm))
        if rank == 0:
            at = MPI.CHAR.Pack(names, room, 0, comm)
            at = column.Pack(a, room, at, comm)
            assert at == len(room) == 15
            assert bytes(room) == names + a[:, 0].tobytes()
            comm.Send([room, MPI.PACKED], 1)
        else:
            comm.Recv([room, MPI.PACKED], 0)
            got, column_of = bytearray(3), np.zeros((3, 4), 'i4')
            at = MPI.CHAR.Unpack(room, 0, got, comm)
            assert column.Unpack(room, at, column_of, comm) == 15
            assert bytes(got) == names and (column_of[:, 0] == a[:, 0]).all() and not column_of[:, 1:].any()
        """,
        2,
    )


def test_structures_of_several_types(tmp_path: Path) -> None:
    """Records of NumPy with gaps, sent as a struct of MPI: fields arrive, gaps stay."""
    run_text(
        tmp_path,
        """
        record = np.dtype([('n', 'i4'), ('x', 'f8', 2), ('c', 'S1')], align=True)
        places = [record.fields[name][1] for name in record.names]
        kind = MPI.Datatype.Create_struct([1, 2, 1], places, [MPI.INT, MPI.DOUBLE, MPI.CHAR])
        kind = kind.Create_resized(0, record.itemsize).Commit()
        assert kind.Get_size() == 21 and kind.Get_extent() == (0, 32)
        a = np.array([(i, (i / 2, i / 4), b'x') for i in range(3)], record)
        if rank == 0:
            comm.Send([a, 3, kind], 1)
        else:
            bytes_ = np.full(3 * record.itemsize, 255, 'u1')
            comm.Recv([bytes_, 3, kind], 0)
            got = bytes_.view(record)
            assert all((got[name] == a[name]).all() for name in record.names)
            assert (bytes_[4:8] == 255).all()
        """,
        2,
    )


def test_count_and_place_of_a_buffer(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        a = np.arange(6, dtype='i4')
        if rank == 0:
            comm.Send([a, (2, 3), MPI.INT], 1)
            comm.Send([a, 2, 1, 'i'], 1)
            comm.Send(a, 0)
            comm.Recv(np.zeros(6, 'i4'), 0)
        else:
            b = np.zeros(6, 'i4')
            comm.Recv([b, 2, MPI.INT], 0)
            comm.Recv([b, (2, 4)], 0)
            assert b.tolist() == [3, 4, 0, 0, 1, 2]
        """,
        2,
    )


WRONG = [
    ("comm.Send([np.zeros(9), 1, MPI.DOUBLE.Create_vector(2, 1, 3)], rank)", "datatype of the program is not committed"),
    ("comm.Send([np.zeros(3), 1, MPI.DOUBLE.Create_vector(2, 1, 3).Commit()], rank)", r"outside its memory, got '1 elements from 0 on' .allowed: within 24 B"),
    ("comm.Send([np.zeros(5), MPI.DOUBLE.Create_contiguous(2).Commit()], rank)", r"number of elements, got 40 .allowed: a multiple of 16"),
    ("MPI.INT.Create_subarray([4], [3], [2])", "outside its array"),
    ("MPI.INT.Create_indexed([1, 2], [3])", "displacements has a wrong number of entries, got 1"),
    ("MPI.INT.Create_vector(1, -1, 1)", r"number of items, got \[-1\]"),
    ("MPI.Status().Get_elements(MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]))", "Get_elements"),
    ("comm.Send(np.zeros(2, object), rank)", "no datatype for this type of NumPy, got 'object'"),
    ("comm.Recv([b'abcd', MPI.BYTE], comm.Send(b'abcd', rank) or 0)", "into is read-only"),
    ("comm.Allgatherv(np.zeros(1), [np.zeros(1), [1, 1]])", r"for each rank, got 2 .allowed: 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), WRONG)
def test_wrong_datatypes_and_buffers(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=rf"program\.py:5: .*{match}"):
        run_text(tmp_path, text, 1)


def test_addresses_from_bottom_on(ran: Callable[..., Any]) -> None:
    """Two arrays as one message by their addresses, and each rank's part by Alltoallw; an address of no memory."""
    ran(
        """
        one, two = np.arange(3.0) + rank, np.arange(4, dtype='i4') * (rank + 1)
        places = [MPI.Get_address(two[1:]), MPI.Get_address(one)]
        both = MPI.Datatype.Create_struct([2, 3], places, [MPI.INT, MPI.DOUBLE]).Commit()
        if rank == 0:
            comm.Send([MPI.BOTTOM, 1, both], 1)
        elif rank == 1:
            comm.Recv([MPI.BOTTOM, 1, both], 0)
            assert one.tolist() == [0, 1, 2] and two.tolist() == [0, 1, 2, 6]
        given, got = np.arange(size) + 10 * rank, np.zeros(size, int)

        def parts(array):
            return [
                MPI.Datatype.Create_struct([1], [MPI.Get_address(array) + 8 * r], [MPI.LONG]).Commit()
                for r in range(size)
            ]

        comm.Alltoallw([MPI.BOTTOM, parts(given)], [MPI.BOTTOM, parts(got)])
        assert got.tolist() == [10 * r + rank for r in range(size)]
        assert MPI.Get_address(MPI.BOTTOM) == 0 == MPI.BOTTOM and repr(MPI.BOTTOM) == "BOTTOM"
        try:
            comm.Send([MPI.BOTTOM, 1, MPI.INT], 0)
        except MPI.Exception as error:
            assert "BOTTOM" in str(error)
        else:
            assert False
        """,
        3,
    )


def test_forms_of_a_buffer(ran: Callable[..., Any]) -> None:
    """Counts and places in a tuple before a type or None, numbers of NumPy; what is no buffer, or an unfit one."""
    ran(
        """
        source, forms = np.arange(4.0), [((3, None), None), ((None, 1), None), ((2, 1), "d"), (np.array(2), np.int64(1), "d")]
        expected = [[0, 1, 2, 0], [0, 1, 2, 3], [0, 1, 2, 0], [0, 1, 2, 0]]
        for form, wanted in zip(forms, expected):
            room = np.zeros(4)
            comm.Sendrecv([source, *form], rank, 0, [room, *form], rank, 0)
            assert room.tolist() == wanted, form
        fixed = np.zeros(4)
        fixed.flags.writeable = False
        cases = [(TypeError, [1, 2], source), (TypeError, [source, 1.5, "d"], np.zeros(4)), (BufferError, source, fixed),
                 (BufferError, np.zeros((4, 4))[:, 0], np.zeros(4)), (BufferError, np.zeros(2, ">i4"), np.zeros(4))]
        for kind, sent, room in cases:
            try:
                comm.Sendrecv(sent, rank, 1, room, rank, 1)
            except kind:
                continue
            assert False, kind
        """,
        1,
    )
