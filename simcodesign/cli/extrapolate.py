"""The command ``extrapolate``: can models of a few small profiled runs be trusted, for this code on this machine?"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from simcodesign.cli.app import app
from simcodesign.cli.fit.counters import guard_of
from simcodesign.cli.options import (
    AsJson,
    Effects,
    Engine,
    MachineName,
    Plot,
    Preset,
    Settings,
    WorkloadName,
    case_of,
    check_files,
)
from simcodesign.core.errors import InputError, Place
from simcodesign.report.common.terminal import print_all, write_json

TARGET_FORMS = "P=128, or with another size P=128,preset=C or P=128,n=64, and volume=4 for what messages grow by"

On = Annotated[
    str, typer.Option("--on", metavar="P,P,P", help="Numbers of processes of the profiled runs, three or more.")
]
Targets = Annotated[
    list[str],
    typer.Option(
        "--target",
        metavar="P=N",
        help="A run to predict: P=128. Of another size: P=128,preset=B or P=128,n=102; volume=4 says by what messages "
        "grow. Repeatable.",
    ),
]
Seeds = Annotated[int, typer.Option(metavar="N", min=1, help="How often all is repeated, with other draws.")]
Further = Annotated[
    str | None,
    typer.Option(
        metavar="P,P",
        help="Refine communication by runs on these; the largest of two or more is kept to tell what that was worth.",
    ),
]
SecondClock = Annotated[
    str | None,
    typer.Option(metavar="CLOCK", help="Refine CPI and memory stalls by a run at another clock, e.g. '2 GHz'."),
]
WithLadder = Annotated[
    bool, typer.Option("--ladder", help="Where the error is large, repeat with the effects one after another.")
]
Large = Annotated[float, typer.Option(metavar="SHARE", min=0.0, help="With --ladder: the error that is large.")]
Share = Annotated[
    float | None, typer.Option("--threshold", metavar="SHARE", help="A kernel is what takes more of the time; 0.05.")
]
Dimensions = Annotated[
    float, typer.Option(metavar="D", help="At another size messages grow as the surface of so many dimensions.")
]
Guard = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="The largest share of last-level misses that is not refused: 1e-4, or none."),
]


@app.command(no_args_is_help=True)
def extrapolate(
    workload: WorkloadName,
    machine: MachineName,
    on: On,
    target: Targets,
    seeds: Seeds = 5,
    further: Further = None,
    second_clock: SecondClock = None,
    ladder: WithLadder = False,
    large: Large = 0.1,
    settings: Settings = None,
    preset: Preset = None,
    effects: Effects = "all",
    engine: Engine = "auto",
    threshold: Share = None,
    dimensions: Dimensions = 3.0,
    guard: Guard = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Can models of a few small profiled runs be trusted? Profile, predict larger runs, and simulate these as well.

    The models are those of fit --counters; the error is against the simulated truth, beside that of two simpler models.
    """
    check_files(plot)
    case = case_of(workload, machine, settings, None, preset, None)
    if "P" in case.parameters:
        raise InputError("P is given by --on and --target", Place("--set"), value="P", allowed="other parameters")
    options: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    if guard is not None:
        options["guard"] = guard_of(guard)
    if second_clock is not None:
        options["second_clock_hz"] = import_module("simcodesign.core.units").parse_quantity(
            second_clock, "frequency", Place("--second-clock")
        )
    module = import_module("simcodesign.studies.extrapolation.study")
    rungs = import_module("simcodesign.studies.extrapolation.ladder")
    report = import_module("simcodesign.report.counters.extrapolation_tables")
    with import_module("simcodesign.report.common.progress").run_progress() as on_progress:
        study = module.study(
            case.workload,
            case.machine,
            profile=_processes(on, "--on"),
            targets=[*map(target_of, target)],
            parameters=case.parameters,
            preset=preset,
            effects=effects,
            seeds=range(seeds),
            further=_processes(further, "--further") if further else (),
            dimensions=dimensions,
            engine=engine,
            on_progress=on_progress,
            **options,
        )
        ladders = rungs.ladders(study, large, on_progress=on_progress) if ladder else ()
    if as_json:
        write_json(report.profile_dict(study, ladders))
    else:
        print_all(report.study_tables(study, ladders))
        if ladder and not ladders:
            print_all([f"No error is above {large:.0%}: no ladder."])
    if plot:
        import_module("simcodesign.report.counters.extrapolation_plot").profile_plot(study, plot, ladders)


def _processes(text: str, option: str) -> list[int]:
    """``4,8,16``."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError("not numbers of processes", Place(option), value=text, allowed="e.g. 4,8,16") from None


def target_of(text: str) -> Any:
    """``P=128,preset=C,n=64,volume=4``."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or not value or name in found:
            raise InputError("not a target", Place("--target"), value=text, allowed=TARGET_FORMS)
        found[name] = value
    if "P" not in found:
        raise InputError("a target without P", Place("--target"), value=text, allowed=TARGET_FORMS)
    processes, preset, volume = found.pop("P"), found.pop("preset", None), found.pop("volume", None)
    if not processes.isdigit() or not int(processes):
        raise InputError("processes of a target", Place("--target"), value=processes, allowed="a whole number above 0")
    numbers = {name: _number(name, value) for name, value in found.items()}
    ratio = None if volume is None else _number("volume", volume)
    if ratio is not None and ratio < 0:
        raise InputError("volume of a target", Place("--target"), value=volume, allowed="a number of 0 or above")
    target: type = import_module("simcodesign.studies.extrapolation.trials").Target
    return target(int(processes), preset, numbers, ratio)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{name} of a target", Place("--target"), value=value, allowed="a number") from None
