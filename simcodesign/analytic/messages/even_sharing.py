"""Collective operations whose messages share the links of a mesh or torus evenly, in closed form.

Their rounds go over the distances 1, 2, 4, ... P/2 in the numbers of P = 2^k ranks (``Doubling``). Rank i is host i of
the grid, whose extents are powers of two as far as the ranks fill them, so that every round lies in one dimension: all
of its messages go over 2^j links of a line or ring of that dimension. All messages that meet anywhere meet on one link:

* on a line, the 2^j messages (in each direction) of a block of 2^(j+1) hosts, on the link in the middle of the block;
* half way round a ring of more than two hosts, even coordinates go up and odd ones down (``TorusTopology``), so that
  2^(j-1) messages meet instead, and none where the ring has four hosts.

With max-min fair shares, all messages of a round therefore get the same share, determined by the link on which they
meet. They end together, and so begin the next round together, if receivers then continue as soon as senders do::

    T = sum over the rounds of: startup + 2^j x hop latency + receive overhead
                                + bytes x max(time per byte of a message, messages that meet x time per byte of a link)

Where a link costs as much per byte as a message, a dimension of 2^k hosts counts 1 + 2 + 4 + ... = 2^k - 1 times the
bytes on a line, and 2^(k-1) - 1 + 2^(k-2) times on a ring of four hosts and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import numpy as np

from simcodesign.analytic.messages.costs_by_size import at_size
from simcodesign.analytic.messages.message_models.base import forecast_messages
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.grid import GridTopology


class Doubling(Enum):
    """Who sends at distance d = 1, 2, 4, ...: in a ``TREE`` ranks 0 to d - 1, each to the rank d above it.

    In an ``EXCHANGE`` every rank, to the rank whose number differs in the binary digit of d.
    """

    TREE = "tree"
    EXCHANGE = "exchange"


class Round(NamedTuple):
    """Messages of a round go over ``hops`` of a ``dimension`` of the grid; ``meeting`` of them meet on a link."""

    dimension: int
    hops: int
    meeting: int


def evenly_shared_s(machine: Machine, ranks: int, size_bytes: float, pattern: Doubling) -> float | None:
    """Seconds of such an operation if all ranks begin together and the links are shared fairly.

    None if that has no closed form: on other machines (no mesh or torus, several rails, several ranks on a node,
    another order of the ranks, links not shared in equal parts, LogGOPS), for other numbers of ranks, and in a ``TREE``
    where receivers continue later than senders do, which they always do where messages are sent together.
    """
    network = at_size(machine.network, size_bytes)
    rounds_of = forecast_messages(network).even_rounds(network.message_model)
    if rounds_of is None or not network.sharing.has_equal_shares or network.rails > 1:
        return None
    if not _is_in_order(machine, ranks):
        return None
    rounds = list(rounds_on_grid(network.topology, ranks)) if isinstance(network.topology, GridTopology) else []
    if ranks == 1 or 2 ** len(rounds) != ranks:
        return None
    if pattern is Doubling.TREE and rounds_of.senders_run_ahead and len(rounds) > 1:
        return None
    if pattern is Doubling.TREE and any(
        rounds_of.receivers_are_late(_way_s(network, one), one.hops) for one in rounds[:-1]
    ):
        return None
    return sum(
        rounds_of.round_s(
            _way_s(network, one), one.hops, one.meeting * network.links_s_per_byte[one.dimension], size_bytes
        )
        for one in rounds
    )


def rounds_on_grid(grid: GridTopology, ranks: int) -> Iterator[Round]:
    """Yield rounds of ``ranks`` hosts, as long as the distance of the round lies in one dimension."""
    for dimension, axis in reversed([*enumerate(grid.axes)]):
        hops = 1
        while 2 * hops * axis.stride <= ranks and 2 * hops <= axis.extent:
            half_way = axis.is_ring and 2 * hops == axis.extent
            yield Round(dimension, hops, hops // 2 if half_way else hops)
            hops *= 2
        if hops < axis.extent:
            return


def _is_in_order(machine: Machine, ranks: int) -> bool:
    """Whether rank i is alone on node i."""
    return np.array_equal(machine.node_of(ranks), np.arange(ranks))


def _way_s(network: Network, one: Round) -> float:
    """Return the latency of the hops of a message."""
    return float(network.link_latencies_s[one.dimension] * one.hops)
