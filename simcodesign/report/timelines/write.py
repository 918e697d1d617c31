"""Write a timeline as a Chrome trace, after checks of what it records and how much memory it takes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from simcodesign.core.operation_kinds import SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.engine.memory_estimate import MESSAGE_TEXT, SERVICE, TEXT, check_written
from simcodesign.report.timelines.chrome_trace import CHUNK, write_chrome_trace


def write_timeline(result: Result, path: str | Path) -> None:
    """Write what every rank and every station did. Raises InputError as ``write_chrome_trace`` does."""
    if result.timeline is not None:
        if result.timeline.services is None:
            warnings.warn(
                "the timeline has ranks alone: services of links, disks and other stations are recorded by the engine "
                "simpy",
                stacklevel=2,
            )
        _check_memory(result.timeline)
    write_chrome_trace(result, path)


def _check_memory(timeline: Timeline) -> None:
    """Raise CapacityError if the events of the largest part that is text at a time do not fit.

    An event for each operation and wait, two for each message.
    """
    operations, services = len(timeline.rank), 0 if timeline.services is None else len(timeline.services)
    waits = int(np.count_nonzero(timeline.start_s > timeline.ready_s))
    sends = int(np.count_nonzero((timeline.kind == SEND) & (timeline.match >= 0)))
    first = min(operations, CHUNK)
    texts = max(first + waits * first // max(operations, 1), min(3 * services, CHUNK))
    messages = 2 * min(sends, CHUNK)
    in_part = (messages, MESSAGE_TEXT) if messages * MESSAGE_TEXT > texts * TEXT else (texts, TEXT)
    check_written("timeline", operations, *in_part, fixed=services * SERVICE)
