"""A command that another package brings: registered from here, run as the commands of the package are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pkgutil import iter_modules

import pytest
import typer
from typer.testing import CliRunner

import simcodesign.cli.commands
from simcodesign.cli.app import app
from tests.extension import count_messages

# Importing the module registered it; other tests see the shipped commands alone.
COMMAND = app.registered_commands.pop()
#: One exchange of 8 values with two neighbours in each of 2 sweeps, on 4 ranks in a ring.
RING = ("jacobi", "crossbar-16", "-P", "4", "--set", "sweeps=2")


@pytest.fixture
def run() -> Iterator[CliRunner]:
    app.registered_commands.append(COMMAND)
    yield CliRunner()
    app.registered_commands.remove(COMMAND)


def test_the_command_is_the_example() -> None:
    assert COMMAND.name == "count-messages"
    assert COMMAND.callback is not None
    assert COMMAND.callback.__doc__ == count_messages.run.__doc__


def test_fields_are_options_and_json_is_the_dataclass(run: CliRunner) -> None:
    said = run.invoke(app, ["count-messages", *RING, "--json"])
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout).keys() == {"messages", "message_bytes"}
    text = run.invoke(app, ["count-messages", *RING]).stdout
    assert f"{json.loads(said.stdout)['messages']:,} messages" in text
    assert run.invoke(app, ["count-messages", *RING, "--least", "1000000000"]).stdout == ""


def test_help_lists_it(run: CliRunner) -> None:
    assert "count-messages" in run.invoke(app, ["--help"]).stdout


def test_modules_of_the_folder_are_found_by_themselves() -> None:
    """What stands in the folder is a command: no list names it."""
    group = typer.main.get_group(app)
    commands = set(group.list_commands(typer.Context(group)))
    one_each = {module.name.replace("_", "-") for module in iter_modules(simcodesign.cli.commands.__path__)} - {
        "list-show",
        "validation",
    }
    assert one_each | {"list", "show", "validate", "demo", "sweep-store"} == commands
