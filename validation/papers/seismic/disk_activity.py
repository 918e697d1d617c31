"""SPECseis96: Figure 3, processors in reads and writes at the same time.

Source: Armstrong and Eigenmann, Performance Forecasting: Characterization of Applications on Current and Future
Architectures. The paper stamps the beginning and the end of the read and write functions (section 1), so that a
processor that waits for the disk counts. All processors share one disk, and their computations vary. The text does not
give the variation: it was searched for. Without it, all processors come to the disk together in phase 1 (a peak of 16);
10 to 20 % show the published numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simcodesign as sc
from simcodesign.core.operation_kinds import READ
from simcodesign.core.simulation_parts import Timeline
from simcodesign.studies.replication.output_analysis import interval
from simcodesign.studies.validation.case import Case, Label, Readings, Tolerance

from ...published import tables
from .equations import MACHINE, PAPER, PHASES, WORKLOAD

#: Coefficients of variation of computation times, and the seeds over which peaks are averaged.
NOISE, SEEDS = ("10 %", "15 %", "20 %"), range(10)
PROCESSORS = 16
#: The part of a phase that "usually" stands for.
USUALLY = 0.99
Numbers = NDArray[np.float64]


def activity(begin_s: Numbers, end_s: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """Return the times at which the number of open intervals changes, and the number from each of them on. An interval
    that ends at a time is closed before another one begins there."""
    times = np.concatenate([begin_s, end_s])
    change = np.repeat([1, -1], len(begin_s))
    order = np.lexsort((change, times))
    return times[order], np.cumsum(change[order])


def accesses(line: Timeline, phase: str) -> tuple[Numbers, Numbers]:
    """Return when the read and write functions of a phase begin and end: an access begins when its processor is ready
    for it, and waits for the disk from then on."""
    busy = (line.phase == line.phases.index(phase)) & (line.kind >= READ) & (line.finish_s > line.ready_s)
    return line.ready_s[busy], line.finish_s[busy]


@cache
def whole_run(noise: str, seed: int) -> Timeline:
    """Simulate the test set on 16 processors with one disk and every effect. The whole program runs: a phase alone would
    begin on all processors together."""
    machine = sc.Machine.load(MACHINE, {"noise": noise, "disk.spindles": 1})
    result = sc.simulate(WORKLOAD, machine, {"P": PROCESSORS}, preset="test", timeline=True, seed=seed)
    assert result.timeline is not None
    return result.timeline


def at_disk(phase: int, noise: str, seed: int) -> tuple[Numbers, NDArray[np.int64]]:
    """Return times and numbers of processors in read and write functions."""
    return activity(*accesses(whole_run(noise, seed), PHASES[phase]))


def peak(phase: int, noise: str, seed: int) -> float:
    """Return the largest number of processors at the disk at the same time."""
    return float(at_disk(phase, noise, seed)[1].max())


def usual(phase: int, noise: str, seed: int) -> float:
    """Return the number of processors that is not exceeded for 99 % of the time in which any is at the disk."""
    return not_exceeded(*at_disk(phase, noise, seed))


def not_exceeded(times_s: Numbers, counts: NDArray[np.int64], fraction: float = USUALLY) -> float:
    """Return the smallest number that counts do not exceed for this fraction of the time in which they are above 0."""
    lasting_s, number = np.diff(times_s), counts[:-1]
    within_s = np.array([lasting_s[(number > 0) & (number <= most)].sum() for most in range(int(counts.max()) + 1)])
    return float(np.searchsorted(within_s / within_s[-1], fraction))


def draw(phase: int, axes: Any) -> None:
    """Draw the processors at the disk over the time in the phase, for the middle noise and the first seed."""
    times_s, counts = at_disk(phase, NOISE[1], SEEDS[0])
    line = whole_run(NOISE[1], SEEDS[0])
    here = line.phase == line.phases.index(PHASES[phase])
    axes.fill_between(times_s - line.ready_s[here].min(), counts, step="post", linewidth=0)
    published = tables.number("seismic-figure-3", "processors", phase=phase)
    axes.axhline(published, color="black", linestyle="--", linewidth=1)
    axes.annotate(f"published: {published:g}", (0, published), xytext=(2, 2), textcoords="offset points")
    axes.set(xlabel=f"time in phase {phase} (s)", ylabel="processors at the disk", ylim=(0, PROCESSORS + 1))


def activity_case(name: str, phase: int, claim: str, tolerance: Tolerance, number: Any) -> Case:
    """Compare a number of processors, averaged over seeds, with the words of the text."""
    expected = tables.number("seismic-figure-3", "processors", phase=phase)

    def measure() -> Readings:
        means: dict[Label, float] = {}
        notes = []
        for noise in NOISE:
            values = np.array([number(phase, noise, seed) for seed in SEEDS])
            found = interval(values)
            means[f"noise {noise}"] = found.mean
            notes.append(
                f"Noise {noise}: {found.mean:.3g}, 95 % interval {found.low:.3g} to {found.high:.3g}; {values.min():g} to "
                f"{values.max():g} over {len(SEEDS)} seeds."
            )
        return Readings(simulation=means, notes=tuple(notes), plot=lambda axes: draw(phase, axes))

    return Case(
        name=f"seismic/figure-3/{name}-phase-{phase}",
        claim=f"In phase {phase}, {claim} of 16 processors are in read and write functions at the same time.",
        source=f"{PAPER}, Figure 3 and sections 1 and 2",
        unit="processors",
        expected={f"noise {noise}": expected for noise in NOISE},
        tolerance=tolerance,
        reading="simulation",
        measure=measure,
        printed=True,
        inputs={
            "waiting counts, by the stamps of the read and write functions": "published",
            "numbers and sizes of accesses": "reconstructed",
            "one disk, and computation times that vary by 10 to 20 %": "chosen",
        },
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"P": PROCESSORS, "preset": "test", "disk.spindles": 1, "seeds": len(SEEDS)},
    )


PLOT = "a number read from a plot: one processor"
CASES: list[Case] = [
    activity_case("peak", 1, "at most three", Tolerance(f"'usually', {PLOT}", absolute=1.0, sense="at_most"), peak),
    activity_case("usual", 1, "usually no more than three", Tolerance("'no more than'", sense="at_most"), usual),
    activity_case("peak", 2, "nearly fifteen", Tolerance(f"'nearly' {PLOT}", absolute=1.0), peak),
    activity_case("peak", 4, "nearly fifteen", Tolerance(f"'nearly' {PLOT}", absolute=1.0), peak),
]
