"""Linpack of order 250,000 on other process grids of Dahu, and with other options, against the runs that were measured.

``python -m validation.measured.hpl_grids`` prints docs/tables/linpack-grids.csv (half an hour of CPU time and 10 GB;
spread-roll is in hpl_polls.py). Processors have the speeds of the usual state, as measured until January 2020. All runs are
evidence.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

import simcodesign as sc

from ..published import tables
from .hpl import EFFECTS, WORKLOAD, machine

ORDER = 250_000
TABLE = "dahu-hpl-choices"
#: Ranks of the runs on other grids.
GRID_RANKS = 960
#: The columns of a panel and the options that were simulated on 32 x 32 processes: broadcast, swap, look-ahead.
BLOCK = 256
OPTIONS = (("two_rings", "binary_exchange", 1), ("two_rings", "binary_exchange", 0), ("ring", "binary_exchange", 1))
CHOICES = ("rows", "columns", "block", "broadcast", "swap", "lookahead")
COLUMNS = (*CHOICES[:-1], "look-ahead", "measured, s", "forecast, s", "simulation, s", "error", "SMPI, s", "its error")


def choices() -> Iterator[dict[str, str]]:
    """Yield the choices of every line: the grids, most rows first, then the options."""
    for _, row in tables.table(TABLE).iterrows():
        is_grid = row["rows"] * row["columns"] == GRID_RANKS
        if is_grid or (row["block"] == BLOCK and tuple(row[name] for name in CHOICES[3:]) in OPTIONS):
            yield {name: str(row[name]) for name in CHOICES}


def measured_s(chosen: dict[str, str]) -> tuple[float, float]:
    """Return the median of the runs and the time that SMPI gave, in seconds."""
    return tables.number(TABLE, "median", **chosen), tables.number(TABLE, "smpi", **chosen)


def predicted_s(chosen: dict[str, str]) -> tuple[float, float]:
    """Return forecast (at the slowest speed) and simulation (each processor its own), in seconds."""
    p, q, block = (int(chosen[name]) for name in CHOICES[:3])
    options = {"broadcast": chosen["broadcast"], "swap": chosen["swap"], "lookahead": int(chosen["lookahead"])}
    given = {"P": p * q, "q": q, "b": block, "n": ORDER // block * block, "train": 1e9} | options
    foreseen = sc.forecast(WORKLOAD, machine(False, "slowest"), given)
    simulated = sc.simulate(WORKLOAD, machine(False), given, effects=EFFECTS, engine="compiled")
    return float(foreseen.makespan_s), float(simulated.makespan_s)


def cells(chosen: dict[str, str], forecast_s: float, simulated_s: float) -> tuple[str, ...]:
    """Return a line of the table."""
    seen_s, smpi_s = measured_s(chosen)
    return (
        *(one.replace("_", " ") for one in chosen.values()),
        *(f"{one:.1f}" for one in (seen_s, forecast_s, simulated_s)),
        f"{100 * (simulated_s / seen_s - 1):+.1f} %",
        f"{smpi_s:.1f}",
        f"{100 * (smpi_s / seen_s - 1):+.1f} %",
    )


def main() -> int:
    """Print the table."""
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(COLUMNS)
    for chosen in choices():
        written.writerow(cells(chosen, *predicted_s(chosen)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
