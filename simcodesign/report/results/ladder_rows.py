"""Which rungs of a ladder are shown, in tables, plots and pages: those that have anything to act on.

The others are named in one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType

from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.effects import Rung, names_that_apply
from simcodesign.report.common.tables import paragraph

#: Where the ladder of a forecast that is the longest path begins.
SUM = "sum of closed forms"


def rungs_shown(comparison: Comparison) -> list[Rung]:
    """Return the rungs that have anything to act on.

    Not the first one if the forecast, a longest path, has all of it.
    """
    first, *others = comparison.rungs
    has_waits = comparison.path_ladder and not first.change_s
    return [rung for rung in ([] if has_waits else [first]) + others if rung.applies]


def effects_shown(comparisons: Iterable[Comparison]) -> list[str]:
    """Return the rungs that have anything to act on in any of these, in their order."""
    return names_that_apply(comparison.rungs for comparison in comparisons)[0]


def not_here_text(absent: Sequence[str]) -> str:
    """Sentence on effects with nothing to act on; empty for none."""
    return f"Effects with nothing to act on here: {', '.join(absent)}." if absent else ""


def not_here(comparisons: Sequence[Comparison]) -> str:
    """Return the effects that have nothing to act on in any of these, in words; empty if all have."""
    absent = names_that_apply(comparison.rungs for comparison in comparisons)[1]
    if len(comparisons) < 2 or not absent:
        return not_here_text(absent)
    return f"Effects with nothing to act on in any of these: {', '.join(absent)}."


#: The effect that takes messages by their own routes.
_HOPS = "hops"


def hops_line(comparisons: Sequence[Comparison]) -> list[RenderableType]:
    """Explain how an effect that seems to only add can take time away, if it does."""
    rungs = [rung for comparison in comparisons for rung in comparison.rungs]
    if not any(rung.effect == _HOPS and rung.change_s < 0 for rung in rungs):
        return []
    text = (
        "hops below 0: these messages make fewer hops than the distance law of the forecast assumes, or pass fewer "
        "slow links, for example between ranks that are near each other."
    )
    return [paragraph(text)]


def not_here_line(comparisons: Sequence[Comparison]) -> list[RenderableType]:
    """Effects with nothing to act on, as a paragraph under a table."""
    text = not_here(comparisons)
    return [paragraph(text)] if text else []
