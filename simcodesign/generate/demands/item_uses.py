"""What one item of an execute block takes on one instance of each resource, for the simulation."""

from __future__ import annotations

import functools

import numpy as np

from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.resource_uses import Evaluate, FoundUse, ItemUse, check_time, found_uses
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import BASE, instances_of, not_negative
from simcodesign.describe.workload import Execute

Names = dict[str, FloatOrArray]


def item_uses(step: Execute, machine: Machine, value: Evaluate) -> tuple[ItemUse, ...]:
    """The uses of a block on a machine, in their order. ``value`` evaluates an expression and names it in errors.

    Raises InputError for resources and traits that the machine has not, and times that are negative or not finite.
    """
    names = machine.names()
    return tuple(_drawn_up(found, names, value) for found in found_uses(step, machine))


def _drawn_up(found: FoundUse, names: Names, value: Evaluate) -> ItemUse:
    """One use: every trait changes what those before it have left."""
    amount = value(found.use.amount, found.title)
    known: Names = {**names, found.resource.argument: amount}

    def changed(base: FloatOrArray, one: tuple[str, Expression, str, Expression | None]) -> FloatOrArray:
        name, change, argument, given = one
        own: Names = {} if given is None else {argument: value(given, name)}
        return change.evaluate({**known, **own, BASE: base})

    steps = [(name, trait.change, trait.argument, given) for name, trait, given in found.traits]
    with np.errstate(all="ignore"):
        time_s = functools.reduce(changed, steps, found.resource.time.evaluate(known))
    check_time(time_s, found.title, found.use.place)

    def quantity(expression: Expression | None, key: str, where: Names) -> FloatOrArray:
        return 0.0 if expression is None else not_negative(expression, where, key, found.resource.place)

    return ItemUse(
        resource=found.title,
        amount=amount,
        time_s=time_s,
        instances=instances_of(found.resource, found.title, names),
        power_w=quantity(found.resource.dynamic_power, f"dynamic_power of {found.title}", names),
        energy_j=quantity(found.resource.energy, f"energy of {found.title}", known),
    )
