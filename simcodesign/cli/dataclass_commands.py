"""Commands whose options are a dataclass: each field is a parameter of the command, as Click has them.

A field gives an option its type and its default; its name, with ``--`` before it, unless others are given::

    @dataclass(frozen=True, kw_only=True)
    class GreetOptions:
        name: Annotated[str, Argument(metavar="NAME", help="Who is greeted.")]
        often: Annotated[int, Option(metavar="N", min=1, help="How often.")] = 1
        loud: Annotated[bool, Option(help="A flag.")] = False
        words: Annotated[list[str], Option("--word", metavar="WORD", help="Repeatable.")] = field(default_factory=list)
        output: AnswerOptions                       # a group of options that several commands share

    @command(app, "greet")
    def run(options: GreetOptions) -> None:
        "Greet a person."                           # the help of the command

A field whose type is a dataclass is such a group: its fields are parameters of the command as well, and ``run`` gets
them as ``options.output``. A field of the type ``click.Context`` gets the context of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from simcodesign.cli.completion import Completion
from simcodesign.cli.sections import Heading, Section, put_in, write_under_headings
from simcodesign.cli.written_files import Outputs

#: Number of options up to which help lists them without headings.
MAX_UNGROUPED = 10

Options = TypeVar("Options")
Run = Callable[[Options], None]


@dataclass(frozen=True)
class Argument:
    """How a field is an argument of a command, at the field's position. A list takes as many as there are."""

    metavar: str
    help: str
    complete: Completion | None = None

    def parameter(self, name: str, hint: Any, default: dict[str, Any]) -> click.Argument:
        """Return the argument of this name."""
        kind, many = _element(hint)
        return click.Argument(
            [name],
            type=_click_type(kind),
            nargs=-1 if many else None,
            metavar=self.metavar,
            help=self.help,
            shell_complete=self.complete,
            **default,
        )


class Option:
    """How a field is an option of a command, by default ``--its-name``.

    ``bool`` is a flag, ``bool | None`` a pair ``--x/--no-x``, a list can be given repeatedly. ``heading``: under which
    heading the help of a command with many options lists the option. ``min`` and ``max`` are the bounds of a number.
    ``instead``: what is called with the value instead of the command.
    """

    def __init__(
        self,
        *names: str,
        help: str,
        heading: Heading = Heading.OTHER,
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        complete: Completion | None = None,
        instead: Callable[[Any], None] | None = None,
    ) -> None:
        self.names, self.help, self.heading = names, help, heading
        self.metavar, self.bounds = metavar, (min, max)
        self.complete, self.instead = complete, instead

    def parameter(self, name: str, hint: Any, default: dict[str, Any]) -> click.Option:
        """Return the option that sets ``name``."""
        kind, many = _element(hint)
        usual = f"--{name.replace('_', '-')}"
        if kind is bool and NoneType in get_args(hint):
            usual += f"/--no-{usual[2:]}"
        option = HeadedOption(
            [name, *(self.names or [usual])],
            type=_click_type(kind, *self.bounds),
            is_flag=True if kind is bool else None,  # False would let the value be left out
            multiple=many,
            metavar=self.metavar,
            help=self.help,
            show_default=True,
            shell_complete=self.complete,
            is_eager=self.instead is not None,
            callback=self._call_instead if self.instead else None,
            **default,
        )
        option.heading = self.heading
        return option

    def _call_instead(self, context: click.Context, parameter: click.Parameter, value: Any) -> None:
        """Call ``instead`` with a given value, and end the program."""
        if self.instead is not None and value is not None and not context.resilient_parsing:
            self.instead(value)
            context.exit()


class HeadedOption(click.Option):
    """An option with the heading under which help lists it."""

    heading = Heading.OTHER


class Command(click.Command):
    """A command whose help lists many options under headings, and ends with the files that ``--write`` writes."""

    outputs: Outputs | None = None

    def heading_of(self, parameter: click.Parameter) -> Heading | None:
        """Return the heading of an option's group; None if the command has too few options for groups."""
        has_groups = sum(isinstance(one, click.Option) for one in self.params) > MAX_UNGROUPED
        return getattr(parameter, "heading", Heading.OTHER) if has_groups else None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [
            (heading, *record)
            for one in self.get_params(ctx)
            if isinstance(one, click.Option)
            and (heading := self.heading_of(one))
            and (record := one.get_help_record(ctx))
        ]
        if rows:
            write_under_headings(formatter, rows)
        else:
            super().format_options(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if self.outputs is not None:
            with formatter.section("Words and suffixes of --write"):
                formatter.write_dl(self.outputs.rows())


def command(
    group: click.Group,
    name: str,
    *,
    section: Section | None = None,
    no_args_is_help: bool = False,
    cls: type[Command] = Command,
    outputs: Outputs | None = None,
) -> Callable[[Run[Options]], Run[Options]]:
    """Register ``run(options)`` as a command of ``group``, in a ``section`` of its help.

    Without a section it is listed under those of other packages. ``outputs``: what its option ``--write`` writes. The
    rest is as ``click.Command`` has it.
    """

    def register(run: Run[Options]) -> Run[Options]:
        options_type: type[Options] = get_type_hints(run)["options"]

        def call(**values: object) -> None:
            run(_from_values(options_type, values))

        if section is not None:
            put_in(section, name)
        about = run.__doc__ or ""
        made = cls(
            name,
            callback=call,
            params=list(_parameters(options_type)),
            help=about,
            short_help=about.partition("\n\n")[0],  # of its own accord, Click would cut it to one line
            no_args_is_help=no_args_is_help,
        )
        made.outputs = outputs
        group.add_command(made)
        return run

    return register


def _parameters(options_type: Any) -> Iterator[click.Parameter]:
    """Yield the parameters of the fields; fields of groups come in the group's place."""
    for field, hint in _typed_fields(options_type):
        if is_dataclass(hint):
            yield from _parameters(hint)
        elif hint is not click.Context:
            declared: Argument | Option = hint.__metadata__[0]
            yield declared.parameter(field.name, hint.__origin__, _default(field))


def _typed_fields(options_type: Any) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(options_type, include_extras=True)
    return ((field, hints[field.name]) for field in fields(options_type))


def _default(field: Field[Any]) -> dict[str, Any]:
    """As keywords of Click."""
    if field.default_factory is not MISSING:
        return {"default": field.default_factory()}
    return {"required": True} if field.default is MISSING else {"default": field.default}


def _element(hint: Any) -> tuple[Any, bool]:
    """Return the type of one value, without the None of what is not given, and whether there may be several."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    return (get_args(hint)[0], True) if get_origin(hint) is list else (hint, False)


def _click_type(kind: Any, low: float | None = None, high: float | None = None) -> Any:
    """Return what Click takes as a type for this type of Python."""
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if get_origin(kind) is tuple:
        return tuple(_click_type(each) for each in get_args(kind))
    if issubclass(kind, Enum):
        return click.Choice(kind)
    if kind is Path:
        return click.Path(path_type=Path)
    if low is not None or high is not None:
        bounded: Any = click.IntRange if kind is int else click.FloatRange
        return bounded(low, high)
    return kind


def _from_values(options_type: Any, values: dict[str, Any]) -> Any:
    """Return the options out of the values of all parameters by their names."""
    given: dict[str, object] = {}
    for field, hint in _typed_fields(options_type):
        if is_dataclass(hint):
            given[field.name] = _from_values(hint, values)
        elif hint is click.Context:
            given[field.name] = click.get_current_context()
        else:
            value = values[field.name]
            given[field.name] = list(value) if get_origin(hint.__origin__) is list else value
    return options_type(**given)
