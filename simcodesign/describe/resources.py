"""Constructs of machine files in addition to the built-in kinds: parameters, properties, resources, components.

The constructs come from Aspen (Spafford and Vetter, SC 2012; Sci. Prog. 2015, article 157305). Everything is an
expression over the parameters and properties of the machine and its counts; the readings put times together from
it on their own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, TypeVar

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.equations import ordered
from simcodesign.describe.machine_parts.ownership import Ownership
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.topology.hardware import NETWORK_COUNTS

_ONE = parse(1)
#: The time that a trait changes.
BASE = "base"
#: The amount that the time of a resource depends on, unless ``argument`` calls it something else.
AMOUNT = "amount"
#: Counts of a machine that its expressions may use.
COUNTS = ("nodes", "processors_per_node", "processors")
#: The number of ranks of a run, in formulas of constants alone.
RANKS = "P"
#: Different resources in one block, so that all sets of conflicting ones can be looked at.
MOST_RESOURCES = 16
#: Quantities summed over components, by the names of their expressions.
_SUMMED = ("static_power", "rack_units", "die_area", "price", "embodied_carbon")
#: Prefix of the name of a machine parameter in settings.
PREFIX = "machine."
OfMachine = TypeVar("OfMachine")


@dataclass(frozen=True)
class Trait:
    """``change``: the time of a use with this trait, over ``base`` (without it) and the ``argument``, if it has one."""

    change: Expression
    argument: str = ""


@dataclass(frozen=True)
class Resource:
    """``time`` (s) of one item on one instance, over ``argument``, its amount.

    ``instances``: of one rank, a fraction if ranks share one. ``dynamic_power``: W of one instance while it is busy;
    ``energy``: additional J of one item, over the same names as ``time``, spread over its time.
    """

    time: Expression
    argument: str = AMOUNT
    instances: Expression = _ONE
    traits: Mapping[str, Trait] = field(default_factory=dict)
    dynamic_power: Expression | None = None
    energy: Expression | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True)
class Component:
    """A part of the machine, ``count`` of it in the whole machine.

    Each has: W, rack units, m2 of a die, price, kg of CO2 equivalent that making it emitted.
    """

    count: Expression = _ONE
    static_power: Expression | None = None
    rack_units: Expression | None = None
    die_area: Expression | None = None
    price: Expression | None = None
    embodied_carbon: Expression | None = None
    place: Place = field(default=Place(), compare=False)


class NetworkFormulas(Protocol):
    """Formulas of the parts of a network. ``parameters``: names of the machine parameters that they depend on."""

    @property
    def parameters(self) -> frozenset[str]:
        """Return the parameters that the formulas use."""

    def rebuilt(self, machine: Any, /) -> Any:
        """Return the machine with the network that its parameters give now. InputError for arrays of them."""


@dataclass(frozen=True)
class Totals:
    """Space, cost and power of a whole machine when nothing runs on it; None if no component states it."""

    rack_units: FloatOrArray | None
    die_area_m2: FloatOrArray | None
    price: FloatOrArray | None
    static_power_w: FloatOrArray | None
    embodied_carbon_kg: FloatOrArray | None = None


@dataclass(frozen=True)
class Custom:
    """The constructs of one machine.

    ``values``: parameters that are not at their defaults. ``constants``: formulas of constants and powers of built-in
    parts, by their paths, in SI units; None if there is none. ``network``: formulas of its topology and rails,
    likewise. ``ownership``: over how many years it is used, and what its energy costs and emits.

    Expressions may use the counts of the machine (``COUNTS``) and of its network (``NETWORK_COUNTS``, unless a
    parameter or property has such a name).

    Raises InputError for unknown names, duplicate names, and properties that need each other.
    """

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    properties: Mapping[str, Expression] = field(default_factory=dict)
    resources: Mapping[str, Resource] = field(default_factory=dict)
    conflicts: tuple[tuple[str, ...], ...] = ()
    components: Mapping[str, Component] = field(default_factory=dict)
    values: Mapping[str, FloatOrArray] = field(default_factory=dict)
    place: Place = field(default=Place(), compare=False)
    constants: Mapping[str, Expression] | None = None
    network: NetworkFormulas | None = field(default=None, compare=False)
    ownership: Ownership | None = None
    order: tuple[str, ...] = field(init=False, compare=False)
    pairs: frozenset[frozenset[str]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for name in COUNTS:
            if name in self.parameters or name in self.properties:
                raise InputError(f"{name} is a reserved name", self.place)
        for name in self.parameters:
            if name in self.properties:
                what = "a property with the name of a parameter"
                raise InputError(what, self.properties[name].place or self.place, value=name)
        known = {*self.parameters, *COUNTS, *NETWORK_COUNTS}
        object.__setattr__(self, "order", tuple(ordered(self.properties, known)))
        known |= self.properties.keys()
        for resource in self.resources.values():
            _check_resource(resource, known)
        for component in self.components.values():
            for part in _expressions(component):
                _check_names(part, known, component.place)
        for group in self.conflicts:
            for name in group:
                if name not in self.resources:
                    raise InputError(
                        "a conflict of an unknown resource",
                        self.place,
                        value=name,
                        allowed=nearest(name, self.resources),
                    )
        pairs = {frozenset(pair) for group in self.conflicts for pair in combinations(group, 2)}
        object.__setattr__(self, "pairs", frozenset(pairs))

    def __bool__(self) -> bool:
        return bool(self.parameters or self.properties or self.resources or self.components)

    @cached_property
    def uses_network(self) -> bool:
        """Whether any of its expressions uses a count of the network."""
        parts = [*self.properties.values(), *(self.constants or {}).values()]
        for resource in self.resources.values():
            own = (resource.time, resource.instances, resource.dynamic_power, resource.energy)
            parts += [one for one in own if one is not None]
        for component in self.components.values():
            parts += _expressions(component)
        used = frozenset[str]().union(*(part.names for part in parts))
        return bool(used & self.network_counts)

    @cached_property
    def network_counts(self) -> frozenset[str]:
        """Names of the counts of the network that no parameter or property has."""
        return frozenset(NETWORK_COUNTS) - self.parameters.keys() - self.properties.keys()

    def names_over(self, counts: Collection[str]) -> frozenset[str]:
        """Return what formulas of the network and of constants may use.

        These counts, the parameters, and the properties that depend on nothing else.
        """
        found = {*self.parameters, *counts}
        for name in self.order:
            if self.properties[name].names <= found:
                found.add(name)
        return frozenset(found)

    def names(self, counts: Mapping[str, FloatOrArray], only: Collection[str] | None = None) -> dict[str, FloatOrArray]:
        """Return the values of all names, of its properties ``only`` some.

        InputError for a parameter without a value, and a property that is not finite.
        """
        values: dict[str, FloatOrArray] = dict(counts)
        for parameter in self.parameters.values():
            value = self.values.get(parameter.name, parameter.default)
            if value is None:
                what = f"machine parameter {parameter.name!r} has no default and was not given"
                raise InputError(what, parameter.place)
            values[parameter.name] = value
        for name in self.order if only is None else [name for name in self.order if name in only]:
            values[name] = evaluated(self.properties[name], values, f"property {name!r}", self.place)
        return values

    def derived(self, counts: Mapping[str, FloatOrArray], ranks: FloatOrArray | None = None) -> dict[str, FloatOrArray]:
        """Return the constants and powers that formulas give, by their paths. InputError for one that is not finite.

        With ``ranks``, only those that depend on P.
        """
        constants = self.constants or {}
        if ranks is not None:
            by_ranks = RANKS not in self.parameters and RANKS not in self.properties
            constants = {path: one for path, one in constants.items() if by_ranks and RANKS in one.names}
        if not constants:
            return {}
        names = with_ranks(self.names(counts), counts, ranks)
        return {path: evaluated(one, names, path, self.place) for path, one in constants.items()}

    def with_network(self, machine: OfMachine, changed: Collection[str]) -> OfMachine:
        """Return the machine of these constructs, with another network if its formulas use a ``changed`` parameter.

        Parameters are ``machine.NAME``.
        """
        shaping = any(self.shapes_network(path) for path in changed)
        if self.network is None or not shaping:
            return machine
        rebuilt: OfMachine = self.network.rebuilt(machine)
        return rebuilt

    def shapes_network(self, path: str) -> bool:
        """Whether this parameter of the machine, ``machine.NAME``, is in a formula of its topology or rails."""
        return self.network is not None and path.removeprefix(PREFIX) in self.network.parameters

    def without_formulas(self, paths: Collection[str]) -> Custom:
        """Return the constructs without the formulas of these constants, which have values of their own now."""
        if not self.constants or not self.constants.keys() & set(paths):
            return self
        return replace(self, constants={path: one for path, one in self.constants.items() if path not in paths} or None)

    def conflicting(self, one: str, other: str) -> bool:
        """Whether uses of two resources never overlap: uses of the same one never do.

        The rule of conflicts, for both readings: a block takes as long as its heaviest clique, which is the set of uses
        of the longest total time of which every two conflict. Each reading finds it in its own way
        (``analytic.resources``, ``generate.demands.resources``). With the effect ``conflicts`` the simulation keeps the
        order of the uses in addition, and never takes less.
        """
        return one == other or frozenset((one, other)) in self.pairs

    def resource(self, name: str, place: Place, machine: str) -> Resource:
        """Return the resource of this name. InputError if the machine has none."""
        if name not in self.resources:
            what = f"{machine} has no such resource"
            raise InputError(what, place, value=name, allowed=nearest(name, self.resources))
        return self.resources[name]

    def totals(self, counts: Mapping[str, FloatOrArray]) -> Totals:
        """Return sums over the components: count times the value of each."""
        names = self.names(counts)
        sums: dict[str, FloatOrArray | None] = dict.fromkeys(_SUMMED)
        for title, component in self.components.items():
            count = not_negative(component.count, names, f"count of {title}", component.place)
            for key, sum_ in sums.items():
                each = getattr(component, key)
                if each is not None:
                    part = count * not_negative(each, names, f"{key} of {title}", component.place)
                    sums[key] = part if sum_ is None else sum_ + part
        watts, carbon_kg = sums["static_power"], sums["embodied_carbon"]
        return Totals(sums["rack_units"], sums["die_area"], sums["price"], watts, carbon_kg)


def trait_of(resource: Resource, title: str, name: str, has_argument: bool, place: Place) -> Trait:
    """Return the trait of this name of a resource called ``title``.

    InputError if it has none, or another number of arguments.
    """
    if name not in resource.traits:
        what = f"resource {title!r} has no such trait"
        raise InputError(what, place, value=name, allowed=nearest(name, resource.traits))
    trait = resource.traits[name]
    if bool(trait.argument) != has_argument:
        allowed = f"{{{name}: {trait.argument.upper()}}}" if trait.argument else name
        raise InputError(
            f"trait {name!r} {'needs an' if trait.argument else 'has no'} argument", place, allowed=allowed
        )
    return trait


def with_ranks(
    names: Mapping[str, FloatOrArray], counts: Mapping[str, FloatOrArray], ranks: FloatOrArray | None = None
) -> dict[str, FloatOrArray]:
    """Return the names of formulas of constants, with the number of ranks.

    Unless given, all processors of the machine work. A parameter or property of this name wins.
    """
    return {RANKS: counts.get("processors", 1.0) if ranks is None else ranks} | dict(names)


def evaluated(expression: Expression, names: Mapping[str, FloatOrArray], what: str, place: Place) -> FloatOrArray:
    """Return the value. InputError unless it is finite everywhere."""
    value = expression.evaluate(names)
    if not (math.isfinite(value) if isinstance(value, float) else np.isfinite(value).all()):
        raise InputError(f"{what} = {expression.text} is not finite here", expression.place or place)
    return value


def not_negative(expression: Expression, names: Mapping[str, FloatOrArray], what: str, place: Place) -> FloatOrArray:
    """Return the value. InputError unless it is finite and 0 or above everywhere."""
    value = evaluated(expression, names, what, place)
    if value < 0 if isinstance(value, float) else (value < 0).any():
        where = expression.place or place
        raise InputError(f"{what} = {expression.text} is negative", where, value=float(np.min(value)))
    return value


def instances_of(resource: Resource, title: str, names: Mapping[str, FloatOrArray]) -> FloatOrArray:
    """Instances that a rank has. InputError unless it is above 0."""
    value = not_negative(resource.instances, names, f"instances of {title}", resource.place)
    if np.any(np.asarray(value) == 0):
        raise InputError(f"instances of {title} = {resource.instances.text} is 0", resource.place, allowed="above 0")
    return value


def _check_resource(resource: Resource, known: set[str]) -> None:
    if resource.argument in known or resource.argument == BASE:
        raise InputError("an argument with the name of something else", resource.place, value=resource.argument)
    for part in (resource.instances, resource.dynamic_power):
        if part is not None:
            _check_names(part, known, resource.place)
    inner = known | {resource.argument}
    for part in (resource.time, resource.energy):
        if part is not None:
            _check_names(part, inner, resource.place)
    for trait in resource.traits.values():
        if trait.argument in {*inner, BASE}:
            raise InputError("an argument with the name of something else", resource.place, value=trait.argument)
        _check_names(trait.change, inner | {BASE, *([trait.argument] if trait.argument else [])}, resource.place)


def _expressions(component: Component) -> Iterator[Expression]:
    parts = (getattr(component, name) for name in _SUMMED)
    yield component.count
    yield from (part for part in parts if part is not None)


def _check_names(expression: Expression, known: set[str], place: Place) -> None:
    for name in sorted(expression.names - known):
        raise InputError("unknown name", expression.place or place, value=name, allowed=nearest(name, known))
