"""Simulated upgrade studies and straw-man systems as tables, sentences and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.describe.machine import Machine
from simcodesign.report.common.numbers import quantity
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.requirements.tables import no_fit_words, number
from simcodesign.studies.requirements.sensitivity import Varied
from simcodesign.studies.requirements.simulated_strawman import SimulatedStrawMan
from simcodesign.studies.requirements.simulated_systems import COUNTERS
from simcodesign.studies.requirements.simulated_upgrade import COSTS, RESOURCES, RatioStep, SimulatedCell
from simcodesign.studies.requirements.upgrade_ranking import AS_GOOD, Ranking, rankings

#: Columns of requirements, counters and seconds, I/O last.
RESOURCE_HEADS = dict(zip(RESOURCES, ("comp", "comm", "mem", "I/O"), strict=True))
COUNTER_HEADS = dict(zip(COUNTERS, ("flop", "bytes", "loads", "disk"), strict=True))
PART_HEADS = dict(zip(RESOURCES.values(), ("comp s", "comm s", "mem s", "I/O s"), strict=True))
#: Largest relative difference between counters and requirements that is rounding.
ROUNDING = 1e-9
#: Ratios that change by less do not depend on a number.
WORTH_TELLING = 0.01
PICK_COLUMNS = {
    "requirements": "requirements",
    "weighted": "weighted by times",
    "simulated": "simulated time",
    "full_requirements": "requirements",
    "full_weighted": "weighted by times",
    "full_forecast": "forecast time",
}


def simulated_upgrade_tables(
    cells: Sequence[SimulatedCell], varied: Sequence[Varied], *, simulated: bool
) -> Iterator[RenderableType]:
    """Yield the simulations, ratios of requirements and of simulated quantities, and what explains them.

    What explains the differences, which upgrade each picks, and what all this depends on; ``simulated``: whether the
    numbers were varied in simulations.
    """
    yield paragraph(_scaling_words(cells))
    yield _resource_table(cells)
    yield paragraph(_counter_words(cells))
    yield _time_table(cells)
    for cell in _unfit(cells):
        yield paragraph(f"{cell.workload}, {cell.upgrade}: {no_fit_words(cell.study.new.fit)}")
    ranked = rankings(cells)
    yield _pick_table(ranked)
    yield from (paragraph(text) for text in _pick_words(ranked, cells[0].full.machine))
    if varied:
        yield _varied_table(varied, simulated)
        yield from (paragraph(text) for text in _varied_words(varied, cells[0].old.machine))


def _unfit(cells: Sequence[SimulatedCell]) -> list[SimulatedCell]:
    return [cell for cell in cells if cell.new is None]


def _scaling_words(cells: Sequence[SimulatedCell]) -> str:
    """Return the scaling rule, and how far it went."""
    whole = cells[0].full.machine
    counts: dict[int, list[str]] = {}
    for cell in cells:
        names = counts.setdefault(cell.old.processes, [])
        names += [cell.workload] if cell.workload not in names else []
    parts = [
        f"{', '.join(names)} with {ranks} of {whole.most_ranks} processes ({machine.network.topology.label})"
        for ranks, names in counts.items()
        for machine in [next(cell.old.machine for cell in cells if cell.old.processes == ranks)]
    ]
    return (
        f"Simulated on {whole.name} ({whole.network.topology.label}): {'; '.join(parts)}. Scaling: nodes as "
        "they are, fewer of them in a network of the same kind; a problem that fills the memory of every process at "
        "that number of processes. An upgrade adds nodes, or processors in the same nodes"
    )


def _resource_table(cells: Sequence[SimulatedCell]) -> Table:
    disks = any(cell.study.uses_disks for cell in cells)
    needs, counters, parts = (_without_io(names, disks) for names in (RESOURCE_HEADS, COUNTER_HEADS, PART_HEADS))
    heads = ("n", "N", *needs.values(), *counters.values(), *parts.values())
    table = new_table(
        "Ratios: requirements | counted in the simulation | simulated seconds", "workload", "upgrade", *heads
    )
    table.columns[1].justify = "left"
    for cell, first in _by_workload(cells, table):
        ratios = [cell.study.ratios[name] for name in ("size", "overall", *needs)]
        simulated = [cell.counter_ratios[name] for name in counters] + [cell.component_ratios[name] for name in parts]
        table.add_row(first, cell.upgrade, *(number(value) for value in [*ratios, *simulated]))
    return table


def _without_io(heads: Mapping[str, str], disks: bool) -> dict[str, str]:
    """Return the column headings, without the heading of I/O (the last) if nothing is read or written."""
    return dict(list(heads.items())[: None if disks else -1])


def _by_workload(cells: Sequence[SimulatedCell], table: Table) -> Iterator[tuple[SimulatedCell, str]]:
    """Each cell, and the workload if it is the first of it; a section of the table for each workload."""
    before = ""
    for cell in cells:
        if cell.workload != before:
            table.add_section()
        yield cell, "" if cell.workload == before else cell.workload
        before = cell.workload


def _counter_words(cells: Sequence[SimulatedCell]) -> str:
    errors = [cell.counter_error for cell in cells if math.isfinite(cell.counter_error)]
    worst = max(errors, default=math.nan)
    if worst <= ROUNDING:
        return (
            f"Counters: in all {len(errors)} cells the simulation's have the ratios of the requirements, bytes "
            f"as the messages of the algorithms count them (largest relative difference {worst:.1g}). mem is loads and "
            f"stores times stack distance, loads without it; seconds are those on the critical path"
        )
    return f"Counters: the simulation's differ from the requirements by up to {worst:.2%}"


def _time_table(cells: Sequence[SimulatedCell]) -> Table:
    heads = ("requirements", "weighted", "forecast", "simulated", "per problem", "explained by", "then by")
    table = new_table(
        "Ratios of time, and what leads from the requirements to the simulated one", "workload", "upgrade", *heads
    )
    for column in (1, 7, 8):
        table.columns[column].justify = "left"
    for cell, first in _by_workload(cells, table):
        forecast = next((step.ratio for step in cell.steps if step.name == COSTS), math.nan)
        values = (cell.requirement_ratio, cell.implied_ratio, forecast, cell.time_ratio, cell.time_per_problem)
        shown = [number(value) if cell.new is not None else "-" for value in values]
        explained = [_step(cell.explained_by(weights=weights), cell) for weights in (True, False)]
        table.add_row(first, cell.upgrade, *shown, *explained)
    return table


def _step(step: RatioStep | None, cell: SimulatedCell) -> str:
    """Return a step, and by how much of the simulated ratio it changes it."""
    if step is None:
        return "-" if cell.new is None else "nothing"
    return f"{step.name} {100 * step.change / cell.time_ratio:+z.2g}%"


def _pick_table(ranked: Sequence[Ranking]) -> Table:
    title = "Picked by the least ratio for a unit of the overall problem: smaller machine | whole machine"
    table = new_table(title, "workload", *PICK_COLUMNS.values())
    for column in table.columns[1:]:
        column.justify = "left"
    for ranking in ranked:
        table.add_row(ranking.workload, *(_picks(ranking, way) for way in PICK_COLUMNS))
    return table


def _pick_words(ranked: Sequence[Ranking], whole: Machine) -> Iterator[str]:
    yield (
        "Requirements rank by the geometric mean of their ratios, weighted ones by the times of the resources on "
        f"the base; all over the ratio of N, for the problem grows as well. Within {AS_GOOD:.0%} upgrades are as good"
    )
    pairs = {
        ("requirements", "simulated"): "The requirements, against the simulated time",
        ("weighted", "simulated"): "The weighted requirements, against the simulated time",
        ("full_requirements", "full_forecast"): f"The requirements on all of {whole.name}, against the forecast",
        ("full_weighted", "full_forecast"): f"The weighted requirements on all of {whole.name}, against the forecast",
    }
    for (way, against), words in pairs.items():
        other = [ranking for ranking in ranked if ranking.verdict(way, against) != "same"]
        parts = [f"{ranking.workload} ({_picks(ranking, way)}, not {_picks(ranking, against)})" for ranking in other]
        differing = f"other picks for {len(other)} of {len(ranked)}: {'; '.join(parts)}"
        yield f"{words}: {differing if parts else f'the same picks for all {len(ranked)}'}"


def _picks(ranking: Ranking, way: str) -> str:
    return " = ".join(ranking.picks(way)) or "none"


def _varied_table(varied: Sequence[Varied], simulated: bool) -> Table:
    how = "simulated with all effects" if simulated else "by the forecast"
    table = new_table(
        f"Sensitivity of the time ratios ({how})", "number", "times", "largest change", "in", "other picks"
    )
    for column in (3, 4):
        table.columns[column].justify = "left"
    before = ""
    for one in varied:
        largest = one.largest_change
        others = "; ".join(f"{name}: {' = '.join(picks) or 'none'}" for name, picks in one.other_picks.items())
        if abs(largest.relative) < WORTH_TELLING and not others and not simulated:
            continue
        table.add_row(
            "" if one.name == before else one.name,
            f"{one.factor:g}",
            f"{100 * largest.relative:+z.2g}%",
            f"{largest.workload}, {largest.upgrade}" if abs(largest.relative) > ROUNDING else "",
            others,
        )
        before = one.name
    return table


def _varied_words(varied: Sequence[Varied], machine: Machine) -> Iterator[str]:
    """Numbers that make no difference, and the source of the numbers."""
    names = dict.fromkeys(one.name for one in varied)
    matter = {one.name for one in varied if abs(one.largest_change.relative) >= WORTH_TELLING or one.other_picks}
    idle = [name for name in names if name not in matter]
    if idle:
        yield f"No ratio changes by {WORTH_TELLING:.0%} with {', '.join(idle)}"
    yield f"The file of {machine.name} lists which of its numbers are public and which assumed: {machine.source}"


# Straw-man systems.

STRAW_ROWS = {
    "full": "whole systems, computation alone",
    "small": "smaller systems, computation alone",
    "simulated": "smaller systems, simulated",
}


def simulated_straw_man_tables(studies: Sequence[SimulatedStrawMan]) -> Iterator[RenderableType]:
    """Yield times of the largest common problem over the least of all systems, and what explains the differences."""
    names = [system.machine.name for system in studies[0].full.systems]
    table = new_table("Time for the largest common problem, over the least of all systems", "workload", "", *names)
    table.columns[1].justify = "left"
    for study in studies:
        table.add_section()
        for place, (row, values) in enumerate(study.ratios().items()):
            cells = [number(value) for value in values]
            table.add_row("" if place else study.full.workload.name, STRAW_ROWS[row], *cells)
    yield table
    yield from (paragraph(text) for study in studies for text in _straw_words(study))


def _straw_words(study: SimulatedStrawMan) -> Iterator[str]:
    name, scale = study.full.workload.name, study.scale
    yield (
        f"{name}: processors divided by {number(scale.processors)} on all systems (nodes by {number(scale.nodes)}, "
        f"processors of a node by {number(scale.processors_per_node)}); a processor keeps its rate, its memory and its "
        f"share of the memory bandwidth, and a message its cost"
    )
    for system, run in zip(study.small.systems, study.runs, strict=True):
        if not system.fit.fits:
            yield f"{name} on {system.machine.name}, smaller: {no_fit_words(system.fit)}"
        elif run is not None:
            parts = run.simulation.components
            shares = ", ".join(f"{part} {quantity(float(time), 's')}" for part, time in parts.items() if time)
            yield f"{name} on {system.machine.name}: {run.processes} processes, {shares}"
