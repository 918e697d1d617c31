"""Commands that check the models against published and measured numbers: ``validate``, ``score`` and ``demo``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from click.exceptions import Exit

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.validate_options import ScoreOptions, Validated, ValidateOptions
from simcodesign.cli.sections import Section
from simcodesign.cli.written_files import TABLE, Output, Outputs
from simcodesign.report.common.terminal import print_all, write_json


def _page(validated: Validated, path: Path) -> None:
    from simcodesign.report.validation.page import write_page

    write_page(validated.outcomes, path, dated=validated.dated)


VALIDATION_FILES = Outputs(Output("page", (".html", ".htm"), "a page with all details of every case", _page), TABLE)


@command(app, "validate", section=Section.CHECK, outputs=VALIDATION_FILES)
def run_validate(options: ValidateOptions) -> None:
    """Compare forecasts and simulations with published and textbook numbers, and count the cases by kind of evidence.

    Fails (exit status 1) if any case differs.
    """
    from simcodesign.report.validation.page import load_jinja
    from simcodesign.studies.validation.registry import load_cases
    from simcodesign.studies.validation.select import selected

    files = VALIDATION_FILES.requested(options.write)
    if "page" in files:
        load_jinja()
    full = options.full or (options.listed and not options.quick)
    cases = selected(load_cases(options.folder), options.keyword or "", quick=options.quick, full=full)
    if options.listed:
        from simcodesign.report.validation.tables import case_dict, case_list

        if options.as_json:
            write_json({"cases": [case_dict(case) for case in cases]})
        else:
            print_all([case_list(cases)])
        return
    from simcodesign.cli.run.validation import run_cases

    raise Exit(run_cases(cases, options, files))


def _rows_text(scored: Any, _: Path) -> str:
    from simcodesign.studies.validation.scores import rows_text

    return rows_text(scored[0])


SCORE_FILES = Outputs(
    Output(
        "rows",
        (".csv",),
        "the rows to predict, with the measured seconds of all but evidence",
        _rows_text,
        is_text=True,
    ),
    TABLE,
)


@command(app, "score", section=Section.CHECK, outputs=SCORE_FILES)
def run_score(options: ScoreOptions) -> None:
    """Score predicted times against the measured rows of the benchmark: errors by group and role, missing rows counted.

    simcodesign score --write rows:rows.csv writes the rows to predict. Fill its column seconds, and score the file.
    """
    from simcodesign.studies.validation.registry import bundled_module
    from simcodesign.studies.validation.scores import read_predictions, scores

    files = SCORE_FILES.requested(options.write)
    rows = bundled_module("measured.benchmark").rows()
    predicted_s = {} if options.predictions is None else read_predictions(options.predictions, rows)
    scored = scores(rows, predicted_s)

    def tables() -> list[Any]:
        from simcodesign.report.validation.scores import score_tables

        return score_tables(scored)

    files.show((rows, scored), tables, options.as_json, lambda: {"scores": scored})


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Where the demonstration writes."""

    folder: Annotated[Path, Option(metavar="DIR", help="Write pictures and the page into DIR.")] = Path("demo-output")


@command(app, "demo", section=Section.CHECK)
def run_demo(options: DemoOptions) -> None:
    """Show measured, forecast and simulated times and why they differ: Fugaku, mesh and hypercube, SPECseis96."""
    from simcodesign.report.demo.flagship import main

    main(options.folder)
