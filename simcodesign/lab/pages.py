"""The pages of the laboratory: a lesson with a panel for free machines and workloads, and one without a lesson."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from simcodesign.core.files.input_files import read_text
from simcodesign.describe.yaml.files import available, machine_tree, shipped_path
from simcodesign.describe.yaml.tree import Entry, nested
from simcodesign.lessons.compute import Numbers, numbers_of
from simcodesign.lessons.description import Lesson, Run
from simcodesign.lessons.folders import available as lessons_available
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.page import POLICY, page
from simcodesign.lessons.scenarios import start_of
from simcodesign.lessons.yaml.lesson import read_lesson

#: The page asks this server, and no other.
LAB_POLICY = f"{POLICY}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#: What the page without a lesson begins with.
FIRST_MACHINE, FIRST_WORKLOAD = "mesh-256", "broadcast"


def free_page() -> str:
    """Return the list of lessons, and the panel."""
    lesson = Lesson(
        folder=Path(),
        name="laboratory",
        title="The laboratory",
        language="en",
        about="A machine and a workload of your own: the forecast follows every change, and simulations fill in.",
        minutes=0,
        objectives=(),
        sliders={},
        runs={},
        values={},
        steps=(),
        sources=(),
    )
    links = "".join(
        f'<li><a href="lesson/{escape(one)}">{escape(read_lesson(lesson_folder(one)).title)}</a></li>'
        for one in lessons_available()
    )
    start = {"machine": shipped_text("machine", FIRST_MACHINE), "workload": shipped_text("workload", FIRST_WORKLOAD)}
    list_ = f'<section class="lab-lessons"><h2 data-text="labLessons"></h2><ul>{links}</ul></section>'
    html = page(lesson, Numbers({}, {})).replace('href="#step-1"', 'href="#free"')  # there are no steps
    return _with_panel(html, {**start, "parameters": {"P": 64}, "axis": "P"}, "", list_)


def lesson_page(folder: Path, workers: int) -> str:
    """Return the page of a lesson, with the panel, which begins with its first run."""
    lesson = read_lesson(folder)
    return _with_panel(page(lesson, numbers_of(lesson, workers)), _start_of(lesson), "../")


def shipped_text(kind: str, name: str) -> str | None:
    """Return the file of a shipped machine or workload, None for a name that is none."""
    folder = {"machine": "topologies", "workload": "workloads"}.get(kind)
    if folder is None or name not in available(folder):
        return None
    return read_text(shipped_path(folder, f"{name}.yaml"))


def _with_panel(html: str, start: Mapping[str, Any], root: str, before: str = "") -> str:
    """Return a page that may ask this server, with the panel at its end; ``root``: from there to the server's root."""
    shipped = {"machine": available("topologies"), "workload": available("workloads")}
    config = {"root": root, "shipped": shipped, "start": start}
    panel = f"<lesson-free id='free' tabindex='-1' data-config='{escape(json.dumps(config))}'></lesson-free>"
    head, policy, rest = html.partition(POLICY)
    body, end, after = rest.partition("</main>")
    assert policy
    assert end
    home = "" if not root else f'<p class="note"><a href="{root}" data-text="labHome"></a></p>'
    # A policy in the page itself knows no frame-ancestors, which the headers of the response have.
    return head + LAB_POLICY.removesuffix("; frame-ancestors 'none'") + body + before + panel + home + end + after


def _start_of(lesson: Lesson) -> dict[str, Any]:
    """Return the first run of a lesson as two texts and values; its first slider of one parameter is the axis."""
    run = next(iter(lesson.runs.values()))
    at = start_of(run)
    stops = [slider.stops[at[slider.name]] for slider in run.sliders]
    changes, parameters = dict(run.changes), dict[str, Any](run.parameters)
    for stop in stops:
        changes |= stop.machine
        parameters |= stop.parameters
    workload = _file(run.workload, "workloads")
    return {
        "machine": _machine_text(run, changes),
        "workload": read_text(workload),
        "parameters": parameters,
        "axis": next((slider.simple for slider in run.sliders if slider.simple), "P"),
    }


def _file(source: str | Path, folder: str) -> Path:
    return source if isinstance(source, Path) else shipped_path(folder, f"{source}.yaml")


def _machine_text(run: Run, changes: Mapping[str, object]) -> str:
    """Return a machine as a text that stands alone: a shipped one that is extended, or all of the lesson's own file."""
    if isinstance(run.machine, Path):
        return as_yaml(machine_tree(run.machine, changes)[0])
    if not changes:
        return read_text(_file(run.machine, "topologies"))
    own = nested({"simcodesign": 1, "name": f"{run.machine}-changed", "extends": run.machine, **changes}, "lesson")
    return as_yaml(own)


def as_yaml(entry: Entry, indent: int = 0) -> str:
    """Return the text of a tree of scalars, sequences and mappings; sequences in one line."""
    assert isinstance(entry.content, dict)
    lines = []
    for key, one in entry.content.items():
        if isinstance(one.content, dict) and one.content:
            lines.append(f"{' ' * indent}{_scalar(key, True)}:\n{as_yaml(one, indent + 2)}")
        else:
            lines.append(f"{' ' * indent}{_scalar(key, True)}: {_flow(one)}\n")
    return "".join(lines)


def _flow(entry: Entry) -> str:
    if isinstance(entry.content, list):
        return f"[{', '.join(_flow(one) for one in entry.content)}]"
    if isinstance(entry.content, dict):
        return f"{{{', '.join(f'{_scalar(key, True)}: {_flow(one)}' for key, one in entry.content.items())}}}"
    return _scalar(entry.content, entry.plain)


def _scalar(text: str, plain: bool) -> str:
    """As it stands where nothing could be taken for YAML, else in quotes."""
    is_safe = plain and text and all(letter.isalnum() or letter in "_-./ +*" for letter in text)
    return text if is_safe and text == text.strip() and text[0] not in "-*" else json.dumps(text, ensure_ascii=False)
