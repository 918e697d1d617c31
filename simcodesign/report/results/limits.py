"""Tables of the limits of the time on accelerators and processors, and whether a program is memory bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.common.tables import new_table, paragraph

#: Limits of kernels and copies, in words.
LIMIT_WORDS = {
    "flops": "flops: the rate of the accelerator",
    "memory": "memory: the bandwidth of its memory",
    "launch": "launch: the processor, which starts kernels",
    "link": "link: between host and accelerator",
}
#: Titles of the tables.
KERNELS, PROCESSORS = "Kernels and copies", "Processors"
#: Limits of processors that are no bandwidths of caches.
_WORDS = {
    "computation": "computation",
    "latency": "latencies of caches and memory",
    "memory": "the bandwidth of memory",
    "sockets": "the bandwidth between sockets",
}
#: Limits of a smaller fraction of the time are left out.
_LEAST = 0.005


def limits_table(result: Result) -> list[RenderableType]:
    """Return the limits of the time on accelerators, in the mean of all ranks; nothing if they are not used."""
    return _of_one(KERNELS, result.limits_of_a_rank_s)


def processor_limits_table(result: Result) -> list[RenderableType]:
    """Return the limits of the time on processors, in the mean of all ranks; nothing if memory is not used."""
    return _of_one(PROCESSORS, result.processor_limits_of_a_rank_s)


def _of_one(what: str, times_s: Mapping[str, FloatOrArray]) -> list[RenderableType]:
    times = {name: float(time_s) for name, time_s in times_s.items() if float(time_s)}
    if not times:
        return []
    show = Seconds([*times.values()])
    table = new_table(f"{what}, mean of the ranks ({show.unit})", "limited by", "time", "fraction")
    for name, time_s in sorted(times.items(), key=lambda one: -one[1]):
        table.add_row(words_of_limit(what, name), show(time_s), f"{time_s / sum(times.values()):.1%}")
    return [table]


def words_of_limit(what: str, name: str) -> str:
    """Return a limit of ``KERNELS`` or ``PROCESSORS`` in words."""
    return LIMIT_WORDS[name] if what == KERNELS else _WORDS.get(name, f"the bandwidth of {name}")


def memory_bound_line(result: Result) -> list[RenderableType]:
    """Return the sentence; nothing for a program that does not use caches or memory."""
    total_s = float(sum(result.processor_limits_s.values()))
    return [paragraph(" ".join(_sentences(result, total_s)))] if total_s else []


def _sentences(result: Result, total_s: float) -> Iterator[str]:
    ordered = sorted(result.processor_limits_s.items(), key=lambda one: -float(one[1]))
    parts = [
        f"{words_of_limit(PROCESSORS, name)} {float(time_s) / total_s:.1%}"
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
