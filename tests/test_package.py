"""The package as it is imported: light, with every public name, and ``compare`` always the function."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import simcodesign

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ["importlib.metadata", "networkx", "numpy", "pandas", "rich", "scipy", "simpy", "typer", "yaml"]


def run_fresh(source: str) -> str:
    """The output of ``source`` in a new interpreter, where nothing is imported yet."""
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_stays_light() -> None:
    loaded = run_fresh(f"import sys, simcodesign; print([m for m in {HEAVY} if m in sys.modules])")
    assert loaded == "[]"


@pytest.mark.parametrize("name", simcodesign.__all__)
def test_every_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(simcodesign, name) is not None
    assert name in dir(simcodesign)


def test_public_names_are_the_objects_of_their_modules() -> None:
    assert simcodesign.InputError.__module__ == "simcodesign.errors"
    assert simcodesign.Machine.__module__ == "simcodesign.describe.machine"
    assert simcodesign.Workload.__module__ == "simcodesign.describe.workload"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'simcodesign' has no attribute 'simulat'"):
        _ = simcodesign.simulat


@pytest.mark.parametrize(
    "first",
    [
        "from simcodesign.compare import compare",
        "import simcodesign.compare",
        "import importlib; importlib.import_module('simcodesign.compare')",
        "from simcodesign import compare",
        "simcodesign.compare",
        "simcodesign.compare; import simcodesign.compare",
        "from simcodesign import *",
        "import importlib; importlib.reload(importlib.import_module('simcodesign.compare'))",
        "import simcodesign.compare; import importlib; importlib.reload(simcodesign)",
    ],
)
def test_compare_is_the_function_whatever_was_imported_first(first: str) -> None:
    source = (
        f"import sys, types, simcodesign; {first}; home = sys.modules['simcodesign.compare']\n"
        "from simcodesign.compare import compare as direct\n"
        "from simcodesign import compare as public\n"
        "assert isinstance(home, types.ModuleType) and isinstance(direct, types.FunctionType)\n"
        "print(simcodesign.compare is public is direct is home.compare)"
    )
    assert run_fresh(source) == "True"


def test_compare_can_be_replaced_by_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simcodesign, "compare", len)
    assert simcodesign.compare is len


def test_other_submodules_are_bound_as_usual() -> None:
    assert run_fresh("import simcodesign.errors; print(simcodesign.errors.__name__)") == "simcodesign.errors"


def test_the_version_is_that_of_the_project_file() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    try:
        metadata.version("simcodesign")
    except metadata.PackageNotFoundError:
        assert simcodesign.__version__ == "unknown"
    else:
        assert simcodesign.__version__ == written
