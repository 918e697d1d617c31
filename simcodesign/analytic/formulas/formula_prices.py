"""The symbols of a formula: the price of every operation, and the machine constants behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from simcodesign.analytic.formulas.symbolic_products import Payment as Payment
from simcodesign.analytic.formulas.symbolic_products import divided
from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.describe.constants import CONSTANTS, MODELS_OF
from simcodesign.describe.formulas import symbols
from simcodesign.describe.formulas.symbols import PER_VALUE, VALUE
from simcodesign.describe.network.message_models.base import MESSAGE_MODELS
from simcodesign.describe.network.size_segments import segment_at
from simcodesign.describe.workload import Workload

#: Assumptions of a formula, in words.
ASSUMPTIONS = (
    "Hockney's messages without receive overhead and without hops, of one startup and one bandwidth for all sizes, "
    "all ranks alike, P a power of two, "
    "more than two ranks in every dimension of a process grid, groups that are its rows or columns"
)
#: The symbols of a derived formula, in the order in which they are printed -> (what it is, the constant of the machine
#: behind it).
SYMBOLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        name: (PER_VALUE if name == "t_w" else symbols.SYMBOLS[name].meaning, symbols.SYMBOLS[name].path)
        for name in (
            "t_c",
            "CPI",
            "t_clk",
            "t_s",
            "t_w",
            "t_B",
            "t_q",
            "t_v",
            "t_r",
            "t_x",
            "t_d",
            "t_l",
            "t_a",
            "t_n",
            "t_m",
            "t_k",
            "t_p",
        )
    }
)
#: Constants of a machine without a symbol; a block may set them to 0.
_LEFT_OUT = {"network.receive_overhead", "network.hop_latency", "network.reduction_per_byte"}
_LEFT_OUT |= {path for path in CONSTANTS if path.startswith(("node.", "socket."))}


def _is_of_others(path: str) -> bool:
    """Whether it applies only to messages of models without formulas."""
    models = MODELS_OF.get(path, ())
    return bool(models) and not any(MESSAGE_MODELS[name].has_symbolic_prices for name in models)


@dataclass(frozen=True)
class SymbolicPrices:
    """The symbols, or the expressions that replace them here."""

    sympy: Any
    workload: Workload
    constants: Mapping[str, Expression]
    place: Place

    def of(self, symbol: str | None) -> tuple[int, Any]:
        """Return the price and its place among ``SYMBOLS``.

        None is a price of 1, and CPI the price of an instruction.
        """
        names = list(SYMBOLS)
        if symbol is None:
            return len(names), self.sympy.Integer(1)
        if symbol == "CPI":
            cycles, seconds = self._price("CPI"), self._price("t_clk")
            return names.index(symbol), self.sympy.Mul(cycles, seconds, evaluate=False)
        return names.index(symbol), self._price(symbol)

    def bytes(self, size: Expression, counts: tuple[Any, ...]) -> Payment:
        """Bytes of messages: as values where ``value_bytes`` is a factor of their number."""
        size_bytes = to_sympy(size)
        if VALUE in self.workload.parameters and "network.per_byte" not in self.constants:
            values = divided(self.sympy, size_bytes, self.sympy.Symbol(VALUE))
            if values is not None:
                return self.of("t_w"), (*counts, values)
        return self.of("t_B"), (*counts, size_bytes)

    def _price(self, symbol: str) -> Any:
        about, path = SYMBOLS[symbol]
        if path in self.constants:
            given = to_sympy(self.constants[path])
            rate = path in ("processor.rate", "processor.clock", "accelerator.rate")
            return self.sympy.Pow(given, -1, evaluate=False) if rate else given
        if symbol in self.workload.parameters or symbol in self.workload.equations:
            what = f"the name {symbol} of the workload is a symbol of its formula ({about})"
            raise InputError(what, self.place, allowed="another name in the workload")
        return self.sympy.Symbol(symbol)


def check_constants(constants: Mapping[str, Expression]) -> None:
    """Raise InputError for a constant that the formula does not have, unless it is 0."""
    for path in sorted(constants.keys()):
        value = constants[path]
        if segment_at(path) is not None:
            what = f"{path} is not in the formula, which takes {ASSUMPTIONS}"
            raise InputError(what, value.place, value=value.text, allowed="network.startup and network.per_byte")
        if path not in _LEFT_OUT and not _is_of_others(path):
            continue
        if value.names or value.evaluate({}) != 0:
            what = f"{path} is not in the formula, which takes {ASSUMPTIONS}"
            raise InputError(what, value.place, value=value.text, allowed="0")
