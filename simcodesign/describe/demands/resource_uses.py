"""Execute blocks with every resource and trait that they name found on the machine, and the numbers of an item.

What an item takes is said by expressions of the machine file. Each reading evaluates them itself, and puts together
from the numbers how items share instances, which uses overlap, and what comes of it in seconds and joules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import MOST_RESOURCES, Resource, Trait, trait_of
from simcodesign.describe.workload import Execute, Use

Evaluate = Callable[[Expression, str], FloatOrArray]


@dataclass(frozen=True)
class ItemUse:
    """One use of a block: ``amount`` and ``time_s`` of an item on one of ``instances`` of a rank. An instance at work
    draws ``power_w``; ``energy_j`` is what an item takes besides."""

    resource: str
    amount: FloatOrArray
    time_s: FloatOrArray
    instances: FloatOrArray
    power_w: FloatOrArray
    energy_j: FloatOrArray


@dataclass(frozen=True)
class FoundUse:
    """A use, its resource, and its traits in their order: name, change, and argument where it has one."""

    use: Use
    resource: Resource
    traits: tuple[tuple[str, Trait, Expression | None], ...]

    @property
    def title(self) -> str:
        """Name of the resource."""
        return self.use.resource


def found_uses(step: Execute, machine: Machine) -> tuple[FoundUse, ...]:
    """The uses of a block, in their order. InputError for resources and traits that the machine has not."""
    if len({use.resource for use in step.uses}) > MOST_RESOURCES:
        raise InputError(
            "different resources in one block", step.place, value=len(step.uses), allowed=f"up to {MOST_RESOURCES}"
        )
    found = []
    for use in step.uses:
        resource = machine.custom.resource(use.resource, use.place or step.place, machine.name)
        traits = tuple(
            (name, trait_of(resource, use.resource, name, argument is not None, use.place), argument)
            for name, argument in use.traits
        )
        found.append(FoundUse(use, resource, traits))
    return tuple(found)


def check_time(time_s: FloatOrArray, title: str, place: Place) -> None:
    """InputError for seconds that are negative or not finite."""
    wrong = ~np.isfinite(time_s) | (np.asarray(time_s) < 0)
    if np.any(wrong):
        what = f"the time of {title} is negative or not finite here"
        raise InputError(what, place, value=float(np.asarray(time_s)[wrong].flat[0]))
