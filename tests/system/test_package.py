"""The package as it is imported: light, with every public name, and ``compare`` always the function."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.version import Version

import simcodesign
from simcodesign.core.native.shared_library import library
from tests import ROOT

HEAVY = ["click", "importlib.metadata", "networkx", "numpy", "pandas", "rich", "scipy", "simpy", "yaml"]
LARGE = ["dask", "lark", "matplotlib", "networkx", "pandas", "pyarrow", "scipy", "sympy"]
#: What small cases need as little, and takes a tenth of their time or more.
UNUSED = ["pydantic", "rich.markdown", "rich.progress", "simcodesign.locality.streams.kernels"]
#: What one command alone needs not; SimPy looks up its own version.
UNUSED_BY = {
    "forecast": [
        "importlib.metadata",
        "numpy.random",
        "simcodesign.engine",
        "simcodesign.generate",
        "simpy",
        "zipfile",
    ],
    "simulate": ["simcodesign.analytic", "simcodesign.comparison", "simcodesign.studies"],
    "compare": [],
}
#: Modules of the package that a run may import, of more than 1,000.
MOST_MODULES = {"--help": 60, "forecast jacobi torus-cluster": 285, "simulate jacobi torus-cluster": 303}


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


@pytest.mark.parametrize("command", ["forecast", "simulate", "compare"])
def test_small_cases_load_no_large_package(command: str) -> None:
    """Loading these takes longer than all that the command does."""
    unwanted = [*LARGE, *UNUSED, *UNUSED_BY[command]]
    if library() is not None:
        unwanted.append("simpy")
    call = f"cli.main(['{command}', 'jacobi', 'torus-cluster', '-P', '4'])"
    loaded = run_fresh(
        "import sys; from simcodesign import cli\n"
        f"assert {call} == 0; print()\n"
        f"print([name for name in {unwanted} if name in sys.modules])\n"
        "commands = 'simcodesign.cli.commands.'\n"
        "print(*(name.removeprefix(commands) for name in sys.modules if name.startswith(commands)))"
    )
    module = "compare" if command == "compare" else "forecast_simulate"
    heavy, modules = loaded.splitlines()[-2:]
    assert heavy == "[]"
    assert set(modules.split()) - {"fits", "teach"} == {module}  # a folder of commands, which is looked into


@pytest.mark.parametrize("arguments", MOST_MODULES)
def test_runs_import_few_modules_of_the_package(arguments: str) -> None:
    """Each takes about half a millisecond, a dataclass of it as much again: they are most of the start."""
    loaded = run_fresh(
        "import sys; from simcodesign import cli\n"
        f"assert cli.main({arguments.split()}) == 0; print()\n"
        "print(sum(name.partition('.')[0] == 'simcodesign' for name in sys.modules))"
    )
    assert int(loaded.splitlines()[-1]) <= MOST_MODULES[arguments]


@pytest.mark.parametrize("name", simcodesign.__all__)
def test_every_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(simcodesign, name) is not None


def test_only_public_names_are_listed() -> None:
    """Also of the words of programs, which are none of the package itself: ``sc.read`` is no disk access."""
    assert dir(simcodesign) == sorted(simcodesign.__all__)
    assert dir(simcodesign.rank) == sorted(simcodesign.rank.__all__)
    marks = {"compute", "kernel", "phase"}  # of mpi4py programs, which yield no operations
    assert {*simcodesign.rank.__all__} & {*simcodesign.__all__} == marks
    with pytest.raises(AttributeError, match="'simcodesign' has no attribute 'read'"):
        _ = simcodesign.read


def test_public_names_are_the_objects_of_their_modules() -> None:
    assert simcodesign.rank.__name__ == "simcodesign.describe.python_programs.rank"
    assert simcodesign.InputError.__module__ == "simcodesign.core.errors"
    assert simcodesign.Machine.__module__ == "simcodesign.describe.machine"
    assert simcodesign.Workload.__module__ == "simcodesign.describe.workload"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'simcodesign' has no attribute 'simulat'"):
        _ = simcodesign.simulat


def test_compare_can_be_replaced_by_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simcodesign, "compare", len)
    assert simcodesign.compare is len


def test_other_submodules_are_bound_as_usual() -> None:
    assert (
        run_fresh("import simcodesign.core.errors; print(simcodesign.core.errors.__name__)")
        == "simcodesign.core.errors"
    )


def test_the_version_is_that_of_the_tags() -> None:
    """Of the installation of this checkout: the last tag, or what comes after it."""
    version = simcodesign.__version__
    if version == "unknown":
        pytest.skip("this checkout is not installed")
    assert version == metadata.version("simcodesign")
    assert Version(version).release >= (0, 1)


def test_a_checkout_that_is_not_installed_has_no_version(tmp_path: Path) -> None:
    """And not that of another one, which is."""
    (tmp_path / "simcodesign").mkdir()
    copy = tmp_path / "simcodesign" / "__init__.py"
    copy.write_bytes((ROOT / "simcodesign" / "__init__.py").read_bytes())
    (tmp_path / "pyproject.toml").touch()
    at = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    assert run_fresh(f"{at}; import simcodesign; print(simcodesign.__version__)") == "unknown"


def test_no_file_says_the_version() -> None:
    """It comes from tags alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["source"] == "vcs"
