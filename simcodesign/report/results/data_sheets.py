"""What the data sheets of machines and workloads share, and the list of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.machine import Machine
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
    """The same: also what its demands are called."""
    return " ".join([name, workload.about, workload.source, *kinds_of_demands(workload)]).lower()


def kinds_of_demands(workload: Workload) -> list[str]:
    """What ranks do, each once: ``exchange (halo2d)``, ``allreduce (ring)``, ..."""
    return list(dict.fromkeys(step.label for step in walk(workload.program) if not isinstance(step, Block)))


def one_line(text: str) -> str:
    """Text of a YAML block without its line breaks."""
    return " ".join(text.split())


def head(kind: str, described: Machine | Workload) -> RenderableType:
    rows = [
        (kind, described.name),
        ("about", described.about),
        ("source", described.source),
        ("file", described.place.file),
    ]
    return section("", ((name, one_line(text)) for name, text in rows if text))


def parameter_table(parameters: Iterable[Parameter]) -> Table:
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
    return format_quantity(float(value), dimension)


def bandwidth_text(per_byte_s: FloatOrArray) -> str:
    return amount_text(1 / per_byte_s, "bandwidth") if per_byte_s else "unlimited"
