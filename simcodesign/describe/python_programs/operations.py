"""What a program in Python yields: operations, phases, starts and waits; and the groups of ranks that it makes.

An operation is a tuple: its kind, its name, its size or amount, and what else tells it from others. Equal operations
are equal tuples, so that a program is stored as numbers of distinct operations. What is in them is checked when they
are yielded (``recording``), where the line is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from json import dumps
from typing import Any, Protocol

from simcodesign.core.errors import InputError, nearest
from simcodesign.describe.demands.collective import ALGORITHMS, SIGNALS

COMPUTE, ACCESS, SEND, RECEIVE, COLLECTIVE = "compute", "access", "send", "receive", "collective"
MEMORY, OVERLAP = "memory", "overlap"
PHASE, START, WAIT = "phase", "start", "wait"
#: Part of a rank that does operations of a kind, the processor last.
PARTS = {MEMORY: "memory", ACCESS: "disk", COMPUTE: "processor"}


class Operation(tuple[Any, ...]):
    """What a rank does next, as ``sc.compute`` and the others make it; a program yields it."""

    __slots__ = ()


class Handle:
    """What ``yield sc.start(...)`` gives, for ``sc.wait``."""

    __slots__ = ("entry", "rank", "waited")

    def __init__(self, rank: int, entry: int) -> None:
        self.rank, self.entry, self.waited = rank, entry, False


class Run(Protocol):
    """The run of one rank, as its groups see it."""

    rank: int
    size: int

    def join(self, colour: object, line: int) -> int | None:
        """Note a call of ``sc.group``; its number, or None for a rank that belongs to none."""

    def place_in(self, number: int) -> tuple[int, int]:
        """Rank in a group, and how many ranks this has."""

    def member(self, number: int, rank: int) -> int:
        """Rank among all ranks of a rank of a group whose members are known."""


#: The run that is under way; None outside.
current: list[Run | None] = [None]


def compute(
    *, flops: float | None = None, instructions: float | None = None, seconds: float | None = None
) -> Operation:
    """Computation of so many ``flops``, ``instructions`` or ``seconds``: one of the three. InputError for none or more.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def work(rank, size):
    ...     yield sc.compute(seconds=2.0)
    >>> float(sc.simulate(work, "crossbar-16", {"P": 4}, effects="none").makespan_s)
    2.0
    """
    if instructions is None and seconds is None and flops is not None:
        return Operation((COMPUTE, "flops", flops))
    if flops is None and seconds is None and instructions is not None:
        return Operation((COMPUTE, "instructions", instructions))
    if flops is None and instructions is None and seconds is not None:
        return Operation((COMPUTE, "seconds", seconds))
    raise InputError("sc.compute takes one amount", allowed="flops, instructions or seconds")


def read(bytes: float, times: float = 1) -> Operation:
    """``times`` reads of ``bytes`` each from the disk.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def input(rank, size):
    ...     yield sc.read(bytes=1e6, times=3)
    >>> sc.simulate(input, "torus-cluster", {"P": 1}, effects="none").disk_bytes
    3000000.0
    """
    return Operation((ACCESS, "read", bytes, times))


def write(bytes: float, times: float = 1) -> Operation:
    """``times`` writes of ``bytes`` each to the disk.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def output(rank, size):
    ...     yield sc.write(bytes=1e6, times=2)
    >>> sc.simulate(output, "torus-cluster", {"P": 1}, effects="none").disk_bytes
    2000000.0
    """
    return Operation((ACCESS, "write", bytes, times))


def memory(**keywords: Any) -> Operation:
    """Loads and stores, by the keywords of ``memory`` in workload files: ``loads``, ``hits`` ...

    >>> import simcodesign as sc
    >>> @sc.program
    ... def loads(rank, size):
    ...     yield sc.memory(accesses=1000, stack_distance=1)
    """
    return Operation((MEMORY, "memory", dumps(keywords, sort_keys=True, default=float)))


def overlap(*parts: Operation) -> Operation:
    """Work of the processor, of the memory and of the disk that begins together: done when the last of ``parts`` is.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def both(rank, size):
    ...     yield sc.overlap(sc.compute(seconds=2.0), sc.write(bytes=8))
    >>> float(sc.simulate(both, "torus-cluster", {"P": 1}, effects="none").makespan_s)
    2.0
    """
    return Operation((OVERLAP, parts))


def send(to: int, bytes: float, tag: int = 0) -> Operation:
    """A message of ``bytes`` to rank ``to`` (of all ranks); a receive with the same ``tag`` takes it.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def pair(rank, size):
    ...     yield sc.send(1, bytes=8) if rank == 0 else sc.receive(0)
    >>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").message_bytes
    8.0
    """
    return Operation((SEND, "send", bytes, to, tag))


def receive(source: int | None = None, bytes: float | None = None, tag: int = 0) -> Operation:
    """Wait for the next message with this tag from rank ``source``, or, without one, from whoever comes first;
    ``bytes``, if given, must be what was sent.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def pair(rank, size):
    ...     yield sc.send(1, bytes=8) if rank == 0 else sc.receive(0, bytes=8)
    >>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").messages
    1
    """
    return Operation((RECEIVE, "receive", bytes, source, tag))


def phase(name: str) -> Operation:
    """From here on the time of this rank is booked under ``name``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def two(rank, size):
    ...     yield sc.phase("first")
    ...     yield sc.compute(seconds=1.0)
    ...     yield sc.phase("second")
    ...     yield sc.compute(seconds=2.0)
    >>> sorted(sc.simulate(two, "crossbar-16", {"P": 1}, effects="none").phases)
    ['first', 'second']
    """
    return Operation((PHASE, name))


def start(operation: Operation) -> Operation:
    """Begin a message, a collective operation or a disk access, and go on at once: ``handle = yield sc.start(...)``.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def pair(rank, size):
    ...     handle = yield sc.start(sc.send(1 - rank, bytes=8))
    ...     yield sc.receive(1 - rank)
    ...     yield sc.wait(handle)
    >>> sc.simulate(pair, "crossbar-16", {"P": 2}, effects="none").messages
    2
    """
    return Operation((START, operation))


def wait(*handles: Handle) -> Operation:
    """Wait until the operations that were started are done: ``handles`` are what ``yield sc.start(...)`` gave.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def write_behind(rank, size):
    ...     handle = yield sc.start(sc.write(bytes=8))
    ...     yield sc.compute(seconds=2.0)
    ...     yield sc.wait(handle)
    >>> float(sc.simulate(write_behind, "torus-cluster", {"P": 1}, effects="none").makespan_s)
    2.0
    """
    return Operation((WAIT, handles))


class Group:
    """The ranks that gave ``sc.group`` the same colour, in rank order, or all ranks (``sc.world``).

    It has a method for every collective operation: ``broadcast(bytes, root=0, algorithm=None)``, with ``order`` and
    ``segment`` where the algorithm has them.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def everyone(rank, size):
    ...     yield sc.world.broadcast(bytes=8)
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
        """A message to rank ``to`` of the group."""
        return send(self._member(to, "to"), bytes, tag)

    def receive(self, source: int, bytes: float | None = None, tag: int = 0) -> Operation:
        """Wait for the next message with this tag from rank ``source`` of the group; ``bytes`` as in ``sc.receive``."""
        return receive(self._member(source, "source"), bytes, tag)

    def _member(self, rank: int, what: str) -> int:
        """Rank among all ranks of a rank of the group. InputError if there is none."""
        run = _run(f"{self!r}.{'send' if what == 'to' else 'receive'}")
        size = run.place_in(self.number)[1]
        if isinstance(rank, str | bool) or not 0 <= rank < size or rank != int(rank):
            raise InputError(f"{what} in a group of {size}", value=rank, allowed=f"a whole number from 0 to {size - 1}")
        return run.member(self.number, int(rank))

    def __repr__(self) -> str:
        return "sc.group(...)" if self.number else "sc.world"

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
    """The ranks that give the same ``colour``, in rank order: MPI_Comm_split. With None, or a colour below 0 as in a
    workload file, the rank belongs to none.

    All ranks call it in the same order, anywhere in the program. InputError outside of one.

    >>> import simcodesign as sc
    >>> @sc.program
    ... def rows(rank, size):
    ...     row = sc.group(rank // 2)
    ...     yield row.barrier()
    >>> sc.simulate(rows, "crossbar-16", {"P": 4}, effects="none").messages  # two groups of two ranks
    4
    """
    number = _run("sc.group").join(colour, sys._getframe(1).f_lineno)
    return None if number is None else Group(number)


def _run(what: str) -> Run:
    """The run that is under way. InputError outside."""
    run = current[0]
    if run is None:
        raise InputError(f"{what} has a meaning only while a program runs", allowed="within the function of sc.program")
    return run
