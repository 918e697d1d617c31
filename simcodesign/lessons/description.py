"""Parts of a lesson, as in its folder: sliders, runs, named values, and steps with all they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import Expression

#: Values of sliders by name: the number of a stop of each.
Stops = Mapping[str, int]


@dataclass(frozen=True)
class Stop:
    """A place of a slider.

    ``value``: its position on an axis, in SI units; ``parameters`` and ``machine``: what is set there, of the workload
    and of the machine file.
    """

    value: float
    text: str
    parameters: Mapping[str, float | str]
    machine: Mapping[str, object]
    note: str = ""  # under the number on an axis: 8x8


@dataclass(frozen=True)
class Slider:
    """A slider with its stops; ``start``: the number of the initial stop of a lesson.

    ``simple``: what its stops set, if that is one number of the same name each, so that a forecast takes all of them as
    an array.
    """

    name: str
    about: str
    dimension: str
    stops: tuple[Stop, ...]
    start: int
    simple: str | None
    place: Place


@dataclass(frozen=True)
class TraceRequest:
    """A run of which everything is kept, or that is looked at closely, at these stops."""

    at: Stops
    place: Place


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured time at a stop, with the ends of an interval if they are known."""

    at: Stops
    value_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True)
class Run:
    """A workload on a machine over the stops of some sliders.

    ``formula``: the workload's formula to use as the formula; None: the forecast. ``effects``: the effects of its
    ladder, in order. ``simulated``: for every slider the numbers of the stops with simulations; ``seeds``:
    how many if they are random. ``scale``: what all its times are multiplied by.
    ``events``: a small run shown step by step; ``helps``: the stops at which improvements are tried. ``draws``:
    of how many of the seeds everything is kept if there are traces.
    """

    name: str
    about: str
    workload: str | Path
    machine: str | Path
    changes: Mapping[str, object]
    parameters: Mapping[str, float | str]
    phases: tuple[str, ...] | None
    formula: str | None
    sliders: tuple[Slider, ...]
    effects: tuple[str, ...]
    simulated: Mapping[str, tuple[int, ...]]
    seeds: int
    scale: float
    traces: tuple[TraceRequest, ...]
    events: TraceRequest | None
    helps: tuple[TraceRequest, ...]
    measured: tuple[MeasuredPoint, ...]
    measured_about: str
    place: Place
    draws: int = 1


@dataclass(frozen=True)
class ReadValue:
    """A named value that is read of ``run`` at these stops, with its effects up to this one (``values.READINGS``).

    ``at``: stops that the lesson names; the other sliders are at their start, or where a student's code puts them.
    """

    run: str
    reading: str
    at: Stops
    effect: str | None  # the last effect that is on; None: all of the run
    by: Expression | None  # a time, of what counts until then
    place: Place


#: A named value is read from a run, or computed of others.
Value = ReadValue | Expression


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that has an explanation of its own."""

    answer: Expression
    text: str


@dataclass(frozen=True)
class NumberQuestion:
    """A question for a number.

    ``answer`` in SI units, shown and asked for in ``unit``, right within ``tolerance`` (relative).
    """

    name: str
    text: str
    answer: Expression
    unit: str
    tolerance: float
    right: str
    wrong: str
    hints: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    place: Place
    points: float = 1.0
    level: int = 0  # 1 (easy) to 3; 0: none is stated


@dataclass(frozen=True)
class Choice:
    """One choice; ``value`` is its rightness: the largest is right."""

    text: str
    value: Expression
    feedback: str


@dataclass(frozen=True)
class ChoiceQuestion:
    """A question of which the choice with the largest value is the right one."""

    name: str
    text: str
    choices: tuple[Choice, ...]
    hints: tuple[str, ...]
    place: Place
    points: float = 1.0
    level: int = 0  # 1 (easy) to 3; 0: none is stated


@dataclass(frozen=True)
class DrawnQuestion:
    """A question for a curve: the times of a run over the stops of one slider, by the formula or simulated.

    ``given``: how many of its first points are shown. ``tolerance``: by how much the curve may miss, in the geometric
    mean over the axis, as a fraction.
    """

    name: str
    text: str
    curve: ReadValue
    over: str
    given: int
    tolerance: float
    right: str
    wrong: str
    hints: tuple[str, ...]
    place: Place
    points: float = 1.0
    level: int = 0  # 1 (easy) to 3; 0: none is stated


Question = NumberQuestion | ChoiceQuestion | DrawnQuestion


@dataclass(frozen=True)
class View:
    """A figure: its kind, the runs that it shows, and options of that kind."""

    kind: str
    runs: tuple[str, ...]
    title: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A part of a lesson: text in Markdown, views next to it, questions below the text."""

    name: str
    text: str
    text_place: Place
    views: tuple[View, ...]
    questions: tuple[Question, ...]
    after_prediction: bool = False  # hidden until the prediction of an earlier step is drawn
    after_answer: str = ""  # hidden until this question of an earlier step is answered
    rung: int | None = None  # how many effects are on when it begins; None: those before the first that is random


@dataclass(frozen=True)
class Lesson:
    """A lesson as it was read from ``folder``."""

    folder: Path
    name: str
    title: str
    language: str
    about: str
    minutes: int
    objectives: tuple[str, ...]
    sliders: Mapping[str, Slider]
    runs: Mapping[str, Run]
    values: Mapping[str, Value]
    steps: tuple[Step, ...]
    sources: tuple[str, ...]
    teacher: str = ""  # notes for teachers, in Markdown
    seeded: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # by slider, stops drawn from a student's code
    begins_with_chance: bool = False  # True: the page begins with all effects on, False: without the random ones
