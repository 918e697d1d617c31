"""A small lesson in a folder, and its numbers."""

from __future__ import annotations

from pathlib import Path

TEXT = """\
simcodesign: 1
name: small
title: A small lesson
sliders:
  nodes:
    about: nodes
    stops:
      - {value: 2, parameters: {P: 2}, machine: {nodes: 2, network.topology.shape: [1, 2]}}
      - {value: 8, parameters: {P: 8}, machine: {nodes: 8, network.topology.shape: [2, 4]}}
    start: 8
  size: {about: size, dimension: size, sets: m, stops: [1 KiB, 64 KiB, 1 MiB], start: 1 MiB}
  startup: {about: startup, dimension: time, sets: network.startup, stops: [1 us, 20 us], start: 20 us}
runs:
  near:
    workload: broadcast
    machine: mesh-256
    set: {network.distance: none, noise: {network: 3 %}}
    parameters: {order: near}
    sliders: [nodes, size, startup]
    effects: [hops, links, noise]
    simulate: {size: [1 KiB, 1 MiB], startup: [20 us]}
    seeds: 3
    traces:
      - {nodes: 8}
values:
  formula: {run: near, reading: formula}
  links: {run: near, reading: change, effect: links}
  hops: {run: near, reading: change, effect: hops}
  simulated: {run: near, reading: simulation, effect: links}
  half: formula/2
  early: {run: near, reading: arrived, effect: links, by: half}
steps:
  - name: One
    text: one.md
    views:
      - {kind: curve, run: near, over: nodes, predict: true, given: 1, title: Title}
      - - {kind: network, run: near}
        - {kind: gantt, run: near}
      - {kind: clock, run: near}
    questions:
      - {name: number, text: "How long?", answer: formula, unit: ms, tolerance: 1 %, mistakes: [{answer: half, text: Half of it.}]}
      - name: choice
        text: "What?"
        choices:
          - {text: Hops, value: hops, feedback: No.}
          - {text: Links, value: links, feedback: Yes.}
"""
ONE = "The [formula](role:formula) says {{formula : ms}}, [now](clock:half).\n\n> Draw.\n"


def small_lesson(folder: Path, change: tuple[str, str] = ("", ""), text: str = ONE) -> Path:
    """The folder of a small lesson, with one thing replaced in its description."""
    assert change[0] in TEXT
    folder.mkdir(exist_ok=True)
    (folder / "lesson.yaml").write_text(TEXT.replace(*change) if change[0] else TEXT, encoding="utf-8")
    (folder / "one.md").write_text(text, encoding="utf-8")
    return folder


#: What is replaced in the description for a lesson with all kinds of figures.
MORE = (
    "    traces:\n      - {nodes: 8}\n",
    "    traces:\n      - {nodes: 8}\n    events: {nodes: 8}\n    helps: [{nodes: 2}]\n",
)
VIEWS = (
    "      - {kind: clock, run: near}\n",
    "      - {kind: clock, run: near}\n      - {kind: events, run: near, title: Step by step}\n      - {kind: helps, run: near}\n"
    "      - {kind: trust, run: near, over: [nodes, size], title: Trust}\n      - {kind: gantt, run: near, of: stations}\n"
    "      - {kind: gantt, run: near, of: rounds}\n      - {kind: ladder, run: near}\n",
)


def lesson_with_all_figures(folder: Path) -> Path:
    """The folder of a small lesson that has every kind of figure."""
    small_lesson(folder)
    (folder / "lesson.yaml").write_text(TEXT.replace(*MORE).replace(*VIEWS), encoding="utf-8")
    return folder


#: What is added to the small lesson: stops by code, a curve to draw, and a question whose answer is simulated.
DRAWN = """\
      - name: sketch
        text: Draw it.
        draw: {run: near, over: size, reading: formula, given: 1, at: {startup: 1 us}}
        tolerance: 20 %
        points: 3
      - {name: factor, text: "By what factor, on {{nodes}} nodes and {{size}}?", answer: simulated/formula, points: 2, tolerance: 5 %, hint: Divide., right: "{{simulated : ms}}"}
"""
SEEDED = "seeded: {nodes: [2, 8], size: [1 KiB, 1 MiB]}\n"
#: A button of the clock needs a trace wherever a student's code puts the sliders.
ONE_TRACE = "    traces:\n      - {nodes: 8}\n"
TRACES = "    traces: [{nodes: 2, size: 1 KiB}, {nodes: 2}, {nodes: 8, size: 1 KiB}, {nodes: 8}]\n"


def seeded_lesson(folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    """The small lesson with stops that are drawn from a student's code, and questions of all kinds."""
    small_lesson(folder)
    text = TEXT.replace(ONE_TRACE, TRACES) + DRAWN + SEEDED
    assert change[0] in text
    (folder / "lesson.yaml").write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    return folder
