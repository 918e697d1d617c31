"""Shapes of kernels: what describes a kernel instead of its flops and bytes, which each reading counts by itself."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.core.expressions.expression import Expression

GEMM, ATTENTION, NORMALISATION = "gemm", "attention", "normalisation"
#: Each shape, and its amounts with their meanings.
SHAPES = {
    GEMM: {
        "m": "rows of the first matrix",
        "n": "columns of the second",
        "k": "columns of the first",
    },
    ATTENTION: {
        "batch": "sequences",
        "heads": "heads of a sequence",
        "sequence": "tokens of a sequence",
        "head_dimension": "numbers of a token in a head",
    },
    NORMALISATION: {"elements": "numbers that are normalised"},
}


@dataclass(frozen=True)
class Shape:
    """The shape ``kind``, one of ``SHAPES``, with its ``amounts`` in their order there.

    A ``gemm`` multiplies an m x k by a k x n matrix; ``attention`` is exact, without a mask, for each head of each
    sequence; a ``normalisation`` scales and shifts numbers by their mean and variance.
    """

    kind: str
    amounts: tuple[Expression, ...]

    @property
    def named(self) -> dict[str, Expression]:
        """The amounts by their names."""
        return dict(zip(SHAPES[self.kind], self.amounts, strict=True))
