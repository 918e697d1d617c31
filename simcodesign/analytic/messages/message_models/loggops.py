"""Messages of LogGOPS in a forecast."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_models.base import FORECAST, ForecastMessages, Passage, waits
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.loggops import LogGOPS
from simcodesign.describe.network.network import Network


class ForecastLogGOPS(ForecastMessages):
    """Times of a message of m bytes in the forecast with LogGOPS.

    c = o + x O, a = o + L + latency of the hops, r = o + x max(O, G), u = max(c, g + x G), v = max(r, g + x G) with x =
    max(m - 1, 0).
    """

    def price(self, network: Network, passage: Passage) -> Callable[[FloatOrArray], Message]:
        model = network.message_model
        assert isinstance(model, LogGOPS)
        return functools.partial(_message, model, passage.way_s, passage.again_s_per_byte + passage.longer_s_per_byte)

    def head_and_tail_s(
        self, network: Network, size_bytes: NDArray[np.float64], hops: FloatOrArray
    ) -> tuple[FloatOrArray, FloatOrArray]:
        model = network.message_model
        assert isinstance(model, LogGOPS)
        beyond = np.maximum(size_bytes - 1.0, 0.0)
        before = model.overhead_s + model.latency_s
        # The first byte's time belongs to o + L, though it occupies the stations as the others do.
        first = np.minimum(np.minimum(size_bytes, 1.0) * model.per_byte_s, before)
        return before - first, beyond * model.per_byte_s + first


def _message(model: LogGOPS, way_s: FloatOrArray, again_s_per_byte: FloatOrArray, size: FloatOrArray) -> Message:
    rest = np.maximum(size - 1.0, 0.0)
    send = model.overhead_s + rest * model.overhead_per_byte_s
    last = rest * model.per_byte_s  # how far the last byte is behind the first
    receive = model.overhead_s + rest * np.maximum(model.overhead_per_byte_s, model.per_byte_s)
    gap = model.gap_s + last
    arrival = model.overhead_s + model.latency_s + way_s + again_s_per_byte * size
    is_held = waits(size, model.rendezvous_above_bytes)
    return Message(send, arrival, receive, np.maximum(send, gap), np.maximum(receive, gap), is_held, last, False)


FORECAST.add(LogGOPS, ForecastLogGOPS())
