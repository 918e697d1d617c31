"""Closed forms of messages: what one message costs by Hockney and LogGOPS, vectorised over everything.

The formulas of ``collectives`` and ``halo`` are made of these. They hold for any number of ranks P, sizes and
constants, and assume that all ranks start together, that gaps of
earlier messages are over, and that no link or interface is shared. A message of m bytes keeps its sender busy for c,
arrives a after the send began and keeps its receiver busy for r: D = a + r. Sends (receives) of a rank begin at least
u (v) apart:

    Hockney  c = u = a = startup + latency of the hops + m x time per byte, r = v = receive overhead
             (unless hops hold the sender: what they add is in a alone; where messages are sent together, c = u =
             startup, and all else is in a alone)
    LogGOPS  c = o + x O, a = o + L + latency of the hops, r = o + x max(O, G), u = max(c, g + x G),
             v = max(r, g + x G), x = max(m - 1, 0)

Inside nodes whose network holds receivers (processors copy), c = u = a = startup + latency of the hops + m x time per
byte, however messages are sent, and a receive that has its turn at t is over at max(t + c, the arrival of the message)
+ r.

In LogGOPS a is the time of the first byte, which may come while the receiver still sends itself: for an exchange, D is
then c + r. Where links differ, bytes take the slowest one of a route (``route_links``): what that adds to m x time per
byte counts to c in Hockney's model if hops hold the sender, and to a otherwise and in LogGOPS.

Beyond S bytes (rendezvous) a sender continues only when its receiver takes the message up, and broadcasts take longer.
Where all ranks send and receive, receives are posted with the sends (as in MPI_Sendrecv), and what follows waits for
both.

A program's time is the sum of its operations' times. It is exact when all ranks reach every operation together with
their gaps over. It is too high if ranks leave an operation one after another and reach the next so: early ranks
have a start that the sum does not include (``pipelining`` has what they take then). It is too low if gaps of the
operation before are not over, which takes g + x G > o + x O; and where ranks differ, or wait for single messages, of
which the sum of the busiest rank does not include.

Sources: R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994); D. Culler et al., "LogP",
PPoPP 1993; A. Alexandrov et al., "LogGP", SPAA 1995; T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010;
Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005); distance laws log2 P and sqrt P: Armstrong and Eigenmann, SPECseis96,
section "Modeling Communication".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.costs_by_size import at_size
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_models.base import Passage, forecast_messages
from simcodesign.analytic.messages.route_links import RouteLinks, modelled_hops, slowest_links
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network


@dataclass(frozen=True)
class MessageCosts:
    """Costs of messages among ``ranks`` ranks: ``message(size_bytes)``.

    ``reduction_s_per_byte``: what the operator of a reduction takes a rank for a byte; ``packing_s``,
    ``packing_s_per_byte``: what it takes to copy a block, and in addition each of its bytes. ``combined_later_s``: what
    switches that combine messages of a size take in addition; None if they cannot.
    """

    ranks: FloatOrArray
    message: Callable[[FloatOrArray], Message]
    along: tuple[Callable[[FloatOrArray], Message], ...] = ()
    reduction_s_per_byte: FloatOrArray = 0.0
    packing_s: FloatOrArray = 0.0
    packing_s_per_byte: FloatOrArray = 0.0
    combined_later_s: Callable[[FloatOrArray], FloatOrArray] | None = None

    def reduced(self, size_bytes: FloatOrArray) -> Message:
        """Return a message whose bytes its receiver combines with its own."""
        return self.message(size_bytes).then(size_bytes * self.reduction_s_per_byte)

    def copy_s(self, block_bytes: FloatOrArray) -> FloatOrArray:
        """Seconds for which a rank copies a block of so many bytes."""
        return self.packing_s + block_bytes * self.packing_s_per_byte

    @property
    def copied_late(self) -> MessageCosts:
        """The prices of receivers that copy a message only when it has arrived: no receive ends later than by these."""
        return replace(self, message=lambda size: self.message(size).copied_late)

    def message_along(self, dim: int, size_bytes: FloatOrArray) -> Message:
        """Return a message along a dimension of a process grid.

        Each dimension has its own price if ``along`` has it.
        """
        return self.along[dim](size_bytes) if self.along else self.message(size_bytes)


def price(
    network: Network, ranks: FloatOrArray, hops: FloatOrArray | None = None, links: RouteLinks | None = None
) -> MessageCosts:
    """Return the price list of a network by its distance law, or for messages of ``hops`` hops.

    Over the slowest links of the network, or over these.
    """
    message = _message(network, ranks, hops, links)
    data = network.reduction_s_per_byte, network.packing_s_per_block, network.packing_s_per_byte
    return with_switches(MessageCosts(ranks, message, (), *data), network if network.combines_in_switches else None)


def _message(
    network: Network, ranks: FloatOrArray, hops: FloatOrArray | None, links: RouteLinks | None
) -> Callable[[FloatOrArray], Message]:
    """Return the price of a message by its size; if constants are piecewise by size, by the constants of its size."""
    passed = slowest_links(network) if links is None else links
    if passed.levels:
        parts = [
            (one.here, _message(one.network, ranks, hops if one.hops is None else one.hops, one.links))
            for one in passed.levels
        ]
        return functools.partial(_longest, parts)
    if network.has_segments:
        return lambda size: _plain(at_size(network, size), ranks, hops, passed.at(size))(size)
    return _plain(network, ranks, hops, passed)


def _longest(
    parts: Sequence[tuple[NDArray[np.bool_] | bool, Callable[[FloatOrArray], Message]]], size: FloatOrArray
) -> Message:
    """Return the longest of each time among messages on several levels, for the levels in use."""
    messages = [message(size) for _, message in parts]

    found: dict[tuple[tuple[bool, float], ...], Any] = {}  # several times of a message are often the same

    def most(name: str) -> Any:
        values = [getattr(one, name) for one in messages]
        key = tuple((np.ndim(value) == 0, id(value) if np.ndim(value) else float(value)) for value in values)
        if key not in found:
            found[key] = most_of(values)
        return found[key]

    def most_of(values: Sequence[FloatOrArray]) -> Any:
        if all(np.ndim(value) == 0 and value == 0 for value in values):
            return 0.0
        each = (np.where(here, value, 0.0) for (here, _), value in zip(parts, values, strict=True))
        longest = functools.reduce(np.maximum, each)
        return longest if longest.ndim else float(longest)

    return Message(
        most("send_s"),
        most("arrival_s"),
        most("receive_s"),
        most("next_send_s"),
        most("next_receive_s"),
        most("waits") > 0,
        most("spread_s"),
        messages[0].in_order,
        most("copy_s"),
    )


def _plain(
    network: Network, ranks: FloatOrArray, hops: FloatOrArray | None, passed: RouteLinks
) -> Callable[[FloatOrArray], Message]:
    """Return the price of a message of a network without segments, over these links."""
    h = (modelled_hops(network, ranks) if hops is None else hops) * passed.hops
    again: FloatOrArray = 0.0
    if network.is_stored:
        again = np.maximum(h - 1.0, 0.0) * passed.again_s_per_byte
    way = h * passed.latency_s
    longer: FloatOrArray = 0.0  # a byte over the slowest link, beyond the time that it takes the sender
    if network.has_own_links:
        longer = np.maximum(passed.per_byte_s - passed.sent_s_per_byte, 0.0)
    passage = Passage(h, way, again, longer, passed.startup_s, passed.sent_s_per_byte)
    return forecast_messages(network).price(network, passage)


def with_switches(prices: MessageCosts, network: Network | None) -> MessageCosts:
    """Return the prices on a network whose switches combine messages, or whose switches cannot if None."""
    return replace(prices, combined_later_s=None if network is None else functools.partial(combined_later_s, network))


def combined_later_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """Return the seconds that switches take to combine messages, in addition to a message of ``size_bytes``."""
    assert network.switch_latency_s is not None
    bytes_s = 0.0 if network.switch_per_byte_s is None else size_bytes * network.switch_per_byte_s
    return network.switch_latency_s + bytes_s


@dataclass(frozen=True)
class Cost:
    """Time of one operation of all ranks, and the bytes and messages that it sends in total.

    ``reduction_s``: the seconds of a reduction's operators, and of copies of blocks, on its longest path;
    ``reduced_bytes``, ``packed_blocks``, ``packed_bytes``: the amounts of all ranks together; ``empty_messages``:
    messages without bytes among others.
    """

    time_s: FloatOrArray
    messages: FloatOrArray
    message_bytes: FloatOrArray
    reduction_s: FloatOrArray = 0.0
    reduced_bytes: FloatOrArray = 0.0
    packed_blocks: FloatOrArray = 0.0
    packed_bytes: FloatOrArray = 0.0
    empty_messages: FloatOrArray = 0.0


def selected(parts: Sequence[tuple[NDArray[np.bool_], Cost]]) -> Cost:
    """At every point the cost that holds there."""
    where = [there for there, _ in parts]

    def of_all(name: str) -> FloatOrArray:
        several = np.broadcast_arrays(*where, *(getattr(cost, name) for _, cost in parts))
        return np.select(several[: len(where)], several[len(where) :])

    return Cost(*(of_all(one.name) for one in fields(Cost)))


def floor_log2(count: FloatOrArray) -> NDArray[np.float64]:
    """Largest k with 2^k <= count, exactly."""
    return np.asarray(np.frexp(count)[1] - 1.0)


def ceil_log2(count: FloatOrArray) -> NDArray[np.float64]:
    """Smallest k with 2^k >= count, exactly."""
    whole = floor_log2(count)
    return np.where(np.exp2(whole) < count, whole + 1.0, whole)
