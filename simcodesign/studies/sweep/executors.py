"""Executors of a sweep: processes of this machine, or the workers of a Dask cluster, both with concurrent futures."""

from __future__ import annotations

import logging
import math
import platform
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from simcodesign import __version__
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.processes.process_pool import ProcessExecutor, WorkerDied

#: Seconds for a scheduler to answer.
ANSWER_S = 10.0
#: Seconds for which the number of workers is cached.
_RECENT_S = 1.0
#: Tasks submitted for each worker: the running one, and some that wait so that none is idle while rows are stored.
_EACH = 3
#: Smallest number of submitted tasks of a cluster: one that scales with its load must see some.
_LEAST = 16
#: Other versions of these may change the last digits of results.
_NUMERIC = ("numpy", "scipy")
_LOUD = ("distributed", "tornado", "asyncio", "bokeh")


class LostScheduler(SimcodesignError):  # noqa: N818 # what has happened, as WorkerDied
    """The scheduler of a cluster does not answer any more."""


class SweepExecutor(ABC):
    """Processes that evaluate points, as a context manager: an exception ends all that is under way.

    ``chunk_s``: seconds of work of a task compared with which sending it there and back is negligible.
    """

    chunk_s = 0.1

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(now=kind is not None)

    @property
    @abstractmethod
    def count(self) -> int:
        """How many work at the same time."""

    @property
    def most_under_way(self) -> int:
        """So many tasks may be under way."""
        return _EACH * self.count

    @abstractmethod
    def deaths(self, error: BaseException) -> int:
        """How many processes have died at a task whose error this is; 0 for errors of the task itself.

        Raises SimcodesignError when no process is left to work.
        """

    @abstractmethod
    def close(self, *, now: bool = False) -> None:
        """No more work; ``now``: what is under way is given up."""

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Return a task; the future has its error if it cannot even be taken."""
        try:
            return self.executor.submit(function, *arguments)
        except (BrokenExecutor, RuntimeError) as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future


class LocalExecutor(SweepExecutor):
    """Processes of this machine."""

    def __init__(self, processes: int) -> None:
        super().__init__(ProcessExecutor(processes, ahead=1))
        self._count = processes

    def __str__(self) -> str:
        return f"{self._count} process{'es' if self._count > 1 else ''}"

    @property
    def count(self) -> int:
        return self._count

    def deaths(self, error: BaseException) -> int:
        if isinstance(error, BrokenExecutor):
            raise SimcodesignError(str(error)) from error
        return int(isinstance(error, WorkerDied))

    def close(self, *, now: bool = False) -> None:
        self.executor.shutdown(cancel_futures=now)


class DaskExecutor(SweepExecutor):
    """Workers of a Dask scheduler, whose ``address`` may also be a scheduler file.

    Raises InputError when dask.distributed is missing, the scheduler does not answer, or its workers run another
    version of this package. Warns of other versions that may change last digits.
    """

    chunk_s = 0.25

    def __init__(self, address: str) -> None:
        self._distributed = _distributed()
        self._address = address
        self._client = self._connect()
        super().__init__(self._client.get_executor(pure=False))
        self._counted_s, self._threads = -math.inf, 0
        try:
            self._check_versions()
        except BaseException:
            self.close(now=True)
            raise

    def __str__(self) -> str:
        return f"{self.count} worker{'' if self.count == 1 else 's'} of {self._address}"

    @property
    def count(self) -> int:
        if time.monotonic() - self._counted_s > _RECENT_S:
            self._counted_s = time.monotonic()
            with suppress(OSError):  # a scheduler that is lost fails the tasks, which report it
                self._threads = sum(self._client.nthreads().values())
        return self._threads

    @property
    def most_under_way(self) -> int:
        return max(_EACH * self.count, _LEAST)

    def deaths(self, error: BaseException) -> int:
        if isinstance(error, self._distributed.KilledWorker):
            return int(error.args[2]) + 1
        if isinstance(error, CancelledError) or self._client.status != "running":  # no code here cancels a task
            raise LostScheduler(f"the scheduler {self._address} does not answer any more") from None
        return 0

    def close(self, *, now: bool = False) -> None:
        closer = threading.Thread(target=self._close, daemon=True)  # what it waits for may never answer
        closer.start()
        closer.join(1.0 if now else ANSWER_S)

    def _close(self) -> None:
        try:
            self._client.close(timeout=1.0)
        except Exception as error:  # what Dask raises has no common base; there is nothing left to close
            logging.getLogger(__name__).debug("closing %s: %s", self._address, error)

    def _connect(self) -> Any:
        place = Place("--scheduler")
        arguments: dict[str, Any] = {"address": self._address}
        if self._address.endswith(".json"):
            if not Path(self._address).is_file():
                raise InputError("no such scheduler file", place, value=self._address, allowed="an existing file")
            arguments = {"scheduler_file": self._address}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # versions are looked at below, as far as they matter
                return self._distributed.Client(**arguments, timeout=ANSWER_S, set_as_default=False, name="simcodesign")
        except (OSError, TimeoutError, ValueError) as error:
            allowed = "the address that `dask scheduler` prints, e.g. tcp://host:8786, or its scheduler file"
            what = f"no scheduler answers ({_first_line(error)})"
            raise InputError(what, place, value=self._address, allowed=allowed) from error

    def _check_versions(self) -> None:
        try:
            theirs = self._client.run(versions, on_error="return")
        except (OSError, TimeoutError) as error:
            raise LostScheduler(f"the scheduler {self._address} does not answer: {_first_line(error)}") from error
        note = check_versions(theirs, versions())
        if note:
            warnings.warn(f"workers of {self._address} have {note}", stacklevel=2)


def check_versions(theirs: Mapping[str, object], ours: Mapping[str, str]) -> str:
    """Return a note on packages with other versions on the workers, which may change last digits.

    "" if there are none.

    Raises InputError for a worker that cannot run simcodesign or has another version of it.
    """
    place = Place("--scheduler")
    differing = set()
    for worker, worker_versions in theirs.items():
        if not isinstance(worker_versions, Mapping):
            what = f"the worker {worker} cannot run simcodesign ({_first_line(worker_versions)})"
            raise InputError(what, place, allowed=f"workers with simcodesign {ours['simcodesign']} installed")
        if worker_versions["simcodesign"] != ours["simcodesign"]:
            what = f"the worker {worker} has another version of simcodesign"
            raise InputError(what, place, value=worker_versions["simcodesign"], allowed=ours["simcodesign"])
        differing |= {(name, worker_versions[name]) for name in ours if worker_versions[name] != ours[name]}
    if not differing:
        return ""
    ours_text = ", ".join(f"{name} {ours[name]}" for name in sorted({name for name, _ in differing}))
    return f"{', '.join(f'{name} {worker_version}' for name, worker_version in sorted(differing))}; here is {ours_text}"


def sweep_executor(processes: int, address: str | None = None) -> SweepExecutor:
    """Return the workers of the scheduler at an address, or else processes of this machine."""
    return DaskExecutor(address) if address else LocalExecutor(processes)


def versions() -> dict[str, str]:
    """Return the versions on which results depend; called in workers too."""
    return {name: _version(name) for name in ("simcodesign", *_NUMERIC)} | {"python": platform.python_version()}


def _version(package: str) -> str:
    if package == "simcodesign":
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _distributed() -> Any:
    """Return the library with its logging silenced: this package reports what a user must know of the workers."""
    try:
        import distributed
    except ImportError as error:
        allowed = "python -m pip install 'simcodesign[dist]'"
        raise InputError("a cluster needs dask.distributed", Place("--scheduler"), allowed=allowed) from error
    for name in [*_LOUD, *(name for name in logging.root.manager.loggerDict if name.startswith(_LOUD))]:
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
    return distributed


def _first_line(error: object) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
