"""The notebooks of lessons as scripts: what they assert holds, and the broadcast by hand is that of the engine.

They are run cell by cell by a stand-in of marimo's ``App``, which takes 15 s to import and knows no more of cells than
which needs what; the tests of ``make test-all`` take marimo where it is installed.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simcodesign import Machine, simulate
from simcodesign.describe.effects import effect_names, unregister
from tests import ROOT

NOTEBOOKS = sorted((ROOT / "lessons" / "notebooks").glob("*.py"))


class App:
    """The cells of a notebook, which are run as soon as all names that they need are known."""

    def __init__(self) -> None:
        self.cells: list[Callable[..., Any]] = []

    def cell(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keep a cell."""
        self.cells.append(function)
        return function

    def run(self) -> dict[str, Any]:
        """Run all cells; the names that they define."""
        known: dict[str, Any] = {}
        waiting = list(self.cells)
        while waiting:
            cell = next(one for one in waiting if set(inspect.signature(one).parameters) <= set(known))
            waiting.remove(cell)
            found = cell(*(known[name] for name in inspect.signature(cell).parameters))
            last = inspect.getsource(cell).strip().splitlines()[-1]
            names = [name.strip() for name in last.removeprefix("    return").strip(" ()").split(",") if name.strip()]
            known |= dict(zip(names, found or (), strict=True))
        return known


def defined_by(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a notebook, and what its cells define."""
    stand_in = types.ModuleType("marimo")
    stand_in.App = App  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "marimo", stand_in)
    scope: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    found: dict[str, Any] = scope["app"].run()
    return found


@pytest.fixture(autouse=True)
def _no_effect_stays() -> Any:
    before = effect_names()
    yield
    for name in set(effect_names()) - set(before):
        unregister(name)


def test_there_are_four() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["heat_on_ranks", "own_effect", "reference_engine", "simpy_by_hand"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_what_it_asserts_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert defined_by(path, monkeypatch)


def test_the_broadcast_by_hand_is_that_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs: where the smaller number is first at the same time, as the event contract has it."""
    (path,) = (one for one in NOTEBOOKS if one.stem == "simpy_by_hand")
    broadcast = defined_by(path, monkeypatch)["broadcast"]
    for nodes in (2, 4, 8, 16, 32):
        network = {"kind": "mesh", "shape": [nodes]}
        machine = Machine.load(
            {
                "name": "line",
                "nodes": nodes,
                "processor": {"rate": "1 GFLOP/s"},
                "network": {
                    "startup": "1 us",
                    "bandwidth": "1 GB/s",
                    "sends": "blocking",
                    "distance": "none",
                    "topology": network,
                },
            }
        )
        for order in ("near", "far"):
            engine_s = simulate(
                "broadcast", machine, {"P": nodes, "m": 1e6, "order": order}, effects=["links"]
            ).headline_s
            assert broadcast(nodes, order, 1e-6, 1e-3, later_s=1e-11) == pytest.approx(engine_s, rel=1e-5)


@pytest.mark.thorough
@pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed: pip install 'simcodesign[notebooks]'")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_marimo_runs_them_as_scripts(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
