"""Ping-pongs of three clusters: costs by size of message, fitted to every other size, held against the sizes between.

The segments (where protocols and frames change) and their startups and bandwidths come of the rows for calibration alone, their
number of cross-validation among these. One startup and one bandwidth for all sizes, fitted to the same rows, stand beside them
as the formula.

Source: the runs by which SMPI is calibrated (repository Ezibenroc/platform-calibration).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import simcodesign as sc
from simcodesign.calibration.segments import Segmentation, segmentation
from simcodesign.describe.machine import Machine
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..published import tables

SOURCE = "repository Ezibenroc/platform-calibration, commit 899f0446: *_PingPong"
TABLE = "smpi-ping-pong"
#: How far medians of neighbouring sizes are from one another, by cluster (docs/calibration.md).
SCATTER = {"miriel": 0.22, "taurus": 0.22, "graphene": 0.09}
CLUSTERS = tuple(SCATTER)
TURNS = 10
_SCATTER = (
    "medians of neighbouring sizes differ by so much from one another, 22 % on miriel and taurus, 9 % on graphene"
)


def rows(cluster: str, role: str) -> pd.DataFrame:
    """Sizes and times of a cluster, for calibration or for evidence."""
    frame = tables.table(TABLE)
    return frame[(frame.cluster == cluster) & (frame.role == role)]


@cache
def fitted(cluster: str, segments: int | None = None) -> Segmentation:
    """The segments of the rows for calibration; so many, or as many as cross-validation chooses."""
    taken = rows(cluster, "calibration")
    return segmentation(taken.bytes.to_numpy(float), taken.median_us.to_numpy(float) / 1e6, segments)


@cache
def machine(cluster: str, segments: int | None = None) -> Machine:
    """Two nodes whose messages cost what was fitted."""
    fit = fitted(cluster, segments)
    parts = [
        f"{{startup: {startup_s!r}, per_byte: {max(per_byte_s, 1e-15)!r}{end}}}"
        for startup_s, per_byte_s, end in zip(
            fit.startup_s.tolist(),
            fit.per_byte_s.tolist(),
            [*(f", up_to: {int(size)}" for size in fit.up_to), ""],
            strict=True,
        )
    ]
    text = (
        f"simcodesign: 1\nname: {cluster}\nnodes: 2\nprocessor: {{rate: 1 GFLOP/s}}\n"
        f"network: {{topology: {{kind: crossbar}}, segments: [{', '.join(parts)}]}}\n"
    )
    return machine_from(parse_yaml(text, cluster), Path())


def one_way_s(cluster: str, size_bytes: int, *, simulated: bool, segments: int | None = None) -> float:
    """Half a turn of the workload ping-pong: by the longest path of its sends and receives, or simulated."""
    given = "ping-pong", machine(cluster, segments), {"P": 2, "m": size_bytes, "turns": TURNS}
    if simulated:
        return float(sc.simulate(*given).makespan_s) / (2 * TURNS)
    path = sc.forecast(*given).longest_path
    assert path is not None
    return float(path.time_s) / (2 * TURNS)


def _measured(cluster: str) -> dict[int, MeasuredValue]:
    return {
        int(row.bytes): MeasuredValue(row.median_us, row.lower_us, row.upper_us, int(row.n), "quartiles")
        for row in rows(cluster, "evidence").itertuples()
    }


def _case(cluster: str) -> Case:
    measured = _measured(cluster)

    def measure() -> Readings:
        fit = fitted(cluster)
        ends = ", ".join(f"{int(size):,}" for size in fit.up_to) or "none"
        return Readings(
            {size: 1e6 * one_way_s(cluster, size, simulated=False) for size in measured},
            {size: 1e6 * one_way_s(cluster, size, simulated=True) for size in measured},
            formula={size: 1e6 * one_way_s(cluster, size, simulated=False, segments=1) for size in measured},
            notes=(f"{fit.count} segments, which end at {ends} bytes; the formula has one for all sizes",),
        )

    return Case(
        name=f"ping-pong/{cluster}",
        claim="Costs by size that are fitted to every other size hold for each of the sizes between.",
        source=SOURCE,
        unit="us",
        expected={size: float(one) for size, one in measured.items()},
        measured=measured,
        axis="bytes",
        reading="both",
        tolerance=Tolerance(_SCATTER, relative=SCATTER[cluster]),
        measure=measure,
        because="medians of single sizes are further off than their neighbours: repetitions of these take one of two or three "
        "times, and which is the median changes from one size to the next",
    )


def _median_case() -> Case:
    """Of the sizes between, what is typical: which no single size says."""

    def error(cluster: str, simulated: bool) -> float:
        errors = [
            abs(1e6 * one_way_s(cluster, size, simulated=simulated) / float(one) - 1)
            for size, one in _measured(cluster).items()
        ]
        return float(np.median(errors))

    return Case(
        name="ping-pong/median-error",
        claim="The median error at the sizes between is within what neighbouring sizes differ by.",
        source=SOURCE,
        unit="",
        expected=SCATTER,
        reading="both",
        tolerance=Tolerance(_SCATTER, relative=0.0, absolute=1e-9, sense="at_most"),
        measure=lambda: Readings(
            {cluster: error(cluster, False) for cluster in CLUSTERS},
            {cluster: error(cluster, True) for cluster in CLUSTERS},
        ),
        quick=True,
    )


CASES = (_median_case(), *(_case(cluster) for cluster in CLUSTERS))
