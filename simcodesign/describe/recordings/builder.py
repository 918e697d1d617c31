"""Build a Recording from what a trace says of each rank. InputErrors name the file, the rank and the line."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.describe.python_programs.checks import checked
from simcodesign.describe.python_programs.matched import collective_calls, message_sizes
from simcodesign.describe.python_programs.recorded_operations import (
    ACCESS,
    COLLECTIVE,
    COMPUTE,
    RECEIVE,
    SEND,
    Operation,
)
from simcodesign.describe.python_programs.recording import BYTES_PER_ENTRY, NONE, Recording
from simcodesign.describe.recordings.communicators import WORLD, Communicator, Communicators, Tag, groups_of

Int64s = NDArray[np.int64]
#: Of a wait for the entry e, the logs have this less e.
_WAIT = NONE - 1
#: Entries of logs that are put into columns together.
_TOGETHER = 100_000
#: A message of a collective operation whose sizes differ: to or from the member that is so many further on.
_PART = "part"
#: Makes a Place of a rank and a line.
_PlaceOf = Callable[[int, int], Place]


class RankLog:
    """What one rank does, in its order. A reader sets ``line``, that of the trace, before each call.

    Peers and roots are ranks of the ``communicator``, a number of the builder's ``communicators``. What is started
    returns a handle for ``wait``; None for a message of a rank to itself. ``entries``: the number of each operation,
    NONE or of a wait, followed by its line.
    """

    def __init__(self, rank: int, builder: RecordingBuilder) -> None:
        self.rank, self.line = rank, 0
        self.entries = array("i")
        self.limits: list[tuple[int, float]] = []  # entries of receives, and the most bytes that they take
        self.phase_changes = [(0, "main")]
        self._open: set[int] = set()
        self._builder, self._numbers, self._starts = builder, builder.numbers, builder.starts

    def __len__(self) -> int:
        return len(self.entries) // 2

    def line_of(self, entry: int) -> int:
        """Return the line of an entry."""
        return self.entries[2 * entry + 1]

    def _add(self, key: tuple[Any, ...]) -> None:
        number = self._numbers.get(key)
        if number is None:
            number = self._builder.number_of(key, self.rank, self.line)
        self.entries.append(number)
        self.entries.append(self.line)

    def _start(self, key: tuple[Any, ...]) -> int:
        """Let an operation go on beside what comes."""
        line, entry = self.line, len(self.entries) // 2
        self.entries += self._starts.get((key, line)) or self._builder.start_of(key, self.rank, line)
        self._open.add(entry)
        return entry

    @property
    def place(self) -> Place:
        """Where in the trace the rank is."""
        return self._builder.place_of(self.rank, self.line)

    def phase(self, name: str) -> None:
        """Book what follows under ``name``."""
        self.phase_changes.append((len(self), name))

    def compute(self, amount: float, unit: str = "seconds") -> None:
        """Compute for so many ``seconds``, ``flops`` or ``instructions``."""
        self._add((COMPUTE, unit, amount))

    def start_access(self, kind: str, size_bytes: float) -> int:
        """Start a ``read`` or ``write`` of the disk."""
        return self._start((ACCESS, kind, size_bytes, 1))

    def send(self, to: int, size_bytes: float, tag: Tag = 0, communicator: int = WORLD) -> None:
        """Send, and wait until the message is on its way."""
        self._add((SEND, size_bytes, to, tag, communicator))

    def start_send(self, to: int, size_bytes: float, tag: Tag = 0, communicator: int = WORLD) -> int:
        """Start a send."""
        return self._start((SEND, size_bytes, to, tag, communicator))

    def receive(
        self, source: int | None, most_bytes: float | None = None, tag: Tag | None = 0, communicator: int = WORLD
    ) -> None:
        """Receive a message of at most ``most_bytes``; its size is that of the send. None: any rank, any tag."""
        if most_bytes is not None:
            self.limits.append((len(self), most_bytes))
        self._add((RECEIVE, source, tag, communicator))

    def start_receive(
        self, source: int | None, most_bytes: float | None = None, tag: Tag | None = 0, communicator: int = WORLD
    ) -> int:
        """Start a receive. Of any rank or tag: until ``received`` says which."""
        if most_bytes is not None:
            self.limits.append((len(self), most_bytes))
        return self._start((RECEIVE, source, tag, communicator))

    def received(self, handle: int, source: int, tag: Tag, communicator: int | None = None) -> None:
        """Say from which rank of its communicator, and with which tag, a receive that was started took its message."""
        if communicator is None:
            communicator = self._builder.key_of(self.entries[2 * handle])[-1]
        self._was(handle, RECEIVE, source, tag, communicator)

    def was_nothing(self, handle: int) -> None:
        """Take back what was started and is not waited for."""
        self.entries[2 * handle] = NONE
        self._open.remove(handle)

    def _was(self, handle: int, *key: Any) -> None:
        """Replace an operation."""
        self.entries[2 * handle] = self._builder.number_of(key, self.rank, self.line_of(handle))

    def collective(
        self, name: str, size_bytes: float = 0.0, root: int | None = None, communicator: int = WORLD
    ) -> None:
        """Take part in a collective operation by its default algorithm. ``size_bytes`` as in workload files: what each
        rank contributes (to each partner), or gets from the root."""
        self._add((COLLECTIVE, name, size_bytes, root, communicator))

    def start_collective(
        self, name: str, size_bytes: float = 0.0, root: int | None = None, communicator: int = WORLD
    ) -> int:
        """Start a collective operation."""
        return self._start((COLLECTIVE, name, size_bytes, root, communicator))

    def unknown_collective(self) -> int:
        """Take part in a collective operation of which ``was_collective`` says later what it is."""
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
        self.entries.append(_WAIT - handle)
        self.entries.append(self.line)

    def wait_for_all(self) -> None:
        """Wait for all that was started and not waited for, in the order of the starts."""
        for handle in sorted(self._open):
            self.wait(handle)

    def gather_parts(
        self, size_bytes: float, root: int, is_root: bool, members: int, communicator: int = WORLD
    ) -> None:
        """Send a part of any size to the root, which receives them one after another: MPI_Gatherv."""
        if not is_root:
            self._add((SEND, size_bytes, root, _PART, communicator))
            return
        for member in range(members):
            if member != root:
                self._add((RECEIVE, member, _PART, communicator))

    def scatter_parts(self, sizes_bytes: Sequence[float], root: int, is_root: bool, communicator: int = WORLD) -> None:
        """Receive a part of any size from the root, which sends ``sizes_bytes`` one after another: MPI_Scatterv."""
        if not is_root:
            self._add((RECEIVE, root, _PART, communicator))
            return
        for member, size_bytes in enumerate(sizes_bytes):
            if member != root:
                self._add((SEND, size_bytes, member, _PART, communicator))

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
        handle = self._start((_PART, SEND, sizes, part, to, communicator, self.rank))
        self._add((_PART, RECEIVE, sizes, 0, source, communicator, self.rank))
        self.wait(handle)


class RecordingBuilder:
    """Makes a Recording of the logs of ``ranks`` ranks: ``logs[rank]``.

    ``file``: what the recording is called in messages; ``files``: one for each rank, if ranks have files of their own.
    """

    def __init__(self, ranks: int, file: str, files: Sequence[str] = ()) -> None:
        self.ranks, self.file, self.files = ranks, file, tuple(files)
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.starts: dict[tuple[tuple[Any, ...], int], array[int]] = {}  # entries of a start, by operation and line
        self.communicators = Communicators(ranks)
        self._keys: list[tuple[Any, ...]] = []
        self._first: list[tuple[int, int]] = []  # rank and line of the first of each distinct operation
        self.logs = [RankLog(rank, self) for rank in range(ranks)]

    def place_of(self, rank: int, line: int) -> Place:
        """Return the place of a line of a rank."""
        return Place(self.files[rank] if self.files else self.file, line)

    def number_of(self, key: tuple[Any, ...], rank: int, line: int) -> int:
        """Return the number of an operation, which may be new."""
        number = self.numbers.setdefault(key, len(self.numbers))
        if number == len(self._keys):
            self._keys.append(key)
            self._first.append((rank, line))
        return number

    def start_of(self, key: tuple[Any, ...], rank: int, line: int) -> array[int]:
        """Return the entries of the start of an operation, which may be new, in a line."""
        entries = array("i", [self.number_of(key, rank, line), line, NONE, line])
        return self.starts.setdefault((key, line), entries)

    def key_of(self, number: int) -> tuple[Any, ...]:
        """Return the operation of a number."""
        return self._keys[number]

    def recording(self) -> Recording:
        """Return the recording. Ranks that still wait for something wait at their end.

        This empties the logs, so that it can be called once. Raises InputError for ranks, sizes and tags that cannot
        be, for sends without a receive, messages longer than their receives take, and collective operations that
        members do not all call alike.
        """
        for log in self.logs:
            log.wait_for_all()
        entries = sum(map(len, self.logs))
        check_memory(f"a recording of {entries:.3g} operations takes", entries * BYTES_PER_ENTRY, Place(self.file))
        self.communicators.resolve()
        used = self._used()
        self._check_sources(used)
        operations, number, colours = self._final_operations(np.flatnonzero(used))
        first = np.concatenate([[0], np.cumsum([len(log) for log in self.logs])]).astype(np.int64)
        columns, phases = self._columns(first, operations, number)
        recording = Recording(operations, phases, colours, first, **columns, file=self.file, files=self.files)
        self._check(recording, first[:-1].tolist())
        return recording

    def _used(self) -> NDArray[np.bool_]:
        """Which of the distinct operations are in the logs."""
        used = np.zeros(len(self._keys), bool)
        for logs in self._together():
            op = _entries(logs)[:, 0]
            used[op[op >= 0]] = True
        return used

    def _together(self) -> Iterator[list[RankLog]]:
        """The logs, short ones together."""
        several: list[RankLog] = []
        entries = 0
        for log in self.logs:
            several.append(log)
            entries += len(log)
            if entries > _TOGETHER:
                yield several
                several, entries = [], 0
        if several:
            yield several

    def _columns(
        self, first: Int64s, operations: Sequence[Operation], number: Int64s
    ) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
        """The columns of the recording, and its phases. Empties the logs one after another, so that memory does not
        hold everything twice."""
        entries = int(first[-1])
        kind = np.int32 if entries <= np.iinfo(np.int32).max else np.int64
        columns = {name: np.empty(entries, kind) for name in ("op", "phase", "line")}
        columns |= {"started": np.zeros(entries, bool), "waits_for": np.full(entries, NONE, kind)}
        number = np.append(number, NONE)
        peer = np.array([one[3] if one[0] in (SEND, RECEIVE) else NONE for one in operations] + [NONE], np.int64)
        names: dict[str, int] = {}
        for logs in self._together():
            ranks = np.arange(logs[0].rank, logs[-1].rank + 1)
            begins = first[ranks]
            own = {name: column[begins[0] : first[ranks[-1] + 1]] for name, column in columns.items()}
            noted, lengths = _entries(logs), [len(log) for log in logs]
            op = number[np.maximum(noted[:, 0], NONE)]
            op[peer[op] == np.repeat(ranks, lengths)] = NONE  # no message to itself: waits for it wait for nothing
            own["op"][:], own["line"][:] = op, noted[:, 1]
            waits = np.flatnonzero(noted[:, 0] <= _WAIT)
            begun = np.repeat(begins - begins[0], lengths)[waits] + (_WAIT - noted[waits, 0])
            own["started"][begun[op[begun] != NONE]] = True  # all that was, as ranks wait for it at their end
            is_begun = own["started"][begun]
            own["waits_for"][waits[is_begun]] = begins[0] + begun[is_begun]
            for log, begin, length in zip(logs, (begins - begins[0]).tolist(), lengths, strict=True):
                _number_phases(log, own["phase"][begin : begin + length], names)
                log.entries = array("i")
        return columns, tuple(names) or ("main",)

    def _check_sources(self, used: NDArray[np.bool_]) -> None:
        """InputError for receives from any rank, or with any tag, of which the trace does not say what they took, and
        for collective operations of which it does not say what they are."""
        places = {RECEIVE: slice(1, 3), COLLECTIVE: slice(1, 2)}
        keys = ((n, self._keys[n]) for n in np.flatnonzero(used).tolist())
        unknown = {n for n, key in keys if key[0] in places and None in key[places[key[0]]]}
        if not unknown:
            return
        every = ((log, entry, n) for log in self.logs for entry, n in enumerate(log.entries[::2]))
        log, entry, number = next(one for one in every if one[2] in unknown)
        kind, source, *_ = self._keys[number]
        words = "starts a collective operation"
        if kind == RECEIVE:
            any_one = "from any rank (MPI_ANY_SOURCE)" if source is None else "with any tag (MPI_ANY_TAG)"
            words = f"receives {any_one}"
        what = f"rank {log.rank} {words}, and the trace does not say what it was"
        raise InputError(what, self.place_of(log.rank, log.line_of(entry)))

    def _final_operations(self, used: Int64s) -> tuple[tuple[Operation, ...], Int64s, tuple[Int64s, ...]]:
        """The distinct operations, the number among them of each that was added and is ``used``, and the groups."""
        places = {number: self.place_of(*self._first[number]) for number in used.tolist()}
        called = (number for number in places if self._keys[number][0] == COLLECTIVE)
        communicators = [self.communicators.at(self._keys[number][4], places[number]) for number in called]
        colours, group_of = groups_of(communicators, self.ranks)
        distinct: dict[Operation, int] = {}
        final_number = np.full(len(self._keys), NONE)
        for number, place in places.items():
            final = self._final(self._keys[number], place, self._first[number][0], group_of)
            final_number[number] = distinct.setdefault(final, len(distinct))
        return tuple(distinct), final_number, tuple(colours)

    def _final(self, key: tuple[Any, ...], place: Place, rank: int, group_of: dict[int, int]) -> Operation:
        """An operation among all ranks, checked."""
        kind, *rest = key
        if kind in (COMPUTE, ACCESS):
            return checked(Operation(key), self.ranks, place)
        if kind == COLLECTIVE:
            name, size_bytes, root, number = rest
            communicator = self.communicators.at(number, place)
            if root is not None:
                root = sorted(communicator.members).index(communicator.rank_of(root, place, f"rank {rank}: the root"))
            whole = (kind, name, size_bytes, None, root, (), group_of[communicator.number])
            return checked(Operation(whole), self.ranks, place)
        size_bytes, peer, tag, communicator = self._message(key, place)
        what = f"rank {rank}: the {'target of a send' if size_bytes is not None else 'source of a receive'}"
        peer = communicator.rank_of(peer, place, what)
        tag = self.communicators.tag(communicator, tag)
        if size_bytes is None:
            return checked(Operation((RECEIVE, "receive", None, peer, tag)), self.ranks, place)
        return checked(Operation((SEND, "send", size_bytes, peer, tag)), self.ranks, place)

    def _message(self, key: tuple[Any, ...], place: Place) -> tuple[float | None, int, object, Communicator]:
        """Size, peer, tag and communicator of a message; no size of a receive."""
        communicator = self.communicators.at(key[5] if key[0] == _PART else key[-1], place)
        if key[0] == SEND:
            return key[1], key[2], key[3], communicator
        if key[0] == RECEIVE:
            return None, key[1], key[2], communicator
        _, kind, sizes, part, step, _, rank = key
        members = len(communicator.members)
        if rank not in communicator.members:
            raise InputError(f"rank {rank} is not in this communicator", place)
        own = communicator.members.index(rank)
        if members != len(sizes):
            what = f"rank {rank}: sizes of a collective operation of {members} ranks"
            raise InputError(what, place, value=len(sizes), allowed=f"{members} sizes")
        size_bytes = sizes[(own + part) % members] if kind == SEND else None
        return size_bytes, (own + step) % members, _PART, communicator

    def _check(self, recording: Recording, begins: list[int]) -> None:
        """InputError for calls and messages that do not fit together."""
        calls = recording.entries_of(recording.of_kind(COLLECTIVE))
        group = np.nan_to_num(recording.column(6, (COLLECTIVE,))).astype(np.int64)[recording.op[calls]]
        outside = np.flatnonzero(np.array(recording.colours)[group, recording.rank_of(calls)] == NONE)
        if len(outside):
            one = int(calls[outside[0]])
            what = f"rank {recording.rank_of(one)} calls an operation of a communicator that it is not in"
            raise InputError(what, recording.place_of(one))
        collective_calls(recording)
        sizes = message_sizes(recording)
        for log, begin in zip(self.logs, begins, strict=True):
            for entry, most_bytes in log.limits:
                if sizes[begin + entry] > most_bytes:
                    what = f"rank {log.rank} receives a message of {sizes[begin + entry]:g} bytes here"
                    place = recording.place_of(begin + entry)
                    raise InputError(what, place, allowed=f"up to {most_bytes:g} bytes, for which it asks")


def _entries(logs: Sequence[RankLog]) -> NDArray[np.int32]:
    """(N, 2) the entries of some logs."""
    return np.frombuffer(b"".join(log.entries for log in logs), np.intc).reshape(-1, 2)


def _number_phases(log: RankLog, phase: NDArray[Any], names: dict[str, int]) -> None:
    """Write the phase of each entry of a rank, numbered by ``names``."""
    for (entry, name), (end, _) in zip(log.phase_changes, [*log.phase_changes[1:], (len(phase), "")], strict=True):
        if end > entry:
            phase[entry:end] = names.setdefault(name, len(names))
