"""Objects of mpi4py's classes made of nothing and of others, and memory that other libraries share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simcodesign.core.errors import InputError


def test_objects_made_of_nothing_are_null(ran: Callable[..., Any]) -> None:
    """Each equals the null constant of its kind, is false, and is another object."""
    text = """
    pairs = [("Comm", "COMM"), ("Intracomm", "COMM"), ("Group", "GROUP"), ("Request", "REQUEST"), ("Win", "WIN"),
             ("File", "FILE"), ("Message", "MESSAGE")]
    for kind, name in pairs:
        made, null = getattr(MPI, kind)(), getattr(MPI, name + "_NULL")
        print(kind, made == null, null == made, not made, made is null)
    """
    assert {line.split(" ", 1)[1] for _, line in ran(text, 1).lines} == {"True True True False"}


def test_use_of_a_null_object_names_its_class(ran: Callable[..., Any]) -> None:
    """A communicator without ranks has no rank."""
    with pytest.raises(InputError, match=r"a null object of mpi4py.s Comm, such as MPI\.COMM_NULL"):
        ran("MPI.Comm().rank", 1)
    text = """
    calls = [(MPI.COMM_NULL.Get_size, "COMM"), (MPI.COMM_NULL.Is_inter, "COMM"), (MPI.COMM_NULL.Free, "COMM"),
             (MPI.DATATYPE_NULL.Dup, "TYPE"), (MPI.DATATYPE_NULL.Commit, "TYPE"), (MPI.Datatype().Free, "TYPE"),
             (lambda: MPI.Status().Get_count(MPI.DATATYPE_NULL), "TYPE"), (MPI.OP_NULL.Free, "OP"),
             (MPI.INFO_NULL.Dup, "INFO"), (MPI.INFO_NULL.Free, "INFO"), (lambda: MPI.INFO_NULL.Get("k"), "INFO"),
             (MPI.GROUP_NULL.Get_size, "GROUP"), (lambda: MPI.GROUP_EMPTY.Compare(MPI.GROUP_NULL), "GROUP"),
             (MPI.SESSION_NULL.Get_num_psets, "SESSION"), (MPI.REQUEST_NULL.Free, "REQUEST"),
             (MPI.REQUEST_NULL.Cancel, "REQUEST"), (MPI.WIN_NULL.Free, "WIN"), (MPI.ERRHANDLER_NULL.Free, "ERRHANDLER"),
             (lambda: comm.Set_errhandler(MPI.ERRHANDLER_NULL), "ERRHANDLER"),
             (comm.Free, "COMM"), (MPI.COMM_SELF.Free, "COMM"), (MPI.SUM.Free, "OP"), (MPI.INT.Free, "TYPE"),
             (lambda: comm.Get_attr(MPI.KEYVAL_INVALID), "KEYVAL"), (lambda: MPI.Session.Init().Get_nth_pset(2), "ARG")]
    for call, name in calls:
        try:
            call()
        except MPI.Exception as error:
            assert error.Get_error_class() == getattr(MPI, "ERR_" + name), (name, error)
        else:
            assert False, name
    assert not hasattr(MPI.COMM_NULL, "Close") and MPI.COMM_NULL.Get_name() == "MPI_COMM_NULL"
    """
    ran(text, 1)


def test_free_in_small_letters_is_safe(ran: Callable[..., Any]) -> None:
    """It leaves null objects and constants; a copy of a constant and an object of the program become null."""
    text = """
    for one in (MPI.COMM_NULL, MPI.OP_NULL, MPI.INFO_NULL, MPI.DATATYPE_NULL, MPI.WIN_NULL, MPI.FILE_NULL):
        one.free()
        assert not one
    for one in (comm, MPI.COMM_SELF, MPI.INT, MPI.SUM, MPI.GROUP_EMPTY, MPI.INFO_ENV, MPI.MESSAGE_NO_PROC):
        one.free()
        assert one
        copy = type(one)(one)
        assert copy and copy == one
        copy.free()
        copy.free()
        assert one and not copy
    made = [comm.Dup(), MPI.Info.Create({"a": "b"}), comm.Get_group(), MPI.INT.Dup(), MPI.Op.Create(lambda *_: None)]
    for one in made:
        assert one
        one.free()
        one.free()
        assert not one
    assert comm.allreduce(1) == size
    """
    ran(text, 2)


def test_an_object_is_not_made_of_another_kind(ran: Callable[..., Any]) -> None:
    """Only what is of the kind: a grid is no graph, a number is no communicator."""
    text = """
    grid = comm.Create_cart([size])
    assert MPI.Cartcomm(MPI.Comm(grid)).dims == [size] and not MPI.Cartcomm(MPI.COMM_NULL)
    pairs = [(MPI.Graphcomm, grid), (MPI.Topocomm, comm), (MPI.Comm, 3), (MPI.Comm, MPI.INT), (MPI.Status, "abc"),
             (MPI.Grequest, comm.irecv(source=MPI.PROC_NULL)), (MPI.Win, MPI.INFO_NULL)]
    for kind, given in pairs:
        try:
            kind(given)
        except TypeError:
            continue
        assert False, kind
    """
    ran(text, 2)


def test_freed_base_datatypes_are_kept(ran: Callable[..., Any]) -> None:
    """A datatype made of others outlives these, also where it is made again of what ``decode`` returns."""
    text = """
    import pickle
    pair = MPI.INT.Create_contiguous(2)
    both = MPI.Datatype.Create_struct([1, 1], [0, 16], [pair, MPI.DOUBLE])
    pair.Free()
    before, way, arguments = both.decode()
    again = getattr(before, f"Create_{way.lower()}")(**arguments)
    for one in (both, again, pickle.loads(pickle.dumps(both))):
        assert (one.size, one.extent) == (16, 24)
        assert [part.size for part in one.Get_contents()[3]] == [8, 8]
    arguments["datatypes"][0].Free()
    assert both.Get_contents()[3][0].size == 8
    """
    ran(text, 1)


def test_exceptions_in_functions_of_the_program(ran: Callable[..., Any]) -> None:
    """MPI's functions fail with ERR_OTHER, or with the error that the program raised."""
    text = """
    def fails(*given):
        raise ValueError("by the program")

    def fails_as_mpi(*given):
        raise MPI.Exception(MPI.ERR_BUFFER)

    def error_of(call):
        try:
            call()
        except MPI.Exception as error:
            return error.Get_error_class()

    for function, expected in ((fails, MPI.ERR_OTHER), (fails_as_mpi, MPI.ERR_BUFFER)):
        key = MPI.Comm.Create_keyval(None, function)
        mine = comm.Dup()
        mine.Set_attr(key, "value")
        assert error_of(lambda: mine.Delete_attr(key)) == expected
        mine.Free()
        request = MPI.Grequest.Start(function)
        request.Complete()
        assert error_of(request.Wait) == expected
    """
    ran(text, 1)


def test_copies_are_the_same(ran: Callable[..., Any]) -> None:
    """A copy of a communicator sends its messages; a copy of a status has its values, and keeps them."""
    text = """
    same = MPI.Comm(comm)
    own = MPI.Intracomm(MPI.COMM_SELF)
    print(same == comm, same is comm, same == comm.Dup(), own == MPI.Comm(), own.size, same.allreduce(rank))
    status = MPI.Status()
    status.Set_tag(5)
    copy = MPI.Status(status)
    status.Set_tag(3)
    print(copy.tag)
    window = MPI.Win.Allocate(8, comm=comm)
    print(MPI.Win(window) == window, MPI.Win(window) == MPI.WIN_NULL, MPI.Group(comm.group) == comm.group)
    """
    lines = [line for place, line in ran(text, 3).lines if place == 1]
    assert lines == ["True False False False 1 3", "5", "True False True"]


def test_classes_of_a_program_below_a_communicator(ran: Callable[..., Any]) -> None:
    """``__new__`` of a program gives a communicator, ``__init__`` of a program is called."""
    text = """
    class Own(MPI.Intracomm):
        def __new__(cls, other):
            return super().__new__(cls, other.Dup())

        def __init__(self, other):
            self.doubled = 2 * other.size

    own = Own(comm)
    print(type(own) is Own, own.doubled, own.allreduce(rank + 1))
    """
    assert {line for _, line in ran(text, 3).lines} == {"True 6 6"}


def test_one_place_of_a_v_operation_is_a_distance(ran: Callable[..., Any]) -> None:
    """Rank r's two elements go to place 3 r; of an operation without ``v`` one place is the first."""
    text = """
    own, got = np.array([rank, 10 + rank]), np.full(9, -1)
    comm.Allgatherv([own, 2], [got, 2, 3])
    if rank == 0:
        print(got.tolist())
    all_, part = np.arange(9) * (rank == 0), np.zeros(2, int)
    comm.Scatterv([all_, 2, 3], part)
    print(part.tolist())
    got = np.full(9, -1)
    comm.Iallgather(own, [got, 2, 3]).Wait()
    print(got.tolist())
    """
    lines = ran(text, 3).lines
    assert next(line for place, line in lines if place == 0) == "[0, 10, -1, 1, 11, -1, 2, 12, -1]"
    assert [line for place, line in lines if place == 2] == ["[6, 7]", "[-1, -1, -1, 0, 10, 1, 11, 2, 12]"]


def test_memory_that_other_libraries_share(ran: Callable[..., Any]) -> None:
    """A message arrives in memory that is seen by DLPack, or by CUDA's interface, and lies in the host."""
    text = """
    class ByDlpack:
        def __init__(self, array): self.array = array
        def __dlpack__(self, **how): return self.array.__dlpack__(**how)
        def __dlpack_device__(self): return self.array.__dlpack_device__()

    class ByCuda:
        def __init__(self, array): self.__cuda_array_interface__ = array.__array_interface__

    for kind in (ByDlpack, ByCuda):
        array = np.zeros(2)
        if rank == 0:
            comm.Send(kind(np.array([1.5, 2.5])), 1)
        else:
            comm.Recv(kind(array), 0)
            print(array.tolist())
    """
    assert [line for _, line in ran(text, 2).lines] == ["[1.5, 2.5]"] * 2


def test_memory_of_a_gpu_is_refused(ran: Callable[..., Any]) -> None:
    """An address that this process cannot read is an error at the program's line."""
    text = """
    class OfGpu:
        __cuda_array_interface__ = {"data": (64, False), "shape": (2,), "typestr": "<f8", "version": 3}
    comm.Isend(OfGpu(), 0)
    """
    with pytest.raises(InputError, match="memory of a GPU, got 'OfGpu'"):
        ran(text, 1)


def test_bytes_in_memory(ran: Callable[..., Any]) -> None:
    """``MPI.buffer`` against bytes of Python."""
    ran(
        """
        room = bytearray(b'abcdef')
        memory = MPI.buffer(room)
        assert (len(memory), memory[1], memory.nbytes, memory.readonly) == (6, ord('b'), 6, False) and memory
        memory[:2] = 0
        memory[5] = ord('z')
        assert bytes(memory) == bytes(room) == b'\\0\\0cdez'
        assert MPI.buffer.frombuffer(b'xy', True).readonly and not MPI.buffer()
        same = MPI.buffer.fromaddress(memory.address, 6)
        same[:] = 7
        assert room == bytearray([7] * 6)
        same[:3], same[3:] = b'uvw', memoryview(bytearray(b'xyz'))
        assert room == b'uvwxyz'
        mine = MPI.Alloc_mem(16)
        mine[:] = 1
        assert mine.tobytes() == bytes([1] * 16) and mine.cast('i').tolist() == [0x01010101] * 4
        window = MPI.Win.Create(mine, comm=comm)
        window.tomemory()[:] = rank + 2
        assert mine[3] == rank + 2
        window.Free()
        """,
        2,
    )


def test_bytes_in_memory_have_the_limits_of_mpi4py(ran: Callable[..., Any]) -> None:
    """Objects without bytes, steps, other lengths and deletion are errors; released bytes are gone."""
    ran(
        """
        def raised(act):
            try:
                act()
            except Exception as error:
                return type(error).__mro__[1] if isinstance(error, MPI.Exception) else type(error)

        room = bytearray(b'abcdef')
        memory = MPI.buffer(room)
        assert memory.obj is room and memory[1:3].obj is room and memory != MPI.buffer(room)
        for bad in (None, 0, 0.5, []):
            assert raised(lambda: MPI.buffer(bad)) is raised(lambda: MPI.buffer.frombuffer(bad)) is TypeError
        assert raised(lambda: memory[::2]) is raised(lambda: memory[6]) is IndexError
        assert raised(lambda: memory[None]) is TypeError and raised(lambda: memory.__delitem__(0)) is NotImplementedError
        assert raised(lambda: memory.__setitem__(slice(0, 2), b'xyz')) is ValueError
        assert raised(lambda: memory.toreadonly().__setitem__(0, 1)) is TypeError
        assert raised(lambda: MPI.buffer.allocate(-1)) is raised(lambda: MPI.buffer.fromaddress(0, 1)) is ValueError
        assert raised(lambda: MPI.Attach_buffer(memory.toreadonly())) is BufferError
        numbers = np.arange(3, dtype='i4')
        MPI.buffer(numbers)[4:8] = np.array([9], 'i4')
        assert numbers.tolist() == [0, 9, 2]
        empty = MPI.buffer()
        empty[:] = 0
        mine = MPI.Alloc_mem(8)
        assert mine.address and len(mine) == mine.nbytes == 8
        MPI.Free_mem(mine)
        assert (mine.address, mine.nbytes, len(mine), mine.readonly) == (0, 0, 0, False)
        assert (empty.address, empty.nbytes, len(empty), empty.obj) == (0, 0, 0, None)
        """,
        1,
    )


def test_the_index_of_a_graph_may_begin_with_0(ran: Callable[..., Any]) -> None:
    """A ring of 3 ranks, with and without the 0."""
    ran(
        """
        for index in ([2, 4, 6], [0, 2, 4, 6]):
            ring = comm.Create_graph(index, [1, 2, 0, 2, 0, 1])
            assert ring.Get_dims() == (3, 6)
            assert sorted(ring.neighbor_allgather(rank)) == sorted({0, 1, 2} - {rank})
        """,
        3,
    )
