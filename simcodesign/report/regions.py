"""Feasibility regions: tables, and a plot in the manner of Bhatele et al., IPDPS 2011, Figure 9."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from simcodesign.codesign.feasibility import Cost, Question, Region
from simcodesign.report import canvas
from simcodesign.report.tables import new_table
from simcodesign.units import format_quantity

#: Costs of which one over them is a bandwidth.
PER_BYTE = "network.per_byte"
#: Powers of ten and their prefixes, for axes in seconds.
PREFIXES = ((0, ""), (-3, "m"), (-6, "u"), (-9, "n"))


def region_tables(
    asked: Question, regions: Sequence[Region], least: Mapping[str, float | None]
) -> Iterator[Table | str]:
    """The regions, the linear inequality where there is one, and below which value of a parameter there is nothing."""
    first, second = regions[0].costs
    names = [name for name in regions[0].values if len({region.values[name] for region in regions}) > 1]
    table = new_table(
        f"{asked.workload.name} on {asked.machine.name}: where {asked.rate_flop_per_s:.4g} flop/s are reached",
        "reading", *names, "allowed", "without", f"most {first.name}", f"most {second.name}",
        *(["bandwidth"] if second.path == PER_BYTE else []),
    )  # fmt: skip
    for region in regions:
        x, y = region.intercepts
        table.add_row(
            region.reading, *(f"{region.values[name]:g}" for name in names),
            format_quantity(region.limit_s, "time"), format_quantity(region.fixed_s, "time"),
            *([_amount(first, x), _amount(second, y)] if region.feasible else ["nothing", "nothing"]),
            *([_bandwidth(second, y) if region.feasible else "-"] if second.path == PER_BYTE else []),
        )  # fmt: skip
    yield table
    per = f" {second.unit.removeprefix('s ')}" if second.unit.startswith("s per") else ""
    yield (
        f"Time allowed, time without the two costs, and the most of each cost without the other: {first.name} is "
        f"{first.path}, {second.name} is {second.path}{per}\n"
    )
    same = [f"{name} = {value:g}" for name, value in regions[0].values.items() if name not in names]
    if same:
        yield f"All with {', '.join(same)}\n"
    effects = next((region.effects for region in regions if region.reading == "simulation"), None)
    if effects is not None:
        yield f"Simulated with {', '.join(effects) or 'no effects'}\n"
    linear = next((region for region in regions if region.slopes), None)
    if linear and linear.slopes:
        a, b = linear.slopes
        yield f"Forecast: {a:.10g} {first.name} + {b:.10g} {second.name} <= time allowed - time without costs\n"
    for name, value in least.items():
        if value is not None:
            yield f"Forecast: nothing is feasible for {name} below {value:.4g}\n"


def _amount(cost: Cost, value: float) -> str:
    """A cost with its unit."""
    if not cost.unit.startswith("s"):
        return f"{value:.5g} {cost.unit}".rstrip()
    return format_quantity(value, "per_byte" if cost.unit == "s/B" else "time")


def _bandwidth(cost: Cost, value: float) -> str:
    """What this time of a byte is as a bandwidth."""
    return format_quantity(1 / (value * cost.scale), "bandwidth")


def _axis(cost: Cost, values: Iterable[float]) -> tuple[float, str]:
    """By what the numbers of an axis are multiplied, and its label: seconds get a prefix that fits the largest."""
    if not cost.unit.startswith("s"):
        return 1.0, f"{cost.name} ({cost.unit})".removesuffix(" ()")
    largest = max(values, default=0.0)
    scale, prefix = next(((10.0**-power, prefix) for power, prefix in PREFIXES if largest >= 10.0**power), (1e12, "p"))
    return scale, f"{cost.name} ({prefix}{cost.unit})"


def region_dict(region: Region) -> dict[str, object]:
    """Plain lists and numbers, as for JSON."""
    first, second = region.costs
    return {
        "reading": region.reading,
        "effects": list(region.effects),
        "values": dict(region.values),
        "over": [{"name": cost.name, "sets": cost.path, "unit": cost.unit} for cost in (first, second)],
        "limit_s": region.limit_s,
        "fixed_s": region.fixed_s,
        "feasible": region.feasible,
        "intercepts": list(region.intercepts),
        "slopes": region.slopes and list(region.slopes),
        "boundary": [region.x.tolist(), region.y.tolist()],
        "runs": region.runs,
    }


def region_plot(asked: Question, regions: Sequence[Region], path: str | Path) -> None:
    """The boundaries: forecasts as lines, simulations as marked lines of the same colour."""
    first, second = regions[0].costs
    with canvas.styled(path) as matplotlib:
        figure = canvas.new_figure(matplotlib, 6.4, 4.4)
        axes = figure.subplots()
        sets = list(dict.fromkeys(tuple(region.values.items()) for region in regions))
        drawn = [region for region in regions if region.feasible]
        (right, xlabel), (up, ylabel) = (
            _axis(cost, (region.intercepts[place] for region in drawn)) for place, cost in enumerate((first, second))
        )
        for region in drawn:
            colour = canvas.OKABE_ITO[sets.index(tuple(region.values.items())) % len(canvas.OKABE_ITO)]
            where = ", ".join(f"{name} = {value:g}" for name, value in region.values.items())
            style = {"linestyle": "--", "marker": "o", "markersize": 4} if region.reading == "simulation" else {}
            label = f"{region.reading}: {where}".removesuffix(": ")
            axes.plot(right * region.x, up * region.y, color=colour, label=label, **style)
        axes.set_title(
            f"{asked.workload.name} on {asked.machine.name}: {asked.rate_flop_per_s:.4g} flop/s below each line"
        )
        axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, None), ylim=(0, None))
        axes.legend()
        canvas.save(figure, path)
