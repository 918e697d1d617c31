"""Registries: what is registered and taken back, and the entry points of other packages, wherever Python finds these."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.core.registry import MadeOfRegistry, Registry
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


def registry_of(**numbers: int) -> Registry[str, int]:
    registry: Registry[str, int] = Registry("number", "simcodesign.core.registry", "simcodesign.numbers_of_nobody")
    for name, number in numbers.items():
        registry.add(name, number)
    return registry


def test_changes_count_what_is_registered_and_taken_back() -> None:
    registry = registry_of(one=1000, two=2000)
    assert registry.changes == 2
    registry.remove("one")
    assert (registry.changes, dict(registry)) == (3, {"two": 2000})
    registry.register("one")(1000)
    assert (registry.changes, [*registry]) == (4, ["two", "one"])


def test_what_fails_changes_nothing() -> None:
    registry = registry_of(one=1000)
    with pytest.raises(InputError, match="this number is registered already, got 'one'"):
        registry.add("one", 2000)
    with pytest.raises(KeyError):
        registry.remove("two")
    assert (registry.changes, dict(registry)) == (1, {"one": 1000})


def test_what_is_registered_for_the_class_of_an_object() -> None:
    registry: Registry[type, str] = Registry("word", "simcodesign.core.registry", "simcodesign.words_of_nobody")
    registry.add(int, "whole")
    registry.add(float, "real")
    assert (registry.of(3), registry.of(3.0)) == ("whole", "real")
    with pytest.raises(InputError, match=r"no word is registered for this class, got 'bool' \(allowed: int, float\)"):
        registry.of(True)  # a subclass of int has a word of its own


def made_of(registry: Registry[str, int]) -> tuple[MadeOfRegistry[int], list[list[int]]]:
    """Numbers by twice their values, and the lists of numbers that they were made of."""
    made: list[list[int]] = []

    def make(numbers: list[int]) -> dict[str, int]:
        made.append(numbers)
        return {str(2 * number): number for number in numbers}

    return MadeOfRegistry(registry, make), made


def test_it_is_made_once_until_the_registry_changes() -> None:
    registry = registry_of(one=1, two=2)
    doubles, made = made_of(registry)
    assert made == []  # at first use: modules may register later
    assert [dict(doubles), dict(doubles), len(doubles)] == [{"2": 1, "4": 2}, {"2": 1, "4": 2}, 2]
    assert made == [[1, 2]]
    registry.add("three", 3)
    assert doubles["6"] == 3
    registry.remove("one")
    assert ("2" in doubles, [*doubles]) == (False, ["4", "6"])
    assert made == [[1, 2], [1, 2, 3], [2, 3]]


def test_it_is_made_again_when_one_takes_the_place_of_another() -> None:
    registry = registry_of(one=1)
    doubles, _ = made_of(registry)
    assert [*doubles] == ["2"]
    registry.remove("one")
    registry.add("one", 5)  # as many as before
    assert [*doubles] == ["10"]


def test_every_way_to_read_it_sees_the_change() -> None:
    """Each of them is the first to read after a change."""
    registry = registry_of(one=1)
    doubles, _ = made_of(registry)
    assert (doubles.get("2"), doubles.get("4"), doubles.get("4", 0)) == (1, None, 0)
    registry.add("two", 2)
    assert doubles.get("4") == 2
    registry.add("three", 3)
    assert [*doubles.items()] == [("2", 1), ("4", 2), ("6", 3)]
    registry.add("four", 4)
    assert (doubles | {"0": 0}) == {"2": 1, "4": 2, "6": 3, "8": 4, "0": 0}
    registry.remove("four")
    assert [*doubles.values()] == [1, 2, 3]
    registry.remove("three")
    assert len(doubles) == 2


def test_entry_points_are_in_what_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry has no change before it is read, and then that of the entry point."""
    name = "plug_in_of_what_is_made"
    (tmp_path / f"{name}.py").write_text(PLUG_IN)
    install(tmp_path, name, f"[simcodesign.{name}]\nthree = {name}\n")
    numbers.append(Registry("number", "simcodesign.core.registry", f"simcodesign.{name}"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    doubles, made = made_of(numbers[-1])
    assert (dict(doubles), made) == ({"6": 3}, [[3]])
