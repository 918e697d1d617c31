"""Questions by topic and level, as the changes that leave out all others. A topic is a step of the lesson."""

from __future__ import annotations

from collections.abc import Sequence

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading.changes import Changes


def only(lesson: Lesson, topics: Sequence[str], levels: Sequence[int]) -> Changes:
    """Return changes that hide all steps but ``topics``, and all questions of other levels; empty: all of them.

    A step is hidden as well if it has no figure and none of its questions is left. InputError for a topic or a level
    that the lesson does not have.
    """
    names = [step.name for step in lesson.steps]
    known = sorted({one.level for step in lesson.steps for one in step.questions} - {0})
    for topic in topics:
        if topic not in names:
            raise InputError("no such step of the lesson", Place("--topic"), value=topic, allowed=nearest(topic, names))
    for level in levels:
        if level not in known:
            allowed = ", ".join(map(str, known)) or "no level: none of the questions states one"
            raise InputError("no question has this level", Place("--question-level"), value=level, allowed=allowed)
    hidden: list[str] = []
    for step in lesson.steps:
        others = [one.name for one in step.questions if levels and one.level not in levels]
        is_empty = bool(others) and len(others) == len(step.questions) and not step.views
        if is_empty or (topics and step.name not in topics):
            hidden.append(step.name)
        else:
            hidden += others
    if len([one for one in hidden if one in names]) == len(names):
        what = "no question of these topics has this level"
        raise InputError(what, Place("--question-level"), value=", ".join(topics))
    return Changes(tuple(hidden))
