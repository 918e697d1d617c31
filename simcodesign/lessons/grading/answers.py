"""Answers that a page has exported (``answers.json``), read as what a stranger has written: nothing in it is believed.

Of the file count the code, and the last answer to each question. The rest says whether it is of this lesson and whether
the page showed what it should have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place, shorten
from simcodesign.core.files.input_files import read_text
from simcodesign.lessons.grading.seeding import checked_code
from simcodesign.lessons.grading.typed import MARKS

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Answers:
    """``given``: of each question what was answered, of any type.

    ``parameters``: stops by slider, as the file says, or None for what is no mapping; ``is_exam``: by an exam file;
    ``language``: the page's, in whose notation texts are read as numbers, or "".
    """

    file: str
    lesson: str
    content: str
    code: str
    is_exam: bool
    parameters: Mapping[str, object] | None
    given: Mapping[str, object]
    language: str = ""


def read_answers(path: Path) -> Answers:
    """Return the answers of a file. InputError for what is no such file, or has no code."""
    place = Place(str(path))
    text = read_text(path, MOST_BYTES)
    try:
        # Numbers of any length become floats: thousands of digits would take a whole number long, and are inf here.
        found = json.loads(text, parse_int=float, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"not a file of answers: {shorten(reason)}", place) from None
    if isinstance(found, dict) and found.get("simcodesign", 1) != 1:
        version = shorten(str(found["simcodesign"]))
        raise InputError(f"answers in another format, simcodesign: {version}", place, allowed="simcodesign: 1")
    if not isinstance(found, dict) or found.get("simcodesign") != 1 or not isinstance(found.get("answers"), dict):
        raise InputError("not a file of answers", place, allowed="answers.json as the page of a lesson exports it")
    parameters, language = found.get("parameters"), found.get("language")
    return Answers(
        file=path.name,
        lesson=_text(found, "lesson", place),
        content=_text(found, "content", place),
        code=checked_code(_text(found, "code", place)),
        is_exam=found.get("exam") is True,
        parameters=parameters if isinstance(parameters, dict) else None,
        given={
            name: one["value"] for name, one in found["answers"].items() if isinstance(one, dict) and "value" in one
        },
        language=language if isinstance(language, str) and language in MARKS else "",
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mapping; ValueError for a key that stands twice, of which readers would take different ones."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one mapping")
    return found


def _text(found: Mapping[str, object], key: str, place: Place) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise InputError(f"'{key}' is no text", place, value=shorten(str(value)))
    return value
