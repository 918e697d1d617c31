"""Rack units, die area and price of a machine: what its components state of themselves, times their numbers.

Spafford & Vetter (Sci. Prog. 2015, article 157305) name rack space, die area and price among the costs of an abstract
machine. The public grammar of Aspen has words for power alone, so that these are ours: a component may have

    rack units [u]   die area [m2]   price [p]

each of one instance. Several of one kind in a component add up, as static powers do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcodesign.aspen.machine import AspenMachine
from simcodesign.aspen.scope import Given
from simcodesign.aspen.timing import float_or_array, read_machine_parameters
from simcodesign.aspen.tree import PART_COSTS
from simcodesign.core.units import FloatOrArray


def stated_costs(machine: AspenMachine) -> tuple[str, ...]:
    """Return the costs that any component of the machine states, in the order of ``PART_COSTS``."""
    stated = {name for element in machine.below(machine.top) for name in element.costs}
    return tuple(name for name in PART_COSTS if name in stated)


def part_costs(machine: AspenMachine, parameters: Mapping[str, Given] | None = None) -> dict[str, FloatOrArray]:
    """Return the stated costs of the whole machine: rack units, square metres, and prices in their own currency."""
    scope = machine.scope(read_machine_parameters(machine, parameters or {}))
    totals: dict[str, Any] = dict.fromkeys(stated_costs(machine), 0.0)
    with np.errstate(all="ignore"):
        counts = machine.counts(scope)
        for element in machine.below(machine.top):
            for name, values in element.costs.items():
                for value in values:
                    totals[name] = totals[name] + counts[element.name] * scope.evaluate(value)
    return {name: float_or_array(total) for name, total in totals.items()}
