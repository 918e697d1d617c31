"""The rooflines of a machine: operations per second over operations per byte, of its processors and accelerators.

S. Williams, A. Waterman, D. Patterson, Roofline (CACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import format_quantity
from simcodesign.describe.machine import Machine
from simcodesign.report.common import plot_style

#: How far the axis goes beyond the ridge points.
BEYOND = 30.0


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

    def at(self, flops_per_byte: float) -> float:
        """The operations per second that it reaches."""
        return min(self.rate_flop_per_s, flops_per_byte * self.byte_per_s)


def roofs(machine: Machine) -> Iterator[Roof]:
    """Yield the roofs of one accelerator in each number format, with its efficiency if that is a number; the roofs of
    one processor that has the memory of its node for itself, that finds its data in each cache with a bandwidth or at
    another socket, and that has its part of the memory; and the roof of all processors of a node."""
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
    """Draw the rooflines of a machine. Raises InputError for a machine that states no bandwidth of a memory, or has
    partitions, a path that cannot be written, and without Matplotlib."""
    every = [] if machine.partitions else [*roofs(machine)]
    if not every:
        allowed = "a machine without partitions, with memory.bandwidth or accelerator.memory.bandwidth"
        raise InputError("there is no roofline", value=machine.name, allowed=allowed)
    ridges = [roof.ridge for roof in every]
    low, high = min(ridges) / BEYOND, max(ridges) * BEYOND
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 7.5, 4.8)
        plot_style.set_title(figure, f"{machine.name}: rooflines")
        axis = figure.subplots()
        colours = plot_style.phase_colours(mpl, len(every))
        looks = {}
        for roof, colour in zip(every, colours, strict=True):
            points = np.array([low, roof.ridge, high])
            axis.plot(points, [roof.at(point) for point in points], color=colour)
            looks[f"{roof.name}: {format_quantity(roof.rate_flop_per_s, 'rate')}"] = {"color": colour, "linestyle": "-"}
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(low, high)
        axis.set_xlabel("operations per byte")
        axis.set_ylabel("operations per second")
        plot_style.log_ticks(mpl, axis.xaxis)
        plot_style.log_ticks(mpl, axis.yaxis, lambda value: format_quantity(value, "rate"))
        plot_style.legend(mpl, figure, looks)
        plot_style.save(figure, path)
