"""The processors of a machine."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.core.units import FloatOrArray


@dataclass(frozen=True)
class Processor:
    """``rate_flop_per_s`` prices operations; ``clock_hz`` and ``cycles_per_instruction`` price instructions. A rank
    that computes draws ``dynamic_power_w``."""

    rate_flop_per_s: FloatOrArray
    clock_hz: FloatOrArray | None = None  # only a demand in instructions needs it
    cycles_per_instruction: FloatOrArray = 1.0
    dynamic_power_w: FloatOrArray | None = None
