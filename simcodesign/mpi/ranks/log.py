"""The operations of every rank, and a workload of them: a recording."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType

from simcodesign.core.errors import Place
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.rank_log import RankLog


class Log:
    """Operations of P ranks in their order, ``of_rank[rank]``, and where each requested the time.

    ``reads[rank]``: the numbers of entries that came before each request.
    """

    def __init__(self, size: int, script: str) -> None:
        self._script = script
        self._builder = RecordingBuilder(size, script)
        self.of_rank = self._builder.logs
        self.reads = [array("q") for _ in range(size)]
        self.parts_of = [array("q") for _ in range(size)]  # entries of the messages of collective operations, by rank
        self._communicators = 0
        #: Lines of calls by the identities of codes and places in them; and the codes, so that no other one gets one.
        self.lines: dict[tuple[int, int], tuple[int, CodeType]] = {}
        self.has_phases = False  # which the program marks itself

    def line_of(self, frame: FrameType | None) -> int:
        """Return the line of the program from which a frame was called, 0 if it was not.

        ``lines`` has it afterwards if the frame is the program's.
        """
        while frame is not None and frame.f_code.co_filename != self._script:
            frame = frame.f_back
        if frame is None:
            return 0
        place = id(frame.f_code), frame.f_lasti
        known = self.lines.get(place)
        if known is None:
            known = self.lines[place] = frame.f_lineno, frame.f_code
        return known[0]

    def place_of(self, rank: int, entry: int) -> Place:
        """Return the line of the program for an entry of a rank."""
        return Place(self._script, self.of_rank[rank].line_of(entry))

    def read_clock(self, rank: int) -> None:
        """Note that a rank asks for the time."""
        self.reads[rank].append(len(self.of_rank[rank]))

    @contextmanager
    def parts(self, note: RankLog) -> Iterator[None]:
        """Note operations of a rank as messages of a collective operation, not of the program."""
        begin = len(note)
        yield
        self.parts_of[note.rank].extend(range(begin, len(note)))

    def communicator(self, members: Sequence[int]) -> int:
        """Return the number of a new communicator of these ranks, in its order."""
        self._communicators += 1
        return self._builder.communicators.listed(members, Place(self._script), self._communicators)

    @property
    def clock_reads(self) -> int:
        """How often all ranks asked for the time."""
        return sum(map(len, self.reads))

    def recording(self) -> Recording:
        """Return the operations as a recording; receives that never had a message are left out."""
        return self._builder.recording()
