"""Docstrings of public names are reference text: each parameter, what is raised, and an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import simcodesign
from simcodesign.analytic.requirements_per_process import requirements
from simcodesign.calibration.calibrate import timings_of
from simcodesign.describe.topology.build import build_topology
from simcodesign.engine.simulate import schedule_of
from simcodesign.studies.elasticities.elasticities import elasticities
from simcodesign.studies.extrapolation.virtual_profiler import profiled
from simcodesign.studies.scaling.isoefficiency import isoefficiency

NAMES = [
    *(name for name in simcodesign.__all__ if name != "__version__"),
    *(f"rank.{word}" for word in simcodesign.rank.__all__),
]
#: Where the arguments of a function that has others "as for" another one are described.
AS_FOR = re.compile(r"as(?: for|\s+in)?\s+``(\w+)``")
#: Functions of programs in Python, whose errors are raised where they are yielded; and what raises nothing.
QUIET = {f"rank.{word}" for word in simcodesign.rank.__all__} - {"rank.compute", "rank.group"} | {"bundled"}


def public(name: str) -> Any:
    """A public name, or a word of programs as ``rank.send``."""
    return attrgetter(name)(simcodesign)


def documented(name: str) -> str:
    """The docstring of a public name: of ``sc.rank.world``, that of its class."""
    return inspect.getdoc(public(name)) or ""


def all_words(name: str, seen: frozenset[str] = frozenset()) -> str:
    """The docstring, and those to which it refers for other arguments."""
    text = documented(name)
    for other in {*AS_FOR.findall(text)} & {*NAMES} - seen - {name}:
        text += all_words(other, seen | {name})
    return text


#: Functions with examples that are imported from their own modules.
OTHERS = [
    requirements,
    timings_of,
    build_topology,
    schedule_of,
    elasticities,
    profiled,
    isoefficiency,
    simcodesign.Machine.load,
    simcodesign.Workload.load,
]


@pytest.mark.parametrize("described", [*map(public, NAMES), *OTHERS], ids=[*NAMES, *(one.__name__ for one in OTHERS)])
def test_the_example_runs(described: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(described, "described") or [None]
    assert test is not None
    assert test.examples, "has no example"
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert said == []


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(public(name))])
def test_every_parameter_is_described(name: str) -> None:
    words = all_words(name)
    parameters = inspect.signature(public(name)).parameters.values()
    named = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
    assert [one for one in named if not re.search(rf"\b{one}\b", words)] == []


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(public(name))])
def test_what_is_raised_is_said(name: str) -> None:
    if name not in QUIET:
        assert re.search(r"InputError|[Rr]aises", all_words(name))


CLASSES = [name for name in NAMES if inspect.isclass(public(name))]


@pytest.mark.parametrize("name", [name for name in CLASSES if is_dataclass(public(name))])
def test_every_attribute_is_described(name: str) -> None:
    """In the docstring of its class."""
    words = documented(name)
    assert [one.name for one in fields(public(name)) if f"``{one.name}``" not in words] == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_method_and_property_is_described(name: str) -> None:
    """With its parameters."""
    described = public(name)
    for member, function in public_members(described):
        words = inspect.getdoc(function) or ""
        assert words, f"{name}.{member}"
        parameters = [*inspect.signature(function).parameters][1:]
        assert [one for one in parameters if not re.search(rf"\b{one}\b", words)] == [], f"{name}.{member}"


def public_members(described: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties of the class and of its bases in the package, as functions."""
    bases = [base for base in described.__mro__ if base.__module__.startswith("simcodesign.")]
    for name, one in (item for base in bases for item in vars(base).items()):
        function = getattr(one, "fget", None) or getattr(one, "func", None) or getattr(one, "__func__", one)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def own_members(module: Any) -> Iterator[tuple[type, str]]:
    """Public methods and properties that public classes of a module define, lambdas and aliases left out."""
    for name, described in vars(module).items():
        if inspect.isclass(described) and described.__module__ == module.__name__ and not name.startswith("_"):
            for member, one in vars(described).items():
                function = getattr(one, "fget", None) or getattr(one, "func", None) or getattr(one, "__func__", one)
                if not member.startswith("_") and inspect.isfunction(function) and function.__name__ == member:
                    yield described, member


def is_described(described: type, member: str) -> bool:
    """Whether the member, or the one of a base class that it replaces, has a docstring."""
    members = (vars(base)[member] for base in described.__mro__ if member in vars(base))
    return any((one.__func__ if isinstance(one, classmethod | staticmethod) else one).__doc__ for one in members)


@pytest.mark.thorough
def test_every_public_method_is_described_in_its_class_or_a_base_class() -> None:
    """As Ruff's D102, which does not look at base classes."""
    names = [one.name for one in pkgutil.walk_packages(simcodesign.__path__, "simcodesign.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    members = [member for module in modules for member in own_members(module)]
    assert len(members) > 1000
    assert [f"{one.__module__}.{one.__qualname__}.{name}" for one, name in members if not is_described(one, name)] == []
