"""Messages of other jobs, compiled: all of them are under way from the beginning, each asks for its first station when
it sets out; and the run ends with the job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import inlined
from simcodesign.engine.compiled.state import DONE, Array, Memory
from simcodesign.generate.plan import Plan


class Others(NamedTuple):
    """What others send, and when the job is over."""

    sets_out_s: Array  # by message; empty where there are none
    busy_s: Array  # by station: of their messages
    undone: NDArray[np.int64]  # the first operation that may not be done
    end_s: NDArray[np.float64]  # the latest end of those before it


def others_for(plan: Plan) -> Others:
    """None of them has set out."""
    background = plan.background
    sets_out_s = np.zeros(0) if background is None else background.sets_out_s
    stations = len(plan.stations) if len(sets_out_s) else 0
    return Others(sets_out_s, np.zeros(stations), np.zeros(1, np.int64), np.zeros(1))


@inlined
def is_over(others: Others, memory: Memory, now: float) -> bool:
    """Whether all operations are done before now. Each of them is looked at once."""
    op = others.undone[0]
    while op < len(memory.finish_s) and memory.missing[op] == DONE:
        others.end_s[0] = max(others.end_s[0], memory.finish_s[op])
        op += 1
    others.undone[0] = op
    return bool(op == len(memory.finish_s) and now > others.end_s[0])


@inlined
def is_over_in_loggopsim(others: Others, memory: Memory, now: float) -> bool:
    """The same by the rules of LogGOPSim, where an end is a number once it is known."""
    op = others.undone[0]
    while op < len(memory.finish_s) and not np.isnan(memory.finish_s[op]):
        others.end_s[0] = max(others.end_s[0], memory.finish_s[op])
        op += 1
    others.undone[0] = op
    return bool(op == len(memory.finish_s) and now > others.end_s[0])
