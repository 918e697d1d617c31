"""One cost more of a message, of another package: Hockney's model in which a message beyond some size takes longer to
begin, because its memory is pinned (registered with the interface) first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_models.base import FORECAST, Passage
from simcodesign.analytic.messages.message_models.hockney import ForecastHockney
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Constant
from simcodesign.describe.keys.key import Key
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS, MessageModel
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.message_models.base import SIMULATED
from simcodesign.generate.messages.message_models.hockney import SimulatedHockney
from simcodesign.generate.messages.way import Way


@dataclass(frozen=True)
class Pinned(Hockney):
    """A message of more than ``pinned_above_bytes`` holds its sender for ``pin_s`` more, before anything else."""

    name = "pinned"
    title = "Hockney's model with pinned memory"
    keys: ClassVar[tuple[Key, ...]] = (
        *(key for key in Hockney.keys if key.name != "startup_per"),  # a startup is for a message
        Key("pin", Constant("time"), "time to pin the memory of a message", "0 s", field="pin_s"),
        Key("pinned_above", Constant("size"), "bytes above which it is", "0 B", field="pinned_above_bytes"),
    )

    pin_s: FloatOrArray = 0.0
    pinned_above_bytes: FloatOrArray = 0.0

    @property
    def price_is_convex(self) -> bool:
        return False

    def sender_words(self, last: str | None) -> str:
        return f"{super().sender_words(last)}, after pinning"


def pin_s(model: MessageModel, size_bytes: FloatOrArray) -> FloatOrArray:
    """Return the seconds that messages of these sizes take more."""
    assert isinstance(model, Pinned)
    return np.where(np.asarray(size_bytes) > model.pinned_above_bytes, model.pin_s, 0.0)


class SimulatedPinned(SimulatedHockney):
    """What its messages do."""

    def inject_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        return super().inject_s(network, way, size_bytes) + pin_s(network.message_model, size_bytes)

    def again_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        again = super().again_s(network, way, size_bytes)
        model = network.message_model
        return again if model.flight_holds_sender else again + pin_s(model, size_bytes)


class ForecastPinned(ForecastHockney):
    """What its messages cost."""

    def price(self, network: Network, passage: Passage) -> Callable[[FloatOrArray], Message]:
        def message(size: FloatOrArray) -> Message:
            startup_s = passage.startup_s + pin_s(network.message_model, size)
            price = super(ForecastPinned, self).price(network, replace(passage, startup_s=startup_s))
            return price(size)

        return message

    def head_and_tail_s(
        self, network: Network, size_bytes: NDArray[np.float64], hops: FloatOrArray
    ) -> tuple[FloatOrArray, FloatOrArray]:
        head, tail = super().head_and_tail_s(network, size_bytes, hops)
        return head + pin_s(network.message_model, size_bytes), tail


def register() -> None:
    """Add it to the registries, as its package does when it is imported."""
    MESSAGE_MODELS.add(Pinned.name, Pinned)
    SIMULATED.add(Pinned, SimulatedPinned())
    FORECAST.add(Pinned, ForecastPinned())


def take_back() -> None:
    """Remove it from them."""
    MESSAGE_MODELS.remove(Pinned.name)
    SIMULATED.remove(Pinned)
    FORECAST.remove(Pinned)
