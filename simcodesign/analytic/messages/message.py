"""Cost of one message, in the times that closed forms are made of."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray


@dataclass(frozen=True)
class Message:
    """Times of a message of one size: c, a, r, u and v (``message_costs``).

    ``waits`` where its sender waits; ``spread_s``: how much shorter the receiver may be busy where bytes wait for
    links; ``in_order``: ranks do their operations in order (Hockney's model), otherwise messages have the processor
    as they come (LogGOPS). ``copy_s``: what its receiver, which copies it, is held for from when the receive has
    its turn; the message is taken up after that.
    """

    send_s: FloatOrArray
    arrival_s: FloatOrArray
    receive_s: FloatOrArray
    next_send_s: FloatOrArray
    next_receive_s: FloatOrArray
    waits: bool | NDArray[np.bool_] = False
    spread_s: FloatOrArray = 0.0
    in_order: bool = True
    copy_s: FloatOrArray = 0.0

    def then(self, work_s: FloatOrArray) -> Message:
        """Return a copy whose receiver works on the message for ``work_s`` before it continues."""
        receive = self.receive_s + work_s
        return replace(self, receive_s=receive, next_receive_s=np.maximum(self.next_receive_s, receive))

    def of(self, ranks: NDArray[np.int64]) -> Message:
        """Return the messages of some, where the times of all are arrays, or the same."""
        times = (getattr(self, one.name) for one in fields(self))
        return Message(*(time if np.ndim(time) == 0 else time[ranks] for time in times))

    def free_where(self, here: NDArray[np.bool_]) -> Message:
        """Return the messages, of which some take no time."""
        times: dict[str, Any] = {one.name: np.where(here, 0, getattr(self, one.name)) for one in fields(self)}
        return replace(self, **times | {"waits": times["waits"] > 0, "in_order": self.in_order})

    @property
    def held_s(self) -> FloatOrArray:
        """Total time for which its receiver is held, if the message has arrived."""
        return self.copy_s + self.receive_s

    @property
    def copied_late(self) -> Message:
        """Return a copy that the receiver copies only when it has arrived: its receive ends no earlier."""
        return replace(self, copy_s=0.0).then(self.copy_s) if np.any(np.asarray(self.copy_s) != 0) else self

    @property
    def flight_s(self) -> FloatOrArray:
        """From when the sender is done to the arrival, if that is later."""
        flight: FloatOrArray = np.maximum(self.arrival_s - self.send_s, 0.0)
        return flight

    @property
    def whole_s(self) -> FloatOrArray:
        """D: from the beginning of the send to the end of the receive."""
        return self.arrival_s + self.receive_s

    @property
    def exchange_s(self) -> FloatOrArray:
        """Duration of an exchange: like ``whole_s``, but the receiver starts to send at the same time as the sender."""
        whole: FloatOrArray = np.maximum(self.arrival_s, self.send_s) + self.receive_s
        return whole

    @property
    def apart_s(self) -> FloatOrArray:
        """From the beginning of a send to the beginning of the next one."""
        return np.where(self.waits, np.maximum(self.next_send_s, self.arrival_s), self.next_send_s)

    @property
    def round_s(self) -> FloatOrArray:
        """Duration of a round in which every send waits for the message of the previous round."""
        return np.maximum(np.maximum(self.next_send_s, self.exchange_s), self.next_receive_s)


#: Nothing takes any time.
FREE = Message(0.0, 0.0, 0.0, 0.0, 0.0)
