"""Messages of other jobs for as long as a job runs: how long that is shows when it has run.

They are drawn before the run. If the job is not done when the last of them sets out, the run is repeated with more: the
first ones stay the same, and nothing that happens later changes what happened before, so that the answer does not
depend on how many there were.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from simcodesign.engine.event_contract import Log
from simcodesign.generate.plan import Plan

#: Messages that are drawn first. Of those that a longer run is known to need, so many times as many are drawn next.
FIRST, SPARE = 4096, 1.25


def run_with_background(
    make: Callable[[int], Plan], run: Callable[[Plan], Log], count: int = FIRST
) -> tuple[Plan, Log]:
    """The Plan that ``make`` gives for a number of messages of others, with as many of them as its run needs, and the
    log of that run. CapacityError where these are too many."""
    while True:
        plan = make(count)
        log = run(plan)
        background, end_s = plan.background, float(log.finish_s.max(initial=0.0))
        if background is None or end_s <= background.until_s:
            return plan, log
        count = max(2 * count, math.ceil(SPARE * count * end_s / background.until_s))
