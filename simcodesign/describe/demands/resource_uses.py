"""Execute blocks: uses of resources that the machine file defines, and what an item of a block takes of each.

Expressions of the machine file state what an item takes. They are evaluated here for both readings. Each reading
puts together from the numbers how items share instances, which uses overlap, and what comes of it in seconds and
joules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE, Demand, Evaluate
from simcodesign.describe.machine import Machine
from simcodesign.describe.resources import BASE, MOST_RESOURCES, Resource, Trait, instances_of, not_negative, trait_of


@dataclass(frozen=True)
class ResourceUse:
    """``amount`` of a ``resource`` of the machine for one item of an ``Execute``.

    With ``traits`` (and their argument) in this order. ``data`` names the data structure that the use goes ``from`` or
    ``to`` (``way``).
    """

    resource: str
    amount: Expression
    traits: tuple[tuple[str, Expression | None], ...] = ()
    data: str = ""
    way: str = ""
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True)
class Execute(Demand):
    """``parallelism`` items of each rank, spread over the instances of the resources that they use.

    Aspen's execute block (Spafford and Vetter, SC 2012).
    """

    uses: tuple[ResourceUse, ...]
    parallelism: Expression = ONE
    label: str = ""
    works_on = "processor"

    def amounts(self) -> Iterator[Expression]:
        yield self.parallelism
        for use in self.uses:
            yield use.amount
            yield from (argument for _, argument in use.traits if argument is not None)

    def data_names(self) -> Iterator[tuple[str, Place]]:
        yield from ((use.data, use.place or self.place) for use in self.uses if use.data)


@dataclass(frozen=True)
class ItemUse:
    """One use of a block: ``amount`` and ``time_s`` of an item on one of ``instances`` of a rank.

    An instance at work draws ``power_w``; an item takes ``energy_j`` in addition.
    """

    resource: str
    amount: FloatOrArray
    time_s: FloatOrArray
    instances: FloatOrArray
    power_w: FloatOrArray
    energy_j: FloatOrArray


def item_uses(demand: Execute, machine: Machine, evaluate: Evaluate) -> tuple[ItemUse, ...]:
    """Return the uses of a block on a machine, in their order.

    Raises InputError for resources and traits that the machine has not, and times that are negative or not finite.
    """
    resources = _resources_of(demand, machine)
    names = machine.names()
    with np.errstate(all="ignore"):
        instances = {title: _instances(resource, title, names) for title, resource in resources.items()}
        return tuple(
            _item_use(use, resources[use.resource], names, instances[use.resource], evaluate) for use in demand.uses
        )


def _resources_of(demand: Execute, machine: Machine) -> dict[str, Resource]:
    """Return the resources of a block by name. InputError for resources and traits that the machine has not."""
    if len({use.resource for use in demand.uses}) > MOST_RESOURCES:
        allowed = f"up to {MOST_RESOURCES}"
        raise InputError("different resources in one block", demand.place, value=len(demand.uses), allowed=allowed)
    resources: dict[str, Resource] = {}
    for use in demand.uses:
        resource = machine.custom.resource(use.resource, use.place or demand.place, machine.name)
        resources[use.resource] = resource
        for name, argument in use.traits:
            trait_of(resource, use.resource, name, argument is not None, use.place)
    return resources


def _instances(resource: Resource, title: str, names: Mapping[str, FloatOrArray]) -> tuple[FloatOrArray, FloatOrArray]:
    """Instances of a rank, and watts of one at work."""
    power, what = resource.dynamic_power, f"dynamic_power of {title}"
    power_w = 0.0 if power is None else not_negative(power, names, what, resource.place)
    return instances_of(resource, title, names), power_w


def _item_use(
    use: ResourceUse,
    resource: Resource,
    names: Mapping[str, FloatOrArray],
    instances: tuple[FloatOrArray, FloatOrArray],
    evaluate: Evaluate,
) -> ItemUse:
    """One use: every trait changes the time that those before it have left."""
    amount = evaluate(use.amount, use.resource)
    known = {**names, resource.argument: amount}
    time_s: FloatOrArray = resource.time.evaluate(known)
    for name, argument in use.traits:
        trait: Trait = resource.traits[name]
        own: dict[str, FloatOrArray] = {} if argument is None else {trait.argument: evaluate(argument, name)}
        time_s = trait.change.evaluate({**known, **own, BASE: time_s})
    _check_time(time_s, use)
    energy, what = resource.energy, f"energy of {use.resource}"
    energy_j = 0.0 if energy is None else not_negative(energy, known, what, resource.place)
    return ItemUse(use.resource, amount, time_s, *instances, energy_j)


def _check_time(time_s: FloatOrArray, use: ResourceUse) -> None:
    """InputError for seconds that are negative or not finite."""
    wrong = ~np.isfinite(time_s) | (np.asarray(time_s) < 0)
    if np.any(wrong):
        what = f"the time of {use.resource} is negative or not finite here"
        raise InputError(what, use.place, value=float(np.asarray(time_s)[wrong].flat[0]))
