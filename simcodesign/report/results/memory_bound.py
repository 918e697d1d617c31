"""Whether a program is bound by memory on its processors: the sentence, and what limits it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from simcodesign.core.result import Result
from simcodesign.core.units import format_quantity
from simcodesign.report.common.tables import paragraph

#: Limits that are no bandwidths of caches.
_WORDS = {
    "computation": "computation",
    "latency": "latencies of caches and memory",
    "memory": "the bandwidth of memory",
    "sockets": "the bandwidth between sockets",
}
#: Limits of a smaller fraction of the time are left out.
_LEAST = 0.005


def memory_bound_line(result: Result) -> list[RenderableType]:
    """Return the sentence; nothing for a program that does not use caches or memory."""
    total_s = float(sum(result.processor_limits_s.values()))
    return [paragraph(" ".join(_sentences(result, total_s)))] if total_s else []


def _sentences(result: Result, total_s: float) -> Iterator[str]:
    ordered = sorted(result.processor_limits_s.items(), key=lambda one: -float(one[1]))
    parts = [
        f"{_WORDS.get(name, f'the bandwidth of {name}')} {float(time_s) / total_s:.1%}"
        for name, time_s in ordered
        if float(time_s) >= _LEAST * total_s
    ]
    verdict = "Memory bound" if result.memory_bound else "Bound by computation, not memory"
    yield f"{verdict}: what limits the time of each rank on its processor is {', '.join(parts)}."
    busy_s, ranks = result.controller_busy_s, result.controller_ranks
    if busy_s is None or ranks is None or ranks < 2:
        return
    alone_s = float(result.components["computation"] + result.components["memory"])
    shared = f"The {ranks} ranks of a memory controller keep it busy for {format_quantity(busy_s, 'time')}"
    if busy_s > alone_s:
        yield f"{shared}, {busy_s / alone_s:.3g} times as long as each takes alone: it limits them (effect memory)."
    else:
        yield f"{shared}, {busy_s / alone_s:.1%} of what each takes alone: it does not limit them."
