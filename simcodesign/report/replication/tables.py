"""Replications as tables and sentences: every mean with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.result import COMPONENTS
from simcodesign.report.common.numbers import Seconds, shared_unit
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.studies.replication.observations import BLOCKED, MAKESPAN, MSER5, RESPONSE, STATION_NUMBERS, Key
from simcodesign.studies.replication.output_analysis import Interval, Paired
from simcodesign.studies.replication.replicate import Against, Replicated

SAME = "same in all"
#: What quantities are called, and their unit; the rest go by their own names, as counts.
QUANTITIES: dict[Key, tuple[str, str]] = {
    MAKESPAN: ("makespan", "s"),
    RESPONSE: ("response time", "s"),
    BLOCKED: ("blocked", "%"),
    ("messages",): ("messages", ""),
    ("message_bytes",): ("bytes sent", "B"),
    ("disk_bytes",): ("bytes read and written", "B"),
    ("footprint_bytes",): ("memory of a rank", "B"),
    ("energy_j",): ("energy", "J"),
    ("peak_power_w",): ("power at most", "W"),
    ("static_power_w",): ("of it static", "W"),
    ("events",): ("events", ""),
}
#: Of a mean: differences below this share of it are rounding.
_DUST = 1e-12
#: Digits of a mean, however narrow its interval is.
_DIGITS = 5


@dataclass(frozen=True)
class Form:
    """How values in an SI unit are written; ``fixed``: times ``factor``, the unit standing in a heading."""

    unit: str = ""
    fixed: bool = False
    factor: float = 1.0

    @classmethod
    def of(cls, show: Seconds) -> Form:
        """For times in the unit of a table."""
        return cls("", True, 1 / show.factor)

    def scaled(self, value: float) -> tuple[float, str]:
        """By what values like this one are multiplied, and what follows them."""
        if self.fixed:
            return self.factor, ""
        if self.unit == "%":
            return 100.0, "%"
        factor, name = shared_unit([value], self.unit)
        return factor, f" {name}" if name else ""

    def __call__(self, value: float) -> str:
        """A value alone."""
        factor, unit = self.scaled(value)
        number = value * factor
        if not unit and not self.fixed and number.is_integer():
            return f"{number:,.0f}"
        return f"{number:,.{_decimals(number, _DIGITS)}f}{unit}" if number else f"0{unit}"

    def wide(self, seen: Interval) -> str:
        """``12.34 ± 0.05 ms``; the mean alone of a single run, and of what is the same in all."""
        if seen.same or not math.isfinite(seen.half_width):
            return self(seen.mean)
        factor, unit = self.scaled(max(abs(seen.mean), seen.half_width))
        mean, half = seen.mean * factor, seen.half_width * factor
        places = min(_decimals(half, 2), _decimals(mean, _DIGITS) if abs(mean) > half else 99)
        narrow = half < 0.5 * 10.0**-places
        return f"{mean:,.{places}f} ± {half:.1g}{unit}" if narrow else f"{mean:,.{places}f} ± {half:,.{places}f}{unit}"


def _decimals(value: float, digits: int) -> int:
    """Places after the point that show so many digits."""
    return max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0


#: Of stations: heading of each number.
_HEADINGS = ("served", "utilisation", "mean queue", "longest queue", "waiting")


def replication_tables(found: Replicated, stations: int = 5) -> list[RenderableType]:
    """Replications on one machine, with the ``stations`` most used stations."""
    parts = [_headline(found), _facts(found), quantity_table(found), phase_table(found), *_served(found)]
    parts += [waiting_table(found), _spread(found), *([station_table(found, stations)] if stations else [])]
    return [*parts, *notes(found)]


def against_tables(found: Against) -> list[RenderableType]:
    """Two machines under the same random numbers, ending with the verdict in one sentence."""
    first = found.first.first
    names = machine_names(found)
    ranks = [f"{float(side.first.values['P']):,.0f}" for side in (found.first, found.second)]
    on = f"P = {ranks[0]}" if ranks[0] == ranks[1] else f"P = {ranks[0]} and {ranks[1]}"
    title = f"{first.workload} on {names[1]} against {names[0]}, {on}: {_runs(found.first)} of each"
    parts = [
        paragraph(title, bold=True),
        _facts(found.first),
        paired_table(found),
        *notes(found.first, found.second),
        verdict(found),
    ]
    return parts


def machine_names(found: Against) -> tuple[str, str]:
    """Of the first and the second, told apart."""
    one, other = found.first.first.machine, found.second.first.machine
    return (one, other) if one != other else (one, f"{other} (second)")


def quantity_table(found: Replicated) -> Table:
    """All quantities but times of phases, ranks and stations."""
    if found.count == 1 and found.batches is None:
        table = new_table("One run", "quantity", "value")
        for key in _shown(found):
            name, form = _named(key)
            table.add_row(name, form(found.interval(*key).mean))
        return table
    table = new_table(f"Means, with intervals of {_level(found)}", "quantity", "mean", "±", "least", "most")
    for key in _shown(found):
        name, form = _named(key)
        seen, values = found.interval(*key), found.column(key)
        ends = ("", "") if found.count == 1 or seen.same else (form(float(end)) for end in (values.min(), values.max()))
        table.add_row(name, form.wide(seen), SAME if seen.same else _relative(seen), *ends)
    return table


def phase_table(found: Replicated) -> Table:
    """Seconds per phase and component, with totals, each with its half-width."""
    parts = (*COMPONENTS, "total")
    phases = dict.fromkeys(key[1] for key in found.keys if key[0] == "phases_s")
    rows = {phase: [found.interval("phases_s", phase, part) for part in parts] for phase in phases}
    rows["total"] = [*(found.interval("components_s", part) for part in COMPONENTS), found.interval(*MAKESPAN)]
    show = Seconds(seen.mean for row in rows.values() for seen in row)
    form = Form.of(show)
    table = new_table(f"Time along the critical path, per phase and component ({show.unit})", "phase", *parts)
    for name, row in rows.items():
        if name == "total":
            table.add_section()
        table.add_row(name, *(_cell(seen, form, show) for seen in row), style="bold" if name == "total" else None)
    return table


def waiting_table(found: Replicated) -> RenderableType:
    """Means over the ranks of the time of each component, and of waiting in it."""
    keys = [("rank_time_s", "rank_waiting_s")] if ("rank_time_s", COMPONENTS[0]) in found.keys else []
    for name, of_it in keys:
        times = [(part, found.interval(name, part), found.interval(of_it, part)) for part in COMPONENTS]
        show = Seconds(seen.mean for _, seen, _ in times)
        table = new_table(f"Mean over the ranks ({show.unit})", "component", "time", "of it waiting")
        for part, *seen in times:
            table.add_row(part, *(_cell(one, Form.of(show), show) for one in seen))
        return table
    return paragraph("Times of ranks were not kept.")


def station_table(found: Replicated, most: int) -> RenderableType:
    """The stations most used in the mean."""
    stations = found.stations
    if not len(stations):
        return paragraph("No disk, interface or link was shared.")
    places = stations.most_used(most)
    rows = [[stations.interval(number, place) for number in STATION_NUMBERS] for place in places]
    show = Seconds(row[-1].mean for row in rows)
    forms = (Form(), Form("%"), Form(), Form(), Form.of(show))
    table = new_table(f"Most used of {len(stations)} stations", "station", *_HEADINGS[:-1], f"waiting ({show.unit})")
    for place, row in zip(places, rows, strict=True):
        cells = (form.wide(seen) for seen, form in zip(row, forms, strict=True))
        table.add_row(stations.names[place], *cells)
    return table


def paired_table(found: Against) -> Table:
    """Both machines, their difference and ratio."""
    names = machine_names(found)
    table = new_table("Means, and paired intervals", "quantity", *names, "difference", "ratio")
    keys = [key for key in _shown(found.first) if key in found.pairs]
    keys[1:1] = [
        ("components_s", part)
        for part in COMPONENTS
        if any(side.mean for pair in [found.pairs["components_s", part]] for side in (pair.first, pair.second))
    ]
    for key in keys:
        name, form = _named(key)
        pair = found.pairs[key]
        sides = (form.wide(side) for side in (pair.first, pair.second))
        table.add_row(name, *sides, "0" if _equal(pair) else form.wide(pair.difference), _ratio(pair))
    return table


def _equal(pair: Paired) -> bool:
    """Whether both differ by no more than rounding, in every replication."""
    dust = _DUST * max(abs(pair.first.mean), abs(pair.second.mean))
    gap = pair.difference
    return max(abs(gap.mean), 0.0 if gap.same else gap.half_width) <= dust


def verdict(found: Against) -> RenderableType:
    """Which machine is faster, whether that is certain, and what the common random numbers were good for."""
    pair, (one, other) = found.verdict, machine_names(found)
    name, form = _named(found.first.stopping.of)
    gap = pair.difference
    if _equal(pair):
        return paragraph(f"The {name} is the same on both, in every replication.")
    size = form.wide(gap).lstrip("-")
    apart = f"The {name} on {other} is {'larger' if gap.mean > 0 else 'smaller'} than on {one} by {size}"
    if gap.same:
        return paragraph(f"{apart}, in every replication.")
    if math.isnan(gap.low):
        return paragraph(f"{apart}, in the one run of each: nothing says how certain that is.")
    certain = "does not hold 0: it is not chance" if pair.decided else "holds 0: it is not known which is better"
    return paragraph(f"{apart}; the interval of the difference {certain}.{_common(pair)}")


def _common(pair: Paired) -> str:
    if not math.isfinite(pair.narrowing):
        return ""
    text = f" Of {pair.first.count} independent runs of each the interval would be {pair.narrowing:.2g} times as wide"
    if math.isnan(pair.correlation):
        return f"{text}."
    return f"{text} (correlation of the runs under common random numbers: {pair.correlation:.2f})."


def notes(*found: Replicated) -> list[RenderableType]:
    """What the reader must know of how the means came about."""
    one = found[0]
    texts = []
    if not any(side.drawn for side in found):
        texts.append("Nothing here is random with these effects: every seed gives the same, and one run is the answer.")
    elif one.count > 1:
        texts.append("A number without ± is the same in every replication.")
    texts += [text for side in found for text in _stream_notes(side, named=len(found) > 1)]
    if one.stopping.precision is not None and any(side.drawn for side in found):
        texts.append(_stopping(one))
    if len(found) == 1 and one.count > 1:
        texts.append(_extremes(one))
    return [paragraph(text) for text in texts]


def _stream_notes(found: Replicated, named: bool) -> Iterable[str]:
    """Of an open stream: what was left out, and what batches say."""
    if found.removed is None:
        return
    on = f" on {found.first.machine}" if named else ""
    how = "as was asked for" if found.warm_up != MSER5 else "MSER-5" if found.count == 1 else "MSER-5 of the mean run"
    count = f"the first {found.removed.removed:,} requests of a run are" if found.removed.removed else "no request is"
    yield f"Warm-up{on}: {count} left out of response time and blocked ({how}); stations show the whole run."
    if found.removed.late:
        yield f"MSER-5 would leave out all that it may{on}: the run may not have settled; more requests would tell."
    if found.batches is not None:
        batches = found.batches
        verdict = (
            "are correlated: the interval is too narrow, the run too short"
            if batches.correlated
            else "may be taken as independent"
        )
        yield (
            f"The interval{on} is from {batches.batches} batches of {batches.size:,} requests, which {verdict} "
            f"(correlation of neighbours {batches.correlation:.2f}, limit {batches.threshold:.2f})."
        )


def _stopping(found: Replicated) -> str:
    stopping = found.stopping
    name, asked = _named(stopping.of)[0], _percent(stopping.precision or 0.0)
    if stopping.reached:
        return (
            f"Stopped after {found.count} replications: the half-width of the {name} was within {asked} at two "
            "looks in a row (this costs 1% of the coverage, or 6% where values are very skewed)."
        )
    return f"NOT REACHED: after {found.count} replications, the most allowed, the {name} is not known to {asked}."


def _extremes(found: Replicated) -> str:
    """Seeds with which ``simulate`` shows the extremes alone."""
    key = found.stopping.of
    values = found.column(key)
    name, form = _named(key)
    ends = ((which, int(place)) for which, place in (("least", values.argmin()), ("most", values.argmax())))
    seeds = "; ".join(f"{which} {form(float(values[place]))} --seed {found.seeds[place]}" for which, place in ends)
    return f"One replication alone, by {name}: {seeds}"


def _headline(found: Replicated) -> RenderableType:
    first, key = found.first, found.stopping.of
    preset = f", preset {first.preset}" if first.preset else ""
    case = f"{first.workload} on {first.machine}, P = {float(first.values['P']):,.0f}{preset}"
    name, form = _named(key)
    seen = found.interval(*key)
    width = "" if seen.same or math.isnan(seen.low) else f" ± {_relative(seen)}"
    if not found.drawn:
        return paragraph(f"{case}: {name} {form(seen.mean)}, whatever the seed", bold=True)
    return paragraph(f"{case}: mean {name} of {_runs(found)} {form(seen.mean)}{width}", bold=True)


def _facts(found: Replicated) -> RenderableType:
    first = found.first
    level = [("confidence", f"{_level(found)}, of each interval alone")] if found.drawn else []
    seed = f"{found.seed}; replications have seeds of their own"
    rows = (
        ("effects", ", ".join(first.effects) or "none"),
        ("drawn", ", ".join(found.drawn) or "nothing"),
        ("seed", seed),
        ("engine", first.engine),
        *level,
    )
    return facts(rows)


def _served(found: Replicated) -> list[RenderableType]:
    levels = [key for key in found.keys if key[0] == "served"]
    seen = [found.interval(*key) for key in levels]
    if not any(one.mean for one in seen):
        return []
    table = new_table("Memory accesses", "served by", "accesses")
    for key, one in zip(levels, seen, strict=True):
        table.add_row(key[1], Form().wide(one))
    return [table]


def _spread(found: Replicated) -> RenderableType:
    seen = {key[1]: found.interval(*key) for key in found.keys if key[0] == "rank_end_s"}
    show = Seconds(one.mean for one in seen.values())
    times = ", ".join(f"{name} {_cell(one, Form.of(show), show)}" for name, one in seen.items())
    return paragraph(f"Ranks are done after ({show.unit}): {times}")


def _shown(found: Replicated) -> list[Key]:
    """The quantities of the first table: those that every reading shows, and what else there is."""
    used: Sequence[Key] = [key for key in found.keys if key[0] == "used"]
    return [*(key for key in QUANTITIES if key in found.keys), *used]


def _named(key: Key) -> tuple[str, Form]:
    """What a quantity is called, and how a value of it is written."""
    if key in QUANTITIES:
        name, unit = QUANTITIES[key]
        return name, Form(unit)
    if key[0] == "used":
        return f"{key[1]} used", Form()
    return " ".join(part.removesuffix("_s") for part in key[1:] or key), Form("s" if key[0].endswith("_s") else "")


def _cell(seen: Interval, form: Form, show: Seconds) -> str:
    """In a table of times in one unit."""
    return show(seen.mean) if seen.same or not math.isfinite(seen.half_width) else form.wide(seen)


def _ratio(pair: Paired) -> str:
    ratio = pair.ratio
    if math.isnan(ratio.mean):
        return "-"
    if ratio.same or math.isnan(ratio.low):
        return f"{ratio.mean:.4g}"
    return f"{ratio.mean:.4g} ({ratio.low:.4g} to {ratio.high:.4g})"


def _relative(seen: Interval) -> str:
    return _percent(seen.relative) if math.isfinite(seen.relative) else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


def _runs(found: Replicated) -> str:
    return f"{found.count} replication{'s' if found.count > 1 else ''}"


def _level(found: Replicated) -> str:
    return f"{100 * found.confidence:g}%"
