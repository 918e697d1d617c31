"""The rung before the forecast: what kernels take longer than at the full rates of their accelerators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.attribution import LadderStep, steps_to
from simcodesign.core.result import Result
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.scenario import Scenario

#: The steps of this ladder: the forecast with kernels at their roofline, and what their efficiency adds.
ROOFLINE, EFFICIENCY = "roofline of kernels", "efficiency of kernels"
#: The constants that the first one has as 1.
EFFICIENCIES = "accelerator.efficiency", "accelerator.attention_efficiency"


def roofline_ladder(point: DesignPoint, forecasted: Result) -> tuple[LadderStep, ...]:
    """Return the step from closed forms with all kernels at the full rates to ``forecasted``, at one design point.

    None if the machine states no efficiency of kernels, or if it changes nothing.
    """
    accelerator = point.machine.accelerator
    if accelerator is None or not _states_an_efficiency(accelerator):
        return ()
    parameters = {name: point.values[name] for name in {"P", *point.workload.parameters}}
    at_peak = forecast(Scenario(point.workload, at_full_rates(point.machine), parameters), longest_path=False)
    steps = steps_to(float(at_peak.headline_s), {EFFICIENCY: float(forecasted.headline_s)}, None)
    return steps if any(step.change_s for step in steps) else ()


def _states_an_efficiency(one: Accelerator) -> bool:
    """Return whether kernels, or only kernels of attention, may be below the full rates."""
    tables = one.efficiency_by_shape, one.attention_efficiency_by_shape
    numbers = one.efficiency, one.attention_efficiency
    return tables != (None, None) or any(np.any(np.not_equal(it, 1)) for it in numbers if it is not None)


def at_full_rates(machine: Machine) -> Machine:
    """Return the machine with kernels that reach the full rates of its accelerators, in all partitions."""
    assert machine.accelerator is not None
    numbers = replace(machine.accelerator, efficiency_by_shape=None, attention_efficiency_by_shape=None)
    alike = replace(machine, accelerator=numbers)
    return alike.with_constants(alike.on_all_nodes(dict.fromkeys(EFFICIENCIES, 1.0)))
