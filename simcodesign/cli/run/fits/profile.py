"""``fit-counters --profile``: models of a few small simulated runs, and their predictions of larger ones."""

from __future__ import annotations

from collections.abc import Sequence

from simcodesign.cli.options.fit_counters_options import FILES, FitCountersOptions
from simcodesign.cli.run.fits.counters import pipeline_of
from simcodesign.cli.run.scenario import parsed_share, scenario_of
from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import parse_quantity
from simcodesign.describe.effects import chosen_effects
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.counters.extrapolation_plot import profile_plot
from simcodesign.report.counters.extrapolation_tables import profile_dict, study_tables
from simcodesign.studies.extrapolation.ladder import ErrorLadder, ladders
from simcodesign.studies.extrapolation.study import Extrapolation, ExtrapolationStudy, run_extrapolation
from simcodesign.studies.extrapolation.trials import ApplicationRun
from simcodesign.studies.sweep.design.grid import parse_axis

TARGET_FORMS = "P=128, or with another size P=128,preset=C or P=128,n=64, and volume=4 for what messages grow by"


def run_fit_profile(options: FitCountersOptions) -> None:
    """Profile, predict, simulate, print and draw."""
    requested = FILES.requested(options.write)
    requested.refuse(["workload"], "models of simulated runs", "FILE... instead of --profile")
    ladder = options.simulated.ladder
    large = None if ladder is None else parsed_share(ladder, "--ladder")
    evaluated, explained = _evaluated(options, large)
    no_ladder = [f"No error is above {large:.0%}: no ladder."] if large is not None and not explained else []
    requested.show(
        evaluated,
        lambda: [*study_tables(evaluated, explained), *no_ladder],
        options.as_json,
        lambda: profile_dict(evaluated, explained),
    )
    for plot in requested.paths("plot"):
        profile_plot(evaluated, plot, explained)


def _evaluated(options: FitCountersOptions, large: float | None) -> tuple[ExtrapolationStudy, tuple[ErrorLadder, ...]]:
    """Every target predicted and simulated, and ladders for errors above ``large``."""
    runs = options.simulated
    workload, machine = options.profile or ("", "")
    scenario = scenario_of(workload, machine, runs.settings, runs.preset)
    if "P" in scenario.parameters:
        raise InputError("P is given by --vary and --target", Place("--set"), value="P", allowed="other parameters")
    clock = runs.second_clock
    second_clock_hz = None if clock is None else parse_quantity(clock, "frequency", Place("--second-clock"))
    profile = _processes(runs.vary, "--vary")
    with ProgressBar("{task.completed} simulations", bar=False) as on_progress:
        question = Extrapolation(
            scenario,
            profile=profile,
            targets=tuple(map(parsed_target, options.target or [f"P={4 * max(profile)}"])),
            effects=chosen_effects(runs.effects),
            further=_processes([runs.further], "--further") if runs.further else (),
            second_clock_hz=second_clock_hz,
            engine=runs.engine,
            **pipeline_of(options),
        )
        evaluated = run_extrapolation(question, range(runs.seeds), on_progress)
        explained = () if large is None else ladders(evaluated, large, on_progress=on_progress)
    return evaluated, explained


def _processes(texts: Sequence[str], option: str) -> tuple[int, ...]:
    """Return the numbers of processes of ``P=4,8,16`` or ``P=4:16:x2``."""
    allowed = f"{option} P=4,8,16 or {option} P=4:16:x2"
    if len(texts) != 1:
        raise InputError(
            "numbers of processes", Place(option), value=" ".join(texts) or None, allowed=f"{allowed}, once"
        )
    try:
        axis = parse_axis(texts[0])
    except InputError as error:
        raise InputError(error.what, Place(option), value=error.value, allowed=error.allowed) from None
    if axis.name != "P":
        raise InputError("not numbers of processes", Place(option), value=texts[0], allowed=allowed)
    return tuple(int(value) for value in axis.values)


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
