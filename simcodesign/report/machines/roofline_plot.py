"""The rooflines of a machine: operations per second over operations per byte, of its processors and accelerators.

Kernels of a workload are points below them.

S. Williams, A. Waterman, D. Patterson, Roofline (CACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.analytic.roofline_points import RooflinePoint
from simcodesign.core.errors import InputError
from simcodesign.core.units import format_quantity
from simcodesign.describe.machine import Machine
from simcodesign.report.common import plot_style

#: How far the axis goes beyond the ridge points.
BEYOND = 30.0
#: The points that are drawn, and their number.
BEYOND_POINTS, MOST_POINTS = 4.0, 12
#: Looks of points, and points whose coordinates differ by less than this factor have one number together.
MARKERS, NEAR = "os^Dv<>PX*ph", 1.6
#: Work of a workload: the number format of its accelerator, or ``processor``; its name; its seconds.
Work = tuple[str, str, float]


@dataclass(frozen=True)
class Roof:
    """What does ``rate_flop_per_s`` at most, over a memory of ``byte_per_s``."""

    name: str
    rate_flop_per_s: float
    byte_per_s: float

    @property
    def ridge(self) -> float:
        """Operations per byte from which on the rate limits it."""
        return self.rate_flop_per_s / self.byte_per_s

    def has(self, roof: str) -> bool:
        """Return whether this is the roof of a point."""
        return roof == self.name or roof in self.name.split(" and ")

    def of(self, used: Set[str]) -> bool:
        """Return whether it is of one of these number formats, of accelerators without one, or of one processor."""
        words = self.name.partition(" reached")[0].split(" and ")
        return (self.name.startswith("processor") and "processor" in used) or not used.isdisjoint(words)

    def at(self, flops_per_byte: float) -> float:
        """Return the operations per second that it reaches."""
        return min(self.rate_flop_per_s, flops_per_byte * self.byte_per_s)


def roofs(machine: Machine) -> Iterator[Roof]:
    """Yield the roofs of one accelerator in each number format, with its efficiencies if these are numbers.

    The roofs of one processor that has the memory of its node for itself, that finds its data in each cache with a
    bandwidth or at another socket, and that has its part of the memory; and the roof of all processors of a node.
    """
    one = machine.accelerator
    if one is not None and one.memory_per_byte_s is not None:
        byte_per_s = 1 / float(one.memory_per_byte_s)
        if one.rate_flop_per_s is not None:
            yield Roof("accelerator", float(one.rate_flop_per_s), byte_per_s)
        by_rate: dict[float, list[str]] = {}
        for name, rate in one.rates.stated().items():
            by_rate.setdefault(float(rate), []).append(name)
        for rate, names in by_rate.items():
            yield Roof(" and ".join(names), rate, byte_per_s)
            if one.efficiency != 1:
                yield Roof(f"{' and '.join(names)} reached", rate * float(one.efficiency), byte_per_s)
            if one.attention_efficiency is not None and one.attention_efficiency_by_shape is None:
                reached = rate * float(one.attention_efficiency)
                yield Roof(f"{' and '.join(names)} reached by attention", reached, byte_per_s)
    if machine.memory is not None:
        rate, byte_per_s = float(machine.processor.rate_flop_per_s), 1 / float(machine.memory.per_byte_s)
        yield Roof("processor", rate, byte_per_s)
        for cache in machine.memory.caches:
            if cache.per_byte_s is not None:
                yield Roof(f"processor, from {cache.name}", rate, 1 / float(cache.per_byte_s))
        if (remote := machine.memory.remote) is not None and remote.per_byte_s is not None:
            between = max(float(remote.per_byte_s), float(machine.memory.per_byte_s))
            yield Roof("processor, memory of another socket", rate, 1 / between)
        if (each := machine.processors_per_node) > 1:
            whole = machine.memory.controllers * byte_per_s
            yield Roof(f"processor, {each} share the memory", rate, whole / each)
            yield Roof(f"node of {each} processors", each * rate, whole)


def roofline_plot(machine: Machine, path: str | Path) -> None:
    """Draw the rooflines of a machine.

    Raises InputError for a machine that states no bandwidth of a memory, or has partitions, a path that cannot be
    written, and without Matplotlib.
    """
    _draw(path, f"{machine.name}: rooflines", _stated_roofs(machine), [], [])


def workload_roofline_plot(machine: Machine, path: str | Path, points: Sequence[RooflinePoint], title: str) -> None:
    """Draw the points of a workload that take longest, and the roofs that they are below.

    Each with its fraction of the time. Raises InputError as ``roofline_plot`` does, and without points.
    """
    if not points:
        what = "no kernel or phase of this workload has both operations and bytes"
        raise InputError(what, allowed="a kernel with flops and bytes or a shape; compute and memory in a phase")
    every = _stated_roofs(machine)
    works = sorted({_work(one) for one in points}, key=lambda work: -work[2])[:MOST_POINTS]
    used = {unit for unit, *_ in works}
    _draw(path, title, [roof for roof in every if roof.of(used)], points, works)


def _stated_roofs(machine: Machine) -> list[Roof]:
    every = [] if machine.partitions else [*roofs(machine)]
    if not every:
        allowed = "a machine without partitions, with memory.bandwidth or accelerator.memory.bandwidth"
        raise InputError("there is no roofline", value=machine.name, allowed=allowed)
    return every


def _work(point: RooflinePoint) -> Work:
    """Return the work that a point belongs to. Work of processors has a point for each memory and cache."""
    return "processor" if point.roof.startswith("processor") else point.roof, point.name, point.time_s


def _draw(
    path: str | Path, title: str, every: Sequence[Roof], points: Sequence[RooflinePoint], works: Sequence[Work]
) -> None:
    """Draw roofs, and the points of some works."""
    total_s = sum(time_s for _, _, time_s in {_work(point) for point in points})
    points = [point for point in points if _work(point) in works]
    ridges, places = [roof.ridge for roof in every], [point.flops_per_byte for point in points]
    low = min([*(ridge / BEYOND for ridge in ridges), *(place / BEYOND_POINTS for place in places)])
    high = max([*(ridge * BEYOND for ridge in ridges), *(place * BEYOND_POINTS for place in places)])
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 7.5, 4.8)
        plot_style.set_title(figure, title)
        axis = figure.subplots()
        colours = plot_style.phase_colours(mpl, len(every))
        looks: dict[str, dict[str, Any]] = {}
        for roof, colour in zip(every, colours, strict=True):
            bend = np.array([low, roof.ridge, high])
            axis.plot(bend, [roof.at(point) for point in bend], color=colour, zorder=1)
            looks[f"{roof.name}: {format_quantity(roof.rate_flop_per_s, 'rate')}"] = {"color": colour, "linestyle": "-"}
        _draw_points(axis, points, works, dict(zip(every, colours, strict=True)))
        looks |= {
            f"{number}: {name} ({time_s / total_s:.0%})": {**_marker(number), "color": "white"}
            for number, (_, name, time_s) in enumerate(works, start=1)
        }
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(low, high)
        axis.set_xlabel("operations per byte")
        axis.set_ylabel("operations per second")
        plot_style.log_ticks(mpl, axis.xaxis)
        plot_style.log_ticks(mpl, axis.yaxis, lambda value: format_quantity(value, "rate"))
        plot_style.legend(mpl, figure, looks, most=len(looks))
        plot_style.save(figure, path)


def _draw_points(
    axis: Any, points: Sequence[RooflinePoint], works: Sequence[Work], colours: Mapping[Roof, Any]
) -> None:
    """Draw the points in the colours of their roofs, with the numbers of their works."""
    numbers = {work: number for number, work in enumerate(works, start=1)}
    for point in points:
        colour = next(colour for roof, colour in colours.items() if roof.has(point.roof))
        axis.plot(point.flops_per_byte, point.flop_per_s, color=colour, zorder=3, **_marker(numbers[_work(point)]))
    for together in _near(points):
        text = ", ".join(map(str, sorted({numbers[_work(point)] for point in together})))
        place = together[0].flops_per_byte, min(point.flop_per_s for point in together)
        axis.annotate(text, place, (0, -7), textcoords="offset points", ha="center", va="top", fontsize=8)


def _marker(number: int) -> dict[str, Any]:
    return {"marker": MARKERS[(number - 1) % len(MARKERS)], "linestyle": "none", "markeredgecolor": "black"}


def _near(points: Sequence[RooflinePoint]) -> list[list[RooflinePoint]]:
    """Put points together that are so near to each other that their numbers would overlap."""
    groups: list[list[RooflinePoint]] = []
    for point in sorted(points, key=lambda one: (one.flops_per_byte, one.flop_per_s)):
        for group in groups:
            ratios = point.flops_per_byte / group[-1].flops_per_byte, point.flop_per_s / group[-1].flop_per_s
            if all(1 / NEAR < ratio < NEAR for ratio in ratios):
                group.append(point)
                break
        else:
            groups.append([point])
    return groups
