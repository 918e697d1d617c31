"""Models of a few small profiled runs, their predictions of larger runs, and the simulations of these."""

from __future__ import annotations

from simcodesign.cli.commands.extrapolate import ExtrapolateOptions
from simcodesign.cli.run.fits.counters import parsed_guard
from simcodesign.cli.run.scenario import load_scenario
from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import parse_quantity
from simcodesign.counters.kernels import THRESHOLD
from simcodesign.counters.prediction import GUARD
from simcodesign.describe.effects import chosen_effects
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import print_all, write_json
from simcodesign.report.counters.extrapolation_plot import profile_plot
from simcodesign.report.counters.extrapolation_tables import profile_dict, study_tables
from simcodesign.studies.extrapolation.ladder import ErrorLadder, ladders
from simcodesign.studies.extrapolation.study import Extrapolation, ExtrapolationStudy, run_extrapolation
from simcodesign.studies.extrapolation.trials import ApplicationRun

TARGET_FORMS = "P=128, or with another size P=128,preset=C or P=128,n=64, and volume=4 for what messages grow by"


def run_extrapolate(options: ExtrapolateOptions) -> None:
    """Profile, predict, simulate, print and draw."""
    evaluated, explained = _evaluated(options)
    if options.output.as_json:
        write_json(profile_dict(evaluated, explained))
    else:
        print_all(study_tables(evaluated, explained))
        if options.ladder and not explained:
            print_all([f"No error is above {options.large:.0%}: no ladder."])
    if options.output.plot:
        profile_plot(evaluated, options.output.plot, explained)


def _evaluated(options: ExtrapolateOptions) -> tuple[ExtrapolationStudy, tuple[ErrorLadder, ...]]:
    """Every target predicted and simulated, and ladders for those that are wrong."""
    scenario = load_scenario(options.scenario)
    if "P" in scenario.parameters:
        raise InputError("P is given by --on and --target", Place("--set"), value="P", allowed="other parameters")
    clock = options.second_clock
    guard = GUARD if options.guard is None else parsed_guard(options.guard)
    second_clock_hz = None if clock is None else parse_quantity(clock, "frequency", Place("--second-clock"))
    with ProgressBar("{task.completed} simulations", bar=False) as on_progress:
        question = Extrapolation(
            scenario,
            profile=_processes(options.on, "--on"),
            targets=tuple(map(parsed_target, options.target)),
            effects=chosen_effects(options.simulation.effects),
            further=_processes(options.further, "--further") if options.further else (),
            second_clock_hz=second_clock_hz,
            threshold=THRESHOLD if options.threshold is None else options.threshold,
            dimensions=options.dimensions,
            guard=guard,
            engine=options.simulation.engine,
        )
        evaluated = run_extrapolation(question, range(options.seeds), on_progress)
        explained = ladders(evaluated, options.large, on_progress=on_progress) if options.ladder else ()
    return evaluated, explained


def _processes(text: str, option: str) -> tuple[int, ...]:
    """``4,8,16``."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError("not numbers of processes", Place(option), value=text, allowed="e.g. 4,8,16") from None


def parsed_target(text: str) -> ApplicationRun:
    """``P=128,preset=C,n=64,volume=4``."""
    values: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or not value or name in values:
            raise InputError("not a target", Place("--target"), value=text, allowed=TARGET_FORMS)
        values[name] = value
    if "P" not in values:
        raise InputError("a target without P", Place("--target"), value=text, allowed=TARGET_FORMS)
    processes, preset, volume = values.pop("P"), values.pop("preset", None), values.pop("volume", None)
    if not processes.isdigit() or not int(processes):
        raise InputError("processes of a target", Place("--target"), value=processes, allowed="a whole number above 0")
    numbers = {name: _number(name, value) for name, value in values.items()}
    ratio = None if volume is None else _number("volume", volume)
    if ratio is not None and ratio < 0:
        raise InputError("volume of a target", Place("--target"), value=volume, allowed="a number of 0 or above")
    return ApplicationRun(int(processes), preset, numbers, ratio)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{name} of a target", Place("--target"), value=value, allowed="a number") from None
