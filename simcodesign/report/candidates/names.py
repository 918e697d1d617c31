"""Names of candidates among each other, and their times in tables and plots."""

from __future__ import annotations

import math
from collections.abc import Iterable

from simcodesign.core.units import DIMENSIONS, format_quantity
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.variants import WITH, variant_label
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.replication.quantities import QuantityFormat
from simcodesign.studies.candidates.several import Candidate, SeveralComparisons
from simcodesign.studies.replication.output_analysis import Interval


def label(one: Candidate, several: SeveralComparisons) -> str:
    """Name of a candidate among the others: by its machine, its workload, or both."""
    parts = [one.workload] if len(several.workloads) > 1 else []
    parts += [machine_names(several)[one.machine]] if len(several.machines) > 1 or not parts else []
    return " on ".join(parts)


def whole_name(one: Candidate, several: SeveralComparisons) -> str:
    """Name of a candidate among the others, with its value of the axis."""
    return ", ".join([label(one, several), *place_of(one)])


def place_of(one: Candidate) -> list[str]:
    """Return the value of the axis, if there is one, in a list."""
    return [f"{name} = {value:,.6g} {unit_of(name)}".rstrip() for name, value in one.at.items()]


def unit_of(axis: str) -> str:
    """Return the SI unit of a constant; empty if it has none, or an unknown one."""
    return DIMENSIONS["bandwidth" if axis.endswith("bandwidth") else dimension_at(axis) or "count"]


def machine_names(several: SeveralComparisons) -> dict[str, str]:
    """Name of each machine among the others: without settings of all of them, which are in the title."""
    shared = _set_of_all(several)
    return {name: name.removesuffix(f"{WITH}{shared}") if shared else name for name in several.machines}


def _set_of_all(several: SeveralComparisons) -> str:
    """Return the settings of all of several machines."""
    rest = {name.partition(WITH)[2] for name in several.machines}
    return rest.pop() if len(rest) == 1 and len(several.machines) > 1 else ""


def listed(names: Iterable[str]) -> str:
    """Names in a list; separated by semicolons if one has commas."""
    every = list(names)
    return ("; " if any("," in name for name in every) else ", ").join(every)


def title_of(several: SeveralComparisons) -> str:
    """Which workloads on which machines."""
    shared = _set_of_all(several)
    machines = f"{listed(machine_names(several).values())}{f', all{WITH}{shared}' if shared else ''}"
    return f"{listed(_workloads(several))} on {machines}"


def _workloads(several: SeveralComparisons) -> dict[str, None]:
    """Return the workloads, with what was set of each; what differs along the axis is none of that."""
    names: dict[str, None] = {}
    for one in several.comparisons:
        settings = [text for text in one.comparison.forecast.settings if text.partition("=")[0] not in one.at]
        names[variant_label(one.workload, settings)] = None
    return names


def time_cell(time: Interval, show: Seconds | None, sign: str = "") -> str:
    """Return a time of a table, with the half-width of its interval; with its unit if there is none of the table."""
    if show is None:
        known = time.same or not math.isfinite(time.half_width)
        return format_quantity(time.mean, "time") if known else QuantityFormat("s").wide(time)
    if time.same or not math.isfinite(time.half_width):
        return show(time.mean, sign)
    return (sign if time.mean > 0 else "") + QuantityFormat.of(show).wide(time)
