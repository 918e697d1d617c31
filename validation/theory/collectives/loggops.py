"""Collective operations in LogGP: time of every algorithm whose rounds the literature gives.

Sources: Culler et al., LogP, PPoPP 1993; Alexandrov et al., LogGP, SPAA 1995; Hensgen, Finkel, Manber, IJPP 17 (1988);
Hoefler, Schneider, Lumsdaine, LogGOPSim, HPDC 2010.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import simcodesign as sc
from simcodesign.describe.topology.build import build_topology
from simcodesign.studies.validation.case import Case, Derived, Readings

from ..machines import ROUNDING, collective, loggops
from .algorithms import MANY_OTHERS, MANY_POWERS, OTHERS, POWERS

#: L, o, g <= o, G.
PARAMETERS = {"L": 5e-6, "o": 2e-6, "g": 1.5e-6, "G": 1e-9}


def _loggops_case(
    name: str, algorithm: str, size: float, formula: str, ranks: Sequence[int], claim: str, source: str
) -> Case:
    lines = {P: Derived("T", formula, PARAMETERS | {"m": size, "P": P}, "s", f"{P} ranks") for P in ranks}

    def measure() -> Readings:
        constants = {"latency_s": 5e-6, "overhead_s": 2e-6, "gap_s": 1.5e-6, "per_byte_s": 1e-9}
        machine, work = loggops(build_topology("crossbar", max(ranks)), **constants), collective(name, algorithm, size)
        times = sc.forecast(work, machine, {"P": np.array(ranks)}).makespan_s
        return Readings(
            forecast={P: float(time) for P, time in zip(ranks, np.broadcast_to(times, len(ranks)), strict=True)},
            simulation={P: float(sc.simulate(work, machine, {"P": P}, effects="none").makespan_s) for P in ranks},
        )

    return Case(
        name=f"collectives/loggops/{name}-{algorithm}-{size:g}-b",
        claim=claim,
        source=source,
        unit="s",
        expected={P: line.value for P, line in lines.items()},
        tolerance=ROUNDING,
        reading="both",
        measure=measure,
        axis="ranks",
        derivation=(lines[64],),
        quick=True,
    )


CASES: list[Case] = [
    case
    for size in (1.0, 1001.0)
    for case in (
        _loggops_case(
            "broadcast",
            "binomial",
            size,
            "(2*o + L + (m - 1)*G)*log2(P)",
            POWERS + MANY_POWERS,
            "In LogGP with g <= o a binomial broadcast to P = 2^k ranks takes log2 P whole messages, "
            "2o + L + (m - 1) G.",
            "Culler et al., LogP, PPoPP 1993, broadcast; Hoefler et al., LogGOPSim, HPDC 2010",
        ),
        _loggops_case(
            "broadcast",
            "linear",
            size,
            "(P - 2)*max(o, g + (m - 1)*G) + 2*o + L + (m - 1)*G",
            POWERS + OTHERS + MANY_POWERS,
            "In LogGP the sends of a root follow one another by o or by g + (m - 1) G, and the last message is whole: "
            "P o + L for one byte and g <= o.",
            "Culler et al., LogP, PPoPP 1993; Alexandrov et al., LogGP, SPAA 1995, for sends one after another",
        ),
        _loggops_case(
            "barrier",
            "dissemination",
            size,
            "ceil(log2(P))*(2*o + L + (m - 1)*G)",
            POWERS + OTHERS + MANY_OTHERS,
            "In LogGP with g <= 2o + L a dissemination barrier takes ceil(log2 P) rounds of a whole message.",
            "Hensgen, Finkel, Manber, IJPP 17 (1988); Culler et al., LogP, PPoPP 1993, for the message",
        ),
    )
]
