"""Names, parameters and defaults of the stand-in, against the stub file of mpi4py where that is installed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.mpi.package import Options, Session
from simcodesign.mpi.ranks.message_times import MessageTimes
from simcodesign.mpi.ranks.world import Clock, World
from simcodesign.mpi.stand_in import mpi_module

Parameters = list[tuple[str, Any]]


@pytest.fixture(scope="module")
def stub() -> ast.Module:
    """The stub of mpi4py. Its classes, functions and constants."""
    found = find_spec("mpi4py")
    file = Path(found.origin).parent / "MPI.pyi" if found is not None and found.origin is not None else None
    if file is None or not file.exists():
        pytest.skip("mpi4py 4 is not installed, whose file MPI.pyi this is compared with")
    return ast.parse(file.read_text())


@pytest.fixture(scope="module")
def module() -> Any:
    """The stand-in of one rank."""
    world = World(1, "", None, float("inf"), MessageTimes(Machine.load("crossbar-16"), 1), Clock())
    return mpi_module(world, Session(world, Options(world)))


def test_parameters_and_defaults(stub: ast.Module, module: Any) -> None:
    """Every method and function that exists has the parameters of mpi4py, in its order, with its defaults."""
    different = {}
    for owner, where, function in _functions(stub, module):
        made = inspect.getattr_static(where, function.name, None) if inspect.isclass(where) else None
        own = getattr(where, function.name) if function.name in dir(where) else None
        if own is None or function.name.startswith("__") or isinstance(made, property) or not callable(own):
            continue
        is_bound = inspect.isclass(where) and not isinstance(made, classmethod | staticmethod)
        expected, got = _expected(function, module, owner != ""), _parameters(own, is_bound)
        if expected != got:
            different[f"{owner}.{function.name}"] = (expected, got)
    assert different == {}


def test_no_name_is_invented(stub: ast.Module, module: Any) -> None:
    """Names of MPI, which begin with a capital letter, are names of mpi4py."""
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    top = set(classes) | {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    top |= {
        node.target.id for node in stub.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    top |= {"memory", "LOGICAL16"}  # of mpi4py 3, as "MPI.memory"
    assert {name for name in vars(module) if not name.startswith("_")} - top == set()
    own = {name: vars(module)[name] for name in classes if inspect.isclass(vars(module).get(name))}
    for name, kind in own.items():
        # Here all communicators have the names of those of one group, which others refuse.
        kind = module.Comm if issubclass(kind, module.Comm) else kind
        known = {f.name for owner, where, f in _functions(stub, module) if owner and issubclass(where, kind)}
        known |= {to.id for node in classes[name].body if isinstance(node, ast.Assign) for to in node.targets}  # type: ignore[attr-defined]
        invented = {one for one in dir(kind) if one[0].isupper() and name not in ("buffer", "Exception")} - known
        assert invented == set(), name


@pytest.mark.parametrize("name", ["Open_port", "Register_datarep", "Comm.Spawn", "COMM_WORLD.Shrink"])
def test_what_does_not_exist_is_refused_by_its_name(module: Any, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name.split('.')[-1]} is not simulated"):
        attrgetter(name)(module)
    assert not hasattr(module, "Open_port")


def _functions(stub: ast.Module, module: Any) -> Iterator[tuple[str, Any, ast.FunctionDef]]:
    """Yield the name of each class (or none), our class, and the functions of it and of its bases in the stub."""
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}

    def inherited(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                yield one
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in classes:
                yield from inherited(classes[base.id])

    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            yield "", module, node
        elif isinstance(node, ast.ClassDef) and node.name != "buffer" and inspect.isclass(vars(module).get(node.name)):
            for function in inherited(node):
                yield node.name, vars(module)[node.name], function


def _expected(function: ast.FunctionDef, module: Any, is_method: bool) -> Parameters:
    arguments = function.args
    names = [one.arg for one in arguments.posonlyargs + arguments.args][is_method:]
    given = [inspect.Parameter.empty] * (len(names) - len(arguments.defaults)) + [
        eval(compile(ast.Expression(one), "stub", "eval"), vars(module)) for one in arguments.defaults
    ]
    return list(zip(names, given, strict=True))


def _parameters(function: Any, is_bound: bool) -> Parameters:
    found = list(inspect.signature(function).parameters.values())[is_bound:]
    return [(one.name, one.default) for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
