"""An Aspen application on an Aspen machine: on one kind of socket, or on all of them."""

from __future__ import annotations

from collections.abc import Iterable

from simcodesign.aspen.application import Application, load_application
from simcodesign.aspen.machine import AspenMachine, load_machine
from simcodesign.aspen.run.comparison import compare_aspen
from simcodesign.aspen.scope import Given
from simcodesign.aspen.timing import Timing, run_time
from simcodesign.cli.commands.aspen import AspenOptions
from simcodesign.core.errors import InputError, Place
from simcodesign.report.aspen.tables import Answer, answer_dict, answer_tables, comparison_tables, socket_tables
from simcodesign.report.common.terminal import print_all, write_json

SETTINGS = "NAME=VALUE of a parameter of the application or the machine, e.g. --set n=4096"


def run_aspen(options: AspenOptions) -> None:
    """Evaluate, simulate where that is wanted, and print. InputError for a simulation of several kinds of sockets."""
    given = parsed_parameters(options.settings)
    application, machine = load_application(options.application), load_machine(options.machine)
    if options.socket is not None or len(machine.sockets) <= 1:
        _run_on_socket(application, machine, given, options)
    elif options.simulate:
        allowed = ", ".join(machine.sockets)
        raise InputError("a simulation is of one kind of socket", Place("--socket"), allowed=allowed)
    else:
        _run_on_all_sockets(application, machine, given, options)


def _run_on_socket(
    application: Application, machine: AspenMachine, given: dict[str, Given], options: AspenOptions
) -> None:
    """In detail, with the simulation where that is wanted."""
    timing = _timing(application, machine, options.socket, given, options)
    answer, comparison = _checked(Answer(timing)), None
    if options.simulate:
        comparison = compare_aspen(
            application,
            machine,
            timing.socket,
            given,
            kernel=options.kernel,
            seed=options.seed or 0,
            engine=options.engine,
            effects="all" if options.effects is None else options.effects,
        )
    if options.as_json:
        write_json(answer_dict(answer, comparison))
    else:
        print_all([*answer_tables(answer), *(comparison_tables(comparison) if comparison else [])])


def _run_on_all_sockets(
    application: Application, machine: AspenMachine, given: dict[str, Given], options: AspenOptions
) -> None:
    """A row for each kind of socket, and why there is none for those that lack a resource."""
    answers: dict[str, Answer] = {}
    errors: dict[str, InputError] = {}
    for socket in machine.sockets:
        try:
            answers[socket] = _checked(Answer(_timing(application, machine, socket, given, options)))
        except InputError as error:
            errors[socket] = error
    if not answers:
        raise next(iter(errors.values()))
    absent = {socket: str(error) for socket, error in errors.items()}
    if options.as_json:
        write_json({"sockets": [answer_dict(answer) for answer in answers.values()], "absent": absent})
    else:
        print_all(socket_tables(answers, absent))


def _checked(answer: Answer) -> Answer:
    """The answer. InputError for a time, or a size of data, that is negative or no number."""
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
    options: AspenOptions,
) -> Timing:
    """The closed form; a seed is for the simulation where there is one."""
    seed = None if options.simulate else options.seed
    return run_time(
        application, machine, socket, given, kernel=options.kernel, compatible=options.compatible, seed=seed
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
