"""From the parse tree to the records of ``tree``, with every expression translated into nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from lark import Token, Tree

from simcodesign.aspen.nodes import SI_WORDS, Distribution, Item, Lookup, Normal, Uniform, aspen_text
from simcodesign.aspen.source import Source
from simcodesign.aspen.tree import (
    Argument,
    Call,
    Component,
    Conflict,
    Data,
    Enumeration,
    Execute,
    File,
    Group,
    If,
    Import,
    Iterate,
    Kernel,
    Local,
    Member,
    Model,
    Numbers,
    Parameter,
    Part,
    PartCost,
    Power,
    Probability,
    Property,
    Resource,
    Statement,
    Switch,
    Trait,
    TraitDefinition,
    Use,
)
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.expressions.expression import (
    FUNCTIONS,
    MAX_DEPTH,
    Comparison,
    Expression,
    Name,
    Negation,
    Node,
    Number,
    Operation,
)
from simcodesign.core.expressions.expression import Call as FunctionCall

_OWN_FUNCTIONS = {"lookup": 3, "uniform": 2, "normal": 2, "cdf": 2}
_ONE = Number(np.float64(1.0))


class Builder:
    """Builds the records of one source."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def file(self, tree: Tree[Token]) -> File:
        """Build a file from its tree."""
        built = [self.build(child) for child in _trees(tree)]
        return File(
            str(self.source.path),
            tuple(item for item in built if not isinstance(item, Component | Model)),
            tuple(item for item in built if isinstance(item, Component)),
            tuple(item for item in built if isinstance(item, Model)),
            self.source.files,
        )

    def build(self, tree: Tree[Token]) -> Any:
        """Return the record of a definition, a statement, a member of a component ..."""
        # "import", "if" and so on are no names of methods.
        return getattr(self, f"_{tree.data}")(*tree.children, place=self.place(tree))

    def place(self, part: Tree[Token] | Token) -> Place:
        """Return the place of a part in its file."""
        where = part if isinstance(part, Token) else part.meta
        if not hasattr(where, "line"):  # an empty rule
            return Place(str(self.source.path))
        return self.source.place(int(where.line or 1), int(where.column or 1))

    def expression(self, tree: Any) -> Expression:
        """Return the expression of a tree, or of the brackets around it."""
        inner = tree.children[0] if tree.data == "quantity" else tree
        nodes = _Nodes(self)
        node = nodes.build(inner, 0)
        return Expression(aspen_text(node), frozenset(nodes.names), node, self.place(inner))

    def optional(self, tree: Any) -> Expression | None:
        """Build an expression that may be absent."""
        return None if tree is None else self.expression(tree)

    def name(self, token: Token) -> str:
        """Return the name of a token. Raises InputError for a word of the SI."""
        if str(token) in SI_WORDS:
            raise InputError(
                f"{str(token)!r} is a number, so that no name can be the same",
                self.place(token),
                allowed="another name",
            )
        return str(token)

    # --- definitions ------------------------------------------------------------------------------------------

    def _param(self, name: Token, value: Any, low: Any, high: Any, *, place: Place) -> Parameter | Local:
        if low is None or high is not None:
            return Parameter(
                self.name(name), self.expression(value), self.optional(low), self.optional(high), None, place
            )
        if low.data != "name":
            raise InputError(
                "a range needs '..' between its ends", self.place(low), allowed="low .. high, or the name of an enum"
            )
        return Parameter(self.name(name), self.expression(value), None, None, str(low.children[0]), place)

    def _array(self, name: Token, values: Any, *, place: Place) -> Numbers:
        return Numbers(self.name(name), (self._row(values),), False, place)

    def _table(self, name: Token, *rows: Any, place: Place) -> Numbers:
        return Numbers(self.name(name), tuple(self._row(row) for row in rows), True, place)

    def _row(self, values: Any) -> tuple[Expression, ...]:
        row = tuple(self.expression(child) for child in values.children)
        for number in row:
            if number.names:
                raise InputError(
                    "this value must be a constant", number.place, value=number.text, allowed="numbers and SI words"
                )
        return row

    def _enum(self, name: Token, *members: Token, place: Place) -> Enumeration:
        return Enumeration(self.name(name), tuple(self.name(member) for member in members), place)

    def _data(self, name: Token, size: Any, *, place: Place) -> Data:
        return Data(self.name(name), None, self.expression(size), place)

    def _shape(self, name: Token, shape: Token, *extents: Any, place: Place) -> Data:
        return Data(self.name(name), str(shape), _product([self.expression(extent) for extent in extents]), place)

    def _import(self, name: Token, path: Token, *arguments: Any, place: Place) -> Import:
        named = tuple((str(pair.children[0]), self.expression(pair.children[1])) for pair in arguments if pair)
        return Import(self.name(name), str(path)[1:-1], named, place)

    # --- machines ---------------------------------------------------------------------------------------------

    def _component(self, kind: Token, name: Token, *members: Any, place: Place) -> Component:
        built: tuple[Member, ...] = tuple(self.build(member) for member in members)
        return Component(str(kind), str(name), built, place)

    def _part(self, kind: Token, count: Any, name: Token, *, place: Place) -> Part:
        return Part(str(kind), self.optional(count), str(name), place)

    def _property(self, name: Token, value: Any, *, place: Place) -> Property:
        return Property(str(name), self.optional(value), place)

    def _resource(self, name: Token, argument: Token, time: Any, *traits: Any, place: Place) -> Resource:
        definitions = tuple(self._definition(trait) for trait in traits if trait)
        return Resource(str(name), self.name(argument), self.expression(time), definitions, place)

    def _definition(self, tree: Any) -> TraitDefinition:
        name, argument, time = tree.children
        return TraitDefinition(str(name), self.name(argument) if argument else None, self.expression(time))

    def _static(self, value: Any, *, place: Place) -> Power:
        return Power(False, self.expression(value), place)

    def _dynamic(self, value: Any, *, place: Place) -> Power:
        return Power(True, self.expression(value), place)

    def _rack_units(self, word: Token, value: Any, *, place: Place) -> PartCost:
        return PartCost("rack_units", self.expression(value), place)

    def _die_area(self, word: Token, value: Any, *, place: Place) -> PartCost:
        return PartCost("die_area", self.expression(value), place)

    def _price(self, word: Token, value: Any, *, place: Place) -> PartCost:
        return PartCost("price", self.expression(value), place)

    def _conflict(self, first: Token, second: Token, *, place: Place) -> Conflict:
        return Conflict((str(first), str(second)), place)

    # --- applications -----------------------------------------------------------------------------------------

    def _model(self, name: Token, *parts: Any, place: Place) -> Model:
        built = [self.build(part) for part in parts]
        kernels = tuple(part for part in built if isinstance(part, Kernel))
        return Model(str(name), tuple(part for part in built if not isinstance(part, Kernel)), kernels, place)

    def _kernel(self, name: Token, *rest: Any, place: Place) -> Kernel:
        *formal, body = rest
        arguments = tuple(
            Argument(self.name(part.children[0]), part.data == "declared_data") for part in formal if part
        )
        return Kernel(str(name), arguments, self._statements(body), place)

    def _statements(self, block: Any) -> tuple[Statement, ...]:
        """Return the statements of a block; an ``else if`` is a block of one."""
        if block is None:
            return ()
        return tuple(self._statement(child) for child in (_trees(block) if block.data == "block" else [block]))

    def _statement(self, tree: Tree[Token]) -> Statement:
        built = self.build(tree)
        if isinstance(built, Parameter):
            return Local(built.name, built.value, built.place)
        if isinstance(built, Data):
            return Local(built.name, built.size_bytes, built.place)
        statement: Statement = built
        return statement

    def _execute(self, parallelism: Any, label: Token | None, *uses: Any, place: Place) -> Execute:
        return Execute(_label(label), self.optional(parallelism), tuple(self.build(use) for use in uses), place)

    def _use(self, resource: Token, amount: Any, size: Any, direction: Any, *traits: Any, place: Place) -> Use:
        parts = [self.expression(part) for part in (amount, size) if part]
        data = str(direction.children[0]) if direction else None
        marks = tuple(Trait(str(part.children[0]), self.optional(part.children[1])) for part in traits if part)
        return Use(str(resource), _product(parts), data, marks, place)

    def _call(self, name: Token, *arguments: Any, place: Place) -> Call:
        return Call(str(name), tuple(self.expression(argument) for argument in arguments if argument), place)

    def _iterate(self, counter: Any, count: Any, label: Any, body: Any, *, place: Place) -> Iterate:
        name = self.name(counter) if counter else None
        return Iterate(False, _label(label), name, self.expression(count), self._statements(body), place)

    def _map(self, counter: Any, count: Any, label: Any, body: Any, *, place: Place) -> Iterate:
        name = self.name(counter) if counter else None
        return Iterate(True, _label(label), name, self.expression(count), self._statements(body), place)

    def _par(self, label: Any, body: Any, *, place: Place) -> Group:
        return Group(True, _label(label), self._statements(body), place)

    def _seq(self, label: Any, body: Any, *, place: Place) -> Group:
        return Group(False, _label(label), self._statements(body), place)

    def _if(self, condition: Any, then: Any, otherwise: Any, *, place: Place) -> If:
        return If(self.expression(condition), self._statements(then), self._statements(otherwise), place)

    def _switch(self, subject: Any, *cases: Any, place: Place) -> Switch:
        return Switch(self.expression(subject), self._cases(cases[:-1]), self._statements(cases[-1]), place)

    def _probability(self, *cases: Any, place: Place) -> Probability:
        return Probability(self._cases(cases[:-1]), self._statements(cases[-1]), place)

    def _cases(self, cases: Any) -> tuple[tuple[Expression, tuple[Statement, ...]], ...]:
        return tuple((self.expression(case.children[0]), self._statements(case.children[1])) for case in cases)

    def _sample(self, name: Token, function: Any, *, place: Place) -> Local:
        return Local(self.name(name), self.expression(function), place)


class _Nodes:
    """Translates one expression, and collects its names."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.names: set[str] = set()

    def build(self, tree: Tree[Token], depth: int) -> Node:
        if depth >= MAX_DEPTH:
            allowed = f"up to {MAX_DEPTH} levels of operators; split it into several parameters"
            raise InputError("the expression is nested too deeply", self.builder.place(tree), allowed=allowed)
        children: list[Any] = tree.children
        match tree.data:
            case "number":
                return self._number(children[0])
            case "name":
                return self._name(str(children[0]))
            case "negation":
                return Negation(self.build(children[0], depth + 1))
            case "operation":
                symbol = "**" if children[1] == "^" else str(children[1])
                return Operation(symbol, self.build(children[0], depth + 1), self.build(children[2], depth + 1))
            case "comparison":
                operands = (self.build(children[0], depth + 1), self.build(children[2], depth + 1))
                return Comparison((str(children[1]),), operands)
            case "conjunction":  # comparisons are 0 or 1
                return Operation("*", self.build(children[0], depth + 1), self.build(children[1], depth + 1))
            case "disjunction":
                return FunctionCall("max", tuple([self.build(child, depth + 1) for child in children]))
            case "item":
                indices = tuple([self.build(child, depth + 1) for child in children[1:] if child])
                return Item(self._used(str(children[0])), indices, self.builder.place(tree))
        return self._function(tree, [child for child in children[1:] if child], depth)

    def _number(self, token: Token) -> Number:
        value = np.float64(token)
        if not np.isfinite(value):
            raise InputError(
                "this number is too large", self.builder.place(token), value=str(token), allowed="up to 1.8e308"
            )
        return Number(value)

    def _name(self, name: str) -> Node:
        return Number(np.float64(SI_WORDS[name])) if name in SI_WORDS else Name(self._used(name))

    def _used(self, name: str) -> str:
        self.names.add(name)
        return name

    def _function(self, tree: Tree[Token], arguments: list[Any], depth: int) -> Node:
        name, place = str(tree.children[0]), self.builder.place(tree)
        self._check_count(name, len(arguments), place)
        if name == "lookup":
            return Lookup(
                self._array(arguments[0]), self._array(arguments[1]), self.build(arguments[2], depth + 1), place
            )
        if name == "cdf":
            return Distribution(self._array(arguments[0]), self._array(arguments[1]), place)
        built = [self.build(argument, depth + 1) for argument in arguments]
        if name == "uniform":
            return Uniform(*built)
        if name == "normal":
            return Normal(*built)
        return FunctionCall(name, tuple(built))

    def _check_count(self, name: str, count: int, place: Place) -> None:
        if name in _OWN_FUNCTIONS:
            fewest = most = _OWN_FUNCTIONS[name]
        elif name in FUNCTIONS:
            fewest, most = FUNCTIONS[name].fewest, FUNCTIONS[name].most
        else:
            raise InputError(f"unknown function {name!r}", place, allowed=nearest(name, (*FUNCTIONS, *_OWN_FUNCTIONS)))
        if not fewest <= count <= most:
            allowed = f"{fewest}" if fewest == most else f"{fewest} or more"
            raise InputError(f"{name} is called with {count} arguments", place, allowed=allowed)

    def _array(self, tree: Any) -> str:
        if tree.data != "name":
            raise InputError("this is not the name of an array", self.builder.place(tree), allowed="a name")
        return self._used(str(tree.children[0]))


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _label(token: Token | None) -> str:
    return "" if token is None else str(token)[1:-1]


def _product(factors: list[Expression]) -> Expression:
    node, names = factors[0].tree, frozenset(factors[0].names)
    for factor in factors[1:]:
        node, names = Operation("*", node, factor.tree), names | factor.names
    return Expression(aspen_text(node), names, node, factors[0].place)
