"""Every measured row of Fugaku as a table: errors of formula, forecast and simulation, and what the ladder says.

``python -m validation.measured.fugaku_table docs/tables/fugaku-rows.csv`` writes all rows; a further word takes only those whose
operation/algorithm/shape/bytes contain it, as ``8x8x8`` or ``broadcast/binomial``.

The ladder of a row goes from the forecast over the effects that act to the median that was measured; what is left is not
explained. A gap of less than ``LEAST_GAP`` of the measurement, or within its quartiles, is not divided.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import simcodesign as sc
from simcodesign.comparison.attribution import UNEXPLAINED, LadderStep
from simcodesign.comparison.effects import WAITING
from simcodesign.describe.measured.times import MeasuredTimes

from .fugaku_runs import PHASES, Row, error, formula_s, is_simulated, rows, scenario

#: What acts on one operation at a time on this machine: no link has a latency, and nothing is random.
EFFECTS = ("links", "interfaces")
#: Of what was measured: what is less is no gap of which to speak of shares.
LEAST_GAP = 0.01
NO_GAP = "no gap"
#: Of the ladder, by the names of columns: the order of operations first, and the hops that links imply.
STEPS = {"dependencies": WAITING, "hops": "hops", **{name: name for name in EFFECTS}, "not_explained": UNEXPLAINED}
COLUMNS = (
    *("operation", "algorithm", "nodes", "bytes", "role", "n", "measured_us", "low_us", "high_us"),
    *("formula_us", "forecast_us", "simulation_us", "formula_error", "forecast_error", "simulation_error"),
    *(f"{step}_us" for step in STEPS),
    "ladder",
)


@dataclass(frozen=True)
class Explained:
    """A row with its three times, and the steps from the forecast to the measurement; neither forecast, simulation nor
    steps where it is not simulated."""

    row: Row
    formula_s: float
    forecast_s: float | None = None
    simulation_s: float | None = None
    steps: tuple[LadderStep, ...] = ()

    @property
    def ladder(self) -> str:
        """What the ladder says: the fraction of the gap of each effect, and what is not explained."""
        return "" if self.forecast_s is None else shares(self.row, self.forecast_s, self.steps)

    @property
    def cells(self) -> list[object]:
        """Of the table, a cell for each of ``COLUMNS``."""
        row, readings = self.row, (self.formula_s, self.forecast_s, self.simulation_s)
        spread = (row.median_s, row.lower_s, row.upper_s)
        times = ["" if time_s is None else f"{time_s * 1e6:.6g}" for time_s in (*spread, *readings)]
        errors = ["" if time_s is None else f"{error(time_s, row):+.4f}" for time_s in readings]
        changes_s = {step.step: step.change_s for step in self.steps}
        changes = [f"{changes_s.get(step, 0.0) * 1e6:+.6g}" if changes_s else "" for step in STEPS.values()]
        key = (row.operation, row.algorithm, row.shape, row.size_bytes, row.role, row.n)
        return [*key, *times, *errors, *changes, self.ladder]


def shares(row: Row, forecast_s: float, steps: Sequence[LadderStep]) -> str:
    """Of the gap between forecast and measurement, in words."""
    gap_s = row.median_s - forecast_s
    if abs(gap_s) < LEAST_GAP * row.median_s or row.lower_s <= forecast_s <= row.upper_s:
        return NO_GAP
    percent = {step.step: round(100 * step.change_s / gap_s) for step in steps}
    return ", ".join(f"{name} {share} %" for name, share in percent.items() if share or name == UNEXPLAINED)


def explained(row: Row) -> Explained:
    """Forecast and simulate a row, with the effects one after another."""
    if not is_simulated(row):
        return Explained(row, formula_s(row))
    measured = MeasuredTimes(phases={PHASES[row.key]: row.measured})
    one = sc.compare(scenario(row), effects=EFFECTS, engine="compiled", measured=measured)
    ends_s = float(one.forecast.makespan_s), float(one.simulation.makespan_s)
    return Explained(row, formula_s(row), *ends_s, one.measured_ladder)


def wanted(word: str = "") -> Iterator[Row]:
    """Rows by a part of operation/algorithm/shape/bytes."""
    return (row for row in rows() if word in f"{row.operation}/{row.algorithm}/{row.shape}/{row.size_bytes}")


def main(path: str, word: str = "") -> int:
    """Write the table to a file, line by line."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for row in wanted(word):
            table.writerow(explained(row).cells)
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
