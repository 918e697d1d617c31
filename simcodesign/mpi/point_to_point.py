"""Messages between two ranks of a communicator, of buffers (``Send``) and of objects (``send``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcodesign.describe.recordings.communicators import WORLD, Tag
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.mpi.buffers import Flat, Scattered, fill, items_of
from simcodesign.mpi.names import Quick, of_null
from simcodesign.mpi.objects.attached import hold
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.pickles import PICKLE
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG, Mailbox, Message, Receive
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.constants import PROC_NULL
from simcodesign.mpi.values.errors import MpiError

#: Largest tag, as of Open MPI.
MOST_TAG = 2**31 - 1


class PointToPoint(Quick):
    """The part of communicators that sends and receives messages."""

    empty_is_null = True
    world: World = of_null()
    number: int = of_null()
    members: tuple[int, ...] = of_null()
    _place: dict[int, int] = of_null()

    def __init__(self, world: World, number: int, members: tuple[int, ...]) -> None:
        self.world, self.number, self.members = world, number, members
        self._place = {member: place for place, member in enumerate(members)}
        self._boxes: dict[int, Mailbox] = {}

    @property
    def rank(self) -> int:
        """The rank whose turn it is."""
        return self._place[self.world.current]

    @property
    def size(self) -> int:
        """How many ranks the communicator has."""
        return len(self.members)

    @property
    def peers(self) -> tuple[int, ...]:
        """The ranks that this one sends to and receives from."""
        return self.members

    def _box(self, member: int) -> Mailbox:
        """Return the messages to one of all ranks."""
        if member not in self._boxes:
            self._boxes[member] = Mailbox(member, self.world.scheduler.wake)
            self.world.boxes[member].append(self._boxes[member])
        return self._boxes[member]

    @property
    def own_box(self) -> Mailbox:
        """The messages to the rank whose turn it is."""
        member = self.world.scheduler.current
        box = self._boxes.get(member)
        return self._box(member) if box is None else box

    def check_peer(self, rank: int, tag: int, *, any_is_allowed: bool) -> None:
        """Raise MpiError for a rank that is not at the other end, and for a tag that there is not."""
        others = len(self.peers)
        if not 0 <= rank < others and not (any_is_allowed and rank == ANY_SOURCE):
            what = f"rank {self.world.current} sends to or receives from a rank that does not exist"
            raise MpiError(what, place_of_call(), value=rank, allowed=f"0 to {others - 1}", name="RANK")
        if not 0 <= tag <= MOST_TAG and not (any_is_allowed and tag == ANY_TAG):
            what = f"rank {self.world.current} uses a tag that is out of range"
            raise MpiError(what, place_of_call(), value=tag, allowed=f"0 to {MOST_TAG}", name="TAG")

    # --- Sending ---------------------------------------------------------------------------------------------

    def _post(
        self,
        data: Any,
        size_bytes: int,
        dest: int,
        tag: int,
        waits: bool | None = None,
        start: bool = False,
        is_attached: bool = False,
    ) -> Request:
        """Send. ``waits`` for the receiver: None if the message is longer than what the machine sends without it.

        ``start``: return while it continues; ``is_attached``: the message is kept in the attached buffer.
        """
        world, peers, number = self.world, self.peers, self.number
        if dest == PROC_NULL:
            return Request.of_nobody(world)
        if type(dest) is not int:  # mpi4py takes 2.0, as of size / 2
            dest = int(dest)
        if not (0 <= dest < len(peers) and 0 <= tag <= MOST_TAG):
            self.check_peer(dest, tag, any_is_allowed=False)
        target = peers[dest]
        me = world.scheduler.current
        is_held = size_bytes > world.eager_bytes if waits is None else waits
        note, noted_tag, place = world.log.of_rank[me], (tag if number == WORLD else (number, tag)), None
        entry = len(note.entries) // 2
        if start:
            place = note.start_send(target, size_bytes, noted_tag)
        else:
            note.send(target, size_bytes, noted_tag)
        arrival_s = world.departs(target, size_bytes, not start)
        message = Message(self._place[me], dest, tag, data, size_bytes, me, entry, is_held, arrival_s)
        if is_attached:
            hold(world, message)
        box = self._boxes.get(target)
        (self._box(target) if box is None else box).post_message(message)
        request = Request.begun(world, place, message if is_held else None)
        if is_held and not start:
            request.wait_for_message()
        return request

    def tag_of(self, tag: int) -> Tag:
        """Return a tag of this communicator, as the log has it."""
        return tag if self.number == WORLD else (self.number, tag)

    def _send_buffer(
        self,
        buf: Any,
        dest: int,
        tag: int,
        waits: bool | None = None,
        start: bool = False,
        is_attached: bool = False,
    ) -> Request:
        data = items_of(buf).copy()
        return self._post(data, data.nbytes, dest, tag, waits, start, is_attached)

    def _send_object(
        self,
        obj: Any,
        dest: int,
        tag: int,
        waits: bool | None = None,
        start: bool = False,
        is_attached: bool = False,
    ) -> Request:
        data = PICKLE.dumps(obj)
        return self._post(data, len(data), dest, tag, waits, start, is_attached)

    @mpi_call
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer."""
        self._send_buffer(buf, dest, tag)

    @mpi_call
    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and wait until it is being received."""
        self._send_buffer(buf, dest, tag, waits=True)

    @mpi_call
    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a copy of a buffer, which the attached buffer keeps, and do not wait."""
        self._send_buffer(buf, dest, tag, waits=False, start=True, is_attached=True)

    @mpi_call
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer."""
        return self._send_buffer(buf, dest, tag, start=True)

    @mpi_call
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer; it is done when it is being received."""
        return self._send_buffer(buf, dest, tag, waits=True, start=True)

    @mpi_call
    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a copy of a buffer, which the attached buffer keeps."""
        return self._send_buffer(buf, dest, tag, waits=False, start=True, is_attached=True)

    Rsend, Irsend = Send, Isend

    @mpi_call
    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        self._send_object(obj, dest, tag)

    @mpi_call
    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and wait until it is being received."""
        self._send_object(obj, dest, tag, waits=True)

    @mpi_call
    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send a copy of an object, which the attached buffer keeps, and do not wait."""
        self._send_object(obj, dest, tag, waits=False, start=True, is_attached=True)

    @mpi_call
    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return self._send_object(obj, dest, tag, start=True)

    @mpi_call
    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object; it is done when it is being received."""
        return self._send_object(obj, dest, tag, waits=True, start=True)

    @mpi_call
    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a copy of an object, which the attached buffer keeps."""
        return self._send_object(obj, dest, tag, waits=False, start=True, is_attached=True)

    # --- Receiving -------------------------------------------------------------------------------------------

    def _receive(self, source: int, tag: int, status: Status | None) -> Message | None:
        if source == PROC_NULL:
            if status is not None:
                status.clear(PROC_NULL)
            return None
        world = self.world
        if type(source) is not int:
            source = int(source)
        if not (0 <= source < len(self.peers) and 0 <= tag <= MOST_TAG):
            self.check_peer(source, tag, any_is_allowed=True)
            world.in_time += source == ANY_SOURCE
        receive = Receive(source, tag, world.scheduler.clock_s)
        self.own_box.post_receive(receive)
        message = world.wait_for(receive.__str__, receive)
        self.note_received(message, status)
        return message

    def note_received(self, message: Message, status: Status | None) -> None:
        """Log that a message was received, and fill the status."""
        self.world.note().receive(message.sender, None, self.tag_of(message.tag))
        if status is not None:
            status.note(message)

    def _begin_receive(
        self, source: int, tag: int, use: Callable[[Any], Any] | None = None, room: Flat | Scattered | None = None
    ) -> Request:
        """Begin to receive, into ``room``, or to return ``use`` of what comes."""
        if source == PROC_NULL:
            return Request.of_nobody(self.world)
        if type(source) is not int:
            source = int(source)
        world, peers, number, on_match = self.world, self.peers, self.number, None
        rank = world.scheduler.ranks[world.scheduler.current]
        note = world.log.of_rank[rank.number]
        if 0 <= source < len(peers) and 0 <= tag <= MOST_TAG:
            place = note.start_receive(peers[source], None, tag if number == WORLD else (number, tag))
        else:
            self.check_peer(source, tag, any_is_allowed=True)
            place = note.start_receive(None, None, None)
            on_match = self._noting(note, place)
            world.in_time += source == ANY_SOURCE
        receive = Receive(source, tag, rank.clock_s, note, place, on_match)
        self.own_box.post_receive(receive)
        return Request.begun(world, place, None, receive, room, use)

    def _noting(self, note: RankLog, place: int) -> Callable[[Message], None]:
        """Return what notes the message that a receive, begun at ``place``, took."""
        return lambda message: note.received(place, message.sender, self.tag_of(message.tag), WORLD)

    @mpi_call
    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive into a buffer."""
        message = self._receive(source, tag, status)
        if message is not None:
            fill(items_of(buf), message.data)

    @mpi_call
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive into a buffer."""
        return self._begin_receive(source, tag, None, items_of(buf))

    @mpi_call
    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """Receive an object."""
        message = self._receive(source, tag, status)
        return None if message is None else unpickled(message.data)

    @mpi_call
    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive an object."""
        return self._begin_receive(source, tag, unpickled)

    @mpi_call
    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send a buffer while another is received into."""
        request = self._send_buffer(sendbuf, dest, sendtag, start=True)
        self.Recv(recvbuf, source, recvtag, status)
        request.end(None)

    @mpi_call
    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Send an object while another is received."""
        request = self._send_object(sendobj, dest, sendtag, start=True)
        found = self.recv(recvbuf, source, recvtag, status)
        request.end(None)
        return found

    @mpi_call
    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send a buffer while another message is received into it."""
        self.Sendrecv(buf, dest, sendtag, buf, source, recvtag, status)


def unpickled(data: Any) -> Any:
    """Return a sent object; None for an empty message, as mpi4py does."""
    return PICKLE.loads(data) if len(data) else None
