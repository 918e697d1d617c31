"""Stops of sliders that are drawn from a student's code, here and in the page (``front/code.js``) alike.

A code is a text and a number: ``s017``, a number of matriculation. All combinations of stops stand in one order, and
the number goes through it from a place that the text determines. So a class shares the combinations evenly, and
neighbours in its list differ. A code without a number at its end has a place of its own.
"""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import product

from simcodesign.core.errors import InputError, shorten
from simcodesign.lessons.description import Lesson

#: What a code may be, in lower case.
CODE = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_START_BYTES = 6


def checked_code(text: str) -> str:
    """Return a code as it counts: without blanks around it, in lower case. InputError for what is none."""
    code = text.strip(" \t\n\r\f\v").lower()
    if not text.isascii() or not CODE.fullmatch(code):
        raise InputError("not a student's code", value=shorten(text), allowed="up to 40 letters, digits and . _ -")
    return code


def combinations_of(lesson: Lesson) -> list[dict[str, int]]:
    """All combinations of the stops that are drawn, in the order of numbers; one without stops if none are drawn.

    They begin in the order of their SHA-256; each is followed by the first of the rest that differs from it in the most
    sliders.
    """
    names = list(lesson.seeded)
    rest = sorted(
        product(*lesson.seeded.values()),
        key=lambda stops: sha256(f"{lesson.name}/{'-'.join(map(str, stops))}".encode()).hexdigest(),
    )
    ordered = [rest.pop(0)]
    while rest:
        differences = [sum(a != b for a, b in zip(one, ordered[-1], strict=True)) for one in rest]
        ordered.append(rest.pop(differences.index(max(differences))))
    return [dict(zip(names, stops, strict=True)) for stops in ordered]


def place_of(lesson: str, code: str, count: int) -> int:
    """Which of ``count`` combinations is that of a code, as ``checked_code`` returns it."""
    parts = re.fullmatch(r"(.*?)([0-9]*)", code)
    assert parts is not None
    start = int.from_bytes(sha256(f"{lesson}/{parts[1]}".encode()).digest()[:_START_BYTES], "big")
    return (start + int(parts[2] or 0)) % count
