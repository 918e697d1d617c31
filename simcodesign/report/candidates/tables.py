"""Candidates side by side: their times, their ladders, and which machine is faster, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.attribution import relative_error
from simcodesign.core.units import format_quantity
from simcodesign.report.candidates.differences import difference_tables
from simcodesign.report.candidates.ladders import between_machines, several_ladders
from simcodesign.report.candidates.names import (
    label,
    listed,
    machine_names,
    place_of,
    time_cell,
    title_of,
    unit_of,
    whole_name,
)
from simcodesign.report.common.numbers import (
    DOES_NOT_APPLY,
    Seconds,
    but_small,
    ends_of,
    share_percent,
    signed_percent,
    with_ends,
)
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.replication.tables import stopping_text
from simcodesign.report.results.ladder_rows import effects_shown, hops_line, not_here_line
from simcodesign.report.results.tables import time_text, use_facts
from simcodesign.studies.candidates.several import (
    READINGS,
    Candidate,
    SeveralComparisons,
    against,
    differences,
    is_open,
    ranked,
    same_order,
)

#: Times that are further apart than this factor have units of their own.
_FAR = 1000.0
#: Costs with their units.
_COST_HEADS = {
    "static power w": "static power (W)",
    "embodied carbon kg": "embodied carbon (kg)",
    "energy j": "energy (J)",
    "carbon kg": "carbon (kg)",
}
#: Ratio from which on a time is given as a multiple; below, as per cent longer.
_TWICE = 2.0


def several_tables(several: SeveralComparisons, why: bool = False) -> list[RenderableType]:
    """Everything in one answer, ending with the order of the machines.

    ``why``: with the ladders over an axis as well, which part of the gap each step is, and the parts of the difference
    between machines.
    """
    candidates = several.comparisons
    comparisons = [one.comparison for one in candidates]
    ladders = several_ladders(several, shares=why) if why or not several.axis else []
    return [
        paragraph(_title(several), bold=True),
        _facts(several),
        candidate_table(several),
        *formula_table(candidates, several),
        *cost_table(several),
        *ladders,
        *(paragraph(text) for text in (between_machines(several) if why else ())),
        *not_here_line(comparisons),
        *(hops_line(comparisons) if ladders else []),
        *_differences(several),
        *(paragraph(text) for text in [*_notes(several), *_farther(several), *_verdicts(several)]),
    ]


def _differences(several: SeveralComparisons) -> list[RenderableType]:
    """Return the differences of two machines with each workload, and how replications to a precision ended."""
    shown: list[RenderableType] = []
    names = machine_names(several)
    for group in several.groups:
        first, *others = group
        if first.replicated is None:
            continue
        if len(others) == 1 and not several.axis:
            pair = names[first.machine], names[others[0].machine]
            shown += difference_tables(differences(first, others[0]), pair)
        if first.replicated.stopping.precision is not None:
            of = "the difference of the" if others else "the"
            shown.append(paragraph(stopping_text(first.replicated.stopping, first.replicated.count, of)))
    return shown


def _title(several: SeveralComparisons) -> str:
    over = f", over {several.axis}" if several.axis else ""
    return f"{title_of(several)}{over}: forecast against simulation"


def _facts(several: SeveralComparisons) -> RenderableType:
    one = several.comparisons[0].comparison.simulation
    random = dict.fromkeys(
        source for each in several.comparisons if each.replicated for source in each.replicated.random_sources
    )
    rows = [("effects", ", ".join(one.effects) or "none"), *_collectives(several), *_in_use(several)]
    if random:
        first = next(each.replicated for each in several.comparisons if each.replicated)
        most = max(len(each.times_s) for each in several.comparisons)
        runs = f"{most} replications of what is random ({', '.join(random)})"
        rows.append(("simulated", f"{runs}, with the same random numbers on all machines"))
        rows += [("intervals", f"{100 * first.level:g}% confidence intervals of means"), ("seed", str(first.seed))]
    return facts(rows)


def _in_use(several: SeveralComparisons) -> list[tuple[str, str]]:
    """Which part of the machines has ranks: once if it is the same of all, otherwise of each.

    Over an axis at its first value, which shows the effect of placement.
    """
    first = several.comparisons[0].at
    found = _of_whom(
        several, lambda one: [text for _, text in use_facts(one.comparison.simulation)] if one.at == first else []
    )
    if len(found) == 1 and not several.axis:
        return [("in use", text) for text in found]
    return [("in use", f"{text} ({'; '.join(names)})") for text, names in found.items()]


def _collectives(several: SeveralComparisons) -> list[tuple[str, str]]:
    """Return the algorithms of collective operations: once if all candidates have the same, otherwise of each."""
    found: dict[str, dict[str, None]] = {}
    for one in several.comparisons:
        if one.comparison.collectives:
            found.setdefault(", ".join(one.comparison.collectives), {})[_apart(one, several)] = None
    if len(found) == 1 and len(several.comparisons) == sum(
        bool(one.comparison.collectives) for one in several.comparisons
    ):
        return [("collectives", text) for text in found]
    return [("collectives", f"{text} ({'; '.join(names)})") for text, names in found.items()]


def _apart(one: Candidate, several: SeveralComparisons) -> str:
    """Return the label of a candidate by the settings that its collective operations may depend on.

    Its workload and value of the axis (and its machine, for algorithms that ``auto`` takes), as far as that makes a
    difference among all candidates.
    """
    own = one.comparison.collectives

    def same(alike: Callable[[Candidate], bool]) -> bool:
        return all(each.comparison.collectives == own for each in several.comparisons if alike(each))

    if len(several.workloads) > 1 and same(lambda each: each.workload == one.workload):
        return one.workload
    if same(lambda each: (each.workload, each.machine) == (one.workload, one.machine)):
        return label(one, several)
    return whole_name(one, several)


def _of_whom(several: SeveralComparisons, texts: Callable[[Candidate], Iterable[str]]) -> dict[str, list[str]]:
    """Group the names of candidates by the texts that apply to them."""
    found: dict[str, list[str]] = {}
    for one in several.comparisons:
        for text in texts(one):
            found.setdefault(text, []).append(whole_name(one, several))
    return found


def candidate_table(several: SeveralComparisons) -> Table:
    """Return a row for each candidate: both times, what explains the gap, and the time against the first machine's."""
    candidates = several.comparisons
    times = [time for one in candidates for time in (one.forecast_s, one.simulated.mean)]
    show = None if max(times) > _FAR * min(times) > 0 else Seconds(times)
    has_measured = any(one.measured for one in candidates)
    spread = ["spread"] if any(one.measured and one.measured.ends for one in candidates) else []
    seen = ["measured", *spread, "error of simulated"] if has_measured else []
    names = machine_names(several)
    ratio = [f"times {names[several.machines[0]]}"] if len(several.machines) > 1 else []
    workload = ["workload"] if len(several.workloads) > 1 else []
    ranks = [] if several.axis == "P" else ["P"]
    axis = [f"{several.axis} ({unit})" if (unit := unit_of(several.axis)) else several.axis] if several.axis else []
    heads = [*workload, "machine", *axis, *ranks, "forecast", "simulated", "error", *seen, "most of the gap", *ratio]
    table = new_table(f"Candidates ({show.unit})" if show else "Candidates", *heads)
    for column in table.columns[1 : len(workload) + 1]:
        column.justify = "left"
    for one, last in zip(candidates, _ends_of_groups(several), strict=True):
        cells = [one.workload] if workload else []
        cells += [names[one.machine], *(f"{value:,.6g}" for value in one.at.values())]
        cells += [f"{float(one.comparison.forecast.values['P']):,.0f}"] if ranks else []
        forecast = show(one.forecast_s) if show else format_quantity(one.forecast_s, "time")
        cells += [forecast, time_cell(one.simulated, show), signed_percent(one.error)]
        if has_measured:
            cells += _measured_cells(one, show or time_text, bool(spread))
        cells.append(_largest(one))
        cells += [_ratio(one)] if ratio else []
        table.add_row(*cells, end_section=last)
    return table


def _measured_cells(one: Candidate, show: Callable[[float], str], spread: bool) -> list[str]:
    """Return the measured total, its spread, and the error of the simulation against it."""
    if one.measured is None:
        return [DOES_NOT_APPLY] * (3 if spread else 2)
    ends = [] if one.measured.ends is None else [*map(show, one.measured.ends)]
    known = [ends_of(*ends) if ends else DOES_NOT_APPLY] if spread else []
    time_s = float(one.measured)
    return [show(time_s), *known, signed_percent(relative_error(one.simulated.mean, time_s))]


def _ends_of_groups(several: SeveralComparisons) -> list[bool]:
    """Whether a line follows: after each value of an axis or each workload, if there are several machines."""
    ends: list[bool] = []
    for group in several.groups:
        ends += [len(group) > 1 and number == len(group) - 1 for number in range(len(group))]
    return ends


def _largest(one: Candidate) -> str:
    """Return the rung that explains most, and how much of the gap that is."""
    rung, change = one.largest, one.change(one.largest).mean
    if not change:
        return "no gap"
    gap = one.simulated.mean - one.forecast_s
    share = share_percent(change / gap) if gap else DOES_NOT_APPLY
    return f"{rung.effect} {share}" if share != DOES_NOT_APPLY else f"{rung.effect}, cancelled"


def _ratio(one: Candidate) -> str:
    """Return the simulated time over the first machine's."""
    if one.against is None:
        return "1"
    ratio = one.against.ratio
    if not math.isfinite(ratio.mean):
        return DOES_NOT_APPLY
    known = ratio.same or not (math.isfinite(ratio.low) and math.isfinite(ratio.high))
    if known:
        return f"{ratio.mean:.4g}"
    return with_ends(*(f"{value:.5g}" for value in (ratio.mean, ratio.low, ratio.high)))


def formula_table(candidates: Sequence[Candidate], several: SeveralComparisons) -> list[RenderableType]:
    """Return times of formulas for each candidate, and their errors against its simulation.

    Nothing if there are none.
    """
    names = list(dict.fromkeys(formula.name for one in candidates for formula in one.comparison.formulas))
    if not names:
        return []
    show = Seconds(formula.total_s for one in candidates for formula in one.comparison.formulas)
    heads = [head for name in names for head in (name, f"error of {name}")]
    table = new_table(f"Formulas ({show.unit})", "candidate", *heads)
    for one in candidates:
        known = {formula.name: formula for formula in one.comparison.formulas}
        cells: list[str] = []
        for name in names:
            time_s = known[name].total_s if name in known else math.nan
            cells += [show(time_s), signed_percent(relative_error(time_s, one.simulated.mean))]
        table.add_row(whole_name(one, several), *cells)
    return [table]


def cost_table(several: SeveralComparisons) -> list[RenderableType]:
    """Return the price of each machine, and what the simulated run costs on it; nothing where no machine states any."""
    names = dict.fromkeys(name for one in several.comparisons for name in one.costs if not name.startswith("forecast_"))
    if not names:
        return []
    words = (name.removeprefix("simulated_").replace("_", " ") for name in names)
    table = new_table("Costs, of the run as simulated", "candidate", *(_COST_HEADS.get(one, one) for one in words))
    for one in several.comparisons:
        cells = [one.costs.get(name) for name in names]
        table.add_row(whole_name(one, several), *(DOES_NOT_APPLY if cell is None else f"{cell:,.6g}" for cell in cells))
    return [table]


def _notes(several: SeveralComparisons) -> list[str]:
    """Return notes for the reader of the forecasts, and the meaning of a dash in the ladder, if there is one."""
    said = _of_whom(several, lambda one: one.comparison.forecast.notes)
    notes = [f"Note: {text} ({'; '.join(names)})." for text, names in said.items()]
    shown = effects_shown([one.comparison for one in several.comparisons])
    rungs = [rung for one in several.comparisons for rung in one.comparison.rungs]
    some = any(rung.effect in shown and not rung.applies for rung in rungs)
    if some and not several.axis:
        notes.append(f"{DOES_NOT_APPLY}: nothing there for the effect to act on; 0: it changes nothing.")
    return notes


def _farther(several: SeveralComparisons) -> list[str]:
    """Whose ladder leads away from what was measured."""
    names = [whole_name(one, several) for one in several.comparisons if one.comparison.farther_from_measured]
    what = "the simulation is farther from the measured time than the forecast, so that no effect explains that"
    return [f"{'; '.join(names)}: {what}."] if names else []


def _verdicts(several: SeveralComparisons) -> list[str]:
    """Which machine is the fastest, and whether both readings put them in one order; of each group of machines."""
    groups = [group for group in several.groups if len(group) > 1]
    if several.axis:
        turned = [group for group in groups if not same_order(group)]
        places = [
            ", ".join([*([group[0].workload] if len(several.workloads) > 1 else []), *place_of(group[0])])
            for group in turned
        ]
        if not groups:
            return []
        if not turned:
            return ["The forecast puts the machines in the order of the simulation everywhere."]
        return [f"The forecast puts the machines in another order than the simulation at {'; '.join(places)}."]
    return [_verdict(group, several) for group in groups]


def _verdict(group: Sequence[Candidate], several: SeveralComparisons) -> str:
    forecast, simulated = (ranked(group, reading) for reading in READINGS)
    names = machine_names(several)
    times = {one.machine: one for one in group}
    best, *others = simulated
    who = f"{group[0].workload}: " if len(several.workloads) > 1 else ""
    if len(best) > 1 and any(is_open(times[best[0]], times[name]) for name in best[1:]):
        between = f"{who}no difference between {_and([names[name] for name in best])} by the simulation"
        text = f"{between} (the paired interval of the difference holds 0)"
    elif len(best) > 1:
        text = f"{who}{_and([names[name] for name in best])} are equally fast by the simulation"
    else:
        text = f"{who}{names[best[0]]} is the fastest by the simulation"
    if others:
        first, second = times[best[0]], times[others[0][0]]
        factor = second.simulated.mean / first.simulated.mean if first.simulated.mean else math.inf
        takes = "takes" if len(others[0]) == 1 else "take"
        text += f"; {_and([names[name] for name in others[0]])} {takes} {_longer(factor)}{_certainty(first, second)}"
    if same_order(group):
        return f"{text}." if len(simulated) == 1 and len(forecast) > 1 else f"{text}; the forecast has the same order."
    order = listed(" and ".join(names[name] for name in rank) for rank in forecast)
    if len(forecast) == 1:
        return f"{text}; by the forecast they are all equally fast."
    return f"{text}; by the forecast, the order is {order}."


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _longer(factor: float) -> str:
    """How much longer than the fastest."""
    return f"{signed_percent(factor - 1, '-')} longer" if factor < _TWICE else f"{factor:,.3g} times as long"


def _certainty(best: Candidate, second: Candidate) -> str:
    """Whether the difference may be chance."""
    known = best.replicated or second.replicated
    small = _but_small(best, second)
    if known is None:
        return small
    pair = against(best, second, known.level)
    if pair.difference.same:
        return f", whatever the seed{small}"
    if math.isnan(pair.difference.low):
        return ", in one draw: how certain that is, is unknown"
    return f" (the paired interval of the difference does not hold 0: it is not chance{small})"


def _but_small(best: Candidate, second: Candidate) -> str:
    """Certain is not large."""
    return but_small(relative_error(second.simulated.mean, best.simulated.mean))
