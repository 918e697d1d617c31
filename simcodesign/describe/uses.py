"""Execute blocks with every name given its value: what one item takes on one instance of each resource.

Both readings take these numbers, as they take the constants of a machine; how items share instances, which uses
overlap, and what comes of it in seconds and joules is their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import BASE, MOST_RESOURCES, Resource, instances_of, not_negative, trait_of
from simcodesign.describe.workload import Execute, Use
from simcodesign.errors import InputError
from simcodesign.expression import Expression
from simcodesign.units import Amount

Evaluate = Callable[[Expression, str], Amount]


@dataclass(frozen=True)
class ItemUse:
    """One use of a block: ``amount`` and ``time_s`` of an item on one of ``instances`` of a rank. An instance at work
    draws ``power_w``; ``energy_j`` is what an item takes besides."""

    resource: str
    amount: Amount
    time_s: Amount
    instances: Amount
    power_w: Amount
    energy_j: Amount


def item_uses(step: Execute, machine: Machine, value: Evaluate) -> tuple[ItemUse, ...]:
    """The uses of a block on a machine, in their order. ``value`` evaluates an expression and names it in errors.

    Raises InputError for resources and traits that the machine has not, and times that are negative or not finite.
    """
    if len({use.resource for use in step.uses}) > MOST_RESOURCES:
        raise InputError(
            "different resources in one block", step.place, value=len(step.uses), allowed=f"up to {MOST_RESOURCES}"
        )
    found = [machine.custom.resource(use.resource, use.place or step.place, machine.name) for use in step.uses]
    names = machine.names()
    return tuple(_item_use(use, resource, names, value) for use, resource in zip(step.uses, found, strict=True))


def _item_use(use: Use, resource: Resource, names: dict[str, Amount], value: Evaluate) -> ItemUse:
    title, amount = use.resource, value(use.amount, use.resource)
    here = {**names, resource.argument: amount}
    with np.errstate(all="ignore"):
        time_s = resource.time.evaluate(here)
        for name, argument in use.traits:
            trait = trait_of(resource, title, name, argument is not None, use.place)
            inner = here if argument is None else {**here, trait.argument: value(argument, name)}
            time_s = trait.change.evaluate({**inner, BASE: time_s})
    wrong = ~np.isfinite(time_s) | (np.asarray(time_s) < 0)
    if np.any(wrong):
        what = f"the time of {title} is negative or not finite here"
        raise InputError(what, use.place, value=float(np.asarray(time_s)[wrong].flat[0]))
    power, energy = resource.dynamic_power, resource.energy
    return ItemUse(
        title,
        amount,
        time_s,
        instances_of(resource, title, names),
        0.0 if power is None else not_negative(power, names, f"dynamic_power of {title}", resource.place),
        0.0 if energy is None else not_negative(energy, here, f"energy of {title}", resource.place),
    )
