"""Replications as tables and sentences: every mean with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.report.common.numbers import Seconds, but_small
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.replication.quantities import QUANTITIES, QuantityFormat, named_quantity
from simcodesign.studies.replication.observations import MAKESPAN, MSER5, STATION_NUMBERS, Key
from simcodesign.studies.replication.output_analysis import Interval, PairedIntervals
from simcodesign.studies.replication.replicate import PairedReplications, Replicated

SAME = "same in all"
#: Of a mean: differences below this share of it are rounding.
_DUST = 1e-12
#: Of stations: heading of each number.
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


def paired_tables(paired: PairedReplications) -> list[RenderableType]:
    """Two machines under the same random numbers, ending with the verdict in one sentence."""
    first = paired.first.first
    names = machine_names(paired)
    ranks = [f"{float(side.first.values['P']):,.0f}" for side in (paired.first, paired.second)]
    on = f"P = {ranks[0]}" if ranks[0] == ranks[1] else f"P = {ranks[0]} and {ranks[1]}"
    title = f"{first.workload} on {names[1]} against {names[0]}, {on}: {_runs(paired.first)} of each"
    parts = [
        paragraph(title, bold=True),
        _facts(paired.first),
        paired_table(paired),
        *notes(paired.first, paired.second),
        verdict(paired),
    ]
    return parts


def machine_names(paired: PairedReplications) -> tuple[str, str]:
    """Names of the first and the second machine, made different."""
    one, other = paired.first.first.machine, paired.second.first.machine
    return (one, other) if one != other else (one, f"{other} (second)")


def quantity_table(replicated: Replicated) -> Table:
    """All quantities but times of phases, ranks and stations."""
    if replicated.count == 1 and replicated.batches is None:
        table = new_table("One run", "quantity", "value")
        for key in _shown(replicated):
            name, form = named_quantity(key)
            table.add_row(name, form(replicated.interval(*key).mean))
        return table
    table = new_table(f"Means, with intervals of {_level(replicated)}", "quantity", "mean", "±", "least", "most")
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
    """The stations most used in the mean."""
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


def paired_table(paired: PairedReplications) -> Table:
    """Both machines, their difference and ratio."""
    names = machine_names(paired)
    table = new_table("Means, and paired intervals", "quantity", *names, "difference", "ratio")
    keys = [key for key in _shown(paired.first) if key in paired.pairs]
    keys[1:1] = [
        ("components_s", part)
        for part in COMPONENTS
        if any(side.mean for pair in [paired.pairs["components_s", part]] for side in (pair.first, pair.second))
    ]
    for key in keys:
        name, form = named_quantity(key)
        pair = paired.pairs[key]
        sides = (form.wide(side) for side in (pair.first, pair.second))
        table.add_row(name, *sides, "0" if _equal(pair) else form.wide(pair.difference), _ratio(pair))
    return table


def _equal(pair: PairedIntervals) -> bool:
    """Whether both differ by no more than rounding, in every replication."""
    dust = _DUST * max(abs(pair.first.mean), abs(pair.second.mean))
    gap = pair.difference
    return max(abs(gap.mean), 0.0 if gap.same else gap.half_width) <= dust


def verdict(paired: PairedReplications) -> RenderableType:
    """Which machine is faster, whether that is certain, and what the common random numbers were good for."""
    pair, (one, other) = paired.verdict, machine_names(paired)
    name, form = named_quantity(paired.first.stopping.of)
    gap = pair.difference
    if _equal(pair):
        return paragraph(f"The {name} is the same on both, in every replication.")
    size = form.wide(gap).lstrip("-")
    apart = f"The {name} on {other} is {'larger' if gap.mean > 0 else 'smaller'} than on {one} by {size}"
    small = but_small(pair.ratio.mean - 1)
    if gap.same:
        return paragraph(f"{apart}, in every replication{small}.")
    if math.isnan(gap.low):
        return paragraph(f"{apart}, in the one run of each: nothing says how certain that is.")
    unknown = "holds 0: it is not known which is better"
    certain = f"does not hold 0: it is not chance{small}" if pair.decided else unknown
    return paragraph(f"{apart}; the interval of the difference {certain}.{_common(pair)}")


def _common(pair: PairedIntervals) -> str:
    if not math.isfinite(pair.narrowing):
        return ""
    text = f" Of {pair.first.count} independent runs of each the interval would be {pair.narrowing:.2g} times as wide"
    if math.isnan(pair.correlation):
        return f"{text}."
    return f"{text} (correlation of the runs under common random numbers: {pair.correlation:.2f})."


def notes(*replicated: Replicated) -> list[RenderableType]:
    """What the reader must know of how the means came about."""
    one = replicated[0]
    texts = []
    if not any(side.random_sources for side in replicated):
        texts.append("Nothing here is random with these effects: every seed gives the same, and one run is the answer.")
    elif one.count > 1:
        texts.append("A number without ± is the same in every replication.")
    texts += [text for side in replicated for text in _stream_notes(side, named=len(replicated) > 1)]
    if one.stopping.precision is not None and any(side.random_sources for side in replicated):
        texts.append(_stopping(one))
    if len(replicated) == 1 and one.count > 1:
        texts.append(_extremes(one))
    return [paragraph(text) for text in texts]


def _stream_notes(replicated: Replicated, named: bool) -> Iterable[str]:
    """Of an open stream: what was left out, and what batches say."""
    if replicated.removed is None:
        return
    on = f" on {replicated.first.machine}" if named else ""
    how = "as given" if replicated.warm_up != MSER5 else "MSER-5" if replicated.count == 1 else "MSER-5 of the mean run"
    count = (
        f"the first {replicated.removed.removed:,} requests of a run are"
        if replicated.removed.removed
        else "no request is"
    )
    yield f"Warm-up{on}: {count} left out of response time and blocked ({how}); stations show the whole run."
    if replicated.removed.late:
        yield f"MSER-5 would leave out all that it may{on}: the run may not have settled; more requests would tell."
    if replicated.batches is not None:
        batches = replicated.batches
        verdict = (
            "are correlated: the interval is too narrow, the run too short"
            if batches.correlated
            else "may be taken as independent"
        )
        yield (
            f"The interval{on} is from {batches.batches} batches of {batches.size:,} requests, which {verdict} "
            f"(correlation of neighbours {batches.correlation:.2f}, limit {batches.threshold:.2f})."
        )


def _stopping(replicated: Replicated) -> str:
    stopping = replicated.stopping
    name, precision = named_quantity(stopping.of)[0], _percent(stopping.precision or 0.0)
    if stopping.reached:
        return (
            f"Stopped after {replicated.count} replications: the half-width of the {name} was within {precision} at "
            "two looks in a row (this costs 1% of the coverage, or 6% where values are very skewed)."
        )
    return (
        f"NOT REACHED: after {replicated.count} replications, the most allowed, the {name} is not known to {precision}."
    )


def _extremes(replicated: Replicated) -> str:
    """Seeds with which ``simulate`` shows the extremes alone."""
    key = replicated.stopping.of
    values = replicated.column(key)
    name, form = named_quantity(key)
    ends = ((which, int(place)) for which, place in (("least", values.argmin()), ("most", values.argmax())))
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
    level = [("confidence", f"{_level(replicated)}, of each interval alone")] if replicated.random_sources else []
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
    """The quantities of the first table: those that every reading shows, and what else there is."""
    used: Sequence[Key] = [key for key in replicated.keys if key[0] == "used"]
    return [*(key for key in QUANTITIES if key in replicated.keys), *used]


def _cell(interval: Interval, form: QuantityFormat, show: Seconds) -> str:
    """In a table of times in one unit."""
    return show(interval.mean) if interval.same or not math.isfinite(interval.half_width) else form.wide(interval)


def _ratio(pair: PairedIntervals) -> str:
    ratio = pair.ratio
    if math.isnan(ratio.mean):
        return "-"
    if ratio.same or math.isnan(ratio.low):
        return f"{ratio.mean:.4g}"
    return f"{ratio.mean:.4g} ({ratio.low:.4g} to {ratio.high:.4g})"


def _relative(interval: Interval) -> str:
    return _percent(interval.relative) if math.isfinite(interval.relative) else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def _runs(replicated: Replicated) -> str:
    return f"{replicated.count} replication{'s' if replicated.count > 1 else ''}"


def _level(replicated: Replicated) -> str:
    return f"{100 * replicated.confidence:g}%"
