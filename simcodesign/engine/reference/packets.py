"""Messages in packets.

Stations serve messages in round robin, because a packet asks for a station only when that has served the packet before
it.
"""

from __future__ import annotations

import simpy

from simcodesign.engine.reference.environment import Process, TimedProcess
from simcodesign.engine.reference.messages import Cost, Messages
from simcodesign.generate.plan import Routes


class Packet:
    """A packet of a message.

    Events by station of its route: ``before``, it has served the packet before; ``served``, it has served this one.
    ``when_away``: happens when this one has passed the first station, if not None.
    """

    def __init__(self, messages: Messages, send: int, cost: Cost, head_s: float, previous: Packet | None) -> None:
        self.messages, self.send, self.cost, self.head_s = messages, send, cost, head_s
        env, stations = messages.env, len(messages.ways[messages.route[send]])
        self.served = [env.event() for _ in range(stations)]
        self.before = [env.event().succeed() for _ in range(stations)] if previous is None else previous.served
        self.when_away: simpy.Event | None = None

    def travel(self) -> TimedProcess:
        """Set out when the head can, and pass the stations; the value is when the last byte will have passed them."""
        if self.head_s > self.messages.env.now:
            yield self.messages.env.timeout_at(self.head_s)
        return (yield from self.messages.pass_stations(self.send, self.cost, self.head_s, self.be_served))

    def be_served(self, send: int, place: int, number: int, service_s: float) -> Process:
        """Wait for the packet before, and then until the station takes this one up."""
        env = self.messages.env
        yield self.before[place]
        yield from self.messages.be_served(send, place, number, service_s)
        env.trigger_at(env.now + service_s, self.served[place])
        if place == 0 and self.when_away is not None:
            env.trigger_at(max(self.head_s + self.cost.tail_s, env.now + service_s), self.when_away)


class Packets(Messages):
    """Messages whose packets pass the stations of their routes one behind another (see ``PacketSharing``)."""

    def read_routes(self, routes: Routes) -> None:
        """Read how many packets messages have as well."""
        super().read_routes(routes)
        assert routes.packets is not None
        self.count, self.until_away = routes.packets.count.tolist(), routes.packets.until_away

    def travel(self, send: int) -> TimedProcess:
        """Send one packet after another; the value is when the last one will have passed the last station."""
        cost, packet = self.costs[self.cost[send]], None
        yield self.env.timeout(cost.inject_s)
        head_s = self.env.now
        for _ in range(self.count[send] - 1):
            packet = Packet(self, send, cost, head_s, packet)
            self.env.process(packet.travel())
            head_s += cost.tail_s
            yield packet.served[0]  # the next one has nothing to do before
        last = Packet(self, send, self.costs[self.cost[send] + 1], head_s, packet)
        if self.holds[send] and self.until_away:
            last.when_away = self.passed.pop(send)
        tail_passes_s = yield from last.travel()
        if self.holds[send] and not self.until_away:
            self.env.trigger_at(tail_passes_s, self.passed.pop(send))
        return tail_passes_s
