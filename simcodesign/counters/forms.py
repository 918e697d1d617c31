"""One counter as a function of the processes: the best of a few simple forms by R squared, or the normal form.

Source: Ding et al., APMT, section 3.3: linear, logarithmic, exponential and power forms of the parallelism; figure 3
draws them over the work of a process (size over P), in which a counter of one process is a line where the work is
divided evenly. Both are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import least_squares

from simcodesign.core.errors import InputError
from simcodesign.fitting.fit import Fit, fit
from simcodesign.fitting.measurements import FloatArray, Measurements

PROCESSES, WORK = AXES = ("processes", "work")
CONSTANT, LINEAR, LOGARITHMIC, POWER, EXPONENTIAL = FORMS = (
    "constant",
    "linear",
    "logarithmic",
    "power",
    "exponential",
)
#: Unexplained variances that differ by less than this factor cannot be distinguished by a few runs with noise. The
#: earlier such form in the list is used, because it does less harm when extrapolated: by R squared alone, an
#: exponential
#: that meets four noisy points of a line a little better than the line is hundreds of times above it on 128 processes.
LEVEL = 4.0
#: Likewise for a constant: below an R squared of 0.9, no form explains more than the constant.
NO_LAW = 10.0
_ROUNDING = 1e-12
#: Values that differ by less than this, relatively, are one value.
_SAME = 1e-12


class Law(Protocol):
    """A counter of one process as a function of the number of processes and the work of a process."""

    @property
    def r2(self) -> float:
        """Return R squared of the fit."""

    @property
    def text(self) -> str:
        """Return the law as a formula."""

    def at(self, processes: float, work: float) -> float:
        """Return the value of the law for these processes and this work."""


@dataclass(frozen=True)
class Form:
    """constant a; linear a x + b; logarithmic a ln x + b; power a x^b; exponential a e^(b x); x by the axis."""

    kind: str
    axis: str
    a: float
    b: float
    r2: float

    def evaluate(self, x: float) -> float:
        """Return the value at x; infinite if it is larger than any number."""
        try:
            match self.kind:
                case "linear":
                    return self.a * x + self.b
                case "logarithmic":
                    return self.a * math.log(x) + self.b
                case "power":
                    return float(self.a * x**self.b)
                case "exponential":
                    return self.a * math.exp(self.b * x)
                case _:
                    return self.a
        except OverflowError:
            return math.inf

    @property
    def text(self) -> str:
        """The form as people write it."""
        x = {PROCESSES: "P", WORK: "(size/P)"}[self.axis]
        a, b = f"{self.a:.4g}", f"{self.b:.4g}"
        return {
            CONSTANT: a,
            LINEAR: f"{a} {x} + {b}",
            LOGARITHMIC: f"{a} ln {x} + {b}",
            POWER: f"{a} {x}^{b}",
            EXPONENTIAL: f"{a} exp({b} {x})",
        }[self.kind].replace("+ -", "- ")


@dataclass(frozen=True)
class BestForm:
    """The forms of a counter, best first. If the best is negative or no number, the next one replaces it."""

    forms: tuple[Form, ...]

    @property
    def r2(self) -> float:
        """R squared of the best."""
        return self.forms[0].r2

    @property
    def text(self) -> str:
        """The best in words."""
        return self.forms[0].text

    def chosen(self, processes: float, work: float) -> Form:
        """Return the best form that gives a possible number there. InputError if none does."""
        for form in self.forms:
            value = form.evaluate(work if form.axis == WORK else processes)
            if math.isfinite(value) and value >= 0:
                return form
        raise InputError(
            "no form of a counter can be extrapolated so far",
            value=f"P = {processes:g}, {self.text}",
            allowed="fewer processes, or further runs between",
        )

    def at(self, processes: float, work: float) -> float:
        """Return the counter of one process. InputError if every form is negative or infinite."""
        form = self.chosen(processes, work)
        return form.evaluate(work if form.axis == WORK else processes)


@dataclass(frozen=True)
class NormalForm:
    """A counter in the performance-model normal form, in the parameters of its fit."""

    fit: Fit

    @property
    def r2(self) -> float:
        """Share of the variance that is explained."""
        return self.fit.r2

    @property
    def text(self) -> str:
        """The model in words."""
        return self.fit.model.text

    def at(self, processes: float, work: float) -> float:
        """Return the counter of one process; never below 0."""
        return max(0.0, self.raw(processes, work))

    def raw(self, processes: float, work: float) -> float:
        """Return the value of the model itself, which may be below 0."""
        named = {PROCESSES: processes, WORK: work}
        return float(self.fit.predict({name: named[name] for name in self.fit.model.parameters}).value)


def fit_forms(processes: FloatArray, work: FloatArray, values: FloatArray) -> BestForm:
    """All forms of values (K,) at numbers of processes (K,) and works of a process (K,), the best first.

    A form needs two different points on its axis; values that are all the same are a constant. Repetitions weigh as
    what they are, several points. InputError for values that are no finite numbers of 0 or above, and if nothing but
    a single point is given and the values differ.
    """
    processes, work, values = (np.asarray(one, dtype=np.float64) for one in (processes, work, values))
    if not len(values) or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(
            "the values of a counter are out of range", value=values.tolist(), allowed="finite numbers of 0 or above"
        )
    if np.ptp(values) <= _SAME * values.max():
        return BestForm((Form(CONSTANT, PROCESSES, float(values.mean()), 0.0, 1.0),))
    forms = [
        Form(kind, axis, *pair, r_squared(values, _curve(kind, pair, x)))
        for axis, kind in _tried(processes, work)
        for x in [work if axis == WORK else processes]
        if (pair := _FITS[kind](x, values)) is not None
    ]
    if not forms:
        raise InputError(
            "a counter differs between runs of a single size and number of processes",
            value=values.tolist(),
            allowed="runs on several numbers of processes",
        )
    level = Form(CONSTANT, PROCESSES, float(values.mean()), 0.0, 0.0)
    return BestForm(tuple(ranked([level, *forms])))


def ranked(forms: Sequence[Form]) -> list[Form]:
    """Sort forms by R squared, best first, but behind a form that is earlier in the list and level with it."""
    rest = list(forms)
    ordered: list[Form] = []
    while rest:
        best = max(form.r2 for form in rest)
        if best == -math.inf:
            return ordered + rest
        first = next(
            form
            for form in rest
            if 1 - form.r2 <= max((NO_LAW if form.kind == CONSTANT else LEVEL) * (1 - best), _ROUNDING)
        )
        ordered.append(first)
        rest.remove(first)
    return ordered


def fit_normal_form(processes: FloatArray, work: FloatArray, values: FloatArray) -> NormalForm:
    """Fit a model of the normal form, of the work if it alone varies or the size is fixed, otherwise of both.

    Its selection asks for about five points before it goes beyond a constant. InputError as ``fit_forms``.
    """
    axes = {PROCESSES: np.asarray(processes, dtype=np.float64), WORK: np.asarray(work, dtype=np.float64)}
    varied = [name for name in AXES if _distinct(axes[name]) > 1] or [PROCESSES]
    if len(varied) == 2 and _distinct(axes[PROCESSES] * axes[WORK]) == 1:
        varied = [WORK]
    points, index = np.unique(np.stack([axes[name] for name in varied], 1), axis=0, return_inverse=True)
    index = index.reshape(-1)
    block = np.full((1, len(points), int(np.bincount(index).max())), np.nan)
    for row in range(len(points)):
        there = np.asarray(values, dtype=np.float64)[index == row]
        block[0, row, : len(there)] = there
    measurements = Measurements(tuple(varied), points, ("kernel",), ("counter",), block)
    return NormalForm(fit(measurements, negative_exponents=True)[0])


def r_squared(values: FloatArray, predicted: FloatArray) -> float:
    """Share of the variance of values that is explained, 1 for values that are all met; -infinity for no numbers."""
    if not np.isfinite(predicted).all():
        return -math.inf
    rest, whole = float(((values - predicted) ** 2).sum()), float(((values - values.mean()) ** 2).sum())
    if whole <= (_SAME * float(np.abs(values).max())) ** 2 * len(values):
        return 1.0
    return 1.0 - rest / whole


def _tried(processes: FloatArray, work: FloatArray) -> Iterable[tuple[str, str]]:
    """Axes and forms; earlier ones are better if they are equal.

    Over a fixed size, log and power of either axis are the same.
    """
    several = [axis for axis, x in ((WORK, work), (PROCESSES, processes)) if _distinct(x) > 1]
    for kind in FORMS[1:]:
        fixed_size = kind in (LOGARITHMIC, POWER) and _distinct(processes * work) == 1
        yield from ((axis, kind) for axis in several if not (fixed_size and axis == WORK))


def _distinct(x: FloatArray) -> int:
    ordered = np.sort(x)
    return 1 + int((np.diff(ordered) > 1e-9 * ordered[1:]).sum())


def _curve(kind: str, pair: tuple[float, float], x: FloatArray) -> FloatArray:
    form = Form(kind, PROCESSES, *pair, 0.0)
    return np.array([form.evaluate(float(one)) for one in x])


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Slope and intercept by least squares, from centred numbers so that no digits are lost."""
    shifted = x - x.mean()
    slope = float(shifted @ (y - y.mean()) / (shifted @ shifted))
    return slope, float(y.mean() - slope * x.mean())


def _logarithm(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    return _line(np.log(x), y)


def _exponential(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    """Fit a e^(b x) by least squares of y itself, as R squared judges it.

    Begun with a line through its logarithm.
    """
    if not (y > 0).all():
        return None
    b, log_a = _line(x, np.log(y))
    scale, span = float(y.max()), float(np.ptp(x))
    # Written about the middle, in units of the span and of the largest value: both unknowns are then of one size.
    middle = float(x.mean())
    t, start = (x - middle) / span, np.array([math.exp(log_a + b * middle) / scale, b * span])

    def residual(c: FloatArray) -> FloatArray:
        return np.asarray(c[0] * np.exp(np.clip(c[1] * t, -300, 300)) - y / scale)

    solution = least_squares(residual, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    if (residual(start) ** 2).sum() <= (solution.fun**2).sum():
        return math.exp(log_a), b
    a, rate = float(solution.x[0]) * scale, float(solution.x[1]) / span
    exponent = math.log(a) - rate * middle if a > 0 else math.nan
    return (math.exp(exponent), rate) if abs(exponent) < 700 else None


def _power(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    return _exponential(np.log(x), y)


_FITS: dict[str, Callable[[FloatArray, FloatArray], tuple[float, float] | None]] = {
    LINEAR: _line,
    LOGARITHMIC: _logarithm,
    POWER: _power,
    EXPONENTIAL: _exponential,
}
