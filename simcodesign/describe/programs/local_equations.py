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
    local: set[str] = set()
    while found := {name for name, one in equations.items() if one.names & {*varying, *local}} - local:
        local |= found
    return [name for name in equations if name in local]


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
    """Return an expression with the text of equations instead of their names."""
    used = sorted(expression.names & equations.keys())
    if not used:
        return expression

    def text_of(match: re.Match[str]) -> str:
        text = equations[match.group()].text
        return text if text.isidentifier() else f"({text})"

    return parse(re.sub(rf"\b(?:{'|'.join(used)})\b", text_of, expression.text), expression.place)


def with_expressions(part: T, change: Callable[[Expression], Expression]) -> T:
    """Return a step, or a sequence of steps, with every expression changed."""
    changed: T = _changed(part, change)
    return changed


def _changed(part: Any, change: Callable[[Expression], Expression]) -> Any:
    if isinstance(part, Expression):
        return change(part)
    if type(part) is tuple:
        parts = tuple(_changed(one, change) for one in part)
        return part if all(new is old for new, old in zip(parts, part, strict=True)) else parts
    if not is_dataclass(part) or isinstance(part, type):
        return part
    own = {one.name: getattr(part, one.name) for one in fields(part) if one.init}
    new = {name: value for name, old in own.items() if (value := _changed(old, change)) is not old}
    return replace(part, **new) if new else part
