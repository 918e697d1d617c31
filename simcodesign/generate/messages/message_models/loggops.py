"""Messages of LogGOPS in a simulation (Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.loggops import LogGOPS
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.constants_by_size import constant
from simcodesign.generate.messages.message_models.base import SIMULATED, SimulatedMessages
from simcodesign.generate.messages.way import Way


class SimulatedLogGOPS(SimulatedMessages):
    """Overheads of processors, gaps of interfaces; a message has come when its first byte has."""

    def send_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        """o + (s-1) O."""
        overhead, each = _constants(network, size_bytes, "overhead_s", "overhead_per_byte_s")
        return overhead + beyond_first(size_bytes) * each

    def receive_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        """o + (s-1) max(O, G)."""
        names = ("overhead_s", "overhead_per_byte_s", "per_byte_s")
        overhead, each, per_byte_s = _constants(network, size_bytes, *names)
        return overhead + beyond_first(size_bytes) * np.maximum(each, per_byte_s)

    def arrival_s(self, network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
        """Arrival of the first byte: o + L and the flight."""
        return _first_there_s(network, size_bytes) + self.flight_s(network, way, size_bytes)

    def between_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        """g + (s-1) G."""
        gap, per_byte_s = _constants(network, size_bytes, "gap_s", "per_byte_s")
        return gap + beyond_first(size_bytes) * per_byte_s

    def inject_s(self, network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
        """o + L, of which the links take the first byte's."""
        return _first_there_s(network, size_bytes) - _first_byte_s(network, size_bytes)

    def spread_s(self, network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
        """(s-1) G."""
        return beyond_first(size_bytes) * constant(network.message_model, "per_byte_s", size_bytes)

    def tail_s(
        self,
        network: Network,
        way: Way,
        size_bytes: FloatOrArray,
        train: FloatOrArray = 1,
        again_s: FloatOrArray = 0.0,
    ) -> FloatOrArray:
        return self.spread_s(network, size_bytes) + _first_byte_s(network, size_bytes)


def _first_byte_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """Return the time in which the first byte passes, which LogGOPS counts to o + L: a link is busy for all bytes."""
    first = np.minimum(size_bytes, 1.0) * constant(network.message_model, "per_byte_s", size_bytes)
    return np.minimum(first, _first_there_s(network, size_bytes))


def _first_there_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """o + L."""
    overhead, latency = _constants(network, size_bytes, "overhead_s", "latency_s")
    return overhead + latency


def _constants(network: Network, size_bytes: FloatOrArray, *names: str) -> list[FloatOrArray]:
    return [constant(network.message_model, name, size_bytes) for name in names]


def beyond_first(size_bytes: FloatOrArray) -> NDArray[np.float64]:
    """Bytes after the first one."""
    return np.maximum(np.asarray(size_bytes, dtype=np.float64) - 1.0, 0.0)


SIMULATED.add(LogGOPS, SimulatedLogGOPS())
