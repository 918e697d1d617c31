"""An effect as another package would bring it: every third link takes twice as long for everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Effect, register
from simcodesign.generate.plan import LINK, Plan


def slowed(plan: Plan, point: DesignPoint, seed: int) -> Plan:
    """The Plan in which links 2, 5, 8, ... need twice the time to serve a message."""
    slow = (plan.stations.kind == LINK) & (plan.stations.unit % 3 == 2)
    return replace(plan, stations=replace(plan.stations, service_factor=np.where(slow, 2.0, 1.0)))


SLOW_LINKS = Effect(
    "slow_links",
    words="slow links (slow_links)",
    adds="every third link takes twice as long",
    implies=("links",),
    changes_work=True,
    change_plan=slowed,
)

register(SLOW_LINKS, before="caches")
