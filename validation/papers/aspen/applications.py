"""Aspen: what an application may be, for a machine: the tile of a sensor's image, and the size of an FFT.

Source: Spafford and Vetter, Scientific Programming 2015, article 157305.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from simcodesign.aspen.run.comparison import simulate_aspen
from simcodesign.studies.explore.models.aspen_model import AspenModel
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

from .models import PUBLIC, ROUNDING, WHOLE, application, case, machine, planned, printed, stated

LINKS = (120, 360, 1)


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
    return planned(model, ["tf=16:64:whole"], "flops", [])


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
            inputs=PUBLIC,
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
            inputs=PUBLIC,
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
    return planned(model, ["n=512:16384:whole"], "n", [subject_to], maximize=True).point.values["n"]


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
            "3-D FFT on Keeneland; derived here from the public model, not printed",
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
            "3-D FFT on Keeneland; derived here from the public model, not printed",
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


CASES: list[Case] = [*sensor_cases(), *fft_size_cases(), *fft_energy_cases()]
