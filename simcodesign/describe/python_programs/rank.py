"""Build what a rank does next: the words of programs in Python, as in ``yield sc.rank.send(1, bytes=8)``.

>>> import simcodesign as sc
>>> @sc.program
... def pair(rank, size):
...     yield sc.rank.send(1, bytes=8) if rank == 0 else sc.rank.receive(0)
>>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").messages
1
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from simcodesign.core.errors import InputError, nearest
from simcodesign.describe.demands.collective import ALGORITHMS, SIGNALS
from simcodesign.describe.python_programs.keyword_calls import by_keyword
from simcodesign.describe.python_programs.recorded_operations import (
    ACCESS,
    COLLECTIVE,
    COMPUTE,
    COPY,
    KERNEL,
    MEMORY,
    OVERLAP,
    PHASE,
    RECEIVE,
    SEND,
    START,
    WAIT,
    Handle,
    Operation,
    Run,
    current,
)

__all__ = [
    "compute",
    "copy",
    "group",
    "kernel",
    "memory",
    "overlap",
    "phase",
    "read",
    "receive",
    "send",
    "start",
    "wait",
    "world",
    "write",
]


def __dir__() -> list[str]:
    return __all__


def compute(
    *, flops: float | None = None, instructions: float | None = None, seconds: float | None = None
) -> Operation:
    """Compute a number of ``flops``, ``instructions`` or ``seconds``: one of the three. InputError for none or more.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def work(rank, size):
    ...     yield sc.rank.compute(seconds=2.0)
    >>> float(sc.simulate(work, "crossbar-16", {"P": 4}, effects="none").makespan_s)
    2.0
    """
    if instructions is None and seconds is None and flops is not None:
        return Operation((COMPUTE, "flops", flops))
    if flops is None and seconds is None and instructions is not None:
        return Operation((COMPUTE, "instructions", instructions))
    if flops is None and instructions is None and seconds is not None:
        return Operation((COMPUTE, "seconds", seconds))
    raise InputError("sc.rank.compute takes one amount", allowed="flops, instructions or seconds")


def read(bytes: float, times: float = 1) -> Operation:
    """Read ``times`` times ``bytes`` from the disk.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def input(rank, size):
    ...     yield sc.rank.read(bytes=1e6, times=3)
    >>> sc.simulate(input, "torus-cluster", {"P": 1}, effects="none").disk_bytes
    3000000.0
    """
    return Operation((ACCESS, "read", bytes, times))


def write(bytes: float, times: float = 1) -> Operation:
    """Write ``times`` times ``bytes`` to the disk.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def output(rank, size):
    ...     yield sc.rank.write(bytes=1e6, times=2)
    >>> sc.simulate(output, "torus-cluster", {"P": 1}, effects="none").disk_bytes
    2000000.0
    """
    return Operation((ACCESS, "write", bytes, times))


def memory(**keywords: Any) -> Operation:
    """Load and store, by the keywords of ``memory`` in workload files: ``loads``, ``hits`` ...

    >>> import simcodesign as sc
    >>> @sc.program
    ... def loads(rank, size):
    ...     yield sc.rank.memory(accesses=1000, stack_distance=1)
    """
    return Operation((MEMORY, "memory", by_keyword(keywords)))


def kernel(**keywords: Any) -> Operation:
    """Do kernels on the accelerator of the rank, by the keywords of ``kernel`` in workload files.

    ``flops``, ``bytes`` or both, or a shape (``gemm=(m, n, k)``, ``attention={...}``, ``normalisation={...}``);
    ``type``, ``efficiency`` and ``times``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def product(rank, size, *, n=4096):
    ...     yield sc.rank.kernel(gemm=(n, n, n), type="bf16")
    >>> result = sc.forecast(product, "a100-cluster", {"P": 1})
    >>> round(2 * 4096**3 / result.makespan_s / 1e12)  # Tflop/s
    312
    """
    return Operation((KERNEL, KERNEL, by_keyword(keywords)))


def copy(to: str, bytes: float, times: float = 1) -> Operation:
    """Do ``times`` copies of ``bytes`` each between the host and its accelerator.

    ``to``: the ``"accelerator"`` or the ``"host"``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def there(rank, size):
    ...     yield sc.rank.copy("accelerator", bytes=36e9)
    >>> round(float(sc.forecast(there, "frontier-cabinet", {"P": 1}).makespan_s), 3)
    1.0
    """
    return Operation((COPY, COPY, by_keyword({"to": to, "bytes": bytes, "times": times})))


def overlap(*parts: Operation) -> Operation:
    """Do work of a rank's processor, memory, disk, accelerator and link that begins together.

    At most one of each: done when the last of ``parts`` is.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def both(rank, size):
    ...     yield sc.rank.overlap(sc.rank.compute(seconds=2.0), sc.rank.write(bytes=8))
    >>> float(sc.simulate(both, "torus-cluster", {"P": 1}, effects="none").makespan_s)
    2.0
    """
    return Operation((OVERLAP, parts))


def send(to: int, bytes: float, tag: int = 0) -> Operation:
    """Return a message of ``bytes`` to rank ``to`` (of all ranks); a receive with the same ``tag`` takes it.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def pair(rank, size):
    ...     yield sc.rank.send(1, bytes=8) if rank == 0 else sc.rank.receive(0)
    >>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").message_bytes
    8.0
    """
    return Operation((SEND, "send", bytes, to, tag))


def receive(source: int | None = None, bytes: float | None = None, tag: int = 0) -> Operation:
    """Wait for the next message with this tag from rank ``source``, or, without one, from any rank.

    ``bytes``, if given, must equal the size sent.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def pair(rank, size):
    ...     yield sc.rank.send(1, bytes=8) if rank == 0 else sc.rank.receive(0, bytes=8)
    >>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").messages
    1
    """
    return Operation((RECEIVE, "receive", bytes, source, tag))


def phase(name: str) -> Operation:
    """From here on the time of this rank is booked under ``name``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def two(rank, size):
    ...     yield sc.rank.phase("first")
    ...     yield sc.rank.compute(seconds=1.0)
    ...     yield sc.rank.phase("second")
    ...     yield sc.rank.compute(seconds=2.0)
    >>> sorted(sc.simulate(two, "crossbar-16", {"P": 1}, effects="none").phases)
    ['first', 'second']
    """
    return Operation((PHASE, name))


def start(operation: Operation) -> Operation:
    """Begin a message, a collective operation, a disk access, a kernel or a copy, and continue.

    ``handle = yield sc.rank.start(...)``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def pair(rank, size):
    ...     handle = yield sc.rank.start(sc.rank.send(1 - rank, bytes=8))
    ...     yield sc.rank.receive(1 - rank)
    ...     yield sc.rank.wait(handle)
    >>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").messages
    2
    """
    return Operation((START, operation))


def wait(*handles: Handle) -> Operation:
    """Wait until started operations are done: ``handles`` are the values of ``yield sc.rank.start(...)``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def write_behind(rank, size):
    ...     handle = yield sc.rank.start(sc.rank.write(bytes=8))
    ...     yield sc.rank.compute(seconds=2.0)
    ...     yield sc.rank.wait(handle)
    >>> float(sc.simulate(write_behind, "torus-cluster", {"P": 1}, effects="none").makespan_s)
    2.0
    """
    return Operation((WAIT, handles))


class Group:
    """The ranks that gave ``sc.rank.group`` the same colour, in rank order, or all ranks (``sc.rank.world``).

    It has a method for every collective operation: ``broadcast(bytes, root=0, algorithm=None)``, with ``order`` and
    ``segment`` where the algorithm has them.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def everyone(rank, size):
    ...     yield sc.rank.world.broadcast(bytes=8)
    >>> sc.simulate(everyone, "crossbar-16", {"P": 8}, effects="none").messages
    7
    """

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def rank(self) -> int:
        """Rank of this rank within the group."""
        return _run(f"{self!r}.rank").place_in(self.number)[0]

    @property
    def size(self) -> int:
        """How many ranks the group has."""
        return _run(f"{self!r}.size").place_in(self.number)[1]

    def send(self, to: int, bytes: float, tag: int = 0) -> Operation:
        """Return a message to rank ``to`` of the group."""
        return send(self._member(to, "to"), bytes, tag)

    def receive(self, source: int, bytes: float | None = None, tag: int = 0) -> Operation:
        """Wait for the next message with this tag from rank ``source`` of the group; ``bytes`` as for all ranks."""
        return receive(self._member(source, "source"), bytes, tag)

    def _member(self, rank: int, what: str) -> int:
        """Rank among all ranks of a rank of the group. InputError if there is none."""
        run = _run(f"{self!r}.{'send' if what == 'to' else 'receive'}")
        size = run.place_in(self.number)[1]
        if isinstance(rank, str | bool) or not 0 <= rank < size or rank != int(rank):
            raise InputError(f"{what} in a group of {size}", value=rank, allowed=f"a whole number from 0 to {size - 1}")
        return run.member(self.number, int(rank))

    def __repr__(self) -> str:
        return "sc.rank.group(...)" if self.number else "sc.rank.world"

    def __getattr__(self, name: str) -> Callable[..., Operation]:
        if name.startswith("_") or name not in ALGORITHMS:
            raise AttributeError(f"a group has no operation {name!r} (allowed: {nearest(name, ALGORITHMS)})")
        number, signal = self.number, name in SIGNALS

        def collective(
            bytes: float = 0.0 if signal else -1.0,
            root: int | None = None,
            algorithm: str | None = None,
            **options: float | str,
        ) -> Operation:
            return Operation((COLLECTIVE, name, bytes, algorithm, root, tuple(sorted(options.items())), number))

        self.__dict__[name] = collective
        return collective


#: All ranks.
world = Group(0)


def group(colour: int | None) -> Group | None:
    """Return the group of ranks that give the same ``colour``, in rank order: MPI_Comm_split.

    With None, or a colour below 0 as in a workload file, the rank belongs to none.

    All ranks call it in the same order, anywhere in the program. InputError outside of one.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def rows(rank, size):
    ...     row = sc.rank.group(rank // 2)
    ...     yield row.barrier()
    >>> sc.simulate(rows, "crossbar-16", {"P": 4}, effects="none").messages  # two groups of two ranks
    4
    """
    number = _run("sc.rank.group").join(colour, sys._getframe(1).f_lineno)
    return None if number is None else Group(number)


def _run(what: str) -> Run:
    """Return the run that is under way. InputError outside."""
    run = current[0]
    if run is None:
        raise InputError(f"{what} can be used only while a program runs", allowed="within the function of sc.program")
    return run
