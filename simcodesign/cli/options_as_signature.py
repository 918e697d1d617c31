"""Commands whose options are a dataclass: each field is a parameter of the command.

A field is written as Typer's parameters are, its default is the default of the option::

    @dataclass(frozen=True, kw_only=True)
    class GreetOptions:
        name: Annotated[str, typer.Argument(metavar="NAME")]
        often: Annotated[int, typer.Option(help="How often.")] = 1
        words: Annotated[list[str], typer.Option(help="Repeatable.")] = field(default_factory=list)
        output: OutputOptions                       # a group of options that several commands share

    @command(app, "greet")
    def run(options: GreetOptions) -> None:
        "Greet somebody."                           # the help of the command

A field whose type is a dataclass is such a group: its fields are parameters of the command as well, and ``run`` gets
them as ``options.output``. A field of the type ``typer.Context`` gets the context of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, Signature
from typing import TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

Options = TypeVar("Options")
Run = Callable[[Options], None]


def command(
    app: typer.Typer, name: str, *, no_args_is_help: bool = False, cls: type[TyperCommand] | None = None
) -> Callable[[Run[Options]], Run[Options]]:
    """Register ``run(options)`` as a command of ``app``; the rest is as ``typer.Typer.command`` has it."""

    def register(run: Run[Options]) -> Run[Options]:
        options_type: type[Options] = get_type_hints(run)["options"]

        def call(**values: object) -> None:
            run(_from_values(options_type, values))

        parameters = list(_parameters(options_type))
        call.__doc__ = run.__doc__
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        app.command(name, no_args_is_help=no_args_is_help, cls=cls)(call)
        return run

    return register


def _parameters(options_type: type) -> Iterator[Parameter]:
    """The parameters that the fields stand for, those of groups in their place."""
    hints = get_type_hints(options_type, include_extras=True)
    for field in _fields(options_type):
        hint = hints[field.name]
        if isinstance(hint, type) and is_dataclass(hint):
            yield from _parameters(hint)
        else:
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=hint)


def _fields(options_type: object) -> tuple[Field[object], ...]:
    assert is_dataclass(options_type)
    return fields(options_type)


def _default(field: Field[object]) -> object:
    """What Typer takes as the default; None for a field that makes its own."""
    if field.default is not MISSING:
        return field.default
    return Parameter.empty if field.default_factory is MISSING else None


def _from_values(options_type: Callable[..., Options], values: dict[str, object]) -> Options:
    """The options out of the values of all parameters by their names."""
    hints = get_type_hints(options_type)
    given: dict[str, object] = {}
    for field in _fields(options_type):
        if is_dataclass(hints[field.name]):
            given[field.name] = _from_values(hints[field.name], values)
        elif values[field.name] is not None or field.default_factory is MISSING:
            given[field.name] = values[field.name]
    return options_type(**given)
