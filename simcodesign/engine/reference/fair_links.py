"""Fair sharing of links by messages. All links are one SimPy resource, since a flow uses several at a time.

Every flow gets its max-min fair share: water is poured in, so to speak, and rises for all flows alike until a link is
full; the flows of that link keep the fraction that they have then, and the others continue rising. When a flow begins
or ends all shares are computed again. This is the plain way, and what the compiled engine must give to the last bit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import inf

import numpy as np
import simpy

from simcodesign.engine.event_contract import Log, count_flows, link_capacities
from simcodesign.engine.reference.environment import ContractEnvironment, TimedProcess
from simcodesign.engine.reference.messages import Messages
from simcodesign.engine.reference.stations import Resource
from simcodesign.generate.plan import Routes


@dataclass(eq=False)
class Flow:
    """A message under way. Rates are whole numbers of units, and multiples of the weight."""

    links: list[int]
    left_bytes: float
    ended: simpy.Event
    since_s: float = 0.0
    rate: int = 0
    end_s: float = inf
    weight: int = 1


def rounded(time_s: float) -> float:
    """To 43 significant bits (T. J. Dekker, 1971), so that what rounding alone separates happens at the same time."""
    large = 1025.0 * time_s
    return large - (large - time_s)


def fair_shares(flows: dict[Flow, None], capacity: list[int], loaded: list[int]) -> dict[Flow, int]:
    """Return the max-min fair rates of flows, in proportion to their weights.

    Several at a link share its ``loaded`` capacity.
    """
    spare: dict[int, int] = {}
    waiting: dict[int, list[Flow]] = defaultdict(list)  # flows without a rate, by link
    for flow in flows:
        for link in flow.links:
            waiting[link].append(flow)
            spare[link] = (capacity if len(waiting[link]) == 1 else loaded)[link]
    rates: dict[Flow, int] = {}
    while len(rates) < len(flows):
        shares = {link: spare[link] // sum(flow.weight for flow in there) for link, there in waiting.items()}
        share = min(shares.values())
        full = [link for link in waiting if shares[link] == share]
        for flow in {flow: None for link in full for flow in waiting[link]}:
            rates[flow] = share * flow.weight
            for link in flow.links:
                spare[link] -= rates[flow]
        waiting = {link: [flow for flow in there if flow not in rates] for link, there in waiting.items()}
        waiting = {link: there for link, there in waiting.items() if there}
    return rates


class FairLinks(Resource):
    """All links.

    ``capacity`` of each for a flow alone and ``loaded`` for several: units, of which ``unit`` make a byte per second.
    """

    def __init__(
        self, env: ContractEnvironment, number: int, capacity: list[int], loaded: list[int], unit: float
    ) -> None:
        super().__init__(env, number)
        self.capacity, self.loaded, self.unit = list(capacity), loaded, unit
        self.flows: dict[Flow, None] = {}
        self.beginning: list[Flow] = []
        self.most_flows = [0] * len(capacity)

    def carry(self, links: list[int], own_rate: int, size_bytes: float, weight: int) -> simpy.Event:
        """Return an event: the last byte of a message has passed these links, and its own limit unless that is 0."""
        if own_rate:
            links = [*links, len(self.capacity)]
            self.capacity.append(own_rate)
        flow = Flow(links, size_bytes, self.env.event(), weight=weight)
        self.beginning.append(flow)
        self.arbitrate_if_needed()
        return flow.ended

    def can_grant(self) -> bool:
        """Whether a flow begins or ends now."""
        return len(self.beginning) > 0 or any(flow.end_s == self.env.now for flow in self.flows)

    def grant(self) -> None:
        """All that begin or end now do so; then the flows continue with their new shares."""
        for flow in [flow for flow in self.flows if flow.end_s == self.env.now]:
            del self.flows[flow]
            flow.ended.succeed()
        self.flows.update(dict.fromkeys(self.beginning))
        self.beginning = []
        self.count_flows()
        for flow, rate in fair_shares(self.flows, self.capacity, self.loaded).items():
            if rate != flow.rate:
                self.change_rate(flow, rate)
        if self.flows:
            next_end = self.env.timeout_at(min(flow.end_s for flow in self.flows))
            next_end.callbacks.append(lambda event: self.arbitrate_if_needed())

    def change_rate(self, flow: Flow, rate: int) -> None:
        """Let a flow continue at another rate."""
        now = self.env.now
        carried = float(flow.rate) / self.unit * (now - flow.since_s)
        flow.left_bytes = max(0.0, flow.left_bytes - carried)
        flow.since_s, flow.rate = now, rate
        flow.end_s = max(now, rounded(now + flow.left_bytes / (float(rate) / self.unit)))

    def count_flows(self) -> None:
        """Note the most flows at a time of every link."""
        stations = len(self.most_flows)  # links from there on are the limits of flows
        count = Counter(link for flow in self.flows for link in flow.links if link < stations)
        for link, flows in count.items():
            self.most_flows[link] = max(self.most_flows[link], flows)


class Flows(Messages):
    """Messages that occupy all stations of their routes simultaneously (see ``FairSharing``)."""

    def read_routes(self, routes: Routes) -> None:
        """Read the capacities of links as well."""
        super().read_routes(routes)
        assert routes.fair is not None
        self.fair = routes.fair
        capacity, loaded = (each.tolist() for each in link_capacities(self.plan))
        self.links = FairLinks(self.env, len(self.stations), capacity, loaded, routes.fair.unit)

    def travel(self, send: int) -> TimedProcess:
        """Flow through the stations of the route, until the last byte arrives."""
        env, fair = self.env, self.fair
        yield env.timeout_at(max(env.now, rounded(env.now + fair.delay_s[send])))
        if fair.size_bytes[send]:
            links = [number for number, _ in self.ways[self.route[send]]]
            env.events += send < len(self.plan)
            begin_s = env.now
            yield self.links.carry(
                links, int(fair.own_rate[send]), float(fair.size_bytes[send]), int(fair.weight[send])
            )
            if env.services is not None:
                env.services += [(number, send, begin_s, begin_s, env.now) for number in links]
            if fair.holds[send]:
                self.passed.pop(send).succeed()
        yield env.timeout(fair.after_s[send])
        return env.now

    def complete(self, log: Log) -> None:
        """Add what stations did for flows, which do not queue there."""
        of_others = np.zeros(len(self.stations)) if log.others_busy_s is None else log.others_busy_s
        count_flows(self.plan, log.finish_s, log.served, log.busy_s, of_others)
        np.maximum(log.longest_queue, self.links.most_flows, out=log.longest_queue)
