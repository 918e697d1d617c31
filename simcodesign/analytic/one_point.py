"""One design point of several."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.design_point import DesignPoint


def point_at(point: DesignPoint, index: tuple[int, ...]) -> DesignPoint:
    """Return the design point at an index of the shape of several."""

    def at(value: Any) -> float:
        return float(np.broadcast_to(value, point.shape)[index])

    varying = {path: at(value) for path, value in point.machine.varying().items() if np.ndim(value)}
    capacity = varying.pop(CAPACITY, point.machine.capacity_bytes)
    machine = point.machine.with_constants(varying) if varying else point.machine
    values = {name: at(value) for name, value in point.values.items()}
    return replace(point, values=values, machine=replace(machine, capacity_bytes=capacity))
