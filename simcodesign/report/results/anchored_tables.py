"""Predictions anchored at measurements, as a table and sentences: both as predicted and as anchored, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from simcodesign.comparison.measured.anchored import Anchored
from simcodesign.report.common.numbers import DOES_NOT_APPLY, Seconds, ends_of
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.results.measured_tables import unit_hint


def anchored_tables(several: Sequence[Anchored]) -> list[RenderableType]:
    """Each reading as predicted and as anchored, then what is to be known of it; nothing without any."""
    known = [one for one in several if not one.refused]
    refused = dict.fromkeys(f"Not anchored: {one.refused}." for one in several if one.refused)
    if not known:
        return [paragraph(text) for text in refused]
    ends_s = [end_s for one in known for end_s in one.interval_s or ()]
    show = Seconds([*(one.predicted_s for one in known), *(one.anchored_s for one in known), *ends_s])
    title = f"Anchored at what was measured on fewer ranks ({show.unit})"
    table = new_table(
        title, "reading", "predicted", "anchored", f"{known[0].level:.0%} interval", "measured / predicted", "at P"
    )
    for one in known:
        interval = DOES_NOT_APPLY if one.interval_s is None else ends_of(*map(show, one.interval_s))
        ratio = f"{one.anchor.ratio:.4g}"
        ranks = f"{one.anchor.ranks:,.12g}"
        table.add_row(one.reading, show(one.predicted_s), show(one.anchored_s), interval, ratio, ranks)
    return [table, *(paragraph(text) for text in [*_sentences(known), *refused])]


def _sentences(known: Sequence[Anchored]) -> list[str]:
    """Facts that stay unknown in anchored predictions."""
    one = known[0]
    said = [] if one.steps else ["No interval: only one number of ranks was measured."]
    said += [hint for each in known for hint in unit_hint(each.anchor.ratio, 1.0)]
    said += [f"Frozen: {words}." for words in one.frozen]
    said += [f"Caution ({each.reading}): {each.warning}." for each in known if each.warning]
    return list(dict.fromkeys(said))
