"""Options of ``fit``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.models import ModelOptions
from simcodesign.cli.options.shared import Jobs, needs
from simcodesign.cli.sections import Heading
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE_BUT_TEX, Output, Outputs, RequestedFiles

FILES = Outputs(
    Output("workload", (".yaml", ".yml"), "the models as a workload that can be simulated"),
    Output("models", (".py", ".tex"), "the models as a Python module or a LaTeX table"),
    Output("plot", PLOT_SUFFIXES, "measurements, models and predictions"),
    TABLE_BUT_TEX,
)


@dataclass(frozen=True, kw_only=True)
class FitOptions(ModelOptions):
    """Metrics to fit, and their part in a workload."""

    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...",
            help="Measurements: Extra-P text, JSON, JSON lines, .extra-p, Talpas, a table (csv, parquet), the table of "
            "a sweep, or a folder of Score-P runs. Several files are merged.",
        ),
    ]
    demands: Annotated[
        list[str],
        Option(
            "--as",
            heading=Heading.OUTPUT,
            metavar="METRIC=DEMAND",
            help="Write METRIC as this demand of the workload: fp=flops, x=bytes_sent:allreduce, y=none. Repeatable.",
        ),
    ] = field(default_factory=list)
    neighbours: Annotated[
        str | None,
        Option(
            heading=Heading.OUTPUT,
            metavar="NAME",
            help="Send the bytes_sent of the workload in this pattern, halo1d to halo4d (default: halo1d).",
        ),
    ] = None
    ranks_parameter: Annotated[
        str | None,
        Option(
            heading=Heading.OUTPUT,
            metavar="NAME",
            help="Write the parameter NAME as P, the number of processes (default: p, ranks, cores or similar).",
        ),
    ] = None
    jobs: Jobs = None

    def requested(self) -> RequestedFiles:
        """Return the files to write. InputError if one cannot be written, or for options of a workload that is not."""
        files = FILES.requested(self.write)
        given = {"--as": self.demands, "--neighbours": self.neighbours, "--ranks-parameter": self.ranks_parameter}
        for option, value in given.items():
            if value and "workload" not in files:
                raise needs(option, "--write workload:FILE.yaml")
        return files
