"""The times of a program that ran on simulated ranks, on each machine, and what must be noted about the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table

from simcodesign.analytic.forecast import forecast
from simcodesign.core.result import Result
from simcodesign.core.units import format_quantity
from simcodesign.engine.simulate import simulate
from simcodesign.mpi.run import MpiRun
from simcodesign.report.common.tables import text_table

#: Consequences of another order of the messages that receives from any rank take.
_WORDS = {
    "nothing": "receives from any rank take what arrives first; another order would change nothing",
    "operations": "receives from any rank take what arrives first; another order changes what the ranks do",
    "lines": "receives from any rank take what arrives first; another order changes what the program prints",
    "error": "receives from any rank take what arrives first; in another order the program ends with an error",
    "deadlock": "receives from any rank take what arrives first; in another order the ranks wait for each other",
}


@dataclass(frozen=True)
class Times:
    """Both readings of a run on a machine; ``sum_s`` is the sum of closed forms, None if that is the forecast."""

    machine: str
    forecast_s: float
    sum_s: float | None
    simulation: Result


def times_on(done: MpiRun, machine: str, effects: str = "all", seed: int = 0, *, timeline: bool = False) -> Times:
    """Forecast and simulate on ``machine`` what a program did."""
    point = {"P": done.ranks}
    predicted = forecast(done.workload, machine, point)
    simulated = simulate(done.workload, machine, point, effects=effects, seed=seed, timeline=timeline)
    sum_s = None if predicted.sum_s is None else float(predicted.sum_s)
    return Times(machine, float(predicted.makespan_s), sum_s, simulated)


def time_table(times: Iterable[Times]) -> Table:
    """Return the table of the sum of closed forms, forecast and simulated time, a row for each machine."""
    columns = ("sum of closed forms", "forecast", "simulated")
    table = text_table("Time of the program", "machine", *columns, right=columns)
    for one in times:
        seconds = (one.sum_s, one.forecast_s, float(one.simulation.makespan_s))
        table.add_row(one.machine, *("-" if time is None else format_quantity(time, "time") for time in seconds))
    return table


def notes(done: MpiRun) -> list[str]:
    """Return what must be noted about a run, one sentence each."""
    often = "once" if done.runs == 1 else f"{done.runs} times"
    found = [f"operations: {done.operations:,}; ranks: {done.ranks}; the program ran {often}"]
    if not done.settled:
        found.append("what the program does still changes with the times that its clock shows")
    if done.other_order is not None:
        found.append(_WORDS[done.other_order])
    if done.out_of_order:
        found.append(f"{done.out_of_order:,} receives from any rank did not take what arrives first in the simulation")
    return found
