"""The machine of a test module, and a folder for its applications."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.aspen.machine import AspenMachine, load_machine


@pytest.fixture(scope="module")
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AspenMachine:
    """The text MACHINE of the module, loaded from a file."""
    path = tmp_path_factory.mktemp("machine") / "m.aspen"
    path.write_text(request.module.MACHINE, encoding="utf-8")
    return load_machine(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder."""
    return tmp_path_factory.mktemp("applications")
