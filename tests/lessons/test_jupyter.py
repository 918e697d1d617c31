"""Notebooks for Jupyter: they have the cells of the marimo files, run from the top down, and follow their format."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.describe.effects import effect_names, unregister
from simcodesign.lessons.courses.jupyter import notebook_file, notebook_names, to_jupyter, write_notebook
from tests import ROOT


@pytest.fixture(autouse=True)
def _no_effect_stays() -> Any:
    before = effect_names()
    yield
    for name in set(effect_names()) - set(before):
        unregister(name)


def written(name: str, folder: Path) -> dict[str, Any]:
    write_notebook(name, folder / f"{name}.ipynb")
    found: dict[str, Any] = json.loads((folder / f"{name}.ipynb").read_text(encoding="utf-8"))
    return found


def sources(notebook: dict[str, Any]) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", notebook_names())
def test_cells_are_those_of_the_marimo_file(name: str, tmp_path: Path) -> None:
    """By their syntax trees, so that texts of several lines are the same too."""
    tree = ast.parse(notebook_file(name).read_text(encoding="utf-8"))
    cells = [node.body[:-1] for node in tree.body if isinstance(node, ast.FunctionDef)]
    expected = sorted(ast.dump(ast.Module(body, [])) for body in cells if body)
    found = sorted(ast.dump(ast.parse(source)) for source in sources(written(name, tmp_path)))
    assert found == expected


@pytest.mark.parametrize("name", notebook_names())
def test_it_runs_from_the_top_down_without_marimo(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "marimo", None)
    scope: dict[str, Any] = {"__name__": "__main__"}
    for source in sources(written(name, tmp_path)):
        exec(compile(source, name, "exec"), scope)


@pytest.mark.parametrize("name", notebook_names())
def test_it_follows_the_format(name: str, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = written(name, tmp_path)
    nbformat.validate(notebook)
    first = "".join(notebook["cells"][0]["source"])
    assert len(first) > 20
    assert "marimo" not in first


def test_cells_are_put_in_an_order_that_runs() -> None:
    text = "import marimo\n\n@app.cell\ndef _(a):\n    b = a + 1\n    return (b,)\n\n@app.cell\ndef _():\n    a = 1\n    return (a,)\n"
    assert sources(to_jupyter(text, Path("n.py"))) == ["a = 1", "b = a + 1"]
    with pytest.raises(InputError, match="need one another"):
        to_jupyter(text.replace("def _():", "def _(b):"), Path("n.py"))


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for suffix in ("ipynb", "py"):
        path = tmp_path / f"n.{suffix}"
        assert cli.main(["lesson", "notebook", "own_effect", "--write", str(path)]) == 0
        assert path.is_file()
    out = capfd.readouterr().out.splitlines()
    assert out[0].endswith(f": jupyter lab {tmp_path / 'n.ipynb'}")
    assert out[1].endswith(f"marimo edit {tmp_path / 'n.py'}")
    assert ("pip install 'simcodesign[notebooks]', then" in out[1]) is (find_spec("marimo") is None)
    assert cli.main(["lesson", "notebook", "own_efect", "--write", str(tmp_path / "n.py")]) == 2
    assert "own_effect" in capfd.readouterr().err


@pytest.mark.skipif(find_spec("marimo") is not None, reason="marimo is installed")
def test_without_marimo_the_script_prints_what_to_install(tmp_path: Path) -> None:
    """Python prints the line that fails, with its comment; marimo accepts nothing else before the import."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "lessons/notebooks/own_effect.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install 'simcodesign[notebooks]'" in done.stderr
    assert "simcodesign lesson notebook own_effect --write" in done.stderr
