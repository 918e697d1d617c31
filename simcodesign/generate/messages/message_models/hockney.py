"""Messages of Hockney's model in a simulation."""

from __future__ import annotations

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.hockney import Hockney
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.constants_by_size import constant
from simcodesign.generate.messages.message_models.base import SIMULATED, SimulatedMessages, hops_s
from simcodesign.generate.messages.way import Way


class SimulatedHockney(SimulatedMessages):
    """A startup, and held flight and bytes where messages are sent one by one."""

    def send_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        first = self.again_s(network, way, size_bytes)
        if not network.message_model.bytes_hold_sender:
            return train * first
        return first + self.tail_s(network, way, size_bytes, train, first)

    def receive_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        return constant(network.message_model, "receive_overhead_s", size_bytes)

    def arrival_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        """Arrival of the last byte."""
        again = self.again_s(network, way, size_bytes)
        return (
            self.inject_s(network, way, size_bytes)
            + self.flight_s(network, way, size_bytes)
            + self.tail_s(network, way, size_bytes, train, again)
        )

    def inject_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        if network.message_model.starts_at_every_hop:
            return way.startup_s * np.maximum(way.hops, 1.0)
        return way.startup_s

    def tail_s(
        self,
        network: Network,
        way: Way,
        size_bytes: FloatOrArray,
        train: FloatOrArray = 1,
        again_s: FloatOrArray = 0.0,
    ) -> FloatOrArray:
        model = network.message_model
        per_byte_s = way.per_byte_s if model.flight_holds_sender else way.sent_s_per_byte
        after_another = train if model.bytes_hold_sender else 1  # else all bytes flow side by side
        return (train - 1) * again_s + after_another * size_bytes * per_byte_s

    def again_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        """Return the startups of a message, and its flight if that holds the sender."""
        if not network.message_model.flight_holds_sender:
            return way.startup_s
        return self.inject_s(network, way, size_bytes) + hops_s(network, way, size_bytes)


SIMULATED.add(Hockney, SimulatedHockney())
