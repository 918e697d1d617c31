"""Commands about what the system is worth: ``validate`` and ``demo``."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from simcodesign.cli import app as base
from simcodesign.cli.app import app
from simcodesign.cli.options import AsJson, check_folder
from simcodesign.report.common.terminal import complain, print_all, write, write_json


@app.command()
def validate(
    listed: Annotated[bool, typer.Option("--list", help="List the cases instead of running them.")] = False,
    keyword: Annotated[
        str,
        typer.Option(
            "-k",
            metavar="EXPR",
            help="Only cases whose name, claim or source has these words: seismic, 'cg and not (links or hops)'.",
        ),
    ] = "",
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="Cases at a time; by default one a CPU.")
    ] = None,
    as_json: AsJson = False,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page (.html) with all details.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Also the cases that take minutes.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Only the cases that take no time.")] = False,
    dated: Annotated[bool, typer.Option("--dated", help="Say in the report when it was made.")] = False,
    folder: Annotated[
        Path | None, typer.Option("--cases", metavar="DIR", help="Cases of this folder of Python modules.")
    ] = None,
) -> None:
    """Compare both readings with published and textbook numbers. Exit status 1 when any case differs."""
    page = _page(report)
    registry = import_module("simcodesign.studies.validation.registry")
    select = import_module("simcodesign.studies.validation.select")
    cases = select.selected(registry.load_cases(folder), keyword, quick=quick, full=full or (listed and not quick))
    if listed:
        _print_list(cases, as_json)
        return
    outcomes = _run(cases, jobs or usable_cpus(), folder, draws=page is not None)
    _print(outcomes, as_json)
    if page and report:
        page.write_page(outcomes, report, dated=dated)
        (complain if as_json else write)(f"report: {report}" + ("" if as_json else "\n"))
    raise typer.Exit(import_module("simcodesign.studies.validation.outcome").status_of(outcomes))


def usable_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _page(report: Path | None) -> Any:
    """The module that writes the page, if one is wanted; what it lacks is said before any work is done."""
    if report is None:
        return None
    check_folder("--report", report, (".html", ".htm"))
    page = import_module("simcodesign.report.validation.page")
    page.load_jinja()
    return page


def _print_list(cases: Any, as_json: bool) -> None:
    verdicts = import_module("simcodesign.report.validation.tables")
    if as_json:
        write_json({"cases": [verdicts.case_dict(case) for case in cases]})
    else:
        print_all([verdicts.case_list(cases)])


def _run(cases: Any, jobs: int, folder: Path | None, draws: bool) -> Any:
    draw = import_module("simcodesign.report.validation.plots").drawer() if draws else None
    if draws and draw is None:
        complain("note: Matplotlib is not installed: the report is without plots (pip install 'simcodesign[plot]')")
    with import_module("simcodesign.report.common.progress").case_progress(len(cases)) as on_progress:
        runner = import_module("simcodesign.studies.validation.run")
        return runner.run(cases, jobs=jobs, folder=folder, draw=draw, on_progress=on_progress)


def _print(outcomes: Any, as_json: bool) -> None:
    if not as_json:
        print_all(import_module("simcodesign.report.validation.tables").outcome_tables(outcomes))
        return
    counts = import_module("simcodesign.studies.validation.outcome").counts(outcomes)
    write_json(
        {
            "version": base.sc.__version__,
            "cases": [outcome.to_dict() for outcome in outcomes],
            "counts": {str(verdict): count for verdict, count in counts.items()},
        }
    )


@app.command()
def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where to write plots.")] = Path("demo-output"),
    quick: Annotated[bool, typer.Option("--quick", help="Only the test data set, and no maps.")] = False,
) -> None:
    """The main job: SPECseis96 on the Power Challenge, measured, forecast and simulated, with plots."""
    raise typer.Exit(import_module("simcodesign.report.results.demo").main(output, quick))
