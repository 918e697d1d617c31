"""The log of one job, out of the log of a run of several."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.engine.event_contract import Log
from simcodesign.generate.jobs.numbering import Numbering
from simcodesign.generate.plan import NONE

#: Arrays of a log with an entry for every operation, and for every station.
OF_OPERATIONS = ("finish_s", "arrival_s", "begin_s", "taken_s", "processed_s")
OF_STATIONS = ("served", "busy_s", "wait_s", "longest_queue", "blocked", "others_busy_s")


def log_of_job(log: Log, numbering: Numbering, job: int, start_s: float) -> Log:
    """Return what happened to the operations of job number ``job``, by their numbers in its own Plan.

    Times count from its start on. Stations have what all jobs did there.
    """
    operation, station = numbering.operation[job], numbering.station[job]
    own = np.full(numbering.operations, NONE, np.int32)
    own[operation] = np.arange(len(operation))
    match = log.match[operation]
    changed: dict[str, Any] = {name: getattr(log, name) for name in (*OF_OPERATIONS, *OF_STATIONS)}
    for name, values in changed.items():
        if values is not None:
            changed[name] = _since(values[operation], start_s) if name in OF_OPERATIONS else values[station]
    return replace(
        log,
        **changed,
        match=np.where(match == NONE, NONE, own[match]).astype(np.int32),
        blocked_operations=np.zeros(0, np.int64),
        services=None,
    )


def _since(times_s: NDArray[np.float64], start_s: float) -> NDArray[np.float64]:
    return times_s - start_s if start_s else times_s
