"""The largest problem that fits in the memory of a process: a memory model inverted for the size of the problem.

Workflow of Calotoiu et al., CLUSTER 2018, section II-E: "inflate" the problem of a process until it fills its memory.
The footprint must not fall where the size grows. That it fits at no size, or at every size, is an answer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from simcodesign.analytic.formulas.model_text import TermValue, footprint_terms
from simcodesign.analytic.requirements_per_process import skeleton
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import fields_of
from simcodesign.core.units import FloatOrArray, is_positive
from simcodesign.describe.design_point import DesignPoint, bind
from simcodesign.describe.scenario import WorkloadSource, workload_of
from simcodesign.describe.workload import Workload

#: Kinds of a footprint: one fits exactly, one exceeds any memory, or it always fits.
FITS, NEVER, ALWAYS = "fits", "never", "always"
#: The parameter that is the size of the problem of a process.
SIZE = "n"
#: Sizes at which it is looked at whether the footprint grows.
LOOKED_AT = 129
#: Where a parameter has no largest value.
MOST_SIZE, MIN_SIZE = 1e300, 1e-300
#: Not all whole numbers beyond this are float64 values.
MOST_WHOLE = 2.0**53


@dataclass(frozen=True)
class MemoryFit:
    """How much of a problem a process has memory for.

    ``answer``: ``fits`` (``size`` fills the memory), ``never`` (not even the smallest size fits), or ``always`` (the
    largest size that the workload allows fits). ``size`` is a real number, 0 if nothing fits; ``whole`` the largest
    whole size that fits, None without one; ``left_bytes`` what that leaves. ``smallest_bytes`` is the footprint at the
    smallest size, and ``terms`` what it is made of, the largest first.
    """

    answer: str
    processes: float
    capacity_bytes: float
    size: float
    whole: float | None
    left_bytes: float
    smallest_size: float
    smallest_bytes: float
    terms: tuple[TermValue, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether there is a size that fits."""
        return self.answer != NEVER

    @property
    def overall(self) -> float:
        """The problem of all processes together, N = p n."""
        return self.processes * self.size

    def json_fields(self) -> dict[str, Any]:
        """With the largest problem of all processes."""
        return fields_of(self, "overall")


def fit_memory(
    workload: WorkloadSource,
    processes: float,
    capacity_bytes: float,
    parameters: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    size: str = SIZE,
) -> MemoryFit:
    """Return the largest ``size`` of the problem of one of ``processes`` processes with the given memory each.

    Raises InputError for a workload without a footprint or such a parameter, for a footprint that falls, and where the
    size is among the ``parameters``.
    """
    described = sized(workload_of(workload), size)
    capacity = _checked(capacity_bytes)
    refuse(parameters, size)
    given = {**(parameters or {}), "P": processes}
    low, high = limits(described, size)
    point = bind(described, skeleton(), given | {size: low}, preset=preset)
    point.require_one_point("a memory fit")
    bytes_at = _footprint(point, size)
    _check_grows(bytes_at, low, high, described)
    smallest, largest = float(bytes_at(low)), float(bytes_at(high))
    terms = footprint_terms(described, point.values, size)
    if smallest > capacity:
        return MemoryFit(NEVER, processes, capacity, 0.0, None, capacity - smallest, low, smallest, terms)
    best = high if largest <= capacity else _root(bytes_at, capacity, low, high)
    answer = ALWAYS if largest <= capacity else FITS
    whole = _whole(bytes_at, capacity, best, low, high)
    left = capacity - float(bytes_at(best if whole is None else whole))
    return MemoryFit(answer, processes, capacity, best, whole, left, low, smallest, terms)


def refuse(parameters: Mapping[str, object] | None, *names: str) -> None:
    """InputError where a parameter is given that the study itself determines."""
    for name in names:
        if name in (parameters or {}):
            value = (parameters or {})[name]
            raise InputError(f"{name} cannot be given: it follows from the memory and the processors", value=value)


def sized(workload: Workload, size: str = SIZE) -> Workload:
    """Return the workload with a size that may be a fraction. InputError if it has none, or no footprint."""
    if workload.footprint is None:
        what = f"{workload.name} does not say its footprint, so that nothing can be fitted"
        raise InputError(what, workload.place, allowed="footprint: BYTES in the workload file")
    if size not in workload.parameters:
        what = f"{workload.name} has no parameter {size!r} that could be the size of the problem"
        raise InputError(what, workload.place, allowed=", ".join(workload.parameters) or "none")
    parameters = {**workload.parameters, size: replace(workload.parameters[size], whole=False)}
    return replace(workload, parameters=parameters)


def limits(workload: Workload, size: str = SIZE) -> tuple[float, float]:
    """Return the smallest and the largest size that the workload allows.

    Both above 0, for sizes are looked for by factors.
    """
    parameter = workload.parameters[size]
    high = min(parameter.high, MOST_SIZE)
    low = parameter.low if parameter.low > 0 else min(MIN_SIZE, high)
    if not 0 < low <= high:
        raise InputError(f"sizes of {size}", parameter.place, value=(parameter.low, parameter.high), allowed="above 0")
    return low, high


def _checked(capacity_bytes: float) -> float:
    capacity = float(capacity_bytes)
    if not is_positive(capacity):
        raise InputError("memory of a process", value=capacity_bytes, allowed="a finite number of bytes above 0")
    return capacity


def _footprint(point: DesignPoint, size: str) -> Callable[[FloatOrArray], FloatOrArray]:
    """Bytes at any size: of the equations, those that depend on it are evaluated again."""
    workload = point.workload
    assert workload.footprint is not None
    changing, needed = {size}, set(workload.footprint.names)
    for name in workload.equation_order:
        if workload.equations[name].names & changing:
            changing.add(name)
    for name in reversed(workload.equation_order):
        if name in needed:
            needed |= workload.equations[name].names
    order = [name for name in workload.equation_order if name in changing & needed]
    footprint, equations = workload.footprint, workload.equations

    def bytes_at(value: FloatOrArray) -> FloatOrArray:
        values = {**point.values, size: value}
        for name in order:
            values[name] = equations[name].evaluate(values)
        return footprint.evaluate(values)

    return bytes_at


def _check_grows(bytes_at: Callable[[FloatOrArray], FloatOrArray], low: float, high: float, workload: Workload) -> None:
    """InputError for a footprint that is no number, negative, or falls between sizes that are looked at."""
    sizes = np.exp(np.linspace(math.log(low), math.log(high), LOOKED_AT))
    values = np.broadcast_to(bytes_at(sizes), sizes.shape)
    text = f"footprint = {workload.footprint.text if workload.footprint else ''}"
    usable = ~np.isnan(values) & (values >= 0)
    if not usable.all():
        where = float(sizes[~usable][0])
        raise InputError(f"{text} is no number of bytes at size {where:.4g}", workload.place)
    with np.errstate(invalid="ignore"):  # beyond all numbers it falls no more
        falls = np.flatnonzero(np.nan_to_num(np.diff(values)) < -1e-12 * values[:-1])
    if len(falls):
        where = float(sizes[falls[0]])
        raise InputError(
            f"{text} falls where the size grows beyond {where:.4g}: no one size fills a memory", workload.place
        )


def _root(bytes_at: Callable[[FloatOrArray], FloatOrArray], capacity: float, low: float, high: float) -> float:
    """Return the size at which the footprint is the capacity, to the last digits; it lies in [low, high]."""

    def excess(log_size: float) -> float:
        within = min(max(float(bytes_at(math.exp(log_size))), math.ulp(0.0)), sys.float_info.max)
        return math.log(within) - math.log(capacity)

    log_low, log_high = math.log(low), math.log(high)
    if excess(log_low) >= 0:
        return low
    log_size = brentq(excess, log_low, log_high, xtol=1e-14, rtol=1e-15, maxiter=1000)
    return _polished(bytes_at, capacity, math.exp(log_size), low)


def _polished(bytes_at: Callable[[FloatOrArray], FloatOrArray], capacity: float, size: float, low: float) -> float:
    """Return a size near the root that is not above it: rounding of a logarithm exceeds rounding of the size."""
    for _ in range(3):
        step = 1e-6
        slope = (float(bytes_at(size * (1 + step))) - float(bytes_at(size * (1 - step)))) / (2 * step)
        if not slope > 0:
            return size
        size = max(size * (1 - (float(bytes_at(size)) - capacity) / slope), low)
    step = math.ulp(size)
    while float(bytes_at(size)) > capacity and size > low:  # rounding of the footprint may be many ulps of the size
        size, step = max(size - step, low), 2 * step
    return size


def _whole(
    bytes_at: Callable[[FloatOrArray], FloatOrArray], capacity: float, size: float, low: float, high: float
) -> float | None:
    """Return the largest whole size that fits; ``size`` may be off by rounding."""
    whole = float(math.floor(size))
    if whole > MOST_WHOLE:
        return whole
    while whole >= low and float(bytes_at(whole)) > capacity:
        whole -= 1
    while whole + 1 <= high and float(bytes_at(whole + 1)) <= capacity and whole <= size:
        whole += 1
    return whole if whole >= low and whole >= 0 else None
