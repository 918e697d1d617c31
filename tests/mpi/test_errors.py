"""Errors of MPI as exceptions and values, handlers, and numbers of objects. Expected values: MPI 4.1 and mpi4py 4.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simcodesign.core.errors import InputError


def test_errors_are_caught_with_their_classes(ran: Callable[..., Any]) -> None:
    """MPI 4.1, section 9.4: the classes of errors of a rank, a tag, a null communicator, a datatype, a window."""
    text = """
    def name_of(call):
        try:
            call()
        except MPI.Exception as error:
            found = error.Get_error_class()
            assert isinstance(error, RuntimeError) and int(error) == error.error_code
            return [name for name in dir(MPI) if name.startswith("ERR_") and getattr(MPI, name) == found][0]

    window = MPI.Win.Allocate(8, comm=comm)
    window.Lock(0)
    print(name_of(lambda: comm.Send(b"", size)), name_of(lambda: comm.Send(b"", 0, -7)),
          name_of(lambda: MPI.COMM_NULL.Get_size()), name_of(MPI.INT.Free),
          name_of(lambda: window.Put(np.zeros(9), 0)))
    window.Unlock(0)
    """
    assert ran(text, 2).lines[0][1] == "ERR_RANK ERR_TAG ERR_COMM ERR_TYPE ERR_RMA_RANGE"


def test_an_error_that_is_not_caught_ends_the_run(ran: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"rank that does not exist, got 9"):
        ran("comm.Send(b'', 9)", 2)


def test_exceptions_are_numbers(ran: Callable[..., Any]) -> None:
    """Order, truth and words of codes, and codes that a program adds."""
    text = """
    assert MPI.Exception(MPI.SUCCESS) <= MPI.Exception(MPI.ERR_RANK) == MPI.ERR_RANK < MPI.Exception(MPI.ERR_LASTCODE)
    assert not MPI.Exception() and MPI.Exception(-1) == MPI.ERR_UNKNOWN
    assert MPI.Get_error_string(MPI.ERR_RANK) == MPI.Exception(MPI.ERR_RANK).error_string == "MPI_ERR_RANK"
    kind = MPI.Add_error_class()
    code = MPI.Add_error_code(kind)
    MPI.Add_error_string(code, "mine")
    assert kind > MPI.ERR_LASTCODE and MPI.Get_error_class(code) == kind and MPI.Get_error_string(code) == "mine"
    assert comm.Get_attr(MPI.LASTUSEDCODE) == code
    """
    ran(text, 1)


def test_handlers_are_called(ran: Callable[..., Any]) -> None:
    """``Call_errhandler`` of a communicator, a window and a file; ERRORS_RETURN does nothing."""
    text = """
    called = []
    window = MPI.Win.Allocate(8, comm=comm)
    for one in (comm, window):
        handler = type(one).Create_errhandler(lambda owner, code: called.append((owner == one, code)))
        before = one.Get_errhandler()
        one.Set_errhandler(handler)
        handler.Free()
        assert not handler and handler == MPI.ERRHANDLER_NULL
        one.Call_errhandler(MPI.ERR_OTHER)
        one.Set_errhandler(before)
        assert one.Get_errhandler() == MPI.ERRORS_RETURN != MPI.ERRORS_ABORT
        one.Call_errhandler(MPI.ERR_OTHER)
    assert called == [(True, MPI.ERR_OTHER)] * 2
    """
    ran(text, 2)


def test_a_handler_that_ends_the_run(ran: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="ends the program"):
        ran("comm.Set_errhandler(MPI.ERRORS_ARE_FATAL)\ncomm.Call_errhandler(MPI.ERR_ARG)", 1)


def test_objects_have_numbers_and_constants_pickles(ran: Callable[..., Any]) -> None:
    """mpi4py finds a communicator again by its handle; constants are the same after pickling."""
    text = """
    import pickle
    made = comm.Dup()
    assert MPI.Comm.fromhandle(made.handle) == made == MPI.Comm.f2py(made.py2f()) and made != comm
    assert MPI.Datatype.fromint(MPI.INT.toint()) is MPI.INT
    for constant in (MPI.INT, MPI.SUM, MPI.COMM_WORLD, MPI.ERRORS_RETURN, MPI.INFO_NULL):
        assert pickle.loads(pickle.dumps(constant)) is constant
    made = MPI.INT.Create_vector(2, 1, 3)
    again = pickle.loads(pickle.dumps(made))
    assert (again.size, again.extent, again.decode()[1:]) == (8, 16, made.decode()[1:])
    try:
        pickle.dumps(comm.Dup())
    except ValueError:
        print("refused")
    """
    assert {line for _, line in ran(text, 2).lines} == {"refused"}


def test_sessions_and_communicators_of_groups(ran: Callable[..., Any]) -> None:
    """MPI 4.1, section 11.3: the sets mpi://WORLD and mpi://SELF."""
    text = """
    session = MPI.Session.Init()
    assert session and session.Get_num_psets() == 2 and session.Get_pset_info("mpi://SELF").Get("mpi_size") == "1"
    group = session.Create_group("mpi://WORLD")
    made = MPI.Intracomm.Create_from_group(group, "a tag")
    assert made.allreduce(1) == 4 and made != comm
    session.Finalize()
    assert session == MPI.SESSION_NULL
    """
    ran(text, 4)


def test_a_program_sets_how_objects_become_bytes(ran: Callable[..., Any]) -> None:
    """As with dill: ``MPI.pickle.__init__(dumps, loads)``; a list of 3 numbers here takes 3 bytes."""
    text = """
    MPI.pickle.__init__(bytes, list)
    if rank == 0:
        comm.send([1, 2, 3], 1)
    else:
        status = MPI.Status()
        print(comm.recv(source=0, status=status), status.count)
    """
    assert ran(text, 2).lines == ((1, "[1, 2, 3] 3"),)
    assert ran("print(comm.bcast([1, 2]))", 1).lines == ((0, "[1, 2]"),)  # another run has Python's own
