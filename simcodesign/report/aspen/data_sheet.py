"""What an Aspen file holds: parameters and their ranges, kernels, data; components, resources, conflicts, powers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.aspen.application import Application, load_application, statements
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.aspen.parse import parse_file
from simcodesign.aspen.scope import Definitions, Scope, define
from simcodesign.aspen.tree import (
    PART_COSTS,
    Call,
    Component,
    Conflict,
    Data,
    Execute,
    File,
    Import,
    Kernel,
    Parameter,
    Part,
    PartCost,
    Power,
    Property,
    Resource,
)
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import format_quantity
from simcodesign.report.aspen.tables import table
from simcodesign.report.common.tables import section


def aspen_sheet(path: Path) -> list[RenderableType]:
    """Return data sheet of an application, a machine, or a file that others include.

    Raises InputError as reading it does.
    """
    file = parse_file(path)
    if file.models:
        return _application(load_application(path))
    if any(component.kind == "machine" for component in file.components):
        return _machine(load_machine(path), file)
    definitions = define([item for item in file.definitions if not isinstance(item, Import)])
    scope = Scope(definitions, {})
    head = section(
        "", [("parts of a machine", ", ".join(part.name for part in file.components) or "none"), ("file", str(path))]
    )
    return [head, *_parameters(definitions, scope), *_components(file.components, scope, {})]


def _application(application: Application) -> list[RenderableType]:
    scope = application.scope({})
    rows = [("application", application.name), ("file", application.path)]
    rows += [(f"import {name}", one.application.path) for name, one in application.imports.items()]
    parts = [section("", rows), *_parameters(application.definitions, scope)]
    if application.definitions.data:
        parts.append(_data(application.definitions.data.values(), scope))
    kernels = table("Kernels", "kernel", "arguments", "calls", "resources")
    for kernel in application.kernels.values():
        kernels.add_row(kernel.name, ", ".join(one.name for one in kernel.arguments), _calls(kernel), _uses(kernel))
    return [*parts, kernels, *(f"warning: {line}" for line in application.warnings)]


def _calls(kernel: Kernel) -> str:
    return ", ".join(dict.fromkeys(one.name for one in statements(kernel.body) if isinstance(one, Call)))


def _uses(kernel: Kernel) -> str:
    blocks = [one for one in statements(kernel.body) if isinstance(one, Execute)]
    traits_of: dict[str, dict[str, None]] = {}
    for use in (use for block in blocks for use in block.uses):
        traits_of.setdefault(use.resource, {}).update(dict.fromkeys(trait.name for trait in use.traits))
    return "; ".join(f"{name} as {', '.join(traits)}" if traits else name for name, traits in traits_of.items())


def _machine(machine: AspenMachine, file: File) -> list[RenderableType]:
    scope = machine.scope({})
    with np.errstate(all="ignore"):
        counts = {name: float(count) for name, count in machine.counts(scope).items()}
    head = [("machine", machine.name), ("file", machine.path), ("sockets", ", ".join(machine.sockets) or "none")]
    used = {element.name for element in machine.below(machine.top)}
    unused = [component.name for component in file.components if component.name not in used]
    head += [("not part of it", ", ".join(dict.fromkeys(unused)))] if unused else []
    components = {one.name: one for one in file.components if one.name in used}
    ordered = [components[element.name] for element in machine.below(machine.top)]
    return [section("", head), *_parameters(machine.definitions, scope), *_components(ordered, scope, counts)]


def _parameters(definitions: Definitions, scope: Scope) -> Iterator[RenderableType]:
    if not definitions.parameters:
        return
    listed = table("Parameters", "name", "default", "range", "means")
    for parameter in definitions.parameters.values():
        text = parameter.value.text
        value = _value(parameter.value, scope)
        means = "" if text == value else text
        listed.add_row(parameter.name, _default(parameter, scope, value), _range(parameter, scope), means)
    yield listed


def _default(parameter: Parameter, scope: Scope, value: str) -> str:
    """Return the number, or the member of an enumeration."""
    if parameter.choices is None:
        return value
    members = scope.definitions.enumerations[parameter.choices].members
    at = float(value) if value.replace(".", "", 1).isdigit() else -1.0
    return members[int(at)] if at in range(len(members)) else value


def _range(parameter: Parameter, scope: Scope) -> str:
    if parameter.choices is not None:
        return ", ".join(scope.definitions.enumerations[parameter.choices].members)
    if parameter.low is None or parameter.high is None:
        return ""
    ends = [(_number(end, scope), end.text) for end in (parameter.low, parameter.high)]
    return " .. ".join(text if number is None else f"{number:g}" for number, text in ends)


def _data(data: Iterable[Data], scope: Scope) -> Table:
    listed = table("Data", "name", "size", "shape", "bytes")
    for one in data:
        size = _number(one.size_bytes, scope)
        shown = format_quantity(size, "size") if size is not None else "-"
        listed.add_row(one.name, shown, one.shape or "", one.size_bytes.text)
    return listed


def _components(components: Iterable[Component], scope: Scope, counts: Mapping[str, float]) -> Iterator[RenderableType]:
    listed = list(components)
    yield _tree(listed, counts)
    resources = [(one, member) for one in listed for member in one.members if isinstance(member, Resource)]
    if resources:
        yield _resources(resources)
    powers = [(one, member) for one in listed for member in one.members if isinstance(member, Power)]
    if powers:
        rows = table("Powers", "component", "kind", "one of them", "means")
        for one, power in powers:
            watts = _number(power.value_w, scope)
            shown = format_quantity(watts, "power") if watts is not None else "for each use"
            rows.add_row(one.name, "dynamic" if power.is_dynamic else "static", shown, power.value_w.text)
        yield rows
    costs = [(one, member) for one in listed for member in one.members if isinstance(member, PartCost)]
    if costs:
        rows = table("Rack space, die area and price", "component", "kind", "one of them", "means")
        for one, cost in costs:
            shown = _cost(cost.name, _number(cost.value, scope))
            rows.add_row(one.name, PART_COSTS[cost.name], shown, "" if shown == cost.value.text else cost.value.text)
        yield rows
    properties = [(one, member) for one in listed for member in one.members if isinstance(member, Property)]
    if properties:
        rows = table("Properties", "component", "property", "value", "means")
        for one, member in properties:
            text = member.value.text if member.value else ""
            value = _value(member.value, scope) if member.value else ""
            rows.add_row(one.name, member.name, value, "" if text == value else text)
        yield rows


def _cost(name: str, value: float | None) -> str:
    """Return a cost with its unit; prices have none."""
    unit = {"rack_units": " U", "die_area": " m2", "price": ""}[name]
    return "-" if value is None else f"{value:,.6g}{unit}"


def _tree(components: list[Component], counts: Mapping[str, float]) -> Table:
    component_table = table("Components", "kind", "component", "in all", "holds", "conflicts")
    for one in components:
        parts = [member for member in one.members if isinstance(member, Part)]
        holds = ", ".join(f"{part.count.text} {part.name}" if part.count else part.name for part in parts)
        conflicts = [" and ".join(member.resources) for member in one.members if isinstance(member, Conflict)]
        count = f"{counts[one.name]:,.10g}" if one.name in counts else ""
        component_table.add_row(one.kind, one.name, count, holds, ", ".join(conflicts))
    return component_table


def _resources(resources: Iterable[tuple[Component, Resource]]) -> Table:
    resource_table = table(
        "Resources: the seconds of one use, and how traits change them", "component", "resource", "seconds"
    )
    for one, resource in resources:
        resource_table.add_row(one.name, f"{resource.name}({resource.argument})", resource.time_s.text)
        for trait in resource.traits:
            argument = f"({trait.argument})" if trait.argument else ""
            resource_table.add_row("", f"  with {trait.name}{argument}", trait.time_s.text)
    return resource_table


def _number(expression: Expression, scope: Scope) -> float | None:
    """Value of an expression; None if it depends on a value that only a use determines, or is unknown."""
    try:
        with np.errstate(all="ignore"):
            return float(scope.evaluate(expression))
    except InputError:
        return None


def _value(expression: Expression, scope: Scope) -> str:
    number = _number(expression, scope)
    return expression.text if number is None else f"{number:.10g}"
