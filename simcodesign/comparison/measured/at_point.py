"""Measured times that hold at design points, and the ladder that continues to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.comparison.attribution import LadderStep, steps_to
from simcodesign.comparison.effects import Rung
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import Collective
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.formulas.formula import check_phases
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.measured_tables.rows import NODES_USED
from simcodesign.describe.programs.program import Block, with_phase
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.constants import OTHER_NAMES

#: A measured time holds at values that differ by no more, as a fraction.
_SAME_VALUE = 1e-9
#: Points that a message names.
MOST_NAMED = 5
#: The component (``COMPONENTS``) of messages.
COMMUNICATION = "communication"
_NOTHING: Mapping[str, float | str] = {}


def measured_at(
    several: Iterable[MeasuredTimes], point: DesignPoint, whole_program: bool = True
) -> MeasuredTimes | None:
    """Return the first of the measured times that holds at a single design point; None if none does.

    It must state something of what runs there. If all phases were measured, but not the total, the total is their sum.
    InputError for a value of a name that neither workload nor machine has.
    """
    for one in several:
        if bool(np.all(holds_at(one, point))) and (here := of_what_runs(one, point, whole_program)) is not None:
            return here
    return None


def of_what_runs(measured: MeasuredTimes, point: DesignPoint, whole_program: bool) -> MeasuredTimes | None:
    """Return what was measured of the phases that run; None if that is nothing.

    If some phases are left out, total and components are of another program.
    """
    phases = point.workload.phases()
    if whole_program:
        check_phases(measured.phases, phases, measured.place)
        here = measured
    else:
        kept = {name: one for name, one in measured.phases.items() if name in phases}
        parts = {part: one for part, one in measured.parts.items() if part[0] in phases}
        if not kept and not parts:
            return None
        here = replace(measured, total=None, phases=kept, components={}, parts=parts)
    here = replace(here, phases={**_of_operations(here, point.workload), **here.phases})
    if here.total is None and phases and all(name in here.phases for name in phases):
        sum_s = math.fsum(float(here.phases[name]) for name in phases)
        here = replace(here, total=MeasuredValue(sum_s, place=here.place))
    return here


def _of_operations(measured: MeasuredTimes, workload: Workload) -> dict[str, MeasuredValue]:
    """Return the times of phases that consist of collective operations only.

    Benchmarks and profiles book all of such an operation as communication.
    """
    steps = [(phase, step) for phase, step in with_phase(workload.program) if not isinstance(step, Block)]
    others = {phase for phase, step in steps if not isinstance(step, Collective)}
    return {
        phase: one
        for (phase, component), one in measured.parts.items()
        if component == COMMUNICATION and phase in {name for name, _ in steps} - others
    }


def holds_at(
    measured: MeasuredTimes, point: DesignPoint, varied: Mapping[str, float | str] = _NOTHING
) -> NDArray[np.bool_]:
    """Whether it was measured there, of the shape of the design points.

    ``varied``: what of the machine file is, by name. InputError for a name that is nothing here.
    """
    same = np.full(point.shape, measured.machine in ("", point.machine.name))
    for name, value in measured.at.items():
        here = varied[name] if name in varied else _value(name, point, measured)
        if isinstance(value, str) or isinstance(here, str):
            same &= str(value) == str(here)
        else:
            same &= np.isclose(here, value, rtol=_SAME_VALUE, atol=0)
    return np.asarray(same)


def _value(name: str, point: DesignPoint, measured: MeasuredTimes) -> FloatOrArray | str:
    """Value of a name at design points: of the workload, or of the machine."""
    machine = point.machine
    known: dict[str, FloatOrArray | str] = {**machine.varying(), **point.values, "nodes": float(machine.nodes)}
    known["network.topology.kind"] = machine.network.topology.kind
    if name == NODES_USED:
        return machine.placement.nodes_used(point.values["P"])
    if name in known:
        return known[name]
    part, _, key = name.rpartition(".")
    path = f"{part}.{OTHER_NAMES.get(key, key)}"
    per_byte = known.get(path, known.get(f"{part}.G") if key == "bandwidth" else None)
    if key.endswith("bandwidth") and per_byte is not None and not isinstance(per_byte, str):
        with np.errstate(divide="ignore"):
            return 1 / np.asarray(per_byte)
    what = "measured at a value of an unknown name"
    raise InputError(what, measured.place, value=name, allowed=nearest(name, known))


def where_measured(several: Sequence[MeasuredTimes], point: DesignPoint) -> str:
    """In words, at which points there are measured times, those nearest to a single design point first."""

    def differing(one: MeasuredTimes) -> int:
        alone = [replace(one, at={name: value}, machine="") for name, value in one.at.items()]
        return sum(not holds_at(each, point) for each in alone) + (one.machine not in ("", point.machine.name))

    ordered = list(dict.fromkeys(_place_text(one, point) for one in sorted(several, key=differing)))
    more = f"; and {len(ordered) - MOST_NAMED:,} more" if len(ordered) > MOST_NAMED else ""
    return "; ".join(ordered[:MOST_NAMED]) + more


def _place_text(measured: MeasuredTimes, point: DesignPoint) -> str:
    """Where something was measured, as a user writes it."""
    parameters = point.workload.parameters
    shown = {
        name: parameters[name].shown(value) if name in parameters and not isinstance(value, str) else value
        for name, value in measured.at.items()
    }
    values = [
        f"{name}={value:.12g}" if isinstance(value, float) else f"{name}={value}" for name, value in shown.items()
    ]
    machine = [f"on {measured.machine}"] if measured.machine else []
    return " ".join([", ".join(values), *machine]) or "any"


def ladder_to_measured(
    forecast: Result, rungs: Sequence[Rung], measured: MeasuredTimes | None
) -> tuple[LadderStep, ...]:
    """From the forecast through the simulations to the measured total; nothing if none was measured."""
    if measured is None or measured.total_s is None:
        return ()
    times_s = {rung.effect: float(rung.simulation.headline_s) for rung in rungs if rung.applies}
    return steps_to(float(forecast.headline_s), times_s, measured.total_s)
