"""``mpi4py.util.pool``: the names of ``multiprocessing.pool`` for tasks of ``mpi4py.futures``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any

from simcodesign.mpi.util.futures import MPIPoolExecutor

_NO_NAMES: Mapping[str, Any] = MappingProxyType({})
Callback = Callable[[Any], object] | None


class AsyncResult:
    """The result of a task that may not be done."""

    def __init__(self, future: Future[Any], callback: Callback = None, error_callback: Callback = None) -> None:
        self.future = future

        def done(future: Future[Any]) -> None:
            error = future.exception()
            called = callback if error is None else error_callback
            if called is not None:
                called(future.result() if error is None else error)

        if callback is not None or error_callback is not None:
            future.add_done_callback(done)

    def get(self, timeout: float | None = None) -> Any:
        """Wait; return the result, or raise what the task raised."""
        return self.future.result(timeout)

    def wait(self, timeout: float | None = None) -> None:
        """Wait."""
        self.future.exception(timeout)

    def ready(self) -> bool:
        """Return whether it is done."""
        return self.future.done()

    def successful(self) -> bool:
        """Return whether it raised nothing. Raises ValueError if it is not done."""
        if not self.ready():
            raise ValueError("the task is not done")
        return self.future.exception() is None


class ApplyResult(AsyncResult):
    """The result of ``apply_async``."""


class MapResult(AsyncResult):
    """The result of ``map_async``."""


class Pool:
    """Hands tasks to ranks, with the names of Python's ``Pool``."""

    Executor = MPIPoolExecutor

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
        **kwargs: Any,
    ) -> None:
        self.executor = self.Executor(processes, initializer, initargs, **kwargs)

    def apply(self, func: Callable[..., Any], args: Iterable[Any] = (), kwds: Mapping[str, Any] = _NO_NAMES) -> Any:
        """Return the result of a call."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] = (),
        kwds: Mapping[str, Any] = _NO_NAMES,
        callback: Callback = None,
        error_callback: Callback = None,
    ) -> ApplyResult:
        """Begin a call."""
        return ApplyResult(self.executor.submit(func, *args, **kwds), callback, error_callback)

    def map(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None) -> list[Any]:
        """Return the results of calls with one argument."""
        return list(self.imap(func, iterable, chunksize or 1))

    def map_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callback = None,
        error_callback: Callback = None,
    ) -> MapResult:
        """Begin calls with one argument."""
        return self._begun(self.imap(func, iterable, chunksize or 1), callback, error_callback)

    def imap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int = 1) -> Iterator[Any]:
        """Return the results of calls with one argument, one by one."""
        return self.executor.map(func, iterable, chunksize=chunksize)

    def starmap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None) -> list[Any]:
        """Return the results of calls with the arguments of each entry."""
        return list(self.istarmap(func, iterable, chunksize or 1))

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callback = None,
        error_callback: Callback = None,
    ) -> MapResult:
        """Begin calls with the arguments of each entry."""
        return self._begun(self.istarmap(func, iterable, chunksize or 1), callback, error_callback)

    def istarmap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int = 1) -> Iterator[Any]:
        """Return the results of calls with the arguments of each entry, one by one."""
        return self.executor.starmap(func, iterable, chunksize=chunksize)

    imap_unordered, istarmap_unordered = imap, istarmap

    def _begun(self, results: Iterator[Any], callback: Callback, error_callback: Callback) -> MapResult:
        """Return the result of tasks that workers do. Without threads it is waited for here."""
        future: Future[Any] = Future()
        try:
            future.set_result(list(results))
        except Exception as error:
            future.set_exception(error)
        return MapResult(future, callback, error_callback)

    def close(self) -> None:
        """Take no more tasks."""
        self.executor.shutdown(wait=False)

    def terminate(self) -> None:
        """Take no more tasks, and drop those that no rank has."""
        self.executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for all tasks."""
        self.executor.shutdown(wait=True)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class ThreadPool(Pool):
    """Like Pool: there are no threads."""
