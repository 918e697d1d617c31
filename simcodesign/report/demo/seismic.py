"""The seismic application on the Power Challenge in full: measured, forecast and simulated, with profiles and maps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from rich.table import Table

from simcodesign.comparison.attribution import relative_error
from simcodesign.comparison.compare import Comparison, compare
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.yaml.files import load_machine, shipped_path
from simcodesign.report.common.numbers import signed_percent
from simcodesign.report.common.progress import simulation_progress
from simcodesign.report.common.tables import new_table
from simcodesign.report.common.terminal import print_all, write
from simcodesign.report.demo.seismic_maps import MACHINE, WORKLOAD, maps
from simcodesign.report.demo.seismic_maps import RANKS as RANKS_OF_MAPS
from simcodesign.report.results.heat_maps import time_maps
from simcodesign.report.results.ladder_rows import effects_shown, not_here
from simcodesign.report.results.plots import activity_profile, comparison_bars

PRESETS, RANKS = ("test", "small"), (4, 8, 16)
#: What else the processors could be joined by: a name to show, the machine, and what is changed in it.
DESIGNS: dict[str, tuple[str, dict[str, object]]] = {
    "2-D mesh": ("power-challenge-mesh", {}),
    "binary tree": ("power-challenge-tree", {}),
    "hypercube": ("power-challenge-hypercube", {}),
    "4 spindles": (MACHINE, {"disk.spindles": 4}),
    "1 spindle": (MACHINE, {"disk.spindles": 1}),
}
NOTE = (
    "Rows marked calibration went into the workload file (computation on 16 processors, two write counts) and are "
    "no evidence. Data-set sizes and message structure are reconstructed, not published: phase 2 of the small set "
    "shows it.\n"
)

Comparisons = dict[tuple[str, int], Comparison]


def main(output: Path, map_ranks: Sequence[int] = RANKS_OF_MAPS) -> int:
    """Compare, print, and write plots to ``output``, with maps over so many processors."""
    output.mkdir(parents=True, exist_ok=True)
    with simulation_progress() as on_progress:
        comparisons: Comparisons = {
            (preset, ranks): compare(
                WORKLOAD, MACHINE, {"P": ranks}, preset=preset, timeline=True, on_progress=on_progress
            )
            for preset in PRESETS
            for ranks in RANKS
        }
        designs = {
            name: compare(WORKLOAD, load_machine(*design), {"P": 16}, preset="test", on_progress=on_progress)
            for name, design in DESIGNS.items()
        }
    measured = measured_times()
    print_all([measured_table(measured, comparisons), ladder_table(comparisons), design_table(designs), NOTE])
    for path in _plots(comparisons, designs["binary tree"], measured, output, map_ranks):
        write(f"{path}\n")
    return 0


def measured_times() -> pd.DataFrame:
    """Measured seconds by preset, P, phase and component, with their role: calibration or evidence."""
    return pd.read_csv(shipped_path("workloads", "seismic-measured.csv"), comment="#")


def measured_table(measured: pd.DataFrame, comparisons: Comparisons) -> Table:
    """Measured, forecast and simulated seconds per phase, with errors against what was measured."""
    table = new_table(
        "seismic on power-challenge: seconds, and errors against what was measured",
        "data set",
        "P",
        "phase",
        "component",
        "measured",
        "forecast",
        "error",
        "simulated",
        "error",
        "measured is",
    )
    for (preset, ranks), comparison in comparisons.items():
        rows = measured[(measured.preset == preset) & (ranks == measured.P)]
        for name, part, measured_s, role in _rows(rows, comparison):
            forecast, simulated = (
                _seconds(result.phases[name], part) for result in (comparison.forecast, comparison.simulation)
            )
            errors = [_error(value, measured_s) for value in (forecast, simulated)]
            table.add_row(
                preset,
                str(ranks),
                name,
                part,
                "-" if measured_s is None else f"{measured_s:.4g}",
                f"{forecast:.4g}",
                errors[0],
                f"{simulated:.4g}",
                errors[1],
                role,
            )
        table.add_section()
    return table


def _rows(rows: pd.DataFrame, comparison: Comparison) -> list[tuple[str, str, float | None, str]]:
    """What was measured, or the phase totals of the readings where nothing was."""
    if rows.empty:
        return [(name, "total", None, "-") for name in comparison.forecast.phases]
    columns = (rows.phase, rows.component, rows.seconds.astype(float), rows.role)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _seconds(times: Mapping[str, FloatOrArray], part: str) -> float:
    return float(sum(times.values()) if part == "total" else times[part])


def _error(value_s: float, measured_s: float | None) -> str:
    if measured_s is None:
        return "-"
    return signed_percent(relative_error(value_s, measured_s))


def ladder_table(comparisons: Comparisons) -> Table:
    """What each effect adds to the makespan, in seconds, for every run."""
    shown, others = _effects(comparisons.values())
    title = f"The ladder on power-challenge: what each effect adds to the forecast, in seconds ({others})"
    table = new_table(title, "data set", "P", "forecast", *shown, "simulated")
    for (preset, ranks), comparison in comparisons.items():
        changes = [_signed(rung.change_s) for rung in comparison.rungs if rung.effect in shown]
        forecast_s, simulated_s = comparison.forecast.makespan_s, comparison.simulation.makespan_s
        table.add_row(preset, str(ranks), f"{forecast_s:.4g}", *changes, f"{simulated_s:.6g}")
    return table


def design_table(comparisons: Mapping[str, Comparison]) -> Table:
    """The same processors with other networks and disks."""
    shown, others = _effects(comparisons.values())
    title = f"The test set on 16 of the same processors with other networks and disks, in seconds ({others})"
    table = new_table(title, "design", "forecast", *shown, "simulated", "error")
    for name, comparison in comparisons.items():
        changes = [_signed(rung.change_s) for rung in comparison.rungs if rung.effect in shown]
        forecast_s, simulated_s = float(comparison.forecast.makespan_s), float(comparison.simulation.makespan_s)
        table.add_row(name, f"{forecast_s:.4g}", *changes, f"{simulated_s:.4g}", _error(forecast_s, simulated_s))
    return table


def _effects(comparisons: Collection[Comparison]) -> tuple[list[str], str]:
    """The steps of the ladder that change anything, the first one in any case; and which do not, in words."""
    names = effects_shown(comparisons)
    changed = {rung.effect for comparison in comparisons for rung in comparison.rungs if rung.change_s}
    shown = [name for name in names if name in changed or name == names[0]]
    idle = ", ".join(name for name in names if name not in shown)
    words = [f"no change by {idle}"] if idle else []
    absent = not_here([*comparisons])
    return shown, "; ".join([*words, *([absent[:1].lower() + absent[1:].rstrip(".")] if absent else [])])


def _signed(change_s: float) -> str:
    return f"{change_s:+.3g}" if change_s else "0"


def _plots(
    comparisons: Comparisons, other: Comparison, measured: pd.DataFrame, output: Path, map_ranks: Sequence[int]
) -> Iterator[Path]:
    path = output / "activity-test-16.png"
    activity_profile(comparisons["test", 16].simulation, path)
    yield path
    sides = [("test", 16), ("small", 8)]  # the small set on 16 is calibration
    components = [_measured_components(measured, *side) for side in sides]
    path = output / "comparison.png"
    comparison_bars([*(comparisons[side] for side in sides), other], path, [*components, None])
    yield path
    path = output / "activity-small-4-8-16.png"
    activity_profile([comparisons["small", ranks].simulation for ranks in RANKS], path)
    yield path
    path = output / "maps.png"
    title = f"seismic on power-challenge, enlarged to {map_ranks[-1]} processors: seconds of a processor"
    time_maps(maps(map_ranks), path, title)
    yield path


def _measured_components(measured: pd.DataFrame, preset: str, ranks: int) -> dict[str, float]:
    rows = measured[(measured.preset == preset) & (ranks == measured.P)]
    return {str(name): float(value) for name, value in rows.groupby("component").seconds.sum().items()}
