"""Aspen models for a terminal and as JSON: run time and its parts, power, data, and the simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.aspen.capacity import data_bytes, memory_bytes
from simcodesign.aspen.part_costs import part_costs
from simcodesign.aspen.power import energy_j, max_power_w, static_power_w
from simcodesign.aspen.run.comparison import SHARING, AspenComparison
from simcodesign.aspen.scope import Given
from simcodesign.aspen.timing import BlockTime, Timing, UseTime, split_parameters
from simcodesign.aspen.tree import PART_COSTS
from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import format_quantity
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.common.tables import section, text_table

MOST_ROWS = 60
#: Description of each effect.
EFFECT_WORDS = {
    SHARING: "blocks of par share whole instances (shared instances)",
    "conflicts": "only what excludes each other takes turns (conflicts)",
    "maps": "iterations of map continue without waiting for all (maps)",
    "chance": "samples and probabilities are random (chance)",
}
#: Columns of numbers.
NUMBERS = (
    "time",
    "block",
    "original",
    "energy",
    "maximum power",
    "memory",
    "change",
    "of gap",
    "operations",
    "times",
    "fraction",
    "amount",
    "busy",
    "default",
    "size",
    "in all",
    "value",
    "one of them",
)
#: Resources whose amount has a unit.
AMOUNTS = {"loads": "size", "stores": "size", "messages": "size"}


@dataclass(frozen=True)
class Answer:
    """An application on one kind of socket, and what power, energy and memory say of it."""

    timing: Timing

    @property
    def seconds(self) -> float:
        """Run time by the chosen kind of answer."""
        return float(self.timing.seconds)

    @cached_property
    def energy_j(self) -> float:
        """Energy of the run."""
        return float(energy_j(self.timing))

    @cached_property
    def max_power_w(self) -> float:
        """Power of the kernel that draws most."""
        return float(max_power_w(self.timing))

    @cached_property
    def has_power(self) -> bool:
        """Whether the machine describes any."""
        elements = self.timing.machine.elements.values()
        return any(element.static_powers or element.own_power is not None for element in elements)

    @cached_property
    def static_power_w(self) -> float:
        """Static power of the whole machine."""
        return float(static_power_w(self.timing.machine, self._sides[1]))

    @cached_property
    def part_costs(self) -> dict[str, float]:
        """Rack units, die area and price of the whole machine, as far as its components state them."""
        return {name: float(value) for name, value in part_costs(self.timing.machine, self._sides[1]).items()}

    @cached_property
    def data_bytes(self) -> dict[str, float]:
        """Each data set; none for a model without."""
        sizes = data_bytes(self.timing.application, self._sides[0])
        return {name: float(size) for name, size in sizes.items()}

    @cached_property
    def memory_bytes(self) -> float:
        """Memory of all sockets of the kind; 0 if it is not described."""
        return float(memory_bytes(self.timing.machine, self.timing.socket, self._sides[1]))

    @cached_property
    def _sides(self) -> tuple[Mapping[str, Given], Mapping[str, Given]]:
        """The parameters given for the application and for the machine."""
        own, others = split_parameters(self.timing.application, self.timing.machine, self.timing.parameters)
        return dict(own), dict(others)


def answer_tables(answer: Answer) -> list[RenderableType]:
    """One socket in detail."""
    timing = answer.timing
    return [
        section(_title(timing), _summary(answer)),
        *_kernel_tables(timing),
        *_use_tables(timing),
        *_warnings(timing.warnings),
    ]


def socket_tables(answers: Mapping[str, Answer], absent: Mapping[str, str]) -> list[RenderableType]:
    """All kinds of sockets, a row each; ``absent``: why one has no run time."""
    first = next(iter(answers.values())).timing
    title = f"{first.application.name} on {first.machine.name}, kernel {first.kernel}"
    overlaps = any(answer.timing.overlap_s for answer in answers.values())
    names = ["socket", "time", *(["original"] if overlaps else []), "energy", "maximum power", "memory", "fits"]
    shown = table(title, *names)
    for socket, answer in answers.items():
        timing = answer.timing
        power = [_power(answer, answer.energy_j, "energy"), _power(answer, answer.max_power_w, "power")]
        original = [_quantity(float(timing.compatible_seconds), "time")] if overlaps else []
        memory = _quantity(answer.memory_bytes, "size") if answer.memory_bytes else "-"
        shown.add_row(socket, _quantity(answer.seconds, "time"), *original, *power, memory, _fits(answer))
    for socket in absent:
        shown.add_row(socket, "-")
    parts: list[RenderableType] = [shown]
    parts += [f"{socket}: {why}" for socket, why in absent.items()]
    warnings = dict.fromkeys(line for answer in answers.values() for line in answer.timing.warnings)
    return [*parts, *_warnings(tuple(warnings))]


def comparison_tables(comparison: AspenComparison) -> list[RenderableType]:
    """Return tables of simulation against closed form, and why they differ."""
    seconds = Seconds([comparison.forecast_s, *(rung.simulated_s for rung in comparison.rungs)])
    title = f"Simulated: {_title(comparison.timing)}"
    shown = table(title, "reading", f"time [{seconds.unit}]", "change", "of gap", "operations")
    shown.add_row("closed form", seconds(comparison.forecast_s), "", "", "")
    for rung in comparison.rungs:
        share = f"{100 * rung.fraction:.1f} %" if rung.change_s else "0"
        change = seconds(rung.change_s, "+") if rung.change_s else "0"
        shown.add_row(EFFECT_WORDS[rung.effect], seconds(rung.simulated_s), change, share, f"{rung.operations:,}")
    return [shown, *_verdict(comparison)]


def _verdict(comparison: AspenComparison) -> Iterable[str]:
    if any(rung.change_s for rung in comparison.rungs):
        error = 100 * comparison.error
        side = "above" if error > 0 else "below"
        yield f"The closed form is {abs(error):.3g} % {side} the simulation ({comparison.engine})."
    else:
        yield f"The simulation ({comparison.engine}) takes as long as the closed form predicts."


def answer_dict(answer: Answer, comparison: AspenComparison | None = None) -> dict[str, Any]:
    """Return all numbers of a model; energy and power only if the machine states them."""
    timing, power = answer.timing, answer.has_power
    shown = attributes_of(
        timing,
        *("socket", "kernel", "parameters", "compatible", "kernels", "blocks", "warnings"),
        application="application.name",
        machine="machine.name",
        original_seconds="compatible_seconds",
        overlapped_seconds="overlapped_seconds",
    )
    shown |= attributes_of(answer, "seconds", "data_bytes", "part_costs") | {
        "memory_bytes": answer.memory_bytes or None
    }
    shown |= {name: getattr(answer, name) if power else None for name in ("energy_j", "max_power_w")}
    return shown | ({"simulation": comparison} if comparison else {})


# --- parts --------------------------------------------------------------------------------------------------------


def _title(timing: Timing) -> str:
    socket = f" ({timing.socket})" if timing.socket else ""
    return f"{timing.application.name} on {timing.machine.name}{socket}, kernel {timing.kernel}"


def _summary(answer: Answer) -> Iterable[tuple[str, str]]:
    timing = answer.timing
    yield "run time", _quantity(answer.seconds, "time") + (", map and par added up" if timing.compatible else "")
    if timing.overlap_s and np.isfinite(answer.seconds):
        original, ours = float(timing.compatible_seconds), float(timing.overlapped_seconds)
        more = f"{100 * (original - ours) / ours:.3g} % more" if ours > 0 else "more"
        if timing.compatible:
            yield "map and par overlapping", f"{_quantity(ours, 'time')}; the original's answer is {more}"
        else:
            yield "original's answer", f"{_quantity(original, 'time')}, {more}: it adds map and par up"
    if answer.has_power:
        yield "energy", _quantity(answer.energy_j, "energy")
        static = _quantity(answer.static_power_w, "power")
        yield "maximum power", f"{_quantity(answer.max_power_w, 'power')}, of which {static} static"
    for name, value in answer.part_costs.items():
        yield PART_COSTS[name], f"{value:,.6g}{' m2' if name == 'die_area' else ''}"
    if answer.data_bytes:
        yield "data", f"{_quantity(sum(answer.data_bytes.values()), 'size')}: {', '.join(answer.data_bytes)}"
    if answer.memory_bytes:
        fits = _fits(answer)
        yield "memory", _quantity(answer.memory_bytes, "size") + (f": {_FITS[fits]}" if fits else "")


_FITS = {"yes": "the data fits", "no": "the data does not fit"}


def _fits(answer: Answer) -> str:
    if not answer.data_bytes or not answer.memory_bytes:
        return ""
    return "yes" if sum(answer.data_bytes.values()) <= answer.memory_bytes else "no"


def _kernel_tables(timing: Timing) -> Iterable[RenderableType]:
    kernels = [one for one in timing.kernels if one.name != timing.kernel]
    if not kernels:
        return
    seconds = Seconds([float(one.seconds) for one in kernels])
    shown = table("Kernels, with what they call", "kernel", "times", f"time [{seconds.unit}]", "fraction")
    for one in kernels[:MOST_ROWS]:
        share = _share(float(one.seconds), float(timing.seconds))
        shown.add_row(one.name, _count(float(one.times)), seconds(float(one.seconds)), share)
    yield shown
    yield from _more(len(kernels))


@dataclass(frozen=True)
class _Use:
    """All uses of a resource with the same traits by a block."""

    resource: str
    amount: float
    seconds: float
    busy: str

    @classmethod
    def of(cls, uses: Sequence[UseTime]) -> _Use:
        first = uses[0]
        seconds, busy_s = (sum(float(getattr(use, name)) for use in uses) for name in ("seconds", "busy_s"))
        traits = f" as {', '.join(first.traits)}" if first.traits else ""
        amount = sum(float(use.amount) for use in uses)
        busy = _share(busy_s, seconds * float(first.instances))
        return cls(first.resource + traits, amount, seconds, busy)


def _use_tables(timing: Timing) -> Iterable[RenderableType]:
    rows = [(block, use) for block in timing.blocks for use in _together(block)]
    if not rows:
        return
    seconds = Seconds([use.seconds for _, use in rows])
    unit = f"[{seconds.unit}]"
    title = "Blocks; what a block uses overlaps, unless it is one resource or excludes each other"
    shown = table(title, "kernel", f"block {unit}", "resource", "amount", f"time {unit}", "busy")
    last = None
    for block, use in rows[:MOST_ROWS]:
        label = f"{block.kernel}: {block.label}" if block.label else block.kernel
        head = ("", "") if block is last else (label, seconds(float(block.seconds)))
        name = use.resource.split(" ")[0]
        amount = _quantity(use.amount, AMOUNTS[name]) if name in AMOUNTS else _four_digits(use.amount)
        shown.add_row(*head, use.resource, amount, seconds(use.seconds), use.busy)
        last = block
    yield shown
    yield from _more(len(rows))
    yield "busy: share of its time for which the instances of a resource are at work; the others wait for the last turn"


def _together(block: BlockTime) -> list[_Use]:
    groups: dict[tuple[object, ...], list[UseTime]] = {}
    for use in block.uses:
        groups.setdefault((use.resource, use.component, use.traits), []).append(use)
    return [_Use.of(uses) for uses in groups.values()]


def _more(rows: int) -> Iterable[str]:
    if rows > MOST_ROWS:
        yield f"... and {rows - MOST_ROWS} more; all of them with --json"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 and np.isfinite(part) and np.isfinite(whole) else "-"


def _four_digits(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "not finite"


def _count(value: float) -> str:
    if not np.isfinite(value):
        return "not finite"
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"


def _quantity(value: float, dimension: str) -> str:
    if not np.isfinite(value):
        return "not finite"
    return format_quantity(value, dimension)


def _power(answer: Answer, value: float, dimension: str) -> str:
    return _quantity(value, dimension) if answer.has_power else "-"


def _warnings(lines: Sequence[str]) -> list[RenderableType]:
    return [*(f"warning: {line}" for line in lines), *([""] if lines else [])]


def table(title: str, *names: str) -> Table:
    """Return a table with these columns; columns of numbers are aligned to the right."""
    return text_table(title, *names, right=[name for name in names if name.split(" [")[0] in NUMBERS])
