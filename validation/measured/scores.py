"""Our own scores on the benchmark: a textbook's formula, forecast and simulation, and SMPI where it was published.

``python -m validation.measured.scores`` prints docs/tables/benchmark.csv (ten CPU minutes), with ``forecast``,
``textbook``, ``simulation`` or ``SMPI`` that column's predictions, as ``simcodesign score`` reads them.

Constants are those that the modules of the tables determine from their rows for calibration. The textbook's formula is
of messages one after another (Fugaku), of one ring of all GPUs, of one startup and one bandwidth
for all sizes (ping-pongs), or of the passes of a pipeline (GPT).
Linpack and GPT are not simulated here: their simulations take minutes each, and are cases.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping, Sequence

import simcodesign as sc
from simcodesign.report.validation.scores import score_cells
from simcodesign.studies.validation.scores import ALL, EVIDENCE, MeasuredRow, scores

from ..published.tables import table
from . import fugaku_runs, full_nodes, gpt, gpu_nodes, hpl, lulesh, ping_pongs, saturation
from .benchmark import rows

TEXTBOOK, FORECAST, SIMULATION, SMPI = READINGS = ("textbook", "forecast", "simulation", "SMPI")
COLUMNS = ("group", "reading", "rows", "missing", "median error", "quartiles", "worst", "mean ratio")
#: The model of SMPI that the thesis ends with: a speed for each node, curves and variation.
SMPI_MODEL, SMPI_RUN = "D1_het", "2019-03"


def predicted_s(row: MeasuredRow, reading: str) -> float | None:
    """Predict a row in seconds; None if this reading has no prediction."""
    machine, operation = row.group.split("/")
    return _PREDICTORS.get(operation if machine != "fugaku" else machine, _load)(row, reading)


def predictions(reading: str, among: Sequence[MeasuredRow]) -> dict[str, float]:
    """Predict rows by one reading: seconds by id, without the rows that it does not predict."""
    made = {row.id: predicted_s(row, reading) for row in among}
    return {row_id: seconds for row_id, seconds in made.items() if seconds is not None}


def _chosen(reading: str, **ways: Callable[[], float]) -> float | None:
    return ways[reading]() if reading in ways else None


def _fugaku(row: MeasuredRow, reading: str) -> float | None:
    operation, at = row.group.partition("/")[2], row.values
    one = fugaku_runs.row(operation, str(at["algorithm"]), str(at["shape"]), int(at["bytes"]))
    if reading == SIMULATION and not fugaku_runs.is_simulated(one):
        return None
    return _chosen(
        reading,
        textbook=lambda: fugaku_runs.formula_s(one),
        forecast=lambda: fugaku_runs.forecast_s(one),
        simulation=lambda: fugaku_runs.simulation_s(one),
    )


def _ring_s(kind: str, group: gpu_nodes.Group, size_bytes: int) -> float:
    """2 (P - 1) messages of a P-th each (Patarasuk, Yuan, 2009), at the startup and bandwidth of the slowest link."""
    machine = gpu_nodes.machine(kind, group.system, group.nodes)
    model = machine.levels[1].message_model if group.nodes == 1 else machine.network.message_model
    return 2 * (group.gpus - 1) * float(model.startup_s + size_bytes / group.gpus * model.per_byte_s)


def _gpus(row: MeasuredRow, reading: str) -> float | None:
    system = row.group.partition("/")[0]
    given = gpu_nodes.Group(system, int(row.values["ranks"])), int(row.values["bytes"])
    kind = "calibrated" if system in gpu_nodes.CALIBRATION else "data sheet"
    return _chosen(
        reading,
        textbook=lambda: _ring_s(kind, *given),
        forecast=lambda: gpu_nodes.forecast_us(kind, *given) / 1e6,
        simulation=lambda: gpu_nodes.simulated_us(kind, *given) / 1e6,
    )


def _ping_pong(row: MeasuredRow, reading: str) -> float | None:
    given = row.group.partition("/")[0], int(row.values["bytes"])
    return _chosen(
        reading,
        textbook=lambda: ping_pongs.one_way_s(*given, simulated=False, segments=1),
        forecast=lambda: ping_pongs.one_way_s(*given, simulated=False),
        simulation=lambda: ping_pongs.one_way_s(*given, simulated=True),
    )


def _all_to_all(row: MeasuredRow, reading: str) -> float | None:
    given = row.group.partition("/")[0], int(row.values["bytes"])
    if given[0] not in full_nodes.NODES:
        return _load(row, reading)
    return _chosen(
        reading,
        forecast=lambda: full_nodes.forecast_us(*given) / 1e6,
        simulation=lambda: full_nodes.simulated_us(*given) / 1e6,
    )


def _load(row: MeasuredRow, reading: str) -> float | None:
    cluster, operation = row.group.split("/")
    named = {name.replace(" ", "-"): name for name in saturation.PROGRAMS}[operation]
    given = saturation.workload(named), saturation.machine(cluster), {"P": int(row.values["ranks"])}
    return _chosen(
        reading,
        forecast=lambda: float(sc.forecast(*given).makespan_s),
        simulation=lambda: float(sc.simulate(*given, effects="all").makespan_s),
    )


def _smpi_s(order: int) -> float | None:
    """What SMPI simulated, by the thesis; not all orders."""
    frame = table("dahu-hpl")
    here = frame[(frame.kind == SMPI) & (frame.variant == SMPI_MODEL) & (frame.n == order)]
    return float(here["median"].iloc[0]) if len(here) else None


def _linpack(row: MeasuredRow, reading: str) -> float | None:
    run, order = str(row.values["run"]), int(row.values["order"])
    if reading == SMPI:
        return _smpi_s(order) if run == SMPI_RUN else None
    return _chosen(reading, forecast=lambda: hpl.forecast_s(order, hpl.RUNS[run]))


def _lulesh(row: MeasuredRow, reading: str) -> float | None:
    """The whole run alone; the other regions are not predicted."""
    if row.values["region"] != "main":
        return None
    ranks = int(row.values["ranks"])
    return _chosen(reading, forecast=lambda: lulesh.forecast_s(ranks), simulation=lambda: lulesh.simulated_s(ranks))


def _gpt(row: MeasuredRow, reading: str) -> float | None:
    one = next(step for step in gpt.steps() if row.id.endswith(f"/{step.source}/{step.name}".replace(" ", "-")))
    return _chosen(reading, textbook=one.formula_s, forecast=one.forecast_s)


_PREDICTORS: Mapping[str, Callable[[MeasuredRow, str], float | None]] = {
    "fugaku": _fugaku,
    "all-reduce": _gpus,
    "ping-pong": _ping_pong,
    "all-to-all": _all_to_all,
    "linpack": _linpack,
    "lulesh": _lulesh,
    "gpt-step": _gpt,
}


def evidence() -> list[MeasuredRow]:
    """Return the rows of the page's table."""
    return [row for row in rows() if row.role == EVIDENCE]


def table_rows(reading: str, among: Sequence[MeasuredRow]) -> list[tuple[str, ...]]:
    """Return the rows of docs/tables/benchmark.csv for one reading: the groups that it predicts rows of.

    Not all groups pooled, because readings predict different rows.
    """
    scored = [one for one in scores(among, predictions(reading, among)) if one.predicted and one.group != ALL]
    return [(one.group, reading, *score_cells(one)[2:]) for one in scored]


def main(reading: str = "") -> int:
    """Print the table, or the predictions of one reading for all rows."""
    if reading:
        print(
            "id,seconds", *(f"{name},{seconds!r}" for name, seconds in predictions(reading, rows()).items()), sep="\n"
        )
    else:
        shown = [row for one in READINGS for row in table_rows(one, evidence())]
        order = {group: place for place, group in enumerate(dict.fromkeys(row.group for row in rows()))}
        shown.sort(key=lambda row: order[row[0]])
        csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *shown])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
