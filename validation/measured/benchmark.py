"""The measured rows of all tables as one benchmark, which ``simcodesign score`` scores predictions on.

A row from which this project determined constants is for calibration; the modules of the tables define which these are.
All other rows are split by the hash of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from simcodesign.studies.validation.scores import MeasuredRow, role_of

from ..published.tables import table
from . import fugaku_runs, full_nodes, gpt, gpu_nodes, lulesh, ping_pongs, saturation

#: Machines of the steps of GPT, by source.
CLUSTERS = {"sc21": "selene", "korthikanti": "selene", "vtrain": "vtrain-cluster"}


def _row(
    machine: str,
    operation: str,
    values: Mapping[str, str | int],
    seconds: float,
    calibrates: bool = False,
    label: str = "",
) -> MeasuredRow:
    """A row whose id is its group and its ``label`` or, without one, its values."""
    group = f"{machine}/{operation}".replace(" ", "-")
    row_id = f"{group}/{label or '/'.join(map(str, values.values()))}".replace(" ", "-")
    return MeasuredRow(row_id, group, values, seconds, role_of(row_id, calibrates), calibrates)


@cache
def rows() -> tuple[MeasuredRow, ...]:
    """Return all rows, in the order of tables and of their lines."""
    parts = (_fugaku, _full_nodes, _gpus, _ping_pongs, _loads, _linpack, _lulesh, _gpt)
    return tuple(row for part in parts for row in part())


def _fugaku() -> Iterator[MeasuredRow]:
    for one in fugaku_runs.rows():
        values = {"algorithm": one.algorithm, "shape": one.shape, "bytes": one.size_bytes, "ranks": one.ranks}
        yield _row("fugaku", one.operation, values, one.median_s, one.is_calibration, one.label)


def _full_nodes() -> Iterator[MeasuredRow]:
    for node in full_nodes.NODES:
        for size in full_nodes.sizes(node):
            values = {"ranks": full_nodes.NODES[node].cores, "bytes": size}
            yield _row(node, "all-to-all", values, full_nodes.measured_us(node, size) / 1e6)


def _gpus() -> Iterator[MeasuredRow]:
    for group in gpu_nodes.GROUPS.values():
        for size, time_us in gpu_nodes.measured_us(group).items():
            values = {"ranks": group.gpus, "bytes": size}
            yield _row(group.system, "all-reduce", values, time_us / 1e6, size in group.calibrates)


def _ping_pongs() -> Iterator[MeasuredRow]:
    for one in table(ping_pongs.TABLE).itertuples():
        calibrates = one.role == "calibration"
        yield _row(one.cluster, "ping-pong", {"bytes": int(one.bytes)}, float(one.median_us) / 1e6, calibrates)


def _loads() -> Iterator[MeasuredRow]:
    for one in table(saturation.TABLE).itertuples():
        calibrates = one.ranks == 2 and one.operation in saturation.CALIBRATION
        values = {"ranks": int(one.ranks), "bytes": saturation.BYTES}
        yield _row(one.cluster, one.operation, values, float(one.median_ms) / 1e3, calibrates, str(one.ranks))


def _linpack() -> Iterator[MeasuredRow]:
    frame = table("dahu-hpl")
    for one in frame[frame.kind == "reality"].itertuples():
        yield _row("dahu", "linpack", {"run": str(one.variant), "order": int(one.n)}, float(one.median))


def _lulesh() -> Iterator[MeasuredRow]:
    for one in table(lulesh.TABLE).itertuples():
        values = {"region": str(one.region), "ranks": int(one.ranks)}
        yield _row("opal", "lulesh", values, float(one.mean), one.ranks == lulesh.CALIBRATED)


def _gpt() -> Iterator[MeasuredRow]:
    for one in gpt.steps():
        values = {"source": one.source, "model": one.model, "ranks": one.gpus, **one.parameters}
        label = f"{one.source}/{one.name}"
        yield _row(CLUSTERS[one.source], "gpt-step", values, one.seconds, label=label)
