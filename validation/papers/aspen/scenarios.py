"""Aspen models and the four planners: the scenarios of the paper, on models of our own in ``aspen/``.

Source: Spafford and Vetter, Scientific Programming 2015, article 157305. Its listings and figures are not in the text
that is at hand; their content is recovered from the public models as far as these go, and the claims say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.aspen.run.comparison import simulate_aspen
from simcodesign.studies.explore.aspen_model import AspenMachineModel, AspenModel
from simcodesign.studies.explore.model_interfaces import Explorable
from simcodesign.studies.explore.planners import plan
from simcodesign.studies.explore.problem import Model
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.solvers.solve import Solution, solve
from simcodesign.studies.explore.space import Variable
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published.tables import half_unit, number

PAPER = "Spafford and Vetter, Automated design space exploration with Aspen (Scientific Programming 2015, art. 157305)"
FOLDER = Path(__file__).resolve().parent.parent.parent / "aspen"
WHOLE = "whole numbers, or a bound that holds or does not"
ROUNDING = Tolerance("rounding of double precision, over a few operations", relative=1e-12)
SEARCHED = Tolerance("a search of real variables: 0.1 % of the best value", relative=1e-3)
LINKS = (120, 360, 1)


def stated(name: str) -> float:
    """A number of the paper, or one that follows from its models."""
    return number("aspen-statements", "value", statement=name)


def printed(name: str) -> Tolerance:
    """Half a unit of the last digit of it."""
    half = half_unit("aspen-statements", "value", statement=name)
    return Tolerance("half a unit of the last digit that is given", absolute=half)


@cache
def application(name: str) -> Application:
    """One of our models."""
    return load_application(FOLDER / f"{name}.aspen")


@cache
def machine(name: str) -> AspenMachine:
    """One of our machines."""
    return load_machine(FOLDER / f"{name}.aspen")


def case(
    name: str,
    claim: str,
    where: str,
    unit: str,
    expected: dict[Label, float],
    tolerance: Tolerance,
    measure: Callable[[], Readings] | None = None,
    own: dict[Label, float] | None = None,
    reading: str = "forecast",
    derivation: tuple[Derived, ...] = (),
    axis: str = "",
    pair: tuple[str, str] = ("", ""),
    missing: str = "",
) -> Case:
    """A case of this group."""
    return Case(
        name=f"aspen/{name}",
        claim=claim,
        source=f"{PAPER}, {where}",
        unit=unit,
        expected=expected,
        tolerance=tolerance,
        reading=reading,
        measure=measure,
        own=own or {},
        derivation=derivation,
        axis=axis,
        workload=pair[0],
        machine=pair[1],
        quick=True,
        needs={missing: None} if missing else {},
    )


def planned(
    planner: str, model: Model, vary: list[str], to_be: str, subject_to: list[str], maximise: bool = False
) -> Solution:
    """The best point; a variable without limits has those of its file."""
    dimensions = model.dimensions
    variables = [_variable(model, text) for text in vary]
    constraints = [constraint(text, dimensions) for text in subject_to]
    return solve(plan(planner, model, variables, [objective(to_be, maximise, dimensions)], constraints))


def _variable(model: Model, text: str) -> Variable:
    ranged: Explorable = model  # type: ignore[assignment] # all models here know their parameters
    assert isinstance(ranged, AspenModel | AspenMachineModel)
    return variable(text, {}) if "=" in text else ranged.variable(text)


# The streaming sensor: parameter tuner.


def sensor_flops(tf: float) -> float:
    """The sum of the model, written out."""
    prf, samples, pixels, pulses = 2809, 80636, 114036, math.ceil(2809 / tf)
    filtered = prf * 4 * samples * math.log2(samples) + prf * (10 + 21 * samples)
    return tf**2 * (filtered + pulses * math.ceil(samples / tf) * 138) + pixels**2 * 44 * pulses


@cache
def tuned() -> Solution:
    """Least operations over the tile factor."""
    model = AspenModel(application("sensor"), machine("gpu-cluster"))
    return planned("tune", model, ["tf=16:64:whole"], "flops", [])


def sensor_by_tile() -> Readings:
    """At the factors that are looked at."""
    model = AspenModel(application("sensor"), machine("gpu-cluster"))
    factors = (16.0, 32.0, 34.0, 64.0)
    flops = np.asarray(model.evaluate({"tf": np.array(factors)})["flops"])
    return Readings(forecast=dict(zip(map(int, factors), flops.tolist(), strict=True)))


def sensor_cases() -> list[Case]:
    """Table 1's parameter tuner."""
    pair = ("aspen/sensor.aspen", "aspen/gpu-cluster.aspen")
    least = Derived("flops", "flops34", {"flops34": sensor_flops(34)}, "flop", "the sum of the model at tf = 34")
    return [
        case(
            "sensor/tile-factor",
            "The tile factor of least operations is 34, between 16 and 64.",
            "SSCP",
            "",
            {"tf": stated("tile-factor")},
            Tolerance(WHOLE),
            lambda: Readings(forecast={"tf": tuned().point.values["tf"]}),
            pair=pair,
        ),
        case(
            "sensor/least-flops",
            "The least number of operations for an image is 7.009e13.",
            "SSCP",
            "flop",
            {"flops": stated("sensor-flops")},
            printed("sensor-flops"),
            lambda: Readings(forecast={"flops": tuned().point.metrics["flops"]}),
            derivation=(least,),
            pair=pair,
        ),
        case(
            "sensor/flops-by-tile",
            "Operations over the tile factor as the model of the source adds them up.",
            "SSCP",
            "flop",
            {tf: sensor_flops(tf) for tf in (16, 32, 34, 64)},
            ROUNDING,
            sensor_by_tile,
            derivation=(least,),
            axis="tile factor",
            pair=pair,
        ),
    ]


# The 3-D FFT: problem-size planner.


def largest_fft(links: int, subject_to: str, to: str = "gpu-cluster-exclusive") -> float:
    """The largest n under one constraint."""
    model = AspenModel(application("fft"), machine(to), given={"links": float(links)})
    return planned("size", model, ["n=512:16384:whole"], "n", [subject_to], maximise=True).point.values["n"]


def largest_simulated_fft(links: int, seconds: float) -> float:
    """The same by simulations, in halves."""
    low, high = 512, 16384
    while high - low > 1:
        middle = (low + high) // 2
        given = {"n": float(middle), "links": float(links)}
        result = simulate_aspen(application("fft"), machine("gpu-cluster-exclusive"), None, given)
        low, high = (middle, high) if float(result.makespan_s) <= seconds else (low, middle)
    return float(low)


def memory_readings() -> Readings:
    """What fits the memory of all GPUs, all of it or what can be used."""
    usable = f"data_bytes <= {360 * stated('gpu-usable-memory')!r}"
    return Readings(
        forecast={"6 GB": largest_fft(120, "data_bytes <= memory_bytes"), "usable": largest_fft(120, usable)}
    )


def time_readings() -> Readings:
    """What takes up to ten seconds."""
    limit = stated("fft-time")
    return Readings(
        forecast={links: largest_fft(links, f"time <= {limit!r}") for links in LINKS},
        simulation={links: largest_simulated_fft(links, limit) for links in LINKS},
    )


def energy_readings() -> Readings:
    """Energy of the largest FFT in ten seconds."""
    model = AspenModel(application("fft"), machine("gpu-cluster-exclusive"))
    energy = model.evaluate({"n": np.array([stated("fft-n-120-links")])})["energy"]
    return Readings(forecast={"energy": float(np.asarray(energy)[0])})


#: Application and machine of the FFT cases.
FFT_ON_KEENELAND = ("aspen/fft.aspen", "aspen/gpu-cluster-exclusive.aspen")


def fft_size_cases() -> list[Case]:
    """Keeneland: the largest FFT that fits the memory, and the largest under ten seconds."""
    sizes = {"6 GB": 6e9, "usable": stated("gpu-usable-memory")}
    cube = Derived("n", "floor((gpus*each/16)**(1/3))", {"gpus": 360, "each": 6e9}, "", "16 bytes a value")
    times = {120: stated("fft-n-120-links"), 360: stated("fft-n-360-links"), 1: stated("fft-n-1-link")}
    near = Tolerance("n is whole here, and the crossing of ten seconds is given to the nearest whole n", absolute=1)
    return [
        case(
            "fft/memory",
            "The largest FFT that the memory of 360 GPUs holds.",
            "3-D FFT on Keeneland",
            "n",
            {name: float(math.floor((360 * each / 16) ** (1 / 3))) for name, each in sizes.items()},
            Tolerance(WHOLE),
            memory_readings,
            derivation=(cube,),
            pair=FFT_ON_KEENELAND,
        ),
        case(
            "fft/ten-seconds",
            "The largest FFT in ten seconds, over the number of links that carry its messages.",
            "3-D FFT on Keeneland; follows from the public model",
            "n",
            dict(times),
            near,
            time_readings,
            reading="both",
            axis="links",
            pair=FFT_ON_KEENELAND,
        ),
    ]


def fft_energy_cases() -> list[Case]:
    """Keeneland: the bound of 5 MJ, and all three bounds together."""
    joules = Derived(
        "energy",
        "gpus*watts*seconds",
        {"gpus": 360, "watts": stated("gpu-power"), "seconds": stated("fft-time")},
        "J",
        "all GPUs at full power",
    )
    return [
        case(
            "fft/energy-bound",
            "The FFT that takes 5 MJ has n of about 12,800.",
            "3-D FFT on Keeneland; follows from the public model",
            "n",
            {"n": stated("fft-n-energy")},
            Tolerance("three digits are given: half a unit of the third", absolute=50),
            lambda: Readings(forecast={"n": largest_fft(120, f"energy <= {stated('fft-energy')!r}")}),
            pair=FFT_ON_KEENELAND,
        ),
        case(
            "fft/energy-never-binds",
            "In ten seconds the GPUs cannot use 5 MJ: the bound on energy never binds.",
            "3-D FFT on Keeneland",
            "J",
            {"energy": stated("fft-energy")},
            Tolerance(WHOLE, sense="at_most"),
            energy_readings,
            own={"energy": joules.value},
            derivation=(joules,),
            pair=FFT_ON_KEENELAND,
            reading="forecast",
        ),
        case(
            "fft/optimum",
            "The largest FFT that meets all three bounds.",
            "3-D FFT on Keeneland, Figures 3 to 5",
            "n",
            {"n": math.nan},
            Tolerance("nothing to compare it with was published"),
            lambda: Readings(),
            missing="values of Figures 3 to 5",
        ),
    ]


# Forces between atoms: machine planner.


@cache
def least_clocks() -> Solution:
    """The least machine that takes a second."""
    model = AspenModel(application("atoms"), machine("gpu-cluster"))
    return planned(
        "machine", model, ["coreClock", "memoryClock"], "coreClock*memoryClock", [f"time <= {stated('atoms-time')!r}"]
    )


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
        ),
        case(
            "atoms/flops-time",
            "At that clock the operations of a thousand steps take 0.744 s.",
            "CoMD on Keeneland; follows from the public model",
            "s",
            {"flops": stated("atoms-flops-time")},
            printed("atoms-flops-time"),
            flops_time,
            pair=pair,
        ),
        case(
            "atoms/memory-clock-public",
            "By the public model the least memory clock is 7.19e8 Hz.",
            "CoMD on Keeneland; follows from the public model",
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
    solution = planned("architect", model, ["count=1:150:whole", *vary], "max_power", texts)
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
            "machine architect; follows from the public model",
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


CASES: list[Case] = [*sensor_cases(), *fft_size_cases(), *fft_energy_cases(), *atoms_cases(), *rack_cases()]
