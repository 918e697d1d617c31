"""Power and energy in closed form (Spafford and Vetter, Sci. Prog. 2015, article 157305):

    P_max = static power of all components + the largest over the phases of the dynamic power of all that they use
    E     = static power x T + sum over the uses of busy time x dynamic power + bytes sent x energy per byte

The sum over all that a phase uses is the paper's: P_max = sum of P_idle(c) + max over kernels k of the sum of P_dyn(r)
over the resources r that k uses. So it is an upper bound, not the power at one instant: where a phase computes
and then sends, the power of processors and of the network are added although a rank does one after the other (the
simulation's peak is at an instant, and may be less). All ranks are taken to be at work together. Among
resources that conflict only those count that are heaviest together without a conflict, as the paper has it for a
machine without an application. What costs energy by the byte or by the item draws its mean power.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.resources import highest_power
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network
from simcodesign.describe.resources import Custom


@dataclass
class PowerBook:
    """Power of all ranks, added up over a program: ``energy_j``, and power by phase and by used part."""

    energy_j: FloatOrArray = 0.0
    built_in_w: dict[str, dict[str, FloatOrArray]] = field(default_factory=dict)
    resources_w: dict[str, dict[str, FloatOrArray]] = field(default_factory=dict)

    def spend(self, energy_j: FloatOrArray) -> None:
        """Note the energy of all ranks and repetitions."""
        self.energy_j = self.energy_j + energy_j

    def draw(self, phase: str, what: str, watts: FloatOrArray, resource: bool = False) -> None:
        """Note what all ranks draw together while they use this in a phase; the most of several counts."""
        powers = (self.resources_w if resource else self.built_in_w).setdefault(phase, {})
        powers[what] = np.maximum(powers.get(what, 0.0), watts)

    def highest_w(self, custom: Custom) -> FloatOrArray:
        """Return the dynamic power of the phase that draws most."""
        highest: FloatOrArray = 0.0
        for phase in {**self.built_in_w, **self.resources_w}:
            at_once = sum(self.built_in_w.get(phase, {}).values(), start=0.0)
            highest = np.maximum(highest, at_once + highest_power(self.resources_w.get(phase, {}), custom))
        return highest


def busy_s(message: Message) -> FloatOrArray:
    """Seconds for which sender and receiver of a message are at work, waiting apart."""
    return message.send_s + message.held_s


def all_busy_s(cost: Cost, prices: MessageCosts) -> FloatOrArray:
    """Seconds for which all ranks are at work on the messages of an operation.

    The time of a message is linear in its size (in LogGOPS from one byte on, so that empty messages are counted by
    themselves), and so the sum over all equals the energy of as many messages of the mean size.
    """
    filled = np.asarray(cost.messages - cost.empty_messages)
    mean = np.where(filled > 0, cost.message_bytes / np.where(filled > 0, filled, 1.0), 0.0)
    return filled * busy_s(prices.message(mean)) + cost.empty_messages * busy_s(prices.message(0.0 * mean))


def byte_power_w(network: Network, cost: Cost) -> FloatOrArray:
    """Return the mean power of what the bytes of an operation cost."""
    if network.energy_per_byte_j is None:
        return 0.0
    energy, time = cost.message_bytes * network.energy_per_byte_j, np.asarray(cost.time_s)
    return np.where(time > 0, energy / np.where(time > 0, time, 1.0), 0.0)
