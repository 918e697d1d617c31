"""Results of one reading as tables and sentences for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.forecast_parts import Bounds, FailureForecast, SharedTime
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Failures, RankTimes
from simcodesign.core.stations.uses import StationUses
from simcodesign.core.units import FloatOrArray, format_quantity, told_apart
from simcodesign.report.common.numbers import Digits, Seconds, grouped
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.results.limits import limits_table, memory_bound_line, processor_limits_table

#: Maximum number of sequences of operations listed.
MAX_SEQUENCES = 3
#: Name of the first step of an open stream, whose forecast has queues.
NOBODY_WAITS = "the queueing of the forecast: without effects no request waits"


#: Why a result may have no bounds.
NO_BOUNDS = (
    "programs in Python and operations of very many messages have none, and of many ranks "
    "`forecast --bounds` computes them"
)
#: The method that gave the fraction of a level, in words.
HIT_WORDS = {
    "full": "stack model, fully associative",
    "binomial": "stack model, binomial correction",
    "sets": "the sets, access by access",
    "synthetic": "the sets, by a synthetic stream",
    "counted": "as counted",
}


def basis_line(forecast: Result) -> list[RenderableType]:
    """Basis of a forecast, if it is not the sum over the program."""
    return [paragraph(f"The forecast is the {'; '.join(forecast.basis)}.")] if forecast.basis else []


def notes_lines(result: Result) -> list[RenderableType]:
    """Return notes for a reader of a result."""
    return [paragraph(f"Note: {'; '.join(result.notes)}.")] if result.notes else []


def forecast_tables(result: Result) -> list[RenderableType]:
    """Return a forecast of one design point."""
    volumes = facts(_volumes(result))
    parts: list[RenderableType] = [_headline(result), phase_table(result), volumes, *served_tables(result)]
    parts += [*limits_table(result), *memory_bound_line(result)]
    parts += algorithm_table(result)
    parts += [paragraph(f"Queueing formulas used: {'; '.join(result.formulas)}.")] if result.formulas else []
    if result.response_s is not None:
        return parts
    parts += [*basis_line(result)]
    parts += [*pipelined_lines(result), *longest_path_line(result), *bubble_line(result)]
    parts += [*shared_links_line(result), *loaded_line(result), *failures_line(result)]
    if result.bounds is None:
        return [*parts, paragraph(f"Bounds of the simulated time were not computed: {NO_BOUNDS}.")]
    return [*parts, bounds_table(result.bounds), *notes_lines(result)]


def algorithm_table(result: Result) -> list[RenderableType]:
    """Algorithms of collective operations with ``algorithm: auto``; nothing if there are none."""
    if not result.algorithms:
        return []
    table = new_table("Algorithms by ranks and bytes", "phase", "operation", "algorithm", "ranks", "bytes")
    for one in result.algorithms:
        ranks = _range(f"{one.min_ranks}", f"{one.max_ranks}")
        size = _range(*(format_quantity(value, "size") for value in (one.min_bytes, one.max_bytes)))
        table.add_row(one.phase, one.operation, one.algorithm.replace("_", " "), ranks, size)
    return [table]


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def pipelined_lines(result: Result) -> list[RenderableType]:
    """Return the forecast if ranks continued as soon as they can; nothing if that is the sum of closed forms."""
    pipelined = result.pipelined
    if pipelined is None or result.sum_s is not None:
        return []
    if pipelined.makespan_s is None:
        return [paragraph(f"The sum is used: no pipelined time is given for {pipelined.reason}.")]
    saving = [time for time in pipelined.sequences if time.pipelined_s is not None]
    standing = [time for time in pipelined.sequences if time.pipelined_s is None]
    lines = []
    if saving:
        texts = (_changed(one.operations, one.phase, one.times, one.sum_s, one.saved_s) for one in saving)
        lines.append(
            f"Pipelined, if ranks continue as soon as they can: {time_text(pipelined.makespan_s)} ({_first_of(texts)})."
        )
    if standing:
        shown = _first_of(f"{time.operations} in {time.phase}" for time in standing)
        lines.append(f"The sum is used, and may be too high, for operations that may overlap: {shown}.")
    return [paragraph(line) for line in lines]


def _changed(operations: str, phase: str, times: float, closed_s: float, saved_s: float) -> str:
    """Time of operations instead of the sum of their closed forms."""
    often = "" if times == 1 else f", {times:g} times"
    return f"{operations} in {phase}{often}: {time_text(closed_s - saved_s)} for {time_text(closed_s)}"


def _first_of(texts: Iterable[str]) -> str:
    """Return the first few texts, and how many more there are."""
    every = list(texts)
    more = f"; and {len(every) - MAX_SEQUENCES} more" if len(every) > MAX_SEQUENCES else ""
    return "; ".join(every[:MAX_SEQUENCES]) + more


def longest_path_line(result: Result) -> list[RenderableType]:
    """Return the sum of closed forms for a forecast that is the longest path, or the path for one that is the sum."""
    path = result.longest_path
    if path is None or path.time_s is None:
        return []
    if result.sum_s is None:
        return [paragraph(f"Longest path of the messages: {time_text(path.time_s)}.")]
    text = f"Sum of closed forms: {time_text(float(result.sum_s))}. It leaves out waiting between ranks"
    return [paragraph(text + ("." if path.left_out else "; the path is the simulation without effects."))]


def bubble_line(result: Result) -> list[RenderableType]:
    """Return the bubble of a pipeline by its closed form, in a forecast that has one."""
    if result.bubble is None:
        return []
    share = result.bubble.time_s / float(result.makespan_s) if result.makespan_s else 0.0
    name, time = result.bubble.name, time_text(result.bubble.time_s)
    return [paragraph(f"Bubble {name} of the pipeline, in closed form: {time}, {share:.1%} of the forecast.")]


def shared_links_line(result: Result) -> list[RenderableType]:
    """Return the forecast with fair shares of links, if these have a closed form."""
    shared = result.shared_links
    if shared is None:
        return []
    return [_shared_line("With links shared fairly, in closed form", shared.makespan_s, shared.operations)]


def loaded_line(result: Result) -> list[RenderableType]:
    """Return the forecast with the memory and the interfaces of nodes shared, if the machine states what they do."""
    if result.loaded_s is None:
        return []
    return [_shared_line("Loaded, with memory and interfaces of nodes shared", float(result.loaded_s), result.loaded)]


def _shared_line(what: str, makespan_s: float, operations: Sequence[SharedTime]) -> RenderableType:
    texts = (
        _changed(one.operation, one.phase, one.times, one.alone_s, one.alone_s - one.shared_s) for one in operations
    )
    return paragraph(f"{what}: {time_text(makespan_s)} ({_first_of(texts)}).")


def failures_line(result: Result) -> list[RenderableType]:
    """Return the forecast with failures, if nodes fail."""
    failures = result.failures
    if not isinstance(failures, FailureForecast):
        return []
    daly, young, mtbf = (time_text(value) for value in (failures.daly_s, failures.young_s, failures.mtbf_s))
    text = f"With a failure every {mtbf}, on average: {daly} (Daly; {young} in Young's first order)"
    if failures.daly_interval_s is not None and failures.young_interval_s is not None:
        best = f"{time_text(failures.daly_interval_s)} (Daly) or {time_text(failures.young_interval_s)} (Young)"
        text += f"; the best interval between checkpoints is {best}"
    return [paragraph(f"{text}.")]


def failure_facts(result: Result) -> list[tuple[str, str]]:
    """Checkpoints and failures of a result, if there are any."""
    rows = [] if result.checkpoints is None else [("checkpoints", f"{float(result.checkpoints):,.0f}")]
    if isinstance(result.failures, Failures):
        one = result.failures
        lost, restarts = time_text(one.lost_s), time_text(one.restart_s)
        rows.append(("failures", f"{one.count:,}: {lost} of work lost, {restarts} of restarts"))
    return rows


def simulation_tables(result: Result, stations: int = 5) -> list[RenderableType]:
    """Return a simulation, with its ``stations`` most used stations."""
    rows = [
        *_volumes(result),
        ("engine events", f"{result.events:,}"),
        ("effects", ", ".join(result.effects) or "none"),
        ("seed", str(result.seed)),
        ("engine", result.engine),
    ]
    parts: list[RenderableType] = [
        _headline(result),
        phase_table(result),
        facts(rows),
        *served_tables(result),
        *limits_table(result),
        *processor_limits_table(result),
        *algorithm_table(result),
        *notes_lines(result),
    ]
    if result.ranks is not None:
        parts += [waiting_table(result.ranks), _spread(result.ranks)]
    return [*parts, station_table(result.stations, stations)] if stations else parts


def phase_table(result: Result) -> Table:
    """Seconds per phase and component, with totals."""
    rows = result.phase_rows()
    show = Seconds(value for row in rows.values() for value in row.values())
    title = f"Time per phase and component ({show.unit})"
    if result.ranks is not None:
        title = f"Time along the critical path, per phase and component ({show.unit})"
    limited = result.limited_phases
    table = new_table(title, "phase", *COMPONENTS, "total", *(["limited by"] if limited else []))
    for name, row in rows.items():
        if name == "total":
            table.add_section()
        limit = [limited.get(name, "")] if limited else []
        table.add_row(name, *map(show, row.values()), *limit, style="bold" if name == "total" else None)
    return table


def served_tables(result: Result) -> list[RenderableType]:
    """Which level of the caches served the accesses, if there were any."""
    total = float(sum(result.served.values()))
    if not total:
        return []
    table = new_table("Memory accesses", "served by", "accesses", "fraction", "method")
    for level, accesses in result.served.items():
        how = HIT_WORDS.get(result.hit_methods.get(level, ""), "what is left")
        table.add_row(level, _count(float(accesses)), f"{float(accesses) / total:.2%}", how)
    if result.prefetched is not None:
        ahead = float(result.prefetched)
        table.add_row("of these fetched ahead", _count(ahead), f"{ahead / total:.2%}", "streams in sequence")
    return [table]


def bounds_table(bounds: Bounds) -> Table:
    """Return the bounds by name."""
    lower_s, upper_s = [*map(float, bounds.lower_s.values())], float(bounds.upper_s)
    # An upper bound that is thousands of times as long would leave the lower ones no digits.
    show = Seconds(lower_s if upper_s > 1000 * max(lower_s, default=0.0) > 0 else [*lower_s, upper_s])
    table = new_table(f"Bounds of the simulated time ({show.unit})", "bound", "time")
    for name, value in bounds.lower_s.items():
        effect = f" (with {bounds.needs_effect[name]})" if name in bounds.needs_effect else ""
        table.add_row(f"at least: {name}{effect}", show(float(value)))
    table.add_row("at most: everything one after another", show(upper_s))
    return table


def waiting_table(ranks: RankTimes) -> Table:
    """Mean over the ranks of busy and waiting time per component."""
    busy, waiting = (times.sum(axis=1).mean(axis=0) for times in (ranks.busy_s, ranks.waiting_s))
    show = Seconds(busy.tolist())
    title = f"Mean over the {len(ranks.end_s)} ranks ({show.unit})"
    table = new_table(title, "component", "time", "of it waiting", "fraction")
    for name, spent, waited in zip(COMPONENTS, busy.tolist(), waiting.tolist(), strict=True):
        table.add_row(name, show(spent), show(waited), f"{waited / spent:.1%}" if spent else "-")
    return table


def station_table(stations: StationUses, most: int) -> RenderableType:
    """Return the most used stations."""
    if not stations:
        return paragraph("No disk, interface or link was shared.")
    busiest = stations.most_used(most)
    show = Seconds(station.wait_s for station in busiest)
    queues = Digits((station.mean_queue for station in busiest), 3)
    has_others = stations.background_s is not None
    more = ("of it background",) if has_others else ()
    numbers = ("served", "utilisation", *more, "mean queue", "longest queue", f"waiting ({show.unit})")
    table = new_table(f"Most used of {len(stations)} stations", "station", *numbers)
    for station in busiest:
        table.add_row(
            station.name,
            f"{station.served:,}",
            f"{station.utilisation:.1%}",
            *([f"{(station.background_s or 0.0) / (station.busy_s or 1.0):.1%}"] if has_others else []),
            queues(station.mean_queue),
            f"{station.longest_queue:,}",
            show(station.wait_s),
        )
    return table


#: Networks whose routers have buffers for few packets may carry no more than this on their busiest link.
MAX_LINK_LOAD = 0.6
BUFFERS = "; with the finite buffers of routers, which are not modelled, a network may saturate here (docs/buffers.md)"


def _requests(result: Result) -> list[tuple[str, str]]:
    """Outcome of the requests of an open stream."""
    if result.response_s is None:
        return []
    rows = [] if result.requests is None else [("requests", f"{len(result.requests):,}")]
    rows += [("response time", time_text(result.response_s))]
    blocked = float(result.blocked or 0.0)
    rows += [("blocked", f"{blocked:.3%}")] if blocked else []
    return [*rows, *link_facts(result)]


def link_facts(result: Result) -> list[tuple[str, str]]:
    """How busy the busiest link of an open stream is, and what that means for networks with finite buffers."""
    load = float(result.link_load or 0.0)
    return [("busiest link", f"{load:.1%} of the time{BUFFERS if load > MAX_LINK_LOAD else ''}")] if load else []


def _headline(result: Result) -> RenderableType:
    return case_title(result, f"{result.reading} {time_text(result.makespan_s)}")


def case_title(result: Result, what: str) -> RenderableType:
    """Return the title of a case: workload, machine, number of ranks and preset, and ``what`` is shown of it."""
    preset = f", preset {result.preset}" if result.preset else ""
    case = f"{result.workload} on {result.machine}, P = {float(result.values['P']):,.0f}{preset}"
    return paragraph(f"{case}: {what}", bold=True)


def _volumes(result: Result) -> list[tuple[str, str]]:
    return [
        ("messages", _count(float(result.messages))),
        ("bytes sent", format_quantity(float(result.message_bytes), "size")),
        ("bytes read and written", format_quantity(float(result.disk_bytes), "size")),
        *_requests(result),
        *failure_facts(result),
        *footprint_facts(result),
        *((f"{name} used", _count(float(amount))) for name, amount in result.used.items()),
        *_power(result),
        *use_facts(result),
    ]


def use_facts(result: Result) -> list[tuple[str, str]]:
    """Return the part of the machine that is in use, in one line, and what a loaded link of other jobs means."""
    if result.use is None:
        return []
    background = result.use.background
    is_loaded = background is not None and (background.link_load or 0.0) > MAX_LINK_LOAD
    return [("in use", result.use.text + (BUFFERS if is_loaded else ""))]


def _power(result: Result) -> list[tuple[str, str]]:
    """Energy and power, if the machine states them."""
    if result.energy_j is None or result.peak_power_w is None or result.static_power_w is None:
        return []
    static, peak = (format_quantity(float(watts), "power") for watts in (result.static_power_w, result.peak_power_w))
    return [
        ("energy", format_quantity(float(result.energy_j), "energy")),
        ("power", f"at most {peak}, {static} of it static"),
    ]


def footprint_facts(result: Result) -> list[tuple[str, str]]:
    """Return the memory that a rank needs, and whether it has it, as far as either is stated.

    The memory of its node, and of its accelerator.
    """
    node = ("memory", result.footprint_bytes, result.capacity_bytes, result.fits_node)
    of_accelerator = result.accelerator_footprint_bytes, result.accelerator_capacity_bytes
    accelerator = ("memory of accelerators", *of_accelerator, result.fits_accelerator)
    return [fact for memory in (node, accelerator) for fact in _memory_fact(*memory)]


def _memory_fact(
    name: str, needed: FloatOrArray | None, capacity: FloatOrArray | None, fits: Any
) -> list[tuple[str, str]]:
    if needed is None:
        return []
    if capacity is None:
        needs = f"needs {format_quantity(float(needed), 'size')} a rank"
        return [(name, f"{needs}; the machine does not say its capacity")]
    texts = told_apart(float(needed), float(capacity), "size")
    needs, has = f"needs {texts[0]} a rank", f"a rank has {texts[1]}"
    return [(name, f"{needs}; {has}" if fits else f"DOES NOT FIT: {needs}; {has}")]


def _spread(ranks: RankTimes) -> RenderableType:
    end = ranks.end_s
    show = Seconds([float(end.max())])
    times = ", ".join(
        f"{name} {show(float(time))}" for name, time in (("min", end.min()), ("mean", np.mean(end)), ("max", end.max()))
    )
    return paragraph(f"Ranks are done after ({show.unit}): {times}")


def _count(value: float) -> str:
    return grouped(value) if value.is_integer() else f"{value:,.4g}"


def time_text(value_s: object) -> str:
    """Return a time in seconds as text with a unit."""
    return format_quantity(float(value_s), "time")  # type: ignore[arg-type] # one design point: a number
