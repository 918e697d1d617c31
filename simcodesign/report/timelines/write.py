"""A timeline in the format of its file's name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.memory_estimate import KEPT, MESSAGE_TEXT, TEXT, check_written
from simcodesign.report.timelines.chrome_trace import CHUNK, write_chrome_trace
from simcodesign.report.timelines.otf2_archive import write_otf2
from simcodesign.report.timelines.page import page_part
from simcodesign.report.timelines.paje import write_paje

#: By suffix, as ``--timeline`` takes it.
WRITERS: dict[str, Callable[..., None]] = {
    ".json": write_chrome_trace,
    ".gz": write_chrome_trace,
    ".paje": write_paje,
    ".trace": write_paje,
    ".otf2": write_otf2,
}


def write_timeline(result: Result, path: str | Path, experiment: Experiment | None = None) -> None:
    """Write what every rank and every station did; of an ``experiment``, a Chrome trace also has what a page of the run
    needs (``timelines.page``). Raises InputError as the writers do, and for another suffix."""
    write = WRITERS.get(Path(path).suffix.lower())
    if write is None:
        raise InputError("format of a timeline", value=str(path), allowed=f"names that end in {', '.join(WRITERS)}")
    if result.timeline is not None and result.timeline.services is None:
        warnings.warn(
            "the timeline has ranks alone: whom links, disks and other stations serve is recorded by the engine simpy",
            stacklevel=2,
        )
    if result.timeline is not None:
        _check_memory(result.timeline, kept=write is not write_chrome_trace)
    if experiment is not None and write is write_chrome_trace:
        write(result, path, page_part(result, experiment))
    else:
        write(result, path)


def _check_memory(timeline: Timeline, kept: bool) -> None:
    """Raise CapacityError if the events do not fit: all if they are ``kept`` until they are sorted, otherwise those of
    the largest part that is text at a time (an event for each operation and wait, two for each message)."""
    operations, services = len(timeline.rank), 0 if timeline.services is None else len(timeline.services)
    waits = int(np.count_nonzero(timeline.start_s > timeline.ready_s))
    sends = int(np.count_nonzero((timeline.kind == SEND) & (timeline.match >= 0)))
    if kept:
        check_written("timeline", operations, operations + waits + sends + services, KEPT)
        return
    in_part = min(operations, CHUNK)
    texts = max(in_part + waits * in_part // max(operations, 1), min(3 * services, CHUNK))
    if 2 * min(sends, CHUNK) * MESSAGE_TEXT > texts * TEXT:
        check_written("timeline", operations, 2 * min(sends, CHUNK), MESSAGE_TEXT)
    else:
        check_written("timeline", operations, texts, TEXT)
