"""One option, one meaning: an option name has one description in all commands, and no description has two names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click

from simcodesign.cli.app import app
from simcodesign.cli.sections import Heading

CONTEXT = click.Context(app)


def commands(group: click.Command = app, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that runs something, by its whole name."""
    if isinstance(group, click.Group):
        for each in group.list_commands(CONTEXT):
            command = group.get_command(CONTEXT, each)
            assert command is not None
            yield from commands(command, f"{name} {each}".strip())
    else:
        yield name, group


def declarations() -> Iterator[tuple[str, str, tuple[str, ...], str | None, str, Heading]]:
    """Command, option, all its names, metavar, help and heading."""
    for name, command in commands():
        for one in command.params:
            if isinstance(one, click.Option):
                names = tuple(sorted((*one.opts, *one.secondary_opts)))
                yield (
                    name,
                    max(one.opts, key=len),
                    names,
                    one.metavar,
                    one.help or "",
                    getattr(one, "heading", Heading.OTHER),
                )


def test_an_option_has_one_meaning() -> None:
    meanings: dict[str, dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, option, *meaning in declarations():
        meanings[option][tuple(meaning)].append(command)
    assert {option: dict(each) for option, each in meanings.items() if len(each) > 1} == {}


def test_a_meaning_has_one_option() -> None:
    names: dict[str, set[str]] = defaultdict(set)
    for _, option, _, _, text, _ in declarations():
        names[text].add(option)
    assert {text: options for text, options in names.items() if len(options) > 1} == {}


def test_a_short_name_belongs_to_one_option() -> None:
    owners: dict[str, set[str]] = defaultdict(set)
    for _, option, names, *_ in declarations():
        for short in names:
            owners[short].add(option)
    assert {short: options for short, options in owners.items() if len(options) > 1} == {}
