"""Results and comparisons as tables and sentences for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from simcodesign.comparison.attribution import relative_error
from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.effects import effect_words
from simcodesign.core.result import COMPONENTS, Bounds, RankTimes, Result
from simcodesign.core.station_uses import StationUses
from simcodesign.core.units import format_quantity
from simcodesign.describe.effects import changing_effects, ladder
from simcodesign.report.common.number_table import new_table

#: What the first step is of an open stream, whose forecast has queues.
NOBODY_WAITS = "the queueing of the forecast: with every effect off nobody waits"
#: How the share of a level was found, in words.
HIT_WORDS = {
    "full": "stack model, fully associative",
    "binomial": "stack model, binomial correction",
    "sets": "the sets, access by access",
    "drawn": "the sets, by a drawn stream",
    "counted": "as counted",
}
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


class Seconds:
    """Times of one table in one unit and with the same decimals, chosen by the largest of them."""

    def __init__(self, values_s: Iterable[float]) -> None:
        largest = max((abs(value) for value in values_s if math.isfinite(value)), default=0.0)
        fitting = [(unit, factor) for unit, factor in _UNITS if largest >= factor or not largest]
        self.unit, self.factor = fitting[0] if fitting else _UNITS[-1]
        self.dust = 1e-10 * largest  # what sums of floating-point numbers differ by
        digits = math.floor(math.log10(largest / self.factor)) + 1 if largest else 1
        self.decimals = min(max(5 - digits, 0), 4)

    def __call__(self, value_s: float, sign: str = "") -> str:
        """The number without its unit; small ones keep two digits, nothing is shown as 0."""
        if not math.isfinite(value_s):
            return "-"
        value = value_s / self.factor
        if abs(value_s) <= self.dust:
            return "0"
        too_small = abs(value) < 10 ** (1 - self.decimals)
        return f"{value:{sign}.2g}" if too_small and self.decimals else f"{value:{sign},.{self.decimals}f}"


def forecast_tables(result: Result) -> list[RenderableType]:
    """A forecast of one design point."""
    facts = _facts(_volumes(result))
    parts: list[RenderableType] = [_headline(result), phase_table(result), facts, *served_tables(result)]
    parts += [_line(f"By queueing theory: {'; '.join(result.formulas)}.")] if result.formulas else []
    if result.response_s is not None:
        return parts
    if result.bounds is None:
        return [*parts, _line("Bounds of the simulated time were not computed.")]
    return [*parts, bounds_table(result.bounds)]


def simulation_tables(result: Result, stations: int = 5) -> list[RenderableType]:
    """A simulation, with its ``stations`` most used stations."""
    rows = [
        *_volumes(result),
        (_events(result), f"{result.events:,}"),
        ("effects", ", ".join(result.effects) or "none"),
        ("seed", str(result.seed)),
        ("engine", result.engine),
        *_iterations(result),
    ]
    parts: list[RenderableType] = [_headline(result), phase_table(result), _facts(rows), *served_tables(result)]
    if result.ranks is not None:
        parts += [waiting_table(result.ranks), _spread(result.ranks)]
    return [*parts, station_table(result.stations, stations)] if stations else parts


def _events(result: Result) -> str:
    return "events, extrapolated" if result.steady and result.steady.extrapolated else "events"


def _iterations(result: Result) -> list[tuple[str, str]]:
    """What was simulated of the loops and what extrapolated, if that was asked for."""
    if result.steady is None:
        return []
    if not result.steady.extrapolated:
        return [("iterations", f"all simulated: {result.steady.reason}")]
    return [
        (f"iterations of {loop.phase}", f"{loop.simulated:,} of {loop.repeat:,} simulated, the rest extrapolated")
        for loop in result.steady.loops
    ]


def comparison_tables(comparison: Comparison) -> list[RenderableType]:
    """A comparison, ending with the verdict in one sentence."""
    simulation = comparison.simulation
    run = [
        ("effects", ", ".join(simulation.effects) or "none"),
        ("seed", str(simulation.seed)),
        ("engine", simulation.engine),
        *_iterations(simulation),
        *_footprint(simulation),
    ]
    return [
        _title(simulation, "forecast against simulation"),
        _facts(run),
        # Of an open stream these would compare the mean response with the last request.
        *([component_table(comparison), compared_phases(comparison)] if simulation.response_s is None else []),
        *compared_requests(comparison),
        ladder_table(comparison),
        *([bounds_line(comparison)] if comparison.forecast.response_s is None else []),
        *energy_lines(comparison),
        verdict(comparison),
    ]


def phase_table(result: Result) -> Table:
    """Seconds per phase and component, with totals."""
    rows = result.table()
    show = Seconds(rows.to_numpy().ravel().tolist())
    title = f"Time per phase and component ({show.unit})"
    if result.ranks is not None:
        title = f"Time along the critical path, per phase and component ({show.unit})"
    table = new_table(title, "phase", *COMPONENTS, "total")
    for name, row in rows.iterrows():
        if name == "total":
            table.add_section()
        table.add_row(str(name), *(show(float(value)) for value in row), style="bold" if name == "total" else None)
    return table


def served_tables(result: Result) -> list[RenderableType]:
    """Which level of the caches served the accesses, where there were any."""
    total = float(sum(result.served.values()))
    if not total:
        return []
    table = new_table("Memory accesses", "served by", "accesses", "share", "found by")
    for level, accesses in result.served.items():
        how = HIT_WORDS.get(result.hit_methods.get(level, ""), "what is left")
        table.add_row(level, _count(float(accesses)), f"{float(accesses) / total:.2%}", how)
    return [table]


def bounds_table(bounds: Bounds) -> Table:
    """The bounds by name."""
    show = Seconds([*bounds.lower_s.values(), bounds.upper_s])
    table = new_table(f"Bounds of the simulated time ({show.unit})", "bound", "time")
    for name, value in bounds.lower_s.items():
        effect = f" (with {bounds.needs_effect[name]})" if name in bounds.needs_effect else ""
        table.add_row(f"at least: {name}{effect}", show(float(value)))
    table.add_row("at most: everything one after another", show(float(bounds.upper_s)))
    return table


def waiting_table(ranks: RankTimes) -> Table:
    """Mean over the ranks of busy and waiting time per component."""
    busy, waiting = (times.sum(axis=1).mean(axis=0) for times in (ranks.busy_s, ranks.waiting_s))
    show = Seconds(busy.tolist())
    title = f"Mean over the {len(ranks.end_s)} ranks ({show.unit})"
    table = new_table(title, "component", "time", "of it waiting", "share")
    for name, spent, waited in zip(COMPONENTS, busy.tolist(), waiting.tolist(), strict=True):
        table.add_row(name, show(spent), show(waited), f"{waited / spent:.1%}" if spent else "-")
    return table


def station_table(stations: StationUses, most: int) -> RenderableType:
    """The most used stations."""
    if not stations:
        return _line("No disk, interface or link was shared.")
    busiest = stations.most_used(most)
    show = Seconds(station.wait_s for station in busiest)
    numbers = ("served", "utilisation", "mean queue", "longest queue", f"waiting ({show.unit})")
    table = new_table(f"Most used of {len(stations)} stations", "station", *numbers)
    for station in busiest:
        table.add_row(
            station.name,
            f"{station.served:,}",
            f"{station.utilisation:.1%}",
            f"{station.mean_queue:.3g}",
            f"{station.longest_queue:,}",
            show(station.wait_s),
        )
    return table


def component_table(comparison: Comparison) -> Table:
    """Both readings per component, and what they differ by."""
    rows = comparison.table()
    show = Seconds([*rows["forecast_s"], *rows["simulated_s"]])
    table = new_table(f"Time per component ({show.unit})", "component", "forecast", "simulated", "difference", "error")
    for name, row in rows.iterrows():
        if name == "total":
            table.add_section()
        numbers = (show(row["forecast_s"]), show(row["simulated_s"]), show(row["difference_s"], "+"))
        table.add_row(str(name), *numbers, _percent(row["error"]), style="bold" if name == "total" else None)
    return table


def compared_phases(comparison: Comparison) -> Table:
    """Both readings per phase."""
    rows = comparison.phase_table()
    show = Seconds([*rows["forecast_s"], *rows["simulated_s"]])
    table = new_table(f"Time per phase ({show.unit})", "phase", "forecast", "simulated", "error")
    for name, row in rows.iterrows():
        table.add_row(str(name), show(row["forecast_s"]), show(row["simulated_s"]), _percent(row["error"]))
    return table


def compared_requests(comparison: Comparison) -> list[RenderableType]:
    """Both readings of an open stream of requests, and the formula of the forecast."""
    said, seen = comparison.forecast, comparison.simulation
    if said.response_s is None or seen.response_s is None:
        return []
    times = float(said.response_s), float(seen.response_s)
    show = Seconds(times)
    table = new_table(f"Requests ({show.unit})", "", "forecast", "simulated", "error")
    table.add_row("response time", show(times[0]), show(times[1]), _percent(comparison.error))
    shares = float(said.blocked or 0.0), float(seen.blocked or 0.0)
    if any(shares):
        table.add_row("blocked", *(f"{share:.3%}" for share in shares), _percent(relative_error(*shares)))
    return [table, *([_line(f"Forecast by {'; '.join(said.formulas)}.")] if said.formulas else [])]


def _requests(result: Result) -> list[tuple[str, str]]:
    """What became of the requests of an open stream."""
    if result.response_s is None:
        return []
    rows = [] if result.requests is None else [("requests", f"{len(result.requests):,}")]
    rows += [("response time", _time(result.response_s))]
    blocked = float(result.blocked or 0.0)
    return [*rows, ("blocked", f"{blocked:.3%}")] if blocked else rows


def ladder_table(comparison: Comparison) -> Table:
    """What each effect adds, switched on one after another."""
    show = Seconds(float(rung.simulation.headline_s) for rung in comparison.rungs)
    what = "Effects" if comparison.forecast.response_s is None else "Response time with effects"
    title = f"{what}, switched on one after another ({show.unit})"
    share = "share of what effects add" if comparison.forecast.formulas else "share of the gap"
    table = new_table(title, "effect", "simulated", "change", share)
    table.add_row("forecast", show(float(comparison.forecast.headline_s)), "", "")
    for rung in comparison.rungs:
        seconds = show(float(rung.simulation.headline_s))
        table.add_row(rung.effect, seconds, show(rung.change_s, "+"), _percent(rung.share, "-"))
    return table


def bounds_line(comparison: Comparison) -> RenderableType:
    """Whether the simulation lies within the bounds."""
    bounds = comparison.forecast.bounds
    if bounds is None:
        return _line("No bounds were computed.")
    simulation = comparison.deterministic
    lower = ", ".join(f"{name} {_time(value)}" for name, value in bounds.lower_with(simulation.effects).items())
    place = "inside" if comparison.within_bounds else "OUTSIDE"
    off = changing_effects([rung.effect for rung in comparison.rungs if rung.change_s])
    without = f"Without {' and '.join(off)} t" if off else "T"
    return _line(
        f"{without}he simulation ({_time(simulation.makespan_s)}) lies {place} the bounds: at least "
        f"{lower}; at most {_time(bounds.upper_s)}."
    )


def energy_lines(comparison: Comparison) -> list[RenderableType]:
    """Energy and peak power of both readings, where the machine says anything of them."""
    said, seen, error = comparison.forecast, comparison.simulation, comparison.energy_error
    if error is None:
        return []
    energy = [format_quantity(float(side.energy_j or 0.0), "energy") for side in (said, seen)]
    peak = [format_quantity(float(side.peak_power_w or 0.0), "power") for side in (said, seen)]
    return [
        _line(
            f"Energy: forecast {energy[0]}, simulated {energy[1]}, error {_percent(error)}. "
            f"Power at most: forecast {peak[0]}, simulated {peak[1]}."
        )
    ]


def verdict(comparison: Comparison) -> RenderableType:
    """How far the forecast is off, and the largest contributor, in one sentence."""
    said, seen = _time(comparison.forecast.headline_s), _time(comparison.simulation.headline_s)
    largest = max(comparison.rungs, key=lambda rung: abs(rung.change_s))
    if largest.change_s == 0:
        return _line(f"The forecast ({said}) and the simulation ({seen}) agree to rounding.")
    if comparison.forecast.formulas:
        return _queueing_verdict(comparison)
    cause = f"{effect_words(largest.effect)}, which {_added(largest.change_s)}"
    if not math.isfinite(largest.share):
        return _line(f"The forecast ({said}) agrees with the simulation only because effects cancel: most is {cause}.")
    return _line(
        f"The forecast ({said}) {_how_far(comparison.error)} against the simulation ({seen}); the largest contributor "
        f"is {cause} ({_role(largest.share)}).{_draw(comparison)}"
    )


def _queueing_verdict(comparison: Comparison) -> RenderableType:
    """How far a formula of queueing theory is off, and what the simulated time is made of."""
    said, seen = _time(comparison.forecast.headline_s), _time(comparison.simulation.headline_s)
    first, *effects = comparison.rungs
    added = [f"{rung.effect} {_added(rung.change_s)}" for rung in effects if rung.change_s]
    last = (
        ""
        if comparison.simulation.response_s is not None
        else (" The formula gives the mean of the ranks, the simulation ends with the last of them.")
    )
    made = f"with no effect, where nobody queues, it is {_time(first.simulation.headline_s)}"
    return _line(
        f"The forecast ({said}, by {', '.join(comparison.forecast.formulas)}) {_how_far(comparison.error)} against the "
        f"simulation ({seen}): {'; '.join([made, *added])}.{_draw(comparison)}{last}"
    )


def _draw(comparison: Comparison) -> str:
    """A word of caution where chance had a part."""
    changed = [rung.effect for rung in comparison.rungs if rung.change_s]
    drawn = [effect.name for effect in ladder() if effect.name in changed and effect.random_on is not None]
    if not drawn:
        return ""
    adds = "adds" if len(drawn) == 1 else "add"
    return f" What {' and '.join(drawn)} {adds} is one draw, of seed {comparison.simulation.seed}."


def _role(share: float) -> str:
    """What the largest change is to the gap: effects may work against each other."""
    if share < 0:
        return "but other effects outweigh it"
    return "more than the gap: other effects take part of it back" if share > 1.005 else f"{share:.0%} of the gap"


def _how_far(error: float) -> str:
    if not math.isfinite(error):
        return "has no relative error"
    return f"is {_percent(abs(error), '-')} too {'low' if error < 0 else 'high'}"


def _added(change_s: float) -> str:
    return f"{'adds' if change_s > 0 else 'takes away'} {_time(abs(change_s))}"


def _headline(result: Result) -> RenderableType:
    return _title(result, f"{result.reading} {_time(result.makespan_s)}")


def _title(result: Result, what: str) -> RenderableType:
    preset = f", preset {result.preset}" if result.preset else ""
    case = f"{result.workload} on {result.machine}, P = {float(result.values['P']):,.0f}{preset}"
    return Padding(f"{case}: {what}", (0, 0, 1, 0), style="bold", expand=False)


def _facts(rows: Iterable[tuple[str, str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for name, text in rows:
        grid.add_row(name, text)
    return Padding(grid, (0, 0, 1, 0), expand=False)


def _volumes(result: Result) -> list[tuple[str, str]]:
    return [
        ("messages", _count(float(result.messages))),
        ("bytes sent", format_quantity(float(result.message_bytes), "size")),
        ("bytes read and written", format_quantity(float(result.disk_bytes), "size")),
        *_requests(result),
        *_footprint(result),
        *((f"{name} used", _count(float(amount))) for name, amount in result.used.items()),
        *_power(result),
    ]


def _power(result: Result) -> list[tuple[str, str]]:
    """Energy and power, where the machine says anything of them."""
    if result.energy_j is None or result.peak_power_w is None or result.static_power_w is None:
        return []
    static, peak = (format_quantity(float(watts), "power") for watts in (result.static_power_w, result.peak_power_w))
    return [
        ("energy", format_quantity(float(result.energy_j), "energy")),
        ("power", f"at most {peak}, {static} of it static"),
    ]


def _footprint(result: Result) -> list[tuple[str, str]]:
    """The memory that a rank needs, and whether it has it, as far as either is said."""
    if result.footprint_bytes is None:
        return []
    needs = f"needs {format_quantity(float(result.footprint_bytes), 'size')} a rank"
    if result.capacity_bytes is None:
        return [("memory", f"{needs}; the machine does not say its capacity")]
    has = f"a rank has {format_quantity(float(result.capacity_bytes), 'size')}"
    return [("memory", f"{needs}; {has}" if result.fits else f"DOES NOT FIT: {needs}; {has}")]


def _spread(ranks: RankTimes) -> RenderableType:
    end = ranks.end_s
    show = Seconds([float(end.max())])
    times = ", ".join(
        f"{name} {show(float(time))}" for name, time in (("min", end.min()), ("mean", np.mean(end)), ("max", end.max()))
    )
    return _line(f"Ranks are done after ({show.unit}): {times}")


def _line(text: str) -> RenderableType:
    return Padding(text, (0, 0, 1, 0), expand=False)


def _count(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"


def _time(value_s: object) -> str:
    return format_quantity(float(value_s), "time")  # type: ignore[arg-type] # one design point: a number


def _percent(share: float, sign: str = "+") -> str:
    """One decimal; two digits where that would be 0.0, for a small error is not none."""
    if not math.isfinite(share):
        return "-"
    return f"{share:{sign}z.1%}" if abs(share) >= 5e-4 or abs(share) < 1e-10 else f"{100 * share:{sign}.2g}%"
