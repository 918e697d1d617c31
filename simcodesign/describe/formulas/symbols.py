"""The symbols of the literature for the constants of a machine: meaning, unit and path of each.

Sources: A. Grama, A. Gupta, G. Karypis, V. Kumar, Introduction to Parallel Computing (2003), for t_s, t_w, t_h, t_c;
E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, Concurrency and Computation 19 (2007), for alpha, beta, gamma;
A. Alexandrov et al., SPAA 1995, and T. Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010, for L, o, g, G, O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simcodesign.core.expressions.dimension import PLAIN, Dimension, dimension_named, dimension_of_unit
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.constants import MODELS_OF, dimension_at
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.memory import IN_TURN

#: The parameter of a workload that makes the time per byte a time per value, as the literature has it.
VALUE = "value_bytes"
#: Constants of a machine that are rates, of which a symbol is the inverse.
_RATES = ("processor.rate", "processor.clock", "accelerator.rate")


@dataclass(frozen=True)
class Symbol:
    """A name for a constant of a machine, ``path``, or for what is one over it (of a rate).

    ``unit`` is its base unit, empty for a plain count.
    """

    meaning: str
    path: str
    unit: str

    @property
    def dimension(self) -> Dimension:
        """Dimension of its unit."""
        return dimension_of_unit(self.unit) or PLAIN

    def value(self, constants: Mapping[str, FloatOrArray]) -> FloatOrArray:
        """Its value, in its unit, of the constants of a machine, among which it must be."""
        return 1 / constants[self.path] if self.path in _RATES else constants[self.path]

    @property
    def model(self) -> str | None:
        """The network model that brings it; None for what every machine has."""
        return next(iter(MODELS_OF.get(self.path, ())), None)


_STARTUP = "startup of a message, network.startup"
_PER_BYTE = "seconds per byte of a message, network.per_byte"
_PER_FLOP = "seconds per flop, 1/processor.rate"
_MESSAGE, _BYTE, _RATE = "network.startup", "network.per_byte", "processor.rate"

#: Symbol -> what it is. Names of a workload, of a formula's own ``symbols`` and of a machine's parameters win over it.
SYMBOLS: Mapping[str, Symbol] = MappingProxyType(
    {
        "t_c": Symbol(_PER_FLOP, _RATE, "s/FLOP"),
        "CPI": Symbol("cycles per instruction, processor.cpi", "processor.cpi", ""),
        "t_clk": Symbol("seconds per cycle, 1/processor.clock", "processor.clock", "s/cycle"),
        "t_s": Symbol(_STARTUP, _MESSAGE, "s"),
        "t_w": Symbol(_PER_BYTE, _BYTE, "s/B"),
        "t_B": Symbol(_PER_BYTE, _BYTE, "s/B"),
        "t_q": Symbol("seconds to copy a block to pack or unpack messages, network.packing", "network.packing", "s"),
        "t_v": Symbol(
            "seconds per byte of a block that is copied, network.packing_per_byte", "network.packing_per_byte", "s/B"
        ),
        "t_h": Symbol("latency of a hop, network.hop_latency", "network.hop_latency", "s"),
        "t_r": Symbol("startup of a read, disk.read_startup", "disk.read_startup", "s"),
        "t_x": Symbol("startup of a write, disk.write_startup", "disk.write_startup", "s"),
        "t_d": Symbol("seconds per byte of a read or write, disk.per_byte", "disk.per_byte", "s/B"),
        "t_l": Symbol("launch of a kernel, accelerator.launch", "accelerator.launch", "s"),
        "t_a": Symbol("seconds per flop of an accelerator, 1/accelerator.rate", "accelerator.rate", "s/FLOP"),
        "t_n": Symbol(
            "latency of the memory of an accelerator, accelerator.memory.latency", "accelerator.memory.latency", "s"
        ),
        "t_m": Symbol(
            "seconds per byte in the memory of an accelerator, accelerator.memory.per_byte",
            "accelerator.memory.per_byte",
            "s/B",
        ),
        "t_k": Symbol("latency of a copy, accelerator.link.latency", "accelerator.link.latency", "s"),
        "t_p": Symbol("seconds per byte of a copy, accelerator.link.per_byte", "accelerator.link.per_byte", "s/B"),
        "alpha": Symbol(_STARTUP, _MESSAGE, "s"),
        "beta": Symbol(_PER_BYTE, _BYTE, "s/B"),
        "gamma": Symbol(_PER_FLOP, _RATE, "s/FLOP"),
        "L": Symbol("latency of a message, network.L", "network.L", "s"),
        "o": Symbol("overhead of a message at its sender and its receiver, network.o", "network.o", "s"),
        "g": Symbol("gap between messages, network.g", "network.g", "s"),
        "G": Symbol("gap per byte, network.G", "network.G", "s/B"),
        "O": Symbol("overhead per byte, network.O", "network.O", "s/B"),
    }
)
#: t_w where the size of a value is stated, by ``value_bytes`` of the workload or ``word`` of the formula.
PER_VALUE = f"seconds per value of a message, {VALUE} x network.per_byte"


def constant_dimension(path: str) -> Dimension:
    """Return the dimension of a constant of a machine, by its path."""
    return dimension_named(dimension_at(path) or "count")


def hierarchy_values(machine: Machine) -> dict[str, tuple[FloatOrArray, Dimension]]:
    """Return values for formulas from the memory of a machine, with their dimensions.

    In addition to the constants of cost models: sizes and latencies of caches, by how many processors they are shared,
    the size of their lines, the controllers, and whether (1 or 0) what moves between levels does so one after another.
    """
    memory = machine.memory
    if memory is None:
        return {}
    size, time = dimension_named("size"), dimension_named("time")
    sizes = {f"caches.{level.name}.size": (float(level.size_bytes), size) for level in memory.caches}
    latencies = {f"caches.{level.name}.latency": (level.latency_s, time) for level in memory.caches}
    shared = {f"caches.{level.name}.shared_by": (float(level.shared_by), PLAIN) for level in memory.caches}
    own = {
        "memory.line": (float(memory.line_bytes), size),
        "memory.controllers": (float(memory.controllers), PLAIN),
        "memory.in_turn": (float(memory.transfers == IN_TURN), PLAIN),
    }
    return own | sizes | latencies | shared
