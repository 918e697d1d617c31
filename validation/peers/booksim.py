"""BookSim (Jiang et al., ISPASS 2013) beside ours: uniform traffic of messages of one flit on a torus of 8 x 8.

BookSim is not run here: ``booksim.csv`` has what its User's Guide prints. A cycle is 1 ns, and a flit a byte that a link
passes in one cycle. A router of BookSim 2 takes four cycles (routing, allocation of a virtual channel and of the switch,
traversal), a channel of a torus two, and a message to its own node seven in all: six cycles a hop, and six besides the hops
and its flit.
"""

from __future__ import annotations

import numpy as np

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from .record import machine, table, workload

SIDE = 8
NODES = SIDE**2
#: Flits of a node in a cycle, in the example of the guide; and the cycles of BookSim 2.
RATE, HOP_CYCLES, OTHER_CYCLES = 0.15, 6, 6


def torus(hop_cycles: float = HOP_CYCLES, other_cycles: float = OTHER_CYCLES) -> Machine:
    """Links of a flit in a cycle, in each direction."""
    return machine(
        NODES,
        f"sends: nonblocking, startup: {other_cycles} ns, hop_latency: {hop_cycles} ns, bandwidth: 1 GB/s, "
        f"topology: {{kind: torus, shape: [{SIDE}, {SIDE}]}}",
    )


def _traffic(rate: float, requests: int) -> sc.Workload:
    return workload(f"- arrivals: {{to: network, rate: {rate}e9, requests: {requests}, bytes: 1}}")


def forecast_cycles(rate: float, on: Machine) -> float:
    """The mean latency of a message by its closed form."""
    return float(np.asarray(sc.forecast(_traffic(rate, 100), on, {"P": NODES}).response_s)) * 1e9


def simulated(rate: float, on: Machine, requests: int = 300, seed: int = 0) -> tuple[float, float]:
    """The mean latency of a message in cycles, and the flits that a node gets through in a cycle."""
    run = sc.simulate(_traffic(rate, requests), on, {"P": NODES}, effects="hops,links,noise", seed=seed)
    return float(np.asarray(run.response_s)) * 1e9, requests / (float(run.makespan_s) * 1e9)


def recorded(experiment: str, quantity: str) -> float:
    """What BookSim said."""
    frame = table("booksim")
    return float(frame[(frame.experiment == experiment) & (frame.quantity == quantity)].theirs.iloc[0])


CASES: list[Case] = [
    Case(
        printed=True,
        name="peers/booksim/latency",
        claim="The example of BookSim's guide: mean latency of one-flit messages at 15 % of the torus' capacity.",
        source="BookSim 2.0 User's Guide (Jiang, Michelogiannakis, Becker, Towles, Dally), output of examples/torus88",
        unit="cycles",
        expected={"latency": recorded("guide of 2.0", "latency at 0.15")},
        tolerance=Tolerance(
            "one run of a few thousand messages, which also wait for two virtual channels and for buffers, as ours do not",
            relative=0.1,
        ),
        reading="both",
        measure=lambda: Readings({"latency": forecast_cycles(RATE, torus())}, {"latency": simulated(RATE, torus())[0]}),
        quick=True,
    )
]
