"""Power and energy of an application on a machine (Spafford & Vetter, Sci. Prog. 2015, article 157305).

    P_max = sum of the static powers of all components + max over kernels of the dynamic powers of what they use
    E     = P_static T + sum over the uses of resources of busy time x dynamic power

A component specifies a dynamic power: the power of one instance while one of its resources is used. If a component
specifies several, each applies to the resources written between it and the previous one. Resources that
exclude each other never draw power at the same time: of them the largest counts.

An expression that mentions the argument of a resource (``[bytes * joules_per_byte]``) is the energy of one use,
in joules. A component without such an expression of its own uses the expression of the enclosing component: so a
machine defines the energy of a byte on its interconnect.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.aspen.machine import AspenMachine, Element, LocatedResource, linked_by_conflicts
from simcodesign.aspen.scope import Given, Scope
from simcodesign.aspen.timing import BlockTime, Timing, UseTime, float_or_array, read_machine_parameters
from simcodesign.core.expressions.expression import Expression, Value
from simcodesign.core.units import FloatOrArray

ZERO = np.float64(0.0)


@dataclass(frozen=True)
class EnergyUse:
    """The dynamic energy of one use of a resource over the whole run."""

    kernel: str
    resource: str
    component: str
    energy_j: FloatOrArray


def static_power_w(machine: AspenMachine, parameters: Mapping[str, Given] | None = None) -> FloatOrArray:
    """Return the static power of all components of a machine."""
    scope = machine.scope(read_machine_parameters(machine, parameters or {}))
    with np.errstate(all="ignore"):
        return float_or_array(_static_w(machine, scope))


def machine_max_power_w(machine: AspenMachine, parameters: Mapping[str, Given] | None = None) -> FloatOrArray:
    """Without an application: static power, and dynamic power of all that may be used at the same time."""
    scope = machine.scope(read_machine_parameters(machine, parameters or {}))
    with np.errstate(all="ignore"):
        counts = machine.counts(scope)
        total = _static_w(machine, scope)
        in_sockets: set[str] = set()
        for socket in machine.sockets:
            inside = list(machine.below(machine.elements[socket]))
            in_sockets |= {element.name for element in inside}
            total = total + _all_at_once_w(inside, counts, scope)
        outside = [element for element in machine.below(machine.top) if element.name not in in_sockets]
        return float_or_array(total + _all_at_once_w(outside, counts, scope))


def max_power_w(timing: Timing) -> FloatOrArray:
    """P_max: static power of the machine and dynamic power of the kernel that draws most, in watts.

    A use whose energy is given per use counts with its mean power, energy over time.
    """
    scope = timing.machine_names
    kernels: dict[str, list[BlockTime]] = {}
    for block in timing.blocks:
        kernels.setdefault(block.kernel, []).append(block)
    with np.errstate(all="ignore"):
        powers = [_kernel_w(timing, [use for block in blocks for use in block.uses]) for blocks in kernels.values()]
        highest: Value = functools.reduce(np.maximum, powers) if powers else ZERO
        return float_or_array(_static_w(timing.machine, scope) + highest)


def energy_j(timing: Timing) -> FloatOrArray:
    """E: static power of the machine over the run time, and the dynamic energy of all uses, in joules.

    An idle instance draws no dynamic power: a use counts with the busy seconds of its instances.
    """
    dynamic = [np.asarray(use.energy_j) for use in dynamic_energies(timing)]
    with np.errstate(all="ignore"):
        static = _static_w(timing.machine, timing.machine_names) * np.asarray(timing.seconds)
        return float_or_array(functools.reduce(lambda a, b: a + b, dynamic, static)[()])


def dynamic_energies(timing: Timing) -> tuple[EnergyUse, ...]:
    """Return the dynamic energy of each use of a resource, in the order of the blocks."""
    with np.errstate(all="ignore"):
        return tuple(
            EnergyUse(block.kernel, use.resource, use.component, float_or_array(_energy(timing, use)))
            for block in timing.blocks
            for use in block.uses
        )


def _static_w(machine: AspenMachine, scope: Scope) -> Value:
    counts = machine.counts(scope)
    total: Value = ZERO
    for element in machine.below(machine.top):
        for power in element.static_powers:
            total = total + counts[element.name] * scope.evaluate(power)
    return total


def _kernel_w(timing: Timing, uses: Iterable[UseTime]) -> Value:
    """Return the dynamic power of the resources that a kernel uses, all their instances at work."""
    powers: dict[str, Value] = {}
    for use in uses:
        located = timing.find(use.resource)
        power = _power(located)
        if power is None:
            watts: Any = ZERO
        elif _per_use(located, power):
            watts = np.where(np.asarray(use.seconds) > 0, _energy(timing, use) / np.asarray(use.seconds), 0.0)[()]
        else:
            watts = timing.machine_names.evaluate(power) * use.instances
        powers[use.resource] = np.maximum(powers.get(use.resource, ZERO), watts)
    return _at_once_w(powers, timing.machine.conflicts(timing.socket))


def _energy(timing: Timing, use: UseTime) -> Value:
    located = timing.find(use.resource)
    power = _power(located)
    if power is None:
        return ZERO
    if _per_use(located, power):
        return _energy_per_use(timing, located, power, use)
    energy: Value = np.multiply(timing.machine_names.evaluate(power), use.busy_s)
    return energy


def _energy_per_use(timing: Timing, located: LocatedResource, power: Expression, use: UseTime) -> Value:
    """Return the energy for the mean amount of one use, times the number of uses."""
    uses: Any = np.asarray(use.uses)
    mean = np.where(uses > 0, np.asarray(use.amount) / np.where(uses > 0, uses, 1.0), 0.0)[()]
    bound = dict.fromkeys(_arguments(located), mean)
    energy: Value = timing.machine_names.evaluate(power, bound) * uses[()]
    return energy


def _power(located: LocatedResource) -> Expression | None:
    own_power = located.element.dynamic_powers.get(located.resource.name)
    if own_power is not None or located.parent is None or located.parent.own_power is None:
        return own_power
    return located.parent.own_power if _per_use(located, located.parent.own_power) else None


def _arguments(located: LocatedResource) -> set[str]:
    """Return the names under which a power may mention the amount of a use."""
    holders = [located.element, *([located.parent] if located.parent else [])]
    return {resource.argument for holder in holders for resource in holder.resources.values()}


def _per_use(located: LocatedResource, power: Expression) -> bool:
    return bool(power.names & _arguments(located))


def _all_at_once_w(elements: list[Element], counts: Mapping[str, Value], scope: Scope) -> Value:
    """Dynamic power of all instances of all resources of some elements, without what is given per use."""
    powers: dict[str, Value] = {}
    for element in elements:
        arguments = {resource.argument for resource in element.resources.values()}
        for name, power in element.dynamic_powers.items():
            if not power.names & arguments:
                powers[name] = powers.get(name, ZERO) + counts[element.name] * scope.evaluate(power)
    return _at_once_w(powers, frozenset(pair for element in elements for pair in element.conflicts))


def _at_once_w(powers: Mapping[str, Value], conflicts: frozenset[frozenset[str]]) -> Value:
    total: Value = ZERO
    for group in linked_by_conflicts(powers, conflicts):
        largest: Value = functools.reduce(np.maximum, [powers[name] for name in group])
        total = total + largest
    return total
