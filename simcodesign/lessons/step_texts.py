"""The texts of a step: how their expressions are shown, and which moments their buttons set the clock to.

A button is of use only beside the run that its moment is of. So one of the readings that the moment is computed of must
be of a run that a figure of the step shows over time, at stops at which the whole run is kept. ``clock:half@near`` says
that a moment is meant beside the run ``near``, whatever it is computed of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import parse
from simcodesign.lessons.description import ReadValue, Run, Step, Stops
from simcodesign.lessons.grading.exam import NOTHING, TRACES, Held, is_held
from simcodesign.lessons.markdown import Moment
from simcodesign.lessons.values import Values

#: Figures that a clock moves, and what of a run they go through.
_TRACED, _LISTED = ("network", "gantt", "clock"), ("events",)
#: A run and where its sliders stand.
Key = tuple[str, tuple[tuple[str, int], ...]]
#: How much later than the run a moment may be: just after its end.
_LATE = 1.01


@dataclass(frozen=True)
class StepTexts:
    """Expressions and buttons of the texts of one step; ``held``: what an exam does not show."""

    step: Step
    values: Values
    held: Held = NOTHING

    def text(self, text: str, form: str, place: Place) -> str:
        """Return an expression as it is shown; three dots for what is held back."""
        return "…" if self.hides(text, place) else self.values.text(text, form, place)

    def hides(self, text: str, place: Place) -> bool:
        """Whether an expression reads anything that is held back."""
        return any(is_held(one, self.held) for one in self.values.reads(parse(text, place)))

    def moment(self, text: str, place: Place) -> Moment | None:
        """Return the moment of a button, None for one that an exam does not show.

        InputError for a moment of no run that the step shows over time, and for one after the end of its run.
        """
        expression, _, beside = text.partition("@")
        time_s = self.values.evaluate(expression, place)
        found = self._found(expression, beside.strip(), place)
        end_s = max(self._end_s(run, at) for run, at in found)
        if not 0 <= time_s <= _LATE * end_s:
            allowed = f"0 to {end_s:.6g} s, the end of the run"
            raise InputError("a moment at which the run is over", place, value=f"{time_s:.6g} s", allowed=allowed)
        if self.hides(expression, place) or all((run.name, TRACES) in self.held for run, _ in found):
            return None
        return Moment(time_s, dict(found[0][1]))

    def _found(self, expression: str, beside: str, place: Place) -> list[tuple[Run, Stops]]:
        """Return the runs, and where they stand, of which an expression is a moment; or all of the run ``beside``."""
        kept = {(run.name, tuple(at.items())): (run, at) for run, at in self._kept()}
        if not kept:
            allowed = "in a step with a network, a Gantt chart, a clock or events of a run with traces"
            what = "a button for the clock where nothing moves"
            raise InputError(what, place, value=f"clock:{expression}", allowed=allowed)
        names = list(dict.fromkeys(name for name, _ in kept))
        if beside and beside not in names:
            raise InputError("no run that this step shows over time", place, value=beside, allowed=", ".join(names))
        read = list(self.values.reads(parse(expression, place)))
        if beside or not read:
            return self._beside(kept, beside)
        found = [kept[key] for key in map(self._key, read) if key in kept]
        if not found:
            shown = "; ".join(dict.fromkeys(self._words(run, at) for run, at in kept.values()))
            what = f"a moment of {self._words_of(read[0])}, which no figure of this step shows over time"
            allowed = f"a moment of {shown}; a trace there; or clock:{expression}@{names[0]}, if meant beside that run"
            raise InputError(what, place, value=f"clock:{expression}", allowed=allowed)
        return found

    def _beside(self, kept: Mapping[Key, tuple[Run, Stops]], name: str) -> list[tuple[Run, Stops]]:
        """Return what is kept of a run, or of all if it is "", first where its sliders begin."""
        chosen = {key: one for key, one in kept.items() if name in ("", key[0])}
        begin = [
            key for key, (run, _) in chosen.items() if key == (run.name, tuple(self.values.stops(run, {}).items()))
        ]
        return [chosen[key] for key in dict.fromkeys([*begin, *chosen])]

    def _kept(self) -> Iterator[tuple[Run, Stops]]:
        """Yield runs that figures of the step show over time, and where all of them is kept."""
        for view in self.step.views:
            for run in (self.values.lesson.runs[name] for name in view.runs):
                if view.kind in _TRACED:
                    yield from ((run, _ordered(run, one.at)) for one in run.traces)
                elif view.kind in _LISTED and run.events is not None:
                    yield run, _ordered(run, run.events.at)

    def _key(self, one: ReadValue) -> Key:
        return one.run, tuple(self.values.stops_of(one).items())

    def _end_s(self, run: Run, at: Stops) -> float:
        """When the run is over, by the formula or with any of its effects."""
        lattice, index = self.values.lattices[run.name], tuple(at.values())
        trace = self.values.traces.get((run.name, index), {})
        ends_s = [float(np.max(times[:, 2])) for name, times in trace.items() if name.endswith("/op_times")]
        return max([float(lattice.formula_s[index]), *ends_s, *self._simulated_s(run, at)])

    def _simulated_s(self, run: Run, at: Stops) -> list[float]:
        if any(number not in run.simulated[name] for name, number in at.items()):
            return []
        index = tuple(run.simulated[name].index(number) for name, number in at.items())
        return [float(np.max(self.values.lattices[run.name].simulated_s[index]))]

    def _words_of(self, one: ReadValue) -> str:
        return self._words(self.values.lesson.runs[one.run], self.values.stops_of(one))

    def _words(self, run: Run, at: Stops) -> str:
        """Return a run and where it stands."""
        here = ", ".join(f"{slider.name} {slider.stops[at[slider.name]].text}" for slider in run.sliders)
        return f"{run.name} at {here}" if here else run.name


def _ordered(run: Run, at: Stops) -> Stops:
    """Return stops in the order of the run's sliders."""
    return {slider.name: at[slider.name] for slider in run.sliders}
