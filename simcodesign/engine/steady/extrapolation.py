"""What further iterations add to a Result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.core.result import Result


def _more(part: object, missing: int, base: object, longer: object, names: Sequence[str]) -> dict[str, Any]:
    """These arrays of a part, and what ``missing`` periods add, one of which the longer run has more."""
    return {name: getattr(part, name) + missing * (getattr(longer, name) - getattr(base, name)) for name in names}


def plus(result: Result, missing: int, base: Result, longer: Result) -> Result:
    """``result`` and what ``missing`` periods add, one of which ``longer`` has more than ``base``."""

    def grown(name: str) -> float:
        return float(getattr(result, name) + missing * (getattr(longer, name) - getattr(base, name)))

    phases = {
        name: {
            part: time + missing * (longer.phases[name][part] - base.phases[name][part]) for part, time in times.items()
        }
        for name, times in result.phases.items()
    }
    ranks, stations = result.ranks, result.stations
    if ranks is not None and base.ranks is not None and longer.ranks is not None:
        ranks = replace(ranks, **_more(ranks, missing, base.ranks, longer.ranks, ("busy_s", "waiting_s", "end_s")))
    if len(stations):
        more = _more(stations, missing, base.stations, longer.stations, ("served", "busy_s", "wait_s"))
        more["served"] = np.rint(more["served"]).astype(np.int64)
        longest = np.maximum(stations.longest_queue, longer.stations.longest_queue)
        stations = replace(stations, **more, longest_queue=longest, span_s=grown("makespan_s") or 1.0)
    return replace(
        result,
        makespan_s=grown("makespan_s"),
        phases=phases,
        messages=round(grown("messages")),
        message_bytes=grown("message_bytes"),
        disk_bytes=grown("disk_bytes"),
        flops=grown("flops"),
        instructions=grown("instructions"),
        prefetched=None if result.prefetched is None else grown("prefetched"),
        served={
            level: accesses + missing * (longer.served[level] - base.served[level])
            for level, accesses in result.served.items()
        },
        events=round(grown("events")),
        used={name: amount + missing * (longer.used[name] - base.used[name]) for name, amount in result.used.items()},
        energy_j=None if result.energy_j is None else grown("energy_j"),
        power_profile=None,
        demands=(),
        ranks=ranks,
        stations=stations,
    )
