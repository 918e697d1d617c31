"""Limits of the time on processors that use caches and memory, and how busy the cores keep a memory controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.machine import Machine

#: Groups of counts of a forecast: seconds by limit, and seconds for which the bytes of ranks occupy controllers.
LIMITS, CONTROLLERS = "processor limits", "controllers"
#: The group of seconds of kernels and copies by limit.
KERNEL_LIMITS = "limits"
#: So many ranks are placed to find the fullest memory controller.
MOST_PLACED = 1_000_000


def on_processors(counts: Mapping[str, Mapping[str, FloatOrArray]], point: DesignPoint, alike: bool) -> dict[str, Any]:
    """Return the fields of a ``Result`` on what limits processors, by the ``counts`` of all ranks.

    Empty for a program that does not use caches or memory. ``alike``: whether all ranks do the same, so that the
    fullest controller has the bytes of its number of ranks.
    """
    if counts.get(LIMITS, {}).keys() <= {"computation"}:
        return {}
    limits = {name: time_s for name, time_s in counts[LIMITS].items() if np.any(time_s)}
    if CONTROLLERS not in counts or point.shape or not alike or point.ranks > MOST_PLACED:
        return {"processor_limits_s": limits}
    most = ranks_of_fullest_controller(point.machine, point.ranks)
    busy_s = float(counts[CONTROLLERS]["memory"]) / point.ranks * most
    return {"processor_limits_s": limits, "controller_busy_s": busy_s, "controller_ranks": most}


def name_in_phase(group: str, name: str) -> str:
    """Return what limits a phase, by a count of it; nothing for counts of other things."""
    return {LIMITS: name, KERNEL_LIMITS: f"accelerator {name}"}.get(group, "")


def ranks_of_fullest_controller(machine: Machine, ranks: int) -> int:
    """Return how many of ``ranks`` ranks are at the memory controller that has the most of them."""
    controller = machine.node_of(ranks)
    if machine.memory is not None and machine.memory.controllers > 1:
        controller = controller * machine.sockets_per_node + machine.socket_of(ranks)
    return int(np.unique(controller, return_counts=True)[1].max())
