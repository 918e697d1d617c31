"""What a shell is offered, as Click asks for it."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from simcodesign import cli
from simcodesign.cli.app import app
from simcodesign.describe.yaml.files import available


def offered(*words: str) -> list[str]:
    """What the last word is completed to."""
    *arguments, typed = words
    return [one.value for one in ShellComplete(app, {}, "simcodesign", "_").get_completions(arguments, typed)]


def test_commands_are_completed() -> None:
    assert offered("fore") == ["forecast"]
    assert offered("swe") == ["sweep"]


def test_names_of_workloads_then_of_machines() -> None:
    assert offered("simulate", "") == available("workloads")
    assert offered("simulate", "jacobi", "") == available("machines")
    assert offered("simulate", "jacobi", "torus-c") == ["torus-cluster"]
    assert offered("compare", "jacobi", "torus-cluster", "fat-tree-c") == ["fat-tree-cluster"]
    assert {"jacobi", "torus-cluster"} <= set(offered("show", ""))
    assert offered("explore", "jacob") == ["jacobi"]


def test_anything_else_is_a_file() -> None:
    (item,) = ShellComplete(app, {}, "simcodesign", "_").get_completions(["simulate"], "./my")
    assert item.type == "file"


@pytest.mark.parametrize(("shell", "line"), [("zsh", "#compdef simcodesign"), ("fish", "complete --no-files")])
def test_scripts_are_printed(
    shell: str, line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_SIMCODESIGN_COMPLETE", f"{shell}_source")
    assert cli.main([]) == 0
    assert line in capfd.readouterr().out
