"""The key ``evidence`` of the shipped machines: rows of evidence of the benchmark, predicted with each file as it is.

``python -m validation.measured.machine_evidence`` prints the key of each machine. Errors are larger than on
docs/fugaku.md if the constants there are by size of message and a file has one of each. Algorithms that a library
replaces by its own are left out, and runs of Linpack with hot nodes, which the file does not describe. Linpack and GPT are
forecast: their simulations take minutes each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median

import simcodesign as sc
from simcodesign.core.units import shortest_quantity
from simcodesign.describe.machine_parts.evidence import FORECAST, SIMULATION, Evidence
from simcodesign.describe.yaml.files import load_machine
from simcodesign.studies.validation.scores import EVIDENCE, MeasuredRow

from . import fugaku_runs, gpt, gpu_nodes, hpl, lulesh
from .benchmark import rows
from .evidence import REPLACED

#: Digits of an error in per cent.
DIGITS = 2


@dataclass(frozen=True)
class _Predicted:
    """A row of evidence of a shipped machine: what it is of in terms of a workload, and how it is predicted."""

    operation: str
    ranks: int
    size_bytes: float | None
    measured_s: float
    predict_s: Callable[[], float]
    source: str
    reading: str = SIMULATION


def _fugaku(row: MeasuredRow) -> _Predicted | None:
    operation, at = row.group.partition("/")[2], row.values
    if at["algorithm"] in REPLACED:
        return None
    one = fugaku_runs.row(operation, str(at["algorithm"]), str(at["shape"]), int(at["bytes"]))
    if not fugaku_runs.is_simulated(one):
        return None

    def predict_s() -> float:
        machine = load_machine(fugaku_runs.MACHINE, {"mapping.job": [fugaku_runs.SIDES[one.shape]] * 3})
        point, phases = {"P": one.ranks, "size": one.size_bytes}, [fugaku_runs.PHASES[one.key]]
        return float(sc.simulate(fugaku_runs.WORKLOAD, machine, point, phases=phases).makespan_s)

    each = one.size_bytes / one.ranks if operation == "all_to_all" else float(one.size_bytes)
    return _Predicted(operation, one.ranks, each, row.seconds, predict_s, "HLC-Lab/pico, commit 413bc5d0")


def _gpus(row: MeasuredRow) -> _Predicted:
    system, ranks, size = row.group.partition("/")[0], int(row.values["ranks"]), int(row.values["bytes"])
    group = gpu_nodes.Group(system, ranks)

    def predict_s() -> float:
        return gpu_nodes.simulated_us("data sheet", group, size) / 1e6

    source = gpu_nodes.SOURCES[system].partition(":")[0]
    return _Predicted("allreduce", ranks, float(size), row.seconds, predict_s, source)


def _lulesh(row: MeasuredRow) -> _Predicted | None:
    if row.values["region"] != "main":
        return None
    ranks = int(row.values["ranks"])

    def predict_s() -> float:
        return lulesh.simulated_s(ranks)

    return _Predicted(lulesh.WORKLOAD, ranks, None, row.seconds, predict_s, "repository LLNL/thicket-tutorial")


def _linpack(row: MeasuredRow) -> _Predicted | None:
    run, order = str(row.values["run"]), int(row.values["order"])
    if hpl.RUNS[run]:
        return None

    def predict_s() -> float:
        return float(sc.forecast(hpl.WORKLOAD, hpl.MACHINE, hpl.parameters(order)).makespan_s)

    source = "T. Cornebize, thesis tel-03328956"
    return _Predicted(hpl.WORKLOAD, hpl.RANKS, None, row.seconds, predict_s, source, FORECAST)


def _gpt(row: MeasuredRow) -> _Predicted:
    one = next(step for step in gpt.steps() if row.id.endswith(f"/{step.source}/{step.name}".replace(" ", "-")))
    return _Predicted("gpt", one.gpus, None, row.seconds, one.forecast_s, _GPT_SOURCES[one.source], FORECAST)


_GPT_SOURCES = {"sc21": "Narayanan et al., SC21", "korthikanti": "Korthikanti et al., MLSys 2023"}
#: Machines by the groups of the benchmark.
_MACHINES: Mapping[str, tuple[str, Callable[[MeasuredRow], _Predicted | None]]] = {
    "fugaku": ("fugaku", _fugaku),
    "a100": ("a100-cluster", _gpus),
    "gb200": ("nvl72-cluster", _gpus),
    "opal": ("opal", _lulesh),
    "dahu": ("dahu", _linpack),
    "selene": ("selene", _gpt),
}


@cache
def _by_key() -> Mapping[tuple[str, str, int], list[_Predicted]]:
    found: dict[tuple[str, str, int], list[_Predicted]] = {}
    for row in rows():
        system = row.group.partition("/")[0]
        if row.role == EVIDENCE and system in _MACHINES:
            machine, of = _MACHINES[system]
            if (one := of(row)) is not None:
                found.setdefault((machine, one.operation, one.ranks), []).append(one)
    return found


def keys() -> Iterator[tuple[str, str, int]]:
    """Yield machine, operation and ranks of every item, in the order of the files."""
    yield from _by_key()


def computed(machine: str, operation: str, ranks: int) -> Evidence:
    """Predict the rows of one item, and return it as the machine's file has it: errors with two digits."""
    every = _by_key()[machine, operation, ranks]
    error = median(abs(one.predict_s() / one.measured_s - 1) for one in every)
    sizes = [one.size_bytes for one in every if one.size_bytes is not None]
    ends = tuple(dict.fromkeys([min(sizes), max(sizes)])) if sizes else ()
    shown = float(f"{error:.{DIGITS}g}")
    return Evidence(operation, (ranks,), len(every), shown, ends, every[0].reading, every[0].source)


def yaml_line(one: Evidence) -> str:
    """Return an item of the key in one line."""
    sizes = ", ".join(shortest_quantity(size, "size", 12) for size in one.bytes)
    parts = [f"operation: {one.operation}", f"ranks: [{', '.join(map(str, one.ranks))}]"]
    parts += [f"bytes: [{sizes}]"] if sizes else []
    parts += [f"rows: {one.rows}", f"median_error: {100 * one.median_error:.{DIGITS}g} %"]
    parts += [] if one.reading == SIMULATION else [f"reading: {one.reading}"]
    parts.append(f'source: "{one.source}"')
    return f"  - {{{', '.join(parts)}}}"


if __name__ == "__main__":
    last = ""
    for key in keys():
        if key[0] != last:
            print(f"{key[0]}:\nevidence:")
        last = key[0]
        print(yaml_line(computed(*key)), flush=True)
