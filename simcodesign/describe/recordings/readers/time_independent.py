"""SimGrid's time-independent traces, as ``smpirun -trace-ti`` writes and ``smpirun -replay`` reads them.

A line is ``RANK ACTION PARAMETERS``. Lines of all ranks are in one file, or each rank has a file and an index lists
their names, one a line. Sizes are numbers of elements of a datatype; computation is in flops. Formats of actions:
SimGrid's ``smpi_replay.cpp``; what version 3.32 accepts.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import check_confined
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.rank_files import numbered_lines
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader
from simcodesign.describe.recordings.unnamed_receives import UnnamedReceives

#: Bytes of an element by the number of its datatype, on 64-bit Linux.
DATATYPE_BYTES = {
    0: 8, 1: 4, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1, 7: 8, 8: 1, 9: 1, 10: 2, 11: 4, 12: 8, 13: 8, 14: 16, 15: 4, 16: 1,
    17: 1, 18: 2, 19: 4, 20: 8, 21: 1, 22: 2, 23: 4, 24: 8, 25: 8, 26: 16, 27: 32, 28: 8, 29: 8, 30: 8, 31: 16,
    32: 16, 33: 8, 34: 8, 35: 8, 36: 16, 37: 16, 38: 4, 39: 4, 40: 8, 41: 16, 42: 8, 43: 16, 44: 32, 45: 1, 46: 2,
    47: 4, 48: 8, 49: 16, 50: 32, 51: 0, 52: 0, 53: 1, 54: 8,
}  # fmt: skip
#: MPI_DOUBLE, if ``init`` has a parameter; MPI_BYTE, if it has none.
_DOUBLE, _BYTE = 0, 6
#: One action of one rank, by its parameters.
_Action = Callable[["_Rank", list[str]], None]
_LINE = re.compile(r"\d+\s+(?P<action>[A-Za-z_]+)\b")
#: A line of an index: letters, and a suffix or a folder.
_FILE_NAME = re.compile(r"(?=.*[A-Za-z])(?=.*[./])[^\s:=,;\"'{}]+")


class _Rank:
    """Started operations of a rank, and its default datatype."""

    def __init__(self, log: RankLog, ranks: int, unnamed: UnnamedReceives) -> None:
        self.log, self.ranks, self.element_bytes, self.unnamed = log, ranks, 1, unnamed
        self.started: dict[tuple[int, int, int], deque[int | None]] = defaultdict(deque)  # by source, target and tag
        self.latest: list[tuple[int, int, int]] = []

    def size(self, count: str, given: list[str], datatype: int) -> float:
        """Return the bytes of a number of elements; ``datatype``: its place among the parameters."""
        return float(count) * self.bytes_of(given, datatype)

    def bytes_of(self, given: list[str], datatype: int) -> int:
        """Return the bytes of an element."""
        if len(given) <= datatype:
            return self.element_bytes
        number = int(given[datatype])
        if number == -1:
            what = "a datatype that the program makes: SMPI does not write its size"
            raise InputError(what, self.log.place, value=number, allowed="MPI's own datatypes, 0 to 54")
        if number not in DATATYPE_BYTES:
            raise InputError("no such datatype", self.log.place, value=number, allowed="0 to 54")
        return DATATYPE_BYTES[number]

    def message(self, given: list[str]) -> tuple[int, float, int]:
        """Return peer, bytes and tag: ``PEER TAG COUNT [DATATYPE]``, or ``PEER COUNT`` in old traces."""
        if len(given) == 2:
            return int(given[0]), self.size(given[1], given, 3), 0
        return int(given[0]), self.size(given[2], given, 3), int(given[1])

    def counts(self, given: list[str], begin: int) -> list[float]:
        """Return as many numbers as there are ranks, from a place among the parameters."""
        several = given[begin : begin + self.ranks]
        if len(several) < self.ranks:
            raise InputError("too few counts", self.log.place, value=len(several), allowed=f"{self.ranks}, one a rank")
        return [float(count) for count in several]

    def start_send(self, to: int, size_bytes: float, tag: int = 0) -> int | None:
        """Start a send; None for one to a number below 0, which is MPI_PROC_NULL."""
        if to < 0:
            return None
        self.unnamed.note_send(to)
        return self.log.start_send(to, size_bytes, tag)

    def source(self, number: int) -> int | None:
        """Return the source of the receive that is added next; None for a number below 0."""
        source = _one(number)
        self.unnamed.note_receive(self.log, source)
        return source

    def start(self, key: tuple[int, int, int], handle: int | None) -> None:
        """Note what was started."""
        self.started[key].append(handle)
        self.latest.append(key)


def _init(rank: _Rank, given: list[str]) -> None:
    rank.element_bytes = DATATYPE_BYTES[_DOUBLE if given else _BYTE]


def _nothing(rank: _Rank, given: list[str]) -> None:
    """Skip ``finalize``, ``comm_split`` and others, which a replay does not need; ``test`` waits for nothing."""


def _compute(rank: _Rank, given: list[str]) -> None:
    rank.log.compute(float(given[0]), "flops")


def _combine(rank: _Rank, flops: str) -> None:
    """Add the computation of a reduction after it."""
    if float(flops):
        rank.log.compute(float(flops), "flops")


def _sleep(rank: _Rank, given: list[str]) -> None:
    rank.log.compute(float(given[0]), "seconds")


def _send(rank: _Rank, given: list[str]) -> None:
    to, size_bytes, tag = rank.message(given)
    if to >= 0:
        rank.unnamed.note_send(to)
        rank.log.send(to, size_bytes, tag)


def _isend(rank: _Rank, given: list[str]) -> None:
    to, size_bytes, tag = rank.message(given)
    rank.start((rank.log.rank, to, tag), rank.start_send(to, size_bytes, tag))


def _most(size_bytes: float) -> float | None:
    """Return a receive of no size takes what is sent."""
    return size_bytes if size_bytes > 0 else None


def _one(number: int) -> int | None:
    """Return a rank or tag of a receive; None for a number below 0, which means any."""
    return number if number >= 0 else None


def _recv(rank: _Rank, given: list[str]) -> None:
    source, size_bytes, tag = rank.message(given)
    rank.log.receive(rank.source(source), _most(size_bytes), _one(tag))


def _irecv(rank: _Rank, given: list[str]) -> None:
    source, size_bytes, tag = rank.message(given)
    rank.start((source, rank.log.rank, tag), rank.log.start_receive(rank.source(source), _most(size_bytes), _one(tag)))


def _sendrecv(rank: _Rank, given: list[str]) -> None:
    """``COUNT TARGET COUNT SOURCE [DATATYPE DATATYPE]``."""
    handle = rank.start_send(int(given[1]), rank.size(given[0], given, 4))
    rank.log.receive(rank.source(int(given[3])), _most(rank.size(given[2], given, 5)))
    if handle is not None:
        rank.log.wait(handle)


def _wait(rank: _Rank, given: list[str]) -> None:
    """``SOURCE TARGET TAG``: the first started one without a wait; in old traces, the last one of all."""
    source, target, tag = (int(one) for one in given[:3]) if given else (rank.latest or [(-1, -1, -1)])[-1]
    waiting = rank.started.get((source, target, tag))
    if not waiting:
        what = f"rank {rank.log.rank} waits for a message that it has not started"
        raise InputError(what, rank.log.place, value=f"{source} {target} {tag}", allowed="isend or irecv before it")
    handle = waiting.popleft() if given else waiting.pop()
    if handle is not None:
        rank.log.wait(handle)
    if rank.latest and rank.latest[-1] == (source, target, tag):
        rank.latest.pop()


def _waitall(rank: _Rank, given: list[str]) -> None:
    rank.log.wait_for_all()
    rank.started.clear()
    rank.latest.clear()


def _barrier(rank: _Rank, given: list[str]) -> None:
    rank.log.collective("barrier")


def _bcast(rank: _Rank, given: list[str]) -> None:
    """``COUNT [ROOT [DATATYPE]]``."""
    rank.log.collective("broadcast", rank.size(given[0], given, 2), _root(given, 1))


def _reduce(rank: _Rank, given: list[str]) -> None:
    """``COUNT FLOPS [ROOT [DATATYPE]]``."""
    rank.log.collective("reduce", rank.size(given[0], given, 3), _root(given, 2))
    _combine(rank, given[1])


def _combining(name: str) -> _Action:
    """``COUNT FLOPS [DATATYPE]``."""

    def action(rank: _Rank, given: list[str]) -> None:
        rank.log.collective(name, rank.size(given[0], given, 2))
        _combine(rank, given[1])

    return action


def _partners(name: str) -> _Action:
    """``COUNT COUNT [DATATYPE DATATYPE]`` of an operation without a root."""

    def action(rank: _Rank, given: list[str]) -> None:
        float(given[1])
        rank.log.collective(name, rank.size(given[0], given, 2))

    return action


def _gather(rank: _Rank, given: list[str]) -> None:
    """``COUNT COUNT [ROOT [DATATYPE DATATYPE]]``."""
    float(given[1])
    rank.log.collective("gather", rank.size(given[0], given, 3), _root(given, 2))


def _scatter(rank: _Rank, given: list[str]) -> None:
    """Scatter; the size for each rank is the second number."""
    float(given[0])
    rank.log.collective("scatter", rank.size(given[1], given, 4), _root(given, 2))


def _gatherv(rank: _Rank, given: list[str]) -> None:
    """``COUNT COUNTS [ROOT [DATATYPE DATATYPE]]``."""
    rank.counts(given, 1)
    ranks = rank.ranks
    root = _root(given, 1 + ranks)
    size_bytes = rank.size(given[0], given, 2 + ranks)
    rank.log.gather_parts(size_bytes, root, root == rank.log.rank, ranks)


def _scatterv(rank: _Rank, given: list[str]) -> None:
    """Read ``COUNTS COUNT [ROOT [DATATYPE DATATYPE]]``."""
    ranks = rank.ranks
    element_bytes = rank.bytes_of(given, 2 + ranks)
    sizes = [count * element_bytes for count in rank.counts(given, 0)]
    float(given[ranks])
    root = _root(given, 1 + ranks)
    rank.log.scatter_parts(sizes, root, root == rank.log.rank)


def _allgatherv(rank: _Rank, given: list[str]) -> None:
    """``COUNT COUNTS [DATATYPE [DATATYPE]]``, or with displacements and a datatype or none before them."""
    float(given[0])
    more = len(given) - 1 - rank.ranks
    has_datatype = not 2 < more <= rank.ranks
    element_bytes = rank.bytes_of(given, 1 + rank.ranks) if has_datatype else rank.element_bytes
    rank.log.allgather_parts([count * element_bytes for count in rank.counts(given, 1)])


def _alltoallv(rank: _Rank, given: list[str]) -> None:
    """``SIZE COUNTS SIZE COUNTS [DATATYPE DATATYPE]``."""
    ranks = rank.ranks
    rank.counts(given, 2 + ranks)
    element_bytes = rank.bytes_of(given, 2 + 2 * ranks)
    rank.log.all_to_all_parts([count * element_bytes for count in rank.counts(given, 1)])


def _reducescatter(rank: _Rank, given: list[str]) -> None:
    """Read ``COUNTS FLOPS [DATATYPE]``."""
    elements = sum(rank.counts(given, 0))
    rank.log.collective("reduce_scatter", elements * rank.bytes_of(given, 1 + rank.ranks))
    _combine(rank, given[rank.ranks])


def _root(given: list[str], place: int) -> int:
    return int(given[place]) if len(given) > place else 0


#: Actions by their names in small letters, and the fewest parameters of each. Old traces have capitals (``allReduce``).
ACTIONS: dict[str, tuple[_Action, int]] = {
    "init": (_init, 0),
    **dict.fromkeys(("finalize", "comm_size", "comm_split", "comm_dup", "location", "test"), (_nothing, 0)),
    "compute": (_compute, 1),
    "sleep": (_sleep, 1),
    "send": (_send, 2),
    "isend": (_isend, 2),
    "ssend": (_send, 2),
    "issend": (_isend, 2),
    "recv": (_recv, 2),
    "irecv": (_irecv, 2),
    "sendrecv": (_sendrecv, 4),
    "wait": (_wait, 0),
    "waitall": (_waitall, 0),
    "barrier": (_barrier, 0),
    "bcast": (_bcast, 1),
    "reduce": (_reduce, 2),
    "allreduce": (_combining("allreduce"), 2),
    "scan": (_combining("scan"), 2),
    "exscan": (_combining("scan"), 2),
    "alltoall": (_partners("all_to_all"), 2),
    "allgather": (_partners("allgather"), 2),
    "gather": (_gather, 2),
    "scatter": (_scatter, 2),
    "gatherv": (_gatherv, 2),
    "scatterv": (_scatterv, 2),
    "allgatherv": (_allgatherv, 2),
    "alltoallv": (_alltoallv, 4),
    "reducescatter": (_reducescatter, 2),
}


def read_time_independent(path: Path) -> Recording:
    """Return the recording of a trace, or of the traces that an index lists. InputError with file and line."""
    files, unnamed = _listed(path), UnnamedReceives()
    if len(files) > 1:
        builder = RecordingBuilder(len(files), str(path), [str(file) for file in files])
        for rank, file in enumerate(files):
            _read(file, builder, rank, unnamed)
    else:
        builder = RecordingBuilder(_count_ranks(files[0]), str(files[0]))
        _read(files[0], builder, None, unnamed)
    unnamed.settle()
    return builder.recording()


def _listed(path: Path) -> list[Path]:
    """Return the files that an index lists; the file itself if it is none."""
    files: list[Path] = []
    for number, line in numbered_lines(path):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not files and _LINE.match(text):
            return [path]
        files.append(check_confined(path.parent / text, Place(str(path), number)))
    if not files:
        raise InputError("no actions and no files", Place(str(path)), allowed="RANK ACTION ..., or names of such files")
    return files


def _actions(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of each action with its line."""
    for number, line in numbered_lines(path):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield number, words


def _count_ranks(path: Path) -> int:
    """Ranks that act in a file, which are all from 0 on."""
    seen, line_of = set[str](), array("q")
    ranks = set[int]()
    for number, words in _actions(path):
        if words[0] not in seen:
            seen.add(words[0])
            ranks.add(_rank(words[0], Place(str(path), number)))
            line_of.append(number)
    missing = next((rank for rank in range(len(ranks)) if rank not in ranks), None)
    if missing is not None:
        what = f"rank {max(ranks)} acts, but rank {missing} does not"
        raise InputError(what, Place(str(path), line_of[-1]), allowed="all ranks from 0 on")
    return len(ranks)


def _rank(text: str, place: Place) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError("an action begins with its rank", place, value=text, allowed="a whole number") from None


def _read(path: Path, builder: RecordingBuilder, own: int | None, unnamed: UnnamedReceives) -> None:
    """Put the actions of a file into the logs; ``own``: the only rank that may be in it."""
    ranks = [_Rank(log, builder.ranks, unnamed) for log in builder.logs]
    by_text = {str(rank): one for rank, one in enumerate(ranks) if own in (None, rank)}
    for number, words in _actions(path):
        rank = by_text.get(words[0])
        if rank is None:
            rank = _other_spelling(words[0], by_text, Place(str(path), number))
        rank.log.line = number
        name = words[1] if len(words) > 1 else ""
        known = ACTIONS.get(name) or ACTIONS.get(name.lower())
        if known is None:
            raise InputError("no such action", rank.log.place, value=name, allowed=nearest(name.lower(), ACTIONS))
        action, fewest = known
        given = words[2:]
        if len(given) < fewest:
            what = f"too few parameters of {name}"
            raise InputError(what, rank.log.place, value=len(given), allowed=f"{fewest} or more")
        try:
            action(rank, given)
        except InputError:
            raise
        except (ValueError, IndexError, OverflowError):
            what, value = f"parameters of {name}", " ".join(given)
            raise InputError(what, rank.log.place, value=value, allowed="numbers, as SimGrid has them") from None


def _other_spelling(text: str, by_text: dict[str, _Rank], place: Place) -> _Rank:
    """Return the rank of ``007`` or ``+7``. Raises InputError for one that is not expected here."""
    known = by_text.get(str(_rank(text, place)))
    if known is None:
        raise InputError("an action of another rank", place, value=text, allowed=_in_words(by_text))
    return known


def _in_words(ranks: Iterable[str]) -> str:
    several = list(ranks)
    return f"rank {several[0]}" if len(several) == 1 else f"ranks 0 to {len(several) - 1}"


def _sniff(start: FileStart) -> Match:
    lines = [line for line in start.lines if not line.startswith("#")]
    if not lines:
        return Match.NONE
    form = _LINE.match(lines[0])
    if form is not None:
        return Match.CERTAIN if form["action"].lower() in ACTIONS else Match.NONE
    return Match.POSSIBLE if all(_FILE_NAME.fullmatch(line) for line in lines[:100]) else Match.NONE


READERS.add_reader(RecordingReader("time-independent", read_time_independent, (".txt", ".ti"), _sniff))
