"""``mpi4py.util.sync``: turns, counters, locks, conditions and semaphores of several ranks.

They are made of windows and messages, and cost what these cost. A lock is a queue of ranks (Mellor-Crummey and Scott,
ACM TOCS 9 (1991) 21-65): its end is in a window of rank 0, and each rank hands the lock to the next by a message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from simcodesign.mpi.objects.info import INFO_NULL, Info
from simcodesign.mpi.values.handles import constant

Answer = TypeVar("Answer")
Self = TypeVar("Self", bound="Held")
#: Tags: a rank is the next in the queue, has the lock, is notified.
_NEXT, _GRANTED, _NOTIFIED = 1, 2, 3
_NONE = -1


class Sequential:
    """A block that the ranks of a communicator run one after another."""

    def __init__(self, comm: Any, tag: int = 0) -> None:
        self.comm, self.tag = comm, tag

    def begin(self) -> None:
        """Wait for the rank before this one."""
        if self.comm.rank > 0:
            self.comm.Recv(bytearray(), self.comm.rank - 1, self.tag)

    def end(self) -> None:
        """Let the next rank begin."""
        if self.comm.rank + 1 < self.comm.size:
            self.comm.Send(b"", self.comm.rank + 1, self.tag)

    def __enter__(self) -> Sequential:
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()


class _Cells:
    """Numbers in the memory of one rank, which all ranks of a communicator read and change."""

    def __init__(self, comm: Any, values: list[Any], dtype: Any, info: Info, root: int = 0) -> None:
        self._dtype, self._root, self._length = np.dtype(dtype), root, len(values)
        own = np.array(values if comm.rank == root else [], self._dtype)
        self._window: Any = constant("Win").Create(own, self._dtype.itemsize, info, comm)

    @property
    def window(self) -> Any:
        """The window. Raises RuntimeError if it is freed."""
        if self._window is None:
            raise RuntimeError("freed")
        return self._window

    def _access(self, act: Callable[[Any], None]) -> None:
        self.window.Lock(self._root, constant("LOCK_SHARED"))
        try:
            act(self.window)
        finally:
            self.window.Unlock(self._root)

    def exchange(self, value: Any, op: Any) -> Any:
        """Return the first number, and combine it with a value."""
        own, before = np.array([value], self._dtype), np.zeros(1, self._dtype)
        self._access(lambda window: window.Fetch_and_op(own, before, self._root, 0, op))
        return before[0].item()

    def replace(self, expected: Any, value: Any) -> bool:
        """Replace the first number if it is the expected one; return whether it was."""
        own, compared, before = (np.array([one], self._dtype) for one in (value, expected, 0))
        self._access(lambda window: window.Compare_and_swap(own, compared, before, self._root, 0))
        return bool(before[0] == compared[0])

    def read(self) -> list[Any]:
        """Return all numbers."""
        found = np.zeros(self._length, self._dtype)
        self._access(lambda window: window.Get(found, self._root))
        return found.tolist()  # type: ignore[no-any-return]

    def write(self, values: list[Any]) -> None:
        """Set all numbers."""
        self._access(lambda window: window.Put(np.array(values, self._dtype), self._root))

    def free(self) -> None:
        """Free the window, on all ranks; a second time nothing happens."""
        if self._window is not None:
            self._window.Free()
            self._window = None


class Counter:
    """A number that each call raises; no two calls get the same."""

    def __init__(
        self,
        start: int = 0,
        step: int = 1,
        *,
        typecode: str = "i",
        comm: Any = None,
        info: Info = INFO_NULL,
        root: int = 0,
    ) -> None:
        self._step = step
        self._cells = _Cells(constant("COMM_SELF") if comm is None else comm, [start], typecode, info, root)

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> int:
        return self.next()

    def next(self, incr: int | None = None) -> int:
        """Return the number, and raise it, by default by the step. Raises RuntimeError after ``free``."""
        return self._cells.exchange(self._step if incr is None else incr, constant("SUM"))  # type: ignore[no-any-return]

    def free(self) -> None:
        """Free the memory, on all ranks."""
        self._cells.free()


class Held:
    """Base of objects that are acquired and released, also by ``with``."""

    def acquire(self, blocking: bool = True) -> bool:
        """Acquire; return whether it is acquired."""
        raise NotImplementedError

    def release(self) -> None:
        """Release."""
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


class Mutex(Held):
    """A lock that one rank holds at a time; ``recursive``: as often as it acquires it."""

    def __init__(self, *, recursive: bool = False, comm: Any = None, info: Info = INFO_NULL) -> None:
        self._recursive, self._count = recursive, 0
        self.comm = (constant("COMM_SELF") if comm is None else comm).Dup()
        self._last = _Cells(self.comm, [_NONE], "i", info)

    def acquire(self, blocking: bool = True) -> bool:
        """Acquire; return whether it is acquired. Raises RuntimeError if this rank has it and may not have it twice."""
        me = self.comm.rank
        _ = self._last.window
        if self._count and not self._recursive:
            raise RuntimeError("the lock is held already")
        if not self._count:
            if blocking:
                before = self._last.exchange(me, constant("REPLACE"))
                if before != _NONE:
                    self.comm.Send(b"", before, _NEXT)
                    self.comm.Recv(bytearray(), before, _GRANTED)
            elif not self._last.replace(_NONE, me):
                return False
        self._count += 1
        return True

    def release(self) -> None:
        """Release. Raises RuntimeError if this rank does not have it."""
        _ = self._last.window
        if not self._count:
            raise RuntimeError("the lock is not held")
        self._count -= 1
        if not self._count and not self._last.replace(self.comm.rank, _NONE):
            status = constant("Status")()
            self.comm.Recv(bytearray(), constant("ANY_SOURCE"), _NEXT, status)
            self.comm.Send(b"", status.Get_source(), _GRANTED)

    def locked(self) -> bool:
        """Return whether this rank has it."""
        _ = self._last.window
        return self._count > 0

    def count(self) -> int:
        """Return how often this rank has acquired it."""
        _ = self._last.window
        return self._count

    def free(self) -> None:
        """Release it if this rank has it, and free the memory, on all ranks."""
        self.let_go()
        self._last.free()

    def let_go(self) -> None:
        """Release it as often as this rank has it."""
        while self._count:
            self.release()


class Condition(Held):
    """A lock whose holder may wait until another rank notifies it."""

    def __init__(
        self, mutex: Mutex | None = None, *, recursive: bool = True, comm: Any = None, info: Info = INFO_NULL
    ) -> None:
        self._is_own = mutex is None
        self.mutex = Mutex(recursive=recursive, comm=comm, info=info) if mutex is None else mutex
        size = self.mutex.comm.size
        self._waiting = _Cells(self.mutex.comm, [0] * (size + 1), "i", info)  # how many, and which; under the lock
        self.comm = self.mutex.comm

    def acquire(self, blocking: bool = True) -> bool:
        """Acquire the lock; return whether it is acquired."""
        _ = self._waiting.window
        return self.mutex.acquire(blocking)

    def release(self) -> None:
        """Release the lock."""
        _ = self._waiting.window
        self.mutex.release()

    def locked(self) -> bool:
        """Return whether this rank has the lock."""
        _ = self._waiting.window
        return self.mutex.locked()

    def _check_locked(self) -> None:
        if not self.locked():
            raise RuntimeError("the lock is not held")

    def _read(self) -> list[int]:
        count, *ranks = self._waiting.read()
        return ranks[:count]

    def _write(self, ranks: list[int]) -> None:
        self._waiting.write([len(ranks), *ranks, *[0] * (self.comm.size - len(ranks))])

    def wait(self) -> bool:
        """Release the lock, wait until notified, acquire the lock again; return True."""
        self._check_locked()
        self._write([*self._read(), self.comm.rank])
        times = self.mutex.count()
        for _ in range(times):
            self.mutex.release()
        self.comm.Recv(bytearray(), constant("ANY_SOURCE"), _NOTIFIED)
        for _ in range(times):
            self.mutex.acquire()
        return True

    def wait_for(self, predicate: Callable[[], Answer]) -> Answer:
        """Wait until ``predicate()`` is true; return its value."""
        found = predicate()
        while not found:
            self.wait()
            found = predicate()
        return found

    def notify(self, n: int = 1) -> int:
        """Notify up to ``n`` waiting ranks; return how many."""
        self._check_locked()
        ranks = self._read()
        chosen, left = ranks[:n], ranks[n:]
        self._write(left)
        for rank in chosen:
            self.comm.Send(b"", rank, _NOTIFIED)
        return len(chosen)

    def notify_all(self) -> int:
        """Notify all waiting ranks; return how many."""
        return self.notify(self.comm.size)

    def free(self) -> None:
        """Release the lock if this rank has it, and free the memory, on all ranks, and the lock if it was made here."""
        self.mutex.let_go()
        if self._is_own:
            self.mutex.free()
        self._waiting.free()


class Semaphore(Held):
    """A number of permits; ``bounded``: there are never more than at first."""

    def __init__(self, value: int = 1, *, bounded: bool = True, comm: Any = None, info: Info = INFO_NULL) -> None:
        if value < 0:
            raise ValueError("a semaphore has 0 permits or more")
        self._bounded, self._most = bounded, value
        self._condition = Condition(recursive=False, comm=comm, info=info)
        self._counter = Counter(value, comm=self._condition.comm, info=info)

    def acquire(self, blocking: bool = True) -> bool:
        """Take a permit; return whether there was one, or wait for one if ``blocking``."""
        with self._condition:
            while not self._counter.next(0):
                if not blocking:
                    return False
                self._condition.wait()
            self._counter.next(-1)
            return True

    def release(self, n: int = 1) -> None:
        """Give back ``n`` permits. Raises ValueError for more than there were."""
        if n < 1:
            raise ValueError("1 permit or more are given back")
        with self._condition:
            if self._bounded and self._counter.next(0) + n > self._most:
                raise ValueError("more permits are given back than there are")
            self._counter.next(n)
            self._condition.notify(n)

    def free(self) -> None:
        """Free the memory, on all ranks."""
        self._counter.free()
        self._condition.free()
