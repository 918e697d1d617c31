"""Replications as tables and sentences: every mean with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.replication.quantities import QUANTITIES, QuantityFormat, named_quantity
from simcodesign.studies.replication.observations import MAKESPAN, MSER5, STATION_NUMBERS, Key
from simcodesign.studies.replication.output_analysis import Interval
from simcodesign.studies.replication.replicate import Replicated
from simcodesign.studies.replication.stopping import Stopping

SAME = "same in all"
#: Heading of each number of stations.
_HEADINGS = ("served", "utilisation", "mean queue", "longest queue", "waiting")


def replication_tables(replicated: Replicated, stations: int = 5) -> list[RenderableType]:
    """Replications on one machine, with the ``stations`` most used stations."""
    parts = [
        _headline(replicated),
        _facts(replicated),
        quantity_table(replicated),
        phase_table(replicated),
        *_served(replicated),
    ]
    parts += [
        waiting_table(replicated),
        _spread(replicated),
        *([station_table(replicated, stations)] if stations else []),
    ]
    return [*parts, *notes(replicated)]


def quantity_table(replicated: Replicated) -> Table:
    """All quantities but times of phases, ranks and stations."""
    if replicated.count == 1 and replicated.batches is None:
        table = new_table("One run", "quantity", "value")
        for key in _shown(replicated):
            name, form = named_quantity(key)
            table.add_row(name, form(replicated.interval(*key).mean))
        return table
    table = new_table(f"Means, with intervals of {_level(replicated)}", "quantity", "mean", "±", "min", "max")
    for key in _shown(replicated):
        name, form = named_quantity(key)
        interval, values = replicated.interval(*key), replicated.column(key)
        ends = (
            ("", "")
            if replicated.count == 1 or interval.same
            else (form(float(end)) for end in (values.min(), values.max()))
        )
        table.add_row(name, form.wide(interval), SAME if interval.same else _relative(interval), *ends)
    return table


def phase_table(replicated: Replicated) -> Table:
    """Seconds per phase and component, with totals, each with its half-width."""
    parts = (*COMPONENTS, "total")
    phases = dict.fromkeys(key[1] for key in replicated.keys if key[0] == "phases_s")
    rows = {phase: [replicated.interval("phases_s", phase, part) for part in parts] for phase in phases}
    rows["total"] = [
        *(replicated.interval("components_s", part) for part in COMPONENTS),
        replicated.interval(*MAKESPAN),
    ]
    show = Seconds(interval.mean for row in rows.values() for interval in row)
    form = QuantityFormat.of(show)
    table = new_table(f"Time along the critical path, per phase and component ({show.unit})", "phase", *parts)
    for name, row in rows.items():
        if name == "total":
            table.add_section()
        table.add_row(
            name, *(_cell(interval, form, show) for interval in row), style="bold" if name == "total" else None
        )
    return table


def waiting_table(replicated: Replicated) -> RenderableType:
    """Means over the ranks of the time of each component, and of waiting in it."""
    keys = [("rank_time_s", "rank_waiting_s")] if ("rank_time_s", COMPONENTS[0]) in replicated.keys else []
    for name, of_it in keys:
        times = [(part, replicated.interval(name, part), replicated.interval(of_it, part)) for part in COMPONENTS]
        show = Seconds(intervals.mean for _, intervals, _ in times)
        table = new_table(f"Mean over the ranks ({show.unit})", "component", "time", "of it waiting")
        for part, *intervals in times:
            table.add_row(part, *(_cell(one, QuantityFormat.of(show), show) for one in intervals))
        return table
    return paragraph("Times of ranks were not kept.")


def station_table(replicated: Replicated, most: int) -> RenderableType:
    """Return the stations most used in the mean."""
    stations = replicated.stations
    if not len(stations):
        return paragraph("No disk, interface or link was shared.")
    places = stations.most_used(most)
    rows = [[stations.interval(number, place) for number in STATION_NUMBERS] for place in places]
    show = Seconds(row[-1].mean for row in rows)
    forms = (QuantityFormat(), QuantityFormat("%"), QuantityFormat(), QuantityFormat(), QuantityFormat.of(show))
    table = new_table(f"Most used of {len(stations)} stations", "station", *_HEADINGS[:-1], f"waiting ({show.unit})")
    for place, row in zip(places, rows, strict=True):
        cells = (form.wide(interval) for interval, form in zip(row, forms, strict=True))
        table.add_row(stations.names[place], *cells)
    return table


def notes(one: Replicated) -> list[RenderableType]:
    """Return notes for the reader on how the means came about."""
    texts = []
    if not one.random_sources:
        texts.append("Nothing here is random with these effects: every seed gives the same, and one run is the answer.")
    elif one.count > 1:
        texts.append("A number without ± is the same in every replication.")
    texts += _stream_notes(one)
    if one.stopping.precision is not None and one.random_sources:
        texts.append(stopping_text(one.stopping, one.count))
    if one.count > 1:
        texts.append(_extremes(one))
    return [paragraph(text) for text in texts]


def _stream_notes(replicated: Replicated) -> Iterable[str]:
    """Return notes on an open stream: what was left out, and the results of batches."""
    if replicated.removed is None:
        return
    how = "as given" if replicated.warm_up != MSER5 else "MSER-5" if replicated.count == 1 else "MSER-5 of the mean run"
    count = (
        f"the first {replicated.removed.removed:,} requests of a run are"
        if replicated.removed.removed
        else "no request is"
    )
    yield f"Warm-up: {count} left out of response time and blocked ({how}); stations show the whole run."
    if replicated.removed.late:
        yield "MSER-5 would leave out all that it may: the run may not have settled; more requests would tell."
    if replicated.batches is not None:
        batches = replicated.batches
        verdict = (
            "are correlated: the interval is too narrow, the run too short"
            if batches.correlated
            else "may be taken as independent"
        )
        yield (
            f"The interval is from {batches.batches} batches of {batches.size:,} requests, which {verdict} "
            f"(correlation of neighbours {batches.correlation:.2f}, limit {batches.threshold:.2f})."
        )


def stopping_text(stopping: Stopping, count: int, of: str = "the") -> str:
    """Return how replications ended, and whether they reached their precision."""
    name, precision = named_quantity(stopping.of)[0], _percent(stopping.precision or 0.0)
    if stopping.reached:
        return (
            f"Stopped after {count} replications: the half-width of {of} {name} was within {precision} at "
            "two looks in a row (this costs 1% of the coverage, or 6% where values are very skewed)."
        )
    return f"NOT REACHED: after {count} replications, the most allowed, {of} {name} is not known to {precision}."


def _extremes(replicated: Replicated) -> str:
    """Seeds with which ``simulate`` shows the extremes alone."""
    key = replicated.stopping.of
    values = replicated.column(key)
    name, form = named_quantity(key)
    ends = ((which, int(place)) for which, place in (("min", values.argmin()), ("max", values.argmax())))
    seeds = "; ".join(f"{which} {form(float(values[place]))} --seed {replicated.seeds[place]}" for which, place in ends)
    return f"One replication alone, by {name}: {seeds}"


def _headline(replicated: Replicated) -> RenderableType:
    first, key = replicated.first, replicated.stopping.of
    preset = f", preset {first.preset}" if first.preset else ""
    case = f"{first.workload} on {first.machine}, P = {float(first.values['P']):,.0f}{preset}"
    name, form = named_quantity(key)
    interval = replicated.interval(*key)
    width = "" if interval.same or math.isnan(interval.low) else f" ± {_relative(interval)}"
    if not replicated.random_sources:
        return paragraph(f"{case}: {name} {form(interval.mean)}, whatever the seed", bold=True)
    return paragraph(f"{case}: mean {name} of {_runs(replicated)} {form(interval.mean)}{width}", bold=True)


def _facts(replicated: Replicated) -> RenderableType:
    first = replicated.first
    level = [("level", f"{_level(replicated)}, of each interval alone")] if replicated.random_sources else []
    seed = f"{replicated.seed}; replications have seeds of their own"
    rows = (
        ("effects", ", ".join(first.effects) or "none"),
        ("random", ", ".join(replicated.random_sources) or "nothing"),
        ("seed", seed),
        ("engine", first.engine),
        *level,
    )
    return facts(rows)


def _served(replicated: Replicated) -> list[RenderableType]:
    levels = [key for key in replicated.keys if key[0] == "served"]
    accesses = [replicated.interval(*key) for key in levels]
    if not any(one.mean for one in accesses):
        return []
    table = new_table("Memory accesses", "served by", "accesses")
    for key, one in zip(levels, accesses, strict=True):
        table.add_row(key[1], QuantityFormat().wide(one))
    return [table]


def _spread(replicated: Replicated) -> RenderableType:
    ends = {key[1]: replicated.interval(*key) for key in replicated.keys if key[0] == "rank_end_s"}
    show = Seconds(one.mean for one in ends.values())
    times = ", ".join(f"{name} {_cell(one, QuantityFormat.of(show), show)}" for name, one in ends.items())
    return paragraph(f"Ranks are done after ({show.unit}): {times}")


def _shown(replicated: Replicated) -> list[Key]:
    """Return the quantities of the first table: those that every reading shows, and what else there is."""
    used: Sequence[Key] = [key for key in replicated.keys if key[0] == "used"]
    return [*(key for key in QUANTITIES if key in replicated.keys), *used]


def _cell(interval: Interval, form: QuantityFormat, show: Seconds) -> str:
    """In a table of times in one unit."""
    return show(interval.mean) if interval.same or not math.isfinite(interval.half_width) else form.wide(interval)


def _relative(interval: Interval) -> str:
    return _percent(interval.relative) if math.isfinite(interval.relative) else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def _runs(replicated: Replicated) -> str:
    return f"{replicated.count} replication{'s' if replicated.count > 1 else ''}"


def _level(replicated: Replicated) -> str:
    return f"{100 * replicated.level:g}%"
