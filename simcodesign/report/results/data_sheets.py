"""Shared parts of the data sheets of machines and workloads, and the list of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import CacheLevel
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.programs.program import Block, walk
from simcodesign.describe.workload import Workload
from simcodesign.report.common.tables import section, text_table

Rows = Iterable[tuple[str, str]]


def overview(
    machines: Sequence[tuple[str, Machine]], workloads: Sequence[tuple[str, Workload]]
) -> list[RenderableType]:
    """One line per machine and workload; the first of each pair is the name that commands take."""
    first = text_table("Machines", "name", "about")
    for name, machine in machines:
        first.add_row(name, one_line(machine.about))
    second = text_table("Workloads", "name", "about", "presets")
    for name, workload in workloads:
        second.add_row(name, one_line(workload.about), ", ".join(workload.presets))
    return [table for table in (first, second) if table.row_count]


def said_of_machine(name: str, machine: Machine) -> str:
    """All that a search in the list looks at, in small letters."""
    network = machine.network
    return " ".join([name, machine.about, machine.source, network.topology.kind, network.message_model.name]).lower()


def said_of_workload(name: str, workload: Workload) -> str:
    """Words of a workload: also the names of its demands."""
    return " ".join([name, workload.about, workload.source, *kinds_of_demands(workload)]).lower()


def kinds_of_demands(workload: Workload) -> list[str]:
    """Kinds of demands of ranks, each once: ``exchange (halo2d)``, ``allreduce (ring)``, ..."""
    return list(dict.fromkeys(step.label for step in walk(workload.program) if not isinstance(step, Block)))


def one_line(text: str) -> str:
    """Text of a YAML block without its line breaks."""
    return " ".join(text.split())


def head(kind: str, described: Machine | Workload) -> RenderableType:
    """Return the top of a data sheet: name, description, source and file."""
    rows = [
        (kind, described.name),
        ("about", described.about),
        ("source", described.source),
        ("file", described.place.file),
        ("changed", ", ".join(described.changes if isinstance(described, Machine) else ())),
    ]
    return section("", ((name, one_line(text)) for name, text in rows if text))


def parameter_table(parameters: Iterable[Parameter]) -> Table:
    """Return the table of parameters with their defaults, units and ranges."""
    table = text_table("Parameters", "name", "default", "unit", "range", "origin", "about")
    table.columns[0].no_wrap = True
    for parameter in parameters:
        default = "(must be given)" if parameter.default is None else f"{parameter.default:.10g}"
        table.add_row(
            parameter.name, default, parameter.unit, _range(parameter), parameter.origin, one_line(parameter.about)
        )
    return table


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"{name} ({value:g})" for name, value in parameter.choices.items())
    limits = [f"from {parameter.low:g}"] if parameter.low > float("-inf") else []
    limits += [f"to {parameter.high:g}"] if parameter.high < float("inf") else []
    return " ".join([*limits, *(["whole"] if parameter.whole else [])])


def amount_text(value: FloatOrArray, dimension: str) -> str:
    """Return a value with the unit of its dimension."""
    return format_quantity(float(value), dimension)


def bandwidth_text(per_byte_s: FloatOrArray) -> str:
    """Return the bandwidth for a time per byte in seconds; ``unlimited`` for 0."""
    return amount_text(1 / per_byte_s, "bandwidth") if per_byte_s else "unlimited"


def cache_text(level: CacheLevel) -> str:
    """Return its size, its ways, what an access takes, its bandwidth, and by how many processors it is shared."""
    ways = "fully associative" if level.ways is None else f"{level.ways} ways"
    size = format_quantity(level.size_bytes, "size") if level.size_bytes % 1024 else f"{level.size_bytes // 1024:,} KiB"
    cycles = "" if level.clock_hz is None else f" ({float(level.latency_cycles(level.clock_hz)):.6g} cycles)"
    shared = f", shared by {level.shared_by} processors" if level.shared_by > 1 else ""
    return f"{size}, {ways}, {amount_text(level.latency_s, 'time')}{cycles}{_bandwidth_of(level)}{shared}"


def _bandwidth_of(level: CacheLevel) -> str:
    """Bandwidth of a cache towards the core, if it is stated."""
    if level.per_byte_s is None:
        return ""
    own_hz = level.bandwidth_clock_hz
    cycles = "" if own_hz is None else f" ({float(1 / (level.per_byte_s * own_hz)):.6g} B/cycle)"
    return f", {bandwidth_text(level.per_byte_s)}{cycles}"
