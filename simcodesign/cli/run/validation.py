"""Validation cases, run and printed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from simcodesign import __version__
from simcodesign.cli.options.shared import usable_cpus
from simcodesign.cli.options.validate_options import Validated, ValidateOptions
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain
from simcodesign.report.validation.measured import measured_summary
from simcodesign.report.validation.plots import drawer
from simcodesign.report.validation.tables import outcome_tables
from simcodesign.studies.validation.case import Case
from simcodesign.studies.validation.outcome import CaseOutcome, counts, status_of
from simcodesign.studies.validation.run import run

#: Seconds from which on a case is printed when it is done.
LONG_CASE_S = 30.0


def run_cases(cases: Sequence[Case], options: ValidateOptions, files: RequestedFiles) -> int:
    """Run the cases, print their outcomes and write the page; the exit status."""
    draw = drawer() if "page" in files else None
    if "page" in files and draw is None:
        complain("note: Matplotlib is not installed: the page is without plots (pip install 'simcodesign[plot]')")
    with ProgressBar("cases", total=len(cases), counted=True, steps=True, patience_s=None) as bar:
        outcomes = run(
            cases,
            jobs=options.jobs or usable_cpus(),
            folder=options.folder,
            draw=draw,
            on_progress=partial(show_finished, bar),
        )
    files.show(
        Validated(outcomes, options.dated),
        lambda: [*outcome_tables(outcomes), *measured_summary(outcomes)],
        options.as_json,
        lambda: {"version": __version__, "cases": outcomes, "counts": counts(outcomes)},
    )
    for path in files.paths("page"):
        complain(f"wrote {path}")
    return status_of(outcomes)


def show_finished(bar: ProgressBar, outcome: CaseOutcome) -> None:
    """Count a finished case, and print one that took long, so that a long run shows its verdicts."""
    bar(outcome.name, 1)
    if outcome.seconds >= LONG_CASE_S:
        bar.print(f"{outcome.verdict}: {outcome.name}, {outcome.seconds:.0f} s")
