"""Commands whose options are a dataclass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from simcodesign.cli.options_as_signature import command


@dataclass(frozen=True, kw_only=True)
class Shared:
    loud: Annotated[bool, typer.Option("--loud")] = False


@dataclass(frozen=True, kw_only=True)
class Options:
    name: Annotated[str, typer.Argument()]
    shared: Shared
    often: Annotated[int, typer.Option(min=1)] = 1
    words: Annotated[list[str], typer.Option("--word")] = field(default_factory=list)
    context: typer.Context


@dataclass(frozen=True, kw_only=True)
class Twice:
    first: Shared
    second: Shared


def called(*arguments: str) -> Options:
    """The options that a command gets which is called with these arguments."""
    calls: list[Options] = []
    app = typer.Typer()

    @command(app, "greet")
    def run(options: Options) -> None:
        """Greet somebody."""
        calls.append(options)

    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return calls[0]


def test_defaults_are_those_of_the_dataclass() -> None:
    options = called("Ada")
    assert (options.name, options.often, options.words, options.shared) == ("Ada", 1, [], Shared(loud=False))


def test_fields_of_groups_are_options_too() -> None:
    options = called("Ada", "--loud", "--often", "3", "--word", "a", "--word", "b")
    assert (options.often, options.words, options.shared.loud) == (3, ["a", "b"], True)


def test_a_field_gets_the_context() -> None:
    assert called("Ada").context.params["name"] == "Ada"


def test_help_is_the_docstring() -> None:
    app = typer.Typer()

    @command(app, "greet")
    def run(options: Options) -> None:
        """Greet somebody."""

    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    assert "Greet somebody." in text
    assert all(option in text for option in ("--loud", "--often", "--word"))


def test_two_groups_with_one_option_are_refused() -> None:
    with pytest.raises(ValueError, match="duplicate parameter name: 'loud'"):

        @command(typer.Typer(), "greet")
        def run(options: Twice) -> None: ...
