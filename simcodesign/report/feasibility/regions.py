"""Feasibility regions: tables, and a plot in the manner of Bhatele et al., IPDPS 2011, Figure 9."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.core.units import DIMENSIONS, rounded_toward
from simcodesign.describe.constants import dimension_at
from simcodesign.report.common import plot_style
from simcodesign.report.common.numbers import quantity, shared_unit
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.studies.feasibility.boundary import Spot
from simcodesign.studies.feasibility.cost_axes import CostAxis
from simcodesign.studies.feasibility.regions import SIMULATION_ACCURACY, STRAIGHT, FeasibilityQuestion, Region

#: Costs of which one over them is a bandwidth.
PER_BYTE = ("network.per_byte", "network.G")
HOPS = "network.hop_latency"


def region_tables(
    every: Sequence[FeasibilityQuestion], regions: Sequence[Region], least: Mapping[str, float | None]
) -> Iterator[RenderableType]:
    """Yield the regions, what they are of, and their boundaries by simulation.

    The linear inequality if there is one, boundaries point by point, and below which value of a parameter there is
    nothing.

    ``every``: the questions, in the order of the regions; the regions hold one answer by each reading.
    """
    names = _varied(every)
    yield _intercepts(every, regions, names)
    yield from (paragraph(text) for text in _words(every, regions, names))
    simulated = [region for region in regions if region.reading == "simulation" and region.feasible]
    if simulated:
        yield _boundaries(regions, names)
        yield from (paragraph(text) for text in _straightness(simulated, names))
        yield from (paragraph(text) for text in _gap_words(simulated, names))
    linear = next((region for region in regions if region.slopes), None)
    if linear and linear.slopes:
        terms = [_term(slope, cost) for slope, cost in zip(linear.slopes, linear.costs, strict=True)]
        yield paragraph(f"Forecast: {' + '.join(terms)} <= time allowed - time {_without(linear)}")
    for name, value in least.items():
        if value is not None:
            yield paragraph(f"Forecast: {name} must be at least {_toward(value, up=True):.4g}")


def _varied(every: Sequence[FeasibilityQuestion]) -> list[str]:
    """Names of the values that differ between the regions."""
    first = _values(every[0])
    return [name for name in first if len({_values(one).get(name) for one in every}) > 1]


def _values(question: FeasibilityQuestion) -> dict[str, str]:
    """Return settings, as texts: constants with their units."""
    constants = question.machine.constants()
    return {
        name: quantity(float(np.max(constants[name])), DIMENSIONS[dimension_at(name) or "count"])
        if name in constants
        else text
        for name, text in question.changes.items()
    } | {name: f"{value:g}" for name, value in question.parameters.items()}


def _intercepts(every: Sequence[FeasibilityQuestion], regions: Sequence[Region], names: Sequence[str]) -> Table:
    """One row a region: the time allowed if it differs, the time without both costs, and the most of each."""
    first, second = regions[0].costs
    inverse, allowed = second.path in PER_BYTE, len({region.limit_s for region in regions}) > 1
    question = every[0]
    table = new_table(
        f"{question.workload.name} on {question.machine.label}: where {_goal(question)}",
        "reading",
        *map(_short, names),
        *(["allowed"] if allowed else []),
        _without(regions[0]).removesuffix(" costs"),
        f"max {_short(first.name)}",
        f"max {_short(second.name)}",
        *(["bandwidth"] if inverse else []),
    )
    for column in table.columns:
        column.no_wrap = True
    for place, region in enumerate(regions):
        x, y = region.intercepts
        values = _values(every[place % len(every)])
        table.add_row(
            region.reading,
            *(values[name] for name in names),
            *([quantity(region.limit_s, "s")] if allowed else []),
            quantity(region.fixed_s, "s"),
            *([_most(first, x), _most(second, y)] if region.feasible else ["nothing", "nothing"]),
            *([_bandwidth(second, y) if region.feasible else "-"] if inverse else []),
        )
    return table


def _short(name: str) -> str:
    """As the head of a column: without the part of the machine."""
    return name.partition(".")[2] or name


def _without(region: Region) -> str:
    """Name of the time with both costs at their least."""
    return "at least" if any(cost.low for cost in region.costs) else "without costs"


def _words(every: Sequence[FeasibilityQuestion], regions: Sequence[Region], names: Sequence[str]) -> Iterator[str]:
    """Caption of the table, and facts that its rows do not show."""
    question, (first, second) = every[0], regions[0].costs
    yield ", ".join(_setting_words(every, names))
    limits = {region.limit_s for region in regions}
    yield (
        (f"Time allowed: {quantity(question.limit_s, 's')}. " if len(limits) == 1 else "")
        + f"The most of each cost with the other at its least{_symbol_words(first, second)}"
    )
    yield from (_floor_words(cost) for cost in (first, second) if cost.low)
    for cost, reached in zip((first, second), zip(*(region.capped for region in regions), strict=True), strict=True):
        if any(reached):
            yield f"{cost.name}: {_amount(cost, cost.high)} is the most that is allowed, whatever the time"
    for place, region in enumerate(regions):
        if not region.feasible:
            yield _nothing_words(every[place % len(every)], region, names)
    rate = question.rate_flop_per_s
    if rate and rate > question.peak_flop_per_s:
        yield (
            f"{quantity(rate, 'flop/s')} are above the peak of the machine, "
            f"{quantity(question.peak_flop_per_s, 'flop/s')} of {question.machine.processors} processors"
        )
    if HOPS in names and question.machine.network.distance == "none":
        yield "Hops are not in the forecast (network.distance: none)"
    simulated = [region for region in regions if region.reading == "simulation"]
    if simulated:
        runs = sum(region.runs for region in simulated)
        yield f"Simulated with {', '.join(simulated[0].effects) or 'no effects'}: {runs} simulation{'s' * (runs > 1)}"


def _goal(question: FeasibilityQuestion) -> str:
    """Return the goal, as a clause."""
    if question.rate_flop_per_s is None:
        return f"the time is at most {quantity(question.limit_s, 's')}"
    return f"{quantity(question.rate_flop_per_s, 'flop/s')} are reached"


def _setting_words(every: Sequence[FeasibilityQuestion], names: Sequence[str]) -> Iterator[str]:
    """Ranks, nodes and hop latency if all have the same, and what was set."""
    question = every[0]
    sizes = {(one.design_point().ranks, one.machine.nodes) for one in every}
    if len(sizes) == 1:
        yield "{} ranks on {} nodes".format(*sizes.pop())
    values = {name: text for name, text in _values(question).items() if name not in (*names, "nodes", "P")}
    if HOPS not in {cost.path for cost in question.costs} | {*names, *question.changes}:
        values |= {HOPS: quantity(float(np.max(question.machine.network.hop_latency_s)), "s")}
    if HOPS in values and question.machine.network.distance == "none":
        values[HOPS] += " (hops are not in the forecast)"
    yield from (f"{name} = {text}" for name, text in values.items())


def _symbol_words(*costs: CostAxis) -> str:
    """Meanings of symbols."""
    definitions = []
    for cost in costs:
        per = f" {cost.unit.removeprefix('s ')}" if cost.unit.startswith("s per") else ""
        definitions += [f"{cost.name} is {cost.path}{per}"] if cost.name != cost.path else []
    return f": {', '.join(definitions)}" if definitions else ""


def _floor_words(cost: CostAxis) -> str:
    why = "links or interfaces of the machine are no faster" if cost.path in PER_BYTE else "that is its least value"
    return f"{cost.name} begins at {_amount(cost, cost.low)}: {why}"


def _nothing_words(question: FeasibilityQuestion, region: Region, names: Sequence[str]) -> str:
    which = ", ".join([region.reading, *(f"{name} = {_values(question)[name]}" for name in names)])
    if any(cost.low for cost in region.costs):
        rest = "with both costs at their least it takes"
    else:
        rest = "the work alone takes" if region.reading == "forecast" else "the work, with these effects, takes"
    took = f"{quantity(region.fixed_s, 's')} of {quantity(region.limit_s, 's')} allowed"
    return f"{which[0].upper()}{which[1:]}: nothing is feasible, {rest} {took}"


def _boundaries(regions: Sequence[Region], names: Sequence[str]) -> Table:
    """Return the points of the simulated boundaries, with the forecast at the same first cost; all rounded down."""
    first, second = regions[0].costs
    simulated = [region for region in regions if region.reading == "simulation"]
    forecasts = [region for region in regions if region.reading == "forecast"]
    (right, xunit), (up, yunit) = (
        shared_unit((region.intercepts[place] for region in regions), cost.unit)
        for place, cost in enumerate((first, second))
    )
    inverse = second.path in PER_BYTE
    allowed = f"{_short(second.name)} ({yunit.partition(' ')[0]})"
    table = new_table(
        "Boundaries by simulation",
        f"{_short(first.name)} ({xunit})",
        *([f"forecast: {allowed}"] if forecasts else []),
        f"simulation: {allowed}",
        *(["bandwidth"] if inverse else []),
    )
    table.columns[0].justify = "right"
    for place, region in enumerate(simulated):
        if names and region.feasible:
            table.add_section()
            table.add_row(", ".join(_given(region, names)))
        for x, y in zip(region.x, region.y, strict=True):
            row = [f"{right * _toward(float(x), up=False):.4g}"]
            if forecasts:
                row.append(_beside(forecasts[place], float(x), up))
            row.append(f"{up * _toward(float(y), up=False):.4g}")
            table.add_row(*row, *([_bandwidth(second, float(y))] if inverse else []))
    return table


def _given(region: Region, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        value = region.values[name]
        yield f"{name} = {value}" if isinstance(value, str) else f"{name} = {value:g}"


def _beside(region: Region, x: float, scale: float) -> str:
    """Return the second cost on the boundary of a forecast at this first one."""
    if not region.feasible or x > region.x[-1]:
        return "nothing"
    return f"{scale * _toward(float(np.interp(x, region.x, region.y)), up=False):.4g}"


def _straightness(simulated: Sequence[Region], names: Sequence[str]) -> Iterator[str]:
    """How right straight lines between the points are, and where a boundary bends."""
    off = max(region.off for region in simulated)
    if off <= STRAIGHT:
        yield f"Between these points the boundary is a straight line, to {STRAIGHT:.0%} of the most of each cost"
    elif np.isinf(off):
        yield "Nothing is known of the boundary between two points alone; --points 3 or more follow it"
    else:
        yield f"Between these points the boundary may be off a straight line by {off:.0%}; more --points tell"
    for region in simulated:
        if region.bend and off <= STRAIGHT:
            which = " for " * bool(names) + ", ".join(_given(region, names))
            x, y = (_amount(cost, value) for cost, value in zip(region.costs, region.bend, strict=True))
            yield f"It bends{which} at {region.costs[0].name} = {x}, {region.costs[1].name} = {y}"


def _gap_words(simulated: Sequence[Region], names: Sequence[str]) -> Iterator[str]:
    """Yield the gaps of the region: on the path to a point of its boundary the rate is not reached."""
    for region in simulated:
        which = " for " * bool(names) + ", ".join(_given(region, names))
        for gap in region.gaps:
            here, there = (_spot_words(region.costs, spot) for spot in gap)
            yield (
                f"Not one piece{which}: between {here} and {there} the rate is not reached, beyond it is. The table "
                "has the outermost points; gaps of less than half a percent may be missed"
            )


def _spot_words(costs: Sequence[CostAxis], spot: Spot) -> str:
    return ", ".join(f"{cost.name} = {_amount(cost, value)}" for cost, value in zip(costs, spot, strict=True))


def _term(slope: float, cost: CostAxis) -> str:
    name = f"({cost.name} - {_amount(cost, cost.low)})" if cost.low else cost.name
    return f"{slope:.10g} {name}"


def _amount(cost: CostAxis, value: float) -> str:
    """Return a cost with its unit, without what it is charged per."""
    return quantity(value, cost.unit.partition(" per ")[0])


def _toward(value: float, up: bool) -> float:
    """Round a bound to four digits, to its feasible side."""
    return rounded_toward(value, 4, up, SIMULATION_ACCURACY)


def _most(cost: CostAxis, value: float) -> str:
    """Return the largest feasible cost: rounded down, so that it is feasible as printed."""
    return _amount(cost, _toward(value, up=False))


def _bandwidth(cost: CostAxis, value: float) -> str:
    """Return the bandwidth of this time per byte, the smallest that suffices: rounded up."""
    return quantity(_toward(1 / (value * cost.scale), up=True), "B/s") if value else "unlimited"


def region_dict(region: Region) -> dict[str, Any]:
    """Return a region as JSON has it; the boundary is (x, y)."""
    shown = fields_of(region, "feasible", "intercepts", "bend", without=("costs", "x", "y"), off_straight="off")
    over = [attributes_of(cost, "name", "unit", "low", "high", sets="path") for cost in region.costs]
    return shown | {"over": over, "boundary": [region.x, region.y]}


def region_plot(every: Sequence[FeasibilityQuestion], regions: Sequence[Region], path: str | Path) -> None:
    """Draw the boundaries.

    Forecasts as lines, simulations as marked lines of the same colour, as markers alone where too few points were
    looked at to know what is between them.
    """
    question, names = every[0], _varied(every)
    with plot_style.styled(path) as matplotlib:
        figure = plot_style.new_figure(matplotlib, 6.4, 4.4)
        axes = figure.subplots()
        feasible = [(place % len(every), region) for place, region in enumerate(regions) if region.feasible]
        (right, xunit), (up, yunit) = (
            shared_unit((region.intercepts[place] for _, region in feasible), cost.unit)
            for place, cost in enumerate(question.costs)
        )
        alike = _alike(every, feasible, names)
        for (place, region), words in alike:
            axes.plot(
                right * region.x,
                up * region.y,
                color=plot_style.OKABE_ITO[place % len(plot_style.OKABE_ITO)],
                label=plot_style.wrapped(words, 2.8, 8),
                clip_on=False,
                **_style(region),
            )
        axes.set_title(
            plot_style.plain(f"{question.workload.name} on {question.machine.label}: {_goal(question)} below each line")
        )
        xlabel, ylabel = (
            plot_style.plain(f"{cost.name} ({unit})".removesuffix(" ()"))
            for cost, unit in zip(question.costs, (xunit, yunit), strict=True)
        )
        left, bottom = (scale * cost.low for scale, cost in zip((right, up), question.costs, strict=True))
        axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(left, None), ylim=(bottom, None))
        if len(alike) > 1 or any("same" in words for _, words in alike):
            axes.legend()
        elif not alike:
            axes.text(0.5, 0.5, "nothing is feasible", ha="center", transform=axes.transAxes)
        plot_style.save(figure, path)


def _alike(
    every: Sequence[FeasibilityQuestion], feasible: Sequence[tuple[int, Region]], names: Sequence[str]
) -> list[tuple[tuple[int, Region], str]]:
    """Regions with their labels; of regions with the same boundary the first, because they would hide each other."""
    groups: list[tuple[tuple[int, Region], list[str]]] = []
    for place, region in feasible:
        values = _values(every[place])
        words = ", ".join(f"{name} = {values[name]}" for name in names)
        same = next((one for one in groups if _same_boundary(one[0][1], region)), None)
        if same is None:
            groups.append(((place, region), [words]))
        else:
            same[1].append(words)
    return [
        (first, f"{first[1].reading}: {' | '.join(words)}".removesuffix(": ") + " (all the same)" * (len(words) > 1))
        for first, words in groups
    ]


def _same_boundary(one: Region, other: Region) -> bool:
    known = one.reading == other.reading and len(one.x) == len(other.x)
    return known and all(
        np.allclose(mine, its, rtol=1e-9, atol=0) for mine, its in ((one.x, other.x), (one.y, other.y))
    )


def _style(region: Region) -> dict[str, object]:
    if region.reading == "forecast":
        return {}
    return {"linestyle": "--" if region.off <= STRAIGHT else "none", "marker": "o", "markersize": 4}
