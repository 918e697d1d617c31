"""An Aspen application on an Aspen machine: forecast on one kind of socket or on all of them, and compared."""

from __future__ import annotations

from collections.abc import Iterable

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.aspen.run.comparison import compare_aspen
from simcodesign.aspen.scope import Given
from simcodesign.aspen.timing import Timing, run_time
from simcodesign.cli.options.shared import AspenOptions, ScenarioOptions, SimulationOptions
from simcodesign.core.errors import InputError, Place
from simcodesign.report.aspen.tables import Answer, answer_dict, answer_tables, comparison_tables, socket_tables
from simcodesign.report.common.terminal import print_all, write_json

#: The kernel that runs if none is chosen.
MAIN = "main"
SETTINGS = "NAME=VALUE of a parameter of the application or the machine, e.g. --set n=4096"


def forecast_models(scenario: ScenarioOptions, aspen: AspenOptions, seed: int | None, as_json: bool) -> None:
    """Evaluate and print the closed form on one kind of socket, or on all of them if none is chosen."""
    given, application, machine = _loaded(scenario)
    if aspen.socket is not None or len(machine.sockets) <= 1:
        answer = _checked(Answer(_timing(application, machine, aspen.socket, given, aspen, seed)))
        if as_json:
            write_json(answer_dict(answer))
        else:
            print_all(answer_tables(answer))
    else:
        _forecast_all_sockets(application, machine, given, aspen, seed, as_json)


def compare_models(
    scenario: ScenarioOptions, aspen: AspenOptions, simulation: SimulationOptions, as_json: bool
) -> float:
    """Simulate too, print why the simulation differs, and return the error of the closed form.

    Raises InputError if one of several kinds of sockets is not chosen.
    """
    given, application, machine = _loaded(scenario)
    if aspen.socket is None and len(machine.sockets) > 1:
        raise InputError("a simulation needs one kind of socket", Place("--socket"), allowed=", ".join(machine.sockets))
    timing = _timing(application, machine, aspen.socket, given, aspen)
    answer = _checked(Answer(timing))
    comparison = compare_aspen(
        application,
        machine,
        timing.socket,
        given,
        kernel=timing.kernel,
        seed=simulation.seed,
        engine=simulation.engine,
        effects=simulation.effects,
    )
    if as_json:
        write_json(answer_dict(answer, comparison))
    else:
        print_all([*answer_tables(answer), *comparison_tables(comparison)])
    return comparison.error


def _loaded(scenario: ScenarioOptions) -> tuple[dict[str, Given], Application, AspenMachine]:
    """Return the values that are set, the application and the machine."""
    given = parsed_parameters(scenario.settings)
    return given, load_application(scenario.workload), load_machine(scenario.machine)


def _forecast_all_sockets(
    application: Application,
    machine: AspenMachine,
    given: dict[str, Given],
    aspen: AspenOptions,
    seed: int | None,
    as_json: bool,
) -> None:
    """Print a row for each kind of socket, and why there is none for those that lack a resource."""
    answers: dict[str, Answer] = {}
    errors: dict[str, InputError] = {}
    for socket in machine.sockets:
        try:
            answers[socket] = _checked(Answer(_timing(application, machine, socket, given, aspen, seed)))
        except InputError as error:
            errors[socket] = error
    if not answers:
        raise next(iter(errors.values()))
    absent = {socket: str(error) for socket, error in errors.items()}
    if as_json:
        write_json({"sockets": [answer_dict(answer) for answer in answers.values()], "absent": absent})
    else:
        print_all(socket_tables(answers, absent))


def _checked(answer: Answer) -> Answer:
    """Return the answer. InputError for a time, or a size of data, that is negative or no number."""
    for what, value in (
        ("run time in s", answer.seconds),
        *((f"bytes of {name}", size) for name, size in answer.data_bytes.items()),
    ):
        if not value >= 0:
            why = "; ".join(answer.timing.warnings)
            raise InputError(
                f"the model gives no {what}" + (f" ({why})" if why else ""), value=value, allowed="0 or more"
            )
    return answer


def _timing(
    application: Application,
    machine: AspenMachine,
    socket: str | None,
    given: dict[str, Given],
    aspen: AspenOptions,
    seed: int | None = None,
) -> Timing:
    """Return the closed form; with a ``seed`` samples are drawn instead of their means."""
    return run_time(
        application, machine, socket, given, kernel=aspen.kernel or MAIN, compatible=aspen.aspen_compatible, seed=seed
    )


def parsed_parameters(settings: Iterable[str]) -> dict[str, Given]:
    """Values by name: numbers, and words for members of enumerations. InputError for what is no setting."""
    given: dict[str, Given] = {}
    for item in settings:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise InputError("not a setting", Place("--set"), value=item, allowed=SETTINGS)
        if name in given:
            raise InputError("set twice", Place("--set"), value=name, allowed="one value per name")
        try:
            given[name] = float(value)
        except ValueError:
            given[name] = value
    return given
