"""Registries: the entry points of other packages, wherever Python finds these."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from simcodesign.core.registry import Registry
from tests.extension.installation import install

PLUG_IN = """\
from tests.core.test_registry import numbers

numbers[-1].add("three", 3)
"""
#: The registry that the entry point adds to.
numbers: list[Registry[str, int]] = []


@pytest.mark.parametrize("archive", [False, True])
def test_entry_points_in_folders_and_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: bool) -> None:
    name = "plug_in_of_an_archive" if archive else "plug_in_of_a_folder"
    (tmp_path / f"{name}.py").write_text(PLUG_IN)
    install(tmp_path, name, f"[simcodesign.{name}]\nthree = {name}\n")
    numbers.append(Registry("number", "simcodesign.core.registry", f"simcodesign.{name}"))
    place = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path) if archive else str(tmp_path)
    monkeypatch.setattr(sys, "path", [place, *sys.path])
    assert dict(numbers[-1]) == {"three": 3}


def test_where_nobody_has_entry_points_none_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "another", "[console_scripts]\nsimcodesign = simcodesign.cli:main\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr("importlib.metadata.entry_points", None)
    assert not Registry("number", "simcodesign.core.registry", "simcodesign.numbers_of_nobody")
