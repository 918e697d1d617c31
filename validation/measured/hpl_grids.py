"""Linpack on other process grids, and with other options, of 960 processes of Dahu: predictions alone.

``python -m validation.measured.hpl_grids`` prints docs/tables/linpack-grids.csv (some five CPU minutes). The matrix has order
50,000, and processors have the speeds of the usual state. The data of these runs are not among the project's tables.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

import simcodesign as sc

from .hpl import BLOCK, EFFECTS, WORKLOAD, machine

ORDER, RANKS = 50_000, 960
#: Fewest and most rows of processes.
ROWS = (8, 120)
#: Choices of the runs that were measured on 1,024 processes.
AS_RUN: dict[str, object] = {"broadcast": "two_rings", "swap": "binary_exchange", "lookahead": 1}
#: Other choices, on 30 x 32 processes.
OPTIONS: tuple[dict[str, object], ...] = (
    {"lookahead": 0},
    {"swap": "spread_roll"},
    {"swap": "spread_roll", "lookahead": 0},
    *({"broadcast": one} for one in ("ring", "modified_ring", "modified_two_rings", "long", "modified_long")),
)
COLUMNS = ("rows", "columns", "broadcast", "swap", "look-ahead", "forecast, s", "simulation, s")


def choices() -> Iterator[dict[str, object]]:
    """Yield the choices of every line: all grids, most rows first, then the options."""
    low, high = ROWS
    for q in range(RANKS // high, RANKS // low + 1):
        if RANKS % q == 0:
            yield {"q": q} | AS_RUN
    for other in OPTIONS:
        yield {"q": 32} | AS_RUN | other


def predicted_s(chosen: dict[str, object]) -> tuple[float, float]:
    """Return forecast (at the slowest speed) and simulation (each processor its own), in seconds."""
    given = {"P": RANKS, "b": BLOCK, "n": ORDER // BLOCK * BLOCK, "train": 1e9} | chosen
    foreseen = sc.forecast(WORKLOAD, machine(False, "slowest"), given)
    simulated = sc.simulate(WORKLOAD, machine(False), given, effects=EFFECTS, engine="compiled")
    return float(foreseen.makespan_s), float(simulated.makespan_s)


def cells(chosen: dict[str, object], times_s: tuple[float, float]) -> tuple[str, ...]:
    """Return a line of the table."""
    q, *options = chosen.values()
    return (
        str(RANKS // int(str(q))),
        str(q),
        *(str(one).replace("_", " ") for one in options),
        *(f"{one:.2f}" for one in times_s),
    )


def main() -> int:
    """Print the table."""
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(COLUMNS)
    for chosen in choices():
        written.writerow(cells(chosen, predicted_s(chosen)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
