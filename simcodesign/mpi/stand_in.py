"""The module ``mpi4py`` that a program imports while it runs here: the names of mpi4py 4."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from simcodesign.mpi.buffers import DATATYPES, Datatype
from simcodesign.mpi.collectives import IN_PLACE
from simcodesign.mpi.communicators import Cartcomm, Comm, Intracomm, compute_dims
from simcodesign.mpi.matching import ANY_SOURCE, ANY_TAG
from simcodesign.mpi.names import not_simulated
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.package import Options, Session, mpi4py_modules
from simcodesign.mpi.point_to_point import PROC_NULL
from simcodesign.mpi.requests import UNDEFINED, Request, Status
from simcodesign.mpi.world import World


class _SelfOfRank:
    """``MPI.COMM_SELF``: a communicator of each rank alone."""

    __class__ = Intracomm  # type: ignore[assignment]  # for isinstance

    def __init__(self, world: World) -> None:
        self._world = world
        self._own: dict[int, Intracomm] = {}

    def __getattr__(self, name: str) -> Any:
        rank = self._world.current
        if rank not in self._own:
            self._world.log.members.append((rank,))
            self._own[rank] = Intracomm(self._world, len(self._world.log.members) - 1, (rank,))
        return getattr(self._own[rank], name)


def _constants() -> dict[str, Any]:
    return {
        "ANY_SOURCE": ANY_SOURCE,
        "ANY_TAG": ANY_TAG,
        "PROC_NULL": PROC_NULL,
        "UNDEFINED": UNDEFINED,
        "SUCCESS": 0,
        "IN_PLACE": IN_PLACE,
        "BOTTOM": None,
        "COMM_NULL": None,
        "INFO_NULL": None,
        "THREAD_SINGLE": 0,
        "THREAD_FUNNELED": 1,
        "THREAD_SERIALIZED": 2,
        "THREAD_MULTIPLE": 3,
        "VERSION": 4,
        "SUBVERSION": 0,
        **DATATYPES,
        **OPERATORS,
    }


def mpi_module(world: World, session: Session) -> ModuleType:
    """Return ``mpi4py.MPI`` for a run."""
    module = ModuleType("mpi4py.MPI")
    classes = {one.__name__: one for one in (Comm, Intracomm, Cartcomm, Datatype, Op, Request, Status)}
    functions = {
        "Wtime": world.now,
        "Wtick": lambda: 1e-9,
        **session.functions(),
        "Get_processor_name": lambda: f"rank{world.current}",
        "Get_version": lambda: (4, 0),
        "Get_library_version": lambda: "simcodesign",
        "get_vendor": lambda: ("simcodesign", (0, 0, 0)),
        "Compute_dims": compute_dims,
    }
    members = {
        "COMM_WORLD": Intracomm(world, 0, tuple(range(world.size))),
        "COMM_SELF": _SelfOfRank(world),
        "REQUEST_NULL": Request(world),
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
    options = Options(world)
    modules = mpi4py_modules(options, mpi_module(world, Session(world, options)))
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)
