"""A timeline in the format of its file's name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.engine.experiment import Experiment
from simcodesign.engine.memory_estimate import check_written
from simcodesign.report.timelines.chrome_trace import write_chrome_trace
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
        check_written("timeline", len(result.timeline.rank))
    if experiment is not None and write is write_chrome_trace:
        write(result, path, page_part(result, experiment))
    else:
        write(result, path)
