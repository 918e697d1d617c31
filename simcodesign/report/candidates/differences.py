"""How much two machines differ under common random numbers: a table of paired intervals, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import RenderableType

from simcodesign.report.common.numbers import but_small, with_ends
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.replication.quantities import named_quantity
from simcodesign.studies.replication.observations import Key
from simcodesign.studies.replication.output_analysis import PairedIntervals

#: Differences below this fraction of a mean are rounding.
_DUST = 1e-12


def difference_tables(pairs: Mapping[Key, PairedIntervals], names: tuple[str, str]) -> list[RenderableType]:
    """Return both machines, their difference and ratio, and a verdict on the first quantity."""
    table = new_table("Means, and paired intervals", "quantity", *names, "difference", "ratio")
    judged, *parts = pairs
    for key in (judged, *(part for part in parts if pairs[part].first.mean or pairs[part].second.mean)):
        name, form = named_quantity(key)
        pair = pairs[key]
        difference = "0" if _equal(pair) else form.wide(pair.difference)
        table.add_row(name, form.wide(pair.first), form.wide(pair.second), difference, _ratio(pair))
    return [table, paragraph(verdict(pairs[judged], judged, names))]


def _equal(pair: PairedIntervals) -> bool:
    """Return whether both differ by no more than rounding, in every replication."""
    dust = _DUST * max(abs(pair.first.mean), abs(pair.second.mean))
    gap = pair.difference
    return max(abs(gap.mean), 0.0 if gap.same else gap.half_width) <= dust


def verdict(pair: PairedIntervals, key: Key, names: tuple[str, str]) -> str:
    """Return which machine is faster, whether that is certain, and what the common random numbers gained."""
    name, form = named_quantity(key)
    gap = pair.difference
    if _equal(pair):
        return f"The {name} is the same on both, in every replication."
    size = form.wide(gap).lstrip("-")
    apart = f"The {name} on {names[1]} is {'larger' if gap.mean > 0 else 'smaller'} than on {names[0]} by {size}"
    small = but_small(pair.ratio.mean - 1)
    if gap.same:
        return f"{apart}, in every replication{small}."
    unknown = "holds 0: it is not known which is better"
    certain = f"does not hold 0: it is not chance{small}" if pair.decided else unknown
    return f"{apart}; the interval of the difference {certain}.{_common(pair)}"


def _common(pair: PairedIntervals) -> str:
    if not math.isfinite(pair.narrowing):
        return ""
    text = (
        f" With {pair.first.count} independent runs of each, the interval would be {pair.narrowing:.2g} times as wide"
    )
    if math.isnan(pair.correlation):
        return f"{text}."
    return f"{text} (correlation of the runs under common random numbers: {pair.correlation:.2f})."


def _ratio(pair: PairedIntervals) -> str:
    ratio = pair.ratio
    if math.isnan(ratio.mean):
        return "-"
    if ratio.same or math.isnan(ratio.low):
        return f"{ratio.mean:.4g}"
    return with_ends(*(f"{value:.4g}" for value in (ratio.mean, ratio.low, ratio.high)))
