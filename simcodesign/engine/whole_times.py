"""Plans by the rules of LogGOPSim in whole nanoseconds or picoseconds, if all times are, so that sums are exact.

Which of two operations gets a processor depends on whether they are ready at the same time. In seconds, 2.5 us + 1.5 us
and 4 us may differ in the last bit; in nanoseconds, as LogGOPSim counts, they do not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.engine.event_contract import Log
from simcodesign.generate.plan import Plan

#: Relative distance from a whole number within which a time is that number: its rounding errors.
ROUNDING = 1e-14
#: Units of time that are tried, by second. Seconds are what remains, for times that are no decimal numbers.
UNITS = (1e9, 1e12)
_OF_ROUTES = ("inject_s", "tail_s", "interface_s", "link_s", "after_interface_s", "latency_s")


def in_whole_units(plan: Plan) -> tuple[Plan, float]:
    """Return the Plan with its times in units of which all are whole numbers, and how many of these make a second.

    Flows that share links have times of their own, in seconds.
    """
    rules, routes = plan.loggops, plan.routes
    assert rules is not None
    assert plan.gap_s is not None
    assert plan.flight_s is not None
    if routes is not None and routes.fair is not None:
        return plan, 1.0
    every = [plan.duration_s, plan.gap_s, plan.flight_s, rules.receive_s, rules.spread_s]
    every += [] if routes is None else [getattr(routes, name) for name in _OF_ROUTES]
    every += [] if plan.background is None else [plan.background.sets_out_s]
    for per_second in UNITS:
        whole = [np.rint(time_s * per_second) for time_s in every]
        pairs = zip(whole, every, strict=True)
        if all(np.all(np.abs(some - time_s * per_second) <= ROUNDING * some) for some, time_s in pairs):
            duration, gap, flight, receive, spread, *of_routes = whole
            if routes is not None:
                of_name: dict[str, Any] = dict(zip(_OF_ROUTES, of_routes, strict=False))
                routes = replace(routes, **of_name)
            background = plan.background
            if background is not None:
                background = replace(background, sets_out_s=of_routes[-1])
            rules = replace(rules, receive_s=receive, spread_s=spread)
            plan = replace(plan, duration_s=duration, gap_s=gap, flight_s=flight, loggops=rules, routes=routes)
            return replace(plan, background=background), per_second
    return plan, 1.0


def in_seconds(log: Log, per_second: float) -> Log:
    """Return the log of a run in such units."""
    names = ("finish_s", "arrival_s", "busy_s", "wait_s", "begin_s", "taken_s", "processed_s", "others_busy_s")
    times = {name: getattr(log, name) for name in names}
    services = None if log.services is None else log.services.at_times(lambda time: time / per_second)
    return replace(
        log, services=services, **{name: time / per_second for name, time in times.items() if time is not None}
    )
