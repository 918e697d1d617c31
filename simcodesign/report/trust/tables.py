"""A trust map as a table and sentences for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from simcodesign.describe.effects import effect_names
from simcodesign.report.common.numbers import signed_percent
from simcodesign.report.common.tables import dashed_list, new_table, paragraph
from simcodesign.report.results.evidence_lines import evidence_over_text
from simcodesign.report.sweep.plot_axes import value_texts
from simcodesign.studies.sweep.design.grid import SEED, SweepAxis
from simcodesign.studies.trust.regions import Condition, Limit
from simcodesign.studies.trust.trust_map import Trust, TrustMap


def trust_tables(trust: TrustMap) -> list[RenderableType]:
    """How often each formula is within the fraction, in which regions, which one to use where, and for which points."""
    if not trust.points:
        return [paragraph("Nothing was simulated with which formulas can be compared")]
    parts: list[RenderableType] = [
        _counts(trust),
        dashed_list((line for one in trust.formulas for line in _where(one)), f"Within {share_text(trust)}:"),
        dashed_list(_to_use(trust), "Which to use, by the least absolute error:"),
        *(dashed_list(one.formula.notes, f"{label(one).capitalize()}:") for one in trust.formulas if one.formula),
        paragraph(_simulated(trust)),
        dashed_list(evidence_over_text(trust.evidence), "Evidence of the machine's file, from measured times:"),
    ]
    return [part for part in parts if part != ""]


def label(one: Trust) -> str:
    """Return ``formula NAME``, or the name that it has if it was given none; of our forecast, that."""
    if one.formula is None:
        return "our forecast"
    return one.name if one.name.startswith("formula") else f"formula {one.name}"


def title_of(trust: TrustMap) -> str:
    """``jacobi (sweep) on mesh-256``: what was simulated."""
    phases = "" if trust.phases is None else f" ({', '.join(trust.phases)})"
    return f"{trust.workload}{phases} on {trust.machine}"


def run_text(trust: TrustMap) -> str:
    """Return the effects that were simulated, and the seed if that is no axis."""
    names = trust.effects
    effects = f"effects {', '.join(names)}" if names else "no effects"
    text = "all effects" if names == tuple(effect_names()) else effects
    return text if any(axis.known.kind == SEED for axis in trust.axes) else f"{text}, seed {trust.seed}"


def share_text(trust: TrustMap) -> str:
    """``10 % of the simulation``."""
    return f"{100 * trust.fraction:.4g} % of the simulation"


def _counts(trust: TrustMap) -> Table:
    title = f"{title_of(trust)}: formulas at {trust.points:,} simulated points, {run_text(trust)}"
    heads = ("within", "too low", "too high", "no value", "largest error", "to use")
    table = new_table(title, "", *heads)
    for one in trust.formulas:
        counts = [one.within.points, one.too_low, one.too_high, one.no_value]
        texts = [f"{count:,}" if count else "-" for count in counts]
        used = f"{one.best.points:,}" if one.best.points else "-"
        table.add_row(label(one), *texts, signed_percent(one.largest_error), used)
    return table


def _where(one: Trust) -> Iterator[str]:
    """Where a formula is within the fraction, and the next points at which it is not."""
    region = one.within
    plain = region.condition is None and 0 < region.points < region.of
    yield f"{label(one)} {region.text}{_beyond(region.condition)}{'; no simple condition fits' if plain else ''}"
    for words, inner in region.by_words.items():
        yield f"{label(one)}, {words}: {inner.text}{_beyond(inner.condition)}"


def _beyond(condition: Condition | None) -> str:
    """Return the simulated values beyond the thresholds, between which and the thresholds nothing is known."""
    texts = [side.beyond_text for side in condition.sides if isinstance(side, Limit)] if condition else []
    return f"; the next simulated: {', '.join(texts)}" if texts else ""


def _to_use(trust: TrustMap) -> Iterator[str]:
    for one in trust.formulas:
        if one.best.points:
            yield f"{label(one)} {one.best.text}"
    if trust.nothing.points:
        yield f"none is within {share_text(trust)} {trust.nothing.text}"


def _simulated(trust: TrustMap) -> str:
    """Points for which the words are true."""
    shown = ", ".join(_range_text(trust, axis) for axis in trust.axes)
    seeds = " (with all seeds)" if any(axis.known.kind == SEED for axis in trust.axes) else ""
    return f"True of the points simulated{seeds}: {shown}. Between and beyond them nothing was simulated."


def _range_text(trust: TrustMap, axis: SweepAxis) -> str:
    values = list(dict.fromkeys(trust.values[axis.name].tolist()))
    if not axis.numeric:
        return f"{axis.name} = {', '.join(map(str, values))}"
    if len(values) == 1:
        return f"{axis.name} = {value_texts(axis, values)[0]}"
    low, high = value_texts(axis, [min(values), max(values)])
    return f"{axis.name} from {low} to {high} ({len(values):,} values)"
