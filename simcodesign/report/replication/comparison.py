"""A forecast compared with replications, as tables and sentences."""

from __future__ import annotations

import math

from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.effects import WAITING, effect_words
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.report.common.numbers import Seconds, with_ends
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.replication.quantities import QuantityFormat
from simcodesign.report.results.comparison_tables import added_text, assumption_facts
from simcodesign.report.results.ladder_rows import effects_shown, not_here_line
from simcodesign.report.results.tables import NOBODY_WAITS
from simcodesign.studies.replication.comparison import ReplicatedComparison
from simcodesign.studies.replication.observations import RESPONSE
from simcodesign.studies.replication.output_analysis import Interval

_NAMES = {"makespan_s": "makespan", "response_s": "response time"}


def replicated_comparison_tables(comparison: ReplicatedComparison) -> list[RenderableType]:
    """Return the ladder with intervals, ending with the verdict in one sentence."""
    forecast = comparison.first.forecast
    ranks = f"P = {float(forecast.values['P']):,.0f}"
    title = f"{forecast.workload} on {forecast.machine}, {ranks}: forecast against {_runs(comparison)}"
    effects, random = (
        ", ".join(names) or "none" for names in (comparison.first.simulation.effects, comparison.random_sources)
    )
    settings = (
        f"effects {effects}; random {random}; seed {comparison.seed}; {100 * comparison.level:g}% confidence intervals"
    )
    head = [paragraph(title, bold=True), paragraph(settings), facts(assumption_facts(comparison.first))]
    parts = [*head, component_table(comparison), ladder_table(comparison), *not_here_line([comparison.first])]
    return [*parts, *(paragraph(text) for text in (*_notes(comparison), verdict(comparison)))]


def component_table(comparison: ReplicatedComparison) -> Table:
    """Forecast and mean simulation per component, with half-widths."""
    forecast, name = comparison.first.forecast, comparison.keys[0]
    rows = {part: (float(forecast.components[part]), comparison.interval("components_s", part)) for part in COMPONENTS}
    rows[_NAMES[name[0]]] = (float(forecast.headline_s), comparison.interval(*name))
    show = Seconds(value for time_s, interval in rows.values() for value in (time_s, interval.mean))
    table = new_table(f"Time per component ({show.unit})", "component", "forecast", "simulated")
    for part, (time_s, interval) in rows.items():
        table.add_row(part, show(time_s), _cell(interval, show), style=None if part in COMPONENTS else "bold")
    return table


def ladder_table(comparison: ReplicatedComparison) -> Table:
    """Change by each effect, switched on one after another: means of pairs, with half-widths."""
    effects = effects_shown([comparison.first])
    times = {effect: comparison.interval("simulated_s", effect) for effect in effects}
    show = Seconds([float(comparison.first.forecast.headline_s), *(interval.mean for interval in times.values())])
    table = new_table(f"Effects, switched on one after another ({show.unit})", "effect", "simulated", "change")
    table.add_row("forecast", show(float(comparison.first.forecast.headline_s)), "")
    for effect, interval in times.items():
        change = comparison.interval("change_s", effect)
        table.add_row(effect, _cell(interval, show), _cell(change, show, "+"))
    return table


def verdict(comparison: ReplicatedComparison) -> str:
    """How far the forecast is off, and what explains most of it."""
    error, name = comparison.error, _NAMES[comparison.keys[0][0]]
    if not math.isfinite(error.mean):
        return f"The forecast of the {name} has no relative error."
    value, low, high = (f"{100 * end:+z.3g}%" for end in (error.mean, error.low, error.high))
    found = value if error.same or math.isnan(error.low) else with_ends(value, low, high)
    largest = max(
        (key[1] for key in comparison.keys if key[0] == "change_s"),
        key=lambda effect: abs(comparison.interval("change_s", effect).mean),
    )
    change = comparison.interval("change_s", largest)
    text = f"The error of the forecast of the {name} is {found}"
    if not change.mean:
        return f"{text}."
    words = effect_words(largest)
    if largest == WAITING and comparison.first.forecast.formulas:
        words = NOBODY_WAITS
    amount = QuantityFormat("s").wide(change).lstrip("-")
    return f"{text}; most is {words}, {added_text(change.mean, amount)}."


def _notes(comparison: ReplicatedComparison) -> list[str]:
    texts = []
    if not comparison.random_sources:
        texts.append("Nothing here is random with these effects: one comparison is the answer.")
    elif comparison.count > 1:
        texts.append("A number without ± is the same in every replication.")
    if comparison.keys[0] == RESPONSE:
        texts.append("Response times cover all requests, from the empty start on.")
    if not comparison.stopping.reached:
        texts.append(f"NOT REACHED: {comparison.count} replications, the most allowed, do not give the precision.")
    return texts


def _cell(interval: Interval, show: Seconds, sign: str = "") -> str:
    if interval.same or not math.isfinite(interval.half_width):
        return show(interval.mean, sign)
    plus = sign if interval.mean > 0 else ""
    return plus + QuantityFormat.of(show).wide(interval)


def _runs(comparison: ReplicatedComparison) -> str:
    return f"{comparison.count} simulation{'s' if comparison.count > 1 else ''} of each effect"
