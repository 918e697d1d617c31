"""Imports go strictly downward, read from the syntax tree of every module of the package.

A part is a package directly under ``simcodesign``. Within a layer, parts of the same group may
import each other; parts of different groups (the two readings, for instance) may not.

A module imports what it needs at its head. Inside functions stand only imports of optional packages, of slow modules
that are named here, and those of the command line, whose commands import what they run; all go downward as well.
``TYPE_CHECKING`` stands only before imports of large packages, for the types of what functions import.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests import ROOT

PACKAGE = "simcodesign"
FOLDER = ROOT / PACKAGE

# Low to high; a layer is a list of groups.
LAYERS: list[list[set[str]]] = [
    [{"core"}],
    [{"locality"}],
    [{"describe"}],
    [{"generate"}, {"fitting"}],
    [{"analytic"}, {"engine"}],
    [{"comparison"}, {"calibration"}, {"counters"}, {"mpi"}],
    [{"aspen"}],
    [{"studies"}],
    [{"lessons"}],
    [{"report"}, {"lab"}],
    [{"cli"}],
]
# Parts in which imports also lead up between the modules and folders of a folder; down alone in all others.
CLIMBING = {"analytic", "lessons", "locality", "report"}
# What reads files also has keys and entries that the folders below it need: imports of it from these do not count.
READERS = f"{PACKAGE}.describe.yaml."
# The two readings are independent: analytic stands above generate, and may still not import it.
FORBIDDEN = {("analytic", "generate")}
# The tour and the program entry stand above everything, and nothing imports them.
EXEMPT = {PACKAGE, f"{PACKAGE}.__main__"}
# What may be imported inside a function, because an installation may lack it.
OPTIONAL = {
    "IPython",
    "caliperreader",
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "nlopt",
    "otf2",
    "pyarrow",
    "pycubexr",
    "sympy",
}
# What may be imported inside a function alone, because only POSIX systems have it (not Windows).
POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
# What may be imported inside a function, because it takes long to import and is not always needed: large packages,
# modules of the library of C functions, and what some workloads have: ranks that differ, open streams, recordings of programs, traces of memory
# accesses, tables of measurements, outputs of benchmarks.
LARGE = {"networkx", "pandas", "scipy"}
SLOW = {
    "difflib",
    "hashlib",
    "importlib.metadata",
    "rich.progress",
    "shutil",
    "simcodesign.analytic.headline",
    "simcodesign.analytic.longest_path.recorded_path",
    "simcodesign.analytic.queueing.open_streams",
    "simcodesign.describe.goal.printer",
    "simcodesign.describe.goal.scanner",
    "simcodesign.describe.measured_tables.table",
    "simcodesign.fitting.readers.benchmarks.output.table",
    "simcodesign.locality.hierarchy.engine",
    "simcodesign.locality.hierarchy.counts",
    "simcodesign.locality.hierarchy.prefetch",
    "simcodesign.locality.hierarchy.shared",
    "simcodesign.locality.hierarchy.simulate",
    "simcodesign.locality.profile_files",
    "simcodesign.locality.stack.engine",
    "simcodesign.locality.stack.reuse",
    "simcodesign.locality.stack.writebacks",
    "simcodesign.locality.streams.from_profile",
    "simcodesign.locality.streams.kernels",
    "subprocess",
    "tempfile",
    "xml.etree",
}
# The commands: a function imports what it runs, so that the program starts at once. What the larger ones run stands in
# BODIES, which import at their heads, also the options of their command.
COMMANDS = "cli"
BODIES = f"{PACKAGE}.{COMMANDS}.run"
# Modules that import others by a name which is not known before: public names, commands, readers, engines, validation
# cases, and what registers itself: modules in the folder of a registry, and entry points of other packages; and the functions that
# methods of classes call which these functions import (``Machine.load``).
LOADERS = {
    PACKAGE,
    f"{PACKAGE}.cli.app",
    f"{PACKAGE}.core.registry",
    f"{PACKAGE}.engine.selection",
    f"{PACKAGE}.studies.validation.registry",
}

RANK = {part: level for level, groups in enumerate(LAYERS) for group in groups for part in group}
GROUP = {part: group for groups in LAYERS for group in groups for part in group}


@dataclass(frozen=True)
class Import:
    """One imported dotted name, and how it stands in the file: its line and whether inside a function."""

    target: str
    line: int
    local: bool


@dataclass(frozen=True)
class Module:
    """What the rules look at: the imports of a module, and the lines of what imports and hides types in other ways."""

    imports: tuple[Import, ...]
    loads: tuple[int, ...]
    type_checking: tuple[int, ...]


def read_package(folder: Path) -> dict[str, str]:
    """Source text by dotted module name; a package stands under its own name, followed by ``.__init__``."""
    paths = sorted(folder.rglob("*.py"))
    names = (".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in paths)
    return {name: path.read_text(encoding="utf-8") for name, path in zip(names, paths, strict=True)}


def plain(name: str) -> str:
    """The name under which a module is imported."""
    return name.removesuffix(".__init__")


@cache
def parsed(name: str, source: str) -> Module:
    """Module ``name``; relative imports made absolute, ``from a import b`` as ``a.b``."""
    recorded: list[Import] = []
    loads, checks = [], []
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while waiting:
        node, local = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            recorded += [Import(target, node.lineno, local) for target in targets(name, node)]
        elif isinstance(node, ast.Call) and word(node.func) == "import_module":
            loads.append(node.lineno)
        if word(node) == "TYPE_CHECKING":
            checks.append(getattr(node, "lineno", 0))
        local = local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(child, local) for child in ast.iter_child_nodes(node) if child not in types_of_large(node)]
    return Module(tuple(sorted(recorded, key=lambda item: item.line)), tuple(sorted(loads)), tuple(sorted(checks)))


def types_of_large(node: ast.AST) -> list[ast.AST]:
    """The lawful uses of TYPE_CHECKING under a node: its import, and a test before imports of large packages alone."""
    if isinstance(node, ast.ImportFrom) and node.module == "typing":
        return [alias for alias in node.names if alias.asname is None]
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Name) or node.orelse:
        return []
    large = (
        isinstance(item, ast.Import | ast.ImportFrom)
        and all(target.split(".")[0] in LARGE or is_slow(target) for target in targets("", item))
        for item in node.body
    )
    return [node.test] if all(large) else []


def word(node: ast.AST) -> str | None:
    """The name of a variable, an attribute, or of what is imported."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else node.name if isinstance(node, ast.alias) else None


def imports(name: str, source: str) -> tuple[Import, ...]:
    return parsed(name, source).imports


def targets(name: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    # Level 1 is the package that holds the module; a package holds its own __init__.
    above = name.split(".")[: -node.level] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    yield from (f"{base}.{alias.name}" for alias in node.names)


def part_of(dotted: str) -> str | None:
    """``describe`` for ``simcodesign.describe.machine``; empty for the package itself, else None."""
    head, *rest = dotted.split(".")
    if head != PACKAGE:
        return None
    return rest[0] if rest else ""


def direction(source: str, target: str) -> str | None:
    """What is wrong with part ``source`` importing part ``target``; None if nothing is."""
    if source not in RANK:
        return f"{source!r} has no layer"
    if target not in RANK:
        return f"imports {target!r}, which has no layer: import a name from its own module"
    if (source, target) in FORBIDDEN:
        return f"{source} may not import {target}"
    if RANK[target] > RANK[source]:
        return f"{source} imports upward from {target}"
    if RANK[target] == RANK[source] and target not in GROUP[source]:
        return f"{source} imports sideways from {target}"
    return None


def wrong_directions(modules: Mapping[str, str]) -> list[str]:
    recorded = []
    for name, source in modules.items():
        if plain(name) in EXEMPT:
            continue
        for item in imports(name, source):
            # The version of the package is read from its metadata, and leads to no module.
            if part_of(item.target) is None or item.target == f"{PACKAGE}.__version__":
                continue
            reason = direction(part_of(name) or "", part_of(item.target) or "")
            recorded += [f"{name}:{item.line}: {reason}"] if reason else []
    return recorded


def local_imports(modules: Mapping[str, str]) -> list[str]:
    return [
        f"{name}:{item.line}: imports {item.target} inside a function"
        for name, source in modules.items()
        if not is_command(name)
        for item in imports(name, source)
        if item.local and item.target.split(".")[0] not in OPTIONAL | LARGE | POSIX and not is_slow(item.target)
    ]


def is_command(name: str) -> bool:
    return part_of(name) == COMMANDS and not f"{name}.".startswith(f"{BODIES}.")


def is_slow(target: str) -> bool:
    return target in SLOW or target.rpartition(".")[0] in SLOW


def loaded_by_name(modules: Mapping[str, str]) -> list[str]:
    """Every call of import_module, whose result has no type and whose direction nobody sees."""
    return [
        f"{name}:{line}: import_module"
        for name, source in modules.items()
        if plain(name) not in LOADERS
        for line in parsed(name, source).loads
    ]


def type_checking(modules: Mapping[str, str]) -> list[str]:
    """Every other use of TYPE_CHECKING, under whatever name the typing module was imported."""
    return [
        f"{name}:{line}: TYPE_CHECKING"
        for name, source in modules.items()
        for line in parsed(name, source).type_checking
    ]


def dependencies(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Which modules each module imports, also inside functions: ``from a import b`` is ``a.b`` if that is a module, else
    ``a``."""
    known = {plain(name) for name in modules}
    graph: dict[str, set[str]] = {}
    for name, source in modules.items():
        candidates = (
            item.target if item.target in known else item.target.rpartition(".")[0] for item in imports(name, source)
        )
        graph[plain(name)] = {target for target in candidates if target in known}
    return graph


def within(folder: str, graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Which of the modules and folders that a folder holds import each other."""

    def held(module: str) -> str | None:
        inside = module.removeprefix(f"{folder}.")
        return None if inside == module else inside.partition(".")[0]

    inside: dict[str, set[str]] = {}
    for module, imported in graph.items():
        if (name := held(module)) is not None:
            inside.setdefault(name, set()).update(
                other for each in imported if (other := held(each)) not in (None, name)
            )
    return inside


def climbs(modules: Mapping[str, str], parts: Collection[str]) -> dict[str, list[str]]:
    """A cycle of modules and folders in every folder of these parts that has one: there an import leads up."""
    graph = {
        module: {each for each in imported if module.startswith(READERS) or not each.startswith(READERS)}
        for module, imported in dependencies(modules).items()
    }
    paths = [module.split(".") for module in graph if part_of(module) in parts]
    folders = {".".join(path[:depth]) for path in paths for depth in range(2, len(path))}
    found = {folder: cycle_of(within(folder, graph)) for folder in sorted(folders)}
    return {folder: members for folder, members in found.items() if members}


def cycle(modules: Mapping[str, str]) -> list[str]:
    """The modules of one import cycle, the first repeated at the end; empty if there is none."""
    return cycle_of(dependencies(modules))


def cycle_of(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


# The package itself.


@pytest.fixture(scope="module")
def package() -> dict[str, str]:
    return read_package(FOLDER)


def test_the_package_is_found(package: dict[str, str]) -> None:
    assert {f"{PACKAGE}.__init__", f"{PACKAGE}.core.errors", f"{PACKAGE}.describe.__init__"} <= package.keys()


def test_every_module_has_a_layer(package: dict[str, str]) -> None:
    parts = {part_of(name) for name in package if plain(name) not in EXEMPT}
    assert parts <= RANK.keys()


def test_imports_go_downward(package: dict[str, str]) -> None:
    assert wrong_directions(package) == []


def test_only_optional_and_slow_modules_are_imported_inside_functions(package: dict[str, str]) -> None:
    assert local_imports(package) == []


def test_what_only_posix_has_is_imported_inside_functions(package: dict[str, str]) -> None:
    heads = [
        f"{name}:{one.line}"
        for name in package
        for one in imports(name, package[name])
        if not one.local and one.target in POSIX
    ]
    assert heads == []


def test_modules_are_imported_by_statements(package: dict[str, str]) -> None:
    assert loaded_by_name(package) == []


def test_type_checking_is_used_for_large_packages_alone(package: dict[str, str]) -> None:
    assert type_checking(package) == []


def test_modules_form_no_cycle(package: dict[str, str]) -> None:
    assert cycle(package) == []


def test_arrows_lead_down_inside_parts(package: dict[str, str]) -> None:
    assert climbs(package, RANK.keys() - CLIMBING) == {}


# The checker: sources made up to break each rule, and their lawful neighbours.


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("core.units", "import simcodesign.describe.machine", "upward from describe"),
        ("describe.machine", "from simcodesign.engine.disk import Disk", "upward from engine"),
        ("describe.machine", "from simcodesign import cli", "upward from cli"),
        ("describe.machine", "from ..engine import disk", "upward from engine"),
        ("describe.__init__", "from ..engine import disk", "upward from engine"),
        ("describe.machine", "from .. import engine", "upward from engine"),
        ("describe.machine", "def f():\n    from simcodesign import engine", "upward from engine"),
        ("describe.machine", "try:\n    import simcodesign.engine\nexcept ImportError: ...", "upward"),
        ("analytic.forecast", "import simcodesign.generate.plan", "may not import generate"),
        ("analytic.forecast", "from simcodesign.engine import disk", "sideways from engine"),
        ("engine.disk", "from simcodesign.analytic import disk", "sideways from analytic"),
        ("generate.plan", "from simcodesign.analytic import disk", "upward from analytic"),
        ("locality.stack", "from simcodesign import fitting", "upward from fitting"),
        ("fitting.fit", "from simcodesign import generate", "sideways from generate"),
        ("counters.table", "from simcodesign import comparison", "sideways from comparison"),
        ("studies.sweep", "from simcodesign.report import sweep", "upward from report"),
        ("studies.replication", "from simcodesign import simulate", "has no layer"),
        ("studies.replication", "import simcodesign", "has no layer"),
        ("studies.replication", "from simcodesign import *", "has no layer"),
        ("cli", "from simcodesign.__main__ import main", "has no layer"),
        ("helpers", "from simcodesign.core import errors", "'helpers' has no layer"),
    ],
)
def test_a_wrong_direction_is_found(name: str, source: str, reason: str) -> None:
    (result,) = wrong_directions({f"{PACKAGE}.{name}": source})
    assert reason in result


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("core.units", "from simcodesign.core.errors import InputError"),
        ("studies.sweep.run", "from simcodesign.studies.replication.replicate import replicate"),
        ("comparison.compare", "from simcodesign.analytic import forecast\nfrom simcodesign.engine import simulate"),
        ("engine.disk", "from simcodesign.generate.plan import Plan\nfrom . import station"),
        ("describe.files", "from .machine import Machine\nfrom ..core.errors import InputError"),
        ("describe.__init__", "from .machine import Machine"),
        ("analytic.disk", "import numpy as np\nimport simcodesign_other.cli"),
        ("core.result", "from simcodesign import __version__"),
        ("__init__", "from simcodesign.cli import main"),
        ("__main__", "from simcodesign.cli import main"),
    ],
)
def test_a_right_direction_passes(name: str, source: str) -> None:
    assert wrong_directions({f"{PACKAGE}.{name}": source}) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import numpy",
        "async def f():\n    from simcodesign import errors",
        "class A:\n    def f(self):\n        if True:\n            import rich.table as rt",
        "def f():\n    def g():\n        from . import machine",
        "def f():\n    from scipyx import optimize",
        "def f():\n    import simpy",
    ],
)
@pytest.mark.parametrize("name", ["describe.files", "cli.run.fits.fit"])
def test_an_import_inside_a_function_is_found(name: str, source: str) -> None:
    assert len(local_imports({f"{PACKAGE}.{name}": source})) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("describe.files", "import numpy"),
        ("describe.files", "def f():\n    import sympy"),
        ("describe.files", "def f():\n    from matplotlib import pyplot"),
        ("describe.files", "try:\n    import sympy\nexcept ImportError:\n    sympy = None"),
        ("describe.files", "def f():\n    from scipy.stats import qmc"),
        ("describe.files", "class A:\n    def f(self):\n        import pandas as pd"),
        ("describe.goal.format", "def f():\n    from simcodesign.describe.goal import scanner"),
        ("cli.commands.forecast", "def run():\n    from simcodesign.analytic.forecast import forecast"),
    ],
)
def test_other_imports_pass(name: str, source: str) -> None:
    assert local_imports({f"{PACKAGE}.{name}": source}) == []


@pytest.mark.parametrize(
    ("name", "source", "count"),
    [
        ("cli.commands.fits.fit", "import_module('simcodesign.fitting.fit').fit()", 1),
        ("cli.commands.fits.fit", "def f():\n    return importlib.import_module('numpy')", 1),
        ("cli.commands.fits.fit", "from importlib import import_module", 0),
        ("__init__", "import_module(name)", 0),
        ("engine.selection", "import_module(ENGINES[engine])", 0),
    ],
)
def test_an_import_by_name_is_found(name: str, source: str, count: int) -> None:
    assert len(loaded_by_name({f"{PACKAGE}.{name}": source})) == count


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from typing import TYPE_CHECKING as CHECKING", 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy", 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from simcodesign.core import errors", 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas\nelse:\n    pandas = None", 1),
        ("from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import pandas", 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas as pd", 0),
        ("import typing as t\nif t.TYPE_CHECKING:\n    import numpy", 1),
        ("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import numpy", 2),
        ("'TYPE_CHECKING is not used here'", 0),
    ],
)
def test_type_checking_is_found(source: str, count: int) -> None:
    assert len(type_checking({f"{PACKAGE}.units": source})) == count


@pytest.mark.parametrize(
    ("sources", "members"),
    [
        (
            {"core.errors": "from simcodesign.core.units import x", "core.units": "import simcodesign.core.errors"},
            "errors units",
        ),
        ({"core.errors": "from simcodesign.core import units", "core.units": "from . import errors"}, "errors units"),
        ({"cli.a": "from . import b", "cli.b": "from . import c", "cli.c": "from .a import x"}, "a b c"),
        ({"engine.__init__": "from .a import x", "engine.a": "from simcodesign.engine import y"}, "a engine"),
        ({"units": "import simcodesign.units"}, "units"),
    ],
)
def test_a_cycle_is_found(sources: dict[str, str], members: str) -> None:
    result = cycle({f"{PACKAGE}.{name}": source for name, source in sources.items()})
    assert sorted({name.rpartition(".")[2] for name in result}) == members.split()


def test_a_command_and_what_it_runs_are_a_cycle() -> None:
    body = "from simcodesign.cli.commands.fits.fit import FitOptions"
    command = "def run():\n    from simcodesign.cli.run.fits.fit import run_fit"
    assert cycle({f"{PACKAGE}.cli.commands.fits.fit": command, f"{PACKAGE}.cli.run.fits.fit": body}) != []


@pytest.mark.parametrize(
    ("sources", "folders"),
    [
        (
            {
                "core.a.b": "from simcodesign.core import c",
                "core.c": "from simcodesign.core.a import d",
                "core.a.d": "",
            },
            1,
        ),
        (
            {
                "core.a.b": "from simcodesign.core.c import d",
                "core.c.d": "",
                "core.a.d": "",
                "core.c.e": "from ..a import d",
            },
            1,
        ),
        ({"core.a.b": "from simcodesign.core import c", "core.c": "", "core.a.d": "from . import b"}, 0),
        ({"lab.a.b": "from simcodesign.lab import c", "lab.c": "from simcodesign.lab.a import d", "lab.a.d": ""}, 0),
    ],
)
def test_a_climb_is_found(sources: dict[str, str], folders: int) -> None:
    assert len(climbs({f"{PACKAGE}.{name}": source for name, source in sources.items()}, {"core"})) == folders


def test_a_diamond_is_no_cycle() -> None:
    sources = {"a": "from . import b, c", "b": "from .d import x", "c": "from . import d", "d": ""}
    assert cycle({f"{PACKAGE}.engine.{name}": source for name, source in sources.items()}) == []


def test_a_package_is_read_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / PACKAGE / "engine").mkdir(parents=True)
    (tmp_path / PACKAGE / "engine" / "__init__.py").write_text("import a\n", encoding="utf-8")
    (tmp_path / PACKAGE / "units.py").write_text("import b\n", encoding="utf-8")
    assert read_package(tmp_path / PACKAGE) == {
        f"{PACKAGE}.engine.__init__": "import a\n",
        f"{PACKAGE}.units": "import b\n",
    }
