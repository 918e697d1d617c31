"""The ladder of High Performance Linpack on Dahu: one speed, each its own, drift between days, the network and its noise.

``python -m validation.measured.hpl_ladder 50000`` prints it for the runs of March 2019 of that order (1,024 ranks; some four
CPU minutes, eleven simulations), beside what SMPI says with the same in it. Every rung is a simulation that has all before it:

* one speed for all processors, the mean of their means over days; then each its own. Up to here every process has as many
  rows and columns, and the panel goes along one ring;
* layout: blocks of rows and columns dealt out in turn, as HPL does;
* two rings: the broadcast of the runs;
* drift: on some day each processor is faster or slower than its mean over days, as it was on one of the 22 days of the
  usual state. Days are ordered by the mean over processors: the fastest, the median and the slowest are simulated, and the
  rungs above stand on the median one;
* costs of messages by size, as segments that are fitted to every other size of the ping-pongs (``network.segments``);
* noise of the network: every message takes one of the ratios of those ping-pongs to the fitted segments, at random. A
  message train of pivoting has one for all its messages. The data have one time for each size, so that this is how sizes
  differ from the line; what repetitions of one size differ by is not in them.

Calibration: all dgemm times, and the ping-pongs with that role. Evidence: every run of Linpack.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

import simcodesign as sc
from simcodesign.calibration.segments import Segmentation, segmentation
from simcodesign.comparison.attribution import UNEXPLAINED
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.hockney import Hockney, HockneySegment
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.noise import Noise
from simcodesign.report.common.tables import text_table
from simcodesign.report.common.terminal import print_all

from ..published import tables
from .hpl import EFFECTS, HOT_DAYS, WORKLOAD, machine, measured, parameters

Choices = dict[str, object]
RUN = "2019-03"
#: Choices of the workload that are not those of the runs.
AS_RUN: Choices = {}
RING: Choices = {"broadcast": "ring"}
EVEN_RING: Choices = RING | {"layout": "even"}
SEEDS = (0, 1, 2)
#: What SMPI simulated with the same in it; its speeds are of the time of the runs, and it has no drift by itself.
THEIRS = {"one speed": "A1", "each its own": "A1_het", "network noise": "A2_het"}


@dataclass(frozen=True)
class Rung:
    """``time_s`` with all rungs up to this one; ``low_s`` and ``high_s``: over days, or over seeds."""

    name: str
    time_s: float
    low_s: float
    high_s: float

    @classmethod
    def of(cls, name: str, *times_s: float) -> Rung:
        """The median of some times, and their ends."""
        return cls(name, float(np.median(times_s)), min(times_s), max(times_s))


@cache
def days() -> pd.DataFrame:
    """Of every usual day, seconds of dgemm on each processor over its mean over days (of one that was not measured then,
    the mean of the others); days by their mean, the fastest first."""
    frame = tables.table("dahu-dgemm").sort_values(["node", "cpu"])
    usual = frame.drop(columns=["node", "cpu", *HOT_DAYS])
    ratios = usual.div(usual.mean(axis=1), axis=0)
    ratios = ratios.fillna(ratios.mean())
    return ratios[ratios.mean().sort_values(kind="stable").index]


def of_day(base: Machine, ratios: pd.Series) -> Machine:
    """The machine with processors that are so much slower (above 1) or faster on a day."""
    speeds = base.processor.speeds
    assert speeds is not None
    return replace(base, processor=replace(base.processor, speeds=tuple((np.array(speeds) / ratios).tolist())))


@cache
def segments() -> Segmentation:
    """Of the ping-pongs for calibration."""
    frame = ping_pongs("calibration")
    return segmentation(frame.bytes.to_numpy(float), frame.one_way_us.to_numpy(float) / 1e6)


def ping_pongs(role: str) -> pd.DataFrame:
    """One way by size, for calibration or for evidence."""
    frame = tables.table("dahu-ping-pong")
    return frame[frame.role == role]


def predicted_s(sizes: np.ndarray) -> np.ndarray:
    """What the segments say of messages of these sizes."""
    fit = segments()
    place = np.searchsorted(fit.up_to, sizes, side="left")
    return np.asarray(fit.startup_s[place] + sizes * fit.per_byte_s[place])


def noise_ratios() -> tuple[float, ...]:
    """Of each ping-pong for calibration, its time over what the segments say."""
    frame = ping_pongs("calibration")
    return tuple((frame.one_way_us.to_numpy(float) / 1e6 / predicted_s(frame.bytes.to_numpy(float))).tolist())


def with_segments(base: Machine) -> Machine:
    """The machine with messages that cost what the segments say."""
    fit = segments()
    ends = [*fit.up_to.tolist(), np.inf]
    pieces = tuple(
        HockneySegment(end, startup_s, per_byte_s)
        for end, startup_s, per_byte_s in zip(ends, fit.startup_s.tolist(), fit.per_byte_s.tolist(), strict=True)
    )
    before = base.network.message_model
    assert isinstance(before, Hockney)
    model = replace(before, segments=pieces, startup_s=0.0, per_byte_s=0.0)
    return replace(base, network=replace(base.network, message_model=model))


def with_noise(base: Machine) -> Machine:
    """The machine with times of messages that vary."""
    return replace(base, noise=Noise(network=Distribution("empirical", values=noise_ratios())))


def simulated_s(on: Machine, n: int, seed: int = 0, more: tuple[str, ...] = (), without: Choices = AS_RUN) -> float:
    """The run of order n, with other choices of the workload where some are given."""
    given, effects = parameters(n) | without, (*EFFECTS, *more)
    return float(sc.simulate(WORKLOAD, on, given, effects=effects, seed=seed, engine="compiled").makespan_s)


def rungs(n: int, hot: bool = True, seeds: tuple[int, ...] = SEEDS) -> Iterator[Rung]:
    """The ladder of a matrix of order n, from the forecast on."""
    one_speed = machine(hot, one_speed="mean")
    yield Rung.of("forecast", float(sc.forecast(WORKLOAD, one_speed, parameters(n) | EVEN_RING).makespan_s))
    yield Rung.of("one speed", simulated_s(one_speed, n, without=EVEN_RING))
    yield Rung.of("each its own", simulated_s(machine(hot), n, without=EVEN_RING))
    yield Rung.of("layout", simulated_s(machine(hot), n, without=RING))
    yield Rung.of("two rings", simulated_s(machine(hot), n))
    ratios = days()
    chosen = [ratios.iloc[:, place] for place in (0, ratios.shape[1] // 2, -1)]
    yield Rung.of("drift", *(simulated_s(of_day(machine(hot), day), n) for day in chosen))
    by_size = with_segments(of_day(machine(hot), chosen[1]))
    yield Rung.of("segments", simulated_s(by_size, n))
    noisy = with_noise(by_size)
    yield Rung.of("network noise", *(simulated_s(noisy, n, seed, ("noise",)) for seed in seeds))


def main(order: str) -> int:
    """Print the ladder."""
    n = int(order)
    seen = measured(RUN, n)
    title = f"Linpack of order {n:,} on Dahu, {RUN}, in s"
    table = text_table(title, "rung", "time", "lowest to highest", "change", "fraction of the gap", "SMPI")
    every = list(rungs(n))
    gap_s, before_s = float(seen) - every[0].time_s, every[0].time_s
    for one in every:
        spread = f"{one.low_s:.4g} to {one.high_s:.4g}" if one.high_s > one.low_s else ""
        model = THEIRS.get(one.name)
        theirs = f"{tables.number('dahu-hpl', 'median', kind='SMPI', variant=model, n=n):.4g}" if model else ""
        added_s = one.time_s - before_s
        table.add_row(one.name, f"{one.time_s:.4g}", spread, f"{added_s:+.3g}", f"{added_s / gap_s:+.1%}", theirs)
        before_s = one.time_s
    low_s, high_s = seen.ends or (float(seen), float(seen))
    last_s = float(seen) - before_s
    spread = f"{low_s:.4g} to {high_s:.4g}"
    table.add_row(UNEXPLAINED, f"{float(seen):.4g}", spread, f"{last_s:+.3g}", f"{last_s / gap_s:+.1%}", "")
    print_all([table])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
