"""Finding the cases: every module of the folder ``validation`` that defines ``CASES``.

The folder is next to the package in a checkout and inside it when installed. It is loaded under one name in both,
so that every process that loads it finds the same modules, whatever its search path is.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import check_execution
from simcodesign.describe.yaml.files import shipped_path
from simcodesign.studies.validation.case import Case, Collection

#: The name under which the shipped cases are loaded.
PACKAGE = "simcodesign.validation"


def load_cases(folder: Path | None = None) -> tuple[Case, ...]:
    """All cases of the shipped folder or of ``folder``, in the order of modules and of their lists.

    The folder and those in it need no ``__init__.py``; modules whose names begin with an underscore are for the others
    to import. InputError for a folder without modules, a module that cannot be imported, what is no case, and a name
    that two cases share.
    """
    homes: dict[str, str] = {}
    cases = []
    for module, case in _cases_by_module(folder):
        if case.name in homes:
            raise InputError(f"two cases of one name, in {homes[case.name]} and {module}", value=case.name)
        homes[case.name] = module
        cases.append(case)
    return tuple(cases)


def bundled_module(name: str) -> ModuleType:
    """Import a module of the bundled folder, for example ``measured.benchmark``."""
    return _module(f"{_package(_bundled(), shipped=True)}.{name}")


def _bundled() -> Path:
    return shipped_path("validation", "__init__.py").parent.resolve()


def _cases_by_module(folder: Path | None) -> Iterator[tuple[str, Case]]:
    home = folder.resolve() if folder is not None else _bundled()
    names = sorted(".".join(path.relative_to(home).with_suffix("").parts) for path in home.rglob("[!._]*.py"))
    names = [name for name in names if not name.startswith(".") and ".." not in name]  # of no hidden folder
    if not names:
        raise InputError("no cases", Place(str(home)), allowed="a folder of Python modules that define CASES")
    if folder is not None:
        check_execution(Place("--cases"), str(folder))
    prefix = f"{_package(home, shipped=folder is None)}."
    for name in names:
        listed = getattr(_module(f"{prefix}{name}"), "CASES", ())
        if not isinstance(listed, list | tuple):
            raise InputError(f"{name}.CASES", value=listed, allowed="a list of cases")
        for case in listed:
            if not isinstance(case, Case):
                raise InputError(f"{name}.CASES holds what is no case", value=case)
            yield name, replace(case, collection=_collection(prefix + name, case.collection))


def _collection(module: str, given: Collection) -> Collection:
    """Return the collection declared by the nearest package around a module."""
    if given.title:
        return given
    package = module.rpartition(".")[0]
    while package:
        if isinstance(known := getattr(sys.modules.get(package), "COLLECTION", None), Collection):
            return known
        package = package.rpartition(".")[0]
    return given


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:  # whatever a module may do
        raise InputError(f"cases of {name.rpartition('.')[2]}: {type(error).__name__}: {error}") from error


def _package(home: Path, shipped: bool) -> str:
    """Return the name of the package of the cases.

    In a checkout the shipped one is no submodule that an import would find.
    """
    name = PACKAGE if shipped else f"simcodesign_cases_{zlib.crc32(str(home).encode()):08x}"
    if name in sys.modules:
        return name
    init = home / "__init__.py"
    if init.is_file():
        spec = spec_from_file_location(name, init, submodule_search_locations=[str(home)])
        assert spec is not None  # of a file that ends in .py
    else:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(home)]
    sys.modules[name] = package = module_from_spec(spec)
    try:
        if spec.loader is not None:
            spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[name]
        raise
    return name
