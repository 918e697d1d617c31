"""Build a Recording from the events of each rank in a trace. InputErrors name the file, the rank and the line."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

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
    KERNEL,
    RECEIVE,
    SEND,
    Operation,
)
from simcodesign.describe.python_programs.recording import BYTES_PER_ENTRY, NONE, Recording
from simcodesign.describe.recordings.communicators import Communicator, Communicators, groups_of
from simcodesign.describe.recordings.rank_log import PART, WAIT, Key, NotedOperations, RankLog

Int64s = NDArray[np.int64]
#: Entries of logs that are put into columns together.
_TOGETHER = 100_000
Made = TypeVar("Made")


class RecordingBuilder:
    """Makes a Recording of the logs of ``ranks`` ranks: ``logs[rank]``.

    ``file``: what the recording is called in messages; ``files``: one for each rank, if ranks have files of their own.
    """

    def __init__(self, ranks: int, file: str, files: Sequence[str] = ()) -> None:
        self.ranks, self.file, self.files = ranks, file, tuple(files)
        self._whole = Place(file)
        self.communicators = Communicators(ranks)
        noted = NotedOperations()
        self._keys = noted.keys
        self.logs = [RankLog(rank, noted, self.place_of) for rank in range(ranks)]

    def place_of(self, rank: int, line: int) -> Place:
        """Return the place of a line of a rank."""
        return Place(self.files[rank] if self.files else self.file, line)

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
        is_message = np.array([*(key[0] in (SEND, RECEIVE) for key in self._keys), False])
        codes = [_distinct(self._codes(logs, is_message)) for logs in self._together()]
        used = _distinct(np.concatenate([np.zeros(0, np.int64), *codes]))
        used = used[used != NONE]
        self._check_sources(used)
        operations, numbers, colours = self._final_operations(used)
        first = np.concatenate([[0], np.cumsum([len(log) for log in self.logs])]).astype(np.int64)
        columns, phases = self._columns(first, operations, used, numbers, is_message)
        recording = Recording(operations, phases, colours, first, **columns, file=self.file, files=self.files)
        self._check(recording, first[:-1].tolist())
        return recording

    def _codes(self, logs: Sequence[RankLog], is_message: NDArray[np.bool_]) -> Int64s:
        """(N,) of the entries of some logs: what differs between operations among all ranks, NONE of no operation.

        The number of an operation times the ranks; of a message, whose peer is counted from its rank, plus its rank.
        ``is_message``: of the operations, and of none.
        """
        number = np.maximum(_entries(logs)[:, 0], NONE).astype(np.int64)
        rank = np.repeat([log.rank for log in logs], [len(log) for log in logs])
        return np.where(number == NONE, NONE, number * self.ranks + is_message[number] * rank)

    def _together(self) -> Iterator[list[RankLog]]:
        """Yield the logs, short ones together."""
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
        self,
        first: Int64s,
        operations: Sequence[Operation],
        used: Int64s,
        numbers: Int64s,
        is_message: NDArray[np.bool_],
    ) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
        """Return the columns of the recording, and its phases.

        Empties the logs one after another, so that memory does not hold everything twice.
        """
        entries = int(first[-1])
        kind = np.int32 if entries <= np.iinfo(np.int32).max else np.int64
        columns = {name: np.empty(entries, kind) for name in ("op", "phase", "line")}
        columns |= {"started": np.zeros(entries, bool), "waits_for": np.full(entries, NONE, kind)}
        used, numbers = np.append(NONE, used), np.append(NONE, numbers)
        peer = np.array([one[3] if one[0] in (SEND, RECEIVE) else NONE for one in operations] + [NONE], np.int64)
        names: dict[str, int] = {}
        for logs in self._together():
            ranks = np.arange(logs[0].rank, logs[-1].rank + 1)
            begins = first[ranks]
            own = {name: column[begins[0] : first[ranks[-1] + 1]] for name, column in columns.items()}
            noted, lengths, codes = _entries(logs), [len(log) for log in logs], self._codes(logs, is_message)
            own_codes = _distinct(codes)
            op = numbers[np.searchsorted(used, own_codes)][np.searchsorted(own_codes, codes)]
            op[peer[op] == np.repeat(ranks, lengths)] = NONE  # no message to itself: waits for it wait for nothing
            own["op"][:], own["line"][:] = op, noted[:, 1]
            waits = np.flatnonzero(noted[:, 0] <= WAIT)
            begun = np.repeat(begins - begins[0], lengths)[waits] + (WAIT - noted[waits, 0])
            own["started"][begun[op[begun] != NONE]] = True  # all that was, as ranks wait for it at their end
            is_begun = own["started"][begun]
            own["waits_for"][waits[is_begun]] = begins[0] + begun[is_begun]
            for log, begin, length in zip(logs, (begins - begins[0]).tolist(), lengths, strict=True):
                _number_phases(log, own["phase"][begin : begin + length], names)
                log.entries = array("i")
        return columns, tuple(names) or ("main",)

    def _check_sources(self, used: Int64s) -> None:
        """Raise InputError for receives and collective operations that the trace does not identify.

        Receives from any rank, or with any tag, without the message that they took, and collective operations of an
        unknown kind.
        """
        places = {RECEIVE: slice(1, 3), COLLECTIVE: slice(1, 2)}
        keys = ((n, self._keys[n]) for n in np.unique(used // self.ranks).tolist())
        unknown = {n for n, key in keys if key[0] in places and None in key[places[key[0]]]}
        if not unknown:
            return
        log, entry, number = self._first(unknown, self.logs)
        kind, source, *_ = self._keys[number]
        words = "starts a collective operation"
        if kind == RECEIVE:
            any_one = "from any rank (MPI_ANY_SOURCE)" if source is None else "with any tag (MPI_ANY_TAG)"
            words = f"receives {any_one}"
        what = f"rank {log.rank} {words}, and the trace does not say what it was"
        raise InputError(what, self.place_of(log.rank, log.line_of(entry)))

    def _final_operations(self, used: Int64s) -> tuple[tuple[Operation, ...], Int64s, tuple[Int64s, ...]]:
        """Return the distinct operations, the number among them of each code that is ``used``, and the groups."""
        called = [code for code in used.tolist() if self._keys[code // self.ranks][0] == COLLECTIVE]
        communicators = [self._of_code(code, self._communicator) for code in called]
        colours, group_of = groups_of(communicators, self.ranks)
        distinct: dict[Operation, int] = {}
        numbers = np.empty(len(used), np.int64)
        for one, code in enumerate(used.tolist()):
            final = self._of_code(code, lambda key, place, rank: self._final(key, place, rank, group_of))
            numbers[one] = distinct.setdefault(final, len(distinct))
        return tuple(distinct), numbers, tuple(colours)

    def _of_code(self, code: int, make: Callable[[Key, Place, int], Made]) -> Made:
        """Return what is made of an operation, its place and its rank, which are looked for only for an error."""
        number, rank = divmod(code, self.ranks)
        key = self._keys[number]
        try:
            return make(key, self._whole, rank)
        except InputError:
            log, entry, _ = self._first(
                {number}, self.logs[rank : rank + 1] if key[0] in (SEND, RECEIVE) else self.logs
            )
            return make(key, self.place_of(log.rank, log.line_of(entry)), log.rank)

    def _first(self, numbers: set[int], logs: Sequence[RankLog]) -> tuple[RankLog, int, int]:
        """Return the first entry of one of some operations: its log, its place in it, and the operation."""
        every = ((log, entry, n) for log in logs for entry, n in enumerate(log.entries[::2]))
        return next(one for one in every if one[2] in numbers)

    def _communicator(self, key: Key, place: Place, rank: int) -> Communicator:
        """Return the communicator of a collective operation."""
        return self.communicators.at(key[4], place)

    def _final(self, key: Key, place: Place, rank: int, group_of: dict[int, int]) -> Operation:
        """Return an operation among all ranks, checked."""
        kind, *rest = key
        if kind in (COMPUTE, ACCESS, KERNEL):
            return checked(Operation(key), self.ranks, place)
        if kind == COLLECTIVE:
            name, size_bytes, root, number = rest
            communicator = self.communicators.at(number, place)
            if root is not None:
                root = sorted(communicator.members).index(communicator.rank_of(root, place, f"rank {rank}: the root"))
            whole = (kind, name, size_bytes, None, root, (), group_of[communicator.number])
            return checked(Operation(whole), self.ranks, place)
        size_bytes, peer, tag, communicator = self._message(key, place, rank)
        what = f"rank {rank}: the {'target of a send' if size_bytes is not None else 'source of a receive'}"
        peer = communicator.rank_of(peer, place, what)
        tag = self.communicators.tag(communicator, tag)
        if size_bytes is None:
            return checked(Operation((RECEIVE, "receive", None, peer, tag)), self.ranks, place)
        return checked(Operation((SEND, "send", size_bytes, peer, tag)), self.ranks, place)

    def _message(self, key: Key, place: Place, rank: int) -> tuple[float | None, int, object, Communicator]:
        """Size, peer, tag and communicator of a message; no size of a receive."""
        communicator = self.communicators.at(key[5] if key[0] == PART else key[-1], place)
        if key[0] == SEND:
            return key[1], rank + key[2], key[3], communicator
        if key[0] == RECEIVE:
            return None, rank + key[1], key[2], communicator
        _, kind, sizes, part, step, _, rank = key
        members = len(communicator.members)
        if rank not in communicator.members:
            raise InputError(f"rank {rank} is not in this communicator", place)
        own = communicator.members.index(rank)
        if members != len(sizes):
            what = f"rank {rank}: sizes of a collective operation of {members} ranks"
            raise InputError(what, place, value=len(sizes), allowed=f"{members} sizes")
        size_bytes = sizes[(own + part) % members] if kind == SEND else None
        return size_bytes, (own + step) % members, PART, communicator

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
                    raise InputError(what, place, allowed=f"up to the {most_bytes:g} bytes that it requests")


def _distinct(values: Int64s) -> Int64s:
    """Return the different values in their order.

    Many are equal: sorting them is ten times as fast as ``np.unique``.
    """
    ordered = np.sort(values)
    found: Int64s = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def _entries(logs: Sequence[RankLog]) -> NDArray[np.int32]:
    """(N, 2) the entries of some logs."""
    return np.frombuffer(b"".join(log.entries for log in logs), np.intc).reshape(-1, 2)


def _number_phases(log: RankLog, phase: NDArray[Any], names: dict[str, int]) -> None:
    """Write the phase of each entry of a rank, numbered by ``names``."""
    for (entry, name), (end, _) in zip(log.phase_changes, [*log.phase_changes[1:], (len(phase), "")], strict=True):
        if end > entry:
            phase[entry:end] = names.setdefault(name, len(names))
