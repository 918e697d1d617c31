"""Finding the cases: every module of the folder ``validation`` that defines ``CASES``.

The folder stands beside the package in a checkout and inside it when installed. It is loaded under one name in both,
so that every process that loads it finds the same modules, whatever its search path is.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.yaml.files import shipped_path
from simcodesign.studies.validation.case import Case

#: The name under which the shipped cases are loaded.
PACKAGE = "simcodesign.validation"


def load_cases(folder: Path | None = None) -> tuple[Case, ...]:
    """All cases of the shipped folder or of ``folder``, in the order of modules and of their lists.

    InputError for a folder without ``__init__.py``, a module that cannot be imported, what is no case, and a name that
    two cases share.
    """
    homes: dict[str, str] = {}
    cases = []
    for module, case in _found(folder):
        if case.name in homes:
            raise InputError(f"two cases of one name, in {homes[case.name]} and {module}", value=case.name)
        homes[case.name] = module
        cases.append(case)
    return tuple(cases)


def _found(folder: Path | None) -> Iterator[tuple[str, Case]]:
    package = _package(folder)
    prefix = f"{package.__name__}."
    found = walk_packages(package.__path__, prefix, onerror=_module)
    names = sorted(info.name.removeprefix(prefix) for info in found if not info.ispkg)
    for name in names:
        if name.rpartition(".")[2].startswith("_"):
            continue
        listed = getattr(_module(f"{prefix}{name}"), "CASES", ())
        if not isinstance(listed, list | tuple):
            raise InputError(f"{name}.CASES", value=listed, allowed="a list of cases")
        for case in listed:
            if not isinstance(case, Case):
                raise InputError(f"{name}.CASES holds what is no case", value=case)
            yield name, case


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:  # whatever a module may do
        raise InputError(f"cases of {name.rpartition('.')[2]}: {type(error).__name__}: {error}") from error


def _package(folder: Path | None) -> ModuleType:
    """The package of the cases; in a checkout the shipped one is no submodule that an import would find."""
    home = (folder or shipped_path("validation", "__init__.py").parent).resolve()
    name = PACKAGE if folder is None else f"simcodesign_cases_{zlib.crc32(str(home).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    init = home / "__init__.py"
    if not init.is_file():
        raise InputError("no cases", Place(str(home)), allowed="a folder with __init__.py")
    spec = spec_from_file_location(name, init, submodule_search_locations=[str(home)])
    if spec is None or spec.loader is None:
        raise InputError("cannot be loaded", Place(str(init)))
    sys.modules[name] = package = module_from_spec(spec)
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[name]
        raise
    return package
