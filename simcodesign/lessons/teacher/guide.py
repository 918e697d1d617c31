"""The teacher's guide of a lesson as one HTML file: notes with numbers, answers, tolerances and usual mistakes.

It has no script, prints as it is, and reads the same numbers as the page for students.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from simcodesign.core.errors import Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.input_files import read_text
from simcodesign.core.palette import page_colours
from simcodesign.lessons.compute import Numbers, OnProgress, numbers_of
from simcodesign.lessons.contents import contents
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading.changes import Changes, changed
from simcodesign.lessons.grading.seeding import combinations_of
from simcodesign.lessons.teacher.answers import question_html, table, time_text
from simcodesign.lessons.teacher.notes import Notes, notes_of
from simcodesign.lessons.teacher.words import word
from simcodesign.lessons.values import Values, digits_in
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language

_STYLE = Path(__file__).with_name("guide.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def build_guide(
    folder: Path,
    output: Path,
    workers: int,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    changes: Changes | None = None,
    language: str | None = None,
) -> str:
    """Write the guide of a lesson's folder, and return how many questions it answers.

    ``changes``: as for the page of the lesson; hidden steps and questions are left out. ``language``: the texts' one
    (default: the lesson's own). InputError for a lesson, a path or changes that cannot be used.
    """
    original = read_lesson(folder)
    lesson = in_language(original, language)
    header, text = guide(lesson, numbers_of(original, workers, fresh, on_progress), changes)
    with replacing_text(output) as file:
        file.write(text)
    return f"{sum(len(step['questions']) for step in header['steps'])} questions with answers"


def guide(lesson: Lesson, numbers: Numbers, changes: Changes | None = None) -> tuple[dict[str, Any], str]:
    """Return the header of the page that the guide is about, and the guide's HTML.

    InputError for an expression in the notes that has no value, and for changes that cannot be used.
    """
    whole, _ = contents(lesson, numbers)
    header = changed(whole, changes or Changes())
    values = Values(lesson, numbers.lattices, numbers.traces, combinations_of(lesson)[0])
    place = Place(f"{lesson.folder}/notes for teachers")
    notes = notes_of(lesson.teacher, place, [step["name"] for step in header["steps"]], values)
    steps = "".join(_step(number, step, header, notes, numbers) for number, step in enumerate(header["steps"], start=1))
    return header, _page(lesson, notes, steps)


def _page(lesson: Lesson, notes: Notes, steps: str) -> str:
    language, style = lesson.language, read_text(_STYLE)
    objectives = "".join(f"<li>{escape(one)}</li>" for one in lesson.objectives)
    listed = f"<h2>{word(language, 'objectives')}</h2><ul>{objectives}</ul>" if objectives else ""
    general = f"<h2>{word(language, 'notes')}</h2>{notes.general}" if notes.general else ""
    title = f"{word(language, 'guide')}: {escape(lesson.title)}"
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title}</title>
<style>{page_colours()}{style}</style>
</head>
<body>
<main>
<p class="kicker">{word(language, "guide")} · {word(language, "minutes", lesson.minutes)}</p>
<h1>{escape(lesson.title)}</h1>
<p class="warning">{word(language, "warning")}</p>
{listed}{general}
{steps}
</main>
</body>
</html>
"""


def _step(number: int, step: Mapping[str, Any], header: Mapping[str, Any], notes: Notes, numbers: Numbers) -> str:
    """Return a step: when it opens, its notes, the curve that students draw, and its questions."""
    language = header["language"]
    opens = word(language, "after_prediction") if step["after_prediction"] else ""
    if step["after_answer"]:
        opens = word(language, "after_answer", escape(step["after_answer"]))
    drawn = "".join(_prediction(view, header, numbers) for view in step["views"] if view.get("predict"))
    questions = "".join(question_html(one, header) for one in step["questions"])
    return (
        f'<section class="step"><p class="kicker">{word(language, "step", number)}</p><h2>{escape(step["name"])}</h2>'
        + (f'<p class="opens">{opens}</p>' if opens else "")
        + f"{notes.of_steps[step['name']]}{drawn}{questions}</section>\n"
    )


def _prediction(view: Mapping[str, Any], header: Mapping[str, Any], numbers: Numbers) -> str:
    """Return the curve that is predicted: formula and simulation with the effects before the first random one."""
    language, name, over = header["language"], view["runs"][0], view["over"]
    run, lattice = header["runs"][name], numbers.lattices[name]
    random = [k for k, one in enumerate(run["effects"]) if one["random"]]
    rung = len(run["effects"]) if header["begins_with_chance"] or not random else random[0]
    rung = view.get("rung", rung)
    start = {one: header["sliders"][one]["start"] for one in run["sliders"]}
    slider, rows = header["sliders"][over], []
    for stop in run["simulated"][over]:
        at = {**start, over: stop}
        if not all(at[one] in run["simulated"][one] for one in run["sliders"]):
            continue
        formula_s = float(lattice.formula_s[tuple(at[one] for one in run["sliders"])])
        place = tuple(run["simulated"][one].index(at[one]) for one in run["sliders"])
        simulated_s = float(lattice.simulated_s[place][rung, 0])
        ratio = digits_in(f"{simulated_s / formula_s:.3g}", language) if formula_s else "–"
        times = [time_text(seconds, language) for seconds in (formula_s, simulated_s)]
        rows.append([escape(slider["stops"][stop]["text"]), *times, ratio])
    heads = [escape(slider["about"]), *(word(language, one) for one in ("formula", "simulation", "ratio"))]
    return f"<h3>{word(language, 'prediction')}</h3>{table(heads, rows)}" if rows else ""
