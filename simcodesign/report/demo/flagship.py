"""The demonstration: measured, forecast, simulated, and why they differ, in four tables, four pictures and a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.attribution import relative_error
from simcodesign.comparison.compare import Comparison
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.report.common.numbers import Seconds, signed_percent
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.common.terminal import print_all, write
from simcodesign.report.demo import seismic
from simcodesign.report.demo.page import write_page
from simcodesign.report.demo.pictures import broadcast_picture, exchange_picture, ladder_picture, seismic_picture
from simcodesign.report.demo.runs import Run, Runs, acting, run_all
from simcodesign.report.results.ladder_rows import effects_shown, not_here

#: The job whose ladder is shown.
LARGEST = "8x8x8"
#: Names of pictures, in the order of the page, and a caption for each.
CAPTIONS = {
    "broadcast": (
        "A broadcast of 64 MiB on Fugaku. The formula, log2 P (startup + bytes / bandwidth), is right on 8 nodes; on "
        "512 the measurement is more than twice as long, and so is the simulation with shared links."
    ),
    "ladder": (
        "On 8x8x8 nodes, from the forecast to the measurement. Links are three quarters of the gap: axes of the job "
        "are folded into the six dimensions of the network, where messages share them. The rest is not explained."
    ),
    "exchange": (
        "An all-to-all among 64 nodes whose interfaces send and receive concurrently. The forecast is equal for a mesh "
        "and a hypercube; on the mesh, links make it three times as long."
    ),
    "seismic": (
        "SPECseis96 on 16 processors of an SGI Power Challenge, phase by phase, as Armstrong and Eigenmann measured "
        "it. Computation is calibrated."
    ),
}


def main(output: Path) -> None:
    """Run, print, and write pictures and the page to ``output``."""
    output.mkdir(parents=True, exist_ok=True)
    runs = run_all()
    print_all(tables(runs))
    pictures = {name: output / f"{name}.svg" for name in CAPTIONS}
    broadcast_picture(runs, pictures["broadcast"])
    ladder_picture(runs.broadcasts[LARGEST], pictures["ladder"])
    exchange_picture(runs.exchanges, pictures["exchange"])
    seismic_picture(runs.seismic.comparison, seismic.measured_times(), pictures["seismic"])
    page = output / "demo.html"
    write_page(page, {pictures[name]: text for name, text in CAPTIONS.items()})
    write(f"{page}\n")


def tables(runs: Runs) -> list[RenderableType]:
    """All that is printed."""
    largest = runs.broadcasts[LARGEST]
    measured = seismic.measured_times()
    return [
        broadcast_table(runs),
        ladder_table(largest),
        absent_line([largest]),
        exchange_table(runs),
        absent_line(runs.exchanges.values()),
        seismic.measured_table(measured, {("test", 16): runs.seismic.comparison}),
        absent_line([runs.seismic]),
        paragraph(seismic.NOTE.strip()),
    ]


def broadcast_table(runs: Runs) -> Table:
    """Broadcasts by shape: measured, forecast, and simulated."""
    title = (
        "A broadcast of 64 MiB by a binomial tree on Fugaku, in ms; measured: the median of all runs, and quartiles "
        "if they differ from it; errors against the median"
    )
    table = new_table(title, "nodes", "measured", "runs", "forecast", "error", "simulated", "error")
    for shape, run in runs.broadcasts.items():
        one = run.comparison
        known = one.measured.total if one.measured else None
        runs_here = str(known.n) if known and known.n else "-"
        table.add_row(shape, _with_spread(known), runs_here, *_readings(one, known.value if known else None))
    return table


def _with_spread(known: MeasuredValue | None) -> str:
    """Return a measured time in ms, and its spread where two digits show one."""
    if known is None:
        return "-"
    value, *ends = (f"{time_s * 1e3:.2f}" for time_s in (known.value, *(known.ends or ())))
    spread = f" ({' to '.join(ends)})" if {*ends} - {value} else ""
    return f"{value}{spread}"


def _readings(one: Comparison, measured_s: float | None) -> list[str]:
    """Both readings in ms, each with its error."""
    cells: list[str] = []
    for result in (one.forecast, one.simulation):
        time_s = float(result.makespan_s)
        error = "-" if measured_s is None else signed_percent(relative_error(time_s, measured_s))
        cells += [f"{time_s * 1e3:.2f}", error]
    return cells


def ladder_table(run: Run) -> Table:
    """Change by each effect on the largest job, and the unexplained rest."""
    one, shown = run.comparison, acting([run])
    columns = ("forecast", *shown, "simulated", "not explained", "measured")
    table = new_table(f"The ladder on {LARGEST} nodes, in ms", *columns)
    added = [_added_ms(run.change_s(effect)) for effect in shown]
    last = one.not_explained
    beyond = ["-", "-"] if last is None else [f"{last.change_s * 1e3:+z.2f}", f"{last.time_s * 1e3:.2f}"]
    table.add_row(f"{one.forecast.makespan_s * 1e3:.2f}", *added, f"{one.simulation.makespan_s * 1e3:.2f}", *beyond)
    return table


def _added_ms(change_s: float) -> str:
    """Change by an effect, in ms; 0 if two digits do not show it."""
    text = f"{change_s * 1e3:+.2f}"
    return text if float(text) else "0"


def exchange_table(runs: Runs) -> Table:
    """One all-to-all on two networks."""
    shown = acting(runs.exchanges.values())
    show = Seconds(float(run.comparison.simulation.makespan_s) for run in runs.exchanges.values())
    title = f"An all-to-all of 64 KiB to each of 64 nodes, full-duplex interfaces ({show.unit})"
    table = new_table(title, "network", "links", "forecast", *shown, "simulated", "error of the forecast")
    for name, run in runs.exchanges.items():
        one = run.comparison
        links = run.scenario.machine.network.topology.link_count
        added = [show(run.change_s(effect), "+") if run.change_s(effect) else "0" for effect in shown]
        ends = show(float(one.forecast.makespan_s)), show(float(one.simulation.makespan_s))
        table.add_row(name, str(links), ends[0], *added, ends[1], signed_percent(one.error))
    return table


def absent_line(runs: Iterable[Run]) -> RenderableType:
    """Return one line about the effects that change nothing.

    Those with nothing to act on, and those that are not in the way.
    """
    several = [run.comparison for run in runs]
    changing = {rung.effect for one in several for rung in one.rungs if rung.change_s}
    idle = [name for name in effects_shown(several) if name not in changing]
    no_change = f"No change by: {', '.join(idle)}." if idle else ""
    return paragraph(" ".join(filter(None, [not_here(several), no_change])))
