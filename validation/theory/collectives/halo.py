"""Halo exchanges on process grids: time, messages and bytes, by neighbours counted."""

from __future__ import annotations

import numpy as np

import simcodesign as sc
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Label, Readings

from ..machines import EXACT, ROUNDING, TS, TW, halo, hockney
from .algorithms import R

GRIDS = {1: (5,), 2: (3, 4), 3: (3, 4, 5), 4: (3, 4, 3, 5)}
LAYERS = (1000.0, 3000.0, 200.0, 7000.0)


def _halo_lines(dims: int, periodic: bool, receive_s: float) -> tuple[Derived, Derived, Derived]:
    """Time, messages and bytes of an exchange of ``LAYERS`` bytes per dimension."""
    extents, sizes = GRIDS[dims], LAYERS[:dims]
    symbols: dict[str, float] = {"a": TS, "b": TW, "r": receive_s, "P": float(np.prod(extents)), "d": dims}
    symbols |= {f"m{dim}": size for dim, size in enumerate(sizes, 1)} | {
        f"k{dim}": k for dim, k in enumerate(extents, 1)
    }
    layer = " + ".join(f"m{dim}" for dim in range(1, dims + 1))
    cables = ["P" if periodic else f"P/k{dim}*(k{dim} - 1)" for dim in range(1, dims + 1)]
    load = " + ".join(f"2*{many}*m{dim}" for dim, many in enumerate(cables, 1))
    return (
        Derived("T", f"2*(d*a + ({layer})*b) + 2*d*r", symbols, "s", f"{dims} dimensions"),
        Derived("N", " + ".join(f"2*{many}" for many in cables), symbols, "", f"{dims} dimensions"),
        Derived("N", load, symbols, "B", f"{dims} dimensions"),
    )


def _halo_readings(periodic: bool, receive_s: float, quantity: int) -> Readings:
    forecast: dict[Label, float] = {}
    simulation: dict[Label, float] = {}
    for dims, extents in GRIDS.items():
        ranks = int(np.prod(extents))
        machine = hockney(build_topology("crossbar", ranks), hop_latency_s=0.0, receive_overhead_s=receive_s)
        work = halo(extents, LAYERS[:dims], periodic)
        for values, result in (
            (forecast, sc.forecast(work, machine, {"P": ranks})),
            (simulation, sc.simulate(work, machine, {"P": ranks}, effects="none")),
        ):
            values[dims] = float((result.makespan_s, result.messages, result.message_bytes)[quantity])
    return Readings(forecast=forecast, simulation=simulation)


def _halo_case(periodic: bool, detail: str, receive_s: float, quantity: int, unit: str) -> Case:
    lines = {dims: _halo_lines(dims, periodic, receive_s)[quantity] for dims in GRIDS}
    where = "closed" if periodic else "open"
    what = {0: "takes", 1: "sends so many messages:", 2: "sends so many bytes:"}[quantity]
    return Case(
        name=f"collectives/halo-{where}/{detail}",
        claim=f"A halo exchange on a process grid of 1 to 4 dimensions (extents of 3 and more, {where} at the edges) "
        f"{what} {lines[2].formula} (for 2 dimensions), for a rank inside has two neighbours in each.",
        source="Grama, Gupta, Karypis, Kumar, Introduction to Parallel Computing, 2nd ed. 2003, section 2.5: messages "
        "of one port, one after another; neighbours counted",
        unit=unit,
        expected={dims: line.value for dims, line in lines.items()},
        tolerance=ROUNDING if quantity == 0 else EXACT,
        reading="both",
        measure=lambda: _halo_readings(periodic, receive_s, quantity),
        axis="dimensions",
        derivation=(lines[3],),
        quick=True,
    )


CASES: list[Case] = [
    _halo_case(periodic, detail, receive_s, quantity, unit)
    for periodic in (True, False)
    for detail, receive_s, quantity, unit in (
        ("time", 0.0, 0, "s"),
        ("receive-overhead", R, 0, "s"),
        ("messages", 0.0, 1, "1"),
        ("bytes", 0.0, 2, "B"),
    )
]
