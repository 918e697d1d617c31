"""Operations of one rank of a trace, as numbers of distinct operations."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.python_programs.recorded_operations import ACCESS, COLLECTIVE, COMPUTE, KERNEL, RECEIVE, SEND
from simcodesign.describe.python_programs.recording import NONE
from simcodesign.describe.recordings.communicators import WORLD, Tag

#: A wait for the entry e is stored as this less e.
WAIT = NONE - 1
#: A message of a collective operation whose sizes differ: to or from the member this many places further on.
PART: Any = "part"
#: An operation: kind and parameters. Peers of messages are counted from the rank itself, so that ranks that do
#: alike have the same operations.
Key = tuple[Any, ...]


class NotedOperations:
    """The distinct operations of all logs.

    ``keys``: by their numbers; ``starts``: the entries of a start, by operation and line.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.numbers = _Numbers(self.keys)
        self.starts: dict[tuple[Key, int], array[int]] = {}

    def start_of(self, key: Key, line: int) -> array[int]:
        """Return the entries of the start of an operation, which may be new, in a line."""
        return self.starts.setdefault((key, line), array("i", [self.numbers[key], line, NONE, line]))


class _Numbers(dict[Key, int]):
    """The numbers of operations, in the order in which they are looked up first."""

    def __init__(self, keys: list[Key]) -> None:
        super().__init__()
        self._keys = keys

    def __missing__(self, key: Key) -> int:
        self._keys.append(key)
        self[key] = number = len(self)
        return number


class RankLog:
    """Operations of one rank, in its order. A reader sets ``line``, the line of the trace, before each call.

    Peers and roots are ranks of the ``communicator``, a number of the builder's ``communicators``. What is started
    returns a handle for ``wait``; None for a message of a rank to itself. ``entries``: the number of each operation,
    NONE or of a wait, followed by its line.
    """

    def __init__(self, rank: int, noted: NotedOperations, place_of: Callable[[int, int], Place]) -> None:
        self.rank, self.line = rank, 0
        self.entries = array("i")
        self.limits: list[tuple[int, float]] = []  # entries of receives, and the most bytes that they take
        self.phase_changes = [(0, "main")]
        self._open: set[int] = set()
        self._noted, self._starts, self._place_of = noted, noted.starts, place_of

    def __len__(self) -> int:
        return len(self.entries) // 2

    def line_of(self, entry: int) -> int:
        """Return the line of an entry."""
        return self.entries[2 * entry + 1]

    def _add(self, key: tuple[Any, ...]) -> None:
        self.entries.append(self._noted.numbers[key])
        self.entries.append(self.line)

    def _start(self, key: tuple[Any, ...]) -> int:
        """Start an operation that runs concurrently with the following ones."""
        line, entry = self.line, len(self.entries) // 2
        self.entries += self._starts.get((key, line)) or self._noted.start_of(key, line)
        self._open.add(entry)
        return entry

    @property
    def place(self) -> Place:
        """Where in the trace the rank is."""
        return self._place_of(self.rank, self.line)

    def phase(self, name: str) -> None:
        """Book what follows under ``name``."""
        self.phase_changes.append((len(self), name))

    def compute(self, amount: float, unit: str = "seconds") -> None:
        """Compute for a number of ``seconds``, ``flops`` or ``instructions``."""
        self._add((COMPUTE, unit, amount))

    def kernel(self, text: str) -> None:
        """Run kernels on the accelerator, by their keywords in JSON."""
        self._add((KERNEL, KERNEL, text))

    def start_access(self, kind: str, size_bytes: float) -> int:
        """Start a ``read`` or ``write`` of the disk."""
        return self._start((ACCESS, kind, size_bytes, 1))

    def send(self, to: int, size_bytes: float, tag: Tag = 0, communicator: int = WORLD) -> None:
        """Send, and wait until the message has left."""
        self._add((SEND, size_bytes, to - self.rank, tag, communicator))

    def start_send(self, to: int, size_bytes: float, tag: Tag = 0, communicator: int = WORLD) -> int:
        """Start a send."""
        return self._start((SEND, size_bytes, to - self.rank, tag, communicator))

    def receive(
        self, source: int | None, most_bytes: float | None = None, tag: Tag | None = 0, communicator: int = WORLD
    ) -> None:
        """Receive a message of at most ``most_bytes``; the send determines its size. None: any rank, any tag."""
        if most_bytes is not None:
            self.limits.append((len(self), most_bytes))
        self._add((RECEIVE, None if source is None else source - self.rank, tag, communicator))

    def start_receive(
        self, source: int | None, most_bytes: float | None = None, tag: Tag | None = 0, communicator: int = WORLD
    ) -> int:
        """Start a receive. For any rank or tag, ``received`` gives them later."""
        if most_bytes is not None:
            self.limits.append((len(self), most_bytes))
        return self._start((RECEIVE, None if source is None else source - self.rank, tag, communicator))

    def received(self, handle: int, source: int, tag: Tag, communicator: int | None = None) -> None:
        """Note from which rank of its communicator, and with which tag, a started receive took its message."""
        if communicator is None:
            communicator = self._noted.keys[self.entries[2 * handle]][-1]
        self._was(handle, RECEIVE, source - self.rank, tag, communicator)

    def was_nothing(self, handle: int) -> None:
        """Take back what was started and is not waited for."""
        self.entries[2 * handle] = NONE
        self._open.remove(handle)

    def _was(self, handle: int, *key: Any) -> None:
        """Replace an operation."""
        self.entries[2 * handle] = self._noted.numbers[key]

    def collective(
        self, name: str, size_bytes: float = 0.0, root: int | None = None, communicator: int = WORLD
    ) -> None:
        """Take part in a collective operation by its default algorithm.

        ``size_bytes`` as in workload files: what each rank contributes (to each partner), or gets from the root.
        """
        self._add((COLLECTIVE, name, size_bytes, root, communicator))

    def start_collective(
        self, name: str, size_bytes: float = 0.0, root: int | None = None, communicator: int = WORLD
    ) -> int:
        """Start a collective operation."""
        return self._start((COLLECTIVE, name, size_bytes, root, communicator))

    def unknown_collective(self) -> int:
        """Take part in a collective operation that ``was_collective`` describes later."""
        self._add((COLLECTIVE, None, 0.0, None, WORLD))
        return len(self) - 1

    def start_unknown(self) -> int:
        """Start such an operation."""
        return self._start((COLLECTIVE, None, 0.0, None, WORLD))

    def was_collective(self, handle: int, name: str, size_bytes: float, root: int | None, communicator: int) -> None:
        """Say what such an operation is."""
        self._was(handle, COLLECTIVE, name, size_bytes, root, communicator)

    def wait(self, handle: int) -> None:
        """Wait for what was started. Raises InputError for what was not, or is waited for again."""
        try:
            self._open.remove(handle)
        except KeyError:
            raise InputError(f"rank {self.rank} waits for what it has not started", self.place) from None
        self.entries.append(WAIT - handle)
        self.entries.append(self.line)

    def wait_for_all(self) -> None:
        """Wait for all started operations without a wait, in the order of the starts."""
        for handle in sorted(self._open):
            self.wait(handle)

    def gather_parts(
        self, size_bytes: float, root: int, is_root: bool, members: int, communicator: int = WORLD
    ) -> None:
        """Send a part of any size to the root, which receives them one after another: MPI_Gatherv."""
        if not is_root:
            self.send(root, size_bytes, PART, communicator)
            return
        for member in range(members):
            if member != root:
                self.receive(member, None, PART, communicator)

    def scatter_parts(self, sizes_bytes: Sequence[float], root: int, is_root: bool, communicator: int = WORLD) -> None:
        """Receive a part of any size from the root, which sends ``sizes_bytes`` one after another: MPI_Scatterv."""
        if not is_root:
            self.receive(root, None, PART, communicator)
            return
        for member, size_bytes in enumerate(sizes_bytes):
            if member != root:
                self.send(member, size_bytes, PART, communicator)

    def allgather_parts(self, sizes_bytes: Sequence[float], communicator: int = WORLD) -> None:
        """Pass the parts of all members round a ring: MPI_Allgatherv."""
        sizes = tuple(sizes_bytes)
        for turn in range(len(sizes) - 1):
            self._exchange(sizes, -turn, 1, -1, communicator)

    def all_to_all_parts(self, sizes_bytes: Sequence[float], communicator: int = WORLD) -> None:
        """Exchange with one member after another: MPI_Alltoallv. ``sizes_bytes``: what this rank sends to each."""
        sizes = tuple(sizes_bytes)
        for turn in range(1, len(sizes)):
            self._exchange(sizes, turn, turn, -turn, communicator)

    def _exchange(self, sizes: tuple[float, ...], part: int, to: int, source: int, communicator: int) -> None:
        """Send the size at ``part``, and receive from ``source``: all counted from this member's own rank."""
        handle = self._start((PART, SEND, sizes, part, to, communicator, self.rank))
        self._add((PART, RECEIVE, sizes, 0, source, communicator, self.rank))
        self.wait(handle)
