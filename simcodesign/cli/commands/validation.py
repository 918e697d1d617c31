"""Commands about what the system is worth: ``validate`` and ``demo``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from click.exceptions import Exit

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options.validate_options import Validated, ValidateOptions
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


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Where the demonstration writes."""

    folder: Annotated[Path, Option(metavar="DIR", help="Write pictures and the page into DIR.")] = Path("demo-output")


@command(app, "demo", section=Section.CHECK)
def run_demo(options: DemoOptions) -> None:
    """Measured, forecast, simulated, and why they differ: Fugaku's broadcast, mesh against hypercube, SPECseis96."""
    from simcodesign.report.demo.flagship import main

    main(options.folder)
