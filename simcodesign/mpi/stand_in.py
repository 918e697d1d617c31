"""The module ``mpi4py`` that a program imports while it runs here: the names of mpi4py 4."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

from simcodesign.mpi.collectives import IN_PLACE
from simcodesign.mpi.communicators import Cartcomm, Comm, Intracomm, compute_dims
from simcodesign.mpi.intercommunicators import Intercomm
from simcodesign.mpi.matching import ANY_SOURCE, ANY_TAG
from simcodesign.mpi.messages.persistent import Prequest
from simcodesign.mpi.messages.probes import Message
from simcodesign.mpi.names import not_simulated
from simcodesign.mpi.objects.constants import CONSTANTS
from simcodesign.mpi.objects.datatypes import DATATYPES, Datatype
from simcodesign.mpi.objects.environment import environment
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import ERROR_HANDLERS, INFO_ENV, INFO_NULL, Errhandler, Info
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.requests import Request, Status
from simcodesign.mpi.splitting import COMM_NULL
from simcodesign.mpi.world import World

#: Modules that a program may have imported before under these names.
_NAMES = ("mpi4py", "mpi4py.MPI")


class _SelfOfRank:
    """``MPI.COMM_SELF``: a communicator of each rank alone."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._own: dict[int, Comm] = {}

    def __getattr__(self, name: str) -> Any:
        rank = self._world.current
        if rank not in self._own:
            self._world.log.members.append((rank,))
            self._own[rank] = Comm(self._world, len(self._world.log.members) - 1, (rank,))
        return getattr(self._own[rank], name)


def _constants() -> dict[str, Any]:
    return {
        "ANY_SOURCE": ANY_SOURCE,
        "ANY_TAG": ANY_TAG,
        "IN_PLACE": IN_PLACE,
        "BOTTOM": None,
        "COMM_NULL": COMM_NULL,
        "INFO_NULL": INFO_NULL,
        "INFO_ENV": INFO_ENV,
        "THREAD_SINGLE": 0,
        "THREAD_FUNNELED": 1,
        "THREAD_SERIALIZED": 2,
        "THREAD_MULTIPLE": 3,
        "VERSION": 4,
        "SUBVERSION": 0,
        **CONSTANTS,
        **DATATYPES,
        **OPERATORS,
        **ERROR_HANDLERS,
    }


def mpi_module(world: World) -> ModuleType:
    """Return ``mpi4py.MPI`` for a run."""
    module = ModuleType("mpi4py.MPI")
    classes = {
        one.__name__: one
        for one in (
            Comm,
            Intracomm,
            Cartcomm,
            Datatype,
            Errhandler,
            Group,
            Info,
            Intercomm,
            Message,
            Op,
            Prequest,
            Request,
            Status,
        )
    }
    functions = {
        "Wtime": world.now,
        "Wtick": lambda: 1e-9,
        "Init": lambda: None,
        "Init_thread": lambda required=3: required,
        "Finalize": lambda: None,
        "Is_initialized": lambda: True,
        "Is_finalized": lambda: False,
        "Query_thread": lambda: 0,
        "Get_version": lambda: (4, 0),
        "Get_library_version": lambda: "simcodesign",
        "Compute_dims": compute_dims,
        **environment(world),
    }
    Request.under_way = world
    comm_world = Intracomm(world, 0, tuple(range(world.size)))
    members = {
        "COMM_WORLD": comm_world,
        "COMM_SELF": _SelfOfRank(world),
        "GROUP_EMPTY": Group(world),
        "GROUP_NULL": Group(world, is_null=True),
        "REQUEST_NULL": Request.null(world),
        **Message.constants(comm_world),
        "Exception": RuntimeError,
        "buffer": memoryview,
        "memory": memoryview,
    }
    for name, value in (_constants() | classes | functions | members).items():
        setattr(module, name, value)
    module.__getattr__ = lambda name: not_simulated("MPI", name)  # type: ignore[method-assign]
    return module


@contextmanager
def installed(world: World) -> Iterator[None]:
    """Let ``import mpi4py`` find the stand-in."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "mpi4py"}
    package = ModuleType("mpi4py")
    package.__path__ = []
    package.__version__ = "4.0.0"  # type: ignore[attr-defined]
    package.rc = SimpleNamespace()  # type: ignore[attr-defined]
    package.MPI = mpi_module(world)  # type: ignore[attr-defined]
    sys.modules.update(zip(_NAMES, (package, package.MPI), strict=True))
    try:
        yield
    finally:
        for name in _NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(before)
