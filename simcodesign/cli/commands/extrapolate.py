"""The command ``extrapolate``: can models of a few small profiled runs be trusted, for this code on this machine?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Option, command
from simcodesign.cli.options import EngineOptions, OutputOptions, WorkloadOnMachine
from simcodesign.cli.sections import Section


@dataclass(frozen=True, kw_only=True)
class ExtrapolateOptions:
    """Which runs are profiled, which are predicted, and how."""

    scenario: WorkloadOnMachine
    on: Annotated[str, Option(metavar="P,P,P", help="Numbers of processes of the profiled runs, three or more.")]
    target: Annotated[
        list[str],
        Option(
            metavar="P=N",
            help="A run to predict: P=128. Of another size: P=128,preset=B or P=128,n=102; volume=4 says by what "
            "messages grow. Repeatable.",
        ),
    ]
    seeds: Annotated[
        int, Option(metavar="N", min=1, max=10_000, help="How often all is repeated, with other draws.")
    ] = 5
    further: Annotated[
        str | None,
        Option(
            metavar="P,P",
            help="Refine communication by runs on these; the largest of two or more is kept to tell what that was "
            "worth.",
        ),
    ] = None
    second_clock: Annotated[
        str | None,
        Option(metavar="CLOCK", help="Refine CPI and memory stalls by a run at another clock, e.g. '2 GHz'."),
    ] = None
    ladder: Annotated[bool, Option(help="Where the error is large, repeat with the effects one after another.")] = False
    large: Annotated[float, Option(metavar="SHARE", min=0.0, help="With --ladder: the error that is large.")] = 0.1
    simulation: EngineOptions
    threshold: Annotated[
        float | None,
        Option(metavar="SHARE", help="A kernel is what takes more of the time; 0.05."),
    ] = None
    dimensions: Annotated[
        float, Option(metavar="D", help="At another size messages grow as the surface of so many dimensions.")
    ] = 3.0
    guard: Annotated[
        str | None,
        Option(metavar="SHARE", help="The largest share of last-level misses that is not refused: 1e-4, or none."),
    ] = None
    output: OutputOptions


@command(app, "extrapolate", section=Section.MEASURE, no_args_is_help=True)
def run(options: ExtrapolateOptions) -> None:
    """Can models of a few small profiled runs be trusted? Profile, predict larger runs, and simulate these as well.

    The models are those of fit --counters; the error is against the simulated truth, beside that of two simpler models.
    """
    from simcodesign.cli.run.extrapolate import run_extrapolate

    options.output.check()
    run_extrapolate(options)
