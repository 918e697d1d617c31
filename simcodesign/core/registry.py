"""Registries: what can be added to the package without changing it, looked up by a key.

A registry holds what the modules of one folder of this package, and of folders in it, register when they are imported,
and what other installed packages bring: their entry points in the registry's group are loaded once, when the registry
is first read. What is looked up by its key is first looked for in the module of the same name (the closed form of the
class ``Computation`` of a module ``computation`` in a module ``computation``), so that a small run imports little.
A package ``ring_network`` adds a topology with these lines of its ``pyproject.toml``, where loading the class imports
the module that registers it::

    [project.entry-points."simcodesign.topologies"]
    ring = "ring_network.topology:Ring"
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, ItemsView, Iterator, Mapping
from functools import cache
from glob import escape, iglob
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar, cast

from simcodesign.core.errors import InputError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Registry(Mapping[Key, Value]):
    """Registered values, by key, in the order of registration; ``what`` names one of them in messages.

    ``module``: the dotted name of the module that makes the registry, in whose folder all modules register; ``group``:
    the group of the entry points.
    """

    def __init__(self, what: str, module: str, group: str) -> None:
        self.what, self.package, self.group = what, module.rpartition(".")[0], group
        self._registered: dict[Key, Value] = {}
        self.changes = 0

    def add(self, key: Key, value: Value) -> None:
        """Register a value. Raises InputError if another value is registered for the key."""
        if self._registered.setdefault(key, value) is not value:
            raise InputError(f"this {self.what} is registered already", value=key, allowed="a name of its own")
        self.changes += 1

    def register(self, key: Key) -> Callable[[Value], Value]:
        """Return a decorator that registers what it decorates."""

        def decorate(value: Value) -> Value:
            self.add(key, value)
            return value

        return decorate

    def remove(self, key: Key) -> None:
        """Take back what was registered, as a test does. Raises KeyError if nothing was."""
        del self._registered[key]
        self.changes += 1

    def of(self, described: object) -> Value:
        """Return what is registered under the class of an object. Raises InputError if nothing is."""
        try:
            return self[cast(Key, type(described))]
        except KeyError:
            allowed = ", ".join(getattr(key, "__name__", str(key)) for key in self)
            what = f"no {self.what} is registered for this class"
            raise InputError(what, value=type(described).__name__, allowed=allowed) from None

    def __getitem__(self, key: Key) -> Value:
        load_entry_points(self.group)
        if key not in self._registered:
            import_namesake(self.package, key)
        return self._registered[key] if key in self._registered else self._all()[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[Key, Value]:
        import_modules_of(self.package)
        load_entry_points(self.group)
        return self._registered


Made = TypeVar("Made")


class MadeOfRegistry(Mapping[str, Made]):
    """What ``make`` makes of all that a registry has, made again when something is registered or taken back."""

    def __init__(self, registry: Registry[Key, Value], make: Callable[[list[Value]], dict[str, Made]]) -> None:
        self._registry, self._make, self._changes = registry, make, -1
        self._made: dict[str, Made] = {}

    def __getitem__(self, key: str) -> Made:
        return self._now()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __or__(self, other: Mapping[str, Made]) -> dict[str, Made]:
        return {**self._now(), **other}

    def get(self, key: str, default: Any = None) -> Any:
        """As of a dict, and as quick."""
        return self._now().get(key, default)

    def items(self) -> ItemsView[str, Made]:
        """As of a dict, and as quick."""
        return self._now().items()

    def _now(self) -> dict[str, Made]:
        if self._changes != self._registry.changes:
            self._made = self._make([*self._registry.values()])
            self._changes = self._registry.changes
        return self._made


#: Packages whose modules, and groups whose entry points, are loaded or being loaded.
_loaded: set[str] = set()


def import_modules_of(package: str) -> None:
    """Import every module of this folder and of the folders in it, once in a process."""
    if package in _loaded:
        return
    _loaded.add(package)
    for module in iter_modules(import_module(package).__path__, f"{package}."):
        if module.ispkg:
            import_modules_of(module.name)
        else:
            import_module(module.name)


def import_namesake(package: str, key: Hashable) -> None:
    """Import the module of this folder, if there is one, that has the name of a key.

    The key is the module of a class, the first of several words, or a word.
    """
    first = key[0] if isinstance(key, tuple) and key else key
    name = first.__module__.rpartition(".")[2] if isinstance(first, type) else first
    if not isinstance(name, str) or not name.isidentifier():
        return
    folders = import_module(package).__path__
    if any(Path(folder, f"{name}.py").is_file() for folder in folders):
        import_module(f"{package}.{name}")


def load_entry_points(group: str) -> None:
    """Load the entry points of other packages in this group, once in a process.

    Raises InputError naming the package whose entry point cannot be loaded.
    """
    if group in _loaded:
        return
    _loaded.add(group)
    if not _is_extended(tuple(sys.path)):
        return
    from importlib import metadata

    for point in metadata.entry_points(group=group):
        try:
            point.load()
        except Exception as error:
            _loaded.discard(group)
            package = point.dist.name if point.dist else "?"
            what = f"the entry point {point.name!r} of the installed package {package} cannot be loaded"
            raise InputError(f"{what} ({group}): {error}", value=point.value) from error


@cache
def _is_extended(path: tuple[str, ...]) -> bool:
    """Whether entry points of ours may be installed in these folders, or hidden in archives.

    Nobody has any as a rule, and this look at the files takes a tenth of what ``importlib.metadata`` takes.
    """
    if any(Path(place).is_file() for place in path):
        return True
    files = (file for place in path for file in iglob(f"{escape(place or '.')}/*.*-info/entry_points.txt"))
    return any(b"[simcodesign." in Path(file).read_bytes() for file in files)


def function_of(module: str, name: str) -> Any:
    """Return a function of a module of this package, imported when the method that calls it is called."""
    return getattr(import_module(f"simcodesign.{module}"), name)
