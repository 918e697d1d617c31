"""The module ``mpi4py`` that a program imports while it runs here: the names of mpi4py 4."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from simcodesign.mpi.communicators import sessions, topology_creation
from simcodesign.mpi.communicators.communicators import COMM_NULL, Comm, Intracomm
from simcodesign.mpi.communicators.intercommunicators import Intercomm
from simcodesign.mpi.files import disk_file, files
from simcodesign.mpi.messages.generalized import Grequest
from simcodesign.mpi.messages.persistent import Prequest
from simcodesign.mpi.messages.probes import Message
from simcodesign.mpi.names import not_simulated
from simcodesign.mpi.objects.bytes_in_memory import MemoryBytes
from simcodesign.mpi.objects.datatypes import DATATYPES, Datatype
from simcodesign.mpi.objects.environment import environment
from simcodesign.mpi.objects.groups import Group
from simcodesign.mpi.objects.info import ERROR_HANDLERS, INFO_ENV, INFO_NULL, Errhandler, Info
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.package import Options, Session, mpi4py_modules
from simcodesign.mpi.pickles import PICKLE, Pickle
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.requests import Request
from simcodesign.mpi.topologies.cartesian import Cartcomm, compute_dims
from simcodesign.mpi.topologies.graphs import Distgraphcomm, Graphcomm
from simcodesign.mpi.topologies.neighbours import Topocomm
from simcodesign.mpi.values.constants import CONSTANTS
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.handles import forget_handles
from simcodesign.mpi.values.markers import MARKERS
from simcodesign.mpi.windows import epochs, windows
from simcodesign.mpi.windows.windows import windows_by_default_of

_TOPOLOGIES = (Topocomm, Cartcomm, Graphcomm, Distgraphcomm)


class _SelfOfRank(Intracomm):
    """``MPI.COMM_SELF``: a communicator of each rank alone, which has all attributes."""

    __class__ = Intracomm  # type: ignore[assignment]  # of which copies are made

    def __new__(cls, *given: Any) -> Any:
        """Return the one object; of a communicator, a copy."""
        is_one = len(given) == 1 and isinstance(given[0], World)
        return object.__new__(cls) if is_one else Intracomm(*given)

    def __init__(self, world: World) -> None:
        object.__setattr__(self, "_of_ranks", (world, {}))

    def __getattribute__(self, name: str) -> Any:
        if name == "free" or (name.startswith("__") and name != "__dict__"):  # it stays itself
            return object.__getattribute__(self, name)
        return getattr(_of_rank(self), name)

    @classmethod
    def fromhandle(cls, handle: int) -> Any:
        """Return the communicator of a number."""
        return Intracomm.fromhandle(handle)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_of_rank(self), name, value)


def _of_rank(comm: _SelfOfRank) -> Intracomm:
    world, made = object.__getattribute__(comm, "_of_ranks")
    rank = world.current
    if rank not in made:
        made[rank] = Intracomm(world, world.log.communicator((rank,)), (rank,))
    found: Intracomm = made[rank]
    return found


def _constants() -> dict[str, Any]:
    return {
        "ANY_SOURCE": ANY_SOURCE,
        "ANY_TAG": ANY_TAG,
        "COMM_NULL": COMM_NULL,
        "INFO_NULL": INFO_NULL,
        "INFO_ENV": INFO_ENV,
        "THREAD_SINGLE": 0,
        "THREAD_FUNNELED": 1,
        "THREAD_SERIALIZED": 2,
        "THREAD_MULTIPLE": 3,
        "VERSION": 4,
        "SUBVERSION": 0,
        "FILE_NULL": files.File.__new__(files.File),
        **_upper_case(topology_creation),
        **_upper_case(disk_file),
        **_upper_case(files),
        **_upper_case(epochs),
        **_upper_case(windows),
        **CONSTANTS,
        **MARKERS,
        **DATATYPES,
        **OPERATORS,
        **ERROR_HANDLERS,
    }


def _upper_case(module: ModuleType) -> dict[str, Any]:
    """Return the constants of a module whose names are mpi4py's."""
    beginnings = ("CART", "DIST_GRAPH", "GRAPH", "LOCK_", "MODE_", "SEEK_", "UNWEIGHTED", "WEIGHTS_", "WIN_")
    return {name: value for name, value in vars(module).items() if name.startswith(beginnings)}


def mpi_module(world: World, session: Session) -> ModuleType:
    """Return ``mpi4py.MPI`` for a run."""
    module = ModuleType("mpi4py.MPI")
    every = (
        Comm,
        Intracomm,
        Intercomm,
        *_TOPOLOGIES,
        files.File,
        Datatype,
        Errhandler,
        Group,
        Info,
        Message,
        Op,
        Prequest,
        Grequest,
        sessions.Session,
    )
    classes = {one.__name__: one for one in (*every, Request, Status)}
    functions = {
        "Wtime": world.now,
        "Wtick": lambda: 1e-9,
        **session.functions(),
        "Get_version": lambda: (4, 0),
        "Get_library_version": lambda: "simcodesign",
        "Compute_dims": compute_dims,
        **environment(world),
    }
    Request.under_way = world
    own = _SelfOfRank(world)
    window_class = windows_by_default_of(own)
    comm_world = Intracomm(world, 0, tuple(range(world.size)))
    window_class.__module__ = module.__name__  # in which pickle looks for it
    members = {
        "COMM_WORLD": comm_world,
        "COMM_SELF": own,
        "Win": window_class,
        "WIN_NULL": window_class.__new__(window_class),
        "GROUP_EMPTY": Group(world),
        "GROUP_NULL": Group.__new__(Group),
        "REQUEST_NULL": Request.null(world),
        "SESSION_NULL": sessions.Session.__new__(sessions.Session),
        **Message.constants(comm_world),
        "_world": world,
        "Exception": MpiError,
        "Pickle": Pickle,
        "pickle": PICKLE,
        "WIN_FLAVOR": windows.WIN_CREATE_FLAVOR,
        "buffer": MemoryBytes,
        "memory": MemoryBytes,
    }
    for name, value in (_constants() | classes | functions | members).items():
        setattr(module, name, value)
    module.__getattr__ = lambda name: not_simulated("MPI", name)  # type: ignore[method-assign]
    return module


@contextmanager
def installed(world: World) -> Iterator[None]:
    """Let ``import mpi4py`` find the stand-in."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "mpi4py"}
    PICKLE.__init__()  # type: ignore[misc]  # as a program may have set it
    options = Options(world)
    modules = mpi4py_modules(options, mpi_module(world, Session(world, options)))
    sys.modules.update(modules)
    try:
        yield
    finally:
        forget_handles()
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)
