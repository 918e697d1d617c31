"""Messages of Hockney's model in a forecast."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_models.base import FORECAST, EvenRounds, ForecastMessages, Passage, waits
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.describe.network.network import Network


class ForecastHockney(ForecastMessages):
    """c = u = a = startup + latency of the hops + m x time per byte, r = v = receive overhead.

    Unless hops hold the sender, what they add is in a alone, and where messages are sent together all but the startup.
    Where messages hold their receivers, c is all of a, and so is what a receiver copies.
    """

    def price(self, network: Network, passage: Passage) -> Callable[[FloatOrArray], Message]:
        model = network.message_model
        assert isinstance(model, Hockney)
        startup, sent, receive = passage.startup_s, passage.sent_s_per_byte, model.receive_overhead_s
        way, longer, again = passage.way_s, passage.longer_s_per_byte, passage.again_s_per_byte
        limit, stored_bytes = model.rendezvous_above_bytes, network.sharing.stored_bytes
        relays = np.maximum(passage.hops, 1.0) if model.starts_at_every_hop else 1.0
        if not model.flight_holds_sender:
            way = way + startup * (relays - 1.0)
            flown = longer if model.bytes_hold_sender else sent + longer
            flight = functools.partial(_with_bytes_s, way, flown, again, stored_bytes)
            held = sent if model.bytes_hold_sender else 0.0
            return functools.partial(_posted, startup, held, receive, flight, limit)
        send = functools.partial(_with_bytes_s, startup * relays + way, sent + longer, again, stored_bytes)
        return functools.partial(_held, send, receive, limit, model.holds_receiver)

    def head_and_tail_s(
        self, network: Network, size_bytes: NDArray[np.float64], hops: FloatOrArray
    ) -> tuple[FloatOrArray, FloatOrArray]:
        model = network.message_model
        head = np.asarray(model.startup_s * (hops if model.starts_at_every_hop else 1.0))
        return head, size_bytes * model.per_byte_s

    def even_rounds(self, model: MessageModel) -> EvenRounds | None:
        """Return the rounds of this model alone: what a subclass adds to a message is not in them."""
        return _EvenHockney(model) if type(model) is Hockney else None


@dataclass(frozen=True)
class _EvenHockney(EvenRounds):
    model: Hockney

    def round_s(self, way_s: float, hops: int, slowest_s_per_byte: FloatOrArray, size_bytes: float) -> float:
        slowest = np.maximum(self.model.per_byte_s, slowest_s_per_byte)
        fixed_s = self.model.startup_s + self._way_s(way_s, hops) + self.model.receive_overhead_s
        return float(fixed_s + size_bytes * slowest)

    def receivers_are_late(self, way_s: float, hops: int) -> bool:
        later_s = 0.0 if self.model.hops_hold_sender else self._way_s(way_s, hops)
        return bool(later_s + np.asarray(self.model.receive_overhead_s) > 0)

    @property
    def senders_run_ahead(self) -> bool:
        return not self.model.bytes_hold_sender

    def _way_s(self, way_s: float, hops: int) -> float:
        """Time of the hops before the bytes, or after them if they do not hold the sender."""
        again = hops - 1 if self.model.starts_at_every_hop else 0
        return float(self.model.startup_s * again + way_s)


def _with_bytes_s(
    empty_s: FloatOrArray,
    per_byte_s: FloatOrArray,
    again_s_per_byte: FloatOrArray,
    stored_bytes: float,
    size: FloatOrArray,
) -> FloatOrArray:
    """Time of a message beyond ``empty_s``; nodes on its route store all of it, or packets of ``stored_bytes``."""
    if np.isinf(stored_bytes):
        return empty_s + (per_byte_s + again_s_per_byte) * size
    return empty_s + per_byte_s * size + again_s_per_byte * np.minimum(size, stored_bytes)


def _held(
    send_s: Callable[[FloatOrArray], FloatOrArray],
    receive_s: FloatOrArray,
    limit_bytes: FloatOrArray | None,
    holds_receiver: bool,
    size: FloatOrArray,
) -> Message:
    """Whose flight holds the sender, and perhaps the receiver."""
    send = send_s(size)
    copy_s = send if holds_receiver else 0.0
    return Message(send, send, receive_s, send, receive_s, waits(size, limit_bytes), copy_s=copy_s)


def _posted(
    startup_s: FloatOrArray,
    per_byte_s: FloatOrArray,
    receive_s: FloatOrArray,
    flight_s: Callable[[FloatOrArray], FloatOrArray],
    limit_bytes: FloatOrArray | None,
    size: FloatOrArray,
) -> Message:
    """Whose flight does not; ``per_byte_s``: for which a byte does."""
    send = startup_s + per_byte_s * size
    return Message(send, send + flight_s(size), receive_s, send, receive_s, waits(size, limit_bytes))


FORECAST.add(Hockney, ForecastHockney())
