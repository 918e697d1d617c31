"""A command that another package brings: registered from here, run as the commands of the package are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from pkgutil import walk_packages

import click
import pytest
from click.testing import CliRunner

import simcodesign.cli.commands
from simcodesign.cli.app import app
from tests.extension import count_messages
from tests.extension.installation import install
from tests.extension.installation import run as installed

# Importing the module registered it; other tests see the shipped commands alone.
COMMAND = app.commands.pop("count-messages")
#: One exchange of 8 values with two neighbours in each of 2 sweeps, on 4 ranks in a ring.
RING = ("jacobi", "crossbar-16", "-P", "4", "--set", "sweeps=2")


@pytest.fixture
def run() -> Iterator[CliRunner]:
    app.add_command(COMMAND)
    yield CliRunner()
    del app.commands["count-messages"]


def test_the_command_is_the_example() -> None:
    assert COMMAND.name == "count-messages"
    assert COMMAND.help == count_messages.run.__doc__


def test_fields_are_options_and_json_is_the_dataclass(run: CliRunner) -> None:
    result = run.invoke(app, ["count-messages", *RING, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout).keys() == {"messages", "message_bytes"}
    text = run.invoke(app, ["count-messages", *RING]).stdout
    assert f"{json.loads(result.stdout)['messages']:,} messages" in text
    assert run.invoke(app, ["count-messages", *RING, "--least", "1000000000"]).stdout == ""


def test_help_lists_it(run: CliRunner) -> None:
    text = run.invoke(app, ["--help"]).stdout
    assert "count-messages" in text.partition("Other (of other packages):")[2]


@pytest.mark.thorough
def test_an_entry_point_of_an_installed_package_is_found(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("count_messages.py"), tmp_path / "counting.py")
    install(tmp_path, "counting", "[simcodesign.commands]\ncount-messages = counting:run\n")
    counted = installed(tmp_path, "count-messages", *RING, "--json")
    assert (counted.returncode, counted.stderr) == (0, "")
    assert json.loads(counted.stdout).keys() == {"messages", "message_bytes"}


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [("--help",), ("count-messages",)])
def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    install(tmp_path, "counting", "[simcodesign.commands]\ncount-messages = no_such_module:run\n")
    refused = installed(tmp_path, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("error: the entry point 'count-messages'")
    assert installed(tmp_path, "show", "jacobi").returncode == 0


def test_modules_of_the_folder_are_found_by_themselves() -> None:
    """What stands in the folder is a command: no list names it."""
    commands = set(app.list_commands(click.Context(app)))
    every = walk_packages(simcodesign.cli.commands.__path__, f"{simcodesign.cli.commands.__name__}.")
    one_each = {one.name.rpartition(".")[2].replace("_", "-") for one in every if not one.ispkg}
    one_each -= {"list-show", "forecast-simulate", "validation"}
    several = {"list", "show", "schema", "forecast", "simulate", "validate", "demo", "score"}
    assert one_each | several == commands
