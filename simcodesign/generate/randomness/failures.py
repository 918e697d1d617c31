"""When nodes fail: sampled ahead, whatever is simulated."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from simcodesign.describe.design_point import DesignPoint
from simcodesign.generate.randomness.random_streams import random_factors, stream

#: Random numbers that are sampled at a time.
AT_ONCE = 1024


def failure_times_s(design_point: DesignPoint, seed: int) -> Iterator[float]:
    """Yield the times at which nodes that the ranks run on fail, ascending, without end; nothing if they never do.

    A node that has failed is immediately as good as new.
    """
    failures = design_point.machine.failures
    if failures is None:
        return
    generator, mtbf_s = stream(seed, "failures"), float(failures.mtbf_s)
    nodes = len(np.unique(design_point.machine.node_of(design_point.ranks)))
    next_s = (mtbf_s * random_factors(failures.distribution, generator, nodes)).tolist()
    heapq.heapify(next_s)
    while True:
        for time_s in (mtbf_s * random_factors(failures.distribution, generator, AT_ONCE)).tolist():
            yield next_s[0]
            heapq.heapreplace(next_s, next_s[0] + time_s)
