"""What a teacher changes of a lesson: parts that are hidden, where sliders begin, tolerances.

They stand in a YAML file, in options, or in a page that the teacher's dialog has written (``front/teacher.js``)::

    simcodesign: 1
    hide: [Reorder, Watch/2, small]     # a step, the second figure of a step, a question
    start: {size: 2 KiB}
    tolerance: {factor: 5 %}
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import read_text
from simcodesign.core.units import parse_quantity
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.tree import Entry, parse_yaml, read_yaml
from simcodesign.lessons.packing import block_in, unpack

MOST_PAGE_BYTES = 64 * 1024 * 1024
KEYS = ("simcodesign", "hide", "start", "tolerance")


@dataclass(frozen=True)
class Changes:
    """``hide``: names of steps and questions, and ``STEP/N`` for the figure N (from 1) of a step.

    ``start``: texts of stops by slider; ``tolerance``: by question, relative.
    """

    hide: tuple[str, ...] = ()
    start: Mapping[str, str] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)

    def and_then(self, other: Changes) -> Changes:
        """Both; the other's count where they differ."""
        hide = tuple(dict.fromkeys([*self.hide, *other.hide]))
        return Changes(hide, {**self.start, **other.start}, {**self.tolerance, **other.tolerance})


def read_changes(path: Path) -> Changes:
    """Return the changes in a YAML file, or those with which a page was made. InputError for what is neither."""
    if path.suffix.lower() not in (".html", ".htm"):
        return _changes(read_yaml(path))
    try:
        header, _ = unpack(block_in(read_text(path, MOST_PAGE_BYTES)))
        made = json.dumps({"simcodesign": 1, **header.get("changes", {})})
    except (ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, zlib.error):
        allowed = "a page, or a YAML file of changes"
        raise InputError("not the page of a lesson", Place(str(path)), allowed=allowed) from None
    return _changes(parse_yaml(made, str(path)))  # JSON is YAML


def _changes(root: Entry) -> Changes:
    items = root.mapping(KEYS, required=("simcodesign",))
    check_format(items["simcodesign"])
    tolerance = items["tolerance"].mapping() if "tolerance" in items else {}
    return Changes(
        tuple(one.text() for one in items["hide"].sequence()) if "hide" in items else (),
        {name: one.text() for name, one in items["start"].mapping().items()} if "start" in items else {},
        {name: _tolerance(one.quantity("count"), one.place) for name, one in tolerance.items()},
    )


def changes_of(hide: Sequence[str], start: Sequence[str], tolerance: Sequence[str]) -> Changes:
    """Return the changes of options: names, ``SLIDER=STOP`` and ``QUESTION=TOLERANCE``."""
    starts = dict(_pair(one, "--start") for one in start)
    tolerances = dict(_pair(one, "--tolerance") for one in tolerance)
    place = Place("--tolerance")
    given = {name: _tolerance(parse_quantity(one, "count", place), place) for name, one in tolerances.items()}
    return Changes(tuple(hide), starts, given)


def _pair(text: str, option: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (sign and name.strip() and value.strip()):
        raise InputError("not NAME=VALUE", Place(option), value=text)
    return name.strip(), value.strip()


def _tolerance(value: float, place: Place) -> float:
    if not 0 <= value <= 10:
        raise InputError("not a tolerance", place, value=value, allowed="0 to 1000 %")
    return value


def changed(header: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """Return the header of a page with the changes. InputError for what it does not have.

    The start of a slider is where it stands in the page. Texts and truths stay those of the lesson.
    """
    hidden = _Hidden.of(header, changes.hide)
    steps = [hidden.rest(step) for step in header["steps"] if step["name"] not in hidden.steps]
    if changes.hide and not steps:
        raise InputError("nothing of the lesson is left", value=", ".join(changes.hide))
    questions = {one["name"]: one for step in steps for one in step["questions"]}
    for name, value in changes.tolerance.items():
        if "tolerance" not in questions.get(name, {}):
            known = [key for key, one in questions.items() if "tolerance" in one]
            raise InputError("no question with a tolerance", value=name, allowed=nearest(name, known))
        questions[name]["tolerance"] = value
    sliders = dict(header["sliders"])
    for name, text in changes.start.items():
        if name not in sliders:
            raise InputError("no such slider", value=name, allowed=nearest(name, sliders))
        sliders[name] = {**sliders[name], "start": _stop(header, name, text)}
    made = {"hide": list(changes.hide), "start": dict(changes.start), "tolerance": dict(changes.tolerance)}
    return {**header, "steps": steps, "sliders": sliders, **({"changes": made} if changes != Changes() else {})}


def _stop(header: Mapping[str, Any], name: str, text: str) -> int:
    if name in header["seeded"]["sliders"]:
        raise InputError("this slider begins where the student's code puts it", value=name)
    texts = [stop["text"] for stop in header["sliders"][name]["stops"]]
    if text.replace("us", "µs") in texts:
        text = text.replace("us", "µs")
    if text not in texts:
        raise InputError(f"not a stop of {name}", value=text, allowed=", ".join(texts))
    return texts.index(text)


@dataclass(frozen=True)
class _Hidden:
    """Names of steps and questions, and figures by step and number, as the lesson counts them."""

    steps: frozenset[str]
    questions: frozenset[str]
    views: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, header: Mapping[str, Any], names: Sequence[str]) -> _Hidden:
        steps = {step["name"]: range(1, step["figures"] + 1) for step in header["steps"]}
        questions = {one["name"] for step in header["steps"] for one in step["questions"]}
        views = {f"{name}/{number}": (name, number) for name, figures in steps.items() for number in figures}
        for name in names:
            known = (name in steps) + (name in questions) + (name in views)
            if known != 1:
                what = "names a step and a question" if known else "no such step, question or figure"
                raise InputError(what, value=name, allowed=nearest(name, [*steps, *questions, *views]))
        chosen = frozenset(names)
        return cls(chosen & steps.keys(), chosen & questions, frozenset(views[one] for one in chosen & views.keys()))

    def rest(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Return a step without what is hidden of it."""
        views = [one for one in step["views"] if (step["name"], one["figure"]) not in self.views]
        questions = [dict(one) for one in step["questions"] if one["name"] not in self.questions]
        return {**step, "views": views, "questions": questions}
