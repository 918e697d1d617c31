"""Round trips: requirements of a simulated workload, fitted at 25 points, are those of 16 times the ranks.

A shipped workload is simulated at five numbers of ranks and five sizes of the problem. Models of what a rank computes,
sends, writes and accesses are fitted to that, and evaluated at 16 times the most ranks and 8 times the largest size.
Expected is what the workload demands there, in closed forms that are written here apart from its file; a simulation
there must say the same. Then the models are written as a workload, and both readings of that must say it once more.
Nobody published these numbers.

Messages, bytes, operations and accesses have no noise: models in the normal form meet them to rounding. Times of
computation have it, are measured three times, and an extrapolation counts as good where the requirements paper counts
a point as good: within 5 %.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np

import simcodesign as sc
from simcodesign.core.expressions.expression import parse
from simcodesign.core.result import Result
from simcodesign.describe.machine import Machine
from simcodesign.fitting.as_workload.pmnf import write_workload
from simcodesign.fitting.fit import Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

from ..cg.iteration import node_grid

SOURCE = "Calotoiu et al., CLUSTER 2018: 25 runs, equation 2, and the class of good points of Figure 3"
#: How much farther than the measurements the prediction is, in ranks and in size.
RANKS_BEYOND, SIZE_BEYOND = 16, 8
SEEDS, NOISE = 3, "2 %"
GOOD = Tolerance("the paper counts a point as good when its error is below 5 %", relative=0.05)
COUNTED = Tolerance(
    "counts without noise; coefficients are determined from numbers of 16 digits, of which least squares of terms that are "
    "alike (condition up to some 10^6) take six",
    relative=1e-9,
)
#: Seconds of computation of the first rank.
TIME = "computation"
#: What is counted of all ranks, and as which demand of a workload it can be written.
COUNTS: dict[str, tuple[Callable[[Result], float], str]] = {
    "flops": (lambda result: float(result.flops), "flops"),
    "bytes sent": (lambda result: float(result.message_bytes), "bytes_sent"),
    "bytes on disk": (lambda result: float(result.disk_bytes), "bytes_written"),
    "messages": (lambda result: float(result.messages), "none"),
    "accesses": (lambda result: float(sum(result.served.values())), "none"),
}


def nothing(p: float, size: float) -> dict[str, float]:
    """No further name in formulas."""
    return {}


@dataclass(frozen=True)
class Trip:
    """A workload with the demands of a rank, formulas of the number of ranks p and one size: counts, and ``seconds``.

    ``neighbours``: to whom bytes go in the workload that is made of the models. ``more``: further names in formulas.
    """

    workload: str
    size: str
    ranks: tuple[int, ...]
    sizes: tuple[float, ...]
    counts: Mapping[str, str]
    seconds: str | None = None
    phase: str | None = None
    settings: Mapping[str, float] = field(default_factory=dict)
    machine: str = "torus-cluster"
    neighbours: str = "halo1d"
    more: Callable[[float, float], Mapping[str, float]] = nothing

    @property
    def target(self) -> tuple[int, float]:
        """Ranks and size of the prediction."""
        return RANKS_BEYOND * max(self.ranks), SIZE_BEYOND * max(self.sizes)

    @property
    def name(self) -> str:
        return f"{self.workload}-{self.phase}" if self.phase else self.workload


@cache
def machine(name: str, ranks: int) -> Machine:
    """A shipped machine, large enough and noisy."""
    if name != "torus-cluster":
        return sc.Machine.load(name, {"nodes": ranks, "noise": NOISE})
    shape = [math.ceil(ranks ** (1 / 3))] * 3
    return sc.Machine.load(name, {"network.topology.shape": shape, "nodes": math.prod(shape), "noise": NOISE})


def simulated(trip: Trip, ranks: float, size: float, effects: str, seed: int = 0) -> Result:
    """One run."""
    values = {"P": int(ranks), trip.size: float(size), **trip.settings}
    on = machine(trip.machine, trip.target[0])
    return sc.simulate(trip.workload, on, values, phases=trip.phase, effects=effects, seed=seed)


def points(trip: Trip) -> np.ndarray:
    """The 25 points."""
    return np.array(list(product(trip.ranks, trip.sizes)), dtype=float)


def seconds(trip: Trip, ranks: float, size: float, seed: int) -> float:
    """What the first rank computes, with noise."""
    run = simulated(trip, ranks, size, "noise", seed)
    return float(run.ranks.busy_s[0, :, 0].sum())  # type: ignore[union-attr] # a simulation has ranks


def fitted(trip: Trip, metrics: tuple[str, ...], values: np.ndarray, exact: bool) -> Fits:
    """Models of metrics, from their values (metrics, points, repetitions)."""
    data = Measurements(("p", trip.size), points(trip), (trip.workload,) * len(metrics), metrics, values)
    return fit(data, exact=exact, negative_exponents=True, negative_coefficients=True, target=trip.target)


@cache
def fitted_counts(name: str) -> Fits:
    """Of the trip of this name: two cases need them."""
    trip = next(trip for trip in TRIPS if trip.name == name)
    values = np.empty((len(trip.counts), len(points(trip)), 1))
    for place, point in enumerate(points(trip)):
        values[:, place, 0] = counts(trip.counts, simulated(trip, point[0], point[1], "none"), point[0])
    return fitted(trip, tuple(trip.counts), values, exact=True)


def counts(names: Mapping[str, object], run: Result, ranks: float) -> list[float]:
    """What a rank does on average."""
    return [COUNTS[name][0](run) / ranks for name in names]


def fit_notes(fits: Fits) -> tuple[str, ...]:
    return tuple(f"{one.metric} of a rank: {one.model.text}" for one in fits)


# --- Three legs ---------------------------------------------------------------------------------------------------


def times_there(trip: Trip) -> Readings:
    """Seconds of computation, predicted and simulated at the target."""
    values = [[seconds(trip, point[0], point[1], seed) for seed in range(SEEDS)] for point in points(trip)]
    fits = fitted(trip, (TIME,), np.array([values]), exact=False)
    return Readings(
        forecast={TIME: fits[0].predict(trip.target).value},
        simulation={TIME: float(np.mean([seconds(trip, *trip.target, seed) for seed in range(SEEDS)]))},
        notes=fit_notes(fits),
    )


def counts_there(trip: Trip) -> Readings:
    """Counts of a rank, predicted and simulated at the target."""
    fits = fitted_counts(trip.name)
    run = simulated(trip, *trip.target, "none")
    return Readings(
        forecast={one.metric: one.predict(trip.target).value for one in fits},
        simulation=dict(zip(trip.counts, counts(trip.counts, run, trip.target[0]), strict=True)),
        notes=fit_notes(fits),
    )


def as_workload(trip: Trip) -> Readings:
    """Counts of a rank in the workload that is made of the models, by both readings."""
    names = written(trip)
    demands = {name: COUNTS[name][1] for name in trip.counts}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fitted.yaml"
        notes = write_workload(fitted_counts(trip.name), file, demands=demands, pattern=trip.neighbours)
        workload = sc.Workload.load(file)
    on, (ranks, size) = machine("torus-cluster", trip.target[0]), trip.target
    parameters = {"P": ranks, trip.size: size} if trip.size in workload.parameters else {"P": ranks}
    runs = [sc.forecast(workload, on, parameters), sc.simulate(workload, on, parameters, effects="none")]
    per_reading = [dict(zip(names, counts(names, run, ranks), strict=True)) for run in runs]
    return Readings(forecast=per_reading[0], simulation=per_reading[1], notes=tuple(notes))


def written(trip: Trip) -> dict[str, str]:
    """The counts that become demands of a workload."""
    return {name: demand for name, demand in trip.counts.items() if COUNTS[name][1] != "none"}


# --- What the workloads demand ------------------------------------------------------------------------------------


#: Numbers of ranks whose collective operations and grids have no exceptions; of a square grid; enough for a 3-D one.
FEW, SQUARES, MANY = (2, 4, 8, 16, 32), (1, 4, 16, 64, 256), (8, 16, 32, 64, 128)
BYTES = (64, 256, 1024, 4096, 16384)


def collective(phase: str, sent: str, messages: str) -> Trip:
    """One phase of the collectives: bytes sent for each byte of size, and messages."""
    counts = {"bytes sent": f"({sent})*size", "messages": messages}
    return Trip("collectives", "size", FEW, BYTES, counts, phase=phase)


def mesh_of_cg(p: float, cubes: float) -> dict[str, float]:
    """Degrees of freedom of the whole mesh, on cores in blocks of 8 x 8 x 16 on a grid of nodes."""
    extents = zip(node_grid(int(p)), (8, 8, 16), strict=True)
    return {"N": math.prod(nodes * cores * cubes ** (1 / 3) + 1 for nodes, cores in extents)}


TRIPS = [
    Trip(
        "jacobi",
        "n",
        SQUARES,
        (256, 512, 1024, 2048, 4096),
        {
            "flops": "10*6*n**2/p",
            "bytes sent": "10*(32*n*(sqrt(p) - 1)/p + 8*log2(p))",
            "messages": "10*(4*(sqrt(p) - 1)/sqrt(p) + log2(p)) + log2(p)",
            "bytes on disk": "8*n**2/p",
        },
        seconds="10*6*n**2/p/8e9",
        neighbours="halo2d",
    ),
    Trip(
        "transpose",
        "n",
        FEW,
        (16, 32, 64, 128, 256),
        {"flops": "15*n**3*log2(n)/p", "bytes sent": "2*16*n**3*(p - 1)/p**2", "messages": "2*(p - 1)"},
        seconds="15*n**3*log2(n)/p/8e9",
    ),
    Trip(
        "cg-iteration",
        "n_i",
        MANY,
        (1000, 2000, 4000, 8000, 16000),
        {
            "flops": "10*(2*18 + 6 + 1)*n_i",
            "bytes sent": "10*(8*(n_i - (n_i**(1/3) - 2)**3) + 2*8*log2(p))",
            "messages": "10*(6 + 2*log2(p))",
        },
        seconds="10*(2*18 + 6 + 1)*n_i/8e9",
        neighbours="halo3d",
    ),
    Trip(
        "cg",
        "cubes",
        MANY,
        (64, 125, 216, 343, 512),
        {"bytes sent": "4*520*8*(6*cubes**(2/3) + 2) + 3*2*8*(p - 1)/p", "messages": "4*6 + 3*2*(p - 1)/p"},
        seconds="((4*18 + 7)*(cubes**(1/3) + 1)**3 + 2*N/(1024*p) + 2*log2(p))*1e-10",
        settings={"aggregated": 1},
        machine="exascale-cg",
        neighbours="halo3d",
        more=mesh_of_cg,
    ),
    Trip("burst", "size", FEW, BYTES, {"bytes sent": "(p - 1)*size", "messages": "p - 1"}),
    collective("broadcast", "2*(p - 1)/p", "2*(p - 1)/p + 2*log2(p)"),
    collective("allreduce", "log2(p) + 4*(p - 1)/p", "4*log2(p) + 2*(p - 1) + 2*(p - 1)/p"),
    collective("allgather", "4*(p - 1)", "3*(p - 1) + 5*log2(p)"),
    collective("all-to-all", "2*(p - 1) + p/2*log2(p)", "2*(p - 1) + 4*log2(p)"),
    Trip(
        "matmul",
        "n",
        (1, 2, 4, 8, 16),
        (8, 16, 24, 32, 40),
        {"flops": "2*2*n**3", "accesses": "2*n**3 + n**2 + 2*n**3 + 2*n**3/8"},
        seconds="2*2*n**3/8e9",
        settings={"b": 8},
    ),
    Trip(
        "seismic",
        "lines",
        (1, 2, 4, 8, 16),
        (2, 4, 8, 16, 32),
        {
            "bytes sent": "32*lines/p*(p - 1)*1024*64/p",
            "messages": "32*lines/p*(p - 1)",
            "bytes on disk": "32*lines/p*2*1024*64",
        },
        seconds="2.92*(lines/8)/(p/16)",
        phase="stacking",
    ),
]


# --- Cases --------------------------------------------------------------------------------------------------------


def where(trip: Trip) -> str:
    p, size = trip.target
    phase = f" (phase {trip.phase})" if trip.phase else ""
    return f"{trip.workload}{phase} at {p} ranks and {trip.size} = {size:,.0f}"


def derived(trip: Trip, demands: Mapping[str, str], unit: str) -> tuple[Derived, ...]:
    """The demands at the target."""
    p, size = trip.target
    values = {"p": float(p), trip.size: float(size), **trip.more(p, size)}
    lines = []
    for name, formula in demands.items():
        used = {key: value for key, value in values.items() if key in parse(formula).names}
        lines.append(Derived(name.replace(" ", "_"), formula, used, unit))
    return tuple(lines)


def case(
    trip: Trip, leg: str, claim: str, unit: str, demands: Mapping[str, str], measure: Callable[[Trip], Readings]
) -> Case:
    lines = derived(trip, demands, unit)
    return Case(
        name=f"round-trip/{trip.name}/{leg}",
        claim=f"{claim} {where(trip)}.",
        source=SOURCE,
        unit=unit,
        expected={name: line.value for name, line in zip(demands, lines, strict=True)},
        tolerance=GOOD if leg == "time" else COUNTED,
        reading="both",
        measure=partial(measure, trip),
        workload=trip.workload,
        machine=trip.machine,
        parameters={"P": trip.target[0], trip.size: trip.target[1], **trip.settings},
        derivation=lines,
    )


def cases(trip: Trip) -> list[Case]:
    claim = f"Models fitted to runs of at most {max(trip.ranks)} ranks say what a rank"
    all_cases = [case(trip, "counts", f"{claim} does in", "per rank", trip.counts, counts_there)]
    if trip.seconds is not None:
        all_cases.append(
            case(trip, "time", f"{claim} computes for, out of noisy times, in", "s", {TIME: trip.seconds}, times_there)
        )
    made = written(trip)
    claim = "The workload made of models does, by both readings, what its original does:"
    return [*all_cases, case(trip, "as-workload", claim, "per rank", made, as_workload)]


CASES = [one for trip in TRIPS for one in cases(trip)]
