"""Requirement models as text, the way they are printed in papers: ``1e5 n log2(n) p^0.25 log2(p)``.

Names of equations are replaced by their expressions, parameters by their values, and what is then known is worked
out; the size and the number of processes stay.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.analytic.demands.base import closed_form
from simcodesign.analytic.group_sizes import text_of_size
from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand
from simcodesign.describe.programs.program import PlacedDemand, placed_demands
from simcodesign.describe.workload import Workload

#: Longer ones are not printed.
MOST_TEXT = 200
#: Bases of logarithms that have a function of their own.
_LOGS = {2.0: "log2", 10.0: "log10", math.e: "log"}
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class TermValue:
    """One term of a sum, and what it is at one point."""

    text: str
    value: float


def model_texts(workload: Workload, values: Mapping[str, FloatOrArray], size: str = "n") -> dict[str, str]:
    """Return the model of each metric in the size and ``p``.

    Flops, sent_bytes, loads_stores, stack_distance, disk_bytes, footprint_bytes, as far as the workload has them.
    ``values``: of every parameter.
    """
    summands: dict[str, list[str]] = {}
    for placed in placed_demands(workload.program):
        repeat = "*".join(f"({times.text})" for times in placed.repeats if times.text != "1")
        for metric, text in closed_form(placed.demand).model_terms(placed.demand):
            whole = _with_group_size(text, placed.demand, workload)
            summands.setdefault(metric, []).append(f"({repeat})*({whole})" if repeat else whole)
    if workload.footprint is not None:
        summands["footprint_bytes"] = [workload.footprint.text]
    known = _known(workload, values, size)
    terms = {
        metric: [term for text in texts for term in _terms(text, workload, known)] for metric, texts in summands.items()
    }
    by_index = {metric for placed in placed_demands(workload.program) for metric in _by_index(placed)}
    return {
        metric: "a sum over iterations that differ" if metric in by_index else _sum_text(several)
        for metric, several in terms.items()
    }


def _by_index(placed: PlacedDemand) -> list[str]:
    """Return the metrics of a demand in a loop with an index."""
    if all(block.index is None for block in placed.blocks):
        return []
    return [metric for metric, _ in closed_form(placed.demand).model_terms(placed.demand)]


def _with_group_size(text: str, demand: Demand, workload: Workload) -> str:
    """Return the text with the ranks of a group instead of ``group_size``, if these are a formula."""
    ranks = text_of_size(demand, workload)
    return text if ranks is None else re.sub(r"\bgroup_size\b", ranks, text)


def _sum_text(terms: Sequence[ast.expr]) -> str:
    text = " + ".join(_printed(term) for term in terms) or "0"
    return text if len(text) <= MOST_TEXT else f"a sum of {len(terms)} long terms"


def footprint_terms(workload: Workload, values: Mapping[str, FloatOrArray], size: str = "n") -> tuple[TermValue, ...]:
    """Return the terms of the sum that the footprint is, with their values in bytes, the largest first."""
    if workload.footprint is None:
        return ()
    at = {size: float(np.asarray(values[size])), "P": float(np.asarray(values["P"]))} if size in values else {**values}
    terms = _terms(workload.footprint.text, workload, _known(workload, values, size))
    every = [TermValue(_printed(term), float(parse(ast.unparse(term)).evaluate(at))) for term in terms]
    return tuple(sorted(every, key=lambda term: -term.value))


def _known(workload: Workload, values: Mapping[str, FloatOrArray], size: str) -> dict[str, float]:
    """Parameters that have one value and are not what the model is a function of."""
    names = [name for name in workload.parameters if name not in (size, "P")]
    return {name: float(np.asarray(values[name]).item()) for name in names if np.size(values[name]) == 1}


class _Expanded(ast.NodeTransformer):
    """Names replaced by their meanings, constants worked out."""

    def __init__(self, workload: Workload, known: Mapping[str, float]) -> None:
        self.workload, self.known = workload, known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.workload.equations:
            return self.expr(ast.parse(_folded(self.workload.equations[node.id].text), mode="eval").body)
        return ast.Constant(self.known[node.id]) if node.id in self.known else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.expr(argument) for argument in node.args]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "where" and (chosen := _number(node.args[0])) is not None:
            return node.args[1] if chosen else node.args[2]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.expr(node.left), self.expr(node.right)
        a, b = _number(left), _number(right)
        if a is not None and b is not None and type(node.op) in _ARITHMETIC and not (b == 0 and _is(node, ast.Div)):
            return ast.Constant(_ARITHMETIC[type(node.op)](a, b))
        if _is(node, ast.Div) and (log := _logarithm(left, right)) is not None:
            return log
        if _is(node, ast.Mult):
            return _product(left, right)
        if _is(node, ast.Add) and (a == 0 or b == 0):
            return right if a == 0 else left
        if (_is(node, ast.Pow) or _is(node, ast.Div)) and b == 1:
            return left
        return ast.BinOp(left, node.op, right)

    def expr(self, node: ast.expr) -> ast.expr:
        """One expression, transformed."""
        expanded = self.visit(node)
        assert isinstance(expanded, ast.expr)
        return expanded


def _folded(text: str) -> str:
    return " ".join(text.split())


def _is(node: ast.expr, kind: type[ast.operator]) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, kind)


def _number(node: ast.expr) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, int | float) else None


def _logarithm(left: ast.expr, right: ast.expr) -> ast.expr | None:
    """log(x)/log(base) as one function, if there is one."""
    calls = [node for node in (left, right) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    if len(calls) != 2 or any(call.func.id != "log" for call in calls):  # type: ignore[attr-defined]
        return None
    base = _number(calls[1].args[0])
    if base is None or base not in _LOGS:
        return None
    return ast.Call(ast.Name(_LOGS[base], ast.Load()), calls[0].args, [])


def _product(left: ast.expr, right: ast.expr) -> ast.expr:
    """Numbers come first and become one; 1 and 0 do what they do."""
    a, b = _number(left), _number(right)
    if a is None and b is not None:
        return _product(right, left)
    if a is None:
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult) and _number(left.left) is not None:
            return _product(left.left, ast.BinOp(left.right, ast.Mult(), right))
        if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult) and (c := _number(right.left)) is not None:
            return _product(ast.Constant(c), ast.BinOp(left, ast.Mult(), right.right))
        return ast.BinOp(left, ast.Mult(), right)
    if a == 0:
        return ast.Constant(0.0)
    if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult) and (c := _number(right.left)) is not None:
        return _product(ast.Constant(a * c), right.right)
    if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Div) and (c := _number(right.right)):
        return _product(ast.Constant(a / c), right.left)
    return right if a == 1 else ast.BinOp(ast.Constant(a), ast.Mult(), right)


def _terms(text: str, workload: Workload, known: Mapping[str, float]) -> list[ast.expr]:
    """Return the terms of a formula, expanded; a number times a sum is the sum of the products."""
    tree = _Expanded(workload, known).expr(ast.parse(_folded(text), mode="eval").body)
    return [term for term in _summands(tree) if _number(term) != 0]


def _summands(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        return [*_summands(tree.left), *_summands(tree.right)]
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult) and _number(tree.left) is not None:
        return [_product(tree.left, term) for term in _summands(tree.right)]
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div) and _number(tree.right) is not None:
        factor = ast.Constant(1.0 / (_number(tree.right) or 1.0))
        several = _summands(tree.left)
        return [_product(factor, term) for term in several] if len(several) > 1 else [tree]
    return [tree]


_LITERAL = re.compile(r"(?<![\w.])(\d+\.?\d*(?:e[+-]?\d+)?)(?![\w.])")


def _printed(term: ast.expr) -> str:
    text = " ".join(_factor_text(factor) for factor in _factors(term))
    text = _LITERAL.sub(lambda match: short(float(match[1])), text)
    return re.sub(r"\bP\b", "p", text.replace(" ** ", "^").replace(" / ", "/")).replace(" * ", " ")


def _factors(term: ast.expr) -> list[ast.expr]:
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult):
        return [*_factors(term.left), *_factors(term.right)]
    return [term]


def _factor_text(factor: ast.expr) -> str:
    is_sum = isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Add | ast.Sub)
    return f"({ast.unparse(factor)})" if is_sum else ast.unparse(factor)


def short(value: Any) -> str:
    """Return a number in few characters: 0.25, 300, 1e5."""
    text = f"{float(value):g}"
    if "e" not in text and abs(value) >= 1000:
        mantissa, _, exponent = f"{float(value):e}".partition("e")
        scientific = f"{float(mantissa):g}e{int(exponent)}"
        return min((text, scientific), key=len)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text
