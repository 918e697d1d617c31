"""Kernels of a workload file: work of accelerators by flops and bytes, or by a shape."""

from __future__ import annotations

from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.demands.computation import Kernel
from simcodesign.describe.demands.kernel_shapes import ATTENTION, GEMM, NORMALISATION, SHAPES, Shape
from simcodesign.describe.keys.forms import Choice, Expr, OneOf
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items, Section
from simcodesign.describe.machine_parts.rates import FORMAT_BYTES
from simcodesign.describe.yaml.demands.base import WHEN, demand, times
from simcodesign.describe.yaml.distribution import VARIES
from simcodesign.describe.yaml.tree import Entry

_WORK = ("flops", "bytes")


def _amounts(kind: str) -> Section:
    """Return the amounts of a shape as keys."""
    return Section(*(Key(name, Expr(), about, required=True) for name, about in SHAPES[kind].items()))


@demand(
    "kernel",
    "work of the accelerator, at the rate of its number format: `flops` and `bytes`, or one shape",
    Key("flops", Expr(), "operations"),
    Key("bytes", Expr(), "bytes that pass the memory of the accelerator", "0"),
    Key(GEMM, Items(Expr(), "an extent"), "a product of matrices, [m, n, k]: of m x k and k x n numbers"),
    Key(ATTENTION, _amounts(ATTENTION), "exact attention that keeps its scores on the chip, without a mask"),
    Key(NORMALISATION, _amounts(NORMALISATION), "numbers scaled and shifted by their mean and variance"),
    Key(
        "type",
        OneOf(Choice(tuple(FORMAT_BYTES)), Expr()),
        "the number format, one of `accelerator.rates`, or an expression of its number in their order, from 1",
        "the format of `rate`",
    ),
    Key(
        "efficiency",
        Choice((ATTENTION,)),
        "`attention`: the kernel reaches `accelerator.attention_efficiency` of the rate",
        "of the shape `attention`, `attention`; otherwise the kernel reaches `accelerator.efficiency`",
    ),
    times("number of kernels"),
    VARIES,
    WHEN,
)
def _kernel(name: str, entry: Entry, values: dict[str, Any]) -> Kernel:
    shapes = [kind for kind in SHAPES if kind in values]
    given = [*shapes, *(key for key in _WORK if key in values)]
    if not given or (shapes and len(given) > 1):
        allowed = f"flops, bytes, or both; or one of {', '.join(SHAPES)}"
        raise InputError("how much an accelerator is to compute", entry.place, value=given, allowed=allowed)
    if shapes and "type" not in values:
        raise InputError(f"{shapes[0]} needs a type", entry.place, allowed=", ".join(FORMAT_BYTES))
    if "efficiency" in values and "type" not in values:
        raise InputError("efficiency needs a type", entry.place, allowed=", ".join(FORMAT_BYTES))
    return Kernel(**values, place=entry.place) if not shapes else _of_shape(shapes[0], entry, values)


def _of_shape(kind: str, entry: Entry, values: dict[str, Any]) -> Kernel:
    given = values.pop(kind)
    amounts = given if kind == GEMM else tuple(given[name] for name in SHAPES[kind])
    if len(amounts) != len(SHAPES[kind]):
        allowed = f"[{', '.join(SHAPES[kind])}]"
        raise InputError(f"{len(amounts)} extents", entry.mapping()[kind].place, allowed=allowed)
    return Kernel(**values, shape=Shape(kind, tuple(amounts)), place=entry.place)
