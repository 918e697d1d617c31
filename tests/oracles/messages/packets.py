"""Packets on a line of nodes, by brute force: a heap of events and, at every link, what the rule says in so many words.

Each link asks, whenever it is free, which messages have a packet there, and serves the one that has waited longest:
since its packet came, or since its packet before that was served here.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Message:
    """From a node of the line to another; the first byte is at the first link at ``start_s``."""

    source: int
    target: int
    size_bytes: int
    start_s: Fraction

    @property
    def links(self) -> list[tuple[int, int]]:
        """One-way links, each from a node to its neighbour."""
        step = 1 if self.target > self.source else -1
        return [(node, node + step) for node in range(self.source, self.target, step)]

    def packets_bytes(self, packet_bytes: int) -> list[int]:
        """Full packets, and a last one with what is left."""
        whole, rest = divmod(self.size_bytes, packet_bytes)
        return [packet_bytes] * whole + ([rest] if rest or not whole else [])


@dataclass
class Link:
    free_s: Fraction = Fraction(0)
    queues: dict[int, list[tuple[Fraction, int]]] = field(default_factory=lambda: defaultdict(list))  # of each message
    served_s: dict[int, Fraction] = field(default_factory=dict)  # when its last packet was

    def longest_waiting(self, now: Fraction) -> int:
        """The message that has waited longest for its turn; of several, the first."""
        return min(
            (max(queue[0][0], self.served_s.get(message, Fraction(0))), message)
            for message, queue in self.queues.items()
            if queue and queue[0][0] <= now
        )[1]


def arrivals_s(
    messages: list[Message], packet_bytes: int, per_byte_s: Fraction, latency_s: Fraction, is_stored: bool
) -> list[Fraction]:
    """When the last byte of each message is there. Links are as fast as the senders."""
    links: dict[tuple[int, int], Link] = defaultdict(Link)
    sizes = [message.packets_bytes(packet_bytes) for message in messages]
    arrived = [Fraction(-1)] * len(messages)
    events: list[tuple[Fraction, int, int, int, int]] = []  # time, 0: a packet comes, message, packet, hop; 1: a link
    for number, message in enumerate(messages):
        ready_s = message.start_s
        for packet, size in enumerate(sizes[number]):
            heapq.heappush(events, (ready_s, 0, number, packet, 0))
            ready_s += size * per_byte_s
    while events:
        now, kind, number, packet, hop = heapq.heappop(events)
        name = messages[number].links[hop]
        link = links[name]
        if kind == 0:
            link.queues[number].append((now, packet))
            heapq.heappush(events, (max(now, link.free_s), 1, number, packet, hop))
            continue
        if link.free_s > now or not any(link.queues.values()):
            continue  # another packet was quicker; the link looks again when it is free
        chosen = link.longest_waiting(now)
        _, packet = link.queues[chosen].pop(0)
        end_s = now + sizes[chosen][packet] * per_byte_s
        link.free_s = link.served_s[chosen] = end_s
        hop = messages[chosen].links.index(name)
        heapq.heappush(events, (end_s, 1, chosen, packet, hop))
        if hop + 1 < len(messages[chosen].links):
            heapq.heappush(events, ((end_s if is_stored else now) + latency_s, 0, chosen, packet, hop + 1))
        else:
            arrived[chosen] = end_s + latency_s
    return arrived
