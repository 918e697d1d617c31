"""The package ``mpi4py`` around ``MPI``: its options ``rc``, and whether MPI has begun and ended in each rank."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from simcodesign.mpi.names import not_simulated
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.util import dtlib, futures, pkl5, pool, sync

#: Options of mpi4py 4 and their values.
_OPTIONS = {
    "initialize": True,
    "threads": True,
    "thread_level": "multiple",
    "finalize": None,
    "fast_reduce": True,
    "recv_mprobe": True,
    "irecv_bufsz": 32768,
    "errors": "exception",
}


class Options(ModuleType):
    """``mpi4py.rc``: each rank has its own. Only ``initialize`` changes what is simulated."""

    def __init__(self, world: World) -> None:
        super().__init__("mpi4py.rc")
        self.__dict__["_own"] = [dict(_OPTIONS) for _ in range(world.size)]
        self.__dict__["_world"] = world

    def __getattr__(self, name: str) -> Any:
        if name not in _OPTIONS:
            raise AttributeError(f"mpi4py.rc has no option {name!r}")
        return self._own[self._world.current][name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # of the import system
            super().__setattr__(name, value)
        elif name not in _OPTIONS:
            raise TypeError(f"mpi4py.rc has no option {name!r}")
        else:
            self._own[self._world.current][name] = value

    def __call__(self, **options: Any) -> None:
        """Set options."""
        for name, value in options.items():
            setattr(self, name, value)


class Session:
    """Whether each rank has begun and ended MPI: on import, unless ``rc.initialize`` is False."""

    def __init__(self, world: World, options: Options) -> None:
        self._world, self._options = world, options
        self._begun: set[int] = set()
        self._ended: set[int] = set()

    def begin(self, required: int = 3) -> int:
        """Begin MPI in the current rank; return the level of threads, which is THREAD_SINGLE whatever is required."""
        self._begun.add(self._world.current)
        return 0

    def end(self) -> None:
        """End MPI in the current rank."""
        self._ended.add(self._world.current)

    def has_begun(self) -> bool:
        """Return whether MPI has begun, also if it has ended."""
        return bool(self._options.initialize) or self._world.current in self._begun

    def has_ended(self) -> bool:
        """Return whether MPI has ended."""
        return self._world.current in self._ended

    def functions(self) -> dict[str, Any]:
        """Return the functions of ``MPI``."""
        return {
            "Init": lambda: self._begun.add(self._world.current),
            "Init_thread": self.begin,
            "Query_thread": lambda: 0,
            "Is_thread_main": lambda: True,
            "Finalize": self.end,
            "Is_initialized": self.has_begun,
            "Is_finalized": self.has_ended,
        }


def mpi4py_modules(options: Options, mpi: ModuleType) -> dict[str, ModuleType]:
    """Return the package and its modules by name; other names of them raise NotSimulatedError."""
    below = {
        "pkl5": pkl5.members(),
        **{one.__name__.split(".")[-1]: _own_names(one) for one in (sync, pool, dtlib)},
    }
    parts = {name: _module(f"mpi4py.util.{name}", **names) for name, names in below.items()}
    util = _module("mpi4py.util", **parts)
    tasks = _module("mpi4py.futures", **futures.members())
    package = _module("mpi4py", __version__="4.1.2", rc=options, MPI=mpi, util=util, futures=tasks, get_config=dict)
    util.__path__ = package.__path__ = []
    return {one.__name__: one for one in (package, mpi, options, util, tasks, *parts.values())}


def _own_names(module: ModuleType) -> dict[str, Any]:
    """Return the classes and functions that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    }


def _module(full_name: str, **members: Any) -> ModuleType:
    made = ModuleType(full_name)
    made.__dict__.update(members)
    made.__getattr__ = lambda name: not_simulated(full_name, name)  # type: ignore[method-assign]
    return made
