"""Parts that a formula leaves out against the derived model, term by term in symbols, if both are expressions.

Both are multiplied out to sums of products, of the same symbols: ``alpha`` is ``t_s``, equations are put in. Like
products cancel by comparing their factors, so that ``log2(P)`` and ``log(P)/log(2)`` do not. What remains is put
together by the constants of the machine that it is a multiple of, and what it is worth here is evaluated in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations_of
from typing import Any

import numpy as np

from simcodesign.analytic.forecast import forecast
from simcodesign.analytic.formulas.formula import expanded, phase_formula
from simcodesign.analytic.formulas.formula_prices import ASSUMPTIONS
from simcodesign.analytic.formulas.symbolic_products import Product, collected, merged_products, product_of, put_in
from simcodesign.analytic.given_formulas.names import FormulaNames
from simcodesign.analytic.given_formulas.values import FormulaValues, PythonFormula
from simcodesign.comparison.attribution import ROUNDING
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.expressions.sympy_value import value_of
from simcodesign.core.result import Result
from simcodesign.describe.design_point import DesignPoint, phases_with_constants
from simcodesign.describe.formulas.formula import Formula
from simcodesign.describe.formulas.symbols import SYMBOLS, VALUE
from simcodesign.describe.scenario import Scenario

#: Products that a formula is multiplied out to, and powers of sums that are.
MAX_PRODUCTS = 2000
_MAX_POWER = 4
#: A longer text of a term is not printed.
_MAX_TEXT = 200
#: How the term of hops begins, which the forecast has and formulas in symbols have not.
HOPS_BY_LAW = "hops, by the distance law"
#: The term of what the forecast is beyond the assumptions of derived formulas in symbols.
BEYOND_SYMBOLS = f"what the forecast is beyond its formula in symbols, which takes {ASSUMPTIONS}"
#: Symbol -> the symbol for the same constant of the machine in derived formulas.
_SAME = {
    "alpha": "t_s",
    "beta": "t_B",
    "gamma": "t_c",
    "t_w": "t_B",
    "network.startup": "t_s",
    "network.per_byte": "t_B",
    "network.hop_latency": "t_h",
    "network.packing": "t_q",
    "network.packing_per_byte": "t_v",
    "disk.read_startup": "t_r",
    "disk.write_startup": "t_x",
    "disk.per_byte": "t_d",
    "accelerator.launch": "t_l",
    "accelerator.memory.latency": "t_n",
    "accelerator.memory.per_byte": "t_m",
    "accelerator.link.latency": "t_k",
    "accelerator.link.per_byte": "t_p",
    "p": "P",
}


@dataclass(frozen=True)
class LeftOutTerm:
    """Excess of the derived model over a formula, ``time_s`` > 0, or deficit, and the term in symbols."""

    text: str
    time_s: float


@dataclass(frozen=True)
class LeftOut:
    """Difference between the derived model and a formula, by terms that add up to it.

    There are no terms, and ``why`` states the reason, if one of the two is no expression.
    """

    terms: tuple[LeftOutTerm, ...] = ()
    why: str = ""


def left_out(values: FormulaValues, point: DesignPoint, forecast: Result, whole_program: bool = True) -> LeftOut:
    """Return what the total of a formula, at a single design point, leaves out against our forecast there.

    ``whole_program`` as for ``formula_values``: without it, only what the formula says of the phases that run is
    compared.
    """
    formula = values.formula
    if isinstance(formula, PythonFormula):
        return LeftOut(why="a function in Python has no terms")
    if values.total_s is None or not np.isfinite(values.total_s):
        return LeftOut(why=values.reason or "the formula gives no total")
    try:
        return _Difference(formula, point, forecast, whole_program).left_out(float(values.total_s))
    except InputError as error:
        return LeftOut(why=str(error))


class _Difference:
    """Difference of a derived model and a formula."""

    def __init__(self, formula: Formula, point: DesignPoint, forecast: Result, whole_program: bool) -> None:
        to_sympy(next(expression for _, expression in formula.times()))  # InputError without SymPy
        import sympy  # optional dependency

        self.total = formula.total if whole_program else None
        self.sympy, self.formula, self.point, self.forecast = sympy, formula, point, forecast
        self.names = FormulaNames(point)  # symbols of the formula's own are put in before
        used = {name for _, expression in formula.times() for name in expression.names}
        for name in sorted(used & SYMBOLS.keys() & point.machine.names().keys() - formula.symbols.keys()):
            raise InputError(f"{name} of the machine file has the name of a symbol of derived formulas")

    def left_out(self, total_s: float) -> LeftOut:
        """Return the terms, and what they leave of the difference, which is rounding where the derived model holds."""
        derived, numbers_only = self._derived()
        value_bytes = self.sympy.Symbol(VALUE) if VALUE in self.point.workload.parameters else None
        word = value_bytes if self.formula.word is None else to_sympy(self.formula.word)
        ours = [item for expression in derived for item in self._products(expression, value_bytes)]
        theirs = [item for expression in self._given() for item in self._products(expression, word)]
        minus = [Product(-item.number, item.factors) for item in theirs]
        terms = [*self._terms(merged_products([*ours, *minus])), *numbers_only]
        forecast_s = float(self.forecast.headline_s)
        rest_s = forecast_s - total_s - sum(term.time_s for term in terms)
        least_s = ROUNDING * max(forecast_s, total_s)
        if abs(rest_s) > least_s:
            hops_s = self._hops_s(forecast_s)
            terms.append(LeftOutTerm(f"{HOPS_BY_LAW} {self.point.machine.network.distance}", hops_s))
            terms.append(LeftOutTerm(BEYOND_SYMBOLS, rest_s - hops_s))
        kept = [term for term in terms if abs(term.time_s) > least_s]
        return LeftOut(tuple(sorted(kept, key=lambda term: -abs(term.time_s))))

    def _hops_s(self, forecast_s: float) -> float:
        """Return what the machine's distance law and slow links add to the forecast.

        Formulas in symbols do not have them.
        """
        machine = self.point.machine
        network = replace(machine.network, distance="none")
        if network.has_own_links and (alike := network.topology.with_links_alike()) is not None:
            network = replace(network, topology=alike)
        without = replace(machine, network=network)
        parameters = {name: self.point.values[name] for name in {"P", *self.point.workload.parameters}}
        scenario = Scenario(self.point.workload, without, parameters)
        return forecast_s - float(forecast(scenario, longest_path=False).headline_s)

    def _derived(self) -> tuple[list[Any], list[LeftOutTerm]]:
        """Return the derived formulas of phases, and the times of phases that have none."""
        workload, model = self.point.workload, self.point.machine.network.message_model
        formulas, times = [], []
        for phase in workload.phases():
            try:
                expression = expanded(phase_formula(workload, phase, self.point.values), workload)
            except InputError as error:
                times.append(LeftOutTerm(f"phase {phase} ({error.what})", self._phase_s(phase)))
                continue
            messages = {symbol.name for symbol in expression.free_symbols} & {"t_s", "t_w", "t_B"}
            if messages and not model.has_symbolic_prices:
                what = f"the derived formula is for Hockney's messages; messages of {self.point.machine.name}"
                raise InputError(f"{what} are of {model.name}")
            formulas.append(expression)
        others = self.forecast.phases.keys() - {*workload.phases()}  # checkpoints
        times += [LeftOutTerm(f"phase {phase}", self._phase_s(phase)) for phase in sorted(others)]
        if not formulas:
            raise InputError(f"the derived model has no formula: {times[0].text if times else 'no phase'}")
        return formulas, times

    def _phase_s(self, phase: str) -> float:
        """Time of our forecast in a phase."""
        return float(sum(np.asarray(time_s).item() for time_s in self.forecast.phases.get(phase, {}).values()))

    def _given(self) -> Iterator[Any]:
        """Yield the formula of the user, or those of its phases that run, with all definitions put in."""
        workload = self.point.workload
        if self.total is not None:
            yield self._put_in(self.total)
            return
        if phases_with_constants(workload, ""):
            raise InputError("phases have constants of their own, and the formula gives no total of what runs")
        for phase in workload.phases():
            yield self._put_in(self.formula.phases[phase])

    def _put_in(self, expression: Expression) -> Any:
        """In SymPy, symbols of the formula and equations replaced."""
        own = {
            self.sympy.Symbol(name): self._put_in(self.formula.symbols[name])
            for name in expression.names & self.formula.symbols.keys()
        }
        whole = put_in(self.sympy, to_sympy(expression), own, expression.place) if own else to_sympy(expression)
        return expanded(whole, self.point.workload)

    def _products(self, expression: Any, word: Any) -> list[Product]:
        """Multiplied out, in the symbols of derived formulas; ``word``: bytes of a value, None for t_w per byte."""
        renamed = put_in(self.sympy, expression, self._definitions(expression, word), None)
        products = (product_of(self.sympy, factors) for factors in self._multiplied_out(renamed))
        return [Product(item.number, self._powers(item.factors)) for item in products]

    def _powers(self, factors: Iterable[Any]) -> tuple[Any, ...]:
        """Merge powers of one base whose exponents are rational.

        Amounts are not negative, so that x**(1/3) three times is x.
        """
        sympy, exponents = self.sympy, dict[Any, Any]()
        for factor in factors:
            base, power = factor, sympy.Integer(1)
            while isinstance(base, sympy.Pow) and base.args[1].is_Rational and not base.args[0].is_Number:
                base, power = base.args[0], power * base.args[1]
            exponents[base] = exponents.get(base, sympy.Integer(0)) + power
        kept = ((base, power) for base, power in exponents.items() if power != 0)
        return tuple(base if power == 1 else sympy.Pow(base, power, evaluate=False) for base, power in kept)

    def _definitions(self, expression: Any, word: Any) -> dict[Any, Any]:
        """Equivalents of the symbols of derived formulas, for all symbols in an expression."""
        symbol = self.sympy.Symbol
        names = {one.name for one in expression.free_symbols} & (_SAME.keys() - self.point.values.keys())
        definitions = {symbol(name): symbol(_SAME[name]) for name in names}
        if "t_w" in names and word is not None:
            definitions[symbol("t_w")] = self.sympy.Mul(word, symbol("t_B"), evaluate=False)
        return definitions

    def _multiplied_out(self, expression: Any) -> list[tuple[Any, ...]]:
        """Factors of the products whose sum an expression is; it is one factor if there would be too many."""
        sympy = self.sympy
        if isinstance(expression, sympy.Add):
            return [factors for term in expression.args for factors in self._multiplied_out(term)]
        parts: Sequence[Any] = expression.args if isinstance(expression, sympy.Mul) else ()
        if isinstance(expression, sympy.Pow) and expression.exp.is_Integer and 2 <= abs(expression.exp) <= _MAX_POWER:
            base, power = expression.args
            one = base if power > 0 else sympy.Pow(base, -1, evaluate=False)
            parts = (one,) * abs(int(power))
        if not parts:
            return [(expression,)]
        several = [self._multiplied_out(part) for part in parts]
        if np.prod([float(len(each)) for each in several]) > MAX_PRODUCTS:
            return [(expression,)]
        return [sum(factors, ()) for factors in combinations_of(*several)]

    def _terms(self, products: Iterable[Product]) -> Iterator[LeftOutTerm]:
        """One for the products of each constant of the machine."""
        by_price: dict[tuple[str, ...], list[Product]] = {}
        for item in products:
            free = {one.name for factor in item.factors for one in factor.free_symbols}
            prices = free & (SYMBOLS.keys() - self.point.values.keys())
            by_price.setdefault(tuple(sorted(prices)), []).append(item)
        for several in by_price.values():
            seconds = sum(float(value_of(item.expression(self.sympy), self._values(item))) for item in several)
            signed = [Product(-item.number, item.factors) if seconds < 0 else item for item in several]
            yield LeftOutTerm(self._text(signed), seconds)

    def _values(self, item: Product) -> Mapping[str, Any]:
        symbols = {one.name for factor in item.factors for one in factor.free_symbols}
        return {name: one.value for name, one in self.names.of(symbols, None, "").items()}

    def _text(self, products: Sequence[Product]) -> str:
        """Return the sum of products, common factors in front, in the symbols of the user."""
        sympy, one = self.sympy, self.sympy.Integer(1)
        whole = collected(sympy, [((0, one), (item.number, *item.factors)) for item in products])
        used = {name for _, expression in self.formula.times() for name in expression.names & _SAME.keys()}
        used -= {*self.point.values, *self.formula.symbols, *(("t_w",) if self._has_word else ())}
        names = {sympy.Symbol(_SAME[name]): sympy.Symbol(name) for name in sorted(used)}
        text = str(put_in(sympy, whole, names, None))
        several = f"a sum of {len(products)} products, " if len(products) > 1 else ""
        return text if len(text) <= _MAX_TEXT else f"{several}{text[:60]} ..."

    @property
    def _has_word(self) -> bool:
        """Whether t_w is a time per value."""
        return self.formula.word is not None or VALUE in self.point.workload.parameters
