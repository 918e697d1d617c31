"""The number formats of accelerators, and the rate of an accelerator in each."""

from __future__ import annotations

from dataclasses import dataclass, fields

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import ABOVE_0, Constant
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section

#: Bytes of a number in memory, by its format: formats of IEEE 754, bfloat16, the 8-bit formats of P. Micikevicius et
#: al.
#: (arXiv 2209.05433) and the 6-bit and 4-bit formats of the OCP Microscaling specification. TF32 is stored as FP32.
FORMAT_BYTES = {
    "fp64": 8.0,
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp6": 0.75,
    "fp4": 0.5,
    "int4": 0.5,
}


@dataclass(frozen=True)
class Rates:
    """Operations per second in each number format; None where the machine does not state it."""

    fp64: FloatOrArray | None = None
    fp32: FloatOrArray | None = None
    tf32: FloatOrArray | None = None
    bf16: FloatOrArray | None = None
    fp16: FloatOrArray | None = None
    fp8: FloatOrArray | None = None
    int8: FloatOrArray | None = None
    fp6: FloatOrArray | None = None
    fp4: FloatOrArray | None = None
    int4: FloatOrArray | None = None

    def stated(self) -> dict[str, FloatOrArray]:
        """Return the rates that are stated, by format, the widest first."""
        every = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: rate for name, rate in every.items() if rate is not None}


#: Keys of ``accelerator.rates``.
RATES = Section(
    *(Key(name, Constant("rate", ABOVE_0), f"operations per second in {name}") for name in FORMAT_BYTES), make=Rates
)
