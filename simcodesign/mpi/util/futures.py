"""``mpi4py.futures``: tasks that the first rank hands to the others.

No process can be begun here, so that the workers are ranks that exist. The root gives a worker its next task when it
receives a result, which it does in ``Future.result`` and whatever else waits: there are no threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any

from simcodesign.mpi.values.handles import constant

#: Tags: a task, the end, and a result.
_TASK, _END, _RESULT = 1, 2, 3


class Future(futures.Future[Any]):
    """A task that may not be done."""

    def __init__(self, executor: MPIPoolExecutor) -> None:
        super().__init__()
        self._executor = executor
        plain: Any = self._condition.acquire

        def acquire(*given: Any) -> bool:  # concurrent.futures.wait would wait for another thread
            executor.finish()
            done: bool = plain(*given)
            return done

        self._condition.acquire = acquire  # type: ignore[method-assign,assignment]

    def result(self, timeout: float | None = None) -> Any:
        """Wait until it is done; return what it returned."""
        self._executor.progress_until(self.done)
        return super().result()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait until it is done; return what it raised."""
        self._executor.progress_until(self.done)
        return super().exception()


class MPIPoolExecutor(futures.Executor):
    """Hands tasks to the other ranks; without others, or with ``max_workers=0``, to none: it does them itself.

    Under ``python -m mpi4py.futures``, too, rank 0 continues and the others are workers; here they run the program up
    to this call, and end with it.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
        **kwargs: Any,
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        comm = kwargs.pop("comm", None)
        self._comm = constant("COMM_WORLD").Dup() if comm is None else comm
        self._root, self._initialize = kwargs.pop("root", 0), (initializer, tuple(initargs))
        others = [rank for rank in range(self._comm.size) if rank != self._root]
        self._workers = others if max_workers is None or comm is not None else others[:max_workers]
        self._idle, self._queue = deque(self._workers), deque[tuple[Future, Any]]()
        self._running: dict[int, Future] = {}
        self._is_shut = False
        if self._comm.rank != self._root:
            self.serve()
            if comm is None:
                raise SystemExit
        elif not others and initializer is not None:
            initializer(*self._initialize[1])

    @property
    def num_workers(self) -> int:
        """How many ranks work."""
        return 0 if self._is_shut else max(1, len(self._workers))

    def bootup(self, wait: bool = True) -> MPIPoolExecutor:
        """Return itself: the workers exist. Raises RuntimeError after ``shutdown``."""
        self._check_open()
        return self

    def _check_open(self) -> None:
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Hand a call to a worker; return its future. Raises RuntimeError after ``shutdown``."""
        self._check_open()
        future, task = Future(self), (fn, args, kwargs)
        if self._workers:
            self._queue.append((future, task))
            self._hand_out()
        else:
            future.set_running_or_notify_cancel()
            _settle(future, *_done(task))
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        unordered: bool = False,
    ) -> Iterator[Any]:
        """Return the results of calls of ``fn``, ``chunksize`` of them in a task."""
        return self.starmap(fn, zip(*iterables, strict=False), timeout, chunksize, buffersize, unordered)

    def starmap(
        self,
        fn: Callable[..., Any],
        iterable: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        unordered: bool = False,
    ) -> Iterator[Any]:
        """Return the results of calls of ``fn`` with the arguments of each entry."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1")
        every = [tuple(one) for one in iterable]
        parts = [every[begin : begin + chunksize] for begin in range(0, len(every), chunksize)]
        tasks = [self.submit(_several, fn, part) for part in parts]
        return (result for task in tasks for result in task.result())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for all tasks, or cancel those that no worker has, and let the workers go."""
        if self._is_shut:
            return
        self._is_shut = True
        while cancel_futures and self._queue:
            self._queue.popleft()[0].cancel()
        self.finish()
        if self._comm.rank == self._root:
            for worker in (rank for rank in range(self._comm.size) if rank != self._root):
                self._comm.send(None, worker, _END)

    # --- Messages --------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        while self._idle and self._queue:
            future, task = self._queue.popleft()
            if future.set_running_or_notify_cancel():
                worker = self._idle.popleft()
                self._running[worker] = future
                self._comm.send(task, worker, _TASK)

    def progress_until(self, is_done: Callable[[], bool]) -> None:
        """Receive results until something is done, or no worker works."""
        while not is_done() and self._running:
            status = constant("Status")()
            found = self._comm.recv(None, constant("ANY_SOURCE"), _RESULT, status)
            worker = status.Get_source()
            self._idle.append(worker)
            future = self._running.pop(worker)
            self._hand_out()
            _settle(future, *found)

    def finish(self) -> None:
        """Receive all results."""
        self.progress_until(lambda: False)

    def serve(self) -> None:
        """Do tasks of the root until it ends."""
        initializer, given = self._initialize
        if initializer is not None:
            initializer(*given)
        while True:
            status = constant("Status")()
            task = self._comm.recv(None, self._root, constant("ANY_TAG"), status)
            if status.Get_tag() == _END:
                return
            self._comm.send(_done(task), self._root, _RESULT)


class MPICommExecutor:
    """Makes the root of a communicator an executor, and the other ranks its workers, within ``with``."""

    def __init__(self, comm: Any = None, root: int = 0, **kwargs: Any) -> None:
        self._comm, self._root, self._options = constant("COMM_WORLD") if comm is None else comm, root, kwargs
        self._executor: MPIPoolExecutor | None = None
        if not 0 <= root < self._comm.size:
            raise ValueError("expecting root in range(comm.size)")

    def __enter__(self) -> MPIPoolExecutor | None:
        if self._executor is not None:
            raise RuntimeError("__enter__")
        made = MPIPoolExecutor(comm=self._comm.Dup(), root=self._root, **self._options)
        self._executor = made
        return made if self._comm.rank == self._root else None

    def __exit__(self, *exc: object) -> None:
        if self._executor is not None and self._comm.rank == self._root:
            self._executor.shutdown()
        self._executor = None


def get_comm_workers() -> Any:
    """Return the communicator of the workers: of this rank alone, because ranks work one task each."""
    return constant("COMM_SELF")


def _several(fn: Callable[..., Any], part: list[tuple[Any, ...]]) -> list[Any]:
    return [fn(*one) for one in part]


def _done(task: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> tuple[Any, BaseException | None]:
    """Return the result of a task, and what it raised."""
    fn, args, kwargs = task
    try:
        return fn(*args, **kwargs), None
    except Exception as error:
        return None, error


def _settle(future: Future, result: Any, error: BaseException | None) -> None:
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def members() -> dict[str, Any]:
    """Return the names of the module ``mpi4py.futures``."""
    own = (Future, MPIPoolExecutor, MPICommExecutor, get_comm_workers)
    shared = (
        "Executor",
        "CancelledError",
        "InvalidStateError",
        "TimeoutError",
        "BrokenExecutor",
        "wait",
        "as_completed",
    )
    names = {one.__name__: one for one in own} | {name: getattr(futures, name) for name in shared}
    constants = {name: getattr(futures, name) for name in ("FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED")}
    return names | constants | {"ThreadPoolExecutor": MPIPoolExecutor, "ProcessPoolExecutor": MPIPoolExecutor}
