"""Where the texts of a step speak of figures that an exam does not show: by words that name a kind of figure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

#: What a figure is called in a sentence, by its kind.
NAMES = {
    "curve": "curve",
    "ladder": "ladder",
    "network": "network",
    "gantt": "Gantt chart",
    "events": "list of events",
    "trust": "map of trust",
    "helps": "chart of what helps",
    "clock": "clock",
    "sliders": "sliders",
    "table": "table",
    "cache": "animation of a cache",
}
#: A task to draw the curve that a step asks for as a prediction; and any figure.
PREDICTION, FIGURE = "prediction", "figure"
#: English and German words that speak of each. A network has none of its own: texts say "mesh" of the machine, too.
_WORDS = {
    PREDICTION: r"draw|drawn|drag|pencil|zeichnen|gezeichnet\w*|ziehen|stift",
    FIGURE: r"figures?|abbildung\w*|bild",
    "curve": r"curves?|kurven?",
    "ladder": r"ladder|rungs?|leiter|sprossen?",
    "network": r"thick\w*|click a link|dicker|auf eine verbindung",
    "gantt": r"charts?|bars?|gantt|\w*diagramm\w*|balken",
    "events": r"events?|ereignis\w*",
    "trust": r"maps?|karten?",
    "clock": r"clock|uhr",
    "sliders": r"sliders?|\w*regler\w*",
    "table": r"tables?|tabellen?",
}
_TARGET = re.compile(r"\]\([^)]*\)|\{\{.*?\}\}")


def spoken_of(text: str, missing: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the number of the line (from 1), word and kind.

    The first line of a text that speaks of each kind of ``missing``.
    """
    lines = _TARGET.sub(lambda found: "\n" * found.group().count("\n"), text).split("\n")
    for kind in (one for one in _WORDS if one in missing):
        word = re.compile(rf"\b({_WORDS[kind]})\b", re.IGNORECASE)
        found = ((number, match) for number, line in enumerate(lines, start=1) if (match := word.search(line)))
        yield from ((number, match.group(), kind) for number, match in list(found)[:1])
