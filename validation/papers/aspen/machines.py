"""Aspen: which machine an application needs: clocks for forces between atoms, and a rack.

Source: Spafford and Vetter, Scientific Programming 2015, article 157305.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from simcodesign.studies.explore.models.aspen_model import AspenMachineModel, AspenModel
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .models import PUBLIC, ROUNDING, SEARCHED, application, case, machine, planned, printed, stated

# Forces between atoms: machine planner.


@cache
def least_clocks() -> Solution:
    """The least machine that takes a second."""
    model = AspenModel(application("atoms"), machine("gpu-cluster"))
    return planned(model, ["coreClock", "memoryClock"], "coreClock*memoryClock", [f"time <= {stated('atoms-time')!r}"])


def flops_time() -> Readings:
    """Of the operations alone, by the forecast."""
    model = AspenModel(application("atoms"), machine("gpu-cluster"))
    seconds = model.evaluate({"coreClock": np.array([stated("atoms-core-clock")])})["flops_time"]
    return Readings(forecast={"flops": float(np.asarray(seconds)[0])})


def atoms_cases() -> list[Case]:
    """CoMD with embedded atoms: clocks for a thousand steps in a second."""
    pair = ("aspen/atoms.aspen", "aspen/gpu-cluster.aspen")

    def clock(name: str) -> Readings:
        return Readings(forecast={name: least_clocks().point.values[name]})

    return [
        case(
            "atoms/core-clock",
            "The least core clock for a thousand steps in a second is the lowest that there is.",
            "CoMD on Keeneland",
            "Hz",
            {"coreClock": stated("atoms-core-clock")},
            SEARCHED,
            lambda: clock("coreClock"),
            pair=pair,
            inputs=PUBLIC,
        ),
        case(
            "atoms/flops-time",
            "At that clock the operations of a thousand steps take 0.744 s.",
            "CoMD on Keeneland; derived here from the public model, not printed",
            "s",
            {"flops": stated("atoms-flops-time")},
            printed("atoms-flops-time"),
            flops_time,
            pair=pair,
        ),
        case(
            "atoms/memory-clock-public",
            "By the public model the least memory clock is 7.19e8 Hz.",
            "CoMD on Keeneland; derived here from the public model, not printed",
            "Hz",
            {"memoryClock": stated("atoms-memory-clock-public")},
            SEARCHED,
            lambda: clock("memoryClock"),
            pair=pair,
        ),
        case(
            "atoms/memory-clock",
            "The least memory clock for a thousand steps in a second is 1.27e9 Hz.",
            "CoMD on Keeneland",
            "Hz",
            {"memoryClock": stated("atoms-memory-clock")},
            printed("atoms-memory-clock"),
            lambda: clock("memoryClock"),
            missing="the sustained share of the bandwidth",
            pair=pair,
        ),
    ]


# A rack of GPUs: machine architect.

RATE = "flops_rate*lanes >= {rate!r}"  # a fused operation is two, in double precision at half the rate
CEILING, FLOOR = "flops_rate*lanes <= {ratio!r}*loads_rate", "flops_rate*lanes >= {ratio!r}*loads_rate"


def racked(vary: list[str], subject_to: list[str]) -> dict[Label, float]:
    """The least power, and its GPUs."""
    known = {"rate": stated("rack-rate"), "ratio": stated("rack-ratio")}
    model = AspenMachineModel(machine("gpu-rack"))
    texts = [text.format(**known) for text in (RATE, *subject_to)]
    solution = planned(model, ["count=1:150:whole", *vary], "max_power", texts)
    return {"GPUs": solution.point.values["count"], "kW": solution.point.metrics["max_power"] / 1e3}


def rack_case(
    name: str, claim: str, vary: list[str], subject_to: list[str], each: Derived, infeasible: bool
) -> list[Case]:
    """What is needed, and what the source says of it."""
    count = math.ceil(stated("rack-rate") / each.value)
    kilowatts = count * stated("gpu-power") / 1e3
    gpus = Derived("GPUs", "ceil(rate/each)", {"rate": stated("rack-rate"), "each": each.value}, "", "rate of the rack")
    limit = stated("rack-power") / 1e3

    def power() -> Readings:
        return Readings(forecast={"kW": racked(vary, subject_to)["kW"]})

    watts = Derived("kW", "GPUs*watts/1000", {"GPUs": float(count), "watts": stated("gpu-power")}, "kW")
    consequence = "does not fit" if infeasible else "fits"
    return [
        case(
            f"rack/{name}",
            claim,
            "machine architect; derived here from the public model, not printed",
            "GPUs or kW",
            {"GPUs": float(count), "kW": kilowatts},
            ROUNDING,
            lambda: Readings(forecast=racked(vary, subject_to)),
            derivation=(each, gpus),
            pair=("", "aspen/gpu-rack.aspen"),
        ),
        case(
            f"rack/{name}-infeasible",
            f"No rack has 50 Tflop/s in 18 kW at 3:1. Read so that the ratio is {name.replace('-', ' ')}, "
            f"the least power {consequence}.",
            "machine architect",
            "kW",
            {"kW": limit},
            Tolerance("a bound that the least power must exceed", sense="at_least"),
            power,
            own={"kW": kilowatts},
            inputs={
                "power of a GPU": "published",
                "clocks and lanes of a GPU": "public",
                f"3 : 1 read as {name.replace('-', ' ')}": "chosen",
            },
            derivation=(watts,),
            pair=("", "aspen/gpu-rack.aspen"),
        ),
    ]


def rack_cases() -> list[Case]:
    """42 U, 18 kW, 50 Tflop/s in double precision, three to one."""
    lanes = {"multiprocessors": 16.0, "lanes": 32.0}
    peak = "multiprocessors*lanes*clock"
    nominal = Derived("each", peak, {**lanes, "clock": 1.3e9}, "flop/s", "at the nominal clock")
    fast = Derived("each", peak, {**lanes, "clock": 2e9}, "flop/s", "at 2 GHz, the highest clock")
    slow = Derived(
        "each",
        "ratio*clock*width*ecc",
        {"ratio": stated("rack-ratio"), "clock": 3.7e9, "width": 48, "ecc": 0.75},
        "flop/s",
        "the bandwidth limits it",
    )
    wide = Derived(
        "each",
        "ratio*clock*width",
        {"ratio": stated("rack-ratio"), "clock": 4e9, "width": 48},
        "flop/s",
        "at 4 GHz, the highest memory clock, without ECC",
    )
    return [
        *rack_case("at-nominal-clocks", "50 Tflop/s take 76 GPUs of 1.3 GHz, 19 kW.", [], [FLOOR], nominal, True),
        *rack_case(
            "at-least-3",
            "With clocks up to 2 GHz 50 Tflop/s take 49 GPUs, 12.25 kW.",
            ["coreClock"],
            [FLOOR],
            fast,
            False,
        ),
        *rack_case(
            "at-most-3",
            "If bandwidth limits to 3 flop a byte, 50 Tflop/s take 126 GPUs.",
            ["coreClock"],
            [CEILING],
            slow,
            True,
        ),
        *rack_case(
            "at-most-3-fast-memory",
            "The same at the highest memory clock without ECC takes 87 GPUs.",
            ["coreClock", "memoryClock", "ecc=0.75,1"],
            [CEILING],
            wide,
            True,
        ),
    ]


CASES: list[Case] = [*atoms_cases(), *rack_cases()]
