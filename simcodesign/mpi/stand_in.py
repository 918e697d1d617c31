"""The module ``mpi4py`` that a program imports while it runs here: the names of mpi4py 4."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

from simcodesign.mpi import topology_creation
from simcodesign.mpi.buffers import DATATYPES, Datatype
from simcodesign.mpi.collectives.of_buffers import IN_PLACE
from simcodesign.mpi.communicators import Comm, Intracomm
from simcodesign.mpi.files import disk_file, files
from simcodesign.mpi.matching import ANY_SOURCE, ANY_TAG
from simcodesign.mpi.names import not_simulated
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.point_to_point import PROC_NULL
from simcodesign.mpi.requests import UNDEFINED, Request, Status
from simcodesign.mpi.topologies.cartesian import Cartcomm, compute_dims
from simcodesign.mpi.topologies.graphs import Distgraphcomm, Graphcomm
from simcodesign.mpi.topologies.neighbours import Topocomm
from simcodesign.mpi.windows import epochs, windows
from simcodesign.mpi.windows.windows import Win
from simcodesign.mpi.world import World

_TOPOLOGIES = (Topocomm, Cartcomm, Graphcomm, Distgraphcomm)
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
            self._own[rank] = Comm(self._world, self._world.log.communicator((rank,)), (rank,))
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
        "FILE_NULL": None,
        "WIN_NULL": None,
        **_upper_case(topology_creation),
        **_upper_case(disk_file),
        **_upper_case(files),
        **_upper_case(epochs),
        **_upper_case(windows),
        **DATATYPES,
        **OPERATORS,
    }


def _upper_case(module: ModuleType) -> dict[str, Any]:
    """Return the constants of a module whose names are mpi4py's."""
    beginnings = ("CART", "DIST_GRAPH", "GRAPH", "LOCK_", "MODE_", "SEEK_", "UNWEIGHTED", "WEIGHTS_", "WIN_")
    return {name: value for name, value in vars(module).items() if name.startswith(beginnings)}


def mpi_module(world: World) -> ModuleType:
    """Return ``mpi4py.MPI`` for a run."""
    module = ModuleType("mpi4py.MPI")
    classes = {one.__name__: one for one in (Comm, Intracomm, *_TOPOLOGIES, files.File, Datatype, Op, Request, Status)}
    functions = {
        "Wtime": world.now,
        "Wtick": lambda: 1e-9,
        "Init": lambda: None,
        "Init_thread": lambda required=3: required,
        "Finalize": lambda: None,
        "Is_initialized": lambda: True,
        "Is_finalized": lambda: False,
        "Query_thread": lambda: 0,
        "Get_processor_name": lambda: f"rank{world.current}",
        "Get_version": lambda: (4, 0),
        "Get_library_version": lambda: "simcodesign",
        "Compute_dims": compute_dims,
        "Alloc_mem": lambda size, info=None: memoryview(bytearray(size)),
        "Free_mem": lambda mem: None,
    }
    own = _SelfOfRank(world)
    members = {
        "COMM_WORLD": Intracomm(world, 0, tuple(range(world.size))),
        "COMM_SELF": own,
        "Win": type("Win", (Win,), {"default_comm": own}),
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
