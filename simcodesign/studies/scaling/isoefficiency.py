"""Isoefficiency: how large a problem must be on P ranks so that a given fraction of their time is useful work.

Efficiency is E = T_serial / (P T_P). The isoefficiency function W(P) is the work at which E stays what it is: the
slower it grows, the better an algorithm scales (A. Grama, A. Gupta, V. Kumar, IEEE Parallel & Distributed Technology
1(3), 1993; A. Grama et al., Introduction to Parallel Computing, 2003, section 5.4.2). Here T_P comes from a formula,
from the forecast, or from the simulation, so that the influence of effects on the growth is visible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack

from scipy.optimize import brentq

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.given_formulas.values import FormulaSources, formula_values, given_formulas
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import PlainResult, fields_of
from simcodesign.describe.evaluated.useful_flops import useful_flops
from simcodesign.describe.scenario import MachineSource, RunKeywords, Scenario, WorkloadSource, workload_of
from simcodesign.describe.workload import Workload
from simcodesign.engine.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd

FORECAST, SIMULATION = "forecast", "simulation"
#: Definition of T_serial: useful flops at the rate of the machine, or the same reading's time for one rank.
USEFUL_FLOPS, ONE_RANK = "useful_flops", "one_rank"
#: A size is found to this fraction of it.
PRECISION = 1e-6
#: Within this fraction of a size, efficiency may cross what is wanted more than once: messages that change places in a
#: queue make it jump.
_JUMPS = 0.01
#: The logarithm of E/(1 - E) is kept within this, for E = 0 and E = 1.
_MAX_ODDS = 700.0
#: Multiples of the found size at which efficiency is checked again.
_FURTHER = (2.0, 4.0)
#: The first step up in the search for a size, and after how many steps their logarithm is doubled.
_STEP, _STEPS_ALIKE = 4.0, 6

MachineAt = MachineSource | Callable[[int], MachineSource]
#: The time of a scenario by one reading; nan if there is none.
TimeOf = Callable[[Scenario], float]


@dataclass(frozen=True)
class IsoefficiencyPoint:
    """The least ``size`` at which ``ranks`` are efficient enough, and the times there, in seconds.

    ``size`` is of the parameter that is solved for. ``work_flops``: the useful operations, None if T_serial is the time
    of one rank. All are nan if there is no such size, for a ``reason``.
    """

    ranks: int
    size: float
    serial_s: float
    parallel_s: float
    work_flops: float | None = None
    reason: str = ""

    @property
    def efficiency(self) -> float:
        """Efficiency reached: T_serial / (P T_P)."""
        return self.serial_s / (self.ranks * self.parallel_s) if self.parallel_s else math.nan

    def json_fields(self) -> dict[str, Any]:
        """Its fields, and the efficiency."""
        return fields_of(self, "efficiency")


@dataclass(frozen=True)
class IsoefficiencyCurve:
    """The points of one ``reading``: a formula by its name, ``forecast`` or ``simulation``."""

    reading: str
    points: tuple[IsoefficiencyPoint, ...]

    @property
    def exponents(self) -> tuple[float, ...]:
        """x of W ~ P^x from each number of ranks to the next one, nan if one of the two has no size."""
        return tuple(
            math.log(after.serial_s / before.serial_s) / math.log(after.ranks / before.ranks)
            for before, after in pairwise(self.points)
        )

    def json_fields(self) -> dict[str, Any]:
        """Its points and exponents."""
        return fields_of(self, "exponents")


@dataclass(frozen=True)
class Isoefficiency(PlainResult):
    """How ``parameter`` of a workload must grow with P for an ``efficiency``.

    ``serial``: what T_serial is, ``useful_flops`` or ``one_rank``.
    """

    workload: str
    machine: str
    parameter: str
    efficiency: float
    serial: str
    curves: tuple[IsoefficiencyCurve, ...]

    def curve(self, reading: str) -> IsoefficiencyCurve:
        """Return the curve of a formula, of ``forecast`` or of ``simulation``. InputError if there is none."""
        curves = {curve.reading: curve for curve in self.curves}
        if reading not in curves:
            raise InputError("no such curve", value=reading, allowed=nearest(reading, curves))
        return curves[reading]

    def table(self) -> pd.DataFrame:
        """Return a row for each number of ranks and reading: the size, times, work and efficiency there."""
        import pandas as pd

        rows = [{"reading": curve.reading} | point.json_fields() for curve in self.curves for point in curve.points]
        return pd.DataFrame(rows)


def isoefficiency(
    workload: WorkloadSource,
    machine: MachineAt,
    ranks: Sequence[int],
    parameters: Mapping[str, object] | None = None,
    *,
    parameter: str = "n",
    efficiency: float = 0.5,
    serial: str = USEFUL_FLOPS,
    formulas: FormulaSources = None,
    readings: Collection[str] | None = None,
    preset: str | None = None,
    **run: Unpack[RunKeywords],
) -> Isoefficiency:
    """Return the least value of ``parameter`` at which each number of ``ranks`` has this ``efficiency``.

    It is found by each formula of the workload, by the given formulas, by the forecast, and by the simulation.

    The parameter is a real number here, also where the workload takes whole ones only, so that curves are smooth. It is
    looked for over its whole range, and found to a fraction of 1e-6; values that the workload refuses are too small. A
    point has no size, and a reason, if the range ends before, and if efficiency is not monotone: if a value
    that was tried is too small, and one that is smaller by more than 1 % is not.

    ``machine``: an object, a name or a path, or a function from the number of ranks to one of these, for a machine that
    grows with them. ``serial``: T_serial is the ``useful_flops`` of the workload at the machine's rate, or
    (``one_rank``) the time of each reading for P = 1. ``readings``: only these, of ``forecast``, ``simulation`` and the
    names of formulas; all by default. ``formulas`` as for ``compare``; other keywords as for ``simulate``.

    Raises InputError for what cannot be used at any value of the parameter, and for an efficiency that is not between 0
    and 1.

    >>> from simcodesign.studies.scaling.isoefficiency import isoefficiency
    >>> found = isoefficiency("cannon", "hypercube-256", [4, 16], efficiency=0.5, readings=["forecast"])
    >>> small, large = (point.size for point in found.curve("forecast").points)
    >>> small < large
    True
    """
    described = _with_real(workload_of(workload), parameter)
    if not 0 < efficiency < 1:
        raise InputError("not an efficiency", value=efficiency, allowed="above 0 and below 1")
    if serial not in (USEFUL_FLOPS, ONE_RANK):
        raise InputError("serial time", value=serial, allowed=f"{USEFUL_FLOPS}, {ONE_RANK}")
    at = machine if callable(machine) else lambda _: machine
    scenarios = {
        count: Scenario.of(described, at(count), {**(parameters or {}), "P": count}, preset=preset) for count in ranks
    }
    if not scenarios:
        raise InputError("no number of ranks", allowed="at least one")
    curves = []
    for reading, time_s in _readings(described, formulas, readings, run).items():
        points = []
        for count, scenario in scenarios.items():
            search = _Search(scenario, parameter, count, serial, time_s)
            points.append(search.least_size(efficiency))
        curves.append(IsoefficiencyCurve(reading, tuple(points)))
    name = next(iter(scenarios.values())).machine.label
    return Isoefficiency(described.name, name, parameter, efficiency, serial, tuple(curves))


def _with_real(workload: Workload, parameter: str) -> Workload:
    """Return the workload with a parameter that may be a fraction."""
    if parameter not in workload.parameters:
        what = f"{workload.name} has no parameter that could be the size of the problem"
        raise InputError(what, workload.place, value=parameter, allowed=", ".join(workload.parameters) or "none")
    real = replace(workload.parameters[parameter], whole=False)
    return replace(workload, parameters={**workload.parameters, parameter: real})


def _readings(
    workload: Workload, formulas: FormulaSources, wanted: Collection[str] | None, run: RunKeywords
) -> dict[str, TimeOf]:
    """Return the time of a scenario by each reading, formulas first."""
    given = {formula.name: formula for formula in given_formulas(formulas).formulas}

    def of_formula(name: str) -> TimeOf:
        formula = given.get(name) or workload.formulas[name]

        def time_s(scenario: Scenario) -> float:
            total_s = formula_values(formula, scenario.bind()).total_s
            return math.nan if total_s is None else float(total_s)

        return time_s

    times = {name: of_formula(name) for name in {**workload.formulas, **given}}
    times[FORECAST] = lambda scenario: float(forecast(scenario).makespan_s)
    times[SIMULATION] = lambda scenario: float(simulate(scenario, **run).makespan_s)
    for name in wanted or ():
        if name not in times:
            raise InputError("no such reading", value=name, allowed=nearest(name, times))
    return times if wanted is None else {name: time_s for name, time_s in times.items() if name in wanted}


class _Search:
    """The search for a size on one number of ranks; remembers what was evaluated."""

    def __init__(self, scenario: Scenario, parameter: str, ranks: int, serial: str, time_s: TimeOf) -> None:
        self._scenario, self._parameter, self._ranks = scenario, parameter, ranks
        self._serial, self._time_s = serial, time_s
        self._known: dict[float, IsoefficiencyPoint] = {}
        self._refused: InputError | None = None

    def least_size(self, efficiency: float) -> IsoefficiencyPoint:
        """Return the point at which the efficiency is reached; without a size if it is not."""
        bounds = self._scenario.workload.parameters[self._parameter]
        if not bounds.low > 0:
            what = f"the least {self._parameter}, from which sizes are looked for by factors"
            raise InputError(what, bounds.place, value=bounds.low, allowed="above 0")
        log_low, log_high = math.log(bounds.low), math.log(bounds.high)
        wanted = _log_odds(efficiency)

        def excess(log_size: float) -> float:
            inside = bounds.low if log_size <= log_low else bounds.high if log_size >= log_high else math.exp(log_size)
            return _log_odds(self._at(inside).efficiency) - wanted

        below, above, tried = log_low, log_low, 0
        while excess(above) < 0:
            if above >= log_high:
                return self._not_reached(bounds.high)
            below, above = above, min(above + math.log(_STEP) * 2 ** (tried // _STEPS_ALIKE), log_high)
            tried += 1
        if tried:
            above = brentq(excess, below, above, xtol=PRECISION / 4, rtol=1e-15)
        for further in _FURTHER:
            excess(min(above + math.log(further), log_high))
        return self._crossing(wanted)

    def _at(self, size: float) -> IsoefficiencyPoint:
        if size not in self._known:
            try:
                self._known[size] = self._evaluated(size)
            except InputError as error:
                self._refused = error
                self._known[size] = IsoefficiencyPoint(self._ranks, size, math.nan, math.nan)
        return self._known[size]

    def _evaluated(self, size: float) -> IsoefficiencyPoint:
        scenario = self._scenario.at({self._parameter: size})
        work_flops, parallel_s = None, self._time_s(scenario)
        if self._serial == USEFUL_FLOPS:
            point = scenario.bind()
            work_flops = float(useful_flops(point))
            serial_s = work_flops / float(point.machine.processor.rate_flop_per_s)
        else:
            serial_s = self._time_s(scenario.at({"P": 1}))
        return IsoefficiencyPoint(self._ranks, size, serial_s, parallel_s, work_flops)

    def _not_reached(self, largest: float) -> IsoefficiencyPoint:
        """Return a point without a size: not even the largest one is enough. InputError if all sizes were refused."""
        known = [point for point in self._known.values() if math.isfinite(point.efficiency)]
        if not known and self._refused is not None:
            raise self._refused
        if not known:
            return self._none("it gives no time here")
        most = max(point.efficiency for point in known)
        return self._none(f"not reached up to {self._parameter} = {largest:g}: {most:.3g} at most")

    def _crossing(self, wanted: float) -> IsoefficiencyPoint:
        """Return the smallest tried size from which on all are enough.

        No size if one that is much smaller is enough as well.
        """
        known = sorted(self._known.values(), key=lambda point: point.size)
        enough = [point.size for point in known if _log_odds(point.efficiency) >= wanted]
        short = [point.size for point in known if not _log_odds(point.efficiency) >= wanted]
        low, high = enough[0], max([enough[0], *short])
        if high > low * (1 + _JUMPS):
            return self._none(f"not monotone: {self._parameter} = {low:.6g} is enough, and {high:.6g} is not")
        return next(point for point in known if point.size >= high and point.size in enough)

    def _none(self, reason: str) -> IsoefficiencyPoint:
        return IsoefficiencyPoint(self._ranks, math.nan, math.nan, math.nan, None, reason)


def _log_odds(efficiency: float) -> float:
    """log(E/(1 - E)), nearly a straight line over the logarithm of the size; what is no number counts as E = 0."""
    if not efficiency > 0:
        return -_MAX_ODDS
    if efficiency >= 1:
        return _MAX_ODDS
    return max(-_MAX_ODDS, min(_MAX_ODDS, math.log(efficiency) - math.log1p(-efficiency)))
