"""Reading a lesson's folder: ``lesson.yaml`` and the texts that it names. Strict; errors name file, line and path."""

from __future__ import annotations

from math import prod
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.files.input_files import check_confined, is_file, is_folder, read_text
from simcodesign.describe.yaml.machine import check_format
from simcodesign.describe.yaml.tree import Entry, read_yaml
from simcodesign.lessons.description import Lesson, Question, ReadValue, Run, Slider, Step, Value, View
from simcodesign.lessons.values import OF_TRACES, READINGS, rung_of
from simcodesign.lessons.yaml.cache_view import read_cache_options
from simcodesign.lessons.yaml.questions import read_questions
from simcodesign.lessons.yaml.runs import chosen_stops, read_run, read_slider, read_stops

FILE = "lesson.yaml"
TEXT_BYTES = 128 * 1024
LANGUAGES = ("en", "de")
#: Texts and truths are computed for each combination of stops that a student's code may draw.
MOST_COMBINATIONS = 100
KEYS = (
    "simcodesign",
    "name",
    "title",
    "about",
    "language",
    "minutes",
    "objectives",
    "sliders",
    "runs",
    "values",
    "steps",
    "seeded",
    "sources",
    "teacher",
    "begins_with_chance",
)
#: Kinds of views: how many runs each shows at most, and its options.
VIEWS: dict[str, tuple[int, frozenset[str]]] = {
    "curve": (1, frozenset({"over", "predict", "given", "top", "effect", "measured", "height", "log"})),
    "ladder": (1, frozenset()),
    "network": (1, frozenset()),
    "gantt": (1, frozenset({"of"})),
    "events": (1, frozenset()),
    "helps": (1, frozenset()),
    "trust": (1, frozenset({"over", "within"})),
    "clock": (2, frozenset()),
    "sliders": (0, frozenset({"show"})),
    "cache": (0, frozenset({"elements", "strides", "sizes", "ways"})),
    "table": (1, frozenset({"over"})),
}

#: What the rows of a Gantt chart are.
GANTT_ROWS = ("ranks", "rounds", "stations")


def read_lesson(folder: Path) -> Lesson:
    """Return the lesson of a folder. InputError for anything that cannot be used."""
    if not is_folder(folder):
        raise InputError("not a folder", Place(str(folder)), allowed=f"a folder with a file {FILE}")
    root = read_yaml(folder / FILE)
    items = root.mapping(KEYS, required=("simcodesign", "name", "title", "sliders", "runs", "steps"))
    check_format(items["simcodesign"])
    sliders = {name: read_slider(name, entry) for name, entry in items["sliders"].mapping().items()}
    runs = {name: read_run(name, entry, sliders, folder) for name, entry in items["runs"].mapping().items()}
    values = (
        {name: _value(entry, runs) for name, entry in items["values"].mapping().items()} if "values" in items else {}
    )
    steps = tuple(_step(entry, runs, folder) for entry in items["steps"].sequence())
    _check_names([one for step in steps for one in step.questions])
    _check_order(steps)
    teacher = read_markdown(items["teacher"], folder)[0] if "teacher" in items else ""
    return Lesson(
        folder=folder,
        name=items["name"].name(),
        title=items["title"].text(),
        language=items["language"].text(LANGUAGES) if "language" in items else "en",
        about=items["about"].text() if "about" in items else "",
        minutes=items["minutes"].whole(1, 600) if "minutes" in items else 30,
        objectives=_texts(items, "objectives"),
        sliders=sliders,
        runs=runs,
        values=values,
        steps=steps,
        sources=_texts(items, "sources"),
        teacher=teacher,
        seeded=_seeded(items["seeded"], sliders) if "seeded" in items else {},
        begins_with_chance=items["begins_with_chance"].flag() if "begins_with_chance" in items else False,
    )


def _seeded(entry: Entry, sliders: dict[str, Slider]) -> dict[str, tuple[int, ...]]:
    """By slider, the stops of which one is drawn from a student's code."""
    drawn = {name: chosen_stops(one, sliders[name]) for name, one in entry.mapping(sliders).items()}
    count = prod(len(numbers) for numbers in drawn.values())
    if not 2 <= count <= MOST_COMBINATIONS:
        raise entry.error(f"{count} combinations of stops", f"2 to {MOST_COMBINATIONS}")
    return drawn


def _check_names(questions: list[Question]) -> None:
    """Answers go by the names of questions."""
    names = [one.name for one in questions]
    for one in questions:
        if names.count(one.name) > 1:
            raise InputError("two questions have this name", one.place, value=one.name, allowed="a name of its own")


def _check_order(steps: tuple[Step, ...]) -> None:
    """InputError for a step that waits for an answer that nobody could give before."""
    asked: list[str] = []
    for step in steps:
        if step.after_answer and step.after_answer not in asked:
            what = f"step {step.name} waits for a question that no step before it asks"
            raise InputError(what, step.text_place, value=step.after_answer, allowed=", ".join(asked) or "no question")
        asked += [one.name for one in step.questions]


def _texts(items: dict[str, Entry], key: str) -> tuple[str, ...]:
    return tuple(entry.text() for entry in items[key].sequence()) if key in items else ()


def _value(entry: Entry, runs: dict[str, Run]) -> Value:
    """Return an expression, or what is read of a run."""
    if isinstance(entry.content, str):
        return entry.expression()
    items = entry.mapping(("run", "reading", "at", "effect", "by"), required=("run", "reading"))
    run = runs[items["run"].text(runs)]
    reading = items["reading"].text(READINGS)
    at = read_stops(items["at"], run.sliders) if "at" in items else {}
    effect = items["effect"].text() if "effect" in items else None
    by: Expression | None = items["by"].expression() if "by" in items else None
    if reading in OF_TRACES and not run.traces:
        raise items["reading"].error("is read of a trace, and the run has none", "a run with traces")
    rung_of(run, effect, entry.place)
    return ReadValue(run.name, reading, at, effect, by, entry.place)


def _step(entry: Entry, runs: dict[str, Run], folder: Path) -> Step:
    """Return a step with its text, figures and questions."""
    keys = ("name", "text", "views", "questions", "after_prediction", "after_answer", "begins_with")
    items = entry.mapping(keys, required=("name", "text"))
    text, place = read_markdown(items["text"], folder)
    views: list[View] = []
    for row, one in enumerate(items["views"].sequence() if "views" in items else ()):
        members = one.sequence() if isinstance(one.content, list) else [one]
        views += [_view(member, runs, row) for member in members]
    return Step(
        name=items["name"].name(),
        text=text,
        text_place=place,
        views=tuple(views),
        questions=read_questions(items["questions"], runs) if "questions" in items else (),
        after_prediction=items["after_prediction"].flag() if "after_prediction" in items else False,
        after_answer=items["after_answer"].name() if "after_answer" in items else "",
        rung=_first_rung(items["begins_with"], [runs[name] for view in views for name in view.runs])
        if "begins_with" in items
        else None,
    )


def _first_rung(entry: Entry, runs: list[Run]) -> int:
    """How many effects are on when a step begins: those of its runs up to the one that is named."""
    known = [effect for run in runs for effect in run.effects]
    name = entry.text(["none", *dict.fromkeys(known)])
    return max((run.effects.index(name) + 1 for run in runs if name in run.effects), default=0)


def read_markdown(entry: Entry, folder: Path) -> tuple[str, Place]:
    """Return the text of a Markdown file beside the lesson, and where it begins."""
    name = entry.name()
    if not name.endswith(".md"):
        raise entry.error("not the name of a text", "a file of this folder that ends in .md")
    path = check_confined(folder / name, entry.place)
    if not is_file(path) or Path(name).name != name:
        raise entry.error(
            "no such file in the folder of the lesson", nearest(name, [p.name for p in folder.glob("*.md")])
        )
    return read_text(path, TEXT_BYTES), Place(str(path), 1)


def _view(entry: Entry, runs: dict[str, Run], row: int) -> View:
    """Return a figure; ``row``: figures of one row stand side by side."""
    items = entry.mapping(
        ("kind", "run", "runs", "title", *sorted({key for _, keys in VIEWS.values() for key in keys}))
    )
    if "kind" not in items:
        raise InputError("'kind' is missing", entry.place, allowed=", ".join(VIEWS))
    kind = items["kind"].text(VIEWS)
    most, allowed = VIEWS[kind]
    entry.mapping(("kind", "run", "runs", "title", *sorted(allowed)))
    named = items["runs"].sequence() if "runs" in items else [items["run"]] if "run" in items else []
    if len(named) > most or (most and not named):
        raise InputError(
            f"shows {'1 run' if most == 1 else f'1 to {most} runs' if most else 'no run'}",
            entry.place,
            value=len(named),
        )
    chosen = tuple(one.text(runs) for one in named)
    options: dict[str, object] = {"row": row}
    first = runs[chosen[0]] if chosen else None
    if kind == "cache":
        options |= read_cache_options(items, entry)
    if "over" in allowed:
        options["over"] = _over(items, kind, first, entry)
    if "within" in items:
        options["within"] = items["within"].quantity("count")
    if "of" in items:
        options["of"] = items["of"].text(GANTT_ROWS)
    if "predict" in items and "log" in items:
        raise items["log"].error("predictions are drawn on an axis that begins at 0", "'predict' or 'log', not both")
    _check_kept(kind, options, first, items)
    for key in ("predict", "measured", "log"):
        if key in items:
            options[key] = items[key].flag()
    if "given" in items:
        options["given"] = items["given"].whole(1, 100)
    if "effect" in items and first is not None:
        options["rung"] = rung_of(first, items["effect"].text(), entry.place)
    if "top" in items:
        options["top"] = items["top"].number()
    if "height" in items:
        options["height"] = items["height"].whole(100, 1000)
    if "show" in items:
        sliders = {slider.name for run in runs.values() for slider in run.sliders}
        options["show"] = [one.text(sliders) for one in items["show"].sequence()]
    return View(kind, chosen, items["title"].text() if "title" in items else "", options)


def _over(items: dict[str, Entry], kind: str, run: Run | None, entry: Entry) -> object:
    """Return the slider along the axis; of a map two of them."""
    names = [slider.name for slider in run.sliders] if run else []
    if "over" not in items:
        allowed = "two sliders, [across, down]" if kind == "trust" else "the slider along the axis"
        raise InputError("'over' is missing", entry.place, allowed=allowed)
    if kind != "trust":
        return items["over"].text(names)
    both = [one.text(names) for one in items["over"].sequence()]
    if len(set(both)) != 2 or len(both) != 2:
        raise items["over"].error("not the axes of a map", "two sliders, [across, down]")
    return both


def _check_kept(kind: str, options: dict[str, object], run: Run | None, items: dict[str, Entry]) -> None:
    """InputError for a figure of what the run does not keep."""
    kept = {"events": run and run.events, "helps": run and run.helps}
    if options.get("of") == "stations":
        kept[kind] = run and run.traces
    if kind in kept and not kept[kind]:
        needs = "traces" if kind == "gantt" else kind
        raise items["kind"].error(f"needs a run with '{needs}'", f"{needs}: stops, in the run")
