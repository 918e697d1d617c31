"""The number formats of accelerators, and the rate of an accelerator in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from simcodesign.core.errors import InputError, Place
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

#: The number of each format, for a ``type`` that depends on parameters.
FORMAT_NUMBERS = {name: float(number) for number, name in enumerate(FORMAT_BYTES, start=1)}


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


def by_format(format: str | FloatOrArray, place: Place, of: Callable[[str], FloatOrArray]) -> FloatOrArray:
    """Return what ``of`` returns for the name of a number format, empty for none.

    For numbers of formats (``FORMAT_NUMBERS``): for each what ``of`` returns for its format. InputError for others.
    """
    if isinstance(format, str):
        return of(format)
    names = {number: name for name, number in FORMAT_NUMBERS.items()}
    numbers = [float(one) for one in np.unique(format)]
    if unknown := [one for one in numbers if one not in names]:
        allowed = ", ".join(f"{number:g} ({name})" for number, name in names.items())
        raise InputError("no number of a number format", place, value=unknown[0], allowed=allowed)
    values = [of(names[one]) for one in numbers]
    return values[0] if len(values) == 1 else np.select([np.equal(format, one) for one in numbers], values)


#: Keys of ``accelerator.rates``.
RATES = Section(
    *(Key(name, Constant("rate", ABOVE_0), f"operations per second in {name}") for name in FORMAT_BYTES), make=Rates
)
