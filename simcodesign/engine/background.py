"""Messages of other jobs for as long as a job runs. A run without them shows how long that is, and how many they are.

They are drawn before the run. If the job is not done when the last of them sets out, the run is repeated with more: the
first ones stay the same, and nothing that happens later changes what happened before, so that the answer does not
depend on how many there were.

If the machine gives no size for them, it is ``USUAL_BYTES``, doubled up to ``LARGEST_BYTES`` as long as they would
have more than ``MOST_TIMES`` the events of the job, and more than ``UNNOTICED``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from simcodesign.core.units import format_quantity
from simcodesign.describe.machine_parts.background import USUAL_BYTES
from simcodesign.engine.event_contract import Log
from simcodesign.generate.passes.background import BackgroundLoad
from simcodesign.generate.plan import Plan

#: Ratio of messages drawn to messages that a run is known to need.
SPARE = 1.25
#: Ratio of background events to the job's events up to which their size is unchanged; and a number of events that takes
#: the compiled engine two seconds.
MOST_TIMES, UNNOTICED = 3.0, 1e7
LARGEST_BYTES = 2.0**20


def run_with_background(
    make: Callable[[int, float], Plan],
    run: Callable[[Plan], Log],
    load: BackgroundLoad | None,
    size_bytes: float | None = None,
) -> tuple[Plan, Log]:
    """Return the Plan that ``make`` gives with as many messages of others as its run needs, and its log.

    ``make`` takes a number of messages of others and their size. ``load``: what they send, None for nothing.
    ``size_bytes``: their size if another run has chosen it.

    Warns before the run if they are most of its cost. Raises CapacityError if they do not fit in memory.
    """
    plan = make(0, USUAL_BYTES)
    log = run(plan)
    if load is None:
        return plan, log
    end_s = float(log.finish_s.max(initial=0.0))
    if size_bytes is None:
        size_bytes = load.background.size_bytes or _size(load, end_s, log.events)
        _say_cost(load, size_bytes, end_s, log.events)
    count = max(math.ceil(SPARE * load.messages_per_s(size_bytes) * end_s), 1)
    while True:
        plan = make(count, size_bytes)
        log = run(plan)
        background, end_s = plan.background, float(log.finish_s.max(initial=0.0))
        if background is None or end_s <= background.until_s:
            return plan, log
        count = max(2 * count, math.ceil(SPARE * count * end_s / background.until_s))


def _size(load: BackgroundLoad, end_s: float, events: int) -> float:
    """Return the size of messages by the rule of this module."""
    size_bytes = USUAL_BYTES
    while size_bytes < LARGEST_BYTES and _is_long(load, size_bytes, end_s, events):
        if load.events_per_s(2 * size_bytes) > 0.75 * load.events_per_s(size_bytes):
            break  # they pass in packets, of which there are as many
        size_bytes *= 2
    return size_bytes


def _is_long(load: BackgroundLoad, size_bytes: float, end_s: float, events: int) -> bool:
    return load.events_per_s(size_bytes) * end_s > max(MOST_TIMES * events, UNNOTICED)


def _say_cost(load: BackgroundLoad, size_bytes: float, end_s: float, events: int) -> None:
    """Warn if messages of others take most of the run."""
    if not _is_long(load, size_bytes, end_s, events):
        return
    of_others = load.events_per_s(size_bytes) * end_s
    size = format_quantity(size_bytes, "size")
    count, times = load.messages_per_s(size_bytes) * end_s, of_others / max(events, 1)
    warnings.warn(
        f"background: some {count:,.0f} messages of {size} take {of_others:.2g} engine events, {times:,.0f} times "
        "as many as the job; larger ones (background.size) or fewer nodes take less",
        stacklevel=8,
    )
