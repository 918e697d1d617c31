"""The buffer that a rank attaches for its buffered sends (``Bsend``), as MPI 4.1, section 3.6, has it."""

from __future__ import annotations

from math import inf
from typing import Any

from simcodesign.mpi.objects.memory import memory_of
from simcodesign.mpi.ranks.matching import Message
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.values.constants import BSEND_OVERHEAD
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.markers import BufferAutomaticType


class Attached:
    """An attached buffer, and the messages in it."""

    def __init__(self, buffer: Any) -> None:
        is_any = isinstance(buffer, BufferAutomaticType)
        self.buffer, self.size_bytes = buffer, inf if is_any else memory_of(buffer).nbytes
        self.messages: list[Message] = []


def attach(world: World, buf: Any) -> None:
    """Attach a buffer. Raises MpiError if there is one already, BufferError for one that cannot be written to."""
    if world.current in world.attached:
        what = "this rank has a buffer for buffered sends already"
        raise MpiError(what, place_of_call(), allowed="one buffer at a time: Detach_buffer first")
    if not isinstance(buf, BufferAutomaticType) and not memory_of(buf).flags.writeable:
        raise BufferError("the buffer for buffered sends is read-only (allowed: a buffer that can be written to)")
    world.attached[world.current] = Attached(buf)


def detach(world: World) -> Any:
    """Wait until the messages in the buffer are received, and return the buffer; None without one."""
    flush(world)
    held = world.attached.pop(world.current, None)
    return None if held is None else held.buffer


def flush(world: World) -> None:
    """Wait until the messages in the buffer are received."""
    held = world.attached.get(world.current)
    if held is None:
        return
    messages = held.messages
    waiting = f"detach of {len(messages)} messages"
    world.scheduler.wait(lambda: waiting, lambda: all(one.taken_s is not None for one in messages))
    world.scheduler.pass_until(max((one.taken_s or 0.0 for one in messages), default=0.0))


def hold(world: World, message: Message) -> None:
    """Keep a message. Raises MpiError if the buffer has no room for it (MPI_ERR_BUFFER)."""
    held = world.attached.get(world.current)
    free_bytes = 0.0
    if held is not None:
        held.messages = [one for one in held.messages if one.taken_s is None]
        free_bytes = held.size_bytes - sum(one.size_bytes + BSEND_OVERHEAD for one in held.messages)
    needed = message.size_bytes + BSEND_OVERHEAD
    if held is None or needed > free_bytes:
        what = f"rank {world.current}: the attached buffer has no room for this buffered send"
        raise MpiError(what, place_of_call(), value=f"{needed} B", allowed=f"up to {free_bytes} B")
    message.is_held = True  # the sender may wait in a detach for it to be taken
    held.messages.append(message)
