"""Feasibility regions: tables, and a plot in the manner of Bhatele et al., IPDPS 2011, Figure 9."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from simcodesign.codesign.feasibility import Cost, Question, Region
from simcodesign.report import canvas
from simcodesign.report.tables import new_table

#: Costs of which one over them is a bandwidth.
PER_BYTE = "network.per_byte"


def region_tables(
    asked: Question, regions: Sequence[Region], least: Mapping[str, float | None]
) -> Iterator[Table | str]:
    """The regions, the linear inequality where there is one, and below which value of a parameter there is nothing."""
    first, second = regions[0].costs
    names = {name: None for region in regions for name in region.values}
    table = new_table(
        f"{asked.workload.name} on {asked.machine.name}: where {asked.rate_flop_per_s:.4g} flop/s are reached",
        "reading", *names, "allowed, s", "without, s", f"most {first.name}", f"most {second.name}",
        *(["GB/s there"] if second.path == PER_BYTE else []),
    )  # fmt: skip
    for region in regions:
        x, y = region.intercepts
        table.add_row(
            _reading(region), *(f"{region.values[name]:g}" if name in region.values else "-" for name in names),
            f"{region.limit_s:.5g}", f"{region.fixed_s:.5g}",
            *([f"{x:.5g}", f"{y:.5g}"] if region.feasible else ["nothing", "nothing"]),
            *([_bandwidth(second, y) if region.feasible else "-"] if second.path == PER_BYTE else []),
        )  # fmt: skip
    yield table
    units = " and ".join(f"{cost.name} in {cost.unit or 'its own unit'}" for cost in (first, second))
    yield f"Seconds allowed, seconds without the two costs, and the most of each without the other: {units}\n"
    linear = next((region for region in regions if region.slopes), None)
    if linear and linear.slopes:
        a, b = linear.slopes
        yield f"Forecast: {a:.10g} {first.name} + {b:.10g} {second.name} <= time allowed - time without costs\n"
    for name, value in least.items():
        if value is not None:
            yield f"Forecast: nothing is feasible for {name} below {value:.4g}\n"


def _reading(region: Region) -> str:
    return region.reading + (f", {','.join(region.effects) or 'none'}" if region.reading == "simulation" else "")


def _bandwidth(cost: Cost, value: float) -> str:
    """What this time of a byte is as a bandwidth."""
    return f"{1e-9 / (value * cost.scale):.4g}"


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
        for region in regions:
            if not region.feasible:
                continue
            colour = canvas.OKABE_ITO[sets.index(tuple(region.values.items())) % len(canvas.OKABE_ITO)]
            where = ", ".join(f"{name} = {value:g}" for name, value in region.values.items())
            style = {"linestyle": "--", "marker": "o", "markersize": 4} if region.reading == "simulation" else {}
            axes.plot(
                region.x, region.y, color=colour, label=f"{_reading(region)}: {where}".removesuffix(": "), **style
            )
        axes.set_title(
            f"{asked.workload.name} on {asked.machine.name}: {asked.rate_flop_per_s:.4g} flop/s below each line"
        )
        axes.set(
            xlabel=f"{first.name} ({first.unit})",
            ylabel=f"{second.name} ({second.unit})",
            xlim=(0, None),
            ylim=(0, None),
        )
        axes.legend()
        canvas.save(figure, path)
