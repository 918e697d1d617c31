"""The order in which equations are evaluated: each after those it needs, however they are written down."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import Expression


def ordered(equations: Mapping[str, Expression], known: Collection[str]) -> list[str]:
    """Return the names of the equations, each after those it needs.

    ``known`` are the names that have a value already. Raises InputError for an unknown name, a name that is both known
    and an equation, and a cycle, whose names it lists: ``a -> b -> a``.
    """
    known = frozenset(known)
    _check_names(equations, known)
    needs = {name: sorted(expression.names - known) for name, expression in equations.items()}
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise _cycle_error(equations, error.args[1]) from None


def _check_names(equations: Mapping[str, Expression], known: frozenset[str]) -> None:
    for name, expression in equations.items():
        if name in known:
            what = "an equation has the name of a known value"
            raise InputError(what, expression.place, value=name, allowed="any other name")
        for used in sorted(expression.names):
            if used not in known and used not in equations:
                what = f"unknown name {used!r} in the equation of {name}"
                allowed = nearest(used, {*known, *equations})
                raise InputError(what, expression.place, value=expression.text, allowed=allowed)


def _cycle_error(equations: Mapping[str, Expression], cycle: list[str]) -> InputError:
    """Return the error of a cycle, each name before the name that it needs, from the smallest name.

    ``cycle`` is reversed.
    """
    names = cycle[:0:-1]
    start = names.index(min(names))
    cycle = [*names[start:], *names[:start], names[start]]
    shown = cycle if len(cycle) <= 12 else [*cycle[:8], f"... ({len(cycle) - 10} more)", *cycle[-2:]]
    what, first = f"equations need each other: {' -> '.join(shown)}", equations[cycle[0]]
    return InputError(what, first.place, value=first.text, allowed="equations without a cycle")
