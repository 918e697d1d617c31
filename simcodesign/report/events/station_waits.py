"""Waits at stations of a simulation: the waiting rank, the rank ahead of it, begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.core.simulation_parts import Timeline
from simcodesign.core.stations.services import StationTrack
from simcodesign.report.timelines.rows import served_by


@dataclass(frozen=True)
class StationWait:
    """A wait of an operation, or of the message of a send, for a ``station``.

    Row ``op`` of the timeline, from ``requested_s`` to ``begin_s``. ``behind``: who was served there or first in line
    when it came, or empty; ``ahead``: how many there were.
    """

    op: int
    station: str
    requested_s: float
    begin_s: float
    behind: str
    ahead: int

    @property
    def words(self) -> str:
        """Station and rank ahead."""
        more = f" and {self.ahead - 1} more" if self.ahead > 1 else ""
        return f"{self.station}, behind {self.behind}{more}" if self.behind else self.station


def station_waits(timeline: Timeline) -> Iterator[StationWait]:
    """All waits at stations, station by station; none if the engine has not recorded services."""
    for track in () if timeline.services is None else timeline.services.tracks():
        yield from _waits_at(track, timeline)


def _waits_at(track: StationTrack, timeline: Timeline) -> Iterator[StationWait]:
    """Find waits: operations served before it, and not yet done when it came, are ahead."""
    free_from_s = np.maximum.accumulate(track.end_s)
    for place in np.flatnonzero((track.begin_s > track.requested_s) & (track.op < len(timeline.rank))).tolist():
        requested_s = float(track.requested_s[place])
        first = int(np.searchsorted(free_from_s, requested_s, side="right"))
        ahead = first + np.flatnonzero(track.end_s[first:place] > requested_s)
        behind = served_by(timeline, int(track.op[ahead[0]])) if len(ahead) else ""
        yield StationWait(
            int(track.op[place]), track.name, requested_s, float(track.begin_s[place]), behind, len(ahead)
        )
