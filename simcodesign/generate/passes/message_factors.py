"""Factors on the times of messages, if these vary at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcodesign.core.errors import Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.generate.plan import NONE, Floats, Int64s, LogGOPS, Routes

#: Bytes that a message with a row of its own takes in the table of costs.
BYTES_PER_MESSAGE = 48


@dataclass(frozen=True)
class MessageFactors:
    """Factors of all sends of a Plan, in their order."""

    sends: Int64s
    factor: Floats

    def on_the_way(self, routes: Routes) -> Routes:
        """Return the routes with a row of costs for each message, times its factor.

        Messages of others, with the numbers after all operations, have none.
        """
        is_far = routes.route != NONE
        far = is_far[self.sends]
        is_far[self.sends] = False
        others = np.flatnonzero(is_far)
        sends = np.concatenate([self.sends[far], others])
        factor = np.concatenate([self.factor[far], np.ones(len(others))])
        check_memory(f"the costs of {len(sends):.3g} messages take", BYTES_PER_MESSAGE * float(len(sends)), Place())
        row, cost = routes.cost[sends], np.zeros_like(routes.cost)
        cost[sends] = np.arange(len(sends))
        names = ("inject_s", "tail_s", "interface_s", "link_s", "after_interface_s", "latency_s")
        # Transposed, since there may be a column for each group of links.
        times: dict[str, Any] = {name: (getattr(routes, name)[row].T * factor).T for name in names}
        return replace(routes, cost=cost, **times)

    def in_loggops(self, rules: LogGOPS) -> LogGOPS:
        """Return the rules with the factor of each message at the receiver, too."""
        times: dict[str, Any] = {name: getattr(rules, name).copy() for name in ("receive_s", "spread_s")}
        for seconds in times.values():
            seconds[self.sends] *= self.factor
        return replace(rules, **times)
