"""Equations that depend on the rank or on the index of a loop: names for parts of a program.

``stage: rank // width`` and ``is_last: stage == stages - 1`` have a value of their own for every rank, and an equation
with the index of a loop has one for every iteration. Their expressions are put into the program and the groups in place
of their names, so that all readings see one program, without names that change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from simcodesign.core.expressions.expression import Expression, parse
from simcodesign.describe.equations import ordered

T = TypeVar("T")


def local_names(equations: Mapping[str, Expression], varying: Collection[str]) -> list[str]:
    """Return the names of the equations that depend on a name in ``varying``, directly or through others."""
    local: list[str] = []
    found = True
    while found:
        names = {*varying, *local}
        found = [name for name, one in equations.items() if name not in local and one.names & names]
        local += found
    return local


def written_out(equations: Mapping[str, Expression], known: Collection[str]) -> dict[str, Expression]:
    """Return the equations without names of each other. ``known``: all other names.

    Raises InputError for unknown names and for a cycle.

    >>> from simcodesign.core.expressions.expression import parse
    >>> written_out({"last": parse("stage == p - 1"), "stage": parse("rank // 2")}, ["rank", "p"])["last"].text
    '(rank // 2) == p - 1'
    """
    out: dict[str, Expression] = {}
    for name in ordered(equations, known):
        out[name] = put_in(equations[name], out)
    return {name: out[name] for name in equations}


def put_in(expression: Expression, equations: Mapping[str, Expression]) -> Expression:
    """Return an expression with the text of equations in place of their names."""
    used = sorted(expression.names & equations.keys())
    if not used:
        return expression

    def text_of(match: re.Match[str]) -> str:
        text = equations[match.group()].text
        return text if text.isidentifier() else f"({text})"

    return parse(re.sub(rf"\b(?:{'|'.join(used)})\b", text_of, expression.text), expression.place)


def with_expressions(part: T, change: Callable[[Expression], Expression]) -> T:
    """Return a step, or a sequence of steps, with every expression changed."""
    changed: Any = part
    if isinstance(part, Expression):
        changed = change(part)
    elif type(part) is tuple:
        parts = tuple(with_expressions(one, change) for one in part)
        changed = part if all(new is old for new, old in zip(parts, part, strict=True)) else parts
    elif is_dataclass(part) and not isinstance(part, type):
        own = {one.name: getattr(part, one.name) for one in fields(part) if one.init}
        new = {name: with_expressions(value, change) for name, value in own.items()}
        new = {name: value for name, value in new.items() if value is not own[name]}
        changed = replace(part, **new) if new else part
    return changed
