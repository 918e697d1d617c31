"""A forecast compared with simulations, as tables and sentences for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.attribution import QUEUEING, ROUNDING, DemandGap, relative_error
from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.effects import WAITING, Rung, effect_words
from simcodesign.comparison.efficiency import ROOFLINE
from simcodesign.core.units import FloatOrArray, format_quantity
from simcodesign.describe.effects import changing_effects
from simcodesign.report.common.numbers import DOES_NOT_APPLY, MOST_SHARE, Seconds, share_percent, signed_percent
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.results.anchored_tables import anchored_tables
from simcodesign.report.results.evidence_lines import evidence_lines
from simcodesign.report.results.formula_tables import formula_tables, formula_verdict
from simcodesign.report.results.ladder_rows import SUM, hops_line, not_here_line, rungs_shown
from simcodesign.report.results.limits import KERNELS, PROCESSORS, words_of_limit
from simcodesign.report.results.measured_tables import measured_lines
from simcodesign.report.results.tables import (
    NO_BOUNDS,
    algorithm_table,
    basis_line,
    case_title,
    footprint_facts,
    link_facts,
    loaded_line,
    longest_path_line,
    notes_lines,
    pipelined_lines,
    shared_links_line,
    time_text,
    use_facts,
)

#: Stands for the error of a component that is mostly off the critical path.
OVERLAPPED = "overlapped"
#: Errors beyond this, ten times too much, are given as multiples.
MAX_PERCENT = 10.0
#: Rows of the table of demands.
MAX_DEMANDS = 5


def comparison_tables(comparison: Comparison) -> list[RenderableType]:
    """Return a comparison, ending with the verdict in one sentence, and one for each formula."""
    simulation = comparison.simulation
    run = [
        ("effects", ", ".join(simulation.effects) or "none"),
        ("seed", str(simulation.seed)),
        ("engine", simulation.engine),
        *assumption_facts(comparison),
        *footprint_facts(simulation),
        *use_facts(simulation),
        *link_facts(simulation),
    ]
    return [
        case_title(simulation, "forecast against simulation"),
        facts(run),
        # For an open stream these would compare the mean response with the last request.
        *(_by_parts(comparison) if simulation.response_s is None else []),
        *compared_requests(comparison),
        ladder_table(comparison),
        *not_here_line([comparison]),
        *hops_line([comparison]),
        *waiting_table(comparison),
        *algorithm_table(simulation),
        *basis_line(comparison.forecast),
        *longest_path_line(comparison.forecast),
        *(pipelined_lines(comparison.forecast) if comparison.rungs[0].change_s else []),
        *(shared_links_line(comparison.forecast) if "links" in simulation.effects else []),
        *loaded_line(comparison.forecast),
        *([bounds_line(comparison)] if comparison.forecast.response_s is None else []),
        *notes_lines(comparison.forecast),
        *energy_lines(comparison),
        *formula_tables(comparison),
        verdict(comparison),
        *formula_verdict(comparison),
        *measured_lines(comparison),
        *evidence_lines(comparison.evidence),
        *anchored_tables(comparison.anchored),
    ]


def _by_parts(comparison: Comparison) -> list[RenderableType]:
    tables = [component_table(comparison), compared_phases(comparison), *overlapped_line(comparison)]
    return [*tables, *compared_limits(comparison)]


def compared_limits(comparison: Comparison) -> list[RenderableType]:
    """Limits of the time on accelerators and processors in both readings, in the mean of all ranks."""
    kernels, processors = (
        [getattr(result, f"{kind}limits_of_a_rank_s") for result in (comparison.forecast, comparison.simulation)]
        for kind in ("", "processor_")
    )
    return [*_limits(KERNELS, *kernels), *_limits(PROCESSORS, *processors)]


def _limits(
    what: str, forecast: Mapping[str, FloatOrArray], simulation: Mapping[str, FloatOrArray]
) -> list[RenderableType]:
    names = dict.fromkeys((*forecast, *simulation))
    times = {name: tuple(float(side.get(name, 0.0)) for side in (forecast, simulation)) for name in names}
    times = {name: pair for name, pair in times.items() if any(pair)}
    if not times:
        return []
    show = Seconds(time_s for pair in times.values() for time_s in pair)
    table = new_table(f"{what}, mean of the ranks ({show.unit})", "limited by", "forecast", "simulated", "error")
    for name, pair in sorted(times.items(), key=lambda one: -max(one[1])):
        error = _percent_or_times(relative_error(*pair))
        table.add_row(words_of_limit(what, name), *(show(time_s) for time_s in pair), error)
    return [table]


def assumption_facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Assumptions on messages, and the algorithms of collective operations; nothing if there are none."""
    text = "; ".join(f"{subject}: {words}" for subject, words in comparison.assumptions.items())
    rows = [("messages", text)] if text else []
    return [*rows, ("collectives", ", ".join(comparison.collectives))] if comparison.collectives else rows


def component_table(comparison: Comparison) -> Table:
    """Both readings per component, and what they differ by."""
    rows = comparison.component_rows()
    show = Seconds(row[reading] for row in rows.values() for reading in ("forecast_s", "simulated_s"))
    table = new_table(f"Time per component ({show.unit})", "component", "forecast", "simulated", "difference", "error")
    for name, row in rows.items():
        if name == "total":
            table.add_section()
        numbers = (show(row["forecast_s"]), show(row["simulated_s"]), show(row["difference_s"], "+"))
        error = OVERLAPPED if name in comparison.overlapped else _error_text(row)
        table.add_row(name, *numbers, error, style="bold" if name == "total" else None)
    return table


def overlapped_line(comparison: Comparison) -> list[RenderableType]:
    """Text for components whose error would be meaningless."""
    text = "ranks do it, but mostly during other work or off the critical path, which the simulated time measures"
    said = comparison.overlapped or comparison.overlapped_phases
    return [paragraph(f"{OVERLAPPED}: {text}.")] if said else []


def _error_text(row: Mapping[str, float]) -> str:
    """Return the error of a row; nothing is right or wrong where neither reading has any time."""
    nothing = not row["forecast_s"] and not row["simulated_s"]
    return DOES_NOT_APPLY if nothing else _percent_or_times(row["error"])


def _percent_or_times(error: float) -> str:
    """Error in per cent, or the ratio to the other time."""
    return f"{error + 1:,.4g} times" if MAX_PERCENT < error < math.inf else signed_percent(error)


def compared_phases(comparison: Comparison) -> Table:
    """Both readings per phase."""
    rows = comparison.phase_rows()
    show = Seconds(row[reading] for row in rows.values() for reading in ("forecast_s", "simulated_s"))
    limited = comparison.forecast.limited_phases
    head = ("phase", "forecast", "simulated", "error", *(["forecast limited by"] if limited else []))
    table = new_table(f"Time per phase ({show.unit})", *head)
    for name, row in rows.items():
        error = OVERLAPPED if name in comparison.overlapped_phases else _error_text(row)
        limit = [limited.get(name, "")] if limited else []
        table.add_row(name, show(row["forecast_s"]), show(row["simulated_s"]), error, *limit)
    return table


def compared_requests(comparison: Comparison) -> list[RenderableType]:
    """Both readings of an open stream of requests, and the formula of the forecast."""
    forecast, simulation = comparison.forecast, comparison.simulation
    if forecast.response_s is None or simulation.response_s is None:
        return []
    times = float(forecast.response_s), float(simulation.response_s)
    show = Seconds(times)
    table = new_table(f"Requests ({show.unit})", "", "forecast", "simulated", "error")
    table.add_row("response time", show(times[0]), show(times[1]), signed_percent(comparison.error))
    shares = float(forecast.blocked or 0.0), float(simulation.blocked or 0.0)
    if any(shares):
        table.add_row("blocked", *(f"{share:.3%}" for share in shares), signed_percent(relative_error(*shares)))
    return [table, *([paragraph(f"Forecast by {'; '.join(forecast.formulas)}.")] if forecast.formulas else [])]


def ladder_table(comparison: Comparison) -> Table:
    """Change by each effect, switched on one after another."""
    measured_s = [] if comparison.not_explained is None else [comparison.not_explained.time_s]
    rungs = rungs_shown(comparison)
    beyond_s = [*measured_s, *(step.time_s for step in comparison.anchor_ladder)]
    show = Seconds([*(float(rung.simulation.headline_s) for rung in rungs), *beyond_s])
    what = "Effects" if comparison.forecast.response_s is None else "Response time with effects"
    title = f"{what}, switched on one after another ({show.unit})"
    fraction = "fraction of what effects add" if comparison.forecast.formulas else "fraction of the gap"
    to_measured = [share_percent(step.fraction) for step in comparison.measured_ladder]
    table = new_table(
        title, "effect", "simulated", "change", fraction, *(["of the gap to measured"] if to_measured else [])
    )
    for name, time_s, change in _before_effects(comparison):
        table.add_row(name, show(time_s), "" if change is None else show(change, "+"), "")
    for number, rung in enumerate(rungs):
        seconds = show(float(rung.simulation.headline_s))
        shares = share_percent(rung.fraction), *to_measured[number : number + 1]
        table.add_row(rung.effect, seconds, show(rung.change_s, "+"), *shares)
    if (last := comparison.not_explained) is not None:
        table.add_section()
        table.add_row(last.step, show(last.time_s), show(last.change_s, "+"), "", to_measured[-1])
    if comparison.anchor_ladder:
        table.add_section()
    for step in comparison.anchor_ladder:
        table.add_row(step.step, show(step.time_s), show(step.change_s, "+"), "")
    return table


def _before_effects(comparison: Comparison) -> list[tuple[str, float, float | None]]:
    """Return the rows up to the forecast.

    The steps before it, by name, and the change of each against the previous one.
    """
    rows = list[tuple[str, float, float | None]]()
    for steps, start in ((comparison.roofline_ladder, ROOFLINE), (comparison.path_ladder, SUM)):
        for step in steps:
            if not rows:
                rows.append((start, step.time_s - step.change_s, None))
            rows.append((step.step, step.time_s, step.change_s))
    *before, last = rows or [("", float(comparison.forecast.headline_s), None)]
    return [*before, (f"forecast ({last[0]})" if last[0] else "forecast", *last[1:])]


def waiting_table(comparison: Comparison) -> list[RenderableType]:
    """Return the demands that have the largest part in what ranks wait for and overlap; nothing if that is none."""
    gaps = comparison.waiting_by_demand
    show = Seconds(time for gap in gaps for time in (gap.forecast_s, gap.simulated_s))
    ranked = sorted(gaps, key=lambda gap: -abs(gap.change_s))
    changed = [gap for gap in ranked if abs(gap.change_s) > ROUNDING * float(comparison.forecast.headline_s)]
    if not changed:
        return []
    title = f"{WAITING.capitalize()}, by demand ({show.unit})"
    table = new_table(title, "demand", "phase", "closed form", "simulated", "change", "of the closed form")
    for gap in changed[:MAX_DEMANDS]:
        name = gap.demand if gap.times == 1 else f"{gap.demand} x {gap.times:g}"
        seconds = (show(gap.forecast_s), show(gap.simulated_s), show(gap.change_s, "+"))
        share = _percent_or_times(relative_error(gap.simulated_s, gap.forecast_s))
        table.add_row(name, gap.phase, *seconds, share)
    if others := changed[MAX_DEMANDS:]:
        sums = (sum(gap.forecast_s for gap in others), sum(gap.simulated_s for gap in others))
        table.add_row(f"{len(others)} others", "", show(sums[0]), show(sums[1]), show(sums[1] - sums[0], "+"), "")
    reasons = dict.fromkeys(_reason(gap) for gap in changed[:MAX_DEMANDS])
    return [table, paragraph(f"{'; '.join(reasons)}.")]


def _reason(gap: DemandGap) -> str:
    if gap.demand == QUEUEING:
        return "Without effects nothing queues"
    if gap.change_s < 0:
        return "Less than forecast: it begins before the previous one has ended everywhere"
    return "More than forecast: ranks wait in it for others that come late, or for gaps of messages before it"


def bounds_line(comparison: Comparison) -> RenderableType:
    """Whether the simulation lies within the bounds."""
    bounds = comparison.forecast.bounds
    if bounds is None:
        return paragraph(f"Bounds of the simulated time were not computed: {NO_BOUNDS}.")
    simulation = comparison.deterministic
    lower = ", ".join(f"{name} {time_text(value)}" for name, value in bounds.lower_with(simulation.effects).items())
    place = "inside" if comparison.within_bounds else "OUTSIDE"
    off = changing_effects([rung.effect for rung in comparison.rungs if rung.change_s])
    without = f"Without {' and '.join(off)} t" if off else "T"
    return paragraph(
        f"{without}he simulation ({time_text(simulation.makespan_s)}) lies {place} the bounds: at least "
        f"{lower}; at most {time_text(bounds.upper_s)}."
    )


def energy_lines(comparison: Comparison) -> list[RenderableType]:
    """Energy and peak power of both readings, if the machine states them."""
    forecast, simulation, error = comparison.forecast, comparison.simulation, comparison.energy_error
    if error is None:
        return []
    energy = [format_quantity(float(side.energy_j or 0.0), "energy") for side in (forecast, simulation)]
    peak = [format_quantity(float(side.peak_power_w or 0.0), "power") for side in (forecast, simulation)]
    return [
        paragraph(
            f"Energy: forecast {energy[0]}, simulated {energy[1]}, error {signed_percent(error)}. "
            f"Power at most: forecast {peak[0]}, simulated {peak[1]}."
        )
    ]


def verdict(comparison: Comparison) -> RenderableType:
    """How far the forecast is off, and the largest contributor, in one sentence."""
    forecast_time, simulated_time = (
        time_text(comparison.forecast.headline_s),
        time_text(comparison.simulation.headline_s),
    )
    largest = max(comparison.rungs, key=lambda rung: abs(rung.change_s))
    if largest.change_s == 0:
        return paragraph(f"The forecast ({forecast_time}) and the simulation ({simulated_time}) agree to rounding.")
    if comparison.forecast.formulas:
        return _queueing_verdict(comparison)
    cause = f"{effect_words(largest.effect)}, {added_text(largest.change_s, time_text(abs(largest.change_s)))}"
    if comparison.farther_from_measured:
        return paragraph(_away_from_measured(comparison, cause))
    if not math.isfinite(largest.fraction):
        only = "agrees with the simulation only because effects cancel"
        return paragraph(f"The forecast ({forecast_time}) {only}: most is {cause}.")
    return paragraph(
        f"The forecast ({forecast_time}) {_how_far(comparison.error)} against the simulation ({simulated_time}); "
        f"the largest contributor is {cause} ({_role(largest.fraction)})."
        f"{_waits_elsewhere(comparison, largest)}{_draw(comparison)}"
    )


def _waits_elsewhere(comparison: Comparison, largest: Rung) -> str:
    """Note that messages wait elsewhere in the whole simulation than at what the largest effect switches on.

    Links come first, and interfaces may make messages meet on links.
    """
    others = {"links": "interface", "interfaces": "link"}
    if largest.effect not in others or largest.change_s <= 0:
        return ""
    waited_s = comparison.simulation.stations.waits_by_kind()
    kind, other = largest.effect.removesuffix("s"), others[largest.effect]
    here_s, there_s = waited_s.get(kind, 0.0), waited_s.get(other, 0.0)
    if there_s <= here_s:
        return ""
    why = (
        "links are named since they are switched on first"
        if kind == "link"
        else "interfaces are named since they spread out messages, which waits for links then delay in full"
    )
    return (
        f" But with all effects messages wait {time_text(there_s)} for {other}s and {time_text(here_s)} for {kind}s, "
        f"summed over all: {why}."
    )


def _away_from_measured(comparison: Comparison, cause: str) -> str:
    """Effect of the largest step if it leads away from the measurement."""
    errors = {name: signed_percent(error) for name, error in comparison.measured_errors.items()}
    return (
        f"The forecast ({time_text(comparison.forecast.headline_s)}) {_how_far(comparison.error)} against the "
        f"simulation ({time_text(comparison.simulation.headline_s)}), mostly for {cause}. But the simulation "
        f"({errors['simulation']}) is farther from the measured time than the forecast "
        f"({errors['forecast']}), so that no effect explains that."
    )


def _queueing_verdict(comparison: Comparison) -> RenderableType:
    """How far a formula of queueing theory is off, and what the simulated time is made of."""
    forecast_time, simulated_time = (
        time_text(comparison.forecast.headline_s),
        time_text(comparison.simulation.headline_s),
    )
    first, *effects = comparison.rungs
    added = [_with_effect(rung) for rung in effects if rung.change_s]
    last = (
        ""
        if comparison.simulation.response_s is not None
        else (" The formula gives the mean of the ranks, the simulation ends with the last of them.")
    )
    by_law = any(rung.effect == "hops" and rung.change_s for rung in effects)
    without = "nothing queues" + (" and every message has the hops of the distance law" if by_law else "")
    made = f"with no effect, where {without}, it is {time_text(first.simulation.headline_s)}"
    return paragraph(
        f"The forecast ({forecast_time}, by {', '.join(comparison.forecast.formulas)}) {_how_far(comparison.error)} "
        f"against the simulation ({simulated_time}): {'; '.join([made, *added])}.{_draw(comparison)}{last}"
    )


def _with_effect(rung: Rung) -> str:
    return f"with {rung.effect} {time_text(abs(rung.change_s))} {'longer' if rung.change_s > 0 else 'shorter'}"


def _draw(comparison: Comparison) -> str:
    """Return a word of caution where chance had a part."""
    changed = [rung.effect for rung in comparison.rungs if rung.change_s]
    random = [name for name in comparison.random if name in changed]
    if not random:
        return ""
    adds = "adds" if len(random) == 1 else "add"
    return f" What {' and '.join(random)} {adds} is one draw, of seed {comparison.simulation.seed}."


def _role(share: float) -> str:
    """Role of the largest change in the gap: effects may work against each other."""
    if abs(share) > MOST_SHARE:
        return "but other effects take nearly all of it back"
    if share < 0:
        return "but other effects outweigh it"
    return "more than the gap: other effects take part of it back" if share > 1.005 else f"{share:.0%} of the gap"


def _how_far(error: float) -> str:
    if not math.isfinite(error):
        return "has no relative error"
    return f"is {signed_percent(abs(error), '-')} too {'low' if error < 0 else 'high'}"


def added_text(change_s: float, amount: str) -> str:
    """Consequence of an effect for the time: no queue takes anything away, but what is behind it may come earlier."""
    return f"which adds {amount}" if change_s > 0 else f"with which it is {amount} shorter"
