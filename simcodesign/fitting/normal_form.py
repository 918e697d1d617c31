"""The performance-model normal form: f(x) = c0 + sum over k of c_k prod over l of x_l^i_kl log2(x_l)^j_kl.

Source: Calotoiu et al., "Lightweight requirements engineering for exascale co-design", CLUSTER 2018, equations 1 and 2.
A factor may also be a collective operation of p processes, as in that paper's Table II: the data that a process sends
on average per unit of payload, by the algorithms log2(p) for Allreduce (recursive doubling), (p - 1)/p for Bcast
(binomial tree) and p - 1 for Alltoall (pairwise).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import fields_of
from simcodesign.fitting.collective_shapes import COLLECTIVES

Array = NDArray[np.float64]

#: Coefficients of a fit are right to this fraction at best; within it of a number with few digits they are that
#: number.
_ROUNDING, _ROUND_DIGITS = 1e-11, 6
#: Largest denominator that is printed as a fraction; finer exponents are printed as decimals.
_READABLE = 12


@dataclass(frozen=True)
class Factor:
    """x^exponent log2(x)^log of one parameter, times a collective operation of it if one is named."""

    parameter: str
    exponent: Fraction = Fraction(0)
    log: Fraction = Fraction(0)
    collective: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", Fraction(self.exponent))
        object.__setattr__(self, "log", Fraction(self.log))
        if self.collective and self.collective not in COLLECTIVES:
            allowed = nearest(self.collective, COLLECTIVES)
            raise InputError("an unknown collective operation", value=self.collective, allowed=allowed)

    @property
    def growth(self) -> tuple[float, float]:
        """Exponent and logarithm as they count for growth: the larger the faster."""
        steps = {"Allreduce": (0.0, 1.0), "Alltoall": (1.0, 0.0)}.get(self.collective, (0.0, 0.0))
        return float(self.exponent) + steps[0], float(self.log) + steps[1]

    def evaluate(self, x: Array) -> Array:
        """Return the value at x; not a number if it is undefined."""
        with np.errstate(all="ignore"):
            result = np.power(x, float(self.exponent)) if self.exponent else np.ones_like(x)
            if self.log:
                result = result * np.power(np.log2(x), float(self.log))
            return result * COLLECTIVES[self.collective].numeric(x) if self.collective else result

    def written(self, style: Style) -> list[str]:
        """Return the parts of the product, one text each."""
        parts = [style.collective(self.collective, self.parameter)] if self.collective else []
        parts += [style.power(style.name(self.parameter), self.exponent)] if self.exponent else []
        return parts + ([style.power(style.log(self.parameter), self.log)] if self.log else [])

    def json_fields(self) -> dict[str, Any]:
        """Return the exponents as texts such as ``1/2``."""
        return fields_of(self, log2_exponent="log") | {"collective": self.collective or None}


@dataclass(frozen=True)
class Term:
    """A coefficient and the factors that it multiplies, at most one for each parameter."""

    coefficient: float
    factors: tuple[Factor, ...]

    def written(self, style: Style) -> str:
        """Return the term as text in this style."""
        parts = [part for factor in self.factors for part in factor.written(style)]
        return style.times.join([style.number(self.coefficient), *parts])


@dataclass(frozen=True)
class Model:
    """A constant and terms in the given parameters.

    Raises InputError for a factor in another parameter and for two factors in the same one.
    """

    parameters: tuple[str, ...]
    constant: float
    terms: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        for term in self.terms:
            names = [factor.parameter for factor in term.factors]
            for name in names:
                if name not in self.parameters:
                    allowed = nearest(name, self.parameters)
                    raise InputError("a factor in an unknown parameter", value=name, allowed=allowed)
            if len(set(names)) < len(names):
                raise InputError(
                    "two factors of a term in one parameter", value=names, allowed="one for each parameter"
                )

    def evaluate(self, points: ArrayLike) -> Array:
        """Values at points (..., m), the last axis in the order of the parameters.

        Raises InputError unless the last axis has m numbers.
        """
        at = np.asarray(points, dtype=np.float64)
        if at.ndim == 0 or at.shape[-1] != len(self.parameters):
            allowed = f"one number for each of {', '.join(self.parameters)}"
            raise InputError("a point to evaluate a model at", value=points, allowed=allowed)
        result = np.full(at.shape[:-1], self.constant)
        for term in self.terms:
            value = np.full(at.shape[:-1], term.coefficient)
            for factor in term.factors:
                value = value * factor.evaluate(at[..., self.parameters.index(factor.parameter)])
            result = result + value
        return result

    def lead(self, parameter: str) -> tuple[Fraction, Fraction]:
        """Exponent and logarithm of the fastest growing factor in a parameter; (0, 0) if there is none."""
        factors = [f for term in self.terms for f in term.factors if f.parameter == parameter]
        fastest = max(factors, key=lambda factor: factor.growth, default=Factor(parameter))
        return fastest.exponent, fastest.log

    def written(self, style: Style) -> str:
        """Return the model as text in this style."""
        texts = [style.number(self.constant)] if self.constant or not self.terms else []
        texts += [term.written(style) for term in self.terms]
        return " + ".join(texts).replace("+ -", "- ")

    @property
    def text(self) -> str:
        """For people, e.g. ``3200 + 1.5 p^(1/2) log2(p) n``; numbers of six digits."""
        return self.written(_TEXT)

    @property
    def latex(self) -> str:
        """Return the model in LaTeX."""
        return self.written(_LATEX)

    @property
    def python(self) -> str:
        """For Python with ``log2`` at hand; numbers in full."""
        return self.written(_PYTHON)

    @property
    def expression(self) -> str:
        """For ``simcodesign.core.expressions.expression``; numbers in full."""
        return self.written(_PYTHON)


@dataclass(frozen=True)
class Style:
    """How the parts of a formula are written."""

    number: Callable[[float], str]
    name: Callable[[str], str]
    log: Callable[[str], str]
    power: Callable[[str, Fraction], str]
    collective: Callable[[str, str], str]
    times: str


def _exponent_text(exponent: Fraction) -> str:
    return str(exponent) if exponent.denominator <= _READABLE else f"{float(exponent):.6g}"


def _exponent_in_full(exponent: Fraction) -> str:
    # The exponents of the sets in use are fractions of small numbers; others are arbitrary floats.
    return str(exponent) if exponent.denominator <= 1000 else repr(float(exponent))


def _power(sign: str, number: Callable[[Fraction], str]) -> Callable[[str, Fraction], str]:
    def write(base: str, exponent: Fraction) -> str:
        if exponent == 1:
            return base
        text = number(exponent)
        return f"{base}{sign}{text}" if text.isdigit() else f"{base}{sign}({text})"

    return write


def _latex_number(number: float) -> str:
    mantissa, _, exponent = f"{number:.4g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _latex_name(name: str) -> str:
    head, _, index = name.partition("_")
    head = head if len(head) == 1 else rf"\mathrm{{{head}}}"
    return f"{head}_{{{index}}}".replace("_{}", "") if index else head


def _latex_log(name: str) -> str:
    return rf"\log_2\left({_latex_name(name)}\right)"


def _latex_power(base: str, exponent: Fraction) -> str:
    if exponent == 1:
        return base
    text = _exponent_text(exponent)
    if base.startswith(r"\log_2"):
        return base.replace(r"\log_2", rf"\log_2^{{{text}}}", 1)
    return f"{base}^{{{text}}}"


def _plain_number(number: float) -> str:
    """In full, except for what is a number of few digits to the rounding of a fit: 7.0, not 7.000000000001822."""
    near = float(f"{number:.{_ROUND_DIGITS}g}")
    exact = abs(near - number) <= _ROUNDING * abs(number)  # false for what is not finite
    return repr(near if exact else float(number)) if math.isfinite(number) else str(number)


_TEXT = Style(
    number=lambda number: f"{number:.6g}",
    name=str,
    log=lambda name: f"log2({name})",
    power=_power("^", _exponent_text),
    collective=lambda name, parameter: f"{name}({parameter})",
    times=" ",
)
_LATEX = Style(
    number=_latex_number,
    name=_latex_name,
    log=_latex_log,
    power=_latex_power,
    collective=lambda name, parameter: rf"\mathrm{{{name}}}({_latex_name(parameter)})",
    times=r" \, ",
)
_PYTHON = Style(
    number=_plain_number,
    name=str,
    log=lambda name: f"log2({name})",
    power=_power("**", _exponent_in_full),
    collective=lambda name, parameter: COLLECTIVES[name].formula.format(parameter),
    times="*",
)
