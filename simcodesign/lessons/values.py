"""The named values of a lesson: read from lattices and traces, or computed of one another; and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.core.units import parse_quantity
from simcodesign.lessons.description import Lesson, ReadValue, Run, Stop, Stops
from simcodesign.lessons.lattice import Lattice

#: What a value reads of a run. ``formula``: the forecast, or the formula that the run names; ``change``: what one
#: effect adds; ``interval``: half the width of the interval of a simulated time; ``arrived``: how many messages have
#: arrived ``by`` a time; ``first_wait``: when one first waits for a link.
FORMULA, SIMULATION, CHANGE, INTERVAL, ARRIVED, FIRST_WAIT = READINGS = (
    "formula",
    "simulation",
    "change",
    "interval",
    "arrived",
    "first_wait",
)
OF_TRACES = (ARRIVED, FIRST_WAIT)
MOST_NESTED = 50


@dataclass
class Values:
    """Named values, each computed when it is first asked for. ``lattices`` by run, ``traces`` by run and stops.

    ``drawn``: the stops of sliders that are drawn from a student's code. The name of a slider is the value of its stop,
    unless a value has this name.
    """

    lesson: Lesson
    lattices: Mapping[str, Lattice]
    traces: Mapping[tuple[str, tuple[int, ...]], Mapping[str, NDArray[np.generic]]]
    drawn: Stops = field(default_factory=dict)
    _known: dict[str, float] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def named(self, name: str, place: Place) -> float:
        """Return the value of a name in SI units. InputError for one that is unknown or defined by itself."""
        if name in self._known:
            return self._known[name]
        if name not in self.lesson.values:
            return self._stop(name, place).value
        if name in self._open or len(self._open) > MOST_NESTED:
            raise InputError(f"values are defined by each other: {' -> '.join([*self._open, name])}", place)
        self._open.append(name)
        one = self.lesson.values[name]
        self._known[name] = self._read(one) if isinstance(one, ReadValue) else self.of(one, one.place or place)
        self._open.pop()
        return self._known[name]

    def of(self, expression: Expression, place: Place) -> float:
        """Return the value of an expression of named values."""
        return float(expression.evaluate({name: self.named(name, place) for name in sorted(expression.names)}))

    def evaluate(self, text: str, place: Place) -> float:
        """Return the value of an expression in a text."""
        return self.of(parse(text, place), place)

    def text(self, text: str, form: str, place: Place) -> str:
        """Return an expression in a text as it is shown: the name of a slider alone as the text of its stop."""
        if not form and text not in self.lesson.values and text in self.lesson.sliders:
            return digits_in(self._stop(text, place).text, self.lesson.language)
        return digits_in(shown(self.evaluate(text, place), form, place), self.lesson.language)

    def stops_of(self, one: ReadValue) -> dict[str, int]:
        """Return the stops of all sliders of its run."""
        return self.stops(self._run(one), one.at)

    def stops(self, run: Run, at: Stops) -> dict[str, int]:
        """Return the stops of all sliders of a run: ``at``, and else where they begin or a student's code puts them."""
        return {slider.name: at.get(slider.name, self._number(slider.name)) for slider in run.sliders}

    def reads(self, expression: Expression) -> Iterator[ReadValue]:
        """All that an expression reads of runs, also by way of other values."""
        for name in sorted(expression.names & set(self.lesson.values)):
            one = self.lesson.values[name]
            if not isinstance(one, ReadValue):
                yield from self.reads(one)
                continue
            yield one
            if one.by is not None:
                yield from self.reads(one.by)

    def _run(self, one: ReadValue) -> Run:
        return self.lesson.runs[one.run]

    def _number(self, slider: str) -> int:
        return self.drawn.get(slider, self.lesson.sliders[slider].start)

    def _stop(self, name: str, place: Place) -> Stop:
        known = self.lesson.sliders
        if name not in known:
            raise InputError("no such value", place, value=name, allowed=nearest(name, [*self.lesson.values, *known]))
        return known[name].stops[self._number(name)]

    def _read(self, one: ReadValue) -> float:
        run, lattice = self._run(one), self.lattices[one.run]
        at = self.stops_of(one)
        index = tuple(at[slider.name] for slider in run.sliders)
        if one.reading == FORMULA:
            return float(lattice.formula_s[index])
        rung = rung_of(run, one.effect, one.place)
        if one.reading in OF_TRACES:
            return self._of_trace(one, index, rung)
        means, low, high = np.moveaxis(lattice.simulated_s[simulated_index(run, at, one.place)], -1, 0)
        if one.reading == INTERVAL:
            return float(high[rung] - low[rung]) / 2
        if one.reading == SIMULATION:
            return float(means[rung])
        return float(means[rung] - (means[rung - 1] if rung else lattice.formula_s[index]))

    def _of_trace(self, one: ReadValue, index: tuple[int, ...], rung: int) -> float:
        trace = self.traces.get((one.run, index))
        if trace is None:
            allowed = "stops of one of the traces of its run"
            raise InputError("there is no trace at these stops", one.place, allowed=allowed)
        if one.reading == ARRIVED:
            by_s = self.of(one.by, one.place) if one.by is not None else np.inf
            return float(np.count_nonzero(np.asarray(trace[f"{rung}/message_times"])[:, 1] <= by_s * (1 + 1e-9)))
        visits = np.asarray(trace[f"{rung}/visits"])
        waits = visits[visits[:, 1] > visits[:, 0]]
        if not len(waits):
            raise InputError("no message waits for a link in this run", one.place)
        return float(waits[:, 0].min())


def simulated_index(run: Run, at: Stops, place: Place) -> tuple[int, ...]:
    """Where stops stand among those that are simulated. InputError, with ``place``, for one that is not."""
    for slider in run.sliders:
        if at[slider.name] not in run.simulated[slider.name]:
            shown = ", ".join(slider.stops[number].text for number in run.simulated[slider.name])
            given = slider.stops[at[slider.name]].text
            raise InputError(f"not simulated at this stop of {slider.name}", place, value=given, allowed=shown)
    return tuple(run.simulated[slider.name].index(at[slider.name]) for slider in run.sliders)


def rung_of(run: Run, effect: str | None, place: Place) -> int:
    """How many effects of the ladder are on; all, if none is named."""
    if effect is None:
        return len(run.effects)
    if effect not in ("none", *run.effects):
        raise InputError("not an effect of the run", place, value=effect, allowed=nearest(effect, run.effects))
    return 0 if effect == "none" else run.effects.index(effect) + 1


def unit_factor(unit: str, place: Place) -> float:
    """Return what one of a unit is in SI units; 1 without a unit."""
    if unit in ("", "%"):
        return 0.01 if unit else 1.0
    return parse_quantity(f"1 {unit}", "time", place)


#: Below it numbers are written in full, not as powers of ten.
_MOST_IN_FULL = 1e9


def shown(value: float, form: str, place: Place) -> str:
    """Return a value in a unit (``ms``, ``%``), a format (``.2f``) or both (``ms .1f``); by itself to three digits."""
    words = form.split()
    digits = next((word for word in words if word.startswith(".")), ".3g")
    unit = " ".join(word for word in words if not word.startswith("."))
    try:
        text = format(value / unit_factor(unit, place), digits)
    except ValueError:
        raise InputError("not a format", place, value=form, allowed="a unit of time or %, a format like .2f") from None
    if "e+" in text and abs(float(text)) < _MOST_IN_FULL:  # 3.6e+02 of two digits
        text = f"{float(text):,.0f}"
    return f"{text}\N{NO-BREAK SPACE}{unit.replace('us', 'µs')}" if unit else text


#: A number as Python writes it, with or without commas between thousands: the whole part, and the decimals.
_NUMBER = re.compile(r"(\d+(?:,\d{3})*)(?:\.(\d+))?")


def digits_in(text: str, language: str) -> str:
    """Return a text with its numbers as a language writes them. ``front/numbers.js`` applies the same rule.

    In German a comma precedes decimals. Whole parts of five and more digits have narrow blanks between thousands.
    """
    return _NUMBER.sub(_german, text) if language == "de" else text


def _german(number: re.Match[str]) -> str:
    whole, decimals = number[1].replace(",", ""), number[2]
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return whole if decimals is None else f"{whole},{decimals}"
