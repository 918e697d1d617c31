"""Applications: the definitions and kernels of a model, and of the models that it imports, checked when read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from simcodesign.aspen.parse import parse_file
from simcodesign.aspen.scan import MAX_NESTING
from simcodesign.aspen.scope import Definitions, Scope, define, search_range
from simcodesign.aspen.source import find_beside
from simcodesign.aspen.tree import (
    Call,
    Execute,
    Group,
    If,
    Import,
    Iterate,
    Kernel,
    Model,
    Probability,
    Statement,
    Switch,
)
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import Expression, Value
from simcodesign.core.files.input_files import real_path

MAX_CALL_DEPTH = 64  # calls and blocks within each other


@dataclass(frozen=True)
class Imported:
    """An imported model and what ``with`` gives to its names."""

    application: Application
    arguments: Mapping[str, Expression]


@dataclass(frozen=True)
class Application:
    """An application model; ``parameters`` of imports are called ``import.name``."""

    name: str
    path: str
    definitions: Definitions
    kernels: Mapping[str, Kernel]
    imports: Mapping[str, Imported]
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def parameters(self) -> dict[str, Expression]:
        """The expression of each parameter, its default."""
        own = {name: parameter.value for name, parameter in self.definitions.parameters.items()}
        for alias, imported in self.imports.items():
            own |= {f"{alias}.{name}": value for name, value in imported.application.parameters.items()}
        return own

    def search_range(self, name: str) -> tuple[float, float]:
        """Return the range of a parameter. Raises InputError for a parameter without one."""
        model, key = self.model_of(name)
        return search_range(model.definitions, key)

    def model_of(self, name: str, place: Place | None = None) -> tuple[Application, str]:
        """``import.name`` as the imported model and the name there."""
        model: Application = self
        *aliases, last = name.split(".")
        for alias in aliases:
            if alias not in model.imports:
                raise InputError(f"unknown import {alias!r}", place, allowed=nearest(alias, model.imports))
            model = model.imports[alias].application
        return model, last

    def kernel_of(self, name: str, place: Place | None = None) -> tuple[Application, Kernel]:
        """Return the kernel of that name, ``import.kernel`` for one of an import, and the model that it is of."""
        model, key = self.model_of(name, place)
        if key not in model.kernels:
            raise InputError(f"unknown kernel {name!r}", place, allowed=nearest(key, model.kernels))
        return model, model.kernels[key]

    def scope(self, given: Mapping[str, Value], draws: Callable[[], Any] | None = None) -> ApplicationScope:
        """Return the values of the application's names; ``given`` replaces the values of parameters."""
        return ApplicationScope(self, given, {}, draws)


class ApplicationScope(Scope):
    """The values of an application, with a scope for each import, made on use."""

    def __init__(
        self,
        application: Application,
        given: Mapping[str, Value],
        inherited: Mapping[str, tuple[Expression, Scope]],
        draws: Callable[[], Any] | None,
    ) -> None:
        own_values = {name: value for name, value in given.items() if "." not in name}
        inherited_values = {name: value for name, value in inherited.items() if name not in own_values}
        super().__init__(application.definitions, own_values, inherited_values, self.import_scope, draws)
        self.application = application
        self._given = given
        self._scopes: dict[str, ApplicationScope] = {}

    def import_scope(self, alias: str, place: Place | None) -> ApplicationScope:
        """Return the scope of an import."""
        if alias not in self.application.imports:
            raise InputError(f"unknown import {alias!r}", place, allowed=nearest(alias, self.application.imports))
        if alias not in self._scopes:
            imported = self.application.imports[alias]
            prefix = f"{alias}."
            given = {name.removeprefix(prefix): value for name, value in self._given.items() if name.startswith(prefix)}
            inherited: dict[str, tuple[Expression, Scope]] = {
                name: (value, self) for name, value in imported.arguments.items()
            }
            self._scopes[alias] = ApplicationScope(imported.application, given, inherited, self.draws)
        return self._scopes[alias]

    def kernel_without_arguments(self, name: str) -> tuple[ApplicationScope, Kernel]:
        """Return the kernel of that name, ``import.kernel`` for one of an import, and the scope that it runs in."""
        model, kernel = self.application.kernel_of(name)
        if kernel.arguments:
            listed = ", ".join(argument.name for argument in kernel.arguments)
            raise InputError(f"kernel {name} needs arguments: {listed}", kernel.place, allowed="one without arguments")
        scope = self
        for alias in name.split(".")[:-1]:
            scope = scope.import_scope(alias, None)
        assert scope.application is model
        return scope, kernel


def load_application(path: str | Path) -> Application:
    """Return the application of an ``.aspen`` file, with its imports.

    Raises InputError with file, line and column for what is not Aspen, and for names defined twice, cyclic
    parameters, empty ranges, unknown kernels, wrong numbers of arguments, imports of each other and recursion.
    """
    application = _Loader(Path(path).parent).load(Path(path), None, ())
    _check_calls(application)
    return application


class _Loader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded: dict[Path, Application] = {}

    def load(self, path: Path, place: Place | None, within: tuple[Path, ...]) -> Application:
        resolved = real_path(path)
        if resolved in within:
            chain = " -> ".join(part.name for part in (*within, path))
            raise InputError(f"models import each other: {chain}", place)
        if len(within) > MAX_NESTING:
            raise InputError("imports are nested too deeply", place, allowed=f"up to {MAX_NESTING} levels")
        if resolved not in self.loaded:
            self.loaded[resolved] = self._load(path, (*within, resolved))
        return self.loaded[resolved]

    def _load(self, path: Path, within: tuple[Path, ...]) -> Application:
        file = parse_file(path)
        if len(file.models) != 1:
            problem = f"{len(file.models)} application models" + (", but a machine" if file.components else "")
            raise InputError(problem, Place(str(path)), allowed="one: model name { .. }")
        (model,) = file.models
        items = (*file.definitions, *model.definitions)
        imports: dict[str, Imported] = {}
        for item in items:
            if isinstance(item, Import):
                if item.name in imports:
                    raise InputError(f"{item.name} is imported twice", item.place)
                imports[item.name] = self._import(item, path, within)
        definitions = define(items)
        return Application(
            model.name, str(path), definitions, _kernels(model), imports, tuple(_warnings(model, definitions))
        )

    def _import(self, item: Import, path: Path, within: tuple[Path, ...]) -> Imported:
        target = find_beside(item.path, (path.parent, self.folder), item.place)
        application = self.load(target, item.place, within)
        arguments: dict[str, Expression] = {}
        for name, value in item.arguments:
            if application.definitions.expression(name) is None:
                names = (*application.definitions.parameters, *application.definitions.data)
                allowed = nearest(name, names)
                raise InputError(f"{application.name} has no {name!r}", value.place or item.place, allowed=allowed)
            arguments[name] = value
        return Imported(application, arguments)


def _kernels(model: Model) -> dict[str, Kernel]:
    kernels: dict[str, Kernel] = {}
    for kernel in model.kernels:
        if kernel.name in kernels:
            first = kernels[kernel.name].place
            raise InputError(f"kernel {kernel.name} is defined twice", kernel.place, allowed=f"one of this and {first}")
        kernels[kernel.name] = kernel
    return kernels


def _warnings(model: Model, definitions: Definitions) -> Iterator[str]:
    """Yield a warning for each use of undefined data, which does not change the time."""
    for kernel in model.kernels:
        known = {*definitions.data, *(argument.name for argument in kernel.arguments)}
        for statement in statements(kernel.body):
            for use in statement.uses if isinstance(statement, Execute) else ():
                if use.data is not None and use.data not in known:
                    yield f"{use.place}: data {use.data!r} is not defined"


# --- statements within statements -------------------------------------------------------------------------------


def bodies(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """Return the blocks directly within a statement."""
    match statement:
        case Iterate(body=body) | Group(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case Switch(cases=cases, otherwise=otherwise) | Probability(cases=cases, otherwise=otherwise):
            return (*(body for _, body in cases), otherwise)
    return ()


def statements(block: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a block, at any depth."""
    for statement in block:
        yield statement
        for body in bodies(statement):
            yield from statements(body)


def _depth(block: tuple[Statement, ...], below: Callable[[Call], int]) -> int:
    """Return the nesting depth of blocks and calls."""
    deepest = 0
    for statement in block:
        inner = [_depth(body, below) for body in bodies(statement)]
        own = below(statement) if isinstance(statement, Call) else max(inner, default=0)
        deepest = max(deepest, 1 + own)
    return deepest


_Node = tuple[str, str]  # the file of a model and a kernel of it


def _check_calls(application: Application) -> None:
    """Raise InputError for calls of unknown kernels, wrong numbers of arguments, and recursion."""
    callees: dict[_Node, dict[int, tuple[_Node, Call]]] = {}
    kernels: dict[_Node, tuple[Application, Kernel]] = {}
    pending = [(application, kernel) for kernel in application.kernels.values()]
    while pending:
        model, kernel = pending.pop()
        node = (model.path, kernel.name)
        if node in callees:
            continue
        kernels[node] = (model, kernel)
        callees[node] = {}
        for call in [statement for statement in statements(kernel.body) if isinstance(statement, Call)]:
            target = model.kernel_of(call.name, call.place)
            _check_arguments(call, target[1])
            callees[node][id(call)] = ((target[0].path, target[1].name), call)
            pending.append(target)
    graph = {node: [target for target, _ in calls.values()] for node, calls in callees.items()}
    _check_depth(_in_order(graph, callees), callees, kernels)


def _check_arguments(call: Call, kernel: Kernel) -> None:
    if len(call.arguments) != len(kernel.arguments):
        allowed = f"{len(kernel.arguments)}: {', '.join(argument.name for argument in kernel.arguments)}".rstrip(": ")
        raise InputError(f"{call.name} is called with {len(call.arguments)} arguments", call.place, allowed=allowed)


def _in_order(
    graph: dict[_Node, list[_Node]], callees: Mapping[_Node, Mapping[int, tuple[_Node, Call]]]
) -> list[_Node]:
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        chain = " -> ".join(name for _, name in (cycle if len(cycle) <= 10 else [*cycle[:8], cycle[-1]]))
        place = next(call.place for target, call in callees[cycle[0]].values() if target == cycle[1])
        raise InputError(f"kernels call each other: {chain}", place, allowed="kernels without recursion") from error


def _check_depth(
    order: list[_Node],
    callees: Mapping[_Node, Mapping[int, tuple[_Node, Call]]],
    kernels: Mapping[_Node, tuple[Application, Kernel]],
) -> None:
    depths: dict[_Node, int] = {}
    for node in order:  # what is called comes first
        below = {key: depths[target] for key, (target, _) in callees[node].items()}
        kernel = kernels[node][1]
        depths[node] = _depth(kernel.body, lambda call, below=below: below[id(call)])  # type: ignore[misc]
        if depths[node] > MAX_CALL_DEPTH:
            allowed = f"up to {MAX_CALL_DEPTH} calls and blocks within each other"
            raise InputError(f"kernel {kernel.name} calls too deeply", kernel.place, allowed=allowed)
