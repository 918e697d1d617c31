"""The postal model as a model of messages of another package (A. Bar-Noy, S. Kipnis, SPAA 1992): a message holds its
sender for a time, and is there a latency later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_models.base import FORECAST, ForecastMessages, Passage
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Constant
from simcodesign.describe.keys.key import Key
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel, SizeSegment
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.message_models.base import SIMULATED, SimulatedMessages
from simcodesign.generate.messages.way import Way


@dataclass(frozen=True)
class Postal(MessageModel):
    """The sender is held for ``send_s + m per_byte_s``; the message is there ``delivery_s`` later."""

    name = "postal"
    title = "the postal model"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("send", Constant("time"), "time of the sender beside the bytes", required=True, field="send_s"),
        Key("delivery", Constant("time"), "latency of a message", required=True, field="delivery_s"),
        Key("per_byte", Constant("per_byte"), "time per byte", required=True, field="per_byte_s"),
    )
    segment = SizeSegment

    send_s: FloatOrArray = 0.0
    delivery_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0

    @property
    def has_receive_overhead(self) -> bool:
        return False

    def sender_words(self, last: str | None) -> str:
        return "held for send and bytes"

    def receiver_words(self) -> str:
        return "not held"


def model_of(network: Network) -> Postal:
    assert isinstance(network.message_model, Postal)
    return network.message_model


class SimulatedPostal(SimulatedMessages):
    """What its messages do."""

    def send_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        return model_of(network).send_s + size_bytes * model_of(network).per_byte_s

    def receive_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        return 0.0 * np.asarray(size_bytes)

    def arrival_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        return self.send_s(network, way, size_bytes) + model_of(network).delivery_s + way.latency_s

    def inject_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        return model_of(network).send_s + model_of(network).delivery_s

    def tail_s(
        self,
        network: Network,
        way: Way,
        size_bytes: FloatOrArray,
        train: FloatOrArray = 1,
        again_s: FloatOrArray = 0.0,
    ) -> FloatOrArray:
        return size_bytes * model_of(network).per_byte_s


class ForecastPostal(ForecastMessages):
    """What its messages cost."""

    def price(self, network: Network, passage: Passage) -> Callable[[FloatOrArray], Message]:
        model = model_of(network)

        def message(size: FloatOrArray) -> Message:
            send = model.send_s + size * model.per_byte_s
            nothing = 0.0 * np.asarray(send)
            return Message(send, send + model.delivery_s + passage.way_s, nothing, send, nothing)

        return message

    def head_and_tail_s(
        self, network: Network, size_bytes: NDArray[np.float64], hops: FloatOrArray
    ) -> tuple[FloatOrArray, FloatOrArray]:
        model = model_of(network)
        return model.send_s + model.delivery_s, size_bytes * model.per_byte_s


def register() -> None:
    """Add it to the registries, as its package does when it is imported."""
    MESSAGE_MODELS.add(Postal.name, Postal)
    SIMULATED.add(Postal, SimulatedPostal())
    FORECAST.add(Postal, ForecastPostal())


def take_back() -> None:
    """Remove it from them."""
    MESSAGE_MODELS.remove(Postal.name)
    SIMULATED.remove(Postal)
    FORECAST.remove(Postal)
