"""Round trips: models of hardware counters of a simulated code, written as a workload and simulated, say the same.

A shipped code is profiled on three numbers of processes, with no effect: its counters are exact. Models are fitted to
them and predict 128 processes (256 where the code needs a square). Written as a workload, both readings must take the
predicted time there, and its own counters must lead to the same prediction again: for the most profiled processes, as
farther away the line of a counter may be below zero; then the next best form stands in for it, which is another one for
counters that lie on the line. How far the prediction is from the code itself is another
question (``counter_predictions``).
"""

from __future__ import annotations

from functools import cache, partial

import simcodesign as sc
from simcodesign.counters.as_workload import counter_workload_text
from simcodesign.counters.models import ApplicationModel, fit_application
from simcodesign.counters.prediction import predict
from simcodesign.counters.table import Latencies
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.studies.extrapolation.virtual_profiler import latencies_of, profiled
from simcodesign.studies.validation.case import Case, Readings, Tolerance

SOURCE = "Ding et al., APMT, equation 2, tables 1 and 2, and the profiled numbers of processes of section 4"
MACHINE = "xeon-cluster"
#: Profiled processes, those on which it is profiled again, and those of the prediction, by code. Squares that are powers
#: of two: on others not all ranks take part in all rounds of an allreduce, and a mean over the ranks says less.
SQUARES, POWERS = ((4, 16, 64), 64, 256), ((2, 4, 8), 8, 128)
CODES = {
    "npb-bt": SQUARES,
    "npb-sp": SQUARES,
    "npb-lu": POWERS,
    "npb-mg": POWERS,
    "npb-ft": POWERS,
    "npb-cg": POWERS,
    "npb-ep": POWERS,
    "cice": POWERS,
    "homme": POWERS,
}
READ = Tolerance("the same sum of products, in another order: rounding over some hundred operations", relative=1e-11)
#: Every kernel counts, so that the second fit finds the same ones.
ALL_KERNELS = 1e-12
AGAIN = Tolerance(
    "counters add up the times of operations and laws are fitted to them by least squares over points that are alike, "
    "of which six of sixteen digits are left",
    relative=1e-9,
)


@cache
def latencies() -> Latencies:
    """Of the machine."""
    return latencies_of(MACHINE)


@cache
def model_of(code: str) -> ApplicationModel:
    """Of the profiled code: two cases need it."""
    return fit_application(profiled(code, MACHINE, CODES[code][0], effects="none"), latencies=latencies())


def written(code: str) -> Workload:
    """The models as a workload."""
    return workload_from(parse_yaml(counter_workload_text(model_of(code), code), code))


def predicted_s(model: ApplicationModel, processes: int) -> float:
    """The time on so many."""
    return predict(model, processes).seconds


def read_as_predicted(code: str) -> Readings:
    """The time of the written workload over that of the prediction, by both readings."""
    most = CODES[code][2]
    seconds, parameters = predicted_s(model_of(code), most), {"P": most}
    forecast = sc.forecast(written(code), MACHINE, parameters)
    simulation = sc.simulate(written(code), MACHINE, parameters, effects="none")
    return Readings(
        forecast={code: float(forecast.makespan_s) / seconds},
        simulation={code: float(simulation.makespan_s) / seconds},
        notes=tuple(f"{kernel.name}: CPI {kernel.cpi:.4g}" for kernel in model_of(code).kernels),
    )


def profiled_again(code: str) -> Readings:
    """The prediction from counters of the written workload over the first one."""
    table = profiled(written(code), MACHINE, CODES[code][0], effects="none")
    again = fit_application(table, latencies=latencies(), threshold=ALL_KERNELS)
    most = CODES[code][1]
    return Readings(simulation={code: predicted_s(again, most) / predicted_s(model_of(code), most)})


def cases(code: str) -> list[Case]:
    counts, again, most = CODES[code]
    runs = ", ".join(map(str, counts))
    options = {"workload": code, "machine": MACHINE, "parameters": {"P": most}}
    return [
        Case(
            name=f"counter-round-trip/{code}/as-workload",
            claim=f"Models of counters of {code} on {runs} processes, written as a workload, take what they predict on {most}.",
            source=SOURCE,
            unit="of the predicted time",
            expected={code: 1.0},
            tolerance=READ,
            reading="both",
            measure=partial(read_as_predicted, code),
            **options,
        ),
        Case(
            name=f"counter-round-trip/{code}/profiled-again",
            claim=f"Counters of that workload on {runs} processes lead to the same prediction for {again}.",
            source=SOURCE,
            unit="of the first prediction",
            expected={code: 1.0},
            tolerance=AGAIN,
            reading="simulation",
            measure=partial(profiled_again, code),
            **options,
        ),
    ]


CASES = [case for code in CODES for case in cases(code)]
