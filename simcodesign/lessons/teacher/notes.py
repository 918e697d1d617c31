"""Notes for teachers, divided among the steps of a lesson.

A paragraph that begins with the bold name of a step, ``**Watch.** ...``, belongs to that step with all that follows it,
up to the next paragraph that begins in bold. Everything else is about the whole lesson.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simcodesign.core.errors import Place
from simcodesign.lessons.markdown import to_html
from simcodesign.lessons.values import Values

_HEADING = re.compile(r"\A#[^\n]*\n")
_BOLD = re.compile(r"\*\*([^*\n]+?)\.?\*\*")


@dataclass(frozen=True)
class Notes:
    """HTML of the notes: ``general`` for the lesson, ``of_steps`` by the name of a step."""

    general: str
    of_steps: dict[str, str]


def notes_of(text: str, place: Place, steps: Sequence[str], values: Values) -> Notes:
    """Return the notes in ``text`` with numbers filled in. InputError for an expression that has no value."""
    parts: dict[str, list[str]] = {name: [] for name in ("", *steps)}
    current = ""
    for paragraph in re.split(r"\n{2,}", _HEADING.sub("", text).strip()):
        bold = _BOLD.match(paragraph)
        if bold:
            current = bold[1] if bold[1] in steps else ""
            paragraph = paragraph[bold.end() :].lstrip() if current else paragraph
        parts[current].append(paragraph)

    def shown(paragraphs: list[str]) -> str:
        # Moments are of the clock of a page, which a guide does not have.
        return to_html("\n\n".join(paragraphs), place, lambda text, at: None, values.text)

    return Notes(shown(parts[""]), {name: shown(parts[name]) for name in steps})
