"""A forecast compared with replications, as tables and sentences."""

from __future__ import annotations

import math

from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.effects import WAITING, effect_words
from simcodesign.core.result import COMPONENTS
from simcodesign.report.common.numbers import Seconds
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.replication.tables import Form
from simcodesign.report.results.tables import NOBODY_WAITS
from simcodesign.studies.replication.comparison import ReplicatedComparison
from simcodesign.studies.replication.observations import RESPONSE
from simcodesign.studies.replication.output_analysis import Interval

_NAMES = {"makespan_s": "makespan", "response_s": "response time"}


def replicated_comparison_tables(found: ReplicatedComparison) -> list[RenderableType]:
    """The ladder with intervals, ending with the verdict in one sentence."""
    said = found.first.forecast
    title = f"{said.workload} on {said.machine}, P = {float(said.values['P']):,.0f}: forecast against {_runs(found)}"
    effects, drawn = (", ".join(names) or "none" for names in (found.first.simulation.effects, found.drawn))
    settings = f"effects {effects}; drawn {drawn}; seed {found.seed}; intervals of {100 * found.confidence:g}%"
    parts = [paragraph(title, bold=True), paragraph(settings), component_table(found), ladder_table(found)]
    return [*parts, *(paragraph(text) for text in (*_notes(found), verdict(found)))]


def component_table(found: ReplicatedComparison) -> Table:
    """Forecast and mean simulation per component, with half-widths."""
    said, name = found.first.forecast, found.keys[0]
    rows = {part: (float(said.components[part]), found.interval("components_s", part)) for part in COMPONENTS}
    rows[_NAMES[name[0]]] = (float(said.headline_s), found.interval(*name))
    show = Seconds(value for time_s, seen in rows.values() for value in (time_s, seen.mean))
    table = new_table(f"Time per component ({show.unit})", "component", "forecast", "simulated")
    for part, (time_s, seen) in rows.items():
        table.add_row(part, show(time_s), _cell(seen, show), style=None if part in COMPONENTS else "bold")
    return table


def ladder_table(found: ReplicatedComparison) -> Table:
    """What each effect adds, switched on one after another: means of pairs, with half-widths."""
    effects = [key[1] for key in found.keys if key[0] == "simulated_s"]
    times = {effect: found.interval("simulated_s", effect) for effect in effects}
    show = Seconds([float(found.first.forecast.headline_s), *(seen.mean for seen in times.values())])
    table = new_table(f"Effects, switched on one after another ({show.unit})", "effect", "simulated", "change")
    table.add_row("forecast", show(float(found.first.forecast.headline_s)), "")
    for effect, seen in times.items():
        change = found.interval("change_s", effect)
        table.add_row(effect, _cell(seen, show), _cell(change, show, "+"))
    return table


def verdict(found: ReplicatedComparison) -> str:
    """How far the forecast is off, and what explains most of it."""
    error, name = found.error, _NAMES[found.keys[0][0]]
    if not math.isfinite(error.mean):
        return f"The forecast of the {name} has no relative error."
    width = "" if error.same or math.isnan(error.low) else f" ({100 * error.low:+.3g}% to {100 * error.high:+.3g}%)"
    largest = max(
        (key[1] for key in found.keys if key[0] == "change_s"),
        key=lambda effect: abs(found.interval("change_s", effect).mean),
    )
    change = found.interval("change_s", largest)
    text = f"The error of the forecast of the {name} is {100 * error.mean:+.3g}%{width}"
    if not change.mean:
        return f"{text}."
    words = effect_words(largest)
    if largest == WAITING and found.first.forecast.formulas:
        words = NOBODY_WAITS
    verb = "adds" if change.mean > 0 else "takes away"
    return f"{text}; most is {words}, which {verb} {Form('s').wide(change).lstrip('-')}."


def _notes(found: ReplicatedComparison) -> list[str]:
    texts = []
    if not found.drawn:
        texts.append("Nothing here is random with these effects: one comparison is the answer.")
    elif found.count > 1:
        texts.append("A number without ± is the same in every replication.")
    if found.keys[0] == RESPONSE:
        texts.append("Response times are those of all requests, from the empty start on.")
    if not found.stopping.reached:
        texts.append(f"NOT REACHED: {found.count} replications, the most allowed, do not give the precision.")
    return texts


def _cell(seen: Interval, show: Seconds, sign: str = "") -> str:
    if seen.same or not math.isfinite(seen.half_width):
        return show(seen.mean, sign)
    plus = sign if seen.mean > 0 else ""
    return plus + Form.of(show).wide(seen)


def _runs(found: ReplicatedComparison) -> str:
    return f"{found.count} simulation{'s' if found.count > 1 else ''} of each effect"
