"""The ladders of candidates in tables: side by side, or of each over the values of an axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from simcodesign.comparison.attribution import UNEXPLAINED, LadderStep
from simcodesign.report.candidates.names import label, place_of, time_cell
from simcodesign.report.candidates.series import measured_s
from simcodesign.report.common.numbers import DOES_NOT_APPLY, Seconds, share_percent
from simcodesign.report.common.tables import new_table
from simcodesign.report.results.ladder_rows import effects_shown
from simcodesign.studies.candidates.several import Candidate, SeveralComparisons


def several_ladders(several: SeveralComparisons, shares: bool = False) -> list[Table]:
    """Return the change by each effect, from the forecast to the simulation, and on to the measurement.

    A column for each candidate, or over an axis a table for each, with a column for each value. ``shares``: with the
    part that each step is of the gap, which is that to the measured time if there is one.
    """
    if not several.axis:
        names = [label(one, several) for one in several.comparisons]
        return [_ladders("Effects, switched on one after another", names, several.comparisons, shares)]
    lines = lines_of(several)
    tables = []
    for name, line in lines.items():
        who = f"{name}: effects" if len(lines) > 1 else "Effects"
        names = [place_of(one)[0] for one in line]
        tables.append(_ladders(f"{who}, switched on one after another", names, line, shares))
    return tables


def lines_of(several: SeveralComparisons) -> dict[str, list[Candidate]]:
    """Return the candidates that differ by their value of the axis only, by what they are called."""
    lines: dict[str, list[Candidate]] = {}
    for one in several.comparisons:
        lines.setdefault(label(one, several), []).append(one)
    return lines


def _ladders(title: str, names: Sequence[str], candidates: Sequence[Candidate], shares: bool) -> Table:
    show = Seconds(time for one in candidates for time in (one.forecast_s, one.simulated.mean, measured_s(one)))
    to = ", to the measured time if there is one" if any(one.measured for one in candidates) else ""
    unit = f"{show.unit}; fraction of the gap{to}" if shares else show.unit
    table = new_table(f"{title}: what each adds ({unit})", "effect", *names)
    table.add_row("forecast", *(show(one.forecast_s) for one in candidates), end_section=True)
    for effect in effects_shown([one.comparison for one in candidates]):
        table.add_row(effect, *(_change(one, effect, show, shares) for one in candidates))
    table.add_section()
    table.add_row("simulated", *(time_cell(one.simulated, show) for one in candidates), style="bold")
    if any(one.measured for one in candidates):
        table.add_row(UNEXPLAINED, *(_unexplained(one, show, shares) for one in candidates))
        table.add_row("measured", *(show(measured_s(one)) for one in candidates), style="bold")
    return table


def _change(one: Candidate, effect: str, show: Seconds, shares: bool) -> str:
    rung = next(rung for rung in one.comparison.rungs if rung.effect == effect)
    if not rung.applies:
        return DOES_NOT_APPLY
    step = next(step for step in one.steps if step.step == effect)
    return time_cell(one.change(rung), show, "+") + (_share(step) if shares else "")


def _unexplained(one: Candidate, show: Seconds, shares: bool) -> str:
    if one.measured is None:
        return DOES_NOT_APPLY
    last = one.steps[-1]
    return show(last.change_s, "+") + (_share(last) if shares else "")


def _share(step: LadderStep) -> str:
    """Return the fraction of the gap for a step, to append to its change; nothing if it is none, or steps cancel."""
    text = share_percent(step.fraction)
    return f" ({text})" if step.change_s and text != DOES_NOT_APPLY else ""


def between_machines(several: SeveralComparisons) -> Iterator[str]:
    """Yield what the ladders explain, and the parts of the difference between machines, the largest first.

    The difference of two simulated times is the difference of the forecasts and of what each effect adds.
    """
    pairs = [(group[0], other) for group in several.groups for other in group[1:]]
    if several.axis or not pairs:
        return
    yield (
        "Each column explains the gap between forecast and simulation of one machine. The difference between machines "
        "consists of the difference of their forecasts and of what each effect adds:"
    )
    for first, other in pairs:
        parts = {"forecast": other.forecast_s - first.forecast_s}
        for one, sign in ((other, 1.0), (first, -1.0)):
            for rung in one.comparison.rungs:
                parts[rung.effect] = parts.get(rung.effect, 0.0) + sign * one.change(rung).mean
        whole_s = other.simulated.mean - first.simulated.mean
        show = Seconds([*parts.values(), whole_s])
        found = sorted(parts.items(), key=lambda part: -abs(part[1]))
        texts = [f"{name} {show(part_s, '+')} {show.unit}" for name, part_s in found if abs(part_s) > show.dust]
        ends = f"{label(other, several)} minus {label(first, several)}: {show(whole_s, '+')} {show.unit}"
        yield f"{ends} = {', '.join(texts)}." if texts else f"{ends}."
