"""Machines: a tree of components, each with resources, traits, conflicts, properties and powers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from simcodesign.aspen.parse import parse_file
from simcodesign.aspen.scope import Definitions, Scope, define, search_range
from simcodesign.aspen.tree import Component, Conflict, Part, PartCost, Power, Property, Resource
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, Value

MAX_COMPONENT_DEPTH = 50


@dataclass(frozen=True)
class Element:
    """One kind of component: what it holds and what it offers."""

    kind: str
    name: str
    parts: tuple[Part, ...]
    resources: Mapping[str, Resource]
    properties: Mapping[str, Expression | None]
    conflicts: frozenset[frozenset[str]]
    static_powers: tuple[Expression, ...]
    dynamic_powers: Mapping[str, Expression]  # by resource
    own_power: Expression | None  # the last dynamic power of the component
    costs: Mapping[str, tuple[Expression, ...]]  # rack units, die area and price of one
    place: Place


@dataclass(frozen=True)
class LocatedResource:
    """A resource, the element that offers it, that element's parent, and the number of instances at each level."""

    resource: Resource
    element: Element
    parent: Element | None
    counts: tuple[Expression, ...]

    def instances(self, scope: Scope) -> Value:
        """Return the number of instances in the whole machine."""
        number: Value = np.float64(1.0)
        for count in self.counts:
            number = number * scope.evaluate(count)
        return number


@dataclass(frozen=True)
class AspenMachine:
    """A machine model; ``top`` is its one component of the kind ``machine``."""

    name: str
    path: str
    definitions: Definitions
    elements: Mapping[str, Element]
    top: Element

    @cached_property
    def sockets(self) -> tuple[str, ...]:
        """The kinds of sockets, in depth-first order."""
        return tuple(element.name for element in self.below(self.top) if element.kind == "socket")

    def check_socket(self, socket: str | None) -> str | None:
        """Return the socket of this name, or the only one if None; None for a machine without sockets.

        Raises InputError for an unknown socket, and for None if there are several.
        """
        if socket is None and len(self.sockets) <= 1:
            return self.sockets[0] if self.sockets else None
        if socket not in self.sockets:
            allowed = nearest(str(socket or ""), self.sockets)
            raise InputError(f"{self.name} has no such socket", self.top.place, value=socket, allowed=allowed)
        return socket

    def below(self, element: Element, socket: str | None = None) -> Iterator[Element]:
        """Yield the element and all components below it, each once, depth first.

        Only ``socket`` among the sockets, if given.
        """
        pending, visited = [element], set()
        while pending:
            current = pending.pop()
            if current.name in visited or (socket and current.kind == "socket" and current.name != socket):
                continue
            visited.add(current.name)
            yield current
            pending += [self.elements[part.name] for part in reversed(current.parts)]

    def find(self, resource: str, socket: str | None) -> LocatedResource | None:
        """Return the first component, depth first, that offers a resource."""
        return self._find(resource, socket, self.top, None, (), set())

    def _find(
        self,
        resource: str,
        socket: str | None,
        element: Element,
        parent: Element | None,
        counts: tuple[Expression, ...],
        visited: set[str],
    ) -> LocatedResource | None:
        if element.name in visited or (socket and element.kind == "socket" and element.name != socket):
            return None
        visited.add(element.name)
        if resource in element.resources:
            return LocatedResource(element.resources[resource], element, parent, counts)
        for part in element.parts:
            counts_below = counts if part.count is None else (*counts, part.count)
            located = self._find(resource, socket, self.elements[part.name], element, counts_below, visited)
            if located:
                return located
        return None

    def resources(self, socket: str | None) -> list[str]:
        """Return the names of all resources that a socket reaches."""
        return [name for element in self.below(self.top, socket) for name in element.resources]

    def conflicts(self, socket: str | None) -> frozenset[frozenset[str]]:
        """Return the pairs of resources that exclude each other."""
        return frozenset(pair for element in self.below(self.top, socket) for pair in element.conflicts)

    def counts(self, scope: Scope) -> dict[str, Value]:
        """How many instances of each component the whole machine has."""
        graph = {element.name: [part.name for part in element.parts] for element in self.elements.values()}
        counts: dict[str, Value] = {name: np.float64(0.0) for name in self.elements}
        counts[self.top.name] = np.float64(1.0)
        for name in reversed(list(TopologicalSorter(graph).static_order())):
            for part in self.elements[name].parts:
                each = np.float64(1.0) if part.count is None else scope.evaluate(part.count)
                counts[part.name] = counts[part.name] + counts[name] * each
        return counts

    def property_values(self, scope: Scope) -> dict[str, Value]:
        """Return the value of each property, as ``component.property``."""
        return {
            f"{element.name}.{name}": scope.evaluate(value)
            for element in self.below(self.top)
            for name, value in element.properties.items()
            if value is not None
        }

    def search_range(self, name: str) -> tuple[float, float]:
        """Return the range of a parameter. Raises InputError for a parameter without one."""
        return search_range(self.definitions, name)

    def scope(self, given: Mapping[str, Value]) -> Scope:
        """Return the values of the machine's names; ``given`` replaces the values of parameters."""
        return Scope(self.definitions, given)


def linked_by_conflicts(resources: Iterable[str], conflicts: frozenset[frozenset[str]]) -> list[list[str]]:
    """Return the resources in groups: those that exclude each other, directly or through others, are together.

    This is the rule of the original, whose closed form adds up the times of a group. Machines of our own follow another
    (``describe.resources.Custom.conflicting``): of three resources of which the second excludes the first and the
    third, these two overlap there, but not here.
    """
    groups: list[list[str]] = []
    for resource in resources:
        joined = [group for group in groups if any(frozenset((resource, other)) in conflicts for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([name for group in joined for name in group] + [resource])
    return groups


def load_machine(path: str | Path) -> AspenMachine:
    """Return the machine of an ``.aspen`` file, with its includes.

    Raises InputError with file, line and column for what is not Aspen, and for components that are unknown, of
    another kind than declared, defined twice, or within themselves.
    """
    file = parse_file(path)
    components: dict[str, Component] = {}
    for component in file.components:
        first = components.setdefault(component.name, component)
        if first != component:  # a file that is included twice repeats its definitions
            allowed = f"one of this and {first.place}"
            raise InputError(f"component {component.name} is defined twice", component.place, allowed=allowed)
    elements = {name: _element(component) for name, component in components.items()}
    tops = [element for element in elements.values() if element.kind == "machine"]
    if len(tops) != 1:
        problem = f"{len(tops)} components of kind 'machine'" + (", but an application" if file.models else "")
        raise InputError(problem, Place(str(path)), allowed="one: machine name { .. }")
    _check_parts(elements)
    return AspenMachine(tops[0].name, str(path), define(file.definitions), elements, tops[0])


def _element(component: Component) -> Element:
    members = component.members
    resources: dict[str, Resource] = {}
    properties: dict[str, Expression | None] = {}
    for member in members:
        match member:
            case Resource(name=name):
                _check_new(name, resources, component, member.place)
                resources[name] = member
            case Property(name=name):
                _check_new(name, properties, component, member.place)
                properties[name] = member.value
    dynamic = [member.value_w for member in members if isinstance(member, Power) and member.is_dynamic]
    return Element(
        component.kind,
        component.name,
        tuple(member for member in members if isinstance(member, Part)),
        resources,
        properties,
        frozenset(frozenset(member.resources) for member in members if isinstance(member, Conflict)),
        tuple(member.value_w for member in members if isinstance(member, Power) and not member.is_dynamic),
        _dynamic_powers(component),
        dynamic[-1] if dynamic else None,
        _costs(component),
        component.place,
    )


def _costs(component: Component) -> dict[str, tuple[Expression, ...]]:
    costs: dict[str, tuple[Expression, ...]] = {}
    for member in component.members:
        if isinstance(member, PartCost):
            costs[member.name] = (*costs.get(member.name, ()), member.value)
    return costs


def _check_new(name: str, definitions: Mapping[str, object], component: Component, place: Place) -> None:
    if name in definitions:
        raise InputError(f"{name} is defined twice in {component.name}", place, allowed="one of each name")


def _dynamic_powers(component: Component) -> dict[str, Expression]:
    """Return the dynamic power of each resource: the first one written after the resource.

    A component with one dynamic power applies it to all its resources; resources after the last power share that one.
    """
    powers: dict[str, Expression] = {}
    pending: list[str] = []
    last: Expression | None = None
    for member in component.members:
        if isinstance(member, Resource):
            pending.append(member.name)
        elif isinstance(member, Power) and member.is_dynamic:
            last = member.value_w
            powers |= dict.fromkeys(pending, last)
            pending = []
    return powers if last is None else powers | dict.fromkeys(pending, last)


def _check_parts(elements: Mapping[str, Element]) -> None:
    for element in elements.values():
        for part in element.parts:
            if part.name not in elements:
                allowed = nearest(part.name, elements)
                raise InputError(f"unknown component {part.name!r} in {element.name}", part.place, allowed=allowed)
            if elements[part.name].kind != part.kind:
                what = f"{part.name} is a {elements[part.name].kind}"
                raise InputError(what, part.place, value=part.kind, allowed=elements[part.name].kind)
    graph = {element.name: [part.name for part in element.parts] for element in elements.values()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        chain = " -> ".join(reversed(error.args[1]))
        raise InputError(f"components contain themselves: {chain}", elements[error.args[1][0]].place) from error
    depths: dict[str, int] = {}
    for name in order:
        depths[name] = 1 + max((depths[part] for part in graph[name]), default=0)
        if depths[name] > MAX_COMPONENT_DEPTH:
            allowed = f"up to {MAX_COMPONENT_DEPTH} levels"
            raise InputError("components are nested too deeply", elements[name].place, allowed=allowed)
