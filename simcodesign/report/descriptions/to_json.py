"""Machines and workloads as JSON: what their files say, in SI units, and the derived numbers of the data sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any

from simcodesign.analytic.queueing.busiest_links import busiest_link
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.constants import CAPACITY, dimension_at
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.python_programs.recorded_program import RecordedProgram
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.workload import Workload
from simcodesign.report.results.data_sheets import kinds_of_demands, one_line
from simcodesign.report.results.workload_sheet import recording_of

#: Fields of both that come first, or are left out.
_HEAD = ("name", "about", "source", "place", "custom")
#: Constructs that a machine's file defines of its own.
_OWN = ("values", "properties", "resources", "conflicts", "components", "ownership")
#: Fields of parts that do not describe the machine or the workload.
_LEFT_OUT = ("place", "functions", "path")


def overview_json(
    machines: Sequence[tuple[str, Machine]], workloads: Sequence[tuple[str, Workload]]
) -> dict[str, list[dict[str, Any]]]:
    """Names, as commands take them, and what each is."""
    return {
        "machines": [
            {"name": name, "about": one_line(one.about), "source": one_line(one.source)} for name, one in machines
        ],
        "workloads": [
            {
                "name": name,
                "about": one_line(one.about),
                "source": one_line(one.source),
                "parameters": list(one.parameters),
                "presets": list(one.presets),
                "demands": kinds_of_demands(one),
            }
            for name, one in workloads
        ],
    }


def machine_json(machine: Machine) -> dict[str, Any]:
    """Return a machine: what it is, ``constants`` by their paths in a file, its parts.

    Its values that are computed are in ``derived``.
    """
    parts = {each.name: getattr(machine, each.name) for each in fields(machine) if each.name not in _HEAD}
    return {
        **_head("machine", machine),
        "constants": dict(_constants(machine)),
        "parameters": [_parameter(one) for one in machine.custom.parameters.values()],
        **{name: described(part) for name, part in parts.items() if part is not None},
        **{name: described(getattr(machine.custom, name)) for name in _OWN if getattr(machine.custom, name)},
        "derived": dict(_derived(machine)),
    }


def workload_json(workload: Workload, ranks: int | None = None) -> dict[str, Any]:
    """Return a workload: parameters, formulas as text, and its program as a tree of blocks and demands.

    ``ranks``: what so many ranks of a program in Python yield is counted too.
    """
    left_out = (*_HEAD, "parameters", "equation_order")
    parts = {each.name: getattr(workload, each.name) for each in fields(workload) if each.name not in left_out}
    derived = {}
    step = workload.program[0] if workload.program else None
    if ranks is not None and isinstance(step, RecordedProgram):
        recording = recording_of(step, workload, ranks)
        derived = {"derived": {"operations": recording.yielded, "distinct_operations": len(recording.operations)}}
    return {
        **_head("workload", workload),
        "parameters": [_parameter(one) for one in workload.parameters.values()],
        **{name: described(part) for name, part in parts.items() if part is not None},
        **derived,
    }


def _head(kind: str, one: Machine | Workload) -> dict[str, str]:
    texts = {"about": one_line(one.about), "source": one_line(one.source), "file": one.place.file}
    return {"kind": kind, "name": one.name, **texts}


def _constants(machine: Machine) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every constant and power, and the memory of a node, with its SI unit."""
    for path, value in machine.varying().items():
        dimension = "size" if path == CAPACITY else dimension_at(path)
        if dimension is not None:
            yield path, {"value": value, "unit": DIMENSIONS[dimension]}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    shown = {each.name: getattr(parameter, each.name) for each in fields(parameter) if each.name != "place"}
    return shown | {"about": one_line(parameter.about)}


def _derived(machine: Machine) -> Iterator[tuple[str, Any]]:
    """Values that the data sheet computes; a machine whose nodes are P has no network to count yet."""
    network = machine.network
    if (half := network.message_model.half_performance_bytes) is not None:
        yield "half_performance_bytes", half
    yield "rank_capacity_bytes", machine.rank_capacity_bytes
    if machine.nodes_by_ranks is not None:
        return
    yield "processors", machine.processors
    yield "peak_flop_per_s", machine.processors * machine.mean_flop_per_s
    yield "links", network.link_count
    yield "diameter_hops", network.topology.diameter
    yield "mean_distance_hops", network.mean_hops
    yield "bisection_width_links", network.rails * network.topology.bisection_width
    yield "bisection_width_exact", network.topology.bisection_exact
    if (law := busiest_link(network.topology)) is not None:
        yield "busiest_link", described(law)
    if machine.disk is not None:
        yield "disks", -(-machine.nodes // machine.disk.shared_by)
    yield "properties", machine.properties()
    yield "totals", {name: value for name, value in described(machine.totals()).items() if value is not None}


def described(value: Any) -> Any:
    """Return a part of a description as plain data.

    Fields of dataclasses by their names (which carry their units), without those that are not stated; formulas as their
    text; steps of a program with their kind.
    """
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, Topology):
        return {"kind": value.kind, "nodes": value.node_count, **described(value.options_for(value.node_count))}
    if isinstance(value, Schedule):
        return {"ranks": value.ranks, "operations": len(value)}
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [described(item) for item in value]
    if hasattr(value, "json_fields"):
        return value.json_fields()
    if is_dataclass(value):
        kind = {"demand": value.label} if isinstance(value, Demand) else {}
        stated = ((each.name, getattr(value, each.name)) for each in fields(value) if each.name not in _LEFT_OUT)
        return kind | {name: described(item) for name, item in stated if item is not None}
    return value
