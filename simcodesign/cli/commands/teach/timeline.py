"""The command ``timeline``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import check_folder
from simcodesign.cli.sections import Section


@dataclass(frozen=True, kw_only=True)
class TimelineOptions:
    """Which run is shown, and where the page is written to."""

    run: Annotated[Path, Argument(metavar="RUN", help="A file of simulate --timeline run.json (or .json.gz).")]
    output: Annotated[Path, Option("-o", "--output", metavar="FILE", help="The page that is written (.html).")]


@command(app, "timeline", section=Section.TEACH)
def run(options: TimelineOptions) -> None:
    """Write the timeline of a run as one HTML file: Gantt chart, network, clock and critical path, without network."""
    from simcodesign.core.files.atomic_files import replacing_text
    from simcodesign.report.common.terminal import write
    from simcodesign.report.timelines.page import timeline_page

    check_folder("--output", options.output, (".html",))
    html = timeline_page(options.run)
    with replacing_text(options.output) as file:
        file.write(html)
    write(f"{options.output}: {options.output.stat().st_size / 1e6:.1f} MB\n")
